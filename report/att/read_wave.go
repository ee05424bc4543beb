package att

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// waveFile matches a wave's file: shader engine, SIMD, slot, and the how many-th
// wave in it.
var waveFile = regexp.MustCompile(`^se(\d{1,6})_sm(\d{1,6})_sl(\d{1,6})_wv(\d{1,9})\.json$`)

// readWaves finds the waves' files, in filenames.json or by their names when it
// is missing, and reads them.
func (f *Folder) readWaves(dir string) error {
	names := map[string]bool{}
	path := filepath.Join(dir, "filenames.json")
	if _, err := os.Stat(path); err == nil {
		var index any
		if err := load(path, &index); err != nil {
			return err
		}
		f.walk(index, names)
	} else {
		f.Notes = append(f.Notes, "filenames.json is missing: waves were found by the names of their files")
	}
	if len(names) == 0 {
		found, err := filepath.Glob(filepath.Join(dir, "se*_sm*_sl*_wv*.json"))
		if err != nil {
			return err
		}
		for _, n := range found {
			names[filepath.Base(n)] = true
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("%s has no wave: files such as se0_sm0_sl0_wv0.json are missing", dir)
	}
	for name := range names {
		m := waveFile.FindStringSubmatch(name)
		if m == nil {
			return fmt.Errorf("%s is no wave's file by its name", filepath.Join(dir, name))
		}
		n := [4]int{}
		for i := range n {
			n[i], _ = strconv.Atoi(m[i+1]) // a few digits by the pattern
		}
		f.Waves = append(f.Waves, Wave{File: name, SE: n[0], SIMD: n[1], Slot: n[2], Index: n[3]})
	}
	slices.SortFunc(f.Waves, func(a, b Wave) int {
		return cmp.Or(cmp.Compare(a.SE, b.SE), cmp.Compare(a.SIMD, b.SIMD), cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Index, b.Index))
	})
	for i := range f.Waves {
		if err := f.readWave(&f.Waves[i], filepath.Join(dir, f.Waves[i].File)); err != nil {
			return err
		}
	}
	return nil
}

// walk looks through filenames.json for names of waves' files and the processor.
func (f *Folder) walk(v any, names map[string]bool) {
	switch x := v.(type) {
	case string:
		switch {
		case waveFile.MatchString(x):
			names[x] = true
		case strings.HasPrefix(x, "gfx9"):
			f.GFX = x
		}
	case []any:
		for _, e := range x {
			f.walk(e, names)
		}
	case map[string]any:
		for _, e := range x {
			f.walk(e, names)
		}
	}
}

// readWave reads one wave's file.
func (f *Folder) readWave(w *Wave, path string) error {
	var file struct {
		Wave *struct {
			Begin        int64             `json:"begin"`
			End          int64             `json:"end"`
			CU           int               `json:"cu"`
			ID           int               `json:"id"`
			Instructions [][]int64         `json:"instructions"`
			Timeline     [][]int64         `json:"timeline"`
			Waitcnt      []json.RawMessage `json:"waitcnt"`
		} `json:"wave"`
		NumInsts *int `json:"num_insts"`
	}
	if err := load(path, &file); err != nil {
		return err
	}
	v := file.Wave
	if v == nil {
		return fmt.Errorf("%s has no wave in it", path)
	}
	w.Begin, w.End, w.CU, w.ID = v.Begin, v.End, v.CU, v.ID
	if v.End < v.Begin || v.Begin < 0 || v.End > maxCycle {
		return fmt.Errorf("%s: the wave begins at %d and ends at %d", path, v.Begin, v.End)
	}
	for i, x := range v.Instructions {
		in, err := f.inst(x)
		if err != nil {
			return fmt.Errorf("%s: instructions[%d]: %w", path, i, err)
		}
		w.Insts = append(w.Insts, in)
	}
	for i, x := range v.Timeline {
		if len(x) < 2 || x[0] < StateIdle || x[0] > StateStall || x[1] < 0 || x[1] > maxCycle {
			return fmt.Errorf("%s: timeline[%d] is %v; a state from %d to %d and its length are expected", path, i, x, StateIdle, StateStall)
		}
		w.Timeline = append(w.Timeline, Span{x[0], x[1]})
	}
	for i, raw := range v.Waitcnt {
		var wait Wait
		if err := fields(raw, 2, &wait.Line, &wait.Sources); err != nil {
			return fmt.Errorf("%s: waitcnt[%d]: %w", path, i, err)
		}
		w.Waits = append(w.Waits, wait)
	}
	if n := file.NumInsts; n != nil && *n != len(w.Insts) {
		f.Notes = append(f.Notes, fmt.Sprintf("%s says that it has %d instructions and has %d", w.File, *n, len(w.Insts)))
	}
	return nil
}

// knownTypes are the types of instructions; 10 is one that occurs and has no name.
var knownTypes = []int64{TypeSMEM, TypeSALU, TypeVMEM, TypeFLAT, TypeLDS, TypeVALU, TypeJump, TypeNext, TypeImmediate, 10, TypeMessage}

// inst checks [time, type, stall, duration, code_line].
func (f *Folder) inst(x []int64) (Inst, error) {
	if len(x) < 5 {
		return Inst{}, fmt.Errorf("it has %d fields instead of 5", len(x))
	}
	in := Inst{x[0], x[1], x[2], x[3], int(x[4])}
	if !slices.Contains(knownTypes, in.Type) {
		return in, fmt.Errorf("type %d is not known", in.Type)
	}
	if in.Time < 0 || in.Time > maxCycle || in.Stall < 0 || in.Duration < 0 || max(in.Stall, in.Duration) > maxCycle {
		return in, fmt.Errorf("time %d, stall %d, duration %d", in.Time, in.Stall, in.Duration)
	}
	if _, ok := f.Find(in.Line); !ok {
		return in, fmt.Errorf("code.json has no line %d", in.Line)
	}
	return in, nil
}

// Total sums the timeline by state, StateIdle to StateStall.
func (w *Wave) Total() (cycles [StateStall + 1]int64) {
	for _, s := range w.Timeline {
		cycles[s.State] += s.Length
	}
	return cycles
}
