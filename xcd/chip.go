package xcd

import (
	"context"
	"fmt"

	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
)

// Monitor is what a chip registers with when it is to be watched; Akita's
// monitoring.Monitor is one. Akita's listens on all interfaces without
// authentication, so a chip is registered only when asked.
type Monitor interface {
	RegisterEngine(sim.Engine)
	RegisterComponent(sim.Component)
}

// NewCUFunc makes the CU id of an XCD.
type NewCUFunc func(xcd, id int, l2 cache.L2Port, done func(now int64, wg int)) (ComputeUnit, error)

// Options of a chip.
type Options struct {
	// Threads is how many dies run at the same time; less than 2 means one.
	// Results do not depend on it.
	Threads int
	// NewCU makes the CU id of an XCD. It sends its lines to l2 and calls done
	// from within Step when a workgroup has ended.
	NewCU NewCUFunc
	// Monitor, when not nil, is given the engine and the components.
	Monitor Monitor
	// EveryCycle steps every CU in every cycle instead of skipping to the next
	// cycle that can matter. It is slow, and the result is the same: a check of
	// the CUs' answers.
	EveryCycle bool
}

// quantumCycles is the longest time for which a CU runs on its own. Longer
// keeps its state in the host's caches better, so this should be no less than a
// window; the L2's lookahead, the gap between workgroups of a CU and the window
// of the fabric's latency bound it.
const quantumCycles = 128

// Range is a piece of memory.
type Range struct {
	Base, Bytes uint64
	Written     bool // an earlier launch wrote it: its lines are dirty
}

// Kernel is what Run runs.
type Kernel struct {
	Workgroups int
	Waves      int // of a workgroup
	// Present, when not nil, chooses the workgroups that run. Each runs on the XCD
	// that it has in the whole launch.
	Present func(wg int) bool
	// Progress, when not nil, is told the number of workgroups that have ended and
	// the cycle, between windows and whenever the number has changed.
	Progress func(done, total, cycle int64)
	// Watch, when not nil, is called every few thousand cycles, between windows,
	// with the cycle of the launch. It must change nothing.
	Watch func(cycle int64)
	// Alive, when not nil, returns a number that grows while waves get anywhere.
	// A launch in which it has not grown for LivelockCycles is given up.
	Alive func() uint64
	// Ordered runs the dies of a window one after the other on any number of
	// threads: the values of the launch depend on the order.
	Ordered bool
	// Waiting, when not nil, says at what the waves of a launch that is given up
	// wait.
	Waiting func() string
	// StopAt, when positive, ends a run that takes longer at that cycle, and
	// StopAfter one at the first window boundary at which so many workgroups have
	// ended. Windows depend on the model alone, so that a stopped run is as
	// repeatable as a whole one.
	StopAt    int64
	StopAfter int
	// MarkEvery, when positive, records when each further so many workgroups had
	// ended.
	MarkEvery int
	// GoOn, when not nil, is asked once, at the first window boundary at which
	// LookAfter workgroups have ended; false ends the run there, as StopAfter does.
	LookAfter int
	GoOn      func() bool
}

// LivelockCycles is how long waves may run without ending, releasing a barrier,
// storing, or asking for new data before the launch counts as livelocked: ten
// milliseconds of a GPU.
const LivelockCycles = 20_000_000

// Result says when things happened, in core cycles from the command processor's
// launch message. What a launch costs before that, on the host and in the
// firmware, is not in it.
type Result struct {
	// Cycles ends when the command processor knows that every XCD has finished
	// its workgroups and written its dirty L2 lines back.
	Cycles         int64
	FirstWorkgroup int64   // the first one started
	LastWorkgroup  int64   // the last one ended
	Dirty          []Dirty // of a stopped launch: what each XCD's L2 has to write back
	Finished       int     // workgroups that have ended
	Stopped        bool    // at Kernel.StopAt or StopAfter, before the end
	Marks          []int64 // cycles at which MarkEvery, twice MarkEvery, ... workgroups had ended
}

// Dirty is what an L2 has to write back.
type Dirty struct{ Lines, Bytes int }

// Chip is a GPU: XCDs, IOD and command processor.
type Chip struct {
	machine *configs.Machine
	threads int
	latency int64 // from an XCD to its IOD, one way: the window
	control int64 // from the command processor to an XCD and back, each
	xcds    []*XCD
	iod     *IOD
	command *CommandProcessor
	engines []*Engine // by die; the IOD's is the last
	marks   []int64   // Result.Marks of the launch
	bridges []*Bridge
	scratch []crossing
	clock   *chipEngine
	now     int64
}

// New builds a chip whose core runs at coreMHz. Times and bandwidths beyond the
// L2 keep their own base, nanoseconds and bytes per second, and are converted to
// core cycles here.
func New(m *configs.Machine, coreMHz float64, o Options) (*Chip, error) {
	if err := check(m, coreMHz, o); err != nil {
		return nil, err
	}
	c := &Chip{machine: m, threads: max(1, o.Threads),
		latency: max(1, cache.CyclesOf(m.Fabric.LatencyNS-m.MeanHops()*m.Fabric.HopNS, coreMHz)),
		control: max(1, cache.CyclesOf(m.Fabric.LatencyNS, coreMHz))}
	for range m.Chip.XCDs + 1 {
		c.engines = append(c.engines, newEngine(coreMHz))
	}
	c.clock = &chipEngine{chip: c}
	if err := c.buildIOD(coreMHz); err != nil {
		return nil, err
	}
	c.buildCommand()
	for i := range m.Chip.XCDs {
		if err := c.buildXCD(i, coreMHz, o); err != nil {
			return nil, err
		}
	}
	if o.Monitor != nil {
		o.Monitor.RegisterEngine(c.clock)
		for _, comp := range c.Components() {
			o.Monitor.RegisterComponent(comp)
		}
	}
	return c, nil
}

func check(m *configs.Machine, coreMHz float64, o Options) error {
	switch {
	case o.NewCU == nil:
		return fmt.Errorf("machine %s: no compute units are given", m.Name)
	case coreMHz <= 0:
		return fmt.Errorf("machine %s: core clock of %g MHz", m.Name, coreMHz)
	case m.Chip.XCDs < 1 || m.Chip.XCDs > 255:
		return fmt.Errorf("machine %s: %d XCDs; 1 to 255 are possible", m.Name, m.Chip.XCDs)
	case m.Chip.CUsPerXCD < 1 || m.Chip.CUsPerXCD > cache.MaxCUs:
		return fmt.Errorf("machine %s: %d CUs per XCD; 1 to %d are possible", m.Name, m.Chip.CUsPerXCD, cache.MaxCUs)
	case m.Chip.IODs < 1 || m.Chip.IODs > m.LLC.Slices:
		return fmt.Errorf("machine %s: %d IODs; 1 to %d are possible, the LLC's slices", m.Name, m.Chip.IODs, m.LLC.Slices)
	case m.MeanHops()*m.Fabric.HopNS > m.Fabric.LatencyNS:
		return fmt.Errorf("machine %s: a slice of the LLC is %g ns away, %g hops of %g ns in the mean", m.Name, m.Fabric.LatencyNS, m.MeanHops(), m.Fabric.HopNS)
	case m.Chip.ShaderEngines < 1 || m.Chip.ShaderEngines > m.Chip.CUsPerXCD:
		return fmt.Errorf("machine %s: %d shader engines for %d CUs of an XCD", m.Name, m.Chip.ShaderEngines, m.Chip.CUsPerXCD)
	}
	return checkDispatch(&m.Dispatch)
}

// lineBytes is the unit in which lines travel beyond the L2.
func (c *Chip) lineBytes() int { return c.machine.L2.LineBytes }

func (c *Chip) buildIOD(coreMHz float64) error {
	m := c.machine
	e := c.engines[len(c.engines)-1]
	d := &IOD{ComponentBase: sim.NewComponentBase("GPU.IOD"), engine: e, latency: c.latency, line: c.lineBytes()}
	d.waker = newWaker(e, d)
	replacement, err := cache.ParseReplacement(m.LLC.Replacement)
	if err != nil {
		return fmt.Errorf("machine %s: LLC: %w", m.Name, err)
	}
	d.llc, err = cache.NewLLC(cache.LLCConfig{
		Bytes: m.LLC.Bytes, LineBytes: c.lineBytes(), Ways: m.LLC.Ways, Slices: m.LLC.Slices,
		InterleaveBytes: m.L2.InterleaveBytes,
		LatencyCycles:   cache.CyclesOf(m.LLC.LatencyNS, coreMHz),
		GBs:             m.LLC.GBs, CoreMHz: coreMHz,
		MSHRsPerSlice:  m.LLC.MSHRsPerSlice,
		Paths:          m.Chip.IODs + 1, // one a distance, so that each comes in order, and one for what came over the links between IODs
		FetchLines:     m.LLC.FetchBytes / c.lineBytes(),
		PrefetchLines:  m.LLC.PrefetchLines,
		PrefetchBlock:  m.LLC.PrefetchBlockBytes,
		AllocateOnRead: m.LLC.AllocateOnRead, AllocateOnWrite: m.LLC.AllocateOnWrite,
		SetHash: m.LLC.SetHash, SliceHash: m.LLC.SliceHash,
		Replacement: replacement, Seed: uint64(m.LLC.RandomSeed),
	}, cache.HBMConfig{
		Channels: m.HBM.Stacks * m.HBM.ChannelsPerStack,
		GBs:      m.HBM.GBs * m.HBM.Efficiency, CoreMHz: coreMHz,
		LatencyCycles:   cache.CyclesOf(m.HBM.LatencyNS, coreMHz),
		RowMissCycles:   cache.CyclesOf(m.HBM.RowMissNS, coreMHz),
		BanksPerChannel: m.HBM.BanksPerChannel, RowBytes: m.HBM.RowBytes,
		RefreshInterval: cache.CyclesOf(m.HBM.RefreshIntervalNS, coreMHz),
		RefreshCycles:   cache.CyclesOf(m.HBM.RefreshNS, coreMHz),
		WriteQueue:      m.HBM.WriteQueue, TurnAfter: m.HBM.TurnAfter,
		ReadToWriteCycles: cache.CyclesOf(m.HBM.ReadToWriteNS, coreMHz),
		WriteToReadCycles: cache.CyclesOf(m.HBM.WriteToReadNS, coreMHz),
		RefreshBanks:      m.HBM.RefreshScope != "channel",
	}, d)
	if err != nil {
		return fmt.Errorf("machine %s: %w", m.Name, err)
	}
	for i := range m.Chip.XCDs {
		p := sim.NewPort(d, portDepth, portDepth, fmt.Sprintf("GPU.IOD.Memory[%d]", i))
		d.AddPort(fmt.Sprintf("Memory[%d]", i), p)
		d.ports = append(d.ports, p)
		d.links = append(d.links, cache.NewServer(m.Fabric.ReadGBs, coreMHz))
	}
	d.out = make([]burstSender, m.Chip.XCDs)
	d.home, d.slices = homes(m.Chip.XCDs, m.Chip.IODs), spread(m.LLC.Slices, m.Chip.IODs)
	if m.Chip.IODs > 1 {
		d.mesh = newMesh(&m.Fabric, m.Chip.IODs, m.Chip.XCDs, coreMHz, d.crossed)
	}
	c.iod = d
	return nil
}

// homes gives XCDs to so many IODs in order, as many to each: where they do not divide,
// the last IODs have fewer or none, as the MI300A has two XCDs on each of three IODs and
// CPU dies on the fourth. Fewer XCDs than IODs lie apart.
func homes(xcds, iods int) []int {
	if xcds < iods {
		return spread(xcds, iods)
	}
	each := (xcds + iods - 1) / iods
	at := make([]int, xcds)
	for i := range at {
		at[i] = i / each
	}
	return at
}

// spread gives n things to so many IODs in order, evenly.
func spread(n, iods int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i * iods / n
	}
	return at
}

func (c *Chip) buildCommand() {
	e := c.engines[len(c.engines)-1]
	p := &CommandProcessor{ComponentBase: sim.NewComponentBase("GPU.CommandProcessor"), latency: c.control}
	p.waker = newWaker(e, p)
	for i := range c.machine.Chip.XCDs {
		port := sim.NewPort(p, portDepth, portDepth, fmt.Sprintf("GPU.CommandProcessor.XCD[%d]", i))
		p.AddPort(fmt.Sprintf("XCD[%d]", i), port)
		p.ports = append(p.ports, port)
	}
	c.command = p
}

func (c *Chip) buildXCD(i int, coreMHz float64, o Options) error {
	m := c.machine
	name := fmt.Sprintf("GPU.XCD[%d]", i)
	x := &XCD{
		ComponentBase: sim.NewComponentBase(name), index: i, engine: c.engines[i],
		link: cache.NewServer(m.Fabric.WriteGBs, coreMHz), latency: c.latency, toCommand: c.control,
		reqBytes: m.Fabric.RequestBytes, everyCycle: o.EveryCycle, launchAt: cache.Never,
	}
	x.waker = newWaker(x.engine, x)
	replacement, err := cache.ParseReplacement(m.L2.Replacement)
	if err != nil {
		return fmt.Errorf("machine %s: L2: %w", m.Name, err)
	}
	x.l2, err = cache.NewTCC(cache.TCCConfig{
		Bytes: m.L2.Bytes, LineBytes: m.L2.LineBytes, Ways: m.L2.Ways, Channels: m.L2.Channels,
		ReadBytesPerCycle: m.L2.ReadBytesPerCycle, WriteBytesPerCycle: m.L2.WriteBytesPerCycle,
		HitLatencyCycles: m.L2.HitLatencyCycles, WriteAckCycles: m.L2.WriteBackLatencyCycles,
		MSHRsPerChannel: m.L2.MSHRsPerChannel, QueueEntries: m.L2.QueueEntries, LatencyFIFOEntries: m.L2.LatencyFIFOEntries, AtomicBytesPerCycle: m.L2.AtomicBytesPerCycle,
		InterleaveBytes: m.L2.InterleaveBytes, KeepLines: !m.L2.Invalidate, SetHash: m.L2.SetHash, ChannelHash: m.L2.ChannelHash,
		Replacement: replacement, Seed: uint64(m.L2.RandomSeed)<<8 | uint64(i),
		TLB:           cache.TLBConfig{Entries: m.TLB.Entries, Ways: m.TLB.Ways, PageBytes: m.TLB.PageBytes},
		TLBMissCycles: cache.CyclesOf(m.TLB.MissNS, coreMHz),
	}, x)
	if err != nil {
		return fmt.Errorf("machine %s: %w", m.Name, err)
	}
	if err := x.setCUs(m, o.NewCU); err != nil {
		return fmt.Errorf("machine %s: %s: %w", m.Name, name, err)
	}
	x.lanes = make([]lane, m.L2.Channels)
	for i := range x.lanes {
		x.lanes[i].at = cache.Never
	}
	x.crossbarAt = cache.Never
	x.quantum = max(1, min(quantumCycles, x.l2.Lookahead(), int64(m.Dispatch.WorkgroupGapCycles)))
	x.asking = make([]askedAt, x.quantum)
	x.memory = sim.NewPort(x, portDepth, portDepth, name+".Memory")
	x.control = sim.NewPort(x, portDepth, portDepth, name+".Control")
	x.AddPort("Memory", x.memory)
	x.AddPort("Control", x.control)
	c.xcds = append(c.xcds, x)

	n := m.Chip.XCDs
	c.bridges = append(c.bridges,
		newBridge(fmt.Sprintf("GPU.Fabric[%d]", i), x.memory, c.iod.ports[i], i, n),
		newBridge(fmt.Sprintf("GPU.ControlLink[%d]", i), x.control, c.command.ports[i], i, n+1))
	x.out = burstSender{port: x.memory, dst: c.iod.ports[i].AsRemote()}
	x.commander = c.command.ports[i].AsRemote()
	c.iod.out[i] = burstSender{port: c.iod.ports[i], dst: x.memory.AsRemote()}
	c.command.remotes = append(c.command.remotes, x.control.AsRemote())
	return nil
}

// setCUs gives the die new CUs: those of the next kernel. Nothing may be under
// way.
func (x *XCD) setCUs(m *configs.Machine, newCU NewCUFunc) error {
	x.cus, x.failers, x.touchers = nil, nil, nil
	for id := range m.Chip.CUsPerXCD {
		cu, err := newCU(x.index, id, x, func(now int64, _ int) { x.workgroupDone(id, now) })
		if err != nil {
			return fmt.Errorf("CU %d: %w", id, err)
		}
		f, _ := cu.(Failer)
		x.cus = append(x.cus, cu)
		x.failers = append(x.failers, f)
		t, _ := cu.(toucher)
		x.touchers = append(x.touchers, t)
	}
	x.next = make([]int64, len(x.cus))
	for i := range x.next {
		x.next[i] = cache.Never
	}
	x.inbox = make([]inbox, len(x.cus))
	x.dispatch = newDispatcher(&m.Dispatch, x.cus, m.Chip.ShaderEngines)
	return nil
}

// SetCUs gives every XCD the CUs of another kernel: kernels that are run in
// sequence on one chip find in the LLC what those before them have left. A
// launch must have ended before.
func (c *Chip) SetCUs(newCU NewCUFunc) error {
	for _, x := range c.xcds {
		if x.busy() || !x.l2.Idle() {
			return fmt.Errorf("%s: a kernel is running", x.Name())
		}
		if err := x.setCUs(c.machine, newCU); err != nil {
			return fmt.Errorf("%s: %w", x.Name(), err)
		}
	}
	return nil
}

// EmptyLLC forgets what the LLC holds, in no time and moving no bytes: what a
// launch finds whose buffers other launches, on buffers of their own, have
// pushed out.
func (c *Chip) EmptyLLC() {
	c.iod.llc.Empty()
	for _, x := range c.xcds { // where they keep lines, those of the other buffers are gone too
		x.l2.Empty()
	}
}

// Engine returns an Akita engine for the whole chip: its time, and pausing.
func (c *Chip) Engine() sim.Engine { return c.clock }

// Components returns the chip's Akita components, for hooks and tracers.
func (c *Chip) Components() []sim.Component {
	comps := []sim.Component{c.command, c.iod}
	for _, x := range c.xcds {
		comps = append(comps, x)
	}
	return comps
}

// Engines returns the engines of the dies: XCDs, then the IOD.
func (c *Chip) Engines() []*Engine { return c.engines }

// Connections returns the bridges between the dies, for hooks.
func (c *Chip) Connections() []sim.Connection {
	var s []sim.Connection
	for _, b := range c.bridges {
		s = append(s, b)
	}
	return s
}

// WarmLLC places memory in the LLC as an earlier launch of the same kernel would
// have left it: the ranges in order, each in order of its addresses, so that the
// last lines touched are the most recently used. The published figures are
// taken after 500 warm-up launches.
func (c *Chip) WarmLLC(ranges []Range) {
	for _, r := range ranges {
		c.touchLLC(r)
	}
}

// touchLLC makes a range the most recently used lines of the LLC, and its pages
// those of every XCD's TLB.
func (c *Chip) touchLLC(r Range) {
	line := uint64(c.lineBytes())
	for a := r.Base &^ (line - 1); a < r.Base+r.Bytes; a += line {
		c.iod.llc.Warm(a, r.Written)
	}
	if r.Written { // what is only stored is not translated on its way to memory
		return
	}
	for _, x := range c.xcds {
		x.l2.TLB().Warm(r.Base, r.Bytes)
	}
}

// dropWritten takes the lines that an L2 wrote back in a launch out of the
// others, which have another state of them. It does nothing where L2s are
// invalidated.
func (c *Chip) dropWritten() {
	for _, x := range c.xcds {
		for _, line := range x.l2.TakeWritten() {
			for _, o := range c.xcds {
				if o != x {
					o.l2.Drop(line)
				}
			}
		}
	}
}

// Run runs a kernel to its end. The L2 is empty before and after, unless the
// machine's L2s keep their lines (l2.invalidate), the LLC keeps what it has. Counts are reset first. A chip that has returned an error cannot
// be used again.
func (c *Chip) Run(ctx context.Context, k Kernel) (Result, error) {
	if k.Workgroups < 1 || k.Waves < 1 {
		return Result{}, fmt.Errorf("a launch of %d workgroups of %d waves", k.Workgroups, k.Waves)
	}
	c.resetStats()
	var lists []workList
	for i, x := range c.xcds {
		x.dispatch.finished = 0
		lists = append(lists, shareOut(c.machine, i, k.Workgroups).choose(k.Present))
	}
	start := c.now
	if watch := k.Watch; watch != nil {
		k.Watch = func(cycle int64) { watch(cycle - start) }
	}
	c.command.begin(start, lists, k.Waves)
	c.marks = nil
	err := c.runWindows(ctx, k)
	if err != nil && err != errStopped {
		return Result{}, err
	}
	r := Result{Cycles: c.command.endAt - start, FirstWorkgroup: cache.Never, Finished: c.finished(), Marks: c.marks}
	if err == errStopped {
		r.Cycles, r.Stopped = c.now-start, true
		for _, x := range c.xcds {
			lines, bytes := x.l2.Dirty()
			r.Dirty = append(r.Dirty, Dirty{lines, bytes})
		}
	} else {
		c.dropWritten()
		stats := c.Stats()
		if err := stats.Check(uint64(c.lineBytes())); err != nil {
			return Result{}, fmt.Errorf("xcd: the counts do not add up, which is a fault of Whisker: %w", err)
		}
	}
	for _, x := range c.xcds {
		if x.dispatch.list.count > 0 {
			r.FirstWorkgroup = min(r.FirstWorkgroup, x.firstWave-start)
			r.LastWorkgroup = max(r.LastWorkgroup, x.lastEnd-start)
		}
	}
	c.now = max(c.now, c.command.endAt)
	return r, nil
}

// finished returns the number of workgroups that have ended.
func (c *Chip) finished() int {
	n := 0
	for _, x := range c.xcds {
		n += x.dispatch.finished
	}
	return n
}
