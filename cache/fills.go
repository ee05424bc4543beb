package cache

// fillEvent is the line of a miss register on its way to an L2.
type fillEvent struct {
	at int64
	id uint32
}

// fillQueue holds fills in order of time, and of their announcement within a
// cycle. They come over one link and are announced in order, so it is a plain
// queue; what is announced out of order is moved to its place.
type fillQueue struct {
	events []fillEvent
	head   int
}

func (q *fillQueue) empty() bool { return q.head == len(q.events) }

// nextAt returns the cycle of the earliest fill, or Never.
func (q *fillQueue) nextAt() int64 {
	if q.head == len(q.events) {
		return Never
	}
	return q.events[q.head].at
}

func (q *fillQueue) push(e fillEvent) {
	if len(q.events) == cap(q.events) && q.head > len(q.events)/2 {
		q.events = q.events[:copy(q.events, q.events[q.head:])]
		q.head = 0
	}
	q.events = append(q.events, e)
	s := q.events
	i := len(s) - 1
	for ; i > q.head && s[i-1].at > e.at; i-- {
		s[i] = s[i-1]
	}
	s[i] = e
}

func (q *fillQueue) pop() uint32 {
	id := q.events[q.head].id
	if q.head++; q.head == len(q.events) {
		q.events, q.head = q.events[:0], 0
	}
	return id
}
