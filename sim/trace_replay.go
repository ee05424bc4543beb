package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/trace"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// ReplayOptions asks for a replay of a trace. The machine is the one that the
// trace was recorded on unless Arch or Machine names another.
type ReplayOptions struct {
	File           string
	AllowTruncated bool // replay what is whole of a truncated trace
	CodeObject     string
	KernelName     string

	Arch, Machine string
	Set           []string
	Threads       int

	LaunchOverheadUS *float64
	HostSync         *bool // nil: as the recorded run
	PerInstruction   bool
	Record           *RecordOptions
	Progress         func(done, total, cycle int64)
}

// Replay times a trace again.
func Replay(o ReplayOptions) (*report.Run, error) {
	begin := time.Now()
	t, err := openTrace(o.File, o.AllowTruncated)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := t.matches(o.CodeObject, o.KernelName); err != nil {
		return nil, err
	}
	machine, err := o.machine(t)
	if err != nil {
		return nil, err
	}
	p, err := t.prepare(machine.Machine())
	if err != nil {
		return nil, usagef("%s: %w", o.File, err)
	}
	run := &RunOptions{Kernel: p.job.Kernel, Mode: p.mode, Seed: p.seed, Threads: o.Threads, LaunchOverheadUS: o.LaunchOverheadUS, HostSync: o.HostSync,
		PerInstruction: o.PerInstruction, Record: o.Record, Progress: o.Progress, ColdLLC: p.cold, RotateBuffers: p.rotate, replay: p}
	if err := run.checkReplay(); err != nil {
		return nil, err
	}
	r, _, err := runJob(run, machine, p.job)
	if err != nil {
		return nil, traceFault(err)
	}
	r.Replay = t.summary(r, machine)
	if !r.Replay.Complete {
		r.FLOPs, r.UsefulBytes = 0, 0 // counted for the whole launch
	}
	r.Notes = append(r.Notes, t.notes(machine)...)
	r.Host = hostFigures(begin, o.Threads)
	r.Derive()
	noteHostSync(r)
	if err := r.CheckSums(); err != nil {
		return nil, fmt.Errorf("sim: the replay does not add up, which is a fault of Whisker: %w", err)
	}
	o.Record.finish(r, o.PerInstruction)
	return r, nil
}

// machine resolves the machine to replay on.
func (o *ReplayOptions) machine(t *openedTrace) (*configs.Resolved, error) {
	if o.Arch != "" || o.Machine != "" {
		return LoadMachine(o.Arch, o.Machine, o.Set)
	}
	m, added, from, err := configs.Complete("the trace's machine", t.Launch(0).Machine.YAML)
	if err != nil {
		return nil, usagef("%s: the machine in the trace: %w; name one with --arch or --machine", o.File, err)
	}
	if len(added) > 0 {
		t.aged = fmt.Sprintf("the trace is older than %s of its machine: taken from %s", keyList(added), from)
		t.same = m.Hash()
	}
	return overrideMachine(m, o.Set)
}

// keyList names a few keys.
func keyList(keys []string) string {
	if len(keys) > 4 {
		return fmt.Sprintf("%d keys (%s, ...)", len(keys), strings.Join(keys[:4], ", "))
	}
	return strings.Join(keys, ", ")
}

// checkReplay refuses what no replay can take.
func (o *RunOptions) checkReplay() error {
	c := *o
	c.Kernel = workloads.Definitions[0].Name
	c.Options = nil
	return c.Check()
}

// replaying is a trace made ready for a machine.
type replaying struct {
	t       *openedTrace
	machine *configs.Machine
	job     *workloads.Job
	mode    string
	seed    uint64
	cold    bool
	rotate  bool
	file    bool // recorded from a launch file
	opts    map[*workloads.Built]*replayLaunch
	watch   func(*xcd.GPUOptions) func(wg, inWG int, at cu.Place) // collects issue times; may be nil
	places  func(wg, inWG int, at cu.Place)                       // told where waves run; may be nil
}

// rebuild makes the job anew, with memory as a launch finds it.
func (p *replaying) rebuild() (*workloads.Job, error) {
	again, err := p.t.prepare(p.machine)
	if err != nil {
		return nil, err
	}
	p.job, p.opts = again.job, again.opts
	for _, f := range p.opts {
		f.p = p
	}
	return p.job, nil
}

// pilots reports whether a run looks for its clock with a pilot: a replay does
// what its run did.
func (p *replaying) pilots() bool { return p == nil || !p.file }

// clock is the clock of the recorded run, where the replay is on its machine.
func (p *replaying) clock(machine *configs.Resolved) (mhz float64, known bool) {
	if p == nil || !p.t.recordedOn(0, machine) {
		return 0, false
	}
	mhz = p.t.Launch(0).ClockMHz
	return mhz, mhz > 0
}

// replayLaunch feeds one launch; it implements cu.Source.
type replayLaunch struct {
	p        *replaying
	index    int
	patterns map[*trace.Pattern]*cu.Pattern
	present  map[int]bool // nil: all
	warm     []xcd.Range
	notes    []string
}

// prepare rebuilds the job of a trace.
func (t *openedTrace) prepare(m *configs.Machine) (*replaying, error) {
	p := &replaying{t: t, machine: m, job: &workloads.Job{}, mode: "timing", opts: map[*workloads.Built]*replayLaunch{}}
	for i := range t.Launches() {
		l := t.Launch(i)
		if l.CPU != m.CPU {
			return nil, fmt.Errorf("it is of code for %s, and machine %s runs %s", l.CPU, m.Name, m.CPU)
		}
		if len(t.Workgroups(i)) == 0 {
			if t.Truncated() != nil {
				continue
			}
			return nil, fmt.Errorf("launch %d has no wave", i)
		}
		b, err := t.built(i)
		if err != nil {
			return nil, fmt.Errorf("launch %d: %w", i, err)
		}
		notes, err := p.extra(l, b, i)
		if err != nil {
			return nil, fmt.Errorf("launch %d: %w", i, err)
		}
		p.job.Kernels = append(p.job.Kernels, b)
		p.opts[b] = p.feed(i, b)
		p.opts[b].notes = notes
	}
	if len(p.job.Kernels) == 0 {
		return nil, errors.New("no wave is whole in it")
	}
	return p, nil
}

// extra takes what the writer of the trace added for the report, and returns the
// notes of the launch.
func (p *replaying) extra(l *trace.Launch, b *workloads.Built, i int) ([]string, error) {
	x := traceExtra{Cold: l.Cold, File: true}
	if len(l.Extra) > 0 {
		if err := json.Unmarshal(l.Extra, &x); err != nil {
			return nil, err
		}
	}
	if err := unpackFields(b, x.Part); err != nil {
		return nil, err
	}
	b.CPU, b.Waves = b.Launch.Kernel.CPU, b.Launch.Kernel.Waves()
	if n := len(b.Launch.Kernel.Insts); b.LoopStart < 0 || b.LoopEnd > n || b.LoopStart > b.LoopEnd {
		return nil, fmt.Errorf("its marked loop is [%d, %d) of %d instructions", b.LoopStart, b.LoopEnd, n)
	}
	for _, c := range b.Clusters {
		if c.Start < 0 || c.Start >= len(b.Launch.Kernel.Insts) || c.End > len(b.Launch.Kernel.Insts) || c.Start > c.End {
			return nil, fmt.Errorf("its cluster %s is [%d, %d)", c.Name, c.Start, c.End)
		}
	}
	if i > 0 {
		return x.Notes, nil
	}
	if err := unpackFields(p.job, x.Job); err != nil {
		return nil, err
	}
	if p.job.Kernel == "" {
		p.job.Kernel = l.Kernel
	}
	if p.job.DType == "" {
		p.job.DType = matrixType(b.Launch.Kernel)
	}
	p.cold, p.rotate, p.file = x.Cold || l.Cold, x.Rotate, x.File // older traces say only in the launch that it began cold
	if p.seed = x.Seed; x.Mode != "" {
		p.mode = x.Mode
	}
	return x.Notes, nil
}

// feed prepares the streams of launch i.
func (p *replaying) feed(i int, b *workloads.Built) *replayLaunch {
	f := &replayLaunch{p: p, index: i, patterns: map[*trace.Pattern]*cu.Pattern{}}
	for id, q := range p.t.Patterns(i) {
		f.patterns[q] = patternOf(q, id)
	}
	for _, w := range p.t.Launch(i).Warm {
		f.warm = append(f.warm, xcd.Range{Base: w.Base, Bytes: w.Bytes, Written: w.Dirty})
	}
	if g := p.t.Workgroups(i); len(g) < b.Launch.NumWorkgroups() {
		f.present = make(map[int]bool, len(g))
		for _, wg := range g {
			f.present[wg] = true
		}
	}
	return f
}

// patternOf turns a pattern of a trace into the model's.
func patternOf(q *trace.Pattern, id int) *cu.Pattern {
	c := &cu.Pattern{ID: id}
	c.Lanes, c.Bytes = q.Lanes, q.Bytes
	for i := range q.Offset {
		c.Addr[i] = uint64(q.Offset[i])
	}
	if q.Offset2 != nil {
		for i := range q.Offset2 {
			c.Addr2[i] = uint64(q.Offset2[i])
		}
	}
	return c
}

// attach makes a run replay instead of execute, and gives its report, if there
// is one, what the recorded run said before it began.
func (p *replaying) attach(o *xcd.GPUOptions, r *report.Run, b *workloads.Built) {
	if p == nil {
		return
	}
	f := p.opts[b]
	if r != nil {
		r.Notes = append(r.Notes, f.notes...)
	}
	o.Source, o.Warm, o.Full = f, f.warm, false
	if len(f.warm) == 0 {
		o.Touched = nil
	}
	if p.watch != nil && f.index == 0 {
		p.places = p.watch(o)
	}
	if f.present != nil {
		o.Present = func(wg int) bool { return f.present[wg] }
	}
}

// Wave implements cu.Source.
func (f *replayLaunch) Wave(wg, inWG int, at cu.Place) (cu.WaveSource, error) {
	s, err := f.p.t.Stream(f.index, wg, inWG)
	if err != nil || s == nil {
		return nil, err
	}
	if f.p.places != nil && f.index == 0 {
		f.p.places(wg, inWG, at)
	}
	return &replayWave{f: f, s: s}, nil
}

// replayWave implements cu.WaveSource.
type replayWave struct {
	f *replayLaunch
	s *trace.Stream
}

func (w *replayWave) Start() int { return w.s.Start() }

func (w *replayWave) Jump() (from, to int, err error) {
	from, to, ok := w.s.Jump()
	if !ok {
		return -1, -1, w.s.Err()
	}
	return from, to, nil
}

func (w *replayWave) Accesses(inst int) (cu.AccessRun, error) {
	r, err := w.s.Access(inst)
	if err != nil {
		return cu.AccessRun{}, err
	}
	p, ok := w.f.patterns[r.Pattern]
	if !ok {
		p = patternOf(r.Pattern, -1)
	}
	return cu.AccessRun{Pattern: p, Base: r.Base, Step: r.Step, Count: r.Count}, nil
}

// summary compares a replay with the run that it was recorded from.
func (t *openedTrace) summary(r *report.Run, machine *configs.Resolved) *report.Replay {
	l := t.Launch(0)
	s := &report.Replay{Trace: t.path, Origin: l.Origin, RecordedOn: l.Machine.Hash, SameMachine: t.recordedOn(0, machine),
		Launches: t.Launches(), Complete: t.Truncated() == nil}
	for i := range t.Launches() {
		n := t.waves(i)
		s.Waves += n
		s.Complete = s.Complete && t.Launch(i).Slice == "" && n == t.launched(i)
		if res := t.Result(i); res != nil {
			s.RecordedCycles += res.Cycles
		}
	}
	if !s.Complete {
		s.RecordedCycles = 0
	}
	return s
}

// notes say what a reader of a replay must know.
func (t *openedTrace) notes(machine *configs.Resolved) []string {
	var n []string
	if t.aged != "" {
		n = append(n, t.aged)
	}
	if err := t.Truncated(); err != nil {
		n = append(n, fmt.Sprintf("replayed up to the last whole chunk of a %v; %s", err, strings.Join(t.lost(), "; ")))
	}
	for i := range t.Launches() {
		l := t.Launch(i)
		if l.Slice != "" {
			n = append(n, fmt.Sprintf("launch %d is a slice: %s", i, l.Slice))
		}
		n = append(n, l.Notes...)
		if s := dependenceNote(l.Dependence); s != "" && !t.recordedOn(i, machine) {
			n = append(n, s+": on another machine it may differ from the recorded one")
		}
	}
	return n
}
