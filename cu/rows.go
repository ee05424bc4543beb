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

// add adds d to a counter of a row, and its upper half, if it has come to one, to
// the total.
func add(n *uint32, d uint64, total *uint64) {
	sum := uint64(*n) + d
	*n = uint32(sum)
	if sum > math.MaxUint32 {
		*total += sum &^ math.MaxUint32
	}
}

func (s *Stats) addHit(pc int32) { add(&s.rows[pc].hits, 1, &s.Inst[pc].Hits) }

func (s *Stats) addStall(pc int32, r StallReason, cycles uint64) {
	add(&s.rows[pc].stall[r], cycles, &s.Inst[pc].Stall[r])
}

func (s *Stats) addConflicts(pc int32, n uint64) {
	add(&s.rows[pc].conflicts, n, &s.Inst[pc].Conflicts)
}

func (s *Stats) addService(pc int32, n uint64) { add(&s.rows[pc].service, n, &s.Inst[pc].Service) }

func (s *Stats) addLines(pc int32, n uint64) { add(&s.rows[pc].lines, n, &s.Inst[pc].Lines) }

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
