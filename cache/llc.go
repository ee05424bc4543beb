package cache

import "fmt"

// LLCConfig describes the memory-side cache. Latencies are core clock cycles,
// converted from nanoseconds by the caller.
type LLCConfig struct {
	// LineBytes is the unit of the directory: the L2's line. Every request is
	// one such line, so halves of 64 bytes would always be accessed, placed and
	// evicted together, and keeping them apart would change nothing.
	Bytes, LineBytes, Ways, Slices  int
	InterleaveBytes                 int
	LatencyCycles                   int64   // lookup and data, unloaded
	GBs, CoreMHz                    float64 // of all slices; the clock that cycles are of
	MSHRsPerSlice                   int
	Paths                           int // by which requests of a source come, each nearly in order of time, as a queue of them wants it; 0: one
	FetchLines                      int // that a miss fetches, a power of two; 0 or 1: its own
	PrefetchLines                   int // that are fetched ahead of a run of reads; 0: none
	PrefetchBlock                   int // bytes of memory, a power of two, that fetching ahead does not leave
	AllocateOnRead, AllocateOnWrite bool
	SetHash, SliceHash              bool
	Replacement                     Replacement
	Seed                            uint64 // of the Random policy
}

// LLCClient takes the answers, in order of time.
type LLCClient interface {
	// Reply sends a line of a slice to the source that asked for it.
	Reply(now int64, src int, id uint32, slice int)
}

// LLC is the memory-side cache with the HBM behind it. It is shared by all
// XCDs and holds no coherence state: it caches memory, not requesters. Each
// slice serves its queue in order at its share of the bandwidth. Misses hold a
// register until the data come; a slice without a free one stops. Written lines
// are not fetched, as in the L2. HBM channels are interleaved as the slices are.
type LLC struct {
	cfg      LLCConfig
	client   LLCClient
	amap     addressMap
	tags     tags
	sets     int
	wheel    wheel
	arrivals []eventQueue // requests on their way here, by source and path
	arriveAt int64        // the earliest
	hbm      *hbm
	slices   []llcSlice
	mshrs    []mshr
	waiters  []waiter
	freeWait int32
	queued   []llcQueued // requests of stopped slices
	freeQ    int32
	stats    LevelStats
	sources  [256]SourceStats
	touched  uint64 // keeps reads from being optimised away

	announced []int32 // sets of the requests announced since the last Advance
}

type llcSlice struct {
	server     Server
	freeMSHR   int32
	freeCount  int
	head, tail int32 // queued requests while stopped, index + 1
}

type llcQueued struct {
	event
	next int32
}

const (
	llcRead uint8 = iota
	llcWrite
	llcReply
	llcMemoryRead
	llcMemoryWrite
	llcBus
	llcBankFree
	llcTurn
	llcRoom
	llcData
)

// NewLLC makes an empty LLC and the memory behind it.
func NewLLC(cfg LLCConfig, mem HBMConfig, client LLCClient) (*LLC, error) {
	amap, sets, err := geometry{
		what: "LLC", bytes: cfg.Bytes, lineBytes: cfg.LineBytes, ways: cfg.Ways, banks: cfg.Slices,
		interleave: cfg.InterleaveBytes, bankHash: cfg.SliceHash, setHash: cfg.SetHash, memoryHash: true,
	}.build()
	if err != nil {
		return nil, err
	}
	if err := cfg.Replacement.check("LLC", cfg.Ways); err != nil {
		return nil, err
	}
	if cfg.MSHRsPerSlice < 1 || cfg.MSHRsPerSlice >= lineMSHRLimit {
		return nil, fmt.Errorf("LLC: %d MSHRs per slice; 1 to %d are possible", cfg.MSHRsPerSlice, lineMSHRLimit-1)
	}
	if cfg.FetchLines&(cfg.FetchLines-1) != 0 || cfg.FetchLines < 0 {
		return nil, fmt.Errorf("LLC: a read miss brings %d lines; a power of two is possible", cfg.FetchLines)
	}
	if cfg.PrefetchLines < 0 || cfg.PrefetchLines > 0 && (cfg.PrefetchBlock < cfg.LineBytes || cfg.PrefetchBlock&(cfg.PrefetchBlock-1) != 0) {
		return nil, fmt.Errorf("LLC: fetches %d lines ahead in blocks of %d bytes; a power of two of at least a line is possible", cfg.PrefetchLines, cfg.PrefetchBlock)
	}
	if mem.Channels > 0 && cfg.Slices%mem.Channels != 0 && mem.Channels%cfg.Slices != 0 {
		return nil, fmt.Errorf("LLC: %d slices and %d HBM channels do not divide each other", cfg.Slices, mem.Channels)
	}
	l := &LLC{
		cfg: cfg, client: client, amap: amap, sets: sets,
		tags:   newTags(sets*cfg.Slices, cfg.Ways, cfg.Replacement, cfg.Seed),
		slices: make([]llcSlice, cfg.Slices), arriveAt: Never,
		mshrs: make([]mshr, cfg.Slices*cfg.MSHRsPerSlice),
	}
	if l.hbm, err = newHBM(mem, cfg.LineBytes, &l.wheel); err != nil {
		return nil, err
	}
	for s := range l.slices {
		sl := &l.slices[s]
		sl.server = NewServer(cfg.GBs/float64(cfg.Slices), cfg.CoreMHz)
		for i := range cfg.MSHRsPerSlice {
			n := int32(s*cfg.MSHRsPerSlice + i)
			l.mshrs[n].next = sl.freeMSHR
			sl.freeMSHR = n + 1
			sl.freeCount++
		}
	}
	return l, nil
}

// SourceStats counts what one requester of the LLC found there.
type SourceStats struct {
	Requests, Hits uint64 // hits on lines in flight count
}

// Source returns the counts of requester src since the last reset.
func (l *LLC) Source(src int) SourceStats { return l.sources[src] }

// Stats returns the counts since the last reset.
func (l *LLC) Stats() *LevelStats { return &l.stats }

// HBMStats returns the memory's counts since the last reset.
func (l *LLC) HBMStats() HBMStats {
	s := l.hbm.stats
	for i := range l.hbm.channels {
		s.BusyCycles += l.hbm.channels[i].bus.BusyCycles()
	}
	return s
}

// ResetStats clears the counts of LLC and memory.
func (l *LLC) ResetStats() {
	l.stats = LevelStats{}
	l.sources = [256]SourceStats{}
	l.hbm.stats = HBMStats{}
	for i := range l.slices {
		l.slices[i].server.ResetStats()
	}
	for i := range l.hbm.channels {
		l.hbm.channels[i].bus.ResetStats()
	}
}

// Slice returns the slice that a line belongs to.
func (l *LLC) Slice(line uint64) int {
	slice, _ := l.amap.local(line)
	return slice
}

// Read announces a line request of source src that arrives at cycle at over a path; the
// answer is LLCClient.Reply with id.
func (l *LLC) Read(at int64, src, path int, line uint64, id uint32) {
	l.coming(path, event{at: at, addr: line, id: id, src: uint8(src), kind: llcRead})
}

// Write announces dirty bytes of a line that arrive at cycle at.
func (l *LLC) Write(at int64, src, path int, line uint64, bytes int) {
	l.coming(path, event{at: at, addr: line, bytes: uint16(bytes), src: uint8(src), kind: llcWrite})
}

// coming notes a request and the set that will be looked up.
func (l *LLC) coming(path int, e event) {
	slice, set, _ := l.amap.split(e.addr)
	l.announced = append(l.announced, int32(slice*l.sets+set))
	lane := int(e.src)*max(1, l.cfg.Paths) + path
	for lane >= len(l.arrivals) {
		l.arrivals = append(l.arrivals, eventQueue{})
	}
	l.arrivals[lane].push(e)
	l.arriveAt = min(l.arriveAt, e.at)
}

// touch reads the announced sets, so that the host's misses on the directory
// overlap. It changes nothing in the model.
func (l *LLC) touch() {
	for _, row := range l.announced {
		s := &l.tags.sets[row]
		l.touched ^= s.order + uint64(s.tag[0])
	}
	l.announced = l.announced[:0]
}

// Next returns the cycle of the next event inside, or Never.
func (l *LLC) Next() int64 { return min(l.wheel.nextAt(), l.arriveAt) }

// Idle reports whether nothing is under way.
func (l *LLC) Idle() bool { return l.Next() == Never }

// Advance handles everything that happens at cycle now. Nothing earlier may be
// pending. Requests of a cycle come after what happens inside and in order of
// their source and path, so that it does not matter when they were announced.
func (l *LLC) Advance(now int64) {
	if len(l.announced) > 0 {
		l.touch()
	}
	l.inside(now)
	if l.arriveAt > now {
		return
	}
	l.arriveAt = Never
	for i := range l.arrivals {
		q := &l.arrivals[i]
		for q.nextAt() <= now {
			l.arrive(now, q.pop())
		}
		l.arriveAt = min(l.arriveAt, q.nextAt())
	}
	l.inside(now)
}

func (l *LLC) inside(now int64) {
	l.wheel.advance(now)
	for {
		e, ok := l.wheel.pop()
		if !ok {
			return
		}
		switch e.kind {
		case llcReply:
			l.client.Reply(now, int(e.src), e.id, int(e.bytes))
		case llcMemoryRead, llcMemoryWrite:
			slice, line := l.amap.local(e.addr)
			channel, line := l.channelOf(slice, line)
			l.hbm.request(now, channel, line, e.id, int(e.bytes), e.kind == llcMemoryWrite)
		case llcBus:
			l.hbm.access(now, int32(e.id))
		case llcRoom:
			l.room(now, int(e.id))
		case llcTurn:
			l.hbm.lookAgain(now, e.id)
		case llcBankFree:
			l.hbm.bankFree(now, int32(e.id))
		case llcData:
			l.fill(now, e.id)
		}
	}
}

// channelOf returns the memory channel of a slice's line and the line's number
// within it. As many slices as channels are matched one to one.
func (l *LLC) channelOf(slice int, line uint64) (int, uint64) {
	switch n := l.hbm.cfg.Channels; {
	case n == l.cfg.Slices:
		return slice, line
	case n < l.cfg.Slices:
		per := l.cfg.Slices / n
		return slice / per, line*uint64(per) + uint64(slice%per)
	default:
		per := uint64(n / l.cfg.Slices)
		unit := line >> l.amap.unitShift
		return slice*int(per) + int(unit%per), unit/per<<l.amap.unitShift | line&(1<<l.amap.unitShift-1)
	}
}

func (l *LLC) arrive(now int64, e *event) {
	l.sources[e.src].Requests++
	if e.kind == llcRead {
		l.stats.Reads++
		l.stats.ReadBytes += uint64(l.cfg.LineBytes)
	} else {
		l.stats.Writes++
		l.stats.WriteBytes += uint64(e.bytes)
	}
	slice, set, tag := l.amap.split(e.addr)
	sl := &l.slices[slice]
	if sl.head == 0 && l.serve(now, slice, set, tag, e) {
		return
	}
	l.stats.StalledRequests++
	var n int32
	if l.freeQ != 0 {
		n = l.freeQ
		l.freeQ = l.queued[n-1].next
		l.queued[n-1] = llcQueued{event: *e}
	} else {
		l.queued = append(l.queued, llcQueued{event: *e})
		n = int32(len(l.queued))
	}
	if sl.tail != 0 {
		l.queued[sl.tail-1].next = n
	} else {
		sl.head = n
	}
	sl.tail = n
}

// serve gives a request its turn, not before now; false: no register or way is
// free.
func (l *LLC) serve(now int64, slice, set int, tag uint32, e *event) bool {
	sl := &l.slices[slice]
	row := slice*l.sets + set
	way := l.tags.sets[row].lookup(tag)
	start := sl.server.Start(now)
	if e.kind == llcWrite {
		if !l.write(row, way, tag, e, start) {
			return false
		}
		sl.server.Claim(now, int(e.bytes))
	} else {
		if !l.read(sl, row, way, tag, e, start) {
			return false
		}
		sl.server.Claim(now, l.cfg.LineBytes)
	}
	l.stats.waited(start - e.at)
	return true
}

func (l *LLC) read(sl *llcSlice, row, way int, tag uint32, e *event, start int64) bool {
	set := &l.tags.sets[row]
	if way >= 0 {
		state := set.state[way]
		if readable(state) {
			l.tags.use(set, way)
			ahead := state&lineUnasked != 0
			l.countFound(e, ahead)
			l.reply(start+l.cfg.LatencyCycles, e, row/l.sets)
			if ahead {
				set.state[way] &^= lineUnasked | lineInRun
				l.fetchOn(e.addr, state&lineInRun != 0, start)
			}
			return true
		}
		if state&lineInFlight != 0 {
			l.tags.use(set, way)
			n := l.mshrOf(row, state)
			m := &l.mshrs[n]
			if !m.unasked {
				l.stats.ReadHitsInFlight++
			}
			ahead := m.unasked
			l.countFound(e, ahead)
			m.unasked = false
			l.wait(n, e, start)
			if ahead {
				l.fetchOn(e.addr, m.inRun, start)
			}
			return true
		}
	}
	if sl.freeMSHR == 0 {
		return false
	}
	if way >= 0 {
		l.tags.use(set, way)
	} else if l.cfg.AllocateOnRead {
		if way = l.allocate(row, tag, start); way < 0 {
			return false
		}
	}
	l.stats.ReadMisses++
	n := l.takeMSHR(sl, row, way)
	l.wait(n, e, start)
	l.wheel.push(event{at: start + l.cfg.LatencyCycles, addr: e.addr, id: uint32(n), bytes: uint16(l.cfg.LineBytes), kind: llcMemoryRead})
	if l.cfg.AllocateOnRead && l.cfg.FetchLines > 1 {
		l.fetchBeside(sl, e.addr, start)
	}
	if l.cfg.AllocateOnRead {
		l.fetchAhead(e.addr, 1, min(1, l.cfg.PrefetchLines), false, start)
	}
	return true
}

func (l *LLC) mshrOf(row int, state uint16) int {
	return row/l.sets*l.cfg.MSHRsPerSlice + int(state&lineMSHRMask)
}

func (l *LLC) write(row, way int, tag uint32, e *event, start int64) bool {
	set := &l.tags.sets[row]
	if way < 0 {
		if !l.cfg.AllocateOnWrite {
			if !l.writeBack(start+l.cfg.LatencyCycles, e.addr, e.bytes) {
				return false
			}
			l.stats.WriteMisses++
			return true
		}
		if way = l.allocate(row, tag, start); way < 0 {
			return false
		}
		l.stats.WriteMisses++
	} else {
		l.tags.use(set, way)
		l.stats.WriteHits++
		l.sources[e.src].Hits++
	}
	if state := set.state[way]; state&lineInFlight != 0 {
		m := &l.mshrs[l.mshrOf(row, state)]
		m.unasked = false
		m.dirty = uint16(min(int(m.dirty)+int(e.bytes), l.cfg.LineBytes))
	} else {
		set.state[way] &^= lineUnasked | lineInRun
		set.write(way, int(e.bytes), l.cfg.LineBytes)
	}
	return true
}

func (l *LLC) allocate(row int, tag uint32, start int64) int {
	set := &l.tags.sets[row]
	way := l.tags.victim(set)
	if way < 0 {
		return -1
	}
	if dirty := set.state[way] & lineDirtyMask; dirty != 0 {
		old := l.amap.join(row/l.sets, row%l.sets, set.tag[way]-1)
		if !l.writeBack(start+l.cfg.LatencyCycles, old, dirty) {
			return -1
		}
	}
	l.tags.install(set, way, tag, 0)
	return way
}

// writeBack sends dirty bytes to memory; false: its channel takes no more.
func (l *LLC) writeBack(at int64, line uint64, bytes uint16) bool {
	channel, _ := l.channelOf(l.amap.local(line))
	if !l.hbm.post(channel) {
		return false
	}
	l.stats.WriteBacks++
	l.stats.WriteBackBytes += uint64(bytes)
	l.wheel.push(event{at: at, addr: line, bytes: bytes, kind: llcMemoryWrite})
	return true
}

// room lets the slices go on that stopped because a channel took no more writes.
func (l *LLC) room(now int64, channel int) {
	n, slices := l.hbm.cfg.Channels, l.cfg.Slices
	if n > slices {
		l.resume(now, channel/(n/slices))
		return
	}
	per := slices / n
	for s := channel * per; s < (channel+1)*per; s++ {
		l.resume(now, s)
	}
}

func (l *LLC) wait(n int, e *event, start int64) {
	w := waiter{arrived: e.at, start: start, tag: e.id, src: e.src}
	l.waiters, l.freeWait = appendWaiter(l.waiters, l.freeWait, &l.mshrs[n], w)
}

func (l *LLC) reply(at int64, e *event, slice int) {
	l.stats.answered(at - e.at)
	l.wheel.push(event{at: at, id: e.id, src: e.src, bytes: uint16(slice), kind: llcReply})
}

// fill answers all that waited for a line of memory and frees its register.
func (l *LLC) fill(now int64, id uint32) {
	m := &l.mshrs[id]
	slice := int(id) / l.cfg.MSHRsPerSlice
	sl := &l.slices[slice]
	l.stats.Fills++
	l.stats.FillBytes += uint64(l.cfg.LineBytes)
	if m.way >= 0 {
		l.tags.sets[m.set].filled(int(m.way), m)
	}
	for n := m.head; n != 0; {
		w := &l.waiters[n-1]
		at := max(now, w.start+l.cfg.LatencyCycles)
		l.stats.answered(at - w.arrived)
		l.wheel.push(event{at: at, id: w.tag, src: w.src, bytes: uint16(slice), kind: llcReply})
		next := w.next
		w.next = l.freeWait
		l.freeWait = n
		n = next
	}
	m.head, m.tail = 0, 0
	m.next = sl.freeMSHR
	sl.freeMSHR = int32(id) + 1
	sl.freeCount++
	l.resume(now, slice)
}

// resume serves the requests that wait at a slice, as far as it can.
func (l *LLC) resume(now int64, slice int) {
	sl := &l.slices[slice]
	for sl.head != 0 {
		n := sl.head
		q := &l.queued[n-1]
		_, set, tag := l.amap.split(q.addr)
		if !l.serve(now, slice, set, tag, &q.event) {
			return
		}
		sl.head = q.next
		if sl.head == 0 {
			sl.tail = 0
		}
		q.next = l.freeQ
		l.freeQ = n
	}
}

// Warm places a line as an earlier launch left it: read, or written when dirty.
// It takes no time and moves no bytes.
func (l *LLC) Warm(line uint64, dirty bool) {
	slice, index, tag := l.amap.split(line)
	set := &l.tags.sets[slice*l.sets+index]
	way := set.lookup(tag)
	if way < 0 {
		if way = l.tags.victim(set); way < 0 {
			return
		}
		l.tags.install(set, way, tag, lineReadable)
	}
	l.tags.use(set, way)
	if dirty && set.state[way]&lineInFlight == 0 {
		set.write(way, l.cfg.LineBytes, l.cfg.LineBytes)
	}
}

// Empty invalidates every line. Nothing may be under way.
func (l *LLC) Empty() { l.tags.reset() }
