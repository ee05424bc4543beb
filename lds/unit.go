package lds

import (
	"fmt"
	"math"
)

// Never is a cycle that does not come: nothing is pending.
const Never int64 = math.MaxInt64

// Pairs is the number of SIMD pairs of a CU; pair = SIMD/2.
const Pairs = 2

// Spec holds the constants of one CU's LDS. All cycles are core clock cycles.
type Spec struct {
	// PairPortBytesPerCycle is the width of a SIMD pair's port, each direction:
	// 64 on gfx942 (rocprofiler-compute pipeline descriptions), 128 on gfx950
	// (gfx950-gluon-tutorials lds_throughput.md 1.2, 1.4).
	PairPortBytesPerCycle int
	// FIFOEntries is the depth of a pair's request FIFO: 8, reads and writes
	// together (lds_throughput.md 1.6).
	FIFOEntries int
	// LatencyCycles is the pipeline time of a request beyond its inbound
	// transfer and its bank or return-bus time.
	LatencyCycles int
	// QueueCycles is the part of LatencyCycles that lies before the banks. A
	// request holds its FIFO entry meanwhile, so it decides how many requests
	// of a burst are taken at the issue rate: 22 reproduces a thread trace of
	// four contending waves on MI325X (TestTraceBurst).
	QueueCycles int
	// FillBytesPerCycle is the width at which direct-to-LDS data is written.
	FillBytesPerCycle int
}

// BusCycles returns the port cycles of an instruction: inbound for 64 addresses
// of 4 bytes and inBytes of data per lane, outbound for outBytes per lane. The
// buses move all 64 lanes whatever EXEC is. gfx942's ds_write_b128 is thus
// 4 + 16 cycles, as measured.
func (s Spec) BusCycles(inBytes, outBytes int) (in, out int32) {
	w := s.PairPortBytesPerCycle
	return int32((Lanes*(4+inBytes) + w - 1) / w), int32((Lanes*outBytes + w - 1) / w)
}

// Request is one LDS instruction of a wave on its way to the banks.
type Request struct {
	Service int32  // bank cycles, from Table.Analyze
	In      int32  // inbound bus cycles
	Out     int32  // return bus cycles; 0 for a write
	Tag     uint32 // comes back in Completion
	Pair    uint8  // SIMD / 2
	Side    uint8  // SIMD & 1: each SIMD of a pair has its own latch at the port
}

// Completion tells that a request's data is in the VGPRs (a read), or in LDS (a
// write or a fill), from cycle At on.
type Completion struct {
	Tag  uint32
	At   int64
	Fill bool
}

// Stats are busy times of the unit, in cycles, and counts.
type Stats struct {
	Requests, Fills     int64
	ServiceCycles       int64 // banks, for instructions
	FillCycles          int64 // banks, for direct-to-LDS data
	InCycles, OutCycles [Pairs]int64
	ReturnBlockedCycles int64 // head read waited for its return bus, banks idle
	FillQueueMax        int
}

type entry struct {
	ready int64 // earliest bank cycle
	req   Request
}

type pair struct {
	portFree   int64 // inbound bus
	latchFree  [2]int64
	returnFree int64
	lastAt     int64 // completion of the youngest granted: completions stay in order
	fifo       []entry
	head, n    int

	// A FIFO entry that frees while both SIMDs wait belongs to the one that
	// has waited longer, until it has had its turn to issue.
	waiting       [2]bool
	since         [2]int64
	reserved      bool
	reservedFor   uint8
	reservedUntil int64
}

// visitCycles is how often the sequencer visits a SIMD (one
// SIMD a cycle, round robin; rocprofiler-compute): a waiting instruction retries within it.
const visitCycles = 4

type fillEntry struct {
	ready  int64
	cycles int32
	tag    uint32
}

// The queues that compete for the banks: the pairs, then the fills.
const (
	fillQueue = Pairs
	numQueues = Pairs + 1
)

// Unit is the timing of the LDS of one CU. A wave's request crosses its pair's
// inbound bus, waits in the pair's FIFO, holds the banks, and returns on the
// pair's outbound bus; direct-to-LDS data has a queue of its own at the banks.
// The banks serve one request at a time and choose the queue that they served
// longest ago among those ready, the older request on a tie. A read starts only
// when its return bus is free: there is no buffer behind the banks.
//
// The caller steps it: see Push, PushFill and Step. Time never goes back.
type Unit struct {
	// Done collects completions. Each queue's are in time order. They are added
	// when the banks take the request, with At at most the request's own bank
	// or return time plus LatencyCycles ahead. The caller drains the slice and
	// resets its length to 0.
	Done []Completion

	// Stats count since NewUnit.
	Stats Stats

	// Granted, when set, is told when the banks take a request or a fill, and for
	// how long. It must not change anything.
	Granted func(at int64, cycles int32, tag uint32, fill bool)

	now       int64
	next      int64            // the next bank grant as things stand, see Next
	bankFree  int64            // when the banks are
	heads     [numQueues]int64 // earliest bank cycle of each queue's oldest, Never without one
	lastGrant [numQueues]int64 // grant number, for round robin
	grants    int64
	pairs     [Pairs]pair
	fill      []fillEntry // ring, length a power of two
	fillHead  int
	fillN     int
	spec      Spec
}

// NewUnit returns an idle unit. It panics on a spec that no machine can have;
// the machine-file loader reports such values to the user.
func NewUnit(s Spec) *Unit {
	if s.PairPortBytesPerCycle <= 0 || s.FIFOEntries <= 0 || s.FillBytesPerCycle <= 0 ||
		s.LatencyCycles < 0 || s.QueueCycles < 0 || s.QueueCycles > s.LatencyCycles {
		panic(fmt.Sprintf("lds: impossible spec %+v", s))
	}
	u := &Unit{spec: s, fill: make([]fillEntry, 64), Done: make([]Completion, 0, 64), next: Never}
	for q := range u.heads {
		u.heads[q] = Never
	}
	for i := range u.pairs {
		u.pairs[i].fifo = make([]entry, s.FIFOEntries)
	}
	return u
}

// Push offers an instruction at cycle now. When it is taken, portFree is the
// cycle at which its inbound transfer ends, and before which its SIMD can push
// no other. A request taken while the other SIMD of the pair is transferring
// waits for the bus in its SIMD's latch.
//
// When it is not taken, portFree is the earliest cycle at which trying again
// makes sense: when the SIMD's latch is free, when the turn of the pair's other
// SIMD is over, or Never when the FIFO is full. Then a later cycle returned by
// Step frees an entry, and the SIMD has the visits of that cycle and the next
// three to take it before the other may.
func (u *Unit) Push(now int64, r Request) (ok bool, portFree int64) {
	if u.next <= now || now < u.now {
		u.advance(now)
	}
	u.now = now
	p := &u.pairs[r.Pair]
	if free := p.latchFree[r.Side]; free > now {
		return false, free
	}
	if ok, retry := p.admit(now, r.Side); !ok {
		return false, retry
	}
	end := max(now, p.portFree) + int64(r.In)
	p.portFree = end
	p.latchFree[r.Side] = end
	i := p.head + p.n
	if i >= len(p.fifo) {
		i -= len(p.fifo)
	}
	p.fifo[i] = entry{ready: end + int64(u.spec.QueueCycles), req: r}
	if p.n++; p.n == 1 {
		u.headChanged(int(r.Pair), p.headReady())
	}
	u.Stats.Requests++
	u.Stats.InCycles[r.Pair] += int64(r.In)
	return true, end
}

// PushFill hands over direct-to-LDS data that arrived from the vector L1 at
// cycle now. It holds the banks for its size over the fill width, from the next
// cycle at the earliest.
func (u *Unit) PushFill(now int64, bytes int, tag uint32) {
	u.advance(now)
	if u.fillN == len(u.fill) {
		u.growFill()
	}
	i := (u.fillHead + u.fillN) & (len(u.fill) - 1)
	w := u.spec.FillBytesPerCycle
	u.fill[i] = fillEntry{ready: now + 1, cycles: int32((bytes + w - 1) / w), tag: tag}
	if u.fillN++; u.fillN == 1 {
		u.headChanged(fillQueue, now+1)
	}
	u.Stats.Fills++
	u.Stats.FillQueueMax = max(u.Stats.FillQueueMax, u.fillN)
}

// admit finds a FIFO entry for a SIMD of the pair, or the cycle to retry at.
func (p *pair) admit(now int64, side uint8) (ok bool, retry int64) {
	if p.reserved && now > p.reservedUntil {
		p.reserved = false
		p.waiting[p.reservedFor] = false
	}
	free := len(p.fifo) - p.n
	retry = Never
	if p.reserved && p.reservedFor != side {
		free--
		retry = p.reservedUntil + 1
	}
	if free > 0 {
		p.waiting[side] = false
		if p.reservedFor == side {
			p.reserved = false
		}
		return true, 0
	}
	if !p.waiting[side] {
		p.waiting[side] = true
		p.since[side] = now
	}
	if p.n == len(p.fifo) {
		retry = Never
	}
	return false, retry
}

// reserve gives an entry freed at cycle at to the SIMD that waits longest.
func (p *pair) reserve(at int64) {
	if p.reserved && at <= p.reservedUntil || !p.waiting[0] && !p.waiting[1] {
		return
	}
	side := uint8(0)
	if !p.waiting[0] || p.waiting[1] && p.since[1] < p.since[0] {
		side = 1
	}
	p.reserved, p.reservedFor, p.reservedUntil = true, side, at+visitCycles-1
}

func (u *Unit) growFill() {
	ring := make([]fillEntry, 2*len(u.fill))
	for i := range u.fillN {
		ring[i] = u.fill[(u.fillHead+i)&(len(u.fill)-1)]
	}
	u.fill, u.fillHead = ring, 0
}

// Step lets everything up to and including cycle now happen and returns the
// next cycle at which something changes, Never when nothing is queued. A later
// Push or PushFill may bring that cycle forward: see Next.
func (u *Unit) Step(now int64) (next int64) {
	u.advance(now)
	return u.next
}

// Next is the cycle of the next bank grant as things stand, or Never.
func (u *Unit) Next() int64 { return u.next }

// headChanged notes the earliest bank cycle of the oldest entry of a queue that
// was empty.
func (u *Unit) headChanged(q int, ready int64) {
	u.heads[q] = ready
	u.next = min(u.next, max(ready, u.bankFree))
}

// FIFOFree is the number of free FIFO entries of a pair.
func (u *Unit) FIFOFree(pair int) int {
	return len(u.pairs[pair].fifo) - u.pairs[pair].n
}

// headReady is the earliest cycle at which the pair's oldest request could take
// the banks, Never when there is none.
func (p *pair) headReady() int64 {
	if p.n == 0 {
		return Never
	}
	e := &p.fifo[p.head]
	if e.req.Out > 0 {
		return max(e.ready, p.returnFree)
	}
	return e.ready
}

// advance grants the banks for every cycle up to now. Requests pushed at now
// are ready later than now, so these grants are final.
func (u *Unit) advance(now int64) {
	if now < u.now {
		panic(fmt.Sprintf("lds: cycle %d after cycle %d", now, u.now))
	}
	u.now = now
	for u.next <= now {
		at := u.next
		if q := u.choose(at); q == fillQueue {
			u.grantFill(at)
		} else {
			u.grant(at, q)
		}
		first := min(u.heads[0], u.heads[1], u.heads[fillQueue])
		if first != Never {
			first = max(first, u.bankFree)
		}
		u.next = first
	}
}

// choose picks the queue that takes the banks at cycle at.
func (u *Unit) choose(at int64) int {
	best, bestReady := -1, int64(0)
	for q, ready := range u.heads {
		if ready > at {
			continue
		}
		if best < 0 || u.lastGrant[q] < u.lastGrant[best] ||
			u.lastGrant[q] == u.lastGrant[best] && ready < bestReady {
			best, bestReady = q, ready
		}
	}
	u.grants++
	u.lastGrant[best] = u.grants
	return best
}

func (u *Unit) grant(at int64, q int) {
	p := &u.pairs[q]
	e := &p.fifo[p.head]
	if p.head++; p.head == len(p.fifo) {
		p.head = 0
	}
	p.n--
	p.reserve(at)
	if idle := at - max(e.ready, u.bankFree); idle > 0 {
		u.Stats.ReturnBlockedCycles += idle
	}
	end := at + int64(e.req.Service)
	u.bankFree = end
	if e.req.Out > 0 {
		// Data leaves phase by phase while the banks still work on the rest.
		end = max(end, at+int64(e.req.Out))
		p.returnFree = end
	}
	u.heads[q] = p.headReady()
	done := max(end+int64(u.spec.LatencyCycles-u.spec.QueueCycles), p.lastAt)
	p.lastAt = done
	u.Stats.ServiceCycles += int64(e.req.Service)
	u.Stats.OutCycles[q] += int64(e.req.Out)
	if u.Granted != nil {
		u.Granted(at, e.req.Service, e.req.Tag, false)
	}
	u.Done = append(u.Done, Completion{Tag: e.req.Tag, At: done})
}

func (u *Unit) grantFill(at int64) {
	f := &u.fill[u.fillHead]
	u.fillHead = (u.fillHead + 1) & (len(u.fill) - 1)
	u.fillN--
	u.bankFree = at + int64(f.cycles)
	u.heads[fillQueue] = Never
	if u.fillN > 0 {
		u.heads[fillQueue] = u.fill[u.fillHead].ready
	}
	u.Stats.FillCycles += int64(f.cycles)
	if u.Granted != nil {
		u.Granted(at, f.cycles, f.tag, true)
	}
	u.Done = append(u.Done, Completion{Tag: f.tag, At: u.bankFree, Fill: true})
}

// FillsQueued is the number of fills that wait for the banks.
func (u *Unit) FillsQueued() int { return u.fillN }

// BankFree is the first cycle at which the banks can take something.
func (u *Unit) BankFree() int64 { return u.bankFree }
