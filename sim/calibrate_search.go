package sim

import (
	"errors"
	"math"
	"slices"

	"github.com/whisker-sim/whisker/configs"
)

// search looks for the value of a leaf at which a row comes nearest to a target.
// Rows grow with their leaf, or fall, all the way.
type search struct {
	at     func(v int) (float64, error)
	target float64
	known  map[int]float64
}

// The values that are looked at.
const (
	searchLeast = 0
	searchMost  = 1 << 16
)

// value gives the row at a value; NaN where the machine file does not allow it.
func (s *search) value(v int) (float64, error) {
	if x, ok := s.known[v]; ok {
		return x, nil
	}
	x, err := s.at(v)
	if _, refused := errors.AsType[*configs.Error](err); refused {
		x, err = math.NaN(), nil
	}
	if err == nil {
		s.known[v] = x
	}
	return x, err
}

// maxPlateau is how many values of a leaf may give the same row for the row still
// to determine it.
const maxPlateau = 16

// best is the value at which the row is nearest to the target, and the least and
// the largest that give the same row: a wave issues every few cycles, so that a
// latency is seen in steps. Of them from is best, or else the largest. It is not
// sharp when the row hardly depends on the leaf.
func (s *search) best(from int, candidates []int) (best, least, most int, sharp bool, err error) {
	whole := candidates == nil
	if whole {
		if candidates, err = s.around(from); err != nil {
			return 0, 0, 0, false, err
		}
	} else if !slices.Contains(candidates, from) {
		candidates = append(slices.Clone(candidates), from)
	}
	off := math.Inf(1)
	for _, v := range candidates {
		x, err := s.value(v)
		if err != nil {
			return 0, 0, 0, false, err
		}
		switch d := math.Abs(x - s.target); {
		case math.IsNaN(d):
		case d < off:
			best, off, sharp = v, d, true
		case d == off && v != best:
			sharp = false
		}
	}
	if !whole || math.IsInf(off, 1) {
		return best, best, best, sharp, nil
	}
	least, most, err = s.plateau(best)
	if from >= least && from <= most {
		best = from
	} else {
		best = most
	}
	return best, least, most, most-least < maxPlateau, err
}

// plateau finds the values around v that give the same row.
func (s *search) plateau(v int) (least, most int, err error) {
	least, most = v, v
	for _, to := range []struct {
		edge *int
		step int
	}{{&least, -1}, {&most, 1}} {
		for range maxPlateau {
			n := *to.edge + to.step
			if n < searchLeast {
				break
			}
			x, err := s.value(n)
			if err != nil {
				return 0, 0, err
			}
			if x != s.known[v] {
				break
			}
			*to.edge = n
		}
	}
	return least, most, nil
}

// around finds the whole numbers between which the row passes the target, and
// returns those next to them: the row at from says on which side they are.
func (s *search) around(from int) ([]int, error) {
	x, err := s.value(from)
	if err != nil {
		return nil, err
	}
	low, high := from, from
	for step := 1; x < s.target; step *= 2 { // up until the row is no longer below
		low = high
		if high = min(high+step, searchMost); high == low {
			break
		}
		y, err := s.value(high)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(y) {
			high -= step / 2
			break
		}
		if x = y; x >= s.target {
			break
		}
	}
	if x, err = s.value(from); err != nil {
		return nil, err
	}
	for step := 1; x > s.target && low > searchLeast; step *= 2 { // down until it is no longer above
		low = max(low-step, searchLeast)
		y, err := s.value(low)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(y) {
			break
		}
		x = y
	}
	for high-low > 1 {
		mid := (low + high) / 2
		y, err := s.value(mid)
		if err != nil {
			return nil, err
		}
		if y < s.target || math.IsNaN(y) {
			low = mid
		} else {
			high = mid
		}
	}
	var out []int
	for v := max(low-1, searchLeast); v <= high+1; v++ {
		out = append(out, v)
	}
	return out, nil
}
