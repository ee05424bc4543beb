package cu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
)

// The what-ifs of the machine file's features: registers that move between the
// waves of a SIMD, barrier objects, tile copies and block multiplies. A CU has
// this state only while it runs a kernel that uses one; without it a feature
// costs nothing.

// Tags of extensions: of direct-to-LDS data, and of lines asked of the L2.
const (
	tagExt     = 1 << 31 // fills: block operands of the SIMD in the low bits
	tagExtCopy = 1 << 30 // with tagExt: of the tile copy in the low bits
	tagCopy    = 1 << 28 // lines
)

// blockRing bounds the x_mma of a wave under way (features.mfma_blocks allows
// no more for a SIMD).
const blockRing = 16

// extension is the state of a CU's what-ifs.
type extension struct {
	free   []int        // vector registers per SIMD
	blocks []blockQueue // per SIMD
	waves  []waveBlocks // per wave slot
	port   [lds.Pairs]int64

	copies []tileCopy
	asking []int // entries that still ask for lines, in order
	lines  int   // outstanding
	asked  int64 // cycle of the latest line asked for
	next   int64 // next attempt, cache.Never when none is due
}

// block is an x_mma: it starts when its first operands are there and its pipe
// is free, and ends after its multiplies, but not before its last operand has
// been multiplied.
type block struct {
	slot        int // wave
	pos         uint32
	chunks      int // operand tiles that have not come
	head        int // of them, those without which it cannot start
	first, last int64
	busy, tail  int64
}

// blockQueue is the x_mma of a SIMD in order.
type blockQueue struct {
	wait    []block // whose operands are coming
	ends    []int64 // of the others: later than now
	pipeEnd int64
}

// waveBlocks are the x_mma of a wave.
type waveBlocks struct {
	head, tail uint32
	done       [blockRing]int64
}

func (b *waveBlocks) outstanding(now int64) int {
	for b.head != b.tail && b.done[b.head%blockRing] <= now {
		b.head++
	}
	return int(b.tail - b.head)
}

// at is the cycle at which at most n are outstanding, cache.Never while unknown.
func (b *waveBlocks) at(n int) int64 {
	at := int64(0)
	for i := b.head; i != b.tail-uint32(n); i++ {
		at = max(at, b.done[i%blockRing])
	}
	return at
}

// tileCopy is an x_tile_copy under way.
type tileCopy struct {
	used    bool
	slot    int
	pos     uint32 // place on vmcnt
	group   *workgroup
	id      int // of the group, which may be used again
	bar     int16
	info    isa.TileCopyInfo
	row     int  // to ask for next
	line    int  // of the row
	toCome  int  // lines asked for
	pieces  bool // written line by line, else when all lines are there
	toWrite int  // pieces that LDS has not taken
}

// mbar is a barrier object of a workgroup.
type mbar struct {
	count, left int
	phase       int
	over        int64 // when waiters of the phase before go on
}

func newExtension(s *Spec, p *Program) *extension {
	e := &extension{free: make([]int, s.SIMDs), blocks: make([]blockQueue, s.SIMDs), waves: make([]waveBlocks, s.SIMDs*s.WaveSlots),
		copies: make([]tileCopy, max(1, s.CopyEntries)), next: cache.Never, asked: -1 << 40}
	for i := range e.free {
		e.free[i] = s.VGPRsPerSIMD
	}
	return e
}

// startExtension gives a wave the registers that it starts with.
func (c *CU) startExtension(w *wave, g *workgroup) {
	if c.prog.features&isa.DynamicRegisters != 0 {
		w.regs = int32(roundUp(c.prog.Kernel.StartRegisters, c.spec.VGPRGranule))
		c.ext.free[w.simd] -= int(w.regs)
	}
	if len(g.bars) != len(c.prog.bars) {
		g.bars = make([]mbar, len(c.prog.bars))
	}
}

// endExtension takes a wave's registers back.
func (c *CU) endExtension(w *wave) {
	c.ext.free[w.simd] += int(w.regs)
	c.registersFree(w, c.now)
}

// issueExtension tries to issue an extension other than x_mma.
func (c *CU) issueExtension(w *wave, u *uop, now int64) {
	ok := true
	switch u.kind {
	case kindSetRegisters:
		ok = c.setRegisters(w, int(u.idle), now)
	case kindMBarInit:
		w.wg.bars[u.bar] = mbar{count: int(u.idle), left: int(u.idle)}
	case kindMBarArrive:
		c.arrive(w.wg, int(u.bar), now)
	case kindMBarWait:
		ok = c.mbarWait(w, u, now)
	case kindTileCopy:
		ok = c.startCopy(w, u, now)
	case kindBlockWait:
		b := &c.ext.waves[c.index(w)]
		if n := int(u.idle); b.outstanding(now) > n {
			c.stall(w, now, StallMatrix, max(b.at(n), now+1))
			ok = false
		}
	}
	if !ok || c.err != nil || u.kind != kindMBarWait && !c.exec(w, u) {
		return
	}
	c.issued(w, u, now, now+c.spec.IssueInterval, StallDependency)
}

// setRegisters lets a wave hold n registers: what it gives up is free at once,
// and what it asks for it waits for.
func (c *CU) setRegisters(w *wave, n int, now int64) bool {
	more := roundUp(n, c.spec.VGPRGranule) - int(w.regs)
	if more > c.ext.free[w.simd] {
		c.stall(w, now, StallDependency, cache.Never)
		return false
	}
	c.ext.free[w.simd] -= more
	w.regs += int32(more)
	if more < 0 {
		c.registersFree(w, now)
	}
	return true
}

// registersFree lets the waves of a SIMD that wait for registers look again at
// its next visit.
func (c *CU) registersFree(from *wave, now int64) {
	s := &c.simds[from.simd]
	for _, sl := range s.order {
		if w := s.waves[sl]; s.until[sl] == cache.Never && c.prog.uops[w.pc].kind == kindSetRegisters {
			c.wake(w, now+c.spec.IssueInterval)
		}
	}
}

// arrive counts an arrival at cycle at. The last one of a phase lets its waiters
// go as late as s_barrier does.
func (c *CU) arrive(g *workgroup, i int, at int64) {
	b := &g.bars[i]
	b.left--
	if b.left > 0 {
		return
	}
	b.left, b.phase, b.over = b.count, b.phase+1, at+c.spec.BarrierCycles
	c.st.Barriers++
	for _, w := range g.waves {
		u := &c.prog.uops[w.pc]
		if w.wg == g && !w.ended && u.kind == kindMBarWait && int(u.bar) == i && w.reason == StallBarrier && w.blame == w.pc {
			c.wake(w, b.over)
		}
	}
}

// mbarWait holds a wave until the phase of the parity is over. It does not spin:
// the last arrival wakes it.
func (c *CU) mbarWait(w *wave, u *uop, now int64) bool {
	b := &w.wg.bars[u.bar]
	parity := scalarValue(c.prog.Kernel.Insts[w.pc].Src[0], &w.st)
	switch {
	case b.phase&1 == int(parity&1):
		c.stall(w, now, StallBarrier, cache.Never)
		return false
	case b.over > now:
		c.stall(w, now, StallBarrier, b.over)
		return false
	}
	return true
}

// startCopy hands a tile to the copy engine.
func (c *CU) startCopy(w *wave, u *uop, now int64) bool {
	e := c.ext
	at := slices.IndexFunc(e.copies, func(t tileCopy) bool { return !t.used })
	if at < 0 {
		c.stall(w, now, StallVMEMQueue, cache.Never)
		return false
	}
	if n := w.vmCount(now); u.bar < 0 && n >= c.spec.VMMax {
		c.stall(w, now, StallDependency, max(w.vmAt(n-1), now+1))
		return false
	}
	in := &c.prog.Kernel.Insts[w.pc]
	t := w.st.TileCopy(in)
	if err := t.Check(c.prog.Kernel, in, c.prog.Launch.Memory, c.prog.LDS); err != nil {
		c.fail(w, err)
		return false
	}
	if !c.prog.Full && len(c.prog.Slice.Loads) > 0 {
		d := &w.wg.ldsDirty
		d[0], d[1] = min(d[0], int(t.LDS)), max(d[1], int(t.LDS)+t.Rows*isa.TileRowBytes)
		w.wg.dirtyPC = int(w.pc)
	}
	x := &e.copies[at]
	*x = tileCopy{used: true, slot: c.index(w), group: w.wg, id: w.wg.id, bar: u.bar, info: t, pieces: c.matched(&t)}
	if t.Inside > 0 {
		x.toWrite = 1
		if x.pieces {
			x.toWrite = t.Inside
		}
	}
	if u.bar < 0 {
		x.pos = w.pushVM()
		w.flatPos[x.pos] = notFlat
		c.memoryIssue(w, now, CounterVM, x.pos)
	}
	c.st.LDSFill += uint64(t.Rows * isa.TileRowBytes)
	if zeros := (t.Rows - t.Inside) * isa.TileRowBytes; zeros > 0 {
		x.toWrite++
		c.fills = append(c.fills, fill{now + 1, int32(zeros), tagExt | tagExtCopy | uint32(at)}) // those of this cycle are through
	}
	if t.Inside > 0 {
		e.asking = append(e.asking, at)
		c.askSoon(now)
	}
	return true
}

// askSoon lets the copy engine look at its queue.
func (c *CU) askSoon(now int64) {
	e := c.ext
	if len(e.asking) > 0 && e.lines < c.spec.CopyLines {
		e.next = min(e.next, max(now+1, e.asked+int64(c.spec.CopyLineGap)))
		c.ldsNext = min(c.ldsNext, e.next)
	}
}

// stepCopies asks the L2 for the next line.
func (c *CU) stepCopies(now int64) {
	e := c.ext
	if e.next > now {
		return
	}
	e.next = cache.Never
	if len(e.asking) == 0 || e.lines >= c.spec.CopyLines {
		return
	}
	at := e.asking[0]
	x := &e.copies[at]
	size := uint64(c.spec.TCP.LineBytes)
	from := x.info.Base + uint64(x.row)*uint64(x.info.Stride)
	first, last := from&^(size-1), (from+isa.TileRowBytes-1)&^(size-1)
	line := first + uint64(x.line)*size
	if retry := c.l2.Read(now, c.id, line, tagCopy|uint32(at)); retry != 0 {
		e.next = retry
		return
	}
	e.lines++
	e.asked = now
	x.toCome++
	if x.line++; line == last {
		x.row, x.line = x.row+1, 0
	}
	if x.row == x.info.Inside {
		e.asking = append(e.asking[:0], e.asking[1:]...)
	}
	c.askSoon(now)
}

// matched reports whether every row of a tile is one line.
func (c *CU) matched(t *isa.TileCopyInfo) bool {
	n := uint64(c.spec.TCP.LineBytes)
	return n == isa.TileRowBytes && t.Base%n == 0 && uint64(t.Stride)%n == 0
}

// copyReturned takes a line of a tile copy to the LDS.
func (c *CU) copyReturned(now int64, at int) {
	e := c.ext
	x := &e.copies[at]
	e.lines--
	x.toCome--
	bytes := isa.TileRowBytes
	if !x.pieces {
		bytes = x.info.Inside * isa.TileRowBytes
	}
	if x.pieces || x.toCome == 0 && x.row == x.info.Inside {
		c.fills = append(c.fills, fill{now, int32(bytes), tagExt | tagExtCopy | uint32(at)})
	}
	c.askSoon(now)
}

// extensionFilled takes the LDS's word that data of an extension has passed.
func (c *CU) extensionFilled(d *lds.Completion) {
	if d.Tag&tagExtCopy == 0 {
		c.operandCame(int(d.Tag&^uint32(tagExt)), d.At)
		return
	}
	e := c.ext
	x := &e.copies[d.Tag&^uint32(tagExt|tagExtCopy)]
	if x.toWrite--; x.toWrite > 0 {
		return
	}
	x.used = false
	c.wakeReason(StallVMEMQueue)
	if x.bar < 0 {
		w := c.waves[x.slot]
		w.vmDone[x.pos] = d.At
		c.memoryDone(d.At, uint32(x.slot)<<8|x.pos, CounterVM)
		c.completed(w, d.At)
	} else if x.group.id == x.id {
		c.arrive(x.group, int(x.bar), d.At)
	}
}

// issueBlock tries to issue an x_mma. Its operands in LDS pass the banks in the
// queue of block transfers, and the pair's return port; they need no address
// port, no FIFO entry and no register.
func (c *CU) issueBlock(w *wave, u *uop, s *simd, now int64) bool {
	q := &c.ext.blocks[w.simd]
	for len(q.ends) > 0 && q.ends[0] <= now {
		q.ends = append(q.ends[:0], q.ends[1:]...)
	}
	if len(q.ends)+len(q.wait) >= c.spec.MFMABlocks {
		until := cache.Never
		if len(q.ends) > 0 {
			until = q.ends[0]
		}
		c.stall(w, now, StallMatrix, until)
		return false
	}
	if s.valuFree > now {
		c.stall(w, now, StallVALU, s.valuFree)
		return false
	}
	if d := c.spec.VALUDependent; now-w.valuAt < d {
		if at := c.dependency(w, u, d); at > now {
			c.stall(w, now, StallDependency, at)
			return false
		}
	}
	in := &c.prog.Kernel.Insts[w.pc]
	rows, cols := in.Block()
	inA, inB := in.BlockLDS()
	slot := c.index(w)
	wb := &c.ext.waves[slot]
	b := block{slot: slot, pos: wb.tail % blockRing, first: now, last: now, busy: int64(u.busy), tail: max(1, int64(u.busy)/int64(rows*cols))}
	wb.done[b.pos] = cache.Never
	wb.tail++
	if !q.pending() && s.mfmaFree != cache.Never {
		q.pipeEnd = max(q.pipeEnd, s.mfmaFree)
	}
	s.mfmaFree, s.valuFree = cache.Never, now+c.spec.IssueInterval
	var service [2]int
	for src, in := range [2]bool{inA, inB} {
		if in {
			service[src] = c.blockService(w, u, src)
			b.head++
		}
	}
	for t := range max(rows, cols) {
		for src, n := range [2]int{rows, cols} {
			if t < n && service[src] > 0 {
				b.chunks++
				c.lds.PushFill(now, service[src]*c.spec.LDS.FillBytesPerCycle, tagExt|uint32(w.simd))
				c.st.LDSService += uint64(service[src])
				c.st.LDSReadBytes += blockOperandBytes
				c.st.addLDS(w.pc, 0, uint64(service[src]))
			}
		}
	}
	q.wait = append(q.wait, b)
	c.ldsNext = min(c.ldsNext, max(c.lds.Next(), now+1))
	if w.inLoop {
		c.st.LoopMFMA += uint64(u.busy)
	}
	c.st.MFMABusy += uint64(u.busy)
	if !c.exec(w, u) {
		return false
	}
	c.issued(w, u, now, now+c.spec.IssueInterval, StallDependency)
	if b.chunks == 0 {
		c.resolveBlocks(int(w.simd))
	}
	return true
}

// blockOperandBytes is a base tile's operand: 16 bytes a lane.
const blockOperandBytes = 16 * isa.Lanes

// blockService is the bank cycles of one base tile of an operand, by the phase
// table of the widest read. Base tiles lie whole rows of banks apart, so that
// all cost the same.
func (c *CU) blockService(w *wave, u *uop, src int) int {
	m := &w.lds[int(u.memIdx)+src]
	if m.seen == w.epoch+1 {
		return int(m.service)
	}
	w.st.BlockAddress(&c.prog.Kernel.Insts[w.pc], src)
	var addr [64]uint32
	for i := range addr {
		addr[i] = uint32(w.st.Access.Addr[i])
	}
	r := c.prog.table.Analyze(c.prog.wideRead, &addr, ^uint64(0))
	m.service, m.conflicts, m.seen = int32(r.Service), int32(r.Conflicts), w.epoch+1
	return int(m.service)
}

func (q *blockQueue) pending() bool { return len(q.wait) > 0 }

// operandCame takes the bank's word for one base tile of the oldest block of a
// SIMD that still waits; it arrives over the pair's return port.
func (c *CU) operandCame(si int, at int64) {
	e := c.ext
	q := &e.blocks[si]
	p := &e.port[si/2]
	*p = max(at, *p+int64((blockOperandBytes+c.spec.LDSPortBytes-1)/c.spec.LDSPortBytes))
	at = *p + int64(c.spec.LDS.LatencyCycles)
	for i := range q.wait {
		b := &q.wait[i]
		if b.chunks == 0 {
			continue
		}
		if b.head > 0 {
			b.head, b.first = b.head-1, at
		}
		b.last = at
		if b.chunks--; b.chunks == 0 {
			c.resolveBlocks(si)
		}
		return
	}
}

// resolveBlocks settles the times of the blocks whose operands are all there.
func (c *CU) resolveBlocks(si int) {
	q := &c.ext.blocks[si]
	n := 0
	for n < len(q.wait) && q.wait[n].chunks == 0 {
		b := &q.wait[n]
		n++
		start := max(b.first, q.pipeEnd)
		end := max(start+b.busy, b.last+b.tail)
		q.pipeEnd = end
		q.ends = append(q.ends, end)
		c.ext.waves[b.slot].done[b.pos] = end
	}
	if n == 0 {
		return
	}
	q.wait = append(q.wait[:0], q.wait[n:]...)
	if len(q.wait) == 0 {
		c.simds[si].mfmaFree = q.pipeEnd
	}
	c.wakeReason(StallMatrix)
}

// decodeExtension predecodes an extension.
func (p *Program) decodeExtension(s *Spec, u *uop, in *isa.Inst, c isa.Class) {
	u.category, u.idle, u.bar = catNone, int32(in.Offset), -1
	switch in.Op {
	case isa.X_SET_REGISTERS:
		u.kind = kindSetRegisters
	case isa.X_MBAR_INIT:
		u.kind, u.bar, u.idle = kindMBarInit, p.barAt(uint32(in.Offset)), int32(in.Offset1)
	case isa.X_MBAR_ARRIVE:
		u.kind, u.bar = kindMBarArrive, p.barAt(uint32(in.Offset))
	case isa.X_MBAR_WAIT:
		u.kind, u.bar = kindMBarWait, p.barAt(uint32(in.Offset))
	case isa.X_TILE_COPY:
		u.kind = kindTileCopy
		if in.Literal != isa.TileCopyCounted {
			u.bar = p.barAt(in.Literal)
		}
	case isa.X_MMA_WAIT:
		u.kind = kindBlockWait
	default:
		p.decodeMFMA(s, u, c)
		u.kind = kindBlock
		u.memIdx = int16(p.ldsOps)
		p.ldsOps += 2
	}
}

// barAt numbers the barrier objects by their LDS addresses.
func (p *Program) barAt(addr uint32) int16 {
	i := slices.Index(p.bars, addr)
	if i < 0 {
		i = len(p.bars)
		p.bars = append(p.bars, addr)
	}
	return int16(i)
}

// checkFeatures refuses a kernel that needs what the machine has not.
func (p *Program) checkFeatures(s *Spec) error {
	p.features = p.Kernel.Features()
	if missing := p.features &^ s.Features; missing != 0 {
		leaves := missing.Leaves()
		return fmt.Errorf("kernel %s uses what this machine lacks: %s must be true (--set %s=true)",
			p.Kernel.Name, strings.Join(leaves, ", "), strings.Join(leaves, "=true --set "))
	}
	if p.features != 0 && p.Source != nil {
		return fmt.Errorf("kernel %s uses instructions of machines that do not exist, which traces do not hold", p.Kernel.Name)
	}
	return nil
}

// dynamicOccupancy is NewOccupancy of a kernel that moves registers between its
// waves: a workgroup fits where its waves' start and, on every SIMD, the sum of
// what they hold afterwards fit.
func dynamicOccupancy(s *Spec, k *isa.Kernel) (Occupancy, error) {
	o, err := NewOccupancy(s, k.StartRegisters, 0, k.SGPRs, k.LDSBytes, k.Waves())
	if err != nil {
		return o, err
	}
	need := make([]int, s.SIMDs)
	for i, n := range k.WaveRegisters {
		need[i%s.SIMDs] += roundUp(n, s.VGPRGranule)
	}
	for i, n := range need {
		if n > s.VGPRsPerSIMD {
			return o, fmt.Errorf("the waves of a workgroup hold %d vector registers of SIMD %d after x_set_registers and there are %d", n, i, s.VGPRsPerSIMD)
		}
		if most := s.VGPRsPerSIMD / max(n, 1); most < o.WorkgroupsPerCU {
			o.WorkgroupsPerCU, o.Limiter = most, "vgpr"
		}
	}
	o.WavesPerSIMD = min((o.WorkgroupsPerCU*k.Waves()+s.SIMDs-1)/s.SIMDs, s.WaveSlots)
	return o, nil
}
