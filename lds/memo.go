package lds

// Memo remembers results of Table.Analyze. Kernels read the same address
// vectors again and again, from loop to loop and from workgroup to workgroup;
// comparing a vector with a remembered one is several times faster than
// analysing it. Results are exactly those of Analyze. A Memo is for one
// goroutine.
type Memo struct {
	table   *Table
	entries []memoEntry
}

type memoEntry struct {
	base   [Lanes]uint32
	lanes  uint64
	offset uint32
	kind   Kind
	valid  bool
	res    Result
}

// offsetPeriod is the distance by which a whole access can be moved without
// changing what collides: a multiple of every bank row and alignment.
const offsetPeriod = 256

// NewMemo returns a memo of 2^logEntries results (about 320 bytes each).
func NewMemo(t *Table, logEntries int) *Memo {
	return &Memo{table: t, entries: make([]memoEntry, 1<<logEntries)}
}

// Table is the table that the memo stands before.
func (m *Memo) Table() *Table { return m.table }

// Analyze is Table.Analyze for the addresses base[lane] + offset. Inactive
// lanes of base may hold anything, but only an equal vector is recognised.
func (m *Memo) Analyze(k Kind, base *[Lanes]uint32, offset uint32, lanes uint64) Result {
	offset &= offsetPeriod - 1
	h := uint64(base[0])*0x9e3779b97f4a7c15 ^ uint64(base[1])*0xc2b2ae3d27d4eb4f ^
		uint64(base[13])*0x165667b19e3779f9 ^ uint64(base[32])*0xd6e8feb86659fd93 ^
		uint64(base[63])*0xff51afd7ed558ccd ^ lanes ^ uint64(offset)<<32 ^ uint64(k)<<48
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	e := &m.entries[int(h>>40)&(len(m.entries)-1)]
	if e.valid && e.kind == k && e.offset == offset && e.lanes == lanes && e.base == *base {
		return e.res
	}
	e.base = *base
	e.kind, e.offset, e.lanes, e.valid = k, offset, lanes, true
	if offset == 0 {
		e.res = m.table.Analyze(k, base, lanes)
		return e.res
	}
	addr := *base
	for i := range addr {
		addr[i] += offset
	}
	e.res = m.table.Analyze(k, &addr, lanes)
	return e.res
}
