package cu

import (
	"fmt"
	"math/bits"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
)

// Place is where a wave runs.
type Place struct {
	XCC, CU, SIMD, Slot int
}

// Logger takes down the dynamic streams of the waves of a CU: all that a Source
// must give back for the same cycles. It is called as the waves issue and must
// not change anything.
type Logger interface {
	// Wave begins the stream of a wave that starts at an instruction with an EXEC
	// mask.
	Wave(wg, inWG, start int, exec uint64) WaveLog
}

// WaveLog takes down one wave.
type WaveLog interface {
	// Jump says that instruction from was followed by to and not by its neighbour.
	Jump(from, to int)
	// Exec is the EXEC mask that an instruction left which may change it.
	Exec(inst int, mask uint64)
	// Address is what a memory instruction is about to access, with second
	// addresses or without. It may be told again before the instruction issues.
	Address(inst int, a *isa.Access, two bool)
	// Access says that the instruction issued, with the addresses of its last
	// Address, moved by a distance.
	Access(inst int, moved uint64)
	// End says that the wave ended after an instruction.
	End(inst int)
}

// Source feeds the waves of a CU from recorded streams instead of from executed
// instructions.
type Source interface {
	// Wave opens the stream of a wave; it is nil when there is none, and then the
	// workgroup runs without the wave.
	Wave(wg, inWG int, at Place) (WaveSource, error)
}

// WaveSource is one wave's stream.
type WaveSource interface {
	// Start is the first instruction.
	Start() int
	// Jump is the next jump; from is -1 when none is left.
	Jump() (from, to int, err error)
	// Accesses is the next run of accesses of a memory instruction.
	Accesses(inst int) (AccessRun, error)
}

// Pattern is how lanes lie around the base of an access. Addresses of Access are
// distances from the base.
type Pattern struct {
	ID int // names an equal pattern of the same launch; -1 when none does
	isa.Access
}

// AccessRun is Count accesses of one pattern whose base moves by Step.
type AccessRun struct {
	Pattern    *Pattern
	Base, Step uint64
	Count      uint64
}

// playback is a replayed wave's place in its stream.
type playback struct {
	src      WaveSource
	from, to int32 // the next jump; from is -1 when none is left
	cur      []playCursor
}

// playCursor is the run that a memory instruction is in.
type playCursor struct {
	left       uint64
	base, step uint64
	pat        *Pattern
	align      uint64       // of the base that lines is for
	lines      *cache.Lines // nil: not resolved
	rel        uint64       // first line from the aligned base
	cost       ldsCache
	costBase   uint64
}

// patternKey names what was worked out for a pattern: the lines of a base at
// an alignment, or the cost of a DS instruction.
type patternKey struct {
	id     int
	kind   lds.Kind
	align  uint64
	atomic bool
}

type patternLines struct {
	lines *cache.Lines
	rel   uint64
}

// replayed are results that replayed waves of a die share.
type replayed struct {
	lines map[patternKey]patternLines
	costs map[patternKey]ldsCache
}

// maxReplayed bounds the tables of replayed; beyond it results are worked out
// anew.
const maxReplayed = 1 << 15

// ldsPeriod is a distance by which DS accesses can be moved without changing
// what collides: a multiple of the banks' row and of every access's alignment.
const ldsPeriod = 4096

// SetLogger makes the CU take down the streams of its waves.
func (c *CU) SetLogger(l Logger) { c.logger = l }

// startReplay begins the recorded stream of a wave; false means that the trace
// does not have the wave.
func (c *CU) startReplay(w *wave, g *workgroup, i int) (bool, error) {
	src, err := c.prog.Source.Wave(g.id, i, Place{XCC: c.xcc, CU: c.id, SIMD: int(w.simd), Slot: int(w.slot)})
	if err != nil || src == nil {
		return false, err
	}
	if len(w.play.cur) != c.prog.replaySlots {
		w.play.cur = make([]playCursor, c.prog.replaySlots)
	}
	clear(w.play.cur)
	w.play.src = src
	w.pc = int32(src.Start())
	w.blame = w.pc
	return true, c.nextJump(w)
}

func (c *CU) nextJump(w *wave) error {
	from, to, err := w.play.src.Jump()
	w.play.from, w.play.to = int32(from), int32(to)
	return err
}

// follow moves a replayed wave on after it has issued u, the instruction before
// w.pc.
func (c *CU) follow(w *wave, u *uop) {
	if w.pc-1 != w.play.from {
		if int(w.pc) >= len(c.prog.uops) && u.kind != kindEnd {
			w.pc--
			c.fail(w, fmt.Errorf("the trace goes past the end of the program"))
		}
		return
	}
	w.pc = w.play.to
	if c.prog.uops[w.pc].line != w.line {
		w.line = -1
	}
	if err := c.nextJump(w); err != nil {
		c.fail(w, err)
	}
}

// playNext is the base of an instruction's next access.
func (c *CU) playNext(w *wave, p *playCursor) (uint64, error) {
	if p.left == 0 {
		r, err := w.play.src.Accesses(int(w.pc))
		if err != nil {
			return 0, err
		}
		if r.Pattern != p.pat {
			p.pat, p.lines = r.Pattern, nil
			p.cost.seen = 0
		}
		p.left, p.base, p.step = r.Count, r.Base, r.Step
	}
	return p.base, nil
}

// taken moves past the access that playNext gave.
func (p *playCursor) taken() {
	p.left--
	p.base += p.step
}

// playLines fills op with the lines of the next recorded access.
func (c *CU) playLines(w *wave, op *cache.MemOp) bool {
	p := &w.play.cur[c.prog.slots[w.pc]]
	base, err := c.playNext(w, p)
	if err != nil {
		c.fail(w, err)
		return false
	}
	mask := uint64(c.spec.TCP.LineBytes - 1)
	if p.lines == nil || p.align != base&mask {
		p.align = base & mask
		p.lines, p.rel = c.patternLines(p.pat, p.align, op, c.prog.uops[w.pc].memKind >= uint8(cache.MemAtomic))
	}
	op.Base, op.Lines = base&^mask+p.rel, p.lines
	op.Lanes = uint8(bits.OnesCount64(p.pat.Lanes))
	if p.pat.ID < 0 {
		p.lines = nil // that was scratch space
	}
	return true
}

// patternLines works out the lines of a pattern whose base has an alignment.
func (c *CU) patternLines(pat *Pattern, align uint64, op *cache.MemOp, atomic bool) (*cache.Lines, uint64) {
	key := patternKey{id: pat.ID, align: align, atomic: atomic}
	if l, ok := c.st.replayed.lines[key]; ok && pat.ID >= 0 {
		return l.lines, l.rel
	}
	// Far from zero, so that lanes before the base do not wrap around.
	const far = 1 << 62
	a := &c.playAccess
	a.Lanes, a.Bytes = pat.Lanes, pat.Bytes
	for m := pat.Lanes; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		a.Addr[i] = far + align + pat.Addr[i]
	}
	op.Base = far
	l := c.coalesce(a, op)
	if atomic {
		sameWord(l, a, op.Base, uint64(c.spec.TCP.LineBytes))
	}
	rel := op.Base - far
	if pat.ID < 0 {
		return l, rel
	}
	l = c.st.patterns.intern(l)
	if len(c.st.replayed.lines) < maxReplayed {
		if c.st.replayed.lines == nil {
			c.st.replayed.lines = map[patternKey]patternLines{}
		}
		c.st.replayed.lines[key] = patternLines{l, rel}
	}
	return l, rel
}

// playLDS is the cost of the next recorded access of a DS instruction.
func (c *CU) playLDS(w *wave, u *uop) (*ldsCache, bool) {
	p := &w.play.cur[c.prog.slots[w.pc]]
	base, err := c.playNext(w, p)
	if err != nil {
		c.fail(w, err)
		return nil, false
	}
	if p.cost.seen != 0 && p.costBase == base {
		return &p.cost, true
	}
	p.costBase = base
	key := patternKey{id: p.pat.ID, kind: u.ldsKind, align: base % ldsPeriod}
	if m, ok := c.st.replayed.costs[key]; ok && p.pat.ID >= 0 {
		p.cost = m
		c.showLDS(w, u, p, base)
		return &p.cost, true
	}
	p.cost = c.ldsCost(u, &p.pat.Access, uint32(base))
	p.cost.seen = 1
	c.showLDS(w, u, p, base)
	if p.pat.ID >= 0 && len(c.st.replayed.costs) < maxReplayed {
		if c.st.replayed.costs == nil {
			c.st.replayed.costs = map[patternKey]ldsCache{}
		}
		c.st.replayed.costs[key] = p.cost
	}
	return &p.cost, true
}

// showLDS shows the recorder the addresses of a replayed DS access.
func (c *CU) showLDS(w *wave, u *uop, p *playCursor, base uint64) {
	if c.rec == nil {
		return
	}
	a := &c.playAccess
	*a = p.pat.Access
	for i := range a.Addr {
		a.Addr[i] += base
		a.Addr2[i] += base
	}
	c.rec.LDSAccess(w.pc, a, u.twoAddr, p.cost.service, p.cost.conflicts)
}

// scalarAddress is the address of the scalar load at w.pc, and whether it
// accesses memory at all.
func (c *CU) scalarAddress(w *wave, u *uop) (addr uint64, any, ok bool) {
	if c.prog.Source != nil {
		p := &w.play.cur[c.prog.slots[w.pc]]
		base, err := c.playNext(w, p)
		if err != nil {
			c.fail(w, err)
			return 0, false, false
		}
		return base, p.pat.Lanes != 0, true
	}
	if err := isa.Address(c.prog.Kernel, &c.prog.Kernel.Insts[w.pc], &w.st); err != nil {
		c.fail(w, err)
		return 0, false, false
	}
	addr = w.st.Access.Addr[0]
	if err := c.checkScalar(w, u, addr); err != nil {
		c.fail(w, err)
		return 0, false, false
	}
	if w.log != nil {
		w.log.Address(int(w.pc), &w.st.Access, false)
	}
	return addr, w.st.Access.Lanes != 0, true
}

// accessed tells the logger, or the replayed stream, that the memory
// instruction at w.pc issues.
func (c *CU) accessed(w *wave, moved uint64) {
	if w.log != nil {
		w.log.Access(int(w.pc), moved)
	}
	if c.prog.Source != nil {
		w.play.cur[c.prog.slots[w.pc]].taken()
	}
}

// Slot numbers the memory instructions of a program from 0; it is -1 for others.
func (p *Program) Slot(inst int) int { return int(p.slots[inst]) }

// Slots is the number of memory instructions.
func (p *Program) Slots() int { return p.replaySlots }
