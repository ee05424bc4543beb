package cu

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
)

// ErrNotComputed is wrapped by the error of a load whose value steers the kernel
// but comes from a store that timing mode left out.
var ErrNotComputed = errors.New("timing mode did not compute that value")

func memKindOf(c isa.Class) uint8 {
	switch {
	case c.Atomic && c.Return:
		return uint8(cache.MemAtomicReturn)
	case c.Atomic:
		return uint8(cache.MemAtomic)
	case c.LDSDMA:
		return uint8(cache.MemLDSDMA)
	case c.Store:
		return uint8(cache.MemStore)
	}
	return uint8(cache.MemLoad)
}

// fetch makes sure that the instruction's cache line is in the wave's buffer.
// A hit costs nothing here: sequential fetch runs ahead, and a taken branch
// has paid its refetch. The next line is asked for along with a missing one.
func (c *CU) fetch(w *wave, u *uop, now int64) bool {
	addr := c.prog.Code + uint64(u.line)*uint64(c.spec.ICacheLine)
	if c.sh.icache.lookup(addr) {
		c.st.ICacheHits++
		w.line = u.line
		return true
	}
	tag := tagFetch | uint32(u.line)
	if c.fetching[u.line] == 0 {
		if retry := c.l2.Read(now, c.id, addr&^uint64(c.spec.TCP.LineBytes-1), tag); retry != 0 {
			c.stall(w, now, StallFetch, retry)
			return false
		}
		c.st.ICacheMisses++
		c.fetching[u.line] = 1
	}
	c.stall(w, now, StallFetch, cache.Never)
	c.prefetch(u.line+1, now)
	return false
}

func (c *CU) prefetch(line int32, now int64) {
	if int(line) >= len(c.fetching) || c.fetching[line] != 0 {
		return
	}
	addr := c.prog.Code + uint64(line)*uint64(c.spec.ICacheLine)
	if c.sh.icache.lookup(addr) {
		return
	}
	if c.l2.Read(now, c.id, addr&^uint64(c.spec.TCP.LineBytes-1), tagFetch|uint32(line)) == 0 {
		c.st.ICacheMisses++
		c.fetching[line] = 1
	}
}

func (c *CU) fetched(now int64, line uint32) {
	c.fetching[line] = 0
	c.sh.icache.insert(c.prog.Code + uint64(line)*uint64(c.spec.ICacheLine))
	c.wakeReason(StallFetch)
}

// ldsAccess returns bank service and conflicts of a DS instruction.
func (c *CU) ldsAccess(w *wave, u *uop) (*ldsCache, bool) {
	if c.prog.Source != nil {
		return c.playLDS(w, u)
	}
	keep := c.allLanes(w)
	if keep && w.ldsEpoch == w.epoch && w.ldsUsual[u.memIdx>>6]>>(u.memIdx&63)&1 != 0 {
		return &c.st.usual[u.memIdx], true
	}
	m := &w.lds[u.memIdx]
	if keep && m.seen == w.epoch+1 {
		return m, true
	}
	in := &c.prog.Kernel.Insts[w.pc]
	if err := isa.Address(c.prog.Kernel, in, &w.st); err != nil {
		c.fail(w, err)
		return nil, false
	}
	a := &w.st.Access
	if err := c.insideLDS(w, a, u.twoAddr); err != nil {
		c.fail(w, err)
		return nil, false
	}
	*m = c.ldsCost(u, a, 0)
	if w.log != nil {
		w.log.Address(int(w.pc), a, u.twoAddr)
	}
	if err := c.checkLDS(w, u, a); err != nil {
		c.fail(w, err)
		return nil, false
	}
	m.seen = 0
	if keep {
		m.seen = w.epoch + 1
		c.noteUsual(w, u.memIdx, m)
	}
	if c.rec != nil {
		c.rec.LDSAccess(w.pc, a, u.twoAddr, m.service, m.conflicts)
	}
	return m, true
}

// noteUsual notes that DS instruction i cost wave w what it cost the first wave of
// the die. Most do: then their waves read that cost and not each its own.
func (c *CU) noteUsual(w *wave, i int16, m *ldsCache) {
	usual := &c.st.usual[i]
	if usual.seen == 0 {
		*usual = ldsCache{seen: 1, service: m.service, conflicts: m.conflicts}
	}
	if w.ldsEpoch != w.epoch {
		w.ldsEpoch = w.epoch
		clear(w.ldsUsual)
	}
	if m.service == usual.service && m.conflicts == usual.conflicts {
		w.ldsUsual[i>>6] |= 1 << (i & 63)
	}
}

// ldsCost asks the phase table what an access at addresses moved by base costs.
func (c *CU) ldsCost(u *uop, a *isa.Access, base uint32) (m ldsCache) {
	var addr [64]uint32
	for i := range addr {
		addr[i] = base + uint32(a.Addr[i])
	}
	r := c.prog.table.Analyze(u.ldsKind, &addr, a.Lanes)
	m.service, m.conflicts = int32(r.Service), int32(r.Conflicts)
	if u.twoAddr {
		for i := range addr {
			addr[i] = base + uint32(a.Addr2[i])
		}
		r = c.prog.table.Analyze(u.ldsKind, &addr, a.Lanes)
		m.service += int32(r.Service)
		m.conflicts += int32(r.Conflicts)
	}
	return m
}

// allLanes reports whether EXEC is full: only then is what an access touched
// kept for the next time.
func (c *CU) allLanes(w *wave) bool { return !c.prog.masked || w.st.Exec() == ^uint64(0) }

// checkLDS keeps the promise that no value of the slice depends on a write
// that timing mode did not compute.
func (c *CU) checkLDS(w *wave, u *uop, a *isa.Access) error {
	if c.prog.Full || len(c.prog.Slice.Loads) == 0 || a.Lanes == 0 {
		return nil
	}
	lo, hi := 1<<30, 0
	for m := a.Lanes; m != 0; m &= m - 1 {
		x := int(a.Addr[bits.TrailingZeros64(m)])
		lo, hi = min(lo, x), max(hi, x+int(a.Bytes))
		if u.twoAddr {
			x = int(a.Addr2[bits.TrailingZeros64(m)])
			lo, hi = min(lo, x), max(hi, x+int(a.Bytes))
		}
	}
	d := &w.wg.ldsDirty
	if !u.exec {
		d[0], d[1] = min(d[0], lo), max(d[1], hi)
		w.wg.dirtyPC = int(w.pc)
		return nil
	}
	if lo < d[1] && hi > d[0] {
		k := c.prog.Kernel
		return fmt.Errorf("reads LDS that %q at pc %#x may have written, and %w: use --mode full",
			k.Insts[w.wg.dirtyPC].Text(k.CPU), k.Insts[w.wg.dirtyPC].PC, ErrNotComputed)
	}
	return nil
}

// vmemAccess fills op with the lines that the instruction touches. It returns
// how far they have moved since its addresses were last computed.
func (c *CU) vmemAccess(w *wave, u *uop, op *cache.MemOp) (moved uint64, ok bool) {
	if c.prog.Source != nil {
		return 0, c.playLines(w, op)
	}
	in := &c.prog.Kernel.Insts[w.pc]
	if in.Flags&isa.SegScratch != 0 {
		return 0, c.scratchAccess(w, u, in, op)
	}
	var m *memCache
	if u.memIdx >= 0 {
		m = &w.mem[u.memIdx]
		if !u.exec && m.valid && m.epoch == w.epoch && c.allLanes(w) && c.rebase(w, in, m, op) {
			return op.Base - m.line, true
		}
	}
	var err error
	if u.exec {
		w.st.PC = int(w.pc)
		err = isa.Exec(c.prog.Kernel, in, &w.st)
	} else {
		err = isa.Address(c.prog.Kernel, in, &w.st)
	}
	if err == nil {
		err = c.checkMemory(w, u, &w.st.Access)
		c.markDMA(w, u, in)
	}
	if err == nil && u.memKind == uint8(cache.MemLDSDMA) {
		err = c.dmaInsideLDS(w, &w.st.Access)
	}
	if err != nil {
		c.fail(w, err)
		return 0, false
	}
	if w.log != nil {
		w.log.Address(int(w.pc), &w.st.Access, false)
	}
	l := c.coalesce(&w.st.Access, op)
	if u.memKind >= uint8(cache.MemAtomic) {
		sameWord(l, &w.st.Access, op.Base, uint64(c.spec.TCP.LineBytes))
	}
	op.Lines = l
	if m != nil {
		c.remember(w, in, m, op)
	}
	return 0, true
}

// markDMA records the LDS bytes that a direct-to-LDS load writes without their
// values.
func (c *CU) markDMA(w *wave, u *uop, in *isa.Inst) {
	a := &w.st.Access
	if u.memKind != uint8(cache.MemLDSDMA) || u.exec || c.prog.Full || len(c.prog.Slice.Loads) == 0 || a.Lanes == 0 {
		return
	}
	d := &w.wg.ldsDirty
	lo := int(a.LDS)
	d[0], d[1] = min(d[0], lo), max(d[1], lo+isa.Lanes*int(a.LDSStride))
	w.wg.dirtyPC = int(w.pc)
}

// checkScalar refuses a scalar load of a buffer whose values timing mode left
// out.
func (c *CU) checkScalar(w *wave, u *uop, addr uint64) error {
	if c.prog.Full || w.st.Access.Lanes == 0 || !c.prog.Slice.Used[w.pc] {
		return nil
	}
	r, _ := c.prog.Launch.Memory.Find(addr, 1)
	return c.checkDirty(w, u, r)
}

// coalesce lists the distinct lines of an access in lane order.
func (c *CU) coalesce(a *isa.Access, op *cache.MemOp) *cache.Lines {
	mask := uint64(c.spec.TCP.LineBytes - 1)
	c.scratchAt = (c.scratchAt + 1) % len(c.scratch)
	l := &c.scratch[c.scratchAt]
	l.Offset, l.Size, l.Same = l.Offset[:0], l.Size[:0], l.Same[:0]
	op.Lanes = uint8(bits.OnesCount64(a.Lanes))
	if a.Lanes == 0 {
		return l
	}
	op.Base = ^uint64(0)
	for m := a.Lanes; m != 0; m &= m - 1 {
		op.Base = min(op.Base, a.Addr[bits.TrailingZeros64(m)]&^mask)
	}
	size := uint64(a.Bytes)
	for m := a.Lanes; m != 0; m &= m - 1 {
		x := a.Addr[bits.TrailingZeros64(m)] - op.Base
		first, last := x&^mask, (x+size-1)&^mask
		if first == last {
			addLine(l, first, int(size), int(mask)+1)
			continue
		}
		addLine(l, first, int(last-x), int(mask)+1)
		addLine(l, last, int(x+size-last), int(mask)+1)
	}
	return l
}

func addLine(l *cache.Lines, off uint64, n, limit int) {
	for i := len(l.Offset) - 1; i >= 0; i-- {
		if l.Offset[i] == off {
			l.Size[i] = uint8(min(int(l.Size[i])+n, limit))
			return
		}
	}
	l.Offset = append(l.Offset, off)
	l.Size = append(l.Size, uint8(n))
}

// scalarBase is the part of a memory address that scalar registers form, and
// whether the rest is per-lane offsets only.
func scalarBase(in *isa.Inst, st *isa.State) (base uint64, ok bool) {
	switch in.Enc {
	case isa.MUBUF:
		r := in.Src[1].Reg.Index()
		w1 := st.SGPR[r+1]
		if in.Flags&isa.Idxen != 0 || w1>>31 != 0 || st.SGPR[r+3]>>23&1 != 0 {
			return 0, false
		}
		base = uint64(st.SGPR[r]) | uint64(w1&0xffff)<<32
		return base + uint64(scalarValue(in.Src[2], st)) + uint64(in.Offset), true
	case isa.FLAT:
		if in.Flags&isa.SegGlobal == 0 {
			return 0, false
		}
		if !in.Src[1].Present() {
			return 0, true
		}
		r := in.Src[1].Reg.Index()
		return uint64(st.SGPR[r]) | uint64(st.SGPR[r+1])<<32, true
	}
	return 0, false
}

func scalarValue(o isa.Operand, st *isa.State) uint32 {
	switch {
	case !o.Present():
		return 0
	case o.Reg < isa.Const0:
		return st.SGPR[o.Reg]
	case o.Reg <= isa.Const0+64:
		return uint32(o.Reg - isa.Const0)
	}
	return uint32(-int32(o.Reg - 192))
}

// remember keeps the pattern of an access for the next time around the loop.
func (c *CU) remember(w *wave, in *isa.Inst, m *memCache, op *cache.MemOp) {
	base, ok := scalarBase(in, &w.st)
	a := &w.st.Access
	m.valid = ok && a.Lanes == w.st.Exec() && a.Lanes != 0 && c.allLanes(w)
	if !m.valid {
		return
	}
	op.Lines = c.st.patterns.intern(op.Lines)
	m.epoch, m.base, m.line, m.lanes, m.lines = w.epoch, base, op.Base, op.Lanes, op.Lines
	r, _ := c.prog.Launch.Memory.Find(a.Addr[bits.TrailingZeros64(a.Lanes)], 1)
	m.lo, m.hi = r.Base, r.Base+r.Size
	m.maxOff = 0
	for l := a.Lanes; l != 0; l &= l - 1 {
		m.maxOff = max(m.maxOff, a.Addr[bits.TrailingZeros64(l)]-base+uint64(a.Bytes))
	}
}

// rebase reuses a remembered pattern when only the scalar base moved, by a
// multiple of the line size, and every lane stays in the buffer's range.
func (c *CU) rebase(w *wave, in *isa.Inst, m *memCache, op *cache.MemOp) bool {
	base, ok := scalarBase(in, &w.st)
	d := base - m.base
	if !ok || d&uint64(c.spec.TCP.LineBytes-1) != 0 {
		return false
	}
	// Still inside the region that was checked, lowest line to highest byte.
	if m.line+d < m.lo || base+m.maxOff > m.hi {
		return false
	}
	if in.Enc == isa.MUBUF {
		r := in.Src[1].Reg.Index()
		if uint64(scalarValue(in.Src[2], &w.st))+uint64(in.Offset)+m.maxOff > uint64(w.st.SGPR[r+2]) {
			return false
		}
	}
	op.Base, op.Lanes, op.Lines = m.line+d, m.lanes, m.lines
	return true
}

// dirtyRanges records which regions hold values that timing mode did not
// compute.
type dirtyRanges struct {
	mu sync.Mutex
	by map[uint64]int // region base to the index of a store
}

// checkMemory records stores of uncomputed values and refuses loads of the
// slice that may read one.
func (c *CU) checkMemory(w *wave, u *uop, a *isa.Access) error {
	if c.prog.Full || a.Lanes == 0 {
		return nil
	}
	mem := c.prog.Launch.Memory
	var r isa.Region // where the lane before was
	for l := a.Lanes; l != 0; l &= l - 1 {
		x := a.Addr[bits.TrailingZeros64(l)]
		if x-r.Base < r.Size && uint64(a.Bytes) <= r.Size-(x-r.Base) {
			continue
		}
		if isa.InAperture(x) {
			return fmt.Errorf("reaches LDS or scratch by a flat address, and %w: use --mode full", ErrNotComputed)
		}
		if err := mem.Check(x, uint64(a.Bytes)); err != nil {
			return fmt.Errorf("lane %d: %w", bits.TrailingZeros64(l), err)
		}
		r, _ = mem.Find(x, uint64(a.Bytes))
		if u.exec || u.memKind >= uint8(cache.MemStore) {
			if err := c.checkDirty(w, u, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *CU) checkDirty(w *wave, u *uop, r isa.Region) error {
	if !u.exec && r.Base == c.dirtyBase {
		return nil
	}
	d := &c.prog.dirty
	d.mu.Lock()
	defer d.mu.Unlock()
	if !u.exec {
		if d.by == nil {
			d.by = map[uint64]int{}
		}
		if _, ok := d.by[r.Base]; !ok {
			d.by[r.Base] = int(w.pc)
		}
		c.dirtyBase = r.Base
		return nil
	}
	if i, ok := d.by[r.Base]; ok {
		k := c.prog.Kernel
		return fmt.Errorf("reads buffer %s that %q at pc %#x writes, and %w: use --mode full",
			r.Name, k.Insts[i].Text(k.CPU), k.Insts[i].PC, ErrNotComputed)
	}
	return nil
}

// patterns keeps one copy of every line pattern that loops use: waves and CUs
// of a die share them, which keeps them in the host's caches.
type patterns struct {
	by    map[uint64][]*cache.Lines
	count int
}

// maxPatterns bounds the table for kernels whose every access is different;
// beyond it a pattern is copied instead.
const maxPatterns = 1 << 14

func (p *patterns) intern(l *cache.Lines) *cache.Lines {
	h := uint64(14695981039346656037)
	for i, o := range l.Offset {
		h = (h ^ o ^ uint64(l.Size[i])<<56) * 1099511628211
	}
	for _, x := range p.by[h] {
		if slices.Equal(x.Offset, l.Offset) && slices.Equal(x.Size, l.Size) && slices.Equal(x.Same, l.Same) {
			return x
		}
	}
	x := &cache.Lines{Offset: slices.Clone(l.Offset), Size: slices.Clone(l.Size), Same: slices.Clone(l.Same)}
	if p.count < maxPatterns {
		if p.by == nil {
			p.by = map[uint64][]*cache.Lines{}
		}
		p.by[h] = append(p.by[h], x)
		p.count++
	}
	return x
}
