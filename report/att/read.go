package att

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
)

// Read reads a folder of a thread trace, one that rocprofv3 wrote or one of
// Write. Errors name the file.
func Read(dir string) (*Folder, error) {
	f := &Folder{Occupancy: map[int][]Occupied{}, Dispatches: map[string]string{}}
	if st, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !st.IsDir() {
		return nil, fmt.Errorf("%s is not a folder: a thread trace is a folder such as %s", dir, FolderName(0, 1))
	}
	if err := f.readCode(filepath.Join(dir, "code.json")); err != nil {
		return nil, err
	}
	if err := f.readOccupancy(filepath.Join(dir, "occupancy.json")); err != nil {
		return nil, err
	}
	for i := range f.States {
		if err := f.States[i].read(filepath.Join(dir, fmt.Sprintf("wstates%d.json", i+1))); err != nil {
			return nil, err
		}
	}
	if err := f.readWaves(dir); err != nil {
		return nil, err
	}
	return f, nil
}

func load(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// fields puts a JSON list of mixed types into places; those beyond the list stay
// as they are only when it is long enough for the first min.
func fields(raw json.RawMessage, least int, places ...any) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	if len(list) < least {
		return fmt.Errorf("a row has %d columns, and %d are needed", len(list), least)
	}
	for i, p := range places {
		if p == nil || i >= len(list) || string(list[i]) == "null" {
			continue
		}
		if err := json.Unmarshal(list[i], p); err != nil {
			return fmt.Errorf("column %d: %w", i, err)
		}
	}
	return nil
}

func (f *Folder) readCode(path string) error {
	var v struct {
		Code []json.RawMessage `json:"code"`
	}
	if err := load(path, &v); err != nil {
		return err
	}
	if v.Code == nil {
		return fmt.Errorf("%s: there is no code list, or it is null: the trace was taken while no wave of a traced CU ran", path)
	}
	for i, raw := range v.Code {
		var c CodeRow
		if err := fields(raw, 10, &c.ISA, nil, &c.Line, &c.Source, &c.CodeObject, &c.Address, &c.Hit, &c.Latency, &c.Stall, &c.Idle); err != nil {
			return fmt.Errorf("%s: instruction %d: %w", path, i, err)
		}
		f.Code = append(f.Code, c)
	}
	return nil
}

func (f *Folder) readOccupancy(path string) error {
	var v map[string]json.RawMessage
	if err := load(path, &v); err != nil {
		return err
	}
	for key, raw := range v {
		if key == "dispatches" {
			if err := json.Unmarshal(raw, &f.Dispatches); err != nil {
				return fmt.Errorf("%s: dispatches: %w", path, err)
			}
			continue
		}
		se, err := strconv.Atoi(key)
		if err != nil {
			continue // version and the like
		}
		var rows []json.RawMessage
		if err := json.Unmarshal(raw, &rows); err != nil {
			return fmt.Errorf("%s: shader engine %s: %w", path, key, err)
		}
		for _, row := range rows {
			var o Occupied
			var start int
			if err := fields(row, 6, &o.Time, &o.CU, &o.SIMD, &o.Slot, &start, &o.Kernel); err != nil {
				return fmt.Errorf("%s: shader engine %s: %w", path, key, err)
			}
			o.Start = start != 0
			f.Occupancy[se] = append(f.Occupancy[se], o)
		}
	}
	return nil
}

func (s *States) read(path string) error {
	var v struct {
		Name  string  `json:"name"`
		State []int64 `json:"state"`
		Time  []int64 `json:"time"`
	}
	err := load(path, &v)
	if errors.Is(err, os.ErrNotExist) {
		return nil // the viewer computes them where they are missing
	}
	if err != nil {
		return err
	}
	if len(v.State) != len(v.Time) {
		return fmt.Errorf("%s: %d counts and %d times", path, len(v.State), len(v.Time))
	}
	*s = States{v.Name, v.State, v.Time}
	return nil
}

func (f *Folder) readWaves(dir string) error {
	path := filepath.Join(dir, "filenames.json")
	var top map[string]json.RawMessage
	if err := load(path, &top); err != nil {
		return err
	}
	if gfx, ok := top["gfx"]; ok {
		if err := json.Unmarshal(gfx, &f.GFX); err != nil {
			return fmt.Errorf("%s: gfx: %w", path, err)
		}
	}
	index := top["wave_filenames"]
	if index == nil {
		return fmt.Errorf("%s: there is no wave_filenames", path)
	}
	var tree map[string]map[string]map[string]map[string]json.RawMessage
	if err := json.Unmarshal(index, &tree); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, se := range numbers(tree) {
		for _, sm := range numbers(tree[se.key]) {
			for _, sl := range numbers(tree[se.key][sm.key]) {
				for _, wv := range numbers(tree[se.key][sm.key][sl.key]) {
					w := Wave{SE: se.n, SIMD: sm.n, Slot: sl.n, Index: wv.n}
					if err := fields(tree[se.key][sm.key][sl.key][wv.key], 1, &w.File); err != nil {
						return fmt.Errorf("%s: %w", path, err)
					}
					if filepath.Base(w.File) != w.File {
						return fmt.Errorf("%s: %q is no name of a file in the folder", path, w.File)
					}
					if err := w.read(filepath.Join(dir, w.File), len(f.Code)); err != nil {
						return err
					}
					f.Waves = append(f.Waves, w)
				}
			}
		}
	}
	return nil
}

type number struct {
	key string
	n   int
}

// numbers sorts the numeric keys of a map by value.
func numbers[T any](m map[string]T) []number {
	var out []number
	for k := range m {
		if n, err := strconv.Atoi(k); err == nil {
			out = append(out, number{k, n})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].n < out[j].n })
	return out
}

func (w *Wave) read(path string, lines int) error {
	var v struct {
		Wave struct {
			Begin        int64             `json:"begin"`
			End          int64             `json:"end"`
			CU           int               `json:"cu"`
			SIMD         int               `json:"simd"`
			Slot         int               `json:"slot"`
			ID           int               `json:"id"`
			Instructions [][]int64         `json:"instructions"`
			Timeline     [][]int64         `json:"timeline"`
			Waitcnt      []json.RawMessage `json:"waitcnt"`
		} `json:"wave"`
	}
	if err := load(path, &v); err != nil {
		return err
	}
	x := &v.Wave
	w.Begin, w.End, w.CU, w.ID = x.Begin, x.End, x.CU, x.ID
	for i, r := range x.Instructions {
		if len(r) < 5 {
			return fmt.Errorf("%s: instruction %d has %d columns, and 5 are needed", path, i, len(r))
		}
		if r[4] < 0 || r[4] > int64(lines) {
			return fmt.Errorf("%s: instruction %d is of line %d, and code.json has %d", path, i, r[4], lines)
		}
		w.Insts = append(w.Insts, Inst{r[0], r[1], r[2], r[3], int(r[4])})
	}
	for i, r := range x.Timeline {
		if len(r) < 2 {
			return fmt.Errorf("%s: state %d has %d columns, and 2 are needed", path, i, len(r))
		}
		w.Timeline = append(w.Timeline, Span{r[0], r[1]})
	}
	for _, raw := range x.Waitcnt {
		var wait Wait
		if err := fields(raw, 2, &wait.Line, &wait.Sources); err != nil {
			return fmt.Errorf("%s: waitcnt: %w", path, err)
		}
		w.Waits = append(w.Waits, wait)
	}
	return nil
}
