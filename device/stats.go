package device

import (
	"math"
	"slices"
)

// keep is how many samples a Stats keeps for its median.
const keep = 1 << 14

// Stats is the statistics of a stream of numbers in bounded memory. The median is
// that of all of them up to keep, and beyond that of every second, fourth, ... one.
type Stats struct {
	N      int64   `json:"n"`
	Mean   float64 `json:"mean"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Stddev float64 `json:"stddev"`
	Median float64 `json:"median"`

	m2     float64
	kept   []float64
	stride int64
}

// Add takes a number.
func (s *Stats) Add(v float64) {
	if s.N == 0 {
		s.Min, s.Max, s.stride = v, v, 1
	}
	if s.N%s.stride == 0 {
		if len(s.kept) == keep {
			for i := range keep / 2 {
				s.kept[i] = s.kept[2*i]
			}
			s.kept = s.kept[:keep/2]
			s.stride *= 2
		}
		if s.N%s.stride == 0 {
			s.kept = append(s.kept, v)
		}
	}
	s.N++
	d := v - s.Mean
	s.Mean += d / float64(s.N)
	s.m2 += d * (v - s.Mean)
	s.Min, s.Max = min(s.Min, v), max(s.Max, v)
}

// finish computes what follows from all numbers.
func (s *Stats) finish() {
	if s.N == 0 {
		return
	}
	s.Stddev = math.Sqrt(s.m2 / float64(s.N))
	s.Median = median(s.kept)
	s.kept = nil
}

// median sorts v.
func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	return (v[n/2] + v[(n-1)/2]) / 2
}
