package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/whisker-sim/whisker/report/att"
)

// thread reads a thread trace's folder. The sums by instruction are in code.json;
// files of waves that are missing are counted, and the sums hold without them.
func (g *ingester) thread(dir string) error {
	path := filepath.Join(dir, "code.json")
	rows, err := att.ReadCode(path)
	if err != nil {
		return err
	}
	t := &CodeTrace{Folder: dir}
	hits := int64(0)
	for _, r := range rows {
		t.Instructions = append(t.Instructions, TracedRow{r.ISA, r.Address, r.Hit, r.Latency, r.Stall, r.Idle})
		hits += r.Hit
	}
	if err := t.waves(dir); err != nil {
		return err
	}
	if t.Missing > 0 {
		g.whole(dir, "files of %d of %d waves are missing; the sums by instruction are complete without them", t.Missing, t.Waves+t.Missing)
	}
	if hits == 0 {
		g.whole(dir, "no instruction was executed while the trace was taken")
	}
	g.m.Traces = append(g.m.Traces, t)
	g.m.Sources = append(g.m.Sources, Source{File: path, Kind: "thread trace", Rows: int64(len(rows)), Understood: int64(len(rows))})
	g.read++
	return nil
}

// waves counts the files of waves that filenames.json names.
func (t *CodeTrace) waves(dir string) error {
	path := filepath.Join(dir, "filenames.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a trace without waves: its sums are still there
	}
	if err != nil {
		return cause(err)
	}
	var v struct {
		Waves map[string]map[string]map[string]map[string][]json.RawMessage `json:"wave_filenames"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return fmt.Errorf("filenames.json: %w", err)
	}
	for _, sm := range v.Waves {
		for _, sl := range sm {
			for _, wv := range sl {
				for _, w := range wv {
					var name string
					if len(w) == 0 || json.Unmarshal(w[0], &name) != nil || filepath.Base(name) != name {
						return errors.New("filenames.json: a wave has no name of a file in the folder")
					}
					if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
						t.Missing++
					} else {
						t.Waves++
					}
				}
			}
		}
	}
	return nil
}
