package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/trace"
)

// TraceInfo is what TraceInfo writes as JSON.
type TraceInfo struct {
	File       string        `json:"file"`
	Bytes      int64         `json:"bytes"`
	Version    int           `json:"version"`
	Complete   bool          `json:"complete"`
	Fault      string        `json:"fault,omitempty"`
	Chunks     int           `json:"chunks"`
	Launches   []LaunchInfo  `json:"launches"`
	ChunkKinds []ChunkCounts `json:"chunk_kinds"`
}

// ChunkCounts are the chunks of one kind.
type ChunkCounts struct {
	Kind   string `json:"kind"`
	Chunks int    `json:"chunks"`
	Stored int64  `json:"stored_bytes"`
	Raw    int64  `json:"raw_bytes"`
}

// LaunchInfo is one launch of a trace.
type LaunchInfo struct {
	Kernel       string             `json:"kernel"`
	CPU          string             `json:"cpu"`
	Origin       string             `json:"origin"`
	Writer       string             `json:"writer"`
	Machine      string             `json:"machine"`
	MachineHash  string             `json:"machine_hash"`
	ClockMHz     float64            `json:"clock_mhz"`
	Program      string             `json:"program"`
	Code         int                `json:"program_instructions"`
	Workgroups   int                `json:"workgroups"`
	InTrace      int                `json:"workgroups_in_trace"`
	Waves        int                `json:"waves"`
	Missing      int                `json:"waves_missing"` // of a truncated trace; -1: not known
	Dropped      int                `json:"waves_dropped"` // of the missing ones, those that are cut off in the middle
	Patterns     int                `json:"patterns"`
	Cycles       int64              `json:"recorded_cycles"`
	Instructions uint64             `json:"instructions"`
	Dependence   []trace.Dependence `json:"dependence"`
	Slice        string             `json:"slice,omitempty"`
	Notes        []string           `json:"notes,omitempty"`
}

// info describes an open trace.
func (t *openedTrace) info() (*TraceInfo, error) {
	st, err := t.file.Stat()
	if err != nil {
		return nil, err
	}
	x := &TraceInfo{File: t.path, Bytes: st.Size(), Version: trace.Version, Complete: t.Truncated() == nil}
	if err := t.Truncated(); err != nil {
		x.Fault = err.Error()
	}
	chunks, err := t.Chunks()
	if err != nil {
		return nil, err
	}
	at := map[trace.Kind]int{}
	for _, c := range chunks {
		i, ok := at[c.Kind]
		if !ok {
			i = len(x.ChunkKinds)
			at[c.Kind] = i
			x.ChunkKinds = append(x.ChunkKinds, ChunkCounts{Kind: c.Kind.String()})
		}
		k := &x.ChunkKinds[i]
		k.Chunks++
		k.Stored += c.Stored
		k.Raw += c.Raw
		x.Chunks++
	}
	for i := range t.Launches() {
		l := t.Launch(i)
		r := LaunchInfo{Kernel: l.Kernel, CPU: l.CPU, Origin: l.Origin, Writer: l.Writer, Machine: l.Machine.Name, MachineHash: l.Machine.Hash, ClockMHz: l.ClockMHz,
			Program: l.Program, Code: len(t.Program(i)), Workgroups: l.Workgroups[0] * l.Workgroups[1] * l.Workgroups[2], InTrace: len(t.Workgroups(i)),
			Dropped: t.Dropped(i), Patterns: len(t.Patterns(i)), Dependence: l.Dependence, Slice: l.Slice, Notes: l.Notes}
		if r.Dependence == nil {
			r.Dependence = []trace.Dependence{}
		}
		r.Waves, r.Missing = t.waves(i), t.missing(i)
		if res := t.Result(i); res != nil {
			r.Cycles, r.Instructions = res.Cycles, res.Instructions
		}
		x.Launches = append(x.Launches, r)
	}
	return x, nil
}

// TraceInfoOf writes what is in a trace.
func TraceInfoOf(w io.Writer, path string, allowTruncated bool, format string) error {
	t, err := openTrace(path, allowTruncated)
	if err != nil {
		return err
	}
	defer t.Close()
	x, err := t.info()
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	tab := report.Table{Header: []string{"what", "value"}, Left: []int{1}}
	tab.Add("file", x.File)
	tab.Add("bytes", report.Thousands(x.Bytes))
	tab.Add("version", x.Version)
	tab.Add("complete", yesNo(x.Complete))
	if x.Fault != "" {
		tab.Add("fault", x.Fault)
	}
	for _, k := range x.ChunkKinds {
		tab.Add(k.Kind+" chunks", fmt.Sprintf("%d, %s bytes stored, %s unpacked", k.Chunks, report.Thousands(k.Stored), report.Thousands(k.Raw)))
	}
	for i := range x.Launches {
		l := &x.Launches[i]
		tab.Add(fmt.Sprintf("launch %d", i), fmt.Sprintf("%s for %s, from %s by %s", l.Kernel, l.CPU, l.Origin, l.Writer))
		tab.Add("  program", fmt.Sprintf("%d instructions, %.16s", l.Code, l.Program))
		tab.Add("  machine", fmt.Sprintf("%s (%s) at %.0f MHz", l.Machine, l.MachineHash, l.ClockMHz))
		tab.Add("  workgroups", fmt.Sprintf("%d of %d, %d waves", l.InTrace, l.Workgroups, l.Waves))
		tab.Add("  instructions", report.Thousands(int64(l.Instructions)))
		tab.Add("  recorded cycles", report.Thousands(l.Cycles))
		tab.Add("  lane patterns", l.Patterns)
		if s := t.lossOf(i); s != "" {
			tab.Add("  missing", s)
		}
		if s := dependenceNote(l.Dependence); s != "" {
			tab.Add("  depends", s)
		}
		if l.Slice != "" {
			tab.Add("  slice", l.Slice)
		}
		for _, n := range l.Notes {
			tab.Add("  note", n)
		}
	}
	return writeRows(w, format, &tab, x)
}

// waves is how many waves of launch i are whole in the trace.
func (t *openedTrace) waves(i int) int {
	n := 0
	for _, g := range t.Workgroups(i) {
		n += len(t.Waves(i, g))
	}
	return n
}

// launched is how many waves launch i has by its grid.
func (t *openedTrace) launched(i int) int {
	l := t.Launch(i)
	return (l.Workgroup[0]*l.Workgroup[1]*l.Workgroup[2] + trace.Lanes - 1) / trace.Lanes * l.Workgroups[0] * l.Workgroups[1] * l.Workgroups[2]
}

// missing is how many waves of launch i a truncated trace lacks: of its grid, or
// of its result where that is there. It is -1 where nothing says how many there
// were: a slice, and hardware's workgroups, may lack waves from the outset.
func (t *openedTrace) missing(i int) int {
	l, n := t.Launch(i), t.waves(i)
	switch res := t.Result(i); {
	case t.Truncated() == nil:
		return 0
	case res != nil:
		return max(res.Waves-n, 0)
	case l.Slice != "" || l.Origin == "att":
		return -1
	}
	return max(t.launched(i)-n, 0)
}

// lossOf says how many waves of launch i are missing from a truncated trace.
func (t *openedTrace) lossOf(i int) string {
	s := ""
	switch n := t.missing(i); n {
	case 0:
		return ""
	case -1:
		s = "an unknown number of waves"
	default:
		s = fmt.Sprintf("%d of %d waves", n, n+t.waves(i))
	}
	if n := t.Dropped(i); n > 0 {
		s += fmt.Sprintf(", %d of them cut off in the middle", n)
	}
	return s
}

// lost says what a truncated trace lacks. Launches after its end are not known.
func (t *openedTrace) lost() []string {
	var out []string
	for i := range t.Launches() {
		if s := t.lossOf(i); s != "" {
			out = append(out, fmt.Sprintf("launch %d lacks %s", i, s))
		}
	}
	if out == nil {
		out = append(out, "no wave is missing from the launches that are in it")
	}
	return out
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// TraceCheck reads all of a trace, and compares its program with a code object
// if one is given.
func TraceCheck(w io.Writer, path, object, kernel string, allowTruncated bool, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	t, err := openTrace(path, allowTruncated)
	if err != nil {
		return err
	}
	defer t.Close()
	waves, err := t.Check()
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	for i := range t.Launches() {
		if _, err := kernelOf(t.Launch(i), t.Program(i)); err != nil {
			return usagef("%s: launch %d: %w", path, i, err)
		}
	}
	if err := t.matches(object, kernel); err != nil {
		return err
	}
	res := struct {
		File     string `json:"file"`
		Sound    bool   `json:"sound"`
		Complete bool   `json:"complete"`
		Launches int    `json:"launches"`
		Waves    int    `json:"waves"`
		Missing  int    `json:"waves_missing"` // -1: not known
		Fault    string `json:"fault,omitempty"`
	}{path, true, t.Truncated() == nil, t.Launches(), waves, 0, ""}
	lacks := "0"
	if err := t.Truncated(); err != nil {
		res.Fault = fmt.Sprintf("%v; %s", err, strings.Join(t.lost(), "; "))
		for i := range t.Launches() {
			if n := t.missing(i); n < 0 || res.Missing < 0 {
				res.Missing, lacks = -1, "unknown"
			} else {
				res.Missing += n
				lacks = strconv.Itoa(res.Missing)
			}
		}
	}
	tab := report.Table{Header: []string{"file", "sound", "complete", "launches", "waves", "missing"}, Left: []int{0}}
	tab.Add(path, "yes", yesNo(res.Complete), res.Launches, res.Waves, lacks)
	return writeRows(w, format, &tab, res)
}

// writeTrace writes a trace file as a whole, or nothing.
func writeTrace(path string, write func(*trace.Writer) error) error {
	f, err := createOutput(path)
	if err != nil {
		return err
	}
	w, err := trace.NewWriter(f)
	if err == nil {
		err = write(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		f.Discard()
		if errors.Is(err, os.ErrInvalid) {
			return usagef("%s: %w", path, err)
		}
		return err
	}
	return f.Commit()
}
