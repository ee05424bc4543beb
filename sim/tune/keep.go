package tune

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/whisker-sim/whisker/report/output"
	"github.com/whisker-sim/whisker/sim"
)

// kept is the file of simulated candidates. An entry counts only under its key: the
// program, the machine and everything else that its result depends on, so that
// one file serves searches of several sizes.
type kept struct {
	path  string // empty: keeps nothing
	base  string // what is common to the keys
	byKey map[string]*Simulated
	file  keptFile
	err   error // of writing
}

type keptFile struct {
	Format     string      `json:"format"`
	Candidates []keptEntry `json:"candidates"`
}

type keptEntry struct {
	Key       string     `json:"key"`
	Size      string     `json:"size"`
	Form      string     `json:"form"`
	Window    int        `json:"window"`
	Chunk     int        `json:"chunk"`
	Simulated *Simulated `json:"simulated"`
}

// keptFormat names the file's form and its version.
const keptFormat = "whisker tune 1"

// maxKept bounds the file.
const maxKept = 64 << 20

func openKept(path, machineHash string) (*kept, error) {
	k := &kept{path: path, byKey: map[string]*Simulated{}, file: keptFile{Format: keptFormat, Candidates: []keptEntry{}}}
	if path == "" {
		return k, nil
	}
	program, err := sim.ProgramHash()
	if err != nil {
		return nil, fmt.Errorf("--keep: this program cannot be read: %w", err)
	}
	k.base = program + " " + machineHash
	if err := output.Check(path); err != nil {
		return nil, usagef("--keep: %w", err)
	}
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a place that cannot be written is told now, not after minutes
		if err := k.write(); err != nil {
			return nil, usagef("%w", err)
		}
		return k, nil
	case err != nil:
		return nil, usagef("--keep: %w", err)
	case !st.Mode().IsRegular():
		return nil, usagef("--keep: %s is no regular file", path)
	case st.Size() > maxKept:
		return nil, usagef("--keep: %s is larger than any file that whisker tune keeps: name another", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("--keep: %w", err)
	}
	var have keptFile
	if json.Unmarshal(data, &have) != nil || have.Format != keptFormat {
		return nil, usagef("--keep: %s is no file that this whisker tune has kept: name another, or remove it", path)
	}
	k.file = have
	for _, e := range k.file.Candidates {
		if e.Simulated != nil {
			k.byKey[e.Key] = e.Simulated
		}
	}
	return k, nil
}

// key identifies everything that a candidate's result depends on.
func (k *kept) key(o *Options, c *Candidate, mhz float64) string {
	if k.path == "" {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, k.base, sizeText(o.M, o.N, o.K), o.DType, c.flags(), c.Window, c.Chunk, o.SampleRounds, mhz)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// find is what is kept of a candidate; nil when nothing is.
func (k *kept) find(key string) *Simulated {
	if s := k.byKey[key]; s != nil {
		again := *s
		return &again
	}
	return nil
}

// put adds a candidate and writes the file.
func (k *kept) put(key string, c *Candidate) {
	if k.path == "" || k.byKey[key] != nil || c.Simulated.Error != "" {
		return
	}
	s := *c.Simulated
	k.file.Candidates = append(k.file.Candidates, keptEntry{key, c.form.size, c.flags(), c.Window, c.Chunk, &s})
	if err := k.write(); err != nil && k.err == nil {
		k.err = err
	}
}

func (k *kept) write() error {
	data, err := json.MarshalIndent(&k.file, "", "  ")
	if err == nil {
		err = output.WriteFile(k.path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("--keep: %w", err)
	}
	return nil
}

// fault is the first error of writing.
func (k *kept) fault() error { return k.err }
