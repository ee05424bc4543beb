package cache

// mshr is a miss register.
type mshr struct {
	set        int32
	way        int32
	head, tail int32 // waiters, index + 1
	next       int32 // free list, index + 1
	dirty      uint16
	unasked    bool  // nobody has asked for the line yet
	inRun      bool  // it was fetched because of a run of reads
	late       bool  // the address waits for its translation
	asked      int64 // the cycle in which the level below was asked
}

// waiter is a request that waits for a line in flight.
type waiter struct {
	arrived, start int64
	tag            uint32
	next           int32
	src            uint8
	atomic         Atomic // Bytes is 0 in a read
}

// appendWaiter adds a waiter to a register, from the free list when there is one.
func appendWaiter(pool []waiter, free int32, m *mshr, w waiter) ([]waiter, int32) {
	var n int32
	if free != 0 {
		n = free
		free = pool[n-1].next
		pool[n-1] = w
	} else {
		pool = append(pool, w)
		n = int32(len(pool))
	}
	if m.tail != 0 {
		pool[m.tail-1].next = n
	} else {
		m.head = n
	}
	m.tail = n
	return pool, free
}
