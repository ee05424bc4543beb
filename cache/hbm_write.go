package cache

// A data bus that turns from reading to writing or back stands still meanwhile.
// So a channel gathers writes, whose data nobody waits for, and sends them
// together: when its queue is full, or when it has no reads. Reads that come
// while writes are being sent wait for them.

// requestList is a FIFO of requests, by index + 1.
type requestList struct{ head, tail int32 }

func (h *hbm) append(l *requestList, r int32) {
	h.requests[r-1].next = 0
	if l.tail != 0 {
		h.requests[l.tail-1].next = r
	} else {
		l.head = r
	}
	l.tail = r
}

func (h *hbm) takeFirst(l *requestList) int32 {
	r := l.head
	if r == 0 {
		return 0
	}
	if l.head = h.requests[r-1].next; l.head == 0 {
		l.tail = 0
	}
	h.requests[r-1].next = 0
	return r
}

// arrive takes a request to its bank, or lets it wait for the bus to turn.
func (h *hbm) arrive(now int64, ch *hbmChannel, r int32) {
	switch {
	case h.cfg.WriteQueue == 0:
		h.toBank(now, r)
	case h.requests[r-1].write:
		h.append(&ch.writes, r)
		ch.gathered++
		if ch.sending == 0 && (ch.reads == 0 || ch.gathered >= h.cfg.WriteQueue) {
			h.sendWrites(now, ch)
		}
	case ch.sending > 0:
		h.append(&ch.held, r)
	default:
		ch.reads++
		h.toBank(now, r)
	}
}

// sendWrites takes the gathered writes to their banks.
func (h *hbm) sendWrites(now int64, ch *hbmChannel) {
	n := min(ch.gathered, h.cfg.WriteQueue)
	ch.gathered -= n
	ch.sending = n // before the first: it may be through at once
	for range n {
		h.toBank(now, h.takeFirst(&ch.writes))
	}
}

// onBus turns the bus to a request's direction and counts the request out.
func (h *hbm) onBus(ch *hbmChannel, write bool) {
	if ch.writing != write {
		ch.writing = write
		h.stats.Turnarounds++
		if write {
			ch.bus.Pause(h.cfg.ReadToWriteCycles)
		} else {
			ch.bus.Pause(h.cfg.WriteToReadCycles)
		}
	}
}

// through lets a channel go on after a request of which the bus has begun the
// transfer.
func (h *hbm) through(now int64, ch *hbmChannel, write bool) {
	if h.cfg.WriteQueue == 0 {
		return
	}
	if !write {
		if ch.reads--; ch.reads == 0 && ch.sending == 0 && ch.gathered > 0 {
			h.sendWrites(now, ch)
		}
		return
	}
	if ch.sending--; ch.sending > 0 {
		return
	}
	held := ch.held
	ch.held = requestList{}
	for r := h.takeFirst(&held); r != 0; r = h.takeFirst(&held) {
		h.arrive(now, ch, r)
	}
	if ch.reads == 0 && ch.sending == 0 && ch.gathered > 0 {
		h.sendWrites(now, ch)
	}
}
