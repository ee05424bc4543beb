// Package sim builds a machine, runs a kernel on it and collects what it did.
package sim

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// Run simulates one measurement: load the machine, build the kernels, run them
// in sequence, collect, check.
func Run(o RunOptions) (*report.Run, error) {
	begin := time.Now()
	if err := o.Check(); err != nil {
		return nil, err
	}
	machine, err := LoadMachine(o.Arch, o.Machine, o.Set)
	if err != nil {
		return nil, err
	}
	job, err := build(&o, machine.Machine())
	if err != nil {
		return nil, &UsageError{err}
	}
	if o.oneXCD {
		var one []string
		one, o.parts = oneXCD(machine.Machine(), job.SharedReads, job.RowBytes)
		o.Set, o.SampleRounds = append(slices.Clone(o.Set), one...), 1
		if machine, err = LoadMachine(o.Arch, o.Machine, o.Set); err != nil {
			return nil, err
		}
		if job, err = build(&o, machine.Machine()); err != nil {
			return nil, &UsageError{err}
		}
	}
	defer func() { o.tracing.discard() }()
	r, job, err := runJob(&o, machine, job)
	if err == nil {
		err = o.tracing.finish()
	}
	if err != nil {
		return nil, err
	}
	if o.Verify {
		if err := verify(r, job); err != nil {
			return nil, err
		}
	}
	r.Host = hostFigures(begin, o.Threads)
	r.PeakTFLOPSAtClock *= float64(max(o.parts, 1)) // the FLOPs are of all XCDs
	r.Derive()
	noteHostSync(r)
	if err := r.CheckSums(); err != nil {
		return nil, fmt.Errorf("sim: the run does not add up, which is a fault of Whisker: %w", err)
	}
	o.Record.finish(r, o.PerInstruction)
	return r, nil
}

// runJob runs a job's kernels one after the other, again at another clock until
// the power budget agrees with it. It returns the job that was run last: each
// try has its own, with memory as a launch finds it.
func runJob(o *RunOptions, machine *configs.Resolved, job *workloads.Job) (*report.Run, *workloads.Job, error) {
	m := machine.Machine()
	if err := o.refuseRecording(m, job); err != nil {
		return nil, nil, err
	}
	for _, b := range job.Kernels {
		if b.ValuesDecide != "" && o.Mode == "timing" {
			return nil, nil, usagef("%s: %s, and timing mode computes no values: give --mode full", b.Launch.Kernel.Name, b.ValuesDecide)
		}
	}
	law := clockFor(machine, job.DType)
	rebuild := func() (*workloads.Job, error) {
		if o.replay != nil {
			return o.replay.rebuild()
		}
		return build(o, m)
	}
	again := func() (err error) {
		job, err = rebuild()
		return err
	}
	first := unguessed
	mhz, known := o.replay.clock(machine)
	if known {
		law.mhz = mhz
	} else if law.power && o.StartMHz > 0 {
		law.mhz = o.StartMHz
	} else if law.power && o.Mode != "functional" && o.replay.pilots() {
		var err error
		if first, err = pilots(o, machine, job, law, rebuild); err != nil {
			return nil, nil, err
		}
		if first.mhz != 0 {
			law.mhz = first.mhz
			if err := again(); err != nil {
				return nil, nil, err
			}
		}
	}
	for try := 1; ; try++ {
		var underway *look
		if try == 1 && first.mhz != 0 && len(job.Kernels) == 1 {
			underway = &look{machine: m, first: &first, mhz: law.mhz}
		}
		if o.Mode != "timing" && o.replay == nil {
			job.FillInputs()
		}
		if err := o.startTrace(); err != nil {
			return nil, nil, err
		}
		parts, work, err := runKernels(o, machine, job, law, underway)
		if err == errMissed {
			law.mhz = underway.next
			if err := again(); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		r := combine(job, parts)
		if !law.power || o.Mode == "functional" {
			return r, job, nil
		}
		next := work.clock(&m.Power, m.Clock.PeakMHz)
		first.learn(law.mhz, next)
		if first.settled(law.mhz, next) || try == clockTries || known || o.oneTry {
			p := powerReport(&work, m, next)
			r.Power = &p
			atClock(r, next)
			noteAtPeak(r)
			if note := first.note(law.mhz, next); note != "" && !known {
				r.Notes = append(r.Notes, note)
			}
			return r, job, nil
		}
		law.mhz = next
		if err := again(); err != nil {
			return nil, nil, err
		}
	}
}

// runKernels runs a job's kernels once, at the law's clock.
func runKernels(o *RunOptions, machine *configs.Resolved, job *workloads.Job, law clockLaw, underway *look) (parts []*report.Run, work energy, err error) {
	seq := &sequence{machine: machine.Machine(), mhz: law.mhz, look: underway}
	if o.Warmup != nil {
		if err := seq.warmUp(o); err != nil {
			return nil, work, err
		}
	}
	for _, b := range job.Kernels {
		part := newReport(o, machine, job, b)
		if o.Mode == "functional" {
			err = runFunctional(part, b)
		} else {
			err = runTiming(o, part, machine, job, b, law, &work, seq)
		}
		if err != nil {
			return nil, work, err
		}
		parts = append(parts, part)
	}
	return parts, work, nil
}

// combine makes one run of a job's kernels.
func combine(job *workloads.Job, parts []*report.Run) *report.Run {
	if len(parts) > 1 { // each is named by its own kernel, the whole by the job
		for i, b := range job.Kernels {
			parts[i].Kernel = b.Launch.Kernel.Name
		}
	}
	r := report.Combine(parts)
	r.Kernel, r.FLOPs, r.UsefulBytes = job.Kernel, job.FLOPs, job.Bytes
	// Each kernel is a launch of its own.
	r.LaunchOverheadUS *= float64(len(parts))
	r.HostSyncUS *= float64(len(parts))
	r.Notes = append(r.Notes, job.Notes...)
	return r
}

func hostFigures(begin time.Time, threads int) *report.Host {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return &report.Host{WallSeconds: time.Since(begin).Seconds(), Threads: threads, PeakMemoryBytes: int64(ms.Sys)}
}

// build makes the job for the machine's CPU, XCD count and LDS.
func build(o *RunOptions, m *configs.Machine) (*workloads.Job, error) {
	cpu, err := cpuOf(m.CPU)
	if err != nil {
		return nil, err
	}
	options := o.kernelOptions()
	job, err := workloads.Build(o.Kernel, workloads.Request{CPU: cpu, XCDs: m.Chip.XCDs * max(o.parts, 1), Seed: o.Seed, LDSBytes: m.LDS.Bytes, Registers: m.CU.VGPRsPerSIMD, Options: options})
	if err != nil {
		return nil, err
	}
	if o.HostSync != nil {
		job.HostSync = *o.HostSync
	}
	need := uint64(0)
	for _, region := range job.Kernels[0].Launch.Memory.Regions() {
		need += region.Size
	}
	if room := float64(m.HBM.CapacityGB) * 1e9; float64(need) > room {
		return nil, fmt.Errorf("%s: its buffers need %.0f GB and the machine has %d GB (hbm.capacity_gb)", o.Kernel, float64(need)/1e9, m.HBM.CapacityGB)
	}
	return job, nil
}

// kernelOptions are the kernel's options by name: the map, and the fields that
// are set.
func (o *RunOptions) kernelOptions() map[string]string {
	out := make(map[string]string, len(o.Options))
	for k, v := range o.Options {
		out[k] = v
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"m", o.M}, {"n", o.N}, {"k", o.K}} {
		if f.value != 0 {
			out[f.name] = strconv.Itoa(f.value)
		}
	}
	for _, f := range []struct{ name, value string }{{"tile", o.Tile}, {"schedule", o.Schedule}, {"mfma", o.MFMA}, {"dtype", o.DType}} {
		if f.value != "" {
			out[f.name] = f.value
		}
	}
	for _, f := range []struct {
		name  string
		value *int
	}{{"window", o.Window}, {"chunk", o.Chunk}} {
		if f.value != nil {
			out[f.name] = strconv.Itoa(*f.value)
		}
	}
	return out
}

func cpuOf(name string) (isa.CPU, error) {
	for _, c := range []isa.CPU{isa.GFX942, isa.GFX950} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("sim: the machine's cpu is %q; gfx942 and gfx950 are simulated", name)
}

func verify(r *report.Run, job *workloads.Job) error {
	worst, err := job.Verify()
	if err != nil {
		return err
	}
	r.Verify = &report.Verify{Reference: "float64 on the host", Values: job.Values, MaxRelativeError: worst, Limit: job.Limit, Passed: worst <= job.Limit}
	return nil
}

// runTiming advances the machine cycle by cycle.
func runTiming(o *RunOptions, r *report.Run, machine *configs.Resolved, job *workloads.Job, b *workloads.Built, law clockLaw, work *energy, seq *sequence) error {
	m := machine.Machine()
	ask, err := o.Record.forKernel(job, b)
	if err != nil {
		return err
	}
	rec, err := newRecorder(ask, m, b.Launch.NumWorkgroups(), expectedInsts(b))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	opts := xcd.GPUOptions{
		Full: o.Mode == "full", LoopStart: b.LoopStart, LoopEnd: b.LoopEnd,
		Threads: o.Threads, ColdLLC: o.cold() && seq.gpu == nil, Warm: o.warm(b), Touched: o.touched(b), Monitor: o.Monitor, Notices: o.Notices, Progress: o.Progress, Expected: expectedInsts(b), Present: o.present(m, b),
	}
	known, err := o.decide(m, job, b)
	if err != nil {
		return err
	}
	if opts.Decisions = known.d; known.note != "" {
		r.Notes = append(r.Notes, known.note)
	}
	o.replay.attach(&opts, r, b)
	rec.attach(&opts, stop)
	o.tracing.attach(&opts, b.Launch, stop)
	if o.Adjust != nil {
		o.Adjust(&opts, b.Launch, stop)
	}
	spread := o.spread(b)
	if spread != nil {
		spread.attach(&opts)
	}
	g, err := seq.load(b, opts)
	if err != nil {
		return &UsageError{err} // it does not fit, or an instruction has no timing class
	}
	rec.starts(g.Now())
	sampled := false
	if spread != nil {
		spread.choose(o.SampleRounds, g.Capacity()*max(o.parts, 1))
	} else {
		sampled = o.sampled(g, b.Launch.NumWorkgroups())
	}
	if spread == nil && !sampled {
		seq.look.attach(g, b.Launch)
	}
	if err := o.tracing.begin(o, r, machine, g, &opts, law.mhz, job, b); err != nil {
		return err
	}
	res, err := g.Run(ctx)
	if err := errors.Join(rec.err(), o.tracing.failed()); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	if seq.look.missed() {
		return errMissed
	}
	if sampled {
		countDirty(res)
	}
	spent := energyOf(b.Launch.Kernel, res, m, law.mhz)
	if err := o.tracing.end(res.Timing.Cycles); err != nil {
		return err
	}
	collect(r, res, m, b, law, o.PerInstruction || o.Record != nil)
	if res.Timing.Stopped {
		seq.cut()
	}
	times := 1.0
	switch {
	case spread != nil:
		times = spread.extrapolate(r, res, m, o.parts)
	case sampled:
		times = extrapolate(r, res, m, b.Launch.NumWorkgroups(), g.Capacity(), o.parts)
	}
	if r.Sample != nil {
		spent.stretch(times, r.Cycles)
		r.Busier(times * float64(res.Timing.Cycles) / float64(r.Cycles))
	}
	work.add(spent)
	return rec.recording(o.Record, r, res, b)
}

// warmRanges is what an earlier launch of the same kernel leaves in the LLC:
// its buffers, the outputs last and dirty. A benchmark that rotates its buffers
// leaves nothing of the next launch's.
func warmRanges(b *workloads.Built) []xcd.Range {
	if b.RotatesInputs {
		return nil
	}
	var in, out []xcd.Range
	for _, r := range b.Launch.Memory.Regions() {
		switch {
		case r.Name == "kernarg" || r.Name == "code":
		case slices.Contains(b.Outputs, r.Name):
			out = append(out, xcd.Range{Base: r.Base, Bytes: r.Size, Written: true})
		default:
			in = append(in, xcd.Range{Base: r.Base, Bytes: r.Size})
		}
	}
	return append(in, out...)
}

// expectedInsts is how many wave instructions a launch will issue, but for what
// differs between waves.
func expectedInsts(b *workloads.Built) int64 {
	n := len(b.Launch.Kernel.Insts) + (b.LoopEnd-b.LoopStart)*max(b.LoopTrips-1, 0)
	return int64(n) * int64(b.Launch.NumWorkgroups()) * int64(b.Waves)
}
