package cache

import "math/bits"

// Histogram counts values in power-of-two buckets: bucket i holds values v
// with bits.Len64(v) == i, that is [2^(i-1), 2^i).
type Histogram [33]uint64

// Add counts one value.
func (h *Histogram) Add(v uint64) { h[min(bits.Len64(v), len(h)-1)]++ }

// Merge adds another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for i := range h {
		h[i] += o[i]
	}
}
