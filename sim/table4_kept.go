package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// rowCache keeps the results of finished rows of Table 4 in the output folder,
// one file a row. A result counts only under the key that it was kept with: the
// program, the machine and the options of its run.
type rowCache struct {
	dir  string // "": keeps nothing
	used []string
}

// rowFolder is the folder of the kept rows within the output folder.
const rowFolder = "table4_rows"

// path is the file of a row.
func (c *rowCache) path(label string) string {
	name := strings.NewReplacer(" ", "_", ",", "").Replace(label)
	return filepath.Join(c.dir, rowFolder, name+".json")
}

// read returns what is kept of a row under a key, nil when nothing is. A file
// that is damaged is no result.
func (c *rowCache) read(label, key string) *table4Result {
	if c.dir == "" {
		return nil
	}
	data, err := os.ReadFile(c.path(label))
	if err != nil {
		return nil
	}
	var r table4Result
	if json.Unmarshal(data, &r) != nil || r.Key != key || r.Row != label {
		return nil
	}
	c.used = append(c.used, label)
	return &r
}

func (c *rowCache) write(r *table4Result) error {
	if c.dir == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(c.dir, rowFolder), 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(c.path(r.Row), append(data, '\n'))
}

// text names the rows that were not simulated again.
func (c *rowCache) text() []string {
	if len(c.used) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("kept from earlier runs of this program in %s: %s", filepath.Join(c.dir, rowFolder), strings.Join(c.used, "; "))}
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

// key identifies everything that the row's result depends on.
func (r *table4Row) key(o ReproduceOptions) (string, error) {
	program, err := programHash()
	if err != nil {
		return "", err
	}
	m, err := LoadMachine("", o.Machine, append(append([]string(nil), o.Set...), r.set...))
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, program, m.Hash(), r.label, o.Quick, o.Rounds, o.Variant)
	return hex.EncodeToString(h.Sum(nil)), nil
}
