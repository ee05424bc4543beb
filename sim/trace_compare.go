package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/trace"
	"github.com/whisker-sim/whisker/xcd"
)

// TraceComparison holds the issue times of a replay against the measured ones of
// a trace that was imported from hardware.
type TraceComparison struct {
	Trace        string         `json:"trace"`
	Machine      string         `json:"machine"`
	Waves        []WaveCompare  `json:"waves"`
	Instructions []IssueCompare `json:"instructions"`
	Total        CompareTotal   `json:"total"`
	Notes        []string       `json:"notes"`
}

// CompareTotal sums over waves.
type CompareTotal struct {
	Instructions   uint64  `json:"instructions"`
	HardwareCycles int64   `json:"hardware_cycles"` // from first to last issue
	ModelCycles    int64   `json:"model_cycles"`
	Ratio          float64 `json:"ratio"` // model over hardware
}

// WaveCompare is one wave, first to last issue.
type WaveCompare struct {
	Workgroup      int     `json:"workgroup"`
	Wave           int     `json:"wave"`
	Instructions   int     `json:"instructions"`
	HardwareCycles int64   `json:"hardware_cycles"`
	ModelCycles    int64   `json:"model_cycles"`
	Ratio          float64 `json:"ratio"`
	PartsAt        int     `json:"parts_at"` // first instruction, in order of execution, that the model issues more than PartsBy cycles apart from the hardware; -1: none
	PartsPC        uint32  `json:"parts_pc"`
	States         *States `json:"hardware_states,omitempty"`
}

// States are cycles of the hardware's timeline.
type States struct {
	Idle  int64 `json:"idle"`
	Exec  int64 `json:"exec"`
	Wait  int64 `json:"wait"`
	Stall int64 `json:"stall"`
}

// IssueCompare is one instruction of the program, over all its executions.
type IssueCompare struct {
	PC           uint32  `json:"pc"`
	Text         string  `json:"text"`
	Hits         int     `json:"hits"`
	HardwareGap  float64 `json:"hardware_gap"` // mean cycles since the issue before it in the wave
	ModelGap     float64 `json:"model_gap"`
	Difference   float64 `json:"difference"` // cycles of all hits, model less hardware
	HardwareHeld float64 `json:"hardware_stall"`
}

// partsBy is how many cycles issue times may be apart before waves part.
const partsBy = 64

// CompareOptions ask for a comparison.
type CompareOptions struct {
	ReplayOptions
	Top    int // instructions to print, by difference; 0: all, in order of address
	Format string
}

// CompareTrace replays a trace with measured issue times and writes where model
// and hardware part.
func CompareTrace(w io.Writer, o CompareOptions) error {
	if err := CheckFormat(o.Format, report.Formats); err != nil {
		return err
	}
	if o.Top < 0 {
		return usagef("--top is %d; it must not be negative", o.Top)
	}
	t, err := openTrace(o.File, o.AllowTruncated)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.measured(); err != nil {
		return err
	}
	machine, err := o.machine(t)
	if err != nil {
		return err
	}
	p, err := t.prepare(machine.Machine())
	if err != nil {
		return usagef("%s: %w", o.File, err)
	}
	clocks := newIssueClocks()
	p.watch = clocks.attach
	run := &RunOptions{Kernel: p.job.Kernel, Mode: p.mode, Threads: max(1, o.Threads), ColdLLC: p.cold, RotateBuffers: p.rotate, replay: p, Progress: o.Progress}
	if _, _, err := runJob(run, machine, p.job); err != nil {
		return traceFault(err)
	}
	c, err := t.compare(clocks)
	if err != nil {
		return traceFault(err)
	}
	c.Machine = machine.Machine().Name
	c.Notes = append(c.Notes, t.notes(machine)...)
	return c.write(w, o.Top, o.Format)
}

// measured refuses traces without measured issue times.
func (t *openedTrace) measured() error {
	for _, g := range t.Workgroups(0) {
		for _, v := range t.Waves(0, g) {
			parts, err := t.Wave(0, g, v)
			if err != nil {
				return traceFault(err)
			}
			if parts[0].Issues != nil {
				return nil
			}
		}
	}
	return usagef("%s has no measured issue times to compare with: whisker trace import att makes traces that have", t.path)
}

// issueClocks collects the issue times of replayed waves.
type issueClocks struct {
	mu    sync.Mutex
	at    map[cu.Place]*[]int64
	waves map[[2]int]*[]int64 // by workgroup and wave
}

func newIssueClocks() *issueClocks { return &issueClocks{} }

// attach makes a run collect; each try of a run begins anew.
func (c *issueClocks) attach(o *xcd.GPUOptions) (places func(wg, inWG int, at cu.Place)) {
	c.at, c.waves = map[cu.Place]*[]int64{}, map[[2]int]*[]int64{}
	o.Hook = func(x, id int) cu.IssueHook {
		return func(now int64, simd, slot, _ int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if s := c.at[cu.Place{XCC: x, CU: id, SIMD: simd, Slot: slot}]; s != nil {
				*s = append(*s, now)
			}
		}
	}
	return func(wg, inWG int, at cu.Place) {
		c.mu.Lock()
		defer c.mu.Unlock()
		s := new([]int64)
		c.at[at], c.waves[[2]int{wg, inWG}] = s, s
	}
}

// compare holds the collected times against the measured ones.
func (t *openedTrace) compare(clocks *issueClocks) (*TraceComparison, error) {
	c := &TraceComparison{Trace: t.path, Waves: []WaveCompare{}, Instructions: []IssueCompare{}, Notes: []string{}}
	k, err := kernelOf(t.Launch(0), t.Program(0))
	if err != nil {
		return nil, err
	}
	var extra attExtra
	if len(t.Launch(0).Extra) > 0 {
		if err := json.Unmarshal(t.Launch(0).Extra, &extra); err != nil {
			return nil, fmt.Errorf("%w: launch 0: %w", trace.ErrFormat, err)
		}
	}
	rows := make([]IssueCompare, len(k.Insts))
	for _, g := range t.Workgroups(0) {
		for _, v := range t.Waves(0, g) {
			parts, err := t.Wave(0, g, v)
			if err != nil {
				return nil, err
			}
			model := clocks.waves[[2]int{g, v}]
			if parts[0].Issues == nil || model == nil {
				continue
			}
			w := compareWave(parts, *model, rows)
			w.Workgroup, w.Wave = g, v
			if w.PartsAt >= 0 {
				w.PartsPC = k.Insts[w.PartsPC].PC
			}
			for _, e := range extra.Waves {
				if e.Workgroup == g && e.Wave == v {
					w.States = &States{e.Idle, e.Exec, e.Wait, e.Stall}
				}
			}
			c.Total.Instructions += uint64(w.Instructions)
			c.Total.HardwareCycles += w.HardwareCycles
			c.Total.ModelCycles += w.ModelCycles
			c.Waves = append(c.Waves, w)
		}
	}
	c.Total.Ratio = report.Ratio(float64(c.Total.ModelCycles), float64(c.Total.HardwareCycles))
	for i := range rows {
		r := &rows[i]
		if r.Hits == 0 {
			continue
		}
		n := float64(r.Hits)
		r.Difference = r.ModelGap - r.HardwareGap
		r.PC, r.Text = k.Insts[i].PC, k.Insts[i].Text(k.CPU)
		r.HardwareGap, r.ModelGap, r.HardwareHeld = r.HardwareGap/n, r.ModelGap/n, r.HardwareHeld/n
		c.Instructions = append(c.Instructions, *r)
	}
	return c, nil
}

// compareWave adds one wave to the rows. An instruction issues on the hardware
// when its stall is over.
func compareWave(parts []*trace.Wave, model []int64, rows []IssueCompare) WaveCompare {
	w := WaveCompare{PartsAt: -1}
	var first, last [2]int64
	err := trace.Walk(parts, func(s *trace.Step) error {
		if s.Issue == nil || int(s.Number) >= len(model) {
			return errStop
		}
		now := [2]int64{s.Issue.Cycle + s.Issue.Stall, model[s.Number]}
		if w.Instructions == 0 {
			first, last = now, now
		}
		r := &rows[s.Inst]
		r.Hits++
		r.HardwareGap += float64(now[0] - last[0])
		r.ModelGap += float64(now[1] - last[1])
		r.HardwareHeld += float64(s.Issue.Stall)
		if d := (now[1] - first[1]) - (now[0] - first[0]); w.PartsAt < 0 && (d > partsBy || d < -partsBy) {
			w.PartsAt, w.PartsPC = int(s.Number), uint32(s.Inst)
		}
		w.Instructions++
		last = now
		return nil
	})
	_ = err // errStop alone: the trace was checked when it was read
	w.HardwareCycles, w.ModelCycles = last[0]-first[0], last[1]-first[1]
	w.Ratio = report.Ratio(float64(w.ModelCycles), float64(w.HardwareCycles))
	return w
}

// write writes the comparison: CSV has a row an instruction.
func (c *TraceComparison) write(w io.Writer, top int, format string) error {
	rows := slices.Clone(c.Instructions)
	if top > 0 {
		slices.SortStableFunc(rows, func(a, b IssueCompare) int { return cmp.Compare(math.Abs(b.Difference), math.Abs(a.Difference)) })
		rows = rows[:min(top, len(rows))]
	}
	tab := report.Table{Header: []string{"pc", "instruction", "hits", "hardware gap", "model gap", "difference", "hardware stall"}, Left: []int{0, 1}}
	for _, r := range rows {
		tab.Add(fmt.Sprintf("%#x", r.PC), r.Text, r.Hits, fmt.Sprintf("%.1f", r.HardwareGap), fmt.Sprintf("%.1f", r.ModelGap), fmt.Sprintf("%+.0f", r.Difference), fmt.Sprintf("%.1f", r.HardwareHeld))
	}
	if format != "table" {
		c.Instructions = rows
		return writeRows(w, format, &tab, c)
	}
	fmt.Fprintf(w, "%s on %s: %d instructions of %d waves; hardware %s cycles, model %s, ratio %.3f\n\n", c.Trace, c.Machine, c.Total.Instructions, len(c.Waves),
		report.Thousands(c.Total.HardwareCycles), report.Thousands(c.Total.ModelCycles), c.Total.Ratio)
	waves := report.Table{Header: []string{"workgroup", "wave", "instructions", "hardware", "model", "ratio", "parts at", "pc", "idle", "exec", "wait", "stall"}}
	for _, v := range c.Waves {
		at, pc := "-", "-"
		if v.PartsAt >= 0 {
			at, pc = fmt.Sprint(v.PartsAt), fmt.Sprintf("%#x", v.PartsPC)
		}
		s := States{}
		if v.States != nil {
			s = *v.States
		}
		waves.Add(v.Workgroup, v.Wave, v.Instructions, v.HardwareCycles, v.ModelCycles, fmt.Sprintf("%.3f", v.Ratio), at, pc, s.Idle, s.Exec, s.Wait, s.Stall)
	}
	if _, err := waves.WriteTo(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nA gap is the cycles since the issue before it in the wave; a difference is the model's less the hardware's, over all hits.\nA wave parts where its issue, counted from its first, is more than %d cycles off.\n\n", partsBy)
	if _, err := tab.WriteTo(w); err != nil {
		return err
	}
	for _, n := range c.Notes {
		if _, err := fmt.Fprintf(w, "note: %s\n", n); err != nil {
			return err
		}
	}
	return nil
}
