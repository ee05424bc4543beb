package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// LaunchOptions is what a run of a launch file takes beside the file.
type LaunchOptions struct {
	File      string
	MaxCycles int64 // give a run up that takes more, or in functional mode more wave instructions; 0: never
	RunOptions
}

// RunLaunch runs a kernel from a code object: load the machine and the launch,
// run, collect, compare with what the launch file expects. Values exist, and are
// compared, in functional and full mode.
func RunLaunch(o LaunchOptions) (*report.Run, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l, err := ReadLaunch(o.File)
	if err != nil {
		return nil, err
	}
	return l.run(o)
}

// run is RunLaunch of a launch file that has been read.
func (l *LaunchFile) run(o LaunchOptions) (*report.Run, error) {
	begin := time.Now()
	machine, err := LoadMachine(o.Arch, o.Machine, o.Set)
	if err != nil {
		return nil, err
	}
	if o.Verify && l.Expect == nil {
		return nil, usagef("--verify has nothing to compare with: %s has no expect", l.path)
	}
	if err := l.fitsMemory(machine.Machine()); err != nil {
		return nil, err
	}
	p, err := l.prepare()
	if err != nil {
		return nil, err
	}
	if err := p.fitsMachine(machine.Machine()); err != nil {
		return nil, &UsageError{fmt.Errorf("%s: %w", l.path, err)}
	}
	built, err := p.built()
	if err != nil {
		return nil, err
	}
	o.Seed, o.Kernel = l.Seed, p.meta.Name
	var want *expectation
	if l.Expect != nil {
		// Inputs are read before the run, which may overwrite them.
		if want, err = p.expectation(o.Mode != "timing"); err != nil {
			return nil, usagef("%s: expect: %w", l.path, err)
		}
		if built.FLOPs == 0 {
			built.FLOPs = want.rows.FLOPs
		}
	}
	job := &workloads.Job{FLOPs: built.FLOPs, DType: built.Spec.DType, HostSync: o.HostSync != nil && *o.HostSync, Settings: []workloads.Setting{{Name: "dtype", Value: built.Spec.DType}}}
	r := newReport(&o.RunOptions, machine, job, built)
	switch at, scratch := usesScratch(p.launch.Kernel); {
	case o.Mode == "functional":
		err = p.functional(r, o.MaxCycles)
	case o.Mode == "timing" && scratch:
		in := &p.launch.Kernel.Insts[at]
		err = fmt.Errorf("kernel %s, pc %#x (%s): what lies in scratch may be an address, and %w", p.meta.Name, in.PC, in.Text(p.launch.Kernel.CPU), cu.ErrNotComputed)
	default:
		defer func() { o.tracing.discard() }()
		if r, p, err = o.timed(machine, job, l, p); err == nil {
			err = o.tracing.finish()
		}
	}
	if errors.Is(err, cu.ErrNotComputed) {
		return l.inFull(o, err)
	}
	if errors.Is(err, isa.ErrUnsupported) || errors.Is(err, isa.ErrOutside) { // what whisker isa coverage lists; broken code
		return nil, &UsageError{err}
	}
	if err != nil {
		return nil, err
	}
	if want != nil && o.Mode != "timing" {
		r.Verify = want.verify(p)
	}
	r.Host = hostFigures(begin, o.Threads)
	r.Derive()
	noteHostSync(r)
	if err := r.CheckSums(); err != nil {
		return nil, fmt.Errorf("sim: the run does not add up, which is a fault of Whisker: %w", err)
	}
	o.Record.finish(r, o.PerInstruction)
	return r, nil
}

// usesScratch finds the first scratch instruction. Private memory is where
// compilers spill registers, addresses among them, and the slice does not follow
// values through it.
func usesScratch(k *isa.Kernel) (at int, ok bool) {
	for i := range k.Insts {
		if k.Insts[i].Flags&isa.SegScratch != 0 {
			return i, true
		}
	}
	return 0, false
}

// inFull repeats a timing run with every value computed: the kernel steers
// itself by values that the static slice cannot follow. The cycles are those
// that timing mode stands for.
func (l *LaunchFile) inFull(o LaunchOptions, why error) (*report.Run, error) {
	o.Mode = "full"
	r, err := l.run(o)
	if r != nil {
		r.Notes = append(r.Notes, "ran in full mode, since the values that steer the kernel are not apart from the rest: "+why.Error())
	}
	return r, err
}

// check refuses what no launch takes.
func (o *LaunchOptions) check() error {
	if o.File == "" {
		return usagef("no launch file is given")
	}
	if o.MaxCycles < 0 {
		return usagef("--max-cycles is %d; it must not be negative", o.MaxCycles)
	}
	r := o.RunOptions
	r.Kernel = KernelNames()[0] // which kernel is the launch file's business
	return r.Check()
}

// fitsMemory refuses buffers that are more than the machine has, before they are
// filled.
func (l *LaunchFile) fitsMemory(m *configs.Machine) error {
	need := 0.0
	for i := range l.Args {
		if a := &l.Args[i]; a.Shape != nil {
			n, err := a.elements()
			if err != nil {
				return usagef("%s: %s: %w", l.path, a.place(i), err)
			}
			need += float64(n) * float64(elementBytes[a.Type])
		}
	}
	if need > float64(m.HBM.CapacityGB)*1e9 {
		return usagef("%s: its buffers need %.0f GB and %s has %d GB (hbm.capacity_gb)", l.path, need/1e9, m.Name, m.HBM.CapacityGB)
	}
	return nil
}

// fitsMachine refuses code for another processor and more LDS than there is.
func (p *prepared) fitsMachine(m *configs.Machine) error {
	k := p.launch.Kernel
	if m.CPU != k.CPU.String() {
		var fit []string
		for _, name := range configs.Names() {
			if r, err := configs.Load(name); err == nil && r.Machine().CPU == k.CPU.String() {
				fit = append(fit, name)
			}
		}
		return fmt.Errorf("%s is code for %v, and %s runs %s: choose --arch %s", filepath.Base(p.object.Path), k.CPU, m.Name, m.CPU, orList(fit))
	}
	if k.LDSBytes > m.LDS.Bytes {
		return fmt.Errorf("kernel %s with %d bytes of dynamic LDS needs %d bytes a workgroup; %s has %d", k.Name, p.file.DynamicLDS, k.LDSBytes, m.Name, m.LDS.Bytes)
	}
	return isa.CheckRegisters(k)
}

// built dresses the launch as the kernels of our own are, with the hottest loop
// marked.
func (p *prepared) built() (*workloads.Built, error) {
	k := p.launch.Kernel
	b := &workloads.Built{Launch: p.launch, CPU: k.CPU, FLOPs: p.file.FLOPs, Waves: k.Waves(), LDSUsed: k.LDSBytes, LoopKTiles: 1, Dropped: -1}
	b.Spec.DType = matrixType(k)
	b.LoopStart, b.LoopEnd = matrixLoop(k)
	return b, nil
}

// matrixType is the input type of the kernel's matrix instructions, by the
// names that machine files give clocks for; a kernel without any leaves the
// matrix pipe idle.
func matrixType(k *isa.Kernel) string {
	for i := range k.Insts {
		name := k.Insts[i].Op.String()
		if !strings.HasPrefix(name, "v_mfma_") && !strings.HasPrefix(name, "v_smfmac_") {
			continue
		}
		return instType(&k.Insts[i])
	}
	return "idle"
}

// matrixLoop is the shortest loop that holds the most matrix instructions, as a
// range of instructions; it is empty when no loop holds one.
func matrixLoop(k *isa.Kernel) (start, end int) {
	sum := make([]int, len(k.Insts)+1)
	for i := range k.Insts {
		sum[i+1] = sum[i]
		if isa.Classify(k.CPU, &k.Insts[i]).Unit == isa.UnitMFMA {
			sum[i+1]++
		}
	}
	best := 0
	for i := range k.Insts {
		to := int(k.Insts[i].Target)
		if to < 0 || to > i {
			continue
		}
		n := sum[i+1] - sum[to]
		if n > best || n == best && n > 0 && i+1-to < end-start {
			best, start, end = n, to, i+1
		}
	}
	return start, end
}

// functional runs the kernel for its values, for most instructions unless that is
// 0. A read or overwrite that no wait
// or barrier orders is told as a note, for foreign code may live with one: then
// the kernel runs again, from fresh memory, without the checks.
func (p *prepared) functional(r *report.Run, most int64) error {
	st, err := emu.Run(p.launch, emu.Options{Check: true, Limit: uint64(most)})
	if errors.Is(err, emu.ErrHazard) {
		r.Notes = append(r.Notes, "a race, which hardware may settle either way: "+err.Error())
		again, perr := p.file.prepare()
		if perr != nil {
			return perr
		}
		*p = *again
		st, err = emu.Run(p.launch, emu.Options{Limit: uint64(most)})
	}
	if errors.Is(err, emu.ErrLimit) {
		return fmt.Errorf("kernel %s has not ended after %s wave instructions, which functional mode counts in place of cycles: --max-cycles is %[2]s",
			p.meta.Name, report.Thousands(most))
	}
	if err != nil {
		return err
	}
	r.WaveInstructions = int64(st.Insts)
	r.Notes = append(r.Notes, "functional mode computes values and no time: cycles and what follows from them are zero")
	return nil
}

// timed runs the launch until its power budget agrees with its clock, each time
// from fresh memory. It returns what was run last.
func (o *LaunchOptions) timed(machine *configs.Resolved, job *workloads.Job, l *LaunchFile, p *prepared) (*report.Run, *prepared, error) {
	m := machine.Machine()
	if _, err := newRecorder(o.Record, m, p.launch.NumWorkgroups(), 0); err != nil {
		return nil, nil, err // before pilots run
	}
	law := clockFor(machine, job.DType)
	first := unguessed
	if law.power {
		if first = o.pilots(m, l, law); first.mhz != 0 {
			law.mhz = first.mhz
		}
	}
	for try := 1; ; try++ {
		built, err := p.built()
		if err != nil {
			return nil, nil, err
		}
		built.FLOPs = job.FLOPs
		r := newReport(&o.RunOptions, machine, job, built)
		var work energy
		if err := o.startTrace(); err != nil {
			return nil, nil, err
		}
		if err := o.timing(r, machine, job, l, built, law, &work); err != nil {
			return nil, nil, err
		}
		next := work.clock(&m.Power, m.Clock.PeakMHz)
		if !law.power {
			return r, p, nil
		}
		first.learn(law.mhz, next)
		if first.settled(law.mhz, next) || try == clockTries {
			w := powerReport(&work, m, next)
			r.Power = &w
			atClock(r, next)
			noteAtPeak(r)
			if note := first.note(law.mhz, next); note != "" {
				r.Notes = append(r.Notes, note)
			}
			return r, p, nil
		}
		law.mhz = next
		if p, err = l.prepare(); err != nil {
			return nil, nil, err
		}
	}
}

// warmUp runs the launches before the measured one, each on fresh memory; nil, when
// there is none.
func (o *LaunchOptions) warmUp(m *configs.Machine, l *LaunchFile, mhz float64) (g *xcd.GPU, err error) {
	if o.Warmup == nil {
		return nil, nil
	}
	for i := range *o.Warmup {
		p, err := l.prepare()
		if err != nil {
			return nil, err
		}
		opts := xcd.GPUOptions{Full: o.Mode == "full", Threads: o.Threads, ColdLLC: g == nil, Monitor: o.Monitor, Notices: o.Notices, Progress: o.Progress, StopAt: o.MaxCycles}
		if g == nil {
			g, err = xcd.NewGPU(m, mhz, p.launch, opts)
		} else {
			err = g.Load(p.launch, opts)
		}
		if err != nil {
			return nil, &UsageError{err}
		}
		res, err := g.Run(context.Background())
		if err == nil {
			if err = o.stopped(res, p.launch); err != nil {
				err = fmt.Errorf("launch %d of %d of --warmup: %w", i+1, *o.Warmup, err)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// stopped is the error of a launch that --max-cycles has stopped.
func (o *LaunchOptions) stopped(res *xcd.GPUResult, l *isa.Launch) error {
	if !res.Timing.Stopped {
		return nil
	}
	return fmt.Errorf("kernel %s has not ended at cycle %s, with %d of %d workgroups ended: --max-cycles is %[2]s",
		l.Kernel.Name, report.Thousands(res.Timing.Cycles), res.Timing.Finished, l.NumWorkgroups())
}

// timing advances the machine cycle by cycle.
func (o *LaunchOptions) timing(r *report.Run, machine *configs.Resolved, job *workloads.Job, l *LaunchFile, b *workloads.Built, law clockLaw, work *energy) error {
	m := machine.Machine()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	rec, err := newRecorder(o.Record, m, b.Launch.NumWorkgroups(), 0)
	if err != nil {
		return err
	}
	opts := xcd.GPUOptions{
		Full: o.Mode == "full", LoopStart: b.LoopStart, LoopEnd: b.LoopEnd, Threads: o.Threads, ColdLLC: o.ColdLLC || o.Warmup != nil && *o.Warmup == 0,
		Warm: launchRanges(b.Launch.Memory), Monitor: o.Monitor, Notices: o.Notices, Progress: o.Progress, StopAt: o.MaxCycles,
	}
	rec.attach(&opts, cancel)
	o.tracing.attach(&opts, b.Launch, cancel)
	if o.Warmup != nil {
		opts.Warm = nil
	}
	g, err := o.warmUp(m, l, law.mhz)
	if err != nil {
		return err
	}
	if g == nil {
		g, err = xcd.NewGPU(m, law.mhz, b.Launch, opts)
	} else {
		err = g.Load(b.Launch, opts)
	}
	if err != nil {
		return &UsageError{err} // it does not fit, or an instruction has no timing class
	}
	if err := o.tracing.begin(&o.RunOptions, r, machine, g, &opts, law.mhz, job, b); err != nil {
		return err
	}
	res, err := g.Run(ctx)
	if err := errors.Join(rec.err(), o.tracing.failed()); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if err := o.stopped(res, b.Launch); err != nil {
		return err
	}
	if err := o.tracing.end(res.Timing.Cycles); err != nil {
		return err
	}
	work.add(energyOf(b.Launch.Kernel, res, m, law.mhz))
	collect(r, res, m, b, law, o.PerInstruction || rec != nil)
	return rec.recording(o.Record, r, res, b)
}

// launchRanges is what an earlier launch leaves in the LLC: its buffers in the
// order of the arguments.
func launchRanges(m *isa.Memory) []xcd.Range {
	var out []xcd.Range
	for _, r := range m.Regions() {
		if r.Name != "kernarg" && r.Name != "code" {
			out = append(out, xcd.Range{Base: r.Base, Bytes: r.Size})
		}
	}
	return out
}
