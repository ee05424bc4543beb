package sim

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/timeline"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// DefaultRecordMB is the memory that a recording may take unless told otherwise.
const DefaultRecordMB = 512

// recordBytes is about what one wave instruction takes in a recording: its issue,
// the stall before it, and its share of memory and bank events (measured: 2.2 to
// 3.4 bytes in GEMM).
const recordBytes = 4

// RecordOptions asks for a recording of a timing run.
type RecordOptions struct {
	CUs     string // see timeline.ParseWindow; empty: 0.0
	Cycles  string
	LimitMB int // 0: DefaultRecordMB
	Kernel  int // which of a job's kernels, from 0

	Result *timeline.Recording // what the run leaves
}

// defaults fills in what is left open.
func (o *RecordOptions) defaults() RecordOptions {
	d := *o
	if d.CUs == "" {
		d.CUs = "0.0"
	}
	if d.LimitMB == 0 {
		d.LimitMB = DefaultRecordMB
	}
	return d
}

// check refuses what no run could record.
func (o *RecordOptions) check(mode string) error {
	if o == nil {
		return nil
	}
	if mode == "functional" {
		return usagef("a recording shows time, which functional mode does not have: leave --mode functional out")
	}
	d := o.defaults()
	if d.LimitMB < 1 || d.LimitMB > timeline.MaxFileBytes>>20 {
		return usagef("--record-limit-mb is %d; it must be from 1 to %d", d.LimitMB, timeline.MaxFileBytes>>20)
	}
	if _, err := timeline.ParseWindow(d.CUs, d.Cycles); err != nil {
		return usagef("the recorded %w", err)
	}
	return nil
}

// finish gives the recording the run's report, with its instructions, which the
// report itself keeps only when asked to.
func (o *RecordOptions) finish(r *report.Run, perInst bool) {
	if o == nil || o.Result == nil {
		return
	}
	c := *o.Result.Run
	c.Host = nil // the same run gives the same file
	if len(r.Parts) > 1 {
		atClock(&c, r.ClockMHz)
		c.Clock, c.Power = r.Clock, r.Power // the budget is of all kernels
		c.Notes = append(slices.Clone(c.Notes), fmt.Sprintf("this is kernel %d of %d of %s; clock and power are those of all", o.Kernel, len(r.Parts), r.Kernel))
	}
	c.Derive()
	if !perInst {
		o.Result.Run.Instructions, r.Instructions = nil, nil
	}
	o.Result.Run = &c
	if empty(o.Result) {
		d := o.defaults()
		cycles := ""
		if d.Cycles != "" {
			cycles = " in cycles " + d.Cycles
		}
		r.Notes = append(r.Notes, fmt.Sprintf("the recording is empty: no wave ran on CU %s%s", d.CUs, cycles))
	}
}

// empty reports whether nothing was recorded.
func empty(rec *timeline.Recording) bool {
	for i := range rec.CUs {
		for j := range rec.CUs[i].Lanes {
			some := false
			rec.CUs[i].Lanes[j].EachSegment(rec.Interval, func(timeline.Segment) bool {
				some = true
				return false
			})
			if some {
				return false
			}
		}
	}
	return true
}

// forKernel is what is asked for one kernel of a job: nil for all but one.
func (o *RecordOptions) forKernel(job *workloads.Job, b *workloads.Built) (*RecordOptions, error) {
	switch {
	case o == nil:
		return nil, nil
	case o.Kernel < 0 || o.Kernel >= len(job.Kernels):
		return nil, usagef("--window-kernel is %d; %s has kernels 0 to %d", o.Kernel, job.Kernel, len(job.Kernels)-1)
	case job.Kernels[o.Kernel] != b:
		return nil, nil
	}
	return o, nil
}

// recorder collects what a run does. A nil recorder records nothing.
type recorder struct {
	window   timeline.Window
	machine  *configs.Machine
	begin    int64 // the launch's, in cycles of the chip, whose clock goes on from launch to launch
	budget   timeline.Budget
	prog     *cu.Program
	mu       sync.Mutex
	builders []*timeline.Builder
	groups   []timeline.Group // by workgroup; each is written by one die
}

// newRecorder checks the window against the machine, and the size against the
// limit where the number of instructions is known.
func newRecorder(ask *RecordOptions, m *configs.Machine, groups int, expected int64) (*recorder, error) {
	if ask == nil {
		return nil, nil
	}
	o := ask.defaults()
	w, err := timeline.ParseWindow(o.CUs, o.Cycles)
	if err != nil {
		return nil, usagef("the recorded %w", err)
	}
	n, err := w.Count(m.Chip.XCDs, m.Chip.CUsPerXCD)
	if err != nil {
		return nil, usagef("the recorded %w", err)
	}
	if need := expected * int64(n) / int64(m.Chip.XCDs*m.Chip.CUsPerXCD) * recordBytes; w.Whole() && need > int64(o.LimitMB)<<20 {
		return nil, usagef("recording %d CUs for the whole run takes about %d MB, and --record-limit-mb allows %d: record fewer CUs (--window-cu) or cycles (--window-cycles)",
			n, need>>20, o.LimitMB)
	}
	r := &recorder{window: w, machine: m, groups: make([]timeline.Group, groups)}
	r.budget.Limit = int64(o.LimitMB) << 20
	return r, nil
}

// refuseRecording refuses what newRecorder will refuse, before anything is run.
func (o *RunOptions) refuseRecording(m *configs.Machine, job *workloads.Job) error {
	for _, b := range job.Kernels {
		ask, err := o.Record.forKernel(job, b)
		if err != nil {
			return err
		}
		if _, err := newRecorder(ask, m, b.Launch.NumWorkgroups(), expectedInsts(b)); err != nil {
			return err
		}
	}
	return nil
}

// attach adds the recorder to a run's options; stop ends the run when the limit
// is passed.
func (r *recorder) attach(o *xcd.GPUOptions, stop func()) {
	if r == nil {
		return
	}
	r.budget.Over = stop
	o.Ended = func(x, c, wg int, start, end int64) {
		r.groups[wg] = timeline.Group{XCD: x, CU: c, Start: start - r.begin, End: end - r.begin}
	}
	o.Record = func(x, c int, p *cu.Program) cu.Recorder {
		r.prog = p
		if !r.window.Has(x, c) {
			return nil
		}
		m := r.machine
		b := timeline.NewBuilder(x, c, m.CU.SIMDs, m.CU.WaveSlotsPerSIMD, int(m.CU.IssueIntervalCycles), r.window, &r.budget)
		r.builders = append(r.builders, b)
		return &cuRecorder{b, &r.begin}
	}
}

// starts says at which cycle of the chip the launch will begin.
func (r *recorder) starts(cycle int64) {
	if r != nil {
		r.begin = cycle
	}
}

// err says that the recording became too large.
func (r *recorder) err() error {
	if r == nil || !r.budget.Full() {
		return nil
	}
	return usagef("the recording passed the %d MB of --record-limit-mb, and the run was stopped: record fewer CUs (--window-cu) or cycles (--window-cycles)", r.budget.Limit>>20)
}

// cuRecorder hands a CU's events to its builder, in cycles since the launch began.
type cuRecorder struct {
	b     *timeline.Builder
	begin *int64
}

func (c *cuRecorder) Wave(start int64, slot, group, wave int) {
	c.b.Wave(start-*c.begin, slot, group, wave)
}
func (c *cuRecorder) End(end int64, slot int) { c.b.Ended(end-*c.begin, slot) }
func (c *cuRecorder) Issue(now int64, slot int, inst int32) {
	now -= *c.begin
	c.b.Segment(now, now+1, slot, timeline.Issue, inst)
}
func (c *cuRecorder) Stall(from, to int64, slot int, r cu.StallReason, inst int32) {
	c.b.Segment(from-*c.begin, to-*c.begin, slot, timeline.StallKind(int(r)), inst)
}
func (c *cuRecorder) MemoryIssue(now int64, slot int, n cu.Counter, pos uint32, inst int32) {
	c.b.MemoryIssue(now-*c.begin, slot, n == cu.CounterLGKM, pos, inst)
}
func (c *cuRecorder) MemoryDone(at int64, slot int, n cu.Counter, pos uint32) {
	c.b.MemoryDone(at-*c.begin, slot, n == cu.CounterLGKM, pos)
}
func (c *cuRecorder) Bank(at int64, cycles int32, slot int, n cu.Counter, pos uint32) {
	c.b.Bank(at-*c.begin, cycles, slot, n == cu.CounterVM, pos)
}
func (c *cuRecorder) Barrier(arrived, released int64, last, woken int) {
	c.b.Release(arrived-*c.begin, released-*c.begin, last, woken)
}
func (c *cuRecorder) LDSAccess(inst int32, a *isa.Access, twoAddr bool, service, conflicts int32) {
	d := c.b.Access(inst)
	if d == nil {
		return
	}
	d.Lanes, d.Service, d.Conflicts = a.Lanes, service, conflicts
	for i := range a.Addr {
		d.Addresses = append(d.Addresses, uint32(a.Addr[i]))
	}
	if twoAddr {
		for i := range a.Addr2 {
			d.Second = append(d.Second, uint32(a.Addr2[i]))
		}
	}
}

// recording puts together what the run left.
func (r *recorder) recording(ask *RecordOptions, run *report.Run, res *xcd.GPUResult, b *workloads.Built) error {
	if r == nil {
		return nil
	}
	m, k := r.machine, b.Launch.Kernel
	if r.window.From >= res.Timing.Cycles {
		return usagef("the recorded cycles begin at %d, and the run ended at cycle %d", r.window.From, res.Timing.Cycles)
	}
	rec := &timeline.Recording{Run: run, Window: r.window, Interval: int(m.CU.IssueIntervalCycles), SIMDs: m.CU.SIMDs, Slots: m.CU.WaveSlotsPerSIMD, Engines: m.Chip.ShaderEngines,
		End: min(res.Timing.Cycles, r.window.To), Insts: r.insts(b), Groups: r.groups}
	rec.Grid = grid(b, rec.Groups)
	seen := map[int32]bool{}
	for _, x := range r.builders {
		for _, a := range x.Accesses() {
			if !seen[a.Inst] {
				seen[a.Inst] = true
				rec.LDS = append(rec.LDS, a)
			}
		}
		rec.CUs = append(rec.CUs, x.Done())
	}
	slices.SortFunc(rec.LDS, func(a, b timeline.LDSAccess) int { return int(a.Inst - b.Inst) })
	if err := explainLDS(rec.LDS, k); err != nil {
		return err
	}
	rec.Layouts = layoutViews(k.CPU.String())
	for i := range res.Memory.L2PerXCD {
		l := &res.Memory.L2PerXCD[i]
		llc := res.Memory.LLCPerXCD[i]
		rec.XCDs = append(rec.XCDs, timeline.XCD{L2Requests: int64(l.Requests()), L2Hits: int64(l.ReadHits + l.WriteHits + l.AtomicHits),
			LLCRequests: int64(llc.Requests), LLCHits: int64(llc.Hits)})
	}
	ask.Result = rec
	return nil
}

// insts describes the kernel's instructions.
func (r *recorder) insts(b *workloads.Built) []timeline.Inst {
	k := b.Launch.Kernel
	out := make([]timeline.Inst, len(k.Insts))
	for i := range k.Insts {
		in, f := &k.Insts[i], r.prog.Info(i)
		cluster := ""
		for _, c := range b.Clusters {
			if c.Start <= i && i < c.End {
				cluster = c.Name
			}
		}
		out[i] = timeline.Inst{PC: in.PC, Text: in.Text(k.CPU), Class: f.Unit.String(), Busy: f.Busy, WaitVM: int16(f.WaitVM), WaitLGKM: int16(f.WaitLGKM),
			Barrier: f.Barrier, Target: in.Target, Cluster: cluster}
	}
	return out
}

// grid gives every workgroup its tile. Kernels without an output of tiles are
// shown by workgroup number.
func grid(b *workloads.Built, groups []timeline.Group) timeline.Grid {
	if tiles := b.Tiles(); len(tiles) > 0 && len(tiles) == len(groups) {
		for i, t := range tiles {
			groups[i].Row, groups[i].Col = t.Row, t.Col
		}
		return timeline.Grid{Rows: b.GridM, Cols: b.GridN, Window: b.Spec.W, Chunk: b.Spec.C, Tiled: true}
	}
	cols := max(b.Launch.Workgroups[0], 1)
	for i := range groups {
		groups[i].Row, groups[i].Col = i/cols, i%cols
	}
	return timeline.Grid{Rows: (len(groups) + cols - 1) / cols, Cols: cols}
}

// explainLDS adds the phases and banks of each access.
func explainLDS(acc []timeline.LDSAccess, k *isa.Kernel) error {
	table, err := lds.NewTable(k.CPU.String())
	if err != nil {
		return err
	}
	for i := range acc {
		a := &acc[i]
		kind, _, ok := lds.KindOf(k.Insts[a.Inst].Op.String())
		if !ok {
			return fmt.Errorf("sim: %s has no LDS phase table", k.Insts[a.Inst].Op)
		}
		explainKind(a, table, kind)
	}
	return nil
}

func explainKind(a *timeline.LDSAccess, table *lds.Table, kind lds.Kind) {
	a.Bytes, a.Banks, a.Unit = kind.Bytes(), max(table.Banks(kind), 1), kind.Unit()
	a.Phase = make([]int, lds.Lanes)
	for p, mask := range table.Phases(kind) {
		for m := mask; m != 0; m &= m - 1 {
			a.Phase[bits.TrailingZeros64(m)] = p
		}
	}
}
