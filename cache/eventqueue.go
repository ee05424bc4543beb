package cache

// eventQueue holds events in order of time, and of pushing within a cycle, as a
// wheel does. It is for those that are pushed nearly in order: they lie one behind
// the other, which spares the host's caches, and what is pushed out of order is
// moved to its place.
type eventQueue struct {
	events []event
	head   int
}

func (q *eventQueue) empty() bool { return q.head == len(q.events) }

// nextAt returns the cycle of the earliest event, or Never.
func (q *eventQueue) nextAt() int64 {
	if q.head == len(q.events) {
		return Never
	}
	return q.events[q.head].at
}

func (q *eventQueue) push(e event) {
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

// pop takes the earliest event, which stays readable until the next push.
func (q *eventQueue) pop() *event {
	e := &q.events[q.head]
	if q.head++; q.head == len(q.events) {
		q.events, q.head = q.events[:0], 0
	}
	return e
}
