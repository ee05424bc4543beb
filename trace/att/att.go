// Package att reads the folders that rocprofv3 makes of advanced thread traces:
// code.json, filenames.json and one file a wave.
//
// The formats are those of ui_output folders of ROCm 6.4 to 7: code.json holds a
// row an instruction, a wave's file its instructions in order with the cycle of
// the attempt to issue, the cycles that it was stalled, and those until the end
// of its issue.
package att

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Types of instructions in a wave's file.
const (
	TypeSMEM      = 1
	TypeSALU      = 2
	TypeVMEM      = 3
	TypeFLAT      = 4
	TypeLDS       = 5
	TypeVALU      = 6 // matrix instructions too
	TypeTaken     = 7 // a branch that jumps
	TypeNotTaken  = 8
	TypeImmediate = 9 // s_waitcnt, s_barrier, s_setprio, s_nop
	TypeMessage   = 11
)

// States of a wave's timeline.
const (
	StateIdle  = 1
	StateExec  = 2
	StateWait  = 3
	StateStall = 4
	NumStates  = 5 // 0 is not used
)

// Row is a line of code.json. Lines that are no instruction, such as labels and
// comments, have no address.
type Row struct {
	ISA     string
	Line    int
	Source  string
	Object  int
	Address uint64
	Hits    int64
	Latency int64 // cycles, all hits
	Stall   int64
	Idle    int64
}

// Issue is an executed instruction.
type Issue struct {
	Cycle    int64 // of the attempt
	Type     int
	Stall    int64
	Duration int64
	Line     int // of code.json
}

// Span is a stretch of a wave's timeline.
type Span struct {
	State  int
	Cycles int64
}

// Wave is one wave's file.
type Wave struct {
	File       string
	SE, SIMD   int
	Slot, ID   int
	CU         int
	Begin, End int64
	Issues     []Issue
	Timeline   []Span
}

// States sums the timeline by state.
func (w *Wave) States() (cycles [NumStates]int64) {
	for _, s := range w.Timeline {
		cycles[s.State] += s.Cycles
	}
	return cycles
}

// Folder is a thread trace.
type Folder struct {
	Dir   string
	Code  []Row  // in order of Line
	GFX   string // processor, if the folder says it
	Waves []Wave // in order of shader engine, CU, begin
	Notes []string
}

// Limits of a folder's files.
const (
	maxFileBytes = 1 << 30
	maxLines     = 1 << 22
	maxCycle     = 1 << 56
)

// waveFile matches a wave's file: shader engine, SIMD, slot, and the how many-th
// wave in it.
var waveFile = regexp.MustCompile(`^se(\d+)_sm(\d+)_sl(\d+)_wv(\d+)\.json$`)

// Read reads a folder. An error is one sentence and names the file.
func Read(dir string) (*Folder, error) {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%s is no folder; name the ui_output folder that rocprofv3 --att writes", dir)
	}
	f := &Folder{Dir: dir}
	if err := f.readCode(); err != nil {
		return nil, err
	}
	names, err := f.readNames()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		w, err := f.readWave(name)
		if err != nil {
			return nil, err
		}
		f.Waves = append(f.Waves, *w)
	}
	slices.SortStableFunc(f.Waves, func(a, b Wave) int {
		return cmp.Or(cmp.Compare(a.SE, b.SE), cmp.Compare(a.CU, b.CU), cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.SIMD, b.SIMD), cmp.Compare(a.Slot, b.Slot))
	})
	return f, nil
}

// load reads one JSON file of the folder.
func (f *Folder) load(name string, to any) error {
	path := filepath.Join(f.Dir, name)
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
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readCode reads code.json.
func (f *Folder) readCode() error {
	var file struct {
		Code [][]json.RawMessage `json:"code"`
	}
	if err := f.load("code.json", &file); err != nil {
		return err
	}
	path := filepath.Join(f.Dir, "code.json")
	if len(file.Code) == 0 {
		return fmt.Errorf("%s holds no code: record the thread trace again with the code objects in reach (rocprofv3 --att writes them when the kernel is loaded while it runs)", path)
	}
	if len(file.Code) > maxLines {
		return fmt.Errorf("%s has %d lines; %d are the most", path, len(file.Code), maxLines)
	}
	for i, raw := range file.Code {
		r, err := parseRow(raw)
		if err != nil {
			return fmt.Errorf("%s: code[%d]: %w", path, i, err)
		}
		f.Code = append(f.Code, r)
	}
	slices.SortStableFunc(f.Code, func(a, b Row) int { return cmp.Compare(a.Line, b.Line) })
	for i := 1; i < len(f.Code); i++ {
		if f.Code[i].Line == f.Code[i-1].Line {
			return fmt.Errorf("%s: line %d stands twice", path, f.Code[i].Line)
		}
	}
	return nil
}

// parseRow reads [isa, ?, line, source, codeobj_id, vaddr, hit, latency, stall,
// idle].
func parseRow(raw []json.RawMessage) (Row, error) {
	var r Row
	if len(raw) < 10 {
		return r, fmt.Errorf("it has %d fields instead of 10", len(raw))
	}
	for _, c := range []struct {
		at   int
		name string
		to   any
	}{{0, "isa", &r.ISA}, {2, "line", &r.Line}, {3, "source", &r.Source}, {4, "codeobj_id", &r.Object}, {5, "vaddr", &r.Address},
		{6, "hit", &r.Hits}, {7, "latency", &r.Latency}, {8, "stall", &r.Stall}, {9, "idle", &r.Idle}} {
		if err := json.Unmarshal(raw[c.at], c.to); err != nil {
			return r, fmt.Errorf("field %d (%s) is %.40s", c.at, c.name, raw[c.at])
		}
	}
	return r, nil
}

// readNames finds the waves' files: in filenames.json, or by their names when it
// is missing.
func (f *Folder) readNames() ([]string, error) {
	var index any
	path := filepath.Join(f.Dir, "filenames.json")
	if _, err := os.Stat(path); err == nil {
		if err := f.load("filenames.json", &index); err != nil {
			return nil, err
		}
	} else {
		f.Notes = append(f.Notes, "filenames.json is missing: waves were found by the names of their files")
	}
	var names []string
	f.walk(index, &names)
	if len(names) == 0 {
		found, err := filepath.Glob(filepath.Join(f.Dir, "se*_sm*_sl*_wv*.json"))
		if err != nil {
			return nil, err
		}
		for _, n := range found {
			names = append(names, filepath.Base(n))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no wave: files such as se0_sm0_sl0_wv0.json are missing", f.Dir)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// walk looks through filenames.json for names of waves' files and the processor.
func (f *Folder) walk(v any, names *[]string) {
	switch x := v.(type) {
	case string:
		switch base := filepath.Base(x); {
		case waveFile.MatchString(base):
			*names = append(*names, base)
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
func (f *Folder) readWave(name string) (*Wave, error) {
	path := filepath.Join(f.Dir, name)
	m := waveFile.FindStringSubmatch(name)
	if m == nil {
		return nil, fmt.Errorf("%s is no wave's file by its name", path)
	}
	var file struct {
		Wave *struct {
			Begin        int64     `json:"begin"`
			End          int64     `json:"end"`
			CU           int       `json:"cu"`
			SIMD         *int      `json:"simd"`
			Slot         *int      `json:"slot"`
			ID           int       `json:"id"`
			Instructions [][]int64 `json:"instructions"`
			Timeline     [][]int64 `json:"timeline"`
		} `json:"wave"`
		NumInsts *int `json:"num_insts"`
	}
	if err := f.load(name, &file); err != nil {
		return nil, err
	}
	if file.Wave == nil {
		return nil, fmt.Errorf("%s has no wave in it", path)
	}
	v := file.Wave
	w := &Wave{File: name, CU: v.CU, ID: v.ID, Begin: v.Begin, End: v.End}
	w.SE, w.SIMD, w.Slot = number(m[1]), number(m[2]), number(m[3])
	if v.SIMD != nil {
		w.SIMD = *v.SIMD
	}
	if v.Slot != nil {
		w.Slot = *v.Slot
	}
	if v.End < v.Begin || v.Begin < 0 || v.End > maxCycle {
		return nil, fmt.Errorf("%s: the wave begins at %d and ends at %d", path, v.Begin, v.End)
	}
	for i, x := range v.Instructions {
		issue, err := f.issue(x)
		if err != nil {
			return nil, fmt.Errorf("%s: instructions[%d]: %w", path, i, err)
		}
		w.Issues = append(w.Issues, issue)
	}
	for i, x := range v.Timeline {
		if len(x) < 2 || x[0] < StateIdle || x[0] > StateStall || x[1] < 0 || x[1] > maxCycle {
			return nil, fmt.Errorf("%s: timeline[%d] is %v; a state from %d to %d and its length are expected", path, i, x, StateIdle, StateStall)
		}
		w.Timeline = append(w.Timeline, Span{int(x[0]), x[1]})
	}
	if n := file.NumInsts; n != nil && *n != len(w.Issues) {
		f.Notes = append(f.Notes, fmt.Sprintf("%s says that it has %d instructions and has %d", name, *n, len(w.Issues)))
	}
	return w, nil
}

// issue checks [time, type, stall, duration, code_line].
func (f *Folder) issue(x []int64) (Issue, error) {
	if len(x) < 5 {
		return Issue{}, fmt.Errorf("it has %d fields instead of 5", len(x))
	}
	i := Issue{Cycle: x[0], Type: int(x[1]), Stall: x[2], Duration: x[3], Line: int(x[4])}
	if !slices.Contains([]int{TypeSMEM, TypeSALU, TypeVMEM, TypeFLAT, TypeLDS, TypeVALU, TypeTaken, TypeNotTaken, TypeImmediate, 10, TypeMessage}, i.Type) {
		return i, fmt.Errorf("type %d is not known", i.Type)
	}
	if x[0] < 0 || x[0] > maxCycle || x[2] < 0 || x[3] < 0 || max(x[2], x[3]) > maxCycle {
		return i, fmt.Errorf("time %d, stall %d, duration %d", x[0], x[2], x[3])
	}
	if _, ok := f.Find(i.Line); !ok {
		return i, fmt.Errorf("code.json has no line %d", i.Line)
	}
	return i, nil
}

// Find returns the index in Code of a line.
func (f *Folder) Find(line int) (int, bool) {
	return slices.BinarySearchFunc(f.Code, line, func(r Row, n int) int { return cmp.Compare(r.Line, n) })
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
