package sim

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads"
)

// LDSSolution is what the phase and bank solvers find of one LDS instruction from
// conflict counts alone.
type LDSSolution struct {
	Op     string   `json:"op"`
	Banks  int      `json:"banks"`
	Phases []uint64 `json:"phases"` // lane masks, by their lowest lane
}

// maxSolverOffset bounds the sweep of the bank solver, in dwords.
const maxSolverOffset = 256

// conflicts runs a probe and returns SQ_LDS_BANK_CONFLICT.
func (b *microBench) conflicts(op string, lane0, lane1, offset int) (int, error) {
	res, _, err := b.run(workloads.MicroSpec{Test: workloads.MicroLDSProbe, Op: op, Lanes: [2]int{lane0, lane1}, Offset: offset})
	if err != nil {
		return 0, err
	}
	if n := res.CU.IssuedCount[isa.UnitLDS]; n != 1 {
		return 0, fmt.Errorf("micro: a probe of %s issued %d LDS instructions, not one", op, n)
	}
	return int(res.CU.Conflicts), nil
}

// solveLDS is HipKittens' method: with two lanes active and every lane at bank 0 of
// a row of its own, a counted conflict means that the two are served in the same
// phase; lanes that conflict are a phase. Then the second lane of a phase moves
// away from the first, and the first distance with a conflict is the number of
// banks.
func (b *microBench) solveLDS(op string) (*LDSSolution, error) {
	var group [isa.Lanes]uint64
	for a := range isa.Lanes {
		group[a] |= 1 << a
		for c := a + 1; c < isa.Lanes; c++ {
			n, err := b.conflicts(op, a, c, -1)
			if err != nil {
				return nil, err
			}
			switch n {
			case 0:
			case 1:
				group[a] |= 1 << c
				group[c] |= 1 << a
			default:
				return nil, fmt.Errorf("micro: lanes %d and %d of %s count %d conflicts; two lanes can have one", a, c, op, n)
			}
		}
	}
	s := &LDSSolution{Op: op}
	for a, g := range group {
		for m := g; m != 0; m &= m - 1 {
			if c := bits.TrailingZeros64(m); group[c] != g {
				return nil, fmt.Errorf("micro: lanes %d and %d of %s conflict, but not with the same lanes: they are no phases", a, c, op)
			}
		}
		if !slices.Contains(s.Phases, g) {
			s.Phases = append(s.Phases, g)
		}
	}
	lanes := s.Phases[0]
	first := bits.TrailingZeros64(lanes)
	second := bits.TrailingZeros64(lanes &^ (1 << first))
	for offset := 1; offset <= maxSolverOffset; offset++ {
		n, err := b.conflicts(op, first, second, offset)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			s.Banks = offset
			return s, nil
		}
	}
	return nil, fmt.Errorf("micro: %s shows no conflict up to %d dwords, so the banks cannot be told", op, maxSolverOffset)
}

// SolveLDS runs the solvers for every LDS instruction named, or for all that the
// machine's CPU has.
func SolveLDS(o MicroOptions, ops ...string) ([]LDSSolution, error) {
	b, err := newMicroBench(o, false)
	if err != nil {
		return nil, err
	}
	if len(ops) == 0 {
		ops = workloads.LDSOps(b.cpu)
	}
	var out []LDSSolution
	for _, op := range ops {
		s, err := b.solveLDS(op)
		if err != nil {
			return nil, err
		}
		out = append(out, *s)
	}
	return out, nil
}
