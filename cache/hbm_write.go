package cache

// A data bus that turns from reading to writing or back stands still meanwhile. So
// a channel goes on in one direction while it can: requests of the other whose
// rows are open wait, each at its bank, until the bus has nothing else or until
// so many of them wait that the turn is worth it.

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

// access takes a request whose row is open to the bus, or lets it wait for the
// bus to turn.
func (h *hbm) access(now int64, r int32) {
	q := &h.requests[r-1]
	ch := &h.channels[int(q.bank)/h.cfg.BanksPerChannel]
	if q.write == ch.writing {
		h.transfer(now, ch, r)
		return
	}
	h.append(&ch.waiting, r)
	if ch.waits++; ch.waits >= h.cfg.TurnAfter {
		h.turn(now, ch)
		return
	}
	h.look(now, ch)
}

// look turns the bus for those that wait if it stands, and otherwise sees again
// when it does.
func (h *hbm) look(now int64, ch *hbmChannel) {
	if ch.waits == 0 || ch.looking {
		return
	}
	at := ch.bus.Start(now)
	if at == now {
		h.turn(now, ch)
		return
	}
	ch.looking = true
	h.wheel.push(event{at: at, id: uint32(ch.index), kind: llcTurn})
}

// lookAgain is look when the bus was to be free.
func (h *hbm) lookAgain(now int64, n uint32) {
	ch := &h.channels[n]
	ch.looking = false
	h.look(now, ch)
}

// turn lets the requests go that wait for the other direction.
func (h *hbm) turn(now int64, ch *hbmChannel) {
	ch.writing = !ch.writing
	ch.waits = 0
	h.stats.Turnarounds++
	if ch.writing {
		ch.bus.Pause(h.cfg.ReadToWriteCycles)
	} else {
		ch.bus.Pause(h.cfg.WriteToReadCycles)
	}
	all := ch.waiting
	ch.waiting = requestList{}
	for r := h.takeFirst(&all); r != 0; r = h.takeFirst(&all) {
		h.transfer(now, ch, r)
	}
}

// post counts a write that the LLC is about to send to a channel. It reports
// false, and will have the LLC told when there is room, while WriteQueue writes
// are on their way.
func (h *hbm) post(channel int) bool {
	ch := &h.channels[channel]
	if h.cfg.WriteQueue > 0 && ch.posted >= h.cfg.WriteQueue {
		ch.blocked = true
		return false
	}
	ch.posted++
	return true
}

// written counts a posted write out.
func (h *hbm) written(now int64, ch *hbmChannel) {
	ch.posted--
	if ch.blocked {
		ch.blocked = false
		h.wheel.push(event{at: now + 1, id: uint32(ch.index), kind: llcRoom})
	}
}
