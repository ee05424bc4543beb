package cache

// A data bus that turns from reading to writing or back stands still meanwhile.
// So a channel gathers writes, whose data nobody waits for, and sends them
// together: when its queue is full, or when it has no reads and its bus stands. Reads that come
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

// post counts a write that the LLC is about to send to a channel. It reports false,
// and will have the LLC told when there is room, while as many as two queues hold
// are on their way: one at the channel and one before it.
func (h *hbm) post(channel int) bool {
	ch := &h.channels[channel]
	if h.cfg.WriteQueue > 0 && ch.posted >= 2*h.cfg.WriteQueue {
		ch.blocked = true
		return false
	}
	ch.posted++
	return true
}

// written counts a posted write out.
func (h *hbm) written(now int64, ch *hbmChannel) {
	ch.posted--
	if ch.blocked && ch.posted < 2*h.cfg.WriteQueue {
		ch.blocked = false
		h.wheel.push(event{at: now + 1, id: uint32(ch.index), kind: llcRoom})
	}
}

// turnSlack is how many requests of the old direction may still be at their banks
// when the bus turns: what a refresh holds up does not hold up the channel, at the
// price of turning for it once more.
const turnSlack = 2

// arrive takes a request to its bank, or lets it wait for the bus to turn.
func (h *hbm) arrive(now int64, ch *hbmChannel, r int32) {
	switch {
	case h.cfg.WriteQueue == 0:
		h.toBank(now, r)
	case h.requests[r-1].write:
		h.append(&ch.writes, r)
		ch.gathered++
		h.maySend(now, ch)
	case ch.draining:
		h.append(&ch.held, r)
	default:
		ch.reads++
		h.toBank(now, r)
	}
}

// maySend turns the channel to writing if it is time for it: with a full queue as
// soon as the reads at the banks are through, those that come meanwhile being
// held; else when there is none and the bus stands.
func (h *hbm) maySend(now int64, ch *hbmChannel) {
	switch {
	case ch.sending > 0 || ch.gathered == 0:
	case ch.gathered >= h.cfg.WriteQueue:
		ch.draining = true
		if ch.reads <= turnSlack {
			h.sendWrites(now, ch)
		}
	case ch.reads > 0 || ch.looking:
	default:
		if at := ch.bus.Start(now); at > now {
			ch.looking = true
			h.wheel.push(event{at: at, id: uint32(ch.index), kind: llcTurn})
			return
		}
		h.sendWrites(now, ch)
	}
}

// look is maySend when the bus was to be free.
func (h *hbm) look(now int64, n uint32) {
	ch := &h.channels[n]
	ch.looking = false
	h.maySend(now, ch)
}

// sendWrites takes the gathered writes to their banks.
func (h *hbm) sendWrites(now int64, ch *hbmChannel) {
	n := min(ch.gathered, h.cfg.WriteQueue)
	ch.gathered -= n
	ch.draining = true
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
	if write {
		h.written(now, ch)
	}
	if h.cfg.WriteQueue == 0 {
		return
	}
	if !write {
		ch.reads--
		h.maySend(now, ch)
		return
	}
	ch.sending--
	if ch.draining && ch.sending <= turnSlack {
		ch.draining = false
		held := ch.held
		ch.held = requestList{}
		for r := h.takeFirst(&held); r != 0; r = h.takeFirst(&held) {
			h.arrive(now, ch, r)
		}
	}
	h.maySend(now, ch)
}
