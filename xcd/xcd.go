package xcd

import (
	"fmt"

	"github.com/sarchlab/akita/v4/sim"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/cu"
)

// ComputeUnit is what an XCD drives. Cycles never decrease from call to call. A
// returned next cycle is the earliest at which the CU must be stepped again,
// cache.Never when only memory or a launch can change its state; it replaces
// what was returned before.
type ComputeUnit interface {
	// Step advances to now.
	Step(now int64) (next int64)
	// LineReturned brings the data of a Read to the CU's port.
	LineReturned(now int64, tag uint32) (next int64)
	// WriteAcked acknowledges a Write.
	WriteAcked(now int64, tag uint32) (next int64)
	// Room returns how many more workgroups of the running kernel fit.
	Room() int
	// Launch starts a workgroup, given by its linear dispatch index. The CU
	// calls its done function when the workgroup has ended.
	Launch(now int64, wg int) (next int64)
}

// Failer is implemented by a CU that can meet an error in the kernel it runs.
type Failer interface{ Err() error }

// Dumper is implemented by a CU that can say what its waves wait for.
type Dumper interface{ Dump() string }

// toucher is implemented by a CU that can bring its state into the host's
// caches before it is run, in cu.TouchSteps steps.
type toucher interface{ Touch(step int) uint64 }

// XCD is one accelerator die: its CUs, its L2 and its dispatcher.
type XCD struct {
	*sim.ComponentBase

	index      int
	engine     *Engine
	waker      waker
	memory     sim.Port
	control    sim.Port
	commander  sim.RemotePort
	cus        []ComputeUnit
	failers    []Failer
	touchers   []toucher
	next       []int64   // per CU: its next wake
	inbox      []inbox   // per CU: what memory brings
	unread     int       // answers in the inboxes
	touched    uint64    // keeps reads from being optimised away
	requests   []request // of the quantum, CUs in order
	asking     []askedAt // by cycle of the quantum
	lanes      []lane    // by L2 channel
	crossbarAt int64     // the earliest lane
	quantum    int64
	begin      int64 // of the quantum
	back       bool  // the quantum's CUs are run from the last block to the first
	block      int32 // of the CUs that are run now, + 1
	l2         *cache.TCC
	dispatch   *dispatcher
	out        burstSender
	link       cache.Server // towards the IOD
	latency    int64        // to the IOD, one way
	toCommand  int64        // to the command processor
	reqBytes   int
	everyCycle bool
	err        error

	now       int64
	launchAt  int64 // arrival of a launch not yet begun, or cache.Never
	kernel    *Control
	firstWave int64
	lastEnd   int64
	activeAt  int64 // the last cycle in which a workgroup ended or the L2 did anything
	fabric    FabricStats
}

// answer is data or an acknowledgement on its way to a CU.
type answer struct {
	at    int64
	tag   uint32
	write bool
}

// inbox holds the answers to one CU in order of time, and of the L2's decision
// within a cycle.
type inbox struct {
	answers []answer
	head    int
}

func (b *inbox) next() int64 {
	if b.head == len(b.answers) {
		return cache.Never
	}
	return b.answers[b.head].at
}

// touch reads the answers before cycle to, as Touch of a CU does its state.
func (b *inbox) touch(to int64) uint64 {
	var x uint64
	for i := b.head; i < len(b.answers) && b.answers[i].at < to; i += 4 {
		x += uint64(b.answers[i].tag)
	}
	return x
}

// put adds an answer. Answers are nearly in order, so few are moved.
func (b *inbox) put(a answer) {
	if b.head == len(b.answers) {
		b.answers, b.head = b.answers[:0], 0
	} else if len(b.answers) == cap(b.answers) && b.head > 0 {
		b.answers = b.answers[:copy(b.answers, b.answers[b.head:])]
		b.head = 0
	}
	b.answers = append(b.answers, a)
	s := b.answers
	i := len(s) - 1
	for ; i > b.head && s[i-1].at > a.at; i-- {
		s[i] = s[i-1]
	}
	s[i] = a
}

// request is a line that a CU asks the L2 for.
type request struct {
	line  uint64
	place cache.Place
	tag   uint32
	bytes uint16 // 0: a read or an atomic
	cu    uint8
	a     cache.Atomic // Bytes is 0 in reads and writes
	next  int32        // of the same cycle, index + 1
}

// askedAt is the list of the requests of one cycle, index + 1, CUs in order. All
// requests of a quantum lie in one place, which stays in the host's caches.
type askedAt struct {
	first, last int32
	block, mine int32 // when CUs run backwards: the last block + 1, and its last request
}

// Handle runs the die to the end of the window, quantum by quantum. Nothing
// that a CU does can come back to it, or to another CU, in less than the L2's
// lookahead, so within a quantum of that length each CU runs on its own: first
// the CUs, one after the other, then the L2 with what they asked for, in order
// of time and CU. Quanta lie in the window one behind the other, wherever something
// happens. The result is that of running all of them cycle by cycle, except that the
// CUs that share instruction and scalar caches see them in the order in which they
// are run within a quantum: that of their numbers, and of those in two blocks (see
// runCUs) in every second quantum the second block's first.
func (x *XCD) Handle(e sim.Event) error {
	if !x.waker.due(e) {
		return nil
	}
	for {
		from := x.nextCycle()
		if from >= x.engine.end {
			break
		}
		x.now = from
		x.launch(from)
		n := (from - x.engine.begin) / x.quantum
		to := min(x.engine.begin+(n+1)*x.quantum, x.engine.end)
		x.back = x.engine.back != (n&1 != 0)
		for _, at := range []int64{x.dispatch.at, x.launchAt} {
			if at > from {
				to = min(to, at) // a CU is told of a launch when its time has come
			}
		}
		x.runCUs(from, to)
		x.runL2(from, to)
		if x.err != nil {
			return x.err
		}
		if x.dispatch.active && x.dispatch.done() && x.l2.Idle() && x.unread == 0 && x.crossbarAt == cache.Never {
			x.finish(x.activeAt)
		}
	}
	x.out.flush()
	if at := x.nextCycle(); at != cache.Never {
		x.waker.wake(at)
	}
	return nil
}

func (x *XCD) nextCycle() int64 {
	at := min(x.l2.Next(), x.dispatch.at, x.launchAt)
	for i, n := range x.next {
		at = min(at, n, x.inbox[i].next())
	}
	at = min(at, x.crossbarAt)
	if x.everyCycle && x.dispatch.active {
		at = min(at, x.now+1)
	}
	return max(at, x.now)
}

// launch starts what the command processor and the dispatcher have for cycle
// now.
func (x *XCD) launch(now int64) {
	if x.launchAt <= now {
		x.launchAt = cache.Never
		x.firstWave, x.lastEnd, x.activeAt = cache.Never, now, now
		x.dispatch.begin(now, x.kernel.List, x.kernel.Waves)
	}
	if x.dispatch.at <= now {
		if x.firstWave == cache.Never {
			x.firstWave = now
		}
		x.dispatch.step(now, x.next)
	}
}

// runCUs brings every CU from cycle from to cycle to, exclusive. A workgroup
// that ends meanwhile makes room for another after a gap, which is no shorter
// than the quantum.
func (x *XCD) runCUs(from, to int64) {
	x.begin = from
	blocks := (len(x.cus) + touchedTogether - 1) / touchedTogether
	for n := range blocks {
		if x.back {
			n = blocks - 1 - n
		}
		x.block = int32(n) + 1
		at := n * touchedTogether
		end := min(at+touchedTogether, len(x.cus))
		x.touch(at, end, to)
		for i := at; i < end; i++ {
			x.runCU(i, from, to)
		}
	}
}

// touchedTogether is for how many CUs the host's misses overlap: their state fits
// the second of its caches.
const touchedTogether = 8

// touch brings the state of those CUs of [first, end) that will run before cycle
// to into the host's caches.
func (x *XCD) touch(first, end int, to int64) {
	for step := range cu.TouchSteps {
		for i := first; i < end; i++ {
			t, in := x.touchers[i], &x.inbox[i]
			if t == nil || min(x.next[i], in.next()) >= to {
				continue
			}
			x.touched += t.Touch(step)
			if step == 0 {
				x.touched += in.touch(to)
			}
		}
	}
}

func (x *XCD) runCU(cu int, from, to int64) {
	c, next, in := x.cus[cu], x.next[cu], &x.inbox[cu]
	if min(next, in.next()) >= to && !x.everyCycle {
		return
	}
	if x.everyCycle && x.dispatch.active {
		next = from
	}
	for {
		at := min(next, in.next())
		if at >= to {
			break
		}
		x.now = max(x.now, at)
		for in.next() == at {
			a := &in.answers[in.head]
			in.head++
			x.unread--
			if a.write {
				next = max(at, c.WriteAcked(at, a.tag))
			} else {
				next = max(at, c.LineReturned(at, a.tag))
			}
		}
		if next > at {
			continue
		}
		next = c.Step(at)
		if next <= at {
			x.err = fmt.Errorf("%s: CU %d at cycle %d asks to be stepped at cycle %d again", x.Name(), cu, at, next)
			return
		}
		if x.everyCycle && x.dispatch.active {
			next = at + 1
		}
	}
	x.next[cu] = next
	if f := x.failers[cu]; f != nil && f.Err() != nil && x.err == nil {
		x.err = fmt.Errorf("%s: CU %d: %w", x.Name(), cu, f.Err())
	}
}

// runL2 hands the quantum's requests to the L2 in order of time, together with
// what happens inside it.
func (x *XCD) runL2(from, to int64) {
	x.touched += x.l2.TouchFills(to)
	for i := range x.requests { // the host's misses overlap here
		x.touched += x.l2.Touch(x.requests[i].place)
	}
	asked := from
	for {
		for asked < to && x.asking[asked-from].first == 0 {
			asked++
		}
		at := x.l2.Next()
		if asked < to {
			at = min(at, asked)
		}
		at = min(at, x.crossbarAt)
		if at >= to {
			x.requests = x.requests[:0]
			return
		}
		at = max(at, from)
		x.now = max(x.now, at)
		x.activeAt = max(x.activeAt, at)
		x.l2.Advance(at)
		if x.crossbarAt <= at {
			x.retry(at)
		}
		if asked == at {
			a := &x.asking[at-from]
			for n := a.first; n != 0; n = x.requests[n-1].next {
				x.offer(at, &x.requests[n-1])
			}
			*a = askedAt{}
		}
	}
}

// offer asks the L2, behind those that wait for the same channel already.
func (x *XCD) offer(at int64, r *request) {
	l := &x.lanes[r.place.Channel]
	if l.empty() {
		retry := x.ask(at, r)
		if retry == 0 {
			return
		}
		l.at = retry
		x.crossbarAt = min(x.crossbarAt, retry)
	}
	l.waiting = append(l.waiting, *r)
}

func (x *XCD) ask(at int64, r *request) (retry int64) {
	if r.a.Bytes != 0 {
		return x.l2.AtomicAt(at, int(r.cu), r.line, r.place, r.a, r.tag)
	}
	if r.bytes == 0 {
		return x.l2.ReadAt(at, int(r.cu), r.line, r.place, r.tag)
	}
	return x.l2.WriteAt(at, int(r.cu), r.line, r.place, int(r.bytes), r.tag)
}

// retry lets the lanes that are due ask again.
func (x *XCD) retry(now int64) {
	x.crossbarAt = cache.Never
	for i := range x.lanes {
		l := &x.lanes[i]
		for l.at <= now {
			if l.at = x.ask(now, &l.waiting[l.head]); l.at == 0 {
				l.at = now
				l.pop()
			}
		}
		x.crossbarAt = min(x.crossbarAt, l.at)
	}
}

// workgroupDone is called by a CU while it is stepped.
func (x *XCD) workgroupDone(cu int, now int64) {
	x.lastEnd = max(x.lastEnd, now)
	x.activeAt = max(x.activeAt, now)
	x.dispatch.ended(now, cu)
}

// finish writes the dirty lines back, invalidates the L2 (or keeps its lines) and tells the command
// processor. The message follows the last write-back on the link, so it arrives
// when the data have reached the XCD's IOD; for those that go on to another, Run waits.
func (x *XCD) finish(now int64) {
	x.dispatch.active = false
	x.l2.Flush(now)
	x.out.flush()
	depart := x.link.Claim(now, x.reqBytes)
	x.fabric.RequestBytes += uint64(x.reqBytes)
	send(x.control, x.commander, &Control{Kind: ControlComplete, Sent: now, Arrive: depart + x.toCommand}, 0)
}

// request notes what a CU asks for in cycle now of the quantum.
func (x *XCD) request(now int64, r request) {
	x.requests = append(x.requests, r)
	n := int32(len(x.requests))
	a := &x.asking[now-x.begin]
	switch {
	case a.first == 0:
		a.first, a.last = n, n
	case !x.back:
		x.requests[a.last-1].next = n
		a.last = n
	case a.block != x.block: // before those of the CUs that have run
		x.requests[n-1].next = a.first
		a.first = n
	default:
		m := &x.requests[a.mine-1]
		x.requests[n-1].next = m.next
		if m.next = n; a.mine == a.last {
			a.last = n
		}
	}
	a.block, a.mine = x.block, n
}

// Read implements cache.L2Port. The crossbar takes every request: what a CU can
// have outstanding is bounded by its vector L1.
func (x *XCD) Read(now int64, cu int, line uint64, tag uint32) int64 {
	x.request(now, request{line: line, place: x.l2.Locate(line), tag: tag, cu: uint8(cu)})
	return 0
}

// Write implements cache.L2Port.
func (x *XCD) Write(now int64, cu int, line uint64, bytes int, tag uint32) int64 {
	x.request(now, request{line: line, place: x.l2.Locate(line), tag: tag, bytes: uint16(max(1, bytes)), cu: uint8(cu)})
	return 0
}

// Atomic implements cache.L2Port.
func (x *XCD) Atomic(now int64, cu int, line uint64, a cache.Atomic, tag uint32) int64 {
	a.Bytes = max(1, a.Bytes)
	x.request(now, request{line: line, place: x.l2.Locate(line), tag: tag, a: a, cu: uint8(cu)})
	return 0
}

// LineReturned implements cache.TCCClient.
func (x *XCD) LineReturned(at int64, cu int, tag uint32) {
	x.activeAt = max(x.activeAt, at)
	x.unread++
	x.inbox[cu].put(answer{at: at, tag: tag})
}

// WriteAcked implements cache.TCCClient.
func (x *XCD) WriteAcked(at int64, cu int, tag uint32) {
	x.activeAt = max(x.activeAt, at)
	x.unread++
	x.inbox[cu].put(answer{at: at, tag: tag, write: true})
}

// Fetch implements cache.TCCClient: a request takes RequestBytes of the link.
func (x *XCD) Fetch(now int64, line uint64, id uint32) {
	depart := x.link.Claim(now, x.reqBytes)
	x.fabric.RequestBytes += uint64(x.reqBytes)
	x.fabric.waited(depart - now)
	x.out.add(BurstLine{Address: line, Depart: depart, ID: id, Kind: LineRead})
}

// WriteBack implements cache.TCCClient.
func (x *XCD) WriteBack(now int64, line uint64, bytes int) {
	depart := x.link.Claim(now, x.reqBytes+bytes)
	x.fabric.RequestBytes += uint64(x.reqBytes)
	x.fabric.WriteBytes += uint64(bytes)
	x.fabric.waited(depart - now)
	x.out.add(BurstLine{Address: line, Depart: depart, Bytes: uint16(bytes), Kind: LineWrite})
}

// NotifyRecv takes messages between windows.
func (x *XCD) NotifyRecv(p sim.Port) {
	for m := p.RetrieveIncoming(); m != nil; m = p.RetrieveIncoming() {
		switch m := m.(type) {
		case *LineBurst:
			first := cache.Never
			for i := range m.N {
				l := &m.Lines[i]
				at := l.Depart + x.latency
				x.l2.Fill(at, l.ID)
				first = min(first, at)
			}
			m.Release()
			x.waker.wake(first)
		case *Control:
			x.kernel, x.launchAt = m, m.Arrive
			x.waker.wake(m.Arrive)
		}
	}
}

// NotifyPortFree implements sim.Component; ports never fill.
func (x *XCD) NotifyPortFree(sim.Port) {}

// busy reports whether a launch has not completed.
func (x *XCD) busy() bool { return x.dispatch.active || x.launchAt != cache.Never }

// dump says what the CUs wait for.
func (x *XCD) dump() string {
	s := fmt.Sprintf("%s: %d of %d workgroups ended, %d launched\n", x.Name(), x.dispatch.finished, x.dispatch.list.count, x.dispatch.next)
	for i, c := range x.cus {
		if d, ok := c.(Dumper); ok && x.dispatch.load[i] > 0 {
			s += fmt.Sprintf("CU %d: %s\n", i, d.Dump())
		}
	}
	return s
}

// lane is the crossbar's queue for one L2 channel: requests that the channel's
// own queue had no room for, in order.
type lane struct {
	waiting []request
	head    int
	at      int64 // when the first may ask again; cache.Never when none waits
}

func (l *lane) empty() bool { return l.head == len(l.waiting) }

func (l *lane) pop() {
	l.head++
	if l.empty() {
		l.waiting, l.head, l.at = l.waiting[:0], 0, cache.Never
	}
}
