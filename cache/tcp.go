package cache

import "fmt"

// TCPSpec sizes the vector L1 of one CU. Cycles are core clock cycles.
type TCPSpec struct {
	Bytes, LineBytes, Ways int
	QueueEntries           int  // VMEM instructions waiting for the tag lookup
	LineCycles             int  // tag lookup, per line touched
	AddressLanesPerCycle   int  // address coalescer: lanes per cycle, a floor per instruction
	WideLanesPerCycle      int  // the same of loads of more than a dword a lane
	HitLatencyCycles       int  // lookup to data at the consumer
	ReturnBytesPerCycle    int  // L2 to TCP bus, and TCP to consumer
	SetHash                bool // XOR-fold the line address into the set index
	SetHashBits            int  // of the address that the hash takes, from the lowest; 0 or 64: all
	StoreLineCycles        int  // per line segment written through
	StoreQueueEntries      int  // write-through segments awaiting acknowledgement
}

// MemKind is what a vector memory instruction does.
type MemKind uint8

// Kinds of vector memory instructions.
const (
	MemLoad         MemKind = iota // data to VGPRs
	MemLDSDMA                      // data to LDS
	MemStore                       // no data back; acknowledged
	MemAtomic                      // performed at L2; acknowledged
	MemAtomicReturn                // performed at L2; old data to VGPRs
)

// MemOp is one vector memory instruction on its way through the TCP.
type MemOp struct {
	Kind  MemKind
	Tag   uint32 // caller's name for it
	Bytes int32  // bytes moved to or from the consumer, of all 64 lanes, active or not
	Lanes uint8  // active lanes: the coalescer's work
	Base  uint64 // line aligned; Lines.Offset counts from it
	Lines *Lines
}

// Lines is the set of lines that an instruction touches, in lane order. It is
// shared by all instructions with the same pattern and must not change while
// one of them is queued.
type Lines struct {
	Offset []uint64 // bytes from MemOp.Base, multiples of the line size
	Size   []uint8  // bytes of each line; stores and atomics use it
	Same   []uint8  // atomics: the most lanes that address one word of the line; else empty
}

// writes reports that the L2 acknowledges what an instruction did.
func (k MemKind) writes() bool { return k >= MemStore }

// returns reports that data comes back.
func (k MemKind) returns() bool { return k != MemStore && k != MemAtomic }

// TCPDone reports that the data of an instruction is at its consumer's door
// (loads), or that its writes are acknowledged (stores), in issue order.
type TCPDone struct {
	Tag   uint32
	Kind  MemKind
	Bytes int32
	At    int64
}

// TCPStats counts what one TCP did.
type TCPStats struct {
	Instructions   uint64
	Requests       uint64 // line lookups of loads
	Hits           uint64 // data present
	HitsInFlight   uint64 // line allocated, data on its way
	Misses         uint64
	StoreSegments  uint64 // of stores and atomics
	Atomics        uint64 // of atomics
	BytesIn        uint64 // from L2
	BytesDelivered uint64 // to VGPRs and LDS
	BytesOut       uint64 // stores to L2
	BusyCycles     uint64 // lookup pipe busy
	StallSetFull   uint64 // cycles the lookup waited because every way of a set was in flight
	StallL2        uint64 // cycles the lookup waited for the L2 to accept
	StallStore     uint64 // cycles it waited for the store queue
	LatencySum     uint64 // lookup to data, misses
	Latency        Histogram
}

const noSlot = 0xffff

// waveLanes is the lanes that MemOp.Bytes counts.
const waveLanes = 64

// tcpLine is a slot of the cache, in a quarter of the host's cache line: the state
// of hundreds of caches competes for the host's.
type tcpLine struct {
	low   uint32 // of the line's number
	asked uint32 // in flight: cycle of the request, low bits
	// link is, in flight, who waits: noWaiter, an entry in flight, or chain and the
	// head of a list. Of a valid line it is the LRU list of its set: newer in the
	// low half, older in the high one.
	link uint32
	high uint16 // the rest of the number, and linePending
	next uint16 // hash chain, or chain of free slots
}

const (
	linePending = 1 << 15 // in high: a line in flight
	noWaiter    = 1<<32 - 1
	chain       = 1 << 31
)

func (l *tcpLine) pending() bool { return l.high&linePending != 0 }

func (l *tcpLine) newer() uint16 { return uint16(l.link) }
func (l *tcpLine) older() uint16 { return uint16(l.link >> 16) }

func (l *tcpLine) setNewer(i uint16) { l.link = l.link&^0xffff | uint32(i) }
func (l *tcpLine) setOlder(i uint16) { l.link = l.link&0xffff | uint32(i)<<16 }

// number is the line's address over the line size.
func (l *tcpLine) number() uint64 { return uint64(l.high&^linePending)<<32 | uint64(l.low) }

type tcpWaiter struct {
	op   uint32 // in-flight entry
	next uint32 // as tcpLine.link
}

type flight struct {
	ready     int64
	tag       uint32
	bytes     int32
	remaining int32
	next      int32 // in issue order, or the free list; -1 none
	kind      MemKind
	looked    bool // all lines looked up
}

// TCP is the vector L1 data cache of a CU with the queue in front of it: 64-way
// sets, a line is allocated from the miss to the return of its data, so that
// the cache's size bounds the bytes in flight (measured: 32 KiB in flight plus
// the queue). Loads return in order.
type TCP struct {
	spec TCPSpec
	l2   L2Port
	cu   int

	sets       int
	setBits    uint
	hashMask   uint64 // of a line number: what a hash of some bits takes; 0: all
	lineShift  uint
	busCycles  int64 // of a line from the L2
	lines      []tcpLine
	buckets    []uint16
	lruHead    []uint16 // oldest valid line of a set
	lruTail    []uint16
	free       []uint16 // per set: first free slot chain through next
	waiters    []tcpWaiter
	freeWaiter uint32 // as tcpLine.link

	queue      []MemOp // ring
	qHead, qN  int
	lineIdx    int   // next line of the head instruction
	opened     bool  // the head instruction has its in-flight entry
	pipeFree   int64 // lookup pipe free
	blockedOn  uint8 // set full: waits for a return
	blockSince int64

	inflight            []flight
	fHead, fTail, fFree int32 // oldest and youngest in flight, free list; -1 none
	fN                  int
	busFree             int64
	dataFree            int64 // TCP to consumer path
	storesOut           int
	Done                []TCPDone // appended in order; the CU drains it
	Stats               TCPStats
}

const (
	blockNone = iota
	blockSet
	blockStore
)

const writeTag = 1 << 31

// NewTCP builds the vector L1 of CU cu.
func NewTCP(s TCPSpec, cu int, l2 L2Port) (*TCP, error) {
	n := s.Bytes / s.LineBytes
	if n < s.Ways || n%s.Ways != 0 || n >= noSlot || s.LineBytes&(s.LineBytes-1) != 0 {
		return nil, fmt.Errorf("cache: vector L1 of %d bytes cannot be %d ways of %d byte lines", s.Bytes, s.Ways, s.LineBytes)
	}
	sets := n / s.Ways
	if sets&(sets-1) != 0 || sets > 256 {
		return nil, fmt.Errorf("cache: vector L1 has %d sets, want a power of two up to 256", sets)
	}
	t := &TCP{spec: s, l2: l2, cu: cu, sets: sets, busCycles: int64(s.LineBytes / max(s.ReturnBytesPerCycle, 1))}
	for 1<<t.lineShift < s.LineBytes {
		t.lineShift++
	}
	t.setBits = log2(sets)
	if b := s.SetHashBits; b > 0 && b < 64 {
		t.hashMask = uint64(1)<<max(b-int(t.lineShift), int(t.setBits)) - 1
	}
	t.lines = make([]tcpLine, n)
	nb := 1
	for nb < 2*n {
		nb *= 2
	}
	t.buckets = make([]uint16, nb)
	t.lruHead = make([]uint16, sets)
	t.lruTail = make([]uint16, sets)
	t.free = make([]uint16, sets)
	t.queue = make([]MemOp, s.QueueEntries)
	t.Reset()
	return t, nil
}

// Reset empties the cache between kernels; nothing may be in flight.
func (t *TCP) Reset() {
	for i := range t.buckets {
		t.buckets[i] = noSlot
	}
	for s := range t.lruHead {
		t.lruHead[s], t.lruTail[s], t.free[s] = noSlot, noSlot, noSlot
	}
	for i := range t.lines {
		s := t.setOfSlot(uint16(i))
		t.lines[i] = tcpLine{next: t.free[s], link: noWaiter}
		t.free[s] = uint16(i)
	}
	t.waiters, t.freeWaiter = t.waiters[:0], noWaiter
	t.inflight, t.fHead, t.fTail, t.fFree = t.inflight[:0], -1, -1, -1
}

// Full reports whether the queue in front of the lookup is full.
func (t *TCP) Full() bool { return t.qN == len(t.queue) }

// Free is how many instructions the queue in front of the lookup has room for.
func (t *TCP) Free() int { return len(t.queue) - t.qN }

// Slot returns the queue entry to fill for the next Push.
func (t *TCP) Slot() *MemOp { return &t.queue[(t.qHead+t.qN)%len(t.queue)] }

// Push enqueues the entry filled through Slot; the queue must not be full.
func (t *TCP) Push(now int64) {
	if t.qN == 0 {
		t.lineIdx = 0
		t.pipeFree = max(t.pipeFree, now)
	}
	t.qN++
	t.Stats.Instructions++
}

// setOf is the set of a line number.
func (t *TCP) setOf(n uint64) int {
	switch {
	case !t.spec.SetHash:
	case t.hashMask != 0: // within a page, say, as a cache that is looked up beside its TLB can
		n = fold(n&t.hashMask, t.setBits)
	default:
		n ^= n>>3 ^ n>>7 ^ n>>12 ^ n>>19
	}
	return int(n & uint64(t.sets-1))
}

func (t *TCP) bucketOf(n uint64) int {
	return int(n * 0x9e3779b97f4a7c15 >> 40 & uint64(len(t.buckets)-1))
}

// number is a line's number as the slots keep it: 47 bits, an address of 54.
func (t *TCP) number(line uint64) uint64 { return line >> t.lineShift & (1<<47 - 1) }

func (t *TCP) find(n uint64) int {
	for i := t.buckets[t.bucketOf(n)]; i != noSlot; i = t.lines[i].next {
		if l := &t.lines[i]; l.low == uint32(n) && l.high&^linePending == uint16(n>>32) {
			return int(i)
		}
	}
	return -1
}

// setOfSlot is the set that a slot belongs to: lines that follow each other are in
// different sets, and get slots that lie side by side.
func (t *TCP) setOfSlot(i uint16) int { return int(i) & (t.sets - 1) }

func (t *TCP) lruRemove(i uint16) {
	l := &t.lines[i]
	newer, older := l.newer(), l.older()
	if older != noSlot {
		t.lines[older].setNewer(newer)
	} else {
		t.lruHead[t.setOfSlot(i)] = newer
	}
	if newer != noSlot {
		t.lines[newer].setOlder(older)
	} else {
		t.lruTail[t.setOfSlot(i)] = older
	}
}

func (t *TCP) lruAppend(i uint16) {
	s := t.setOfSlot(i)
	last := t.lruTail[s]
	t.lines[i].link = noSlot | uint32(last)<<16
	if last != noSlot {
		t.lines[last].setNewer(i)
	} else {
		t.lruHead[s] = i
	}
	t.lruTail[s] = i
}

// alloc finds a slot for line number n in its set: a free one, else the least
// recently used line that is not in flight, else none.
func (t *TCP) alloc(n uint64) int {
	s := t.setOf(n)
	i := t.free[s]
	if i != noSlot {
		t.free[s] = t.lines[i].next
	} else {
		i = t.lruHead[s]
		if i == noSlot {
			return -1
		}
		t.lruRemove(i)
		t.unhash(i)
	}
	b := t.bucketOf(n)
	t.lines[i] = tcpLine{low: uint32(n), high: uint16(n>>32) | linePending, link: noWaiter, next: t.buckets[b]}
	t.buckets[b] = i
	return int(i)
}

func (t *TCP) unhash(i uint16) {
	p := &t.buckets[t.bucketOf(t.lines[i].number())]
	for *p != i {
		p = &t.lines[*p].next
	}
	*p = t.lines[i].next
}

func (t *TCP) release(i int) {
	t.unhash(uint16(i))
	s := t.setOfSlot(uint16(i))
	t.lines[i].next = t.free[s]
	t.free[s] = uint16(i)
}

// addWaiter makes the entry in flight op wait for a line. Only from the second on
// are waiters kept in a list.
func (t *TCP) addWaiter(slot int, op int32) {
	l := &t.lines[slot]
	switch {
	case l.link == noWaiter:
		l.link = uint32(op)
		return
	case l.link&chain == 0:
		l.link = t.newWaiter(l.link, noWaiter)
	}
	l.link = t.newWaiter(uint32(op), l.link)
}

func (t *TCP) newWaiter(op, next uint32) uint32 {
	w := t.freeWaiter
	if w == noWaiter {
		t.waiters = append(t.waiters, tcpWaiter{op, next})
		return chain | uint32(len(t.waiters)-1)
	}
	x := &t.waiters[w&^chain]
	t.freeWaiter = x.next
	*x = tcpWaiter{op, next}
	return w
}

// answer tells all that wait for a slot that its data are there at cycle at.
func (t *TCP) answer(l *tcpLine, at int64) {
	w := l.link
	for ; w != noWaiter && w&chain != 0; w = t.pop(w) {
		t.inflight[t.waiters[w&^chain].op].arrived(at)
	}
	if w != noWaiter {
		t.inflight[w].arrived(at)
	}
}

// pop frees a waiter and returns the next.
func (t *TCP) pop(w uint32) uint32 {
	x := &t.waiters[w&^chain]
	next := x.next
	x.next, t.freeWaiter = t.freeWaiter, w
	return next
}

// arrived notes that one of the entry's lines is there.
func (f *flight) arrived(at int64) {
	f.remaining--
	f.ready = max(f.ready, at)
}

// lookupQuantum is how many cycles of lookups one Step does: an issue slot.
const lookupQuantum = 4

// Step does the lookups that start before now+lookupQuantum and returns the
// next cycle with work, or Never.
func (t *TCP) Step(now int64) int64 {
	if t.qN == 0 {
		return Never
	}
	if t.pipeFree > now {
		return t.pipeFree
	}
	if t.blockedOn != blockNone {
		t.unblock(now)
	}
	for t.qN > 0 && t.pipeFree < now+lookupQuantum {
		op := &t.queue[t.qHead]
		if !t.opened {
			t.open(op)
		}
		if len(op.Lines.Offset) > 0 {
			if retry := t.lookup(now, op); retry != 0 {
				return retry
			}
		}
		t.lineIdx++
		if t.lineIdx >= len(op.Lines.Offset) {
			t.finishLookup(op)
		}
	}
	t.drain()
	if t.qN == 0 {
		return Never
	}
	return t.pipeFree
}

// open gives the head instruction its entry in flight.
func (t *TCP) open(op *MemOp) {
	i := t.fFree
	if i >= 0 {
		t.fFree = t.inflight[i].next
	} else {
		i = int32(len(t.inflight))
		t.inflight = append(t.inflight, flight{})
	}
	t.inflight[i] = flight{tag: op.Tag, kind: op.Kind, bytes: op.Bytes, next: -1}
	if t.fTail >= 0 {
		t.inflight[t.fTail].next = i
	} else {
		t.fHead = i
	}
	t.fTail = i
	t.fN++
	t.opened = true
}

// unblock books the stalled cycles under their cause.
func (t *TCP) unblock(now int64) {
	d := uint64(max(now-t.blockSince, 0))
	switch t.blockedOn {
	case blockSet:
		t.Stats.StallSetFull += d
	case blockStore:
		t.Stats.StallStore += d
	}
	t.blockedOn = blockNone
}

// lookup handles one line of the head instruction. It returns 0, or the cycle
// at which to try again (Never: an event will restart the pipe).
func (t *TCP) lookup(now int64, op *MemOp) int64 {
	fi := t.fTail
	f := &t.inflight[fi]
	line := op.Base + op.Lines.Offset[t.lineIdx]
	if op.Kind.writes() {
		return t.lookupWrite(now, op, f, fi, line)
	}
	n := t.number(line)
	if i := t.find(n); i >= 0 {
		t.Stats.Requests++
		if !t.lines[i].pending() {
			t.Stats.Hits++
			f.ready = max(f.ready, t.pipeFree+int64(t.spec.HitLatencyCycles))
			t.lruRemove(uint16(i))
			t.lruAppend(uint16(i))
		} else {
			t.Stats.HitsInFlight++
			f.remaining++
			t.addWaiter(i, fi)
		}
		t.advance(t.spec.LineCycles)
		return 0
	}
	i := t.alloc(n)
	if i < 0 {
		t.blockedOn, t.blockSince = blockSet, now
		return Never
	}
	if retry := t.l2.Read(now, t.cu, line, uint32(i)); retry != 0 {
		t.release(i)
		t.Stats.StallL2 += uint64(retry - now)
		t.pipeFree = max(t.pipeFree, retry)
		return retry
	}
	t.Stats.Requests++
	t.Stats.Misses++
	t.lines[i].asked = uint32(now)
	f.remaining++
	t.addWaiter(i, fi)
	t.advance(t.spec.LineCycles)
	return 0
}

func (t *TCP) lookupWrite(now int64, op *MemOp, f *flight, fi int32, line uint64) int64 {
	if t.storesOut >= t.spec.StoreQueueEntries {
		t.blockedOn, t.blockSince = blockStore, now
		return Never
	}
	n := int(op.Lines.Size[t.lineIdx])
	if retry := t.send(now, op, line, n, writeTag|uint32(fi)); retry != 0 {
		t.Stats.StallL2 += uint64(retry - now)
		t.pipeFree = max(t.pipeFree, retry)
		return retry
	}
	t.storesOut++
	t.Stats.StoreSegments++
	if op.Kind != MemStore {
		t.Stats.Atomics++
	}
	t.Stats.BytesOut += uint64(n)
	f.remaining++
	t.advance(t.spec.StoreLineCycles)
	return 0
}

// send passes one segment of a store or an atomic to the L2.
func (t *TCP) send(now int64, op *MemOp, line uint64, n int, tag uint32) int64 {
	if op.Kind == MemStore {
		return t.l2.Write(now, t.cu, line, n, tag)
	}
	a := Atomic{Bytes: uint8(n), Returns: op.Kind == MemAtomicReturn}
	if t.lineIdx < len(op.Lines.Same) {
		a.Same = op.Lines.Same[t.lineIdx]
	}
	return t.l2.Atomic(now, t.cu, line, a, tag)
}

func (t *TCP) advance(cycles int) {
	t.pipeFree += int64(cycles)
	t.Stats.BusyCycles += uint64(cycles)
}

// finishLookup retires the head instruction from the queue. An instruction
// with few lines still costs the coalescer its lanes.
func (t *TCP) finishLookup(op *MemOp) {
	per := t.spec.LineCycles
	if op.Kind.writes() {
		per = t.spec.StoreLineCycles
	}
	lanes := t.spec.AddressLanesPerCycle
	if !op.Kind.writes() && op.Bytes > 4*waveLanes {
		lanes = t.spec.WideLanesPerCycle
	}
	floor := (int(op.Lanes) + lanes - 1) / lanes
	if d := max(floor, 1) - len(op.Lines.Offset)*per; d > 0 {
		t.advance(d)
	}
	f := &t.inflight[t.fTail]
	f.looked = true
	f.ready = max(f.ready, t.pipeFree)
	if t.qHead++; t.qHead == len(t.queue) {
		t.qHead = 0
	}
	t.qN--
	t.lineIdx, t.opened = 0, false
}

// LineReturned takes the data of slot tag from the L2 at cycle now and returns
// the next cycle with work.
func (t *TCP) LineReturned(now int64, tag uint32) int64 {
	t.busFree = max(t.busFree, now) + t.busCycles
	at := t.busFree + int64(t.spec.HitLatencyCycles)
	l := &t.lines[tag]
	t.answer(l, at)
	lat := uint64(uint32(t.busFree) - l.asked)
	l.high &^= linePending
	t.lruAppend(uint16(tag))
	t.Stats.BytesIn += uint64(t.spec.LineBytes)
	t.Stats.LatencySum += lat
	t.Stats.Latency.Add(lat)
	t.drain()
	if t.blockedOn == blockSet {
		t.pipeFree = max(t.pipeFree, t.busFree)
		return t.pipeFree
	}
	return t.nextLookup()
}

// WriteAcked takes the acknowledgement of one written segment.
func (t *TCP) WriteAcked(now int64, tag uint32) int64 {
	f := &t.inflight[tag&^writeTag]
	f.remaining--
	if f.kind == MemAtomicReturn { // the old data come over the bus of the loads
		t.busFree = max(t.busFree, now) + t.busCycles
		now = t.busFree
	}
	f.ready = max(f.ready, now)
	t.storesOut--
	t.drain()
	if t.blockedOn == blockStore {
		t.pipeFree = max(t.pipeFree, now+1)
		return t.pipeFree
	}
	return t.nextLookup()
}

func (t *TCP) nextLookup() int64 {
	if t.qN == 0 || t.blockedOn != blockNone {
		return Never
	}
	return t.pipeFree
}

// drain completes instructions in issue order as far as their data is known.
func (t *TCP) drain() {
	for t.fN > 0 {
		f := &t.inflight[t.fHead]
		if !f.looked || f.remaining > 0 {
			return
		}
		at := f.ready
		if f.kind.returns() {
			// The path to the consumer moves ReturnBytesPerCycle, instructions one after the other.
			at = max(at, t.dataFree+int64(f.bytes)/int64(t.spec.ReturnBytesPerCycle))
			t.Stats.BytesDelivered += uint64(f.bytes)
		}
		at = max(at, t.dataFree)
		t.dataFree = at
		t.Done = append(t.Done, TCPDone{Tag: f.tag, Kind: f.kind, Bytes: f.bytes, At: at})
		i := t.fHead
		t.fHead = f.next
		if t.fHead < 0 {
			t.fTail = -1
		}
		f.next, t.fFree = t.fFree, i
		t.fN--
	}
}

// Busy reports whether anything is queued or in flight.
func (t *TCP) Busy() bool { return t.qN > 0 || t.fN > 0 }

// Merge adds the counts of another TCP.
func (s *TCPStats) Merge(o *TCPStats) {
	for _, p := range [...][2]*uint64{
		{&s.Instructions, &o.Instructions}, {&s.Requests, &o.Requests}, {&s.Hits, &o.Hits}, {&s.HitsInFlight, &o.HitsInFlight},
		{&s.Misses, &o.Misses}, {&s.StoreSegments, &o.StoreSegments}, {&s.Atomics, &o.Atomics}, {&s.BytesIn, &o.BytesIn}, {&s.BytesDelivered, &o.BytesDelivered},
		{&s.BytesOut, &o.BytesOut}, {&s.BusyCycles, &o.BusyCycles}, {&s.StallSetFull, &o.StallSetFull}, {&s.StallL2, &o.StallL2},
		{&s.StallStore, &o.StallStore}, {&s.LatencySum, &o.LatencySum},
	} {
		*p[0] += *p[1]
	}
	s.Latency.Merge(&o.Latency)
}

// Dump describes what the TCP is doing, for deadlock reports.
func (t *TCP) Dump() string {
	s := fmt.Sprintf("vector L1: %d queued, %d in flight, %d writes unacknowledged", t.qN, t.fN, t.storesOut)
	switch t.blockedOn {
	case blockSet:
		s += ", waiting for a line of a full set"
	case blockStore:
		s += ", waiting for a write acknowledgement"
	}
	return s
}

// Queued is how many instructions wait for the lookup, and how many have loads
// or lookups under way.
func (t *TCP) Queued() (waiting, inFlight int) { return t.qN, t.fN }
