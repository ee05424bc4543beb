package cu

import "math"

// row is what a static instruction has cost since the statistics were settled. It
// is one line of the host's cache, where InstStats is two or three: an issue or a
// stall writes one. What does not fit goes to InstStats at once.
type row struct {
	hits      uint32
	stall     [NumStalls]uint32
	conflicts uint32
	service   uint32
	lines     uint32
	_         uint32
}

// add adds d to a counter of a row and returns the upper half of the sum, if it has
// come to one: it goes to the total.
func add(n *uint32, d uint64) uint64 {
	sum := uint64(*n) + d
	*n = uint32(sum)
	return sum &^ math.MaxUint32
}

func (s *Stats) addHit(pc int32) {
	if r := &s.rows[pc]; r.hits < math.MaxUint32 {
		r.hits++
		return
	}
	s.Inst[pc].Hits++
}

func (s *Stats) addStall(pc int32, r StallReason, cycles uint64) {
	if up := add(&s.rows[pc].stall[r], cycles); up != 0 {
		s.Inst[pc].Stall[r] += up
	}
}

func (s *Stats) addLDS(pc int32, conflicts, service uint64) {
	r := &s.rows[pc]
	if up := add(&r.conflicts, conflicts); up != 0 {
		s.Inst[pc].Conflicts += up
	}
	if up := add(&r.service, service); up != 0 {
		s.Inst[pc].Service += up
	}
}

func (s *Stats) addLines(pc int32, n uint64) {
	if up := add(&s.rows[pc].lines, n); up != 0 {
		s.Inst[pc].Lines += up
	}
}

// settle brings the rows into Inst. Every issue takes one slot.
func (s *Stats) settle(slot uint64) {
	for i := range s.rows {
		r, in := &s.rows[i], &s.Inst[i]
		if *r != (row{}) {
			in.Hits += uint64(r.hits)
			for k, n := range r.stall {
				in.Stall[k] += uint64(n)
			}
			in.Conflicts += uint64(r.conflicts)
			in.Service += uint64(r.service)
			in.Lines += uint64(r.lines)
			*r = row{}
		}
		in.Issued = in.Hits * slot
	}
	for u, n := range s.IssuedCount {
		s.Issued[u] = n * slot
	}
}
