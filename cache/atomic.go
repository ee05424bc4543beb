package cache

// Atomics at the L2. A channel's atomic units read the line, combine it with
// AtomicBytesPerCycle bytes of operands a cycle and write it back, and the
// channel's port is held meanwhile: one read of the line, then the operands.
// Operands for the same word go through it one by one, a cycle each. A line that
// is not here, or not wholly, is fetched first, as for a read; the modification
// then takes its port time when the line comes.

// AtomicAt is Atomic of a line whose place is known.
func (t *TCC) AtomicAt(now int64, cu int, line uint64, at Place, a Atomic, tag uint32) int64 {
	a.Bytes = max(1, a.Bytes)
	return t.request(&tccRequest{arrived: now, line: line, place: at, tag: tag, atomic: a, cu: uint8(cu)})
}

// Atomic implements L2Port.
func (t *TCC) Atomic(now int64, cu int, line uint64, a Atomic, tag uint32) int64 {
	return t.AtomicAt(now, cu, line, t.Locate(line), a, tag)
}

// atomicCost is the port time of a read-modify-write.
func (t *TCC) atomicCost(a Atomic) int64 {
	operands := (int64(a.Bytes) + int64(t.cfg.AtomicBytesPerCycle) - 1) / int64(t.cfg.AtomicBytesPerCycle)
	cost := t.readCost + max(operands, int64(a.Same))
	t.stats.AtomicCycles += uint64(cost)
	return cost
}

// modify does an atomic on a line that is here and returns its port time.
func (t *TCC) modify(row, way int, r *tccRequest, start int64) int64 {
	set := &t.tags.sets[row]
	t.tags.use(set, way)
	set.write(way, int(r.atomic.Bytes), t.cfg.LineBytes)
	t.stats.AtomicHits++
	cost := t.atomicCost(r.atomic)
	t.outstanding--
	t.client.WriteAcked(start+cost+t.acknowledge(r.atomic), int(r.cu), r.tag)
	return cost
}

// modifyFilled does an atomic on a line that has just come.
func (t *TCC) modifyFilled(now int64, ch *tccChannel, m *mshr, w *waiter) {
	t.tags.sets[m.set].write(int(m.way), int(w.atomic.Bytes), t.cfg.LineBytes)
	cost := t.atomicCost(w.atomic)
	ch.free = max(ch.free, now, w.start) + cost
	t.stats.PortCycles += uint64(cost)
	t.client.WriteAcked(ch.free+t.acknowledge(w.atomic), int(w.src), w.tag)
}

// acknowledge is the time of the answer after the operation: old data comes as
// that of a hit, else an acknowledgement as a write's.
func (t *TCC) acknowledge(a Atomic) int64 {
	if a.Returns {
		return t.hit
	}
	return t.ack
}

func (t *TCC) hitInFlight(r *tccRequest) {
	if r.atomic.Bytes != 0 {
		t.stats.AtomicHits++
		t.stats.AtomicHitsInFlight++
		return
	}
	t.stats.ReadHits++
	t.stats.ReadHitsInFlight++
}

func (t *TCC) missed(r *tccRequest) {
	if r.atomic.Bytes != 0 {
		t.stats.AtomicMisses++
		return
	}
	t.stats.ReadMisses++
}
