package xcd

import (
	"context"
	"fmt"
	"io"

	"github.com/sarchlab/akita/v4/monitoring"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
)

// GPUOptions chooses how a launch is simulated.
type GPUOptions struct {
	Full               bool           // execute every instruction, not only the slice
	LoopStart, LoopEnd int            // marked hot loop, instruction indices
	Decisions          *isa.Decisions // outcomes of branches that depend on computed data, for timing mode
	Threads            int
	ColdLLC            bool    // a first launch: nothing in the LLC or the instruction caches
	Warm               []Range // what an earlier launch left in the LLC, oldest first
	// Touched, unless nil, tells what the end of that launch touched, after Warm,
	// where atOnce workgroups are resident together and an LLC of capacity bytes is
	// to be filled.
	Touched    func(atOnce int, capacity uint64, yield func(Range)) error
	Monitor    bool
	Notices    io.Writer // what is said while the run goes on
	Progress   func(done, total, cycle int64)
	EveryCycle bool  // step every CU in every cycle: slow, same result
	StopAt     int64 // end a run that takes longer at this cycle; 0: at its end
	StopAfter  int   // end the run when so many workgroups have ended; 0: at its end
	MarkEvery  int   // record when each further so many workgroups had ended
	Expected   int64 // wave instructions of the launch, for progress; 0 unknown
	Hook       func(xcd, cu int) cu.IssueHook
	// Record, when set, gives the recorder of a CU, nil for none.
	Record func(xcd, cu int, p *cu.Program) cu.Recorder
	// Watch, when set, gives a function that is called after every cycle of a CU.
	Watch func(xcd, cu int, c *cu.CU) func(now int64)
	// Ended, when set, is told of every workgroup, from the XCD's thread.
	Ended func(xcd, cu, wg int, start, end int64)
	// Log, when set, gives the logger of an XCD, which takes down the streams of
	// its waves.
	Log func(xcd int) cu.Logger
	// Source, when set, replays streams instead of executing the kernel.
	Source cu.Source
	// Present, when set, chooses the workgroups that run: a trace may hold some.
	Present func(wg int) bool
}

// GPUResult is what a run did, all dies added up.
type GPUResult struct {
	Timing    Result
	CU        cu.Stats
	TCP       cache.TCPStats
	Memory    MemoryStats
	Occupancy cu.Occupancy
	Drift     []DriftSample // in order of time, where the kernel has a marked loop
}

// GPU is a machine with a launch on it, or with launches in sequence.
type GPU struct {
	machine *configs.Machine
	mhz     float64 // core clock
	chip    *Chip
	prog    *cu.Program
	cus     []*cu.CU
	stats   []cu.Stats // per XCD
	wgs     int
	life    life

	drift    []DriftSample
	present  func(wg int) bool
	expected int64 // wave instructions of the launch, 0 unknown

	stopAt    int64
	stopAfter int
	markEvery int
	lookAfter int
	look      func(*GPUResult) bool

	monitor  *monitoring.Monitor
	progress func(done, total, cycle int64)
	notices  io.Writer
}

// NewGPU builds the machine for one launch at a core clock of mhz. It is an
// error when the kernel does not fit the machine or has an instruction without
// a timing class.
func NewGPU(m *configs.Machine, mhz float64, l *isa.Launch, o GPUOptions) (*GPU, error) {
	g := &GPU{machine: m, mhz: mhz}
	newCU, err := g.prepare(l, o)
	if err != nil {
		return nil, err
	}
	opts := Options{Threads: o.Threads, NewCU: newCU, EveryCycle: o.EveryCycle}
	if o.Monitor {
		g.monitor = monitoring.NewMonitor()
		opts.Monitor = g.monitor
	}
	// The launch overhead is no part of the kernel's cycles: the report adds it
	// to their time.
	bare := *m
	bare.Dispatch.LaunchOverheadUS = 0
	if g.chip, err = New(&bare, mhz, opts); err != nil {
		return nil, err
	}
	if !o.ColdLLC {
		g.chip.WarmLLC(o.Warm)
		if o.Touched != nil {
			if err := o.Touched(g.Capacity(), uint64(m.LLC.Bytes), g.chip.touchLLC); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

// Load puts another launch on the machine, after Run has ended: a kernel that
// follows on the same queue. The L2s were written back and invalidated, unless the machine's keep their lines, the LLC
// keeps what it has, so that Warm is not looked at; Threads, Monitor and
// EveryCycle stay those of NewGPU. A launch that was stopped before its end
// cannot be followed.
func (g *GPU) Load(l *isa.Launch, o GPUOptions) error {
	newCU, err := g.prepare(l, o)
	if err != nil {
		return err
	}
	return g.chip.SetCUs(newCU)
}

// EmptyLLC forgets what the LLC holds: the next launch uses other buffers than
// those before it, which have filled the LLC.
func (g *GPU) EmptyLLC() { g.chip.EmptyLLC() }

// prepare takes a launch and gives what makes its CUs.
func (g *GPU) prepare(l *isa.Launch, o GPUOptions) (NewCUFunc, error) {
	m := g.machine
	spec := CUSpec(m)
	prog, err := cu.NewProgram(spec, l, cu.ProgramOptions{Full: o.Full, Source: o.Source, LoopStart: o.LoopStart, LoopEnd: o.LoopEnd, Decisions: o.Decisions})
	if err != nil {
		return nil, err
	}
	var loggers []cu.Logger
	for i := range m.Chip.XCDs {
		if o.Log != nil {
			loggers = append(loggers, o.Log(i))
		}
	}
	g.prog, g.cus, g.stats, g.wgs, g.drift = prog, nil, make([]cu.Stats, m.Chip.XCDs), l.NumWorkgroups(), nil
	g.present = o.Present
	g.progress, g.notices, g.expected = o.Progress, o.Notices, o.Expected
	g.stopAt, g.stopAfter, g.markEvery, g.look = o.StopAt, o.StopAfter, o.MarkEvery, nil
	var shared *cu.Shared
	return func(xcc, id int, l2 cache.L2Port, done func(now int64, wg int)) (ComputeUnit, error) {
		if id%m.Fetch.SharedByCUs == 0 {
			shared = cu.NewShared(spec)
			if !o.ColdLLC {
				shared.WarmCode(prog, spec)
			}
		}
		c, err := cu.New(spec, prog, xcc, id, l2, shared, &g.stats[xcc], done)
		if err != nil {
			return nil, err
		}
		if o.Hook != nil {
			c.SetHook(o.Hook(xcc, id))
		}
		if o.Record != nil {
			if r := o.Record(xcc, id, prog); r != nil {
				c.SetRecorder(r)
			}
		}
		if o.Watch != nil {
			c.SetWatch(o.Watch(xcc, id, c))
		}
		if o.Ended != nil {
			c.SetEnded(func(wg int, start, end int64) { o.Ended(xcc, id, wg, start, end) })
		}
		if loggers != nil {
			c.SetLogger(loggers[xcc])
		}
		g.cus = append(g.cus, c)
		return c, nil
	}, nil
}

// report turns the chip's progress, in workgroups, into one in wave
// instructions: a grid of one round ends all at once.
func (g *GPU) report() func(done, total, cycle int64) {
	if g.progress == nil {
		return nil
	}
	return func(done, total, cycle int64) {
		var n uint64
		for i := range g.stats {
			for _, c := range g.stats[i].IssuedCount {
				n += c
			}
		}
		if g.expected > 0 {
			done, total = min(int64(n), g.expected), g.expected
		}
		g.progress(done, total, cycle)
	}
}

// alive grows with everything that a wave spinning on a flag does not do, and
// in a replay with every instruction: a recorded stream ends however long it is.
// Waves that mostly calculate or read LDS, as none does that polls, are given computePatience
// instructions more.
func (g *GPU) alive() uint64 {
	var n, issued, compute uint64
	for i := range g.stats {
		s := &g.stats[i]
		n += s.WaveCycles + s.Barriers + s.LDSWriteBytes + s.LDSFill + s.IssuedCount[isa.UnitMFMA]
		for _, k := range s.IssuedCount {
			issued += k
		}
		compute += s.IssuedCount[isa.UnitVALU] + s.IssuedCount[isa.UnitLDS]
	}
	if g.prog.Source != nil {
		n += issued
	}
	for _, c := range g.cus {
		n += c.TCP().StoreSegments + c.TCP().Misses
	}
	l := &g.life
	if n != l.other {
		l.computeFrom = compute
	} else if 2*(compute-l.compute) > issued-l.issued && compute-l.computeFrom <= computePatience {
		l.looks++
	}
	l.other, l.issued, l.compute = n, issued, compute
	return n + l.looks
}

// computePatience is how many instructions waves may calculate and do nothing else before
// the launch counts as livelocked. It is bounded by the host's patience: a minute or two.
const computePatience = 200_000_000

// life is what alive saw last.
type life struct {
	other, issued, compute uint64
	computeFrom            uint64 // compute when other grew last
	looks                  uint64 // at which waves calculated
}

// Now is the cycle at which the next launch begins: the chip's clock goes on from launch to launch.
func (g *GPU) Now() int64 { return g.chip.now }

// Capacity is how many workgroups the machine holds at once.
func (g *GPU) Capacity() int { return g.prog.Occ.WorkgroupsPerCU * len(g.cus) }

// StopAfter ends the run when n workgroups have ended, and marks each m of
// them: what GPUOptions.StopAfter and MarkEvery do, once the capacity is known.
func (g *GPU) StopAfter(n, m int) { g.stopAfter, g.markEvery = n, m }

// LookAfter shows look what the run has done when n workgroups have ended; where
// look returns false the run ends there, as with StopAfter. It changes nothing else.
func (g *GPU) LookAfter(n int, look func(*GPUResult) bool) { g.lookAfter, g.look = n, look }

// Program is the launch as it was prepared for timing.
func (g *GPU) Program() *cu.Program { return g.prog }

// Run simulates the launch to its end, or until ctx is done. Akita's
// monitor, when asked for, serves meanwhile on all interfaces and prints its
// address on standard error.
func (g *GPU) Run(ctx context.Context) (*GPUResult, error) {
	if g.monitor != nil {
		if g.notices != nil { // each run has a server of its own: a launch may be repeated at another clock
			fmt.Fprintf(g.notices, "kernel %s at %.0f MHz, watched on all interfaces of this machine, without a password:\n", g.prog.Kernel.Name, g.mhz)
		}
		g.monitor.StartServer()
		defer g.stopMonitor()
	}
	var watch func(int64)
	if g.prog.LoopEnd > g.prog.LoopStart {
		watch = g.watchDrift
	}
	var goOn func() bool
	if begin := g.chip.now; g.look != nil {
		goOn = func() bool {
			return g.look(g.result(Result{Cycles: g.chip.now - begin, Finished: g.chip.finished(), Stopped: true}))
		}
	}
	g.life = life{}
	timing, err := g.chip.Run(ctx, Kernel{LookAfter: g.lookAfter, GoOn: goOn, Workgroups: g.wgs, Present: g.present, Waves: g.prog.Kernel.Waves(), Progress: g.report(), Alive: g.alive, Waiting: g.waiting, Watch: watch, Ordered: g.prog.Shares,
		StopAt: g.stopAt, StopAfter: g.stopAfter, MarkEvery: g.markEvery})
	for _, c := range g.cus {
		if c.Err() != nil {
			return nil, c.Err()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", g.prog.Kernel.Name, err)
	}
	r := g.result(timing)
	if timing.Stopped {
		return r, nil // what is under way has been asked for and not answered
	}
	return r, r.check()
}

// result adds up what all dies have done so far.
func (g *GPU) result(timing Result) *GPUResult {
	r := &GPUResult{Timing: timing, Memory: g.chip.Stats(), Occupancy: g.prog.Occ, Drift: g.drift}
	for _, c := range g.cus {
		c.Settle(g.chip.now)
	}
	r.CU.Inst = make([]cu.InstStats, len(g.prog.Kernel.Insts))
	for i := range g.stats {
		r.CU.Merge(&g.stats[i])
	}
	for _, c := range g.cus {
		r.TCP.Merge(c.TCP())
	}
	return r
}

// stopMonitor ends the server. Akita's shuts down without a deadline to wait for,
// which panics while a request is under way; the run's result is worth more.
func (g *GPU) stopMonitor() {
	defer func() {
		if p := recover(); p != nil && g.notices != nil {
			fmt.Fprintln(g.notices, "the monitor was still being read when the run ended")
		}
	}()
	g.monitor.StopServer()
}

// check tells whether what the vector L1s sent is what the L2s got: fetches and
// scalar loads are the rest of the L2s' reads.
func (r *GPUResult) check() error {
	t, l2 := &r.TCP, &r.Memory.L2
	switch {
	case t.Misses > l2.Reads || t.BytesIn > l2.ReadBytes:
		return fmt.Errorf("xcd: the vector L1s missed %d times for %d bytes and the L2s were read %d times for %d bytes: a fault of Whisker",
			t.Misses, t.BytesIn, l2.Reads, l2.ReadBytes)
	case t.StoreSegments != l2.Writes+l2.Atomics || t.Atomics != l2.Atomics || t.BytesOut != l2.WriteBytes+l2.AtomicBytes:
		return fmt.Errorf("xcd: the vector L1s wrote %d times, %d of them atomics, %d bytes in all and the L2s took %d writes and %d atomics of %d bytes: a fault of Whisker",
			t.StoreSegments, t.Atomics, t.BytesOut, l2.Writes, l2.Atomics, l2.WriteBytes+l2.AtomicBytes)
	case t.Requests != t.Hits+t.HitsInFlight+t.Misses:
		return fmt.Errorf("xcd: the vector L1s looked %d lines up and hit %d, %d of them in flight, and missed %d: a fault of Whisker",
			t.Requests, t.Hits, t.HitsInFlight, t.Misses)
	}
	return nil
}
