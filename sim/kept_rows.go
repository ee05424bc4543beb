package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// rowCache keeps the results of a table's finished rows in the output folder,
// one file a row: some take many minutes. A result counts only under the key that
// it was kept with: the program, the machine and the options of its run.
type rowCache struct {
	out   string // the output folder; "": keeps nothing
	table string

	mu   sync.Mutex // rows run side by side
	used []string
}

// kept is a row's result as it is kept.
type kept[T any] struct {
	Key    string `json:"key"`
	Row    string `json:"row"`
	Result T      `json:"result"`
}

// folder is where the table's rows are kept.
func (c *rowCache) folder() string { return filepath.Join(c.out, c.table+"_rows") }

// path is the file of a row.
func (c *rowCache) path(label string) string {
	name := strings.NewReplacer(" ", "_", ",", "", "/", "-").Replace(label)
	return filepath.Join(c.folder(), name+".json")
}

// readRow returns what is kept of a row under a key, nil when nothing is. A file
// that is damaged is no result.
func readRow[T any](c *rowCache, label, key string) *T {
	if c.out == "" {
		return nil
	}
	data, err := os.ReadFile(c.path(label))
	if err != nil {
		return nil
	}
	var r kept[T]
	if json.Unmarshal(data, &r) != nil || r.Key != key || r.Row != label {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = append(c.used, label)
	return &r.Result
}

// writeRow keeps a row's result.
func writeRow[T any](c *rowCache, label, key string, result T) error {
	if c.out == "" {
		return nil
	}
	if err := os.MkdirAll(c.folder(), 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(kept[T]{key, label, result}, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(c.path(label), append(data, '\n'))
}

// text names the rows that were not simulated again.
func (c *rowCache) text() []string {
	if len(c.used) == 0 {
		return nil
	}
	slices.Sort(c.used)
	return []string{fmt.Sprintf("kept from earlier runs of this program in %s: %s", c.folder(), strings.Join(c.used, "; "))}
}

// ProgramHash identifies the running program by its bytes.
func ProgramHash() (string, error) { return programHash() }

// programHash identifies the running program, so that what an older one
// simulated is not taken for this one's.
var programHash = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
})

// rowKey identifies everything that a row's result depends on: the program, the
// machine with what is set, and what else the row names.
func rowKey(arch, machine string, set []string, what ...any) (string, error) {
	program, err := programHash()
	if err != nil {
		return "", err
	}
	m, err := LoadMachine(arch, machine, set)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, program, m.Hash())
	fmt.Fprintln(h, what...)
	return hex.EncodeToString(h.Sum(nil)), nil
}
