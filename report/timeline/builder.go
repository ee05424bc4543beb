package timeline

import (
	"slices"
	"sync/atomic"
)

// Budget bounds what all builders of a recording hold together, in bytes.
type Budget struct {
	Limit int64
	// Over is called once, from a builder's thread, when the limit is passed.
	Over func()

	used atomic.Int64
	full atomic.Bool
}

// Used is how many bytes are held.
func (b *Budget) Used() int64 { return b.used.Load() }

// Full reports whether the limit was passed; the recording then lacks events.
func (b *Budget) Full() bool { return b.full.Load() }

func (b *Budget) take(n int64) {
	if b.used.Add(n) > b.Limit && b.full.CompareAndSwap(false, true) && b.Over != nil {
		b.Over()
	}
}

// budgetStep is how many bytes a lane may grow before it asks the budget.
const budgetStep = 1 << 14

// Rings of outstanding operations: the counters of gfx9 hold 63 and 15.
const ringSize = 64

// Builder takes the events of one CU while it runs and cuts them to the window.
type Builder struct {
	xcd, cu  int
	from, to int64
	interval int64
	slots    int // of a SIMD
	budget   *Budget

	lanes    []laneBuilder // by simd*slots+slot
	banks    []byte
	lastBank BankUse
	releases []byte
	lastRel  Release
	access   map[int32]*LDSAccess
	spent    int
}

type laneBuilder struct {
	enc    laneEncoder
	waves  []Wave
	ops    []MemoryOp
	rings  [2][ringSize]int32 // counter, pos: index of ops plus 1
	memory []byte
	last   MemoryOp
	spent  int
}

// NewBuilder makes a builder of CU cu of XCD xcd with simds*slots wave slots.
func NewBuilder(xcd, cu, simds, slots, interval int, w Window, b *Budget) *Builder {
	return &Builder{xcd: xcd, cu: cu, from: w.From, to: w.To, interval: int64(interval), slots: slots, budget: b,
		lanes: make([]laneBuilder, simds*slots), access: map[int32]*LDSAccess{}}
}

// Wave starts a wave in a slot.
func (b *Builder) Wave(start int64, slot, group, wave int) {
	l := &b.lanes[slot]
	l.waves = append(l.waves, Wave{Group: group, Number: wave, Start: start})
}

// Ended ends the wave of a slot.
func (b *Builder) Ended(end int64, slot int) {
	l := &b.lanes[slot]
	if n := len(l.waves); n > 0 {
		l.waves[n-1].End = end
		if end <= b.from {
			l.waves = l.waves[:n-1] // gone before the window
		}
	}
}

// Segment adds an issue or a stall.
func (b *Builder) Segment(from, to int64, slot int, k Kind, inst int32) {
	if to <= b.from || from >= b.to || b.budget.full.Load() {
		return
	}
	l := &b.lanes[slot]
	if k != Issue {
		from, to = max(from, b.from), min(to, b.to)
	} else if from < b.from {
		return
	}
	l.enc.segment(from, to, b.interval, k, inst)
	if n := len(l.enc.buf); n-l.spent > budgetStep {
		b.budget.take(int64(n - l.spent))
		l.spent = n
	}
}

// MemoryIssue adds an operation.
func (b *Builder) MemoryIssue(now int64, slot int, lgkm bool, pos uint32, inst int32) {
	l := &b.lanes[slot]
	c := 0
	if lgkm {
		c = 1
	}
	l.rings[c][pos%ringSize] = 0
	if now < b.from || now >= b.to || b.budget.full.Load() {
		return
	}
	l.ops = append(l.ops, MemoryOp{Issued: now, LGKM: lgkm, Inst: inst})
	l.rings[c][pos%ringSize] = int32(len(l.ops))
	if len(l.ops) > 4*ringSize {
		b.flush(l, 2*ringSize)
	}
}

// flush encodes the operations but for the last keep, which may not be done.
func (b *Builder) flush(l *laneBuilder, keep int) {
	n := len(l.ops) - keep
	before := len(l.memory)
	for _, m := range l.ops[:n] {
		l.memory = appendMemoryOp(l.memory, &l.last, m)
	}
	l.ops = l.ops[:copy(l.ops, l.ops[n:])]
	for c := range l.rings {
		for i := range l.rings[c] {
			l.rings[c][i] = max(l.rings[c][i]-int32(n), 0)
		}
	}
	b.budget.take(int64(len(l.memory) - before))
}

// op finds an outstanding operation.
func (b *Builder) op(slot int, lgkm bool, pos uint32) *MemoryOp {
	l := &b.lanes[slot]
	c := 0
	if lgkm {
		c = 1
	}
	i := l.rings[c][pos%ringSize]
	if i == 0 {
		return nil
	}
	return &l.ops[i-1]
}

// MemoryDone completes an operation.
func (b *Builder) MemoryDone(at int64, slot int, lgkm bool, pos uint32) {
	if m := b.op(slot, lgkm, pos); m != nil {
		m.Done = at
	}
}

// Bank adds a use of the LDS banks by an outstanding operation.
func (b *Builder) Bank(at int64, cycles int32, slot int, fill bool, pos uint32) {
	if at < b.from || at >= b.to || b.budget.full.Load() {
		return
	}
	u := BankUse{From: at, To: at + int64(cycles), Slot: slot, Fill: fill, Inst: -1}
	if m := b.op(slot, !fill, pos); m != nil {
		u.Inst = m.Inst
	}
	b.banks = appendBankUse(b.banks, &b.lastBank, u)
	b.grown()
}

// Release adds a wave that a barrier let go.
func (b *Builder) Release(arrived, released int64, last, woken int) {
	if arrived < b.from || arrived >= b.to || b.budget.full.Load() {
		return
	}
	b.releases = appendRelease(b.releases, &b.lastRel, Release{arrived, released, last, woken})
	b.grown()
}

func (b *Builder) grown() {
	if n := len(b.banks) + len(b.releases); n-b.spent > budgetStep {
		b.budget.take(int64(n - b.spent))
		b.spent = n
	}
}

// Access returns the place for the addresses of a DS instruction's first
// execution, nil when it has been seen.
func (b *Builder) Access(inst int32) *LDSAccess {
	if b.access[inst] != nil {
		return nil
	}
	a := &LDSAccess{Inst: inst}
	b.access[inst] = a
	return a
}

// Accesses returns what Access has collected, in order of instruction.
func (b *Builder) Accesses() []LDSAccess {
	out := make([]LDSAccess, 0, len(b.access))
	for _, a := range b.access {
		out = append(out, *a)
	}
	slices.SortFunc(out, func(x, y LDSAccess) int { return int(x.Inst) - int(y.Inst) })
	return out
}

// Done returns the recorded CU. The builder must not be used after it.
func (b *Builder) Done() CU {
	c := CU{XCD: b.xcd, ID: b.cu, Banks: b.banks, Barriers: b.releases}
	for i := range b.lanes {
		l := &b.lanes[i]
		l.waves = slices.DeleteFunc(l.waves, func(w Wave) bool { return w.Start >= b.to })
		if len(l.waves) == 0 && len(l.enc.buf) == 0 {
			continue
		}
		b.flush(l, 0)
		c.Lanes = append(c.Lanes, Lane{SIMD: i / b.slots, Slot: i % b.slots, Waves: l.waves, Segments: l.enc.buf, Memory: l.memory})
	}
	return c
}
