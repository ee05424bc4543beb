package lds

import (
	"fmt"
	"math/bits"
)

// Result is what one access costs the banks.
type Result struct {
	// Service is the time in cycles that the access holds the banks.
	Service int
	// Conflicts is what rocprof's SQ_LDS_BANK_CONFLICT counts: over all phases,
	// the most distinct units in one bank less one.
	Conflicts int
	// Unaligned says that an address was below natural alignment, so that the
	// access was split lane by lane. PerPhase is then all zero.
	Unaligned bool
	// Phases is the number of phases; PerPhase[i] the cycles that phase i took,
	// 0 when none of its lanes was active.
	Phases   uint8
	PerPhase [maxPhases]uint8
}

// Add returns the sum of two accesses of one instruction, as the two addresses
// of ds_read2 are. PerPhase adds phase by phase.
func (r Result) Add(s Result) Result {
	r.Service += s.Service
	r.Conflicts += s.Conflicts
	r.Unaligned = r.Unaligned || s.Unaligned
	r.Phases = max(r.Phases, s.Phases)
	for i := range r.PerPhase {
		r.PerPhase[i] += s.PerPhase[i]
	}
	return r
}

// Analyze returns the bank time and conflicts of an access of kind k by the
// active lanes of a wave to the byte addresses addr. It allocates nothing.
//
// A phase takes as many cycles as the most distinct aligned units that fall in
// one bank; lanes that ask for the same unit share it, except in an atomic,
// where each lane is an operation of its own (inferred). A phase without an
// active lane takes no time, by the same rule; no one published a measurement
// with a partial EXEC that would tell it from one idle cycle. An access without
// any active lane still takes one cycle as it passes.
//
// Below natural alignment the access is split and takes one cycle per active
// lane without counting conflicts: the measured 64 cycles per wave, and the
// zero counter at unaligned offsets in the bank sweeps of HipKittens.
//
// Analyze panics when the architecture has no accesses of kind k: decoding
// refuses such an instruction.
func (t *Table) Analyze(k Kind, addr *[Lanes]uint32, lanes uint64) Result {
	p := &t.plans[k]
	if p.phases == 0 {
		panic(fmt.Sprintf("lds: %s has no %s accesses", t.arch, k))
	}
	res := Result{Phases: uint8(p.phases)}
	if lanes == 0 {
		res.Service = 1
		return res
	}
	if p.crossbar {
		for i := range p.phases {
			if p.lanes[i]&lanes != 0 {
				res.PerPhase[i] = 1
				res.Service++
			}
		}
		return res
	}
	if p.alignMask != 0 && orActive(addr, lanes)&p.alignMask != 0 {
		res.Unaligned = true
		res.Service = (t.UnalignedServiceCycles*bits.OnesCount64(lanes) + Lanes - 1) / Lanes
		return res
	}
	start := uint8(0)
	for i := range p.phases {
		end := p.end[i]
		if p.lanes[i]&lanes != 0 {
			d := p.degree(addr, lanes, start, end)
			res.PerPhase[i] = uint8(d)
			res.Service += d
			res.Conflicts += d - 1
		}
		start = end
	}
	return res
}

// Analyze2 is Analyze for an instruction with two addresses per lane.
func (t *Table) Analyze2(k Kind, addr0, addr1 *[Lanes]uint32, lanes uint64) Result {
	return t.Analyze(k, addr0, lanes).Add(t.Analyze(k, addr1, lanes))
}

// orActive returns the OR of the active lanes' addresses.
func orActive(addr *[Lanes]uint32, lanes uint64) uint32 {
	var or uint32
	if lanes == ^uint64(0) {
		for _, a := range addr {
			or |= a
		}
		return or
	}
	for m := lanes; m != 0; m &= m - 1 {
		or |= addr[bits.TrailingZeros64(m)&(Lanes-1)]
	}
	return or
}

// degree returns the cycles of the phase order[start:end]: the most units in one
// bank group. It needs one bit per group as long as no group is hit twice.
func (p *plan) degree(addr *[Lanes]uint32, lanes uint64, start, end uint8) int {
	var seen, twice uint64
	shift, mask := p.shift&31, p.groupMask
	if lanes == ^uint64(0) {
		for j := start; j < end; j++ {
			bit := uint64(1) << (addr[p.order[j&63]&63] >> shift & mask & 63)
			twice |= seen & bit
			seen |= bit
		}
	} else {
		for j := start; j < end; j++ {
			lane := p.order[j&63] & 63
			bit := (lanes >> lane & 1) << (addr[lane] >> shift & mask & 63)
			twice |= seen & bit
			seen |= bit
		}
	}
	switch {
	case twice == 0:
		return 1
	case end-start <= 16:
		return p.rounds(addr, lanes, start, end)
	}
	return p.contended(addr, lanes, start, end)
}

// rounds counts by serving: each round takes one unit per bank group, with all
// lanes that want it, and the lanes left over go round again. It is the faster
// way for a few lanes.
func (p *plan) rounds(addr *[Lanes]uint32, lanes uint64, start, end uint8) int {
	var left, taken [16]uint32
	shift, mask := p.shift&31, p.groupMask
	n := 0
	for j := start; j < end; j++ {
		if lane := p.order[j&63] & 63; lanes>>lane&1 != 0 {
			left[n&15] = addr[lane] >> shift
			n++
		}
	}
	r := 0
	for ; n > 0; r++ {
		var seen uint64
		rest := 0
		for i := range n {
			u := left[i&15]
			g := u & mask & 15
			if seen>>g&1 == 0 {
				seen |= 1 << g
				taken[g] = u
			} else if taken[g] != u || p.serial {
				left[rest&15] = u
				rest++
			}
		}
		n = rest
	}
	return r
}

// contended counts distinct units per bank group in one pass. Units of a group
// are chained; a 64-bit filter over their rows spares the walk when a row is
// new, so regular strides of any degree cost the same.
func (p *plan) contended(addr *[Lanes]uint32, lanes uint64, start, end uint8) int {
	var (
		filter      [Lanes]uint64 // per group: rows seen, modulo 64
		head, count [Lanes]uint8  // per group: 1 + newest entry; entries
		unit        [Lanes]uint32 // entries
		next        [Lanes]uint8  // per entry: 1 + older entry of the group
		n           uint8
		most        uint8
	)
	shift, mask := p.shift&31, p.groupMask
	rowShift := bits.OnesCount32(mask) & 31
	for j := start; j < end; j++ {
		lane := p.order[j&63] & 63
		if lanes>>lane&1 == 0 {
			continue
		}
		u := addr[lane] >> shift
		g := u & mask & 63
		row := uint64(1) << (u >> rowShift & 63)
		if filter[g]&row != 0 && !p.serial && chained(&unit, &next, head[g], u) {
			continue
		}
		filter[g] |= row
		unit[n&63] = u
		next[n&63] = head[g]
		n++
		head[g] = n
		count[g]++
		most = max(most, count[g])
	}
	return int(most)
}

func chained(unit *[Lanes]uint32, next *[Lanes]uint8, at uint8, u uint32) bool {
	for at != 0 {
		i := (at - 1) & 63
		if unit[i] == u {
			return true
		}
		at = next[i]
	}
	return false
}
