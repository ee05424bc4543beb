// Package cache holds the timing of the memory hierarchy: the vector L1 of a
// CU (TCP), the L2 of an XCD (TCC), the memory-side LLC and HBM. Everything is
// tags and time: data lives in the backing store of package isa.
package cache

import "math"

// Atomic is what a read-modify-write of a line asks of the L2.
type Atomic struct {
	Bytes   uint8 // operands
	Same    uint8 // the most operands for one word, which go through it one by one; 0 is 1
	Returns bool  // the old data goes back
}

// Never is a cycle that does not come: nothing is pending.
const Never int64 = math.MaxInt64

// L2Port is what a CU sees of its XCD's L2. Cycles are core clock cycles and
// never decrease from call to call.
type L2Port interface {
	// Read asks for one line (line is a byte address, line aligned). It returns
	// 0 when accepted; the data then arrives by a call of the CU's
	// LineReturned(at, tag). Otherwise it returns the earliest cycle > now at
	// which trying again makes sense, because a queue is full.
	Read(now int64, cu int, line uint64, tag uint32) (retryAt int64)

	// Write sends bytes of one line. Acceptance as in Read; the
	// acknowledgement arrives by the CU's WriteAcked(at, tag).
	Write(now int64, cu int, line uint64, bytes int, tag uint32) (retryAt int64)

	// Atomic asks for a read-modify-write of bytes of one line. Acceptance and
	// acknowledgement as in Write; for a returning one the acknowledgement
	// carries the old data.
	Atomic(now int64, cu int, line uint64, a Atomic, tag uint32) (retryAt int64)
}
