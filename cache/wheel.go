package cache

import "math/bits"

// event is one thing that happens in a memory die at a cycle. The payload is
// wide enough for a line request, so events are not allocated one by one.
type event struct {
	at    int64
	addr  uint64
	id    uint32
	next  int32
	bytes uint16
	src   uint8
	kind  uint8
}

const (
	wheelBits = 11
	wheelSize = 1 << wheelBits // cycles ahead that are held in buckets
	wheelMask = wheelSize - 1
)

// wheel is a timing wheel: a bucket per cycle for the next wheelSize cycles and
// a heap for what lies further away. Events of one cycle come out in the order
// in which they were pushed, which makes every run repeat itself exactly.
type wheel struct {
	base    int64 // no event lies before it
	pending int
	summary uint64
	bits    [wheelSize / 64]uint64
	slots   [wheelSize]wheelSlot
	nodes   []event
	free    int32 // node index + 1
	far     farHeap
	farSeq  uint64
}

// wheelSlot is the list of a cycle's events: node index + 1; 0: empty.
type wheelSlot struct{ head, tail int32 }

// push adds an event. An event before the current cycle is a fault of the
// model that pushed it.
func (w *wheel) push(e event) {
	if e.at < w.base {
		panic("cache: event in the past")
	}
	w.pending++
	if e.at-w.base >= wheelSize {
		w.farSeq++
		w.far.push(farEvent{e, w.farSeq})
		return
	}
	w.insert(e)
}

func (w *wheel) insert(e event) {
	e.next = 0
	var n int32
	if w.free != 0 {
		n = w.free
		node := &w.nodes[n-1]
		w.free = node.next
		*node = e
	} else {
		w.nodes = append(w.nodes, e)
		n = int32(len(w.nodes))
	}
	slot := uint(e.at) & wheelMask
	s := &w.slots[slot]
	if s.tail != 0 {
		w.nodes[s.tail-1].next = n
	} else {
		s.head = n
		w.bits[slot>>6] |= 1 << (slot & 63)
		w.summary |= 1 << (slot >> 6)
	}
	s.tail = n
}

// nextAt returns the cycle of the earliest event, or Never.
func (w *wheel) nextAt() int64 {
	if w.summary == 0 {
		if len(w.far) == 0 {
			return Never
		}
		return w.far[0].at
	}
	start := uint(w.base) & wheelMask
	word := start >> 6
	if m := w.bits[word] &^ (1<<(start&63) - 1); m != 0 {
		return w.timeOf(word<<6 | uint(bits.TrailingZeros64(m)))
	}
	rest := w.summary &^ (1<<(word+1) - 1) // of the last word nothing is above: the shift gives 0
	if rest == 0 {
		rest = w.summary // wrapped
	}
	word = uint(bits.TrailingZeros64(rest))
	return w.timeOf(word<<6 | uint(bits.TrailingZeros64(w.bits[word])))
}

func (w *wheel) timeOf(slot uint) int64 {
	return w.base + int64((slot-uint(w.base))&wheelMask)
}

// advance moves the current cycle forward to now. No event may lie before now.
func (w *wheel) advance(now int64) {
	w.base = now
	for len(w.far) > 0 && w.far[0].at-now < wheelSize {
		w.insert(w.far.pop().event)
	}
}

// pop takes the next event of the current cycle.
func (w *wheel) pop() (event, bool) {
	slot := uint(w.base) & wheelMask
	s := &w.slots[slot]
	n := s.head
	if n == 0 {
		return event{}, false
	}
	node := &w.nodes[n-1]
	e := *node
	s.head = e.next
	if e.next == 0 {
		s.tail = 0
		w.bits[slot>>6] &^= 1 << (slot & 63)
		if w.bits[slot>>6] == 0 {
			w.summary &^= 1 << (slot >> 6)
		}
	}
	node.next = w.free
	w.free = n
	w.pending--
	return e, true
}

// farEvent is an event beyond the buckets; seq keeps the order of pushing.
type farEvent struct {
	event
	seq uint64
}

// farHeap is a binary heap by (cycle, order of pushing).
type farHeap []farEvent

func (h farHeap) less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}

func (h *farHeap) push(e farEvent) {
	*h = append(*h, e)
	s := *h
	for i := len(s) - 1; i > 0; {
		p := (i - 1) / 2
		if !s.less(i, p) {
			break
		}
		s[i], s[p] = s[p], s[i]
		i = p
	}
}

func (h *farHeap) pop() farEvent {
	s := *h
	top := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(s) {
			break
		}
		if c+1 < len(s) && s.less(c+1, c) {
			c++
		}
		if !s.less(c, i) {
			break
		}
		s[i], s[c] = s[c], s[i]
		i = c
	}
	return top
}
