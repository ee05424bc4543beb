package cache

import "fmt"

// TCCConfig describes the L2 of one XCD. Latencies are core clock cycles.
type TCCConfig struct {
	Bytes, LineBytes, Ways, Channels      int
	ReadBytesPerCycle, WriteBytesPerCycle int // per channel
	HitLatencyCycles                      int // request to data at the CU's port, unloaded
	WriteAckCycles                        int // request to acknowledgement, unloaded
	MSHRsPerChannel, QueueEntries         int
	AtomicBytesPerCycle                   int // operands that a channel's atomic units take
	LatencyFIFOEntries                    int // reads of a channel between tags and data; 0: they keep no order
	InterleaveBytes                       int
	KeepLines                             bool // Flush leaves the lines, clean
	SetHash, ChannelHash                  bool
	Replacement                           Replacement
	Seed                                  uint64 // of the Random policy
	// TLB holds translations of the lines that are asked of memory; a missing one
	// takes TLBMissCycles more.
	TLB           TLBConfig
	TLBMissCycles int64
}

// TCCClient is what an L2 talks to: the CUs above it and the fabric below.
// Fetch and WriteBack are called in order of time.
type TCCClient interface {
	// LineReturned and WriteAcked are called as soon as the cycle of an answer
	// is known, which is at least TCC.Lookahead before it. They do not come in
	// order of at.
	LineReturned(at int64, cu int, tag uint32)
	WriteAcked(at int64, cu int, tag uint32)
	// Fetch asks memory for a line; the answer is a call of TCC.Fill with id.
	Fetch(now int64, line uint64, id uint32)
	// WriteBack sends dirty bytes of a line to memory.
	WriteBack(now int64, line uint64, bytes int)
}

// TCC is the L2 cache of one XCD: write-back, channels interleaved by address.
// Each channel serves its queue in order, one line of ReadBytesPerCycle a
// cycle. A miss allocates the line and a miss register at once; requests to a
// line in flight join its register. A miss without a free register (or with a
// set full of lines in flight) stops its channel until a fill. Written lines
// are not fetched: their dirty bytes are counted, and a later read of a line
// that is not wholly written fetches it. An atomic needs its line's old bytes,
// so it misses as a read does; see atomic.go.
//
// The service of a request is decided when it is accepted, since a FIFO's
// start times are known then. A fill's write into the data array takes no port
// time of its own, and the answers to requests that waited for the same line
// leave one per line time. With a latency FIFO the reads of a channel are answered
// in the order in which they passed the tags; see latencyfifo.go.
type TCC struct {
	cfg      TCCConfig
	client   TCCClient
	amap     addressMap
	tags     tags
	sets     int
	events   eventQueue // fetches, write-backs
	fills    eventQueue // over one link, so announced in order
	channels []tccChannel
	mshrs    []mshr // channel by channel
	waiters  []waiter
	freeWait int32
	chains   []int32 // scratch space of TouchFills
	stats    LevelStats
	tlb      *TLB
	written  []uint64 // with KeepLines: lines written back since TakeWritten

	hit, ack, lookup, answer int64 // cycles: hit latency is lookup + answer
	readCost                 int64
	outstanding              int // accepted, and the cycle of the answer not yet known
}

type tccChannel struct {
	free      int64   // the service port's next free cycle
	starts    []int64 // service starts of the last QueueEntries requests
	next      int     // oldest entry of starts
	answerAt  int64   // the next cycle for an answer to a request that waited; with a latency FIFO, to any read
	retry     int64   // last retry cycle handed out
	freeMSHR  int32   // index + 1 within mshrs
	fifo      latencyFIFO
	stalled   []tccRequest
	stallHead int
	stallLen  int
}

type tccRequest struct {
	arrived int64
	line    uint64
	place   Place
	tag     uint32
	bytes   uint16 // 0: a read or an atomic
	cu      uint8
	atomic  Atomic // Bytes is 0 in reads and writes
}

const (
	tccFetch uint8 = iota
	tccWriteBack
)

// stalledRetryCycles is how long a CU waits before it asks a channel again
// that is stopped for lack of miss registers or of places in its latency FIFO. It is the grain of the polling
// that the port's interface needs, not a property of the hardware; the queue
// in front of the channel stays full meanwhile.
const stalledRetryCycles = 8

// MaxCUs is the number of requesters an L2 can tell apart.
const MaxCUs = 64

// NewTCC makes an empty L2.
func NewTCC(cfg TCCConfig, client TCCClient) (*TCC, error) {
	amap, sets, err := geometry{
		what: "L2", bytes: cfg.Bytes, lineBytes: cfg.LineBytes, ways: cfg.Ways, banks: cfg.Channels,
		interleave: cfg.InterleaveBytes, bankHash: cfg.ChannelHash, setHash: cfg.SetHash,
	}.build()
	if err != nil {
		return nil, err
	}
	for _, v := range []struct {
		name  string
		value int
	}{
		{"read bytes per cycle", cfg.ReadBytesPerCycle}, {"write bytes per cycle", cfg.WriteBytesPerCycle},
		{"hit latency cycles", cfg.HitLatencyCycles}, {"write-back latency cycles", cfg.WriteAckCycles},
		{"MSHRs per channel", cfg.MSHRsPerChannel}, {"queue entries", cfg.QueueEntries},
		{"atomic bytes per cycle", cfg.AtomicBytesPerCycle}, {"latency FIFO entries", cfg.LatencyFIFOEntries + 1},
	} {
		if v.value < 1 {
			return nil, fmt.Errorf("L2: %s must be at least 1, not %d", v.name, v.value)
		}
	}
	if err := cfg.Replacement.check("L2", cfg.Ways); err != nil {
		return nil, err
	}
	if cfg.MSHRsPerChannel >= lineMSHRLimit {
		return nil, fmt.Errorf("L2: %d MSHRs per channel; fewer than %d are possible", cfg.MSHRsPerChannel, lineMSHRLimit)
	}
	tlb, err := NewTLB(cfg.TLB, cfg.TLBMissCycles)
	if err != nil {
		return nil, fmt.Errorf("L2: %w", err)
	}
	t := &TCC{
		tlb: tlb,
		cfg: cfg, client: client, amap: amap, sets: sets,
		tags:     newTags(sets*cfg.Channels, cfg.Ways, cfg.Replacement, cfg.Seed),
		channels: make([]tccChannel, cfg.Channels),
		mshrs:    make([]mshr, cfg.Channels*cfg.MSHRsPerChannel),
		hit:      int64(cfg.HitLatencyCycles),
		ack:      int64(cfg.WriteAckCycles),
		lookup:   int64(cfg.HitLatencyCycles) / 4,
		readCost: int64((cfg.LineBytes + cfg.ReadBytesPerCycle - 1) / cfg.ReadBytesPerCycle),
	}
	t.answer = t.hit - t.lookup
	for c := range t.channels {
		ch := &t.channels[c]
		ch.starts = make([]int64, cfg.QueueEntries)
		for i := range ch.starts {
			ch.starts[i] = -1
		}
		ch.stalled = make([]tccRequest, cfg.QueueEntries)
		ch.fifo.entries = make([]fifoEntry, cfg.LatencyFIFOEntries)
		for i := range cfg.MSHRsPerChannel {
			n := int32(c*cfg.MSHRsPerChannel + i)
			t.mshrs[n].next = ch.freeMSHR
			ch.freeMSHR = n + 1
		}
	}
	return t, nil
}

// Stats returns the counts since the last reset.
func (t *TCC) Stats() *LevelStats { return &t.stats }

// ResetStats clears the counts.
func (t *TCC) ResetStats() {
	t.stats = LevelStats{}
	t.tlb.ResetStats()
}

// TLB is the XCD's.
func (t *TCC) TLB() *TLB { return t.tlb }

// Next returns the cycle of the next event inside, or Never.
func (t *TCC) Next() int64 { return min(t.events.nextAt(), t.fills.nextAt()) }

// Place is where a line belongs.
type Place struct {
	Channel int32
	row     int32
	tag     uint32
}

// Locate finds the place of a line.
func (t *TCC) Locate(line uint64) Place {
	bank, set, tag := t.amap.split(line)
	return Place{int32(bank), int32(bank*t.sets + set), tag}
}

// Lookahead is how many cycles pass at least between anything that happens in
// the L2 and the answer to a CU that follows from it.
func (t *TCC) Lookahead() int64 { return min(t.answer, t.hit, t.ack) }

// Idle reports whether the answer to every accepted request is known and no fill
// is on its way.
func (t *TCC) Idle() bool {
	return t.outstanding == 0 && t.events.empty() && t.fills.empty()
}

// Read implements L2Port.
func (t *TCC) Read(now int64, cu int, line uint64, tag uint32) int64 {
	return t.ReadAt(now, cu, line, t.Locate(line), tag)
}

// ReadAt is Read of a line whose place is known.
func (t *TCC) ReadAt(now int64, cu int, line uint64, at Place, tag uint32) int64 {
	return t.request(&tccRequest{arrived: now, line: line, place: at, tag: tag, cu: uint8(cu)})
}

// Write implements L2Port.
func (t *TCC) Write(now int64, cu int, line uint64, bytes int, tag uint32) int64 {
	return t.WriteAt(now, cu, line, t.Locate(line), bytes, tag)
}

// WriteAt is Write to a line whose place is known.
func (t *TCC) WriteAt(now int64, cu int, line uint64, at Place, bytes int, tag uint32) int64 {
	bytes = max(1, min(bytes, t.cfg.LineBytes))
	return t.request(&tccRequest{arrived: now, line: line, place: at, tag: tag, bytes: uint16(bytes), cu: uint8(cu)})
}

func (t *TCC) request(r *tccRequest) int64 {
	ch := &t.channels[r.place.Channel]
	if ch.stallLen > 0 {
		if ch.stallLen == len(ch.stalled) {
			t.stats.Retries++
			ch.retry = min(max(ch.retry+1, r.arrived+stalledRetryCycles), r.arrived+4*stalledRetryCycles)
			return ch.retry
		}
	} else if oldest := ch.starts[ch.next]; oldest > r.arrived {
		// Callers are sent away to consecutive cycles, so they take turns.
		t.stats.Retries++
		ch.retry = min(max(ch.retry+1, oldest), oldest+int64(len(ch.starts)))
		return ch.retry
	}
	t.outstanding++
	switch {
	case r.atomic.Bytes != 0:
		t.stats.Atomics++
		t.stats.AtomicBytes += uint64(r.atomic.Bytes)
	case r.bytes == 0:
		t.stats.Reads++
		t.stats.ReadBytes += uint64(t.cfg.LineBytes)
	default:
		t.stats.Writes++
		t.stats.WriteBytes += uint64(r.bytes)
	}
	if ch.stallLen > 0 || !t.serve(r, r.arrived) {
		t.stats.StalledRequests++
		ch.stalled[(ch.stallHead+ch.stallLen)%len(ch.stalled)] = *r
		ch.stallLen++
	}
	return 0
}

// serve gives a request its turn, not before cycle from. It returns false when
// the request needs a miss register, a way or a place in the latency FIFO and none is free.
func (t *TCC) serve(r *tccRequest, from int64) bool {
	ch := &t.channels[r.place.Channel]
	row, tag := int(r.place.row), r.place.tag
	start := max(from, ch.free)
	way := t.tags.sets[row].lookup(tag)
	if r.bytes == 0 {
		cost := t.readCost
		if r.atomic.Bytes != 0 && way >= 0 && readable(t.tags.sets[row].state[way]) {
			cost = t.modify(row, way, r, start)
		} else if !t.read(ch, row, way, tag, r, start) {
			return false
		}
		ch.free = start + cost
	} else {
		if !t.write(row, way, tag, r, start) {
			return false
		}
		ch.free = start + t.writeCost(int(r.bytes))
	}
	t.stats.PortCycles += uint64(ch.free - start)
	t.stats.waited(start - r.arrived)
	ch.starts[ch.next] = start
	if ch.next++; ch.next == len(ch.starts) {
		ch.next = 0
	}
	return true
}

// writeCost is the port time of a write: a whole line streams in, part of one
// is merged into the line's word first, which takes one cycle more.
func (t *TCC) writeCost(bytes int) int64 {
	c := int64((bytes + t.cfg.WriteBytesPerCycle - 1) / t.cfg.WriteBytesPerCycle)
	if bytes < t.cfg.LineBytes {
		c++
	}
	return c
}

func (t *TCC) read(ch *tccChannel, row, way int, tag uint32, r *tccRequest, start int64) bool {
	if r.atomic.Bytes == 0 && ch.fifo.full() {
		return false
	}
	set := &t.tags.sets[row]
	if way >= 0 {
		state := set.state[way]
		if readable(state) {
			t.tags.use(set, way)
			t.stats.ReadHits++
			t.readHit(ch, r, start)
			return true
		}
		if state&lineInFlight != 0 {
			t.tags.use(set, way)
			t.hitInFlight(r)
			t.wait(ch, t.mshrOf(row, state), r, start)
			return true
		}
	}
	if ch.freeMSHR == 0 {
		return false
	}
	if way < 0 {
		way = t.allocate(row, tag, start)
		if way < 0 {
			return false
		}
	} else {
		t.tags.use(set, way)
	}
	t.missed(r)
	n := int(ch.freeMSHR - 1)
	m := &t.mshrs[n]
	ch.freeMSHR = m.next
	at := t.tlb.Lookup(start+t.lookup, r.line)
	*m = mshr{set: int32(row), way: int32(way), late: at > start+t.lookup}
	set.fetch(way, n%t.cfg.MSHRsPerChannel, m)
	t.wait(ch, n, r, start)
	t.events.push(event{at: at, addr: r.line, id: uint32(n), kind: tccFetch})
	return true
}

func (t *TCC) write(row, way int, tag uint32, r *tccRequest, start int64) bool {
	if way < 0 {
		way = t.allocate(row, tag, start)
		if way < 0 {
			return false
		}
		t.stats.WriteMisses++
	} else {
		t.tags.use(&t.tags.sets[row], way)
		t.stats.WriteHits++
	}
	set := &t.tags.sets[row]
	if state := set.state[way]; state&lineInFlight != 0 {
		m := &t.mshrs[t.mshrOf(row, state)]
		m.dirty = uint16(min(int(m.dirty)+int(r.bytes), t.cfg.LineBytes))
	} else {
		set.write(way, int(r.bytes), t.cfg.LineBytes)
	}
	t.outstanding--
	t.client.WriteAcked(start+t.ack, int(r.cu), r.tag)
	return true
}

// allocate makes room for a line and returns its way, or -1 when every way of
// the set is in flight.
func (t *TCC) allocate(row int, tag uint32, start int64) int {
	set := &t.tags.sets[row]
	way := t.tags.victim(set)
	if way < 0 {
		return -1
	}
	if dirty := set.state[way] & lineDirtyMask; dirty != 0 {
		old := t.amap.join(row/t.sets, row%t.sets, set.tag[way]-1)
		t.events.push(event{at: start + t.lookup, addr: old, bytes: dirty, kind: tccWriteBack})
		if t.cfg.KeepLines {
			t.written = append(t.written, old)
		}
	}
	t.tags.install(set, way, tag, 0)
	return way
}

func (t *TCC) mshrOf(row int, state uint16) int {
	return row>>t.amap.setBits*t.cfg.MSHRsPerChannel + int(state&lineMSHRMask)
}

func (t *TCC) wait(ch *tccChannel, n int, r *tccRequest, start int64) {
	w := waiter{arrived: r.arrived, start: start, tag: r.tag, src: r.cu, atomic: r.atomic}
	m := &t.mshrs[n]
	if r.atomic.Bytes == 0 && ch.fifo.on() {
		if m.late {
			ch.fifo.late++
		} else {
			w.tag = uint32(ch.fifo.push(fifoEntry{arrived: r.arrived, start: start, tag: r.tag, cu: r.cu}))
		}
	}
	t.waiters, t.freeWait = appendWaiter(t.waiters, t.freeWait, m, w)
}

// Fill announces that the line of miss register id arrives at cycle at, which
// may lie ahead.
func (t *TCC) Fill(at int64, id uint32) {
	t.fills.push(event{at: at, id: id})
}

// Advance handles everything that happens inside at cycle now. Nothing earlier
// may be pending.
func (t *TCC) Advance(now int64) {
	for t.fills.nextAt() <= now {
		t.fill(now, t.fills.pop().id)
	}
	for t.events.nextAt() <= now {
		e := t.events.pop()
		switch e.kind {
		case tccFetch:
			t.mshrs[e.id].asked = now
			t.translated(e.id)
			t.client.Fetch(now, e.addr, e.id)
		case tccWriteBack:
			t.stats.WriteBacks++
			t.stats.WriteBackBytes += uint64(e.bytes)
			t.client.WriteBack(now, e.addr, int(e.bytes))
		}
	}
}

// fill answers all that waited for a line, frees its register and lets the
// channel go on.
func (t *TCC) fill(now int64, id uint32) {
	m := &t.mshrs[id]
	bank := int(id) / t.cfg.MSHRsPerChannel
	ch := &t.channels[bank]
	t.stats.Fills++
	t.stats.FillBytes += uint64(t.cfg.LineBytes)
	t.stats.fetched(now - m.asked)
	t.tags.sets[m.set].filled(int(m.way), m)
	for n := m.head; n != 0; {
		w := &t.waiters[n-1]
		if w.atomic.Bytes != 0 {
			t.outstanding--
			t.modifyFilled(now, ch, m, w)
		} else if ch.fifo.on() {
			ch.fifo.entries[w.tag].here = true
		} else {
			t.outstanding--
			at := max(now+t.answer, w.start+t.hit, ch.answerAt)
			ch.answerAt = at + t.readCost
			t.stats.answered(at - w.arrived)
			t.client.LineReturned(at, int(w.src), w.tag)
		}
		next := w.next
		w.next = t.freeWait
		t.freeWait = n
		n = next
	}
	m.head, m.tail = 0, 0
	m.next = ch.freeMSHR
	ch.freeMSHR = int32(id) + 1
	t.passData(now, ch)
	for ch.stallLen > 0 {
		r := &ch.stalled[ch.stallHead]
		if !t.serve(r, now) {
			return
		}
		ch.stallHead = (ch.stallHead + 1) % len(ch.stalled)
		ch.stallLen--
	}
}

// Dirty counts the lines that Flush would write back, and their bytes; the L2 may be busy.
func (t *TCC) Dirty() (lines, bytes int) {
	for row := range t.tags.sets {
		for _, state := range &t.tags.sets[row].state {
			dirty := int(state & lineDirtyMask)
			if state&lineInFlight != 0 {
				dirty = int(t.mshrs[t.mshrOf(row, state)].dirty)
			}
			if dirty != 0 {
				lines++
				bytes += dirty
			}
		}
	}
	return lines, bytes
}

// Flush writes back every dirty line and invalidates the cache, as the end of a
// kernel does, or leaves the lines in it, clean, when the spec says so. The L2 must
// be idle.
func (t *TCC) Flush(now int64) {
	for set := range t.sets {
		for bank := range t.channels {
			s := &t.tags.sets[bank*t.sets+set]
			for way, state := range &s.state {
				if dirty := int(state & lineDirtyMask); dirty != 0 {
					t.stats.WriteBacks++
					t.stats.WriteBackBytes += uint64(dirty)
					line := t.amap.join(bank, set, s.tag[way]-1)
					t.client.WriteBack(now, line, dirty)
					if t.cfg.KeepLines {
						t.written = append(t.written, line)
						s.clean(way)
					}
				}
			}
		}
	}
	if !t.cfg.KeepLines {
		t.tags.reset()
	}
}

// TakeWritten gives the lines that were written back since it was called last, at a
// flush or before, if the cache keeps lines: other L2s must not have them any more.
func (t *TCC) TakeWritten() []uint64 {
	w := t.written
	t.written = nil
	return w
}

// Empty invalidates every line and writes nothing back. The L2 must be idle.
func (t *TCC) Empty() { t.tags.reset() }

// Drop invalidates a line if it is here and clean, as when another L2 has written
// it. The L2 must be idle.
func (t *TCC) Drop(line uint64) {
	bank, set, tag := t.amap.split(line)
	s := &t.tags.sets[bank*t.sets+set]
	if way := s.lookup(tag); way >= 0 && s.state[way]&lineDirtyMask == 0 {
		s.tag[way], s.state[way] = 0, 0
	}
}
