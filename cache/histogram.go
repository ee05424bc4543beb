package cache

import "math/bits"

// HistogramBuckets is the number of buckets of a Histogram.
const HistogramBuckets = 32

// Histogram counts latencies in core cycles in buckets of powers of two: bucket
// 0 counts zeros, bucket i values of 2^(i-1) to 2^i - 1.
type Histogram [HistogramBuckets]uint64

// Add counts one value.
func (h *Histogram) Add(cycles uint64) {
	h[min(bits.Len64(cycles), HistogramBuckets-1)]++
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for i := range h {
		h[i] += o[i]
	}
}

// Count returns the number of values.
func (h *Histogram) Count() uint64 {
	var n uint64
	for _, c := range h {
		n += c
	}
	return n
}
