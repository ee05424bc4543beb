package cu

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
)

// Tags of requests that are not the vector L1's own.
const (
	tagSMEM  = 1 << 30
	tagFetch = 1 << 29
)

type simd struct {
	valuFree int64
	mfmaFree int64
	valuGap  int64 // co-issue rule after a matrix instruction: plain VALU
	packGap  int64 // packed VALU
	memGap   int64 // DS and VMEM
	// until is, by slot, the first cycle at which the wave may issue or its
	// reason may change; cache.Never while it waits for an event. It stands
	// apart from the waves so that a visit touches one line of memory for the
	// waves that cannot issue.
	until []int64
	waves []*wave // by slot
	order []uint8 // occupied slots in order of arbitration
	free  uint64  // wave slots
	run   mfmaRun
	held  uint64 // slots of waves whose until is the end of run
}

// fill is direct-to-LDS data on its way from the vector L1 to the LDS.
type fill struct {
	at    int64
	bytes int32
	tag   uint32
}

// CU is one compute unit. It is driven by Step and by the answers of its
// memory requests; it calls done when a workgroup has ended.
type CU struct {
	spec *Spec
	prog *Program
	uops []uop // of prog
	l2   cache.L2Port
	id   int // within the XCD
	xcc  int
	tcp  *cache.TCP
	lds  *lds.Unit
	sh   *Shared
	done func(now int64, wg int)
	st   *Stats

	interval, phase int64 // between visits of a SIMD; a mask for the SIMD's number, -1 when that takes a division
	simds           []simd
	visitAt         []int64 // by SIMD: next visit, in phase with its turn
	waves           []*wave // by simd*slots+slot
	groups          []*workgroup
	freeWG          []*workgroup
	ages            uint64
	now             int64
	ldsNext         int64
	tcpNext         int64
	fills           []fill // ring by head
	fillHead        int
	ldsWaiting      []int32 // waves stalled until a queue entry is free, by index
	turn            vmemTurn
	refused         int           // scalar loads that the L2 port turned away since their waves were last woken
	scratch         []cache.Lines // patterns that are not kept, one per queue entry and one more
	scratchAt       int
	err             error
	dirtyBase       uint64
	loopWaves       int     // waves inside the marked loop
	loopSince       int64   // since when there is one
	loopTurns       uint64  // iterations of the marked loop, all waves since the start
	fetching        []uint8 // per instruction line: asked for
	hook            IssueHook
	rec             Recorder
	observed        bool // hook or rec is there
	groupEnded      func(wg int, start, end int64)
	logger          Logger
	playAccess      isa.Access // scratch space of patternLines
	watch           func(now int64)
	ext             *extension // of kernels that use what-ifs, else nil
}

// LoopTurns returns how many iterations of the marked loop the CU's waves have
// begun after their first, all waves together.
func (c *CU) LoopTurns() uint64 { return c.loopTurns }

// IssueHook sees every issue: cycle, SIMD, slot, instruction index. It is for
// traces and tests and must not change anything.
type IssueHook func(now int64, simd, slot, inst int)

// New builds CU id of XCD xcc. stats and shared may be common to several CUs
// of one XCD.
func New(s *Spec, p *Program, xcc, id int, l2 cache.L2Port, sh *Shared, st *Stats, done func(now int64, wg int)) (*CU, error) {
	tcp, err := cache.NewTCP(s.TCP, id, l2)
	if err != nil {
		return nil, err
	}
	c := &CU{spec: s, prog: p, uops: p.uops, l2: l2, id: id, xcc: xcc, tcp: tcp, lds: lds.NewUnit(s.LDS), sh: sh, done: done, st: st,
		ldsNext: cache.Never, tcpNext: cache.Never, dirtyBase: ^uint64(0)}
	if p.features != 0 {
		c.ext = newExtension(s, p)
	}
	if st.Inst == nil {
		st.Inst = make([]InstStats, len(p.uops))
		st.runs = make([]int64, len(p.uops)+1)
		st.rows = make([]row, len(p.uops))
		st.usual = make([]ldsCache, p.ldsOps)
	}
	c.fetching = make([]uint8, p.uops[len(p.uops)-1].line+1)
	c.scratch = make([]cache.Lines, s.TCP.QueueEntries+1)
	c.simds = make([]simd, s.SIMDs)
	c.visitAt = make([]int64, s.SIMDs)
	c.waves = make([]*wave, s.SIMDs*s.WaveSlots)
	// What the SIMDs read at a visit lies side by side.
	until, order := make([]int64, s.SIMDs*s.WaveSlots), make([]uint8, s.SIMDs*s.WaveSlots)
	for i := range c.simds {
		lo, hi := i*s.WaveSlots, (i+1)*s.WaveSlots
		c.visitAt[i] = cache.Never
		c.simds[i].free = 1<<s.WaveSlots - 1
		c.simds[i].until = until[lo:hi:hi]
		c.simds[i].order = order[lo:lo:hi]
		c.simds[i].waves = c.waves[lo:hi:hi]
	}
	c.interval, c.phase = s.IssueInterval, -1
	if n := s.IssueInterval; n&(n-1) == 0 {
		c.phase = n - 1
	}
	return c, nil
}

// SetHook installs an issue hook.
func (c *CU) SetHook(h IssueHook) {
	c.hook = h
	c.observed = c.hook != nil || c.rec != nil
}

// Err is the first error of a wave on this CU.
func (c *CU) Err() error { return c.err }

// TCP gives access to the vector L1's statistics.
func (c *CU) TCP() *cache.TCPStats { return &c.tcp.Stats }

// Room returns how many more workgroups of the kernel fit; none after an error.
func (c *CU) Room() int {
	if c.err != nil {
		return 0
	}
	return c.prog.Occ.WorkgroupsPerCU - len(c.groups)
}

// align is the first visit of SIMD s at or after cycle t.
func (c *CU) align(s int, t int64) int64 {
	if c.phase >= 0 {
		return t + (int64(s)-t)&c.phase
	}
	n := c.interval
	return t + ((int64(s)%n-t)%n+n)%n
}

func (c *CU) wake(w *wave, t int64) {
	*w.until = t
	if a := c.align(int(w.simd), max(t, c.now)); a < c.visitAt[w.simd] {
		c.visitAt[w.simd] = a
	}
}

// Launch starts workgroup wg (linear dispatch index) at cycle now and returns
// the CU's next wake.
func (c *CU) Launch(now int64, wg int) int64 {
	c.now = max(c.now, now)
	g := c.newGroup(wg, now)
	for i := 0; i < c.prog.Waves; i++ {
		si := c.pickSIMD()
		s := &c.simds[si]
		slot := 0
		for s.free>>slot&1 == 0 {
			slot++
		}
		w := c.slotWave(si, slot)
		if !c.startWave(w, g, i, now+int64(i)*c.spec.WaveLaunch) {
			continue
		}
		s.free &^= 1 << slot
		s.waves[slot] = w
		s.order = append(s.order, uint8(slot))
		s.sort()
		c.wake(w, w.start+c.spec.FirstFetch)
	}
	c.groups = append(c.groups, g)
	return c.nextWake()
}

func (c *CU) newGroup(id int, now int64) *workgroup {
	var g *workgroup
	if n := len(c.freeWG); n > 0 {
		g, c.freeWG = c.freeWG[n-1], c.freeWG[:n-1]
	} else {
		g = &workgroup{}
	}
	*g = workgroup{id: id, waves: g.waves[:0], lds: g.lds, bars: g.bars, alive: c.prog.Waves, start: now, ldsDirty: [2]int{1 << 30, 0}}
	if c.prog.Source == nil && (c.prog.Full || len(c.prog.Slice.Loads) > 0) && len(g.lds) != c.prog.LDS {
		g.lds = make([]byte, c.prog.LDS)
	}
	clear(g.lds)
	return g
}

func (c *CU) pickSIMD() int {
	best, bestN := 0, -1
	for i := range c.simds {
		if n := c.spec.WaveSlots - len(c.simds[i].order); n > bestN {
			best, bestN = i, n
		}
	}
	return best
}

func (c *CU) slotWave(si, slot int) *wave {
	i := si*c.spec.WaveSlots + slot
	if c.waves[i] == nil {
		k := c.prog.Kernel
		w := &wave{simd: uint8(si), slot: uint8(slot), until: &c.simds[si].until[slot]}
		w.mem = make([]memCache, c.prog.memOps)
		w.lds = make([]ldsCache, c.prog.ldsOps)
		w.ldsUsual = make([]uint64, (c.prog.ldsOps+63)/64)
		if c.prog.decisions != nil {
			w.visits = make([]int32, len(c.prog.decisions.Branches))
		}
		w.vready = make([]int64, 512)
		w.st.VGPR = make([]isa.VReg, k.VGPRs)
		w.st.AGPR = make([]isa.VReg, k.AGPRs)
		c.waves[i] = w
	}
	return c.waves[i]
}

// startWave begins wave i of a workgroup; false means that a trace that is
// replayed does not have it.
func (c *CU) startWave(w *wave, g *workgroup, i int, start int64) bool {
	c.ages++
	st := w.st
	*w = wave{simd: w.simd, slot: w.slot, until: w.until, mem: w.mem, lds: w.lds, ldsUsual: w.ldsUsual, play: w.play, visits: w.visits, vready: w.vready, wg: g, inWG: uint8(i), age: c.ages, line: -1,
		start: start, last: start, reason: StallFetch, loopAt: -1, pc: int32(c.prog.Kernel.Entry), blame: int32(c.prog.Kernel.Entry)}
	for i := range w.vready {
		w.vready[i] = -1 << 40 // never written
	}
	w.st = isa.State{VGPR: st.VGPR, AGPR: st.AGPR}
	w.valuAt, w.salWrAt = -1<<40, -1<<40
	if c.ext != nil {
		c.startExtension(w, g)
	}
	if c.prog.Source != nil {
		has, err := c.startReplay(w, g, i)
		if err != nil {
			c.fail(w, err)
		}
		if !has {
			g.alive--
			return false
		}
		c.begin(w, start)
		return true
	}
	for j := range w.mem {
		w.mem[j].valid = false
	}
	clear(w.lds)
	clear(w.ldsUsual)
	clear(w.visits)
	w.st.CPU, w.st.Mem, w.st.LDS = c.prog.Kernel.CPU, c.prog.Launch.Memory, g.lds
	id := c.prog.Launch.WorkgroupID(g.id)
	w.st.Info = isa.WaveInfo{Workgroup: id, WaveInWG: i, XCC: c.xcc, Clock: func() uint64 { return uint64(c.now) }}
	isa.Init(c.prog.Kernel, c.prog.Launch, id, i, c.prog.Kernarg, &w.st)
	if c.logger != nil {
		w.log = c.logger.Wave(g.id, i, int(w.pc), w.st.Exec())
	}
	c.begin(w, start)
	return true
}

// begin enters a wave that is ready to run.
func (c *CU) begin(w *wave, start int64) {
	w.wg.waves = append(w.wg.waves, w)
	c.st.Waves++
	if c.rec != nil {
		c.rec.Wave(start, c.index(w), w.wg.id, int(w.inWG))
	}
}

// sort keeps the waves by priority, then age: the arbitration order.
func (s *simd) sort() {
	o := s.order
	for i := 1; i < len(o); i++ {
		for j := i; j > 0; j-- {
			a, b := s.waves[o[j]], s.waves[o[j-1]]
			if a.prio < b.prio || a.prio == b.prio && a.age > b.age {
				break
			}
			o[j], o[j-1] = o[j-1], o[j]
		}
	}
}

func (c *CU) nextWake() int64 {
	n := min(c.ldsNext, c.tcpNext)
	if c.fillHead < len(c.fills) {
		n = min(n, c.fills[c.fillHead].at)
	}
	for _, at := range c.visitAt {
		n = min(n, at)
	}
	return n
}

// Step advances the CU to cycle now and returns the next cycle at which it
// must be stepped again, cache.Never when only an answer from outside can wake
// it.
func (c *CU) Step(now int64) int64 {
	c.now = now
	if c.tcpNext <= now {
		c.tcpNext = c.tcp.Step(now)
		c.drainTCP(now)
		if c.turn.n > 0 {
			c.wakeVMEM()
		}
	}
	// After the TCP: a load that fetches nothing, since all of it is out of range, is done at once.
	for c.fillHead < len(c.fills) && c.fills[c.fillHead].at <= now {
		f := &c.fills[c.fillHead]
		c.lds.PushFill(now, int(f.bytes), f.tag)
		c.ldsNext = min(c.ldsNext, c.lds.Next())
		c.fillHead++
		if c.fillHead == len(c.fills) {
			c.fills, c.fillHead = c.fills[:0], 0
		}
	}
	if c.ldsNext <= now {
		c.stepLDS(now)
	}
	s := int(now & c.phase)
	if c.phase < 0 {
		s = int(now % c.interval)
	}
	if s < len(c.visitAt) && c.visitAt[s] <= now {
		c.visit(s, now)
	}
	if c.watch != nil {
		c.watch(now)
	}
	return c.nextWake()
}

func (c *CU) stepLDS(now int64) {
	c.ldsNext = c.lds.Step(now)
	for i := range c.lds.Done {
		d := &c.lds.Done[i]
		if d.Fill && d.Tag >= tagExt {
			c.extensionFilled(d)
			continue
		}
		w := c.waves[d.Tag>>8]
		if d.Fill {
			w.vmDone[d.Tag&255] = d.At
			c.st.vmemDone(d.At - w.vmIssued[d.Tag&255])
			c.memoryDone(d.At, d.Tag, CounterVM)
		} else {
			c.memoryDone(d.At, d.Tag, CounterLGKM)
			w.lgkm[d.Tag&255].done = d.At
			c.st.LDSLatency.Add(uint64(d.At - w.lgkm[d.Tag&255].issued))
			c.st.LDSLatencySum += uint64(d.At - w.lgkm[d.Tag&255].issued)
		}
		c.completed(w, d.At)
	}
	c.lds.Done = c.lds.Done[:0]
	if c.ext != nil {
		c.stepCopies(now)
		c.ldsNext = min(c.ldsNext, c.ext.next)
	}
	if len(c.ldsWaiting) > 0 {
		for _, i := range c.ldsWaiting {
			if w := c.waves[i]; *w.until == cache.Never && w.reason == StallLDSQueue {
				c.wake(w, now)
			}
		}
		c.ldsWaiting = c.ldsWaiting[:0]
	}
}

// wakeReason lets the waves that an event-free stall holds look again.
func (c *CU) wakeReason(r StallReason) {
	for i := range c.simds {
		s := &c.simds[i]
		for _, sl := range s.order {
			if s.until[sl] == cache.Never && s.waves[sl].reason == r {
				c.wake(s.waves[sl], c.now)
			}
		}
	}
}

// completed lets a wave that waits for a counter look again at cycle at.
func (c *CU) completed(w *wave, at int64) {
	if w.blame != w.pc || w.atBar {
		return // held by the delay of its last instruction or by others
	}
	switch w.reason {
	case StallVMCnt, StallLGKMCnt, StallDependency:
		if at = max(at, c.now); at < *w.until {
			c.wake(w, at)
		}
	}
}

func (c *CU) drainTCP(now int64) {
	for i := range c.tcp.Done {
		d := &c.tcp.Done[i]
		if d.Kind == cache.MemLDSDMA {
			c.fills = append(c.fills, fill{max(d.At, now), d.Bytes, d.Tag})
			continue
		}
		w := c.waves[d.Tag>>8]
		w.vmDone[d.Tag&255] = d.At
		c.st.vmemDone(d.At - w.vmIssued[d.Tag&255])
		c.memoryDone(d.At, d.Tag, CounterVM)
		if p := w.flatPos[d.Tag&255]; p != notFlat {
			w.lgkm[p].done = d.At
			c.memoryDone(d.At, d.Tag&^255|uint32(p), CounterLGKM)
		}
		c.completed(w, d.At)
	}
	c.tcp.Done = c.tcp.Done[:0]
}

// LineReturned takes a line that the L2 sent and returns the CU's next wake.
func (c *CU) LineReturned(now int64, tag uint32) int64 {
	c.now = max(c.now, now)
	switch {
	case tag&tagSMEM != 0:
		// A miss passes the scalar cache as a hit does, before the L2 or after: with
		// the L2's own time that is the 170 to 179 cycles that a chase measures.
		w, done := c.waves[tag>>8&0xffff], now+max(1, c.spec.ScalarHitCycles)
		w.lgkm[tag&255].done = done
		c.memoryDone(done, tag&^tagSMEM, CounterLGKM)
		c.sh.scalar.insert(w.scalarLine[tag&255])
		c.completed(w, done)
		c.wakeRefused(now)
	case tag&tagFetch != 0:
		c.fetched(now, tag&^tagFetch)
	case tag&tagCopy != 0 && c.ext != nil:
		c.copyReturned(now, int(tag&^tagCopy))
	default:
		if n := c.tcp.LineReturned(now, tag); n < c.tcpNext {
			c.tcpNext = n
		}
		c.drainTCP(now)
	}
	return c.nextWake()
}

// wakeRefused lets the waves look again whose scalar load the L2 port turned away, as L2Port allows and an XCD
// never does: a line that comes meanwhile may be theirs.
func (c *CU) wakeRefused(now int64) {
	if c.refused == 0 {
		return
	}
	c.refused = 0
	for i := range c.simds {
		s := &c.simds[i]
		for _, sl := range s.order {
			w := s.waves[sl]
			if w.reason == StallVMEMQueue && w.blame == w.pc && s.until[sl] != cache.Never && c.uops[w.pc].kind == kindSMEM {
				c.wake(w, now)
			}
		}
	}
}

// WriteAcked takes the acknowledgement of a write and returns the CU's next
// wake.
func (c *CU) WriteAcked(now int64, tag uint32) int64 {
	c.now = max(c.now, now)
	if n := c.tcp.WriteAcked(now, tag); n < c.tcpNext {
		c.tcpNext = n
	}
	c.drainTCP(now)
	return c.nextWake()
}

func (c *CU) fail(w *wave, err error) {
	if c.err == nil {
		in := &c.prog.Kernel.Insts[w.pc]
		c.err = fmt.Errorf("kernel %s, workgroup %d, wave %d, pc %#x (%s), cycle %d: %w", c.prog.Kernel.Name, w.wg.id, w.inWG,
			in.PC, in.Text(c.prog.Kernel.CPU), c.now, err)
	}
	for i := range c.visitAt {
		c.visitAt[i] = cache.Never
	}
}

// EachWave calls f for every resident wave that has not ended, with the index of
// the instruction that it waits at and the reason.
func (c *CU) EachWave(f func(inst int, reason StallReason)) {
	c.bookRuns(c.now)
	for _, g := range c.groups {
		for _, w := range g.waves {
			if w.wg == g && !w.ended {
				f(int(w.blame), w.reason)
			}
		}
	}
}

// Dump says what every resident wave waits for.
func (c *CU) Dump() string {
	c.bookRuns(c.now)
	var b strings.Builder
	if len(c.groups) > 0 {
		fmt.Fprintf(&b, "xcd %d cu %d %s\n", c.xcc, c.id, c.tcp.Dump())
	}
	for _, g := range c.groups {
		for _, w := range g.waves {
			if w.wg != g || w.ended {
				continue
			}
			in := &c.prog.Kernel.Insts[w.blame]
			fmt.Fprintf(&b, "xcd %d cu %d workgroup %d wave %d: %s at pc %#x: %s (vmcnt %d, lgkmcnt %d)\n", c.xcc, c.id, g.id, w.inWG,
				w.reason, in.PC, in.Text(c.prog.Kernel.CPU), w.vmCount(c.now), w.lgkmCount(c.now))
		}
	}
	return b.String()
}
