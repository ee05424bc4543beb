package att

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Limits of a folder's files.
const (
	maxFileBytes = 1 << 30
	maxFolder    = 2 << 30 // bytes of all files, which are held in memory
	maxLines     = 1 << 22
	maxCycle     = 1 << 56
)

// Read reads a folder of a thread trace, one that rocprofv3 wrote or one of
// Write. Files beside the code and the waves may be missing; Notes say so. An
// error is one sentence and names the file.
func Read(dir string) (*Folder, error) {
	f := &Folder{Dir: dir, Occupancy: map[int][]Occupied{}, Dispatches: map[string]string{}}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%s is no folder: a thread trace is a folder such as %s, which rocprofv3 --att writes", dir, FolderName(0, 1))
	}
	if err := fits(dir); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "code.json")); err != nil {
		if in, err := filepath.Glob(filepath.Join(dir, "ui_output_*")); err == nil && len(in) > 0 {
			return nil, fmt.Errorf("%s is no thread trace but holds %d of them: give one, such as %s", dir, len(in), in[0])
		}
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

// fits refuses a folder that memory might not hold.
func fits(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && filepath.Ext(e.Name()) == ".json" {
			total += info.Size()
		}
	}
	if total > maxFolder {
		return fmt.Errorf("%s has %d bytes of JSON, more than %d: keep fewer waves' files, and name them in filenames.json", dir, total, int64(maxFolder))
	}
	return nil
}

// load reads a JSON file.
func load(path string, v any) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s is missing from the thread trace: %w", path, errors.Unwrap(err))
	}
	if st.Size() > maxFileBytes {
		return fmt.Errorf("%s has %d bytes; %d are the most", path, st.Size(), maxFileBytes)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := decode(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// fields puts a JSON list of mixed types into places; those beyond the list stay
// as they are only when it is long enough for the first min.
func fields(raw json.RawMessage, least int, places ...any) error {
	var list []json.RawMessage
	if err := decode(raw, &list); err != nil {
		return err
	}
	if len(list) < least {
		return fmt.Errorf("it has %d fields instead of %d", len(list), least)
	}
	for i, p := range places {
		if p == nil || i >= len(list) || string(list[i]) == "null" {
			continue
		}
		if err := decode(list[i], p); err != nil {
			return fmt.Errorf("field %d is %.40s", i, list[i])
		}
	}
	return nil
}

// readCode reads code.json: rows [isa, ?, line, source, codeobj_id, vaddr, hit,
// latency, stall, idle].
func (f *Folder) readCode(path string) error {
	var v struct {
		Code []json.RawMessage `json:"code"`
	}
	if err := load(path, &v); err != nil {
		return err
	}
	switch {
	case len(v.Code) == 0:
		return fmt.Errorf("%s holds no code: there is no code list, or it is null or empty: the trace was taken while no wave of a traced CU ran, or without its code objects", path)
	case len(v.Code) > maxLines:
		return fmt.Errorf("%s has %d lines; %d are the most", path, len(v.Code), maxLines)
	}
	for i, raw := range v.Code {
		var c CodeRow
		if err := fields(raw, 10, &c.ISA, nil, &c.Line, &c.Source, &c.CodeObject, &c.Address, &c.Hit, &c.Latency, &c.Stall, &c.Idle); err != nil {
			return fmt.Errorf("%s: code[%d]: %w", path, i, err)
		}
		f.Code = append(f.Code, c)
	}
	slices.SortStableFunc(f.Code, func(a, b CodeRow) int { return cmp.Compare(a.Line, b.Line) })
	for i := 1; i < len(f.Code); i++ {
		if f.Code[i].Line == f.Code[i-1].Line {
			return fmt.Errorf("%s: line %d stands twice", path, f.Code[i].Line)
		}
	}
	return nil
}

// Find returns the index in Code of a line.
func (f *Folder) Find(line int) (int, bool) {
	return slices.BinarySearchFunc(f.Code, line, func(r CodeRow, n int) int { return cmp.Compare(r.Line, n) })
}

func (f *Folder) readOccupancy(path string) error {
	var v map[string]json.RawMessage
	switch err := load(path, &v); {
	case errors.Is(err, os.ErrNotExist):
		f.Notes = append(f.Notes, "occupancy.json is missing: which waves ran when is known of the traced ones only")
		return nil
	case err != nil:
		return err
	}
	for key, raw := range v {
		if key == "dispatches" {
			if err := decode(raw, &f.Dispatches); err != nil {
				return fmt.Errorf("%s: dispatches: %w", path, err)
			}
			continue
		}
		se, err := strconv.Atoi(key)
		if err != nil {
			continue // version and the like
		}
		var rows []json.RawMessage
		if err := decode(raw, &rows); err != nil {
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
