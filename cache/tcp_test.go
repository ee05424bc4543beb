package cache

import (
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// tcpSpec is the vector L1 of a CU, with plain set bits.
func tcpSpec() TCPSpec {
	return TCPSpec{Bytes: 32768, LineBytes: 128, Ways: 64, QueueEntries: 12, LineCycles: 2, AddressLanesPerCycle: 16, WideLanesPerCycle: 4,
		HitLatencyCycles: 115, ReturnBytesPerCycle: 64, StoreLineCycles: 2, StoreQueueEntries: 256}
}

type tcpRequest struct {
	At    int64
	Line  uint64
	Bytes int // of a write, 0 for a read
	tag   uint32
}

// tcpBench is a vector L1 on an L2 that accepts everything (but for refuse) and
// answers when the test says so, or after latency.
type tcpBench struct {
	t       testing.TB
	tcp     *TCP
	now     int64
	next    int64
	latency int64                 // 0: the test answers
	refuse  func(now int64) int64 // cycle to retry at, 0 to accept
	sent    []tcpRequest
	open    []tcpRequest // sent and unanswered
	done    []TCPDone
}

func newTCPBench(t testing.TB, s TCPSpec) *tcpBench {
	b := &tcpBench{t: t, next: Never}
	var err error
	if b.tcp, err = NewTCP(s, 3, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tcpBench) Read(now int64, cu int, line uint64, tag uint32) int64 {
	return b.request(now, cu, tcpRequest{now, line, 0, tag})
}

func (b *tcpBench) Write(now int64, cu int, line uint64, bytes int, tag uint32) int64 {
	return b.request(now, cu, tcpRequest{now, line, bytes, tag})
}

func (b *tcpBench) Atomic(now int64, cu int, line uint64, a Atomic, tag uint32) int64 {
	return b.request(now, cu, tcpRequest{now, line, int(a.Bytes), tag})
}

func (b *tcpBench) request(now int64, cu int, r tcpRequest) int64 {
	if cu != 3 {
		b.t.Errorf("request of CU %d, want 3", cu)
	}
	if b.refuse != nil {
		if retry := b.refuse(now); retry != 0 {
			return retry
		}
	}
	b.sent, b.open = append(b.sent, r), append(b.open, r)
	return 0
}

// lines makes the pattern of an access: whole lines, by number.
func lines(n ...uint64) *Lines {
	l := &Lines{}
	for _, x := range n {
		l.Offset, l.Size = append(l.Offset, 128*x), append(l.Size, 128)
	}
	return l
}

// push enqueues an instruction of 64 lanes that moves all the bytes of its lines.
func (b *tcpBench) push(kind MemKind, tag uint32, l *Lines) {
	b.t.Helper()
	if b.tcp.Full() {
		b.t.Fatal("queue full")
	}
	*b.tcp.Slot() = MemOp{Kind: kind, Tag: tag, Bytes: int32(128 * len(l.Offset)), Lanes: 64, Lines: l}
	b.tcp.Push(b.now)
	b.next = min(b.next, b.now+1)
}

func (b *tcpBench) load(tag uint32, n ...uint64) { b.t.Helper(); b.push(MemLoad, tag, lines(n...)) }

// answer returns the i-th open request at the present cycle.
func (b *tcpBench) answer(i int) {
	r := b.open[i]
	b.open = append(b.open[:i], b.open[i+1:]...)
	if r.Bytes > 0 {
		b.next = min(b.next, b.tcp.WriteAcked(b.now, r.tag))
	} else {
		b.next = min(b.next, b.tcp.LineReturned(b.now, r.tag))
	}
	b.take()
}

func (b *tcpBench) take() {
	b.done = append(b.done, b.tcp.Done...)
	b.tcp.Done = b.tcp.Done[:0]
}

// run goes on to the end of cycle until.
func (b *tcpBench) run(until int64) {
	for {
		at := b.next
		if b.latency > 0 && len(b.open) > 0 {
			at = min(at, b.open[0].At+b.latency)
		}
		if at > until {
			b.now = until
			return
		}
		b.now = max(b.now, at)
		for b.latency > 0 && len(b.open) > 0 && b.open[0].At+b.latency <= b.now {
			b.answer(0)
		}
		if b.next <= b.now {
			b.next = b.tcp.Step(b.now)
			b.take()
		}
	}
}

func (b *tcpBench) want(want ...TCPDone) {
	b.t.Helper()
	if d := gocmp.Diff(want, b.done); d != "" {
		b.t.Errorf("completions (-want +got):\n%s", d)
	}
	b.done = nil
}

func (b *tcpBench) wantSent(want ...tcpRequest) {
	b.t.Helper()
	if d := gocmp.Diff(want, b.sent, gocmp.Transformer("noTag", func(r tcpRequest) [3]int64 {
		return [3]int64{r.At, int64(r.Line), int64(r.Bytes)}
	})); d != "" {
		b.t.Errorf("requests (-want +got):\n%s", d)
	}
	b.sent = nil
}

// TestTCPMissAndHit follows one line: lookup, the L2's answer at a chosen cycle,
// two cycles of return bus and the pipeline; then a hit.
func TestTCPMissAndHit(t *testing.T) {
	for _, answered := range []int64{99, 100} {
		b := newTCPBench(t, tcpSpec())
		b.run(10)
		b.load(7, 5)
		b.run(answered)
		b.wantSent(tcpRequest{At: 11, Line: 5 * 128})
		b.want()
		b.answer(0)
		b.want(TCPDone{7, MemLoad, 128, answered + 2 + 115})

		b.run(500)
		b.load(8, 5)
		b.run(501)
		b.wantSent()
		b.want(TCPDone{8, MemLoad, 128, 500 + 115})
		if s := b.tcp.Stats; s.Hits != 1 || s.Misses != 1 || s.HitsInFlight != 0 || s.Requests != 2 || s.BytesIn != 128 {
			t.Errorf("counts %+v", s)
		}
		if b.tcp.Busy() {
			t.Error("busy after the last completion")
		}
	}
}

// TestTCPHitInFlight joins a line on its way: one request, and both complete
// from the same return, one path's time apart.
func TestTCPHitInFlight(t *testing.T) {
	b := newTCPBench(t, tcpSpec())
	b.load(1, 5)
	b.load(2, 5)
	b.run(50)
	b.wantSent(tcpRequest{At: 1, Line: 640})
	b.want()
	b.answer(0)
	b.want(TCPDone{1, MemLoad, 128, 167}, TCPDone{2, MemLoad, 128, 169})
	if s := b.tcp.Stats; s.Misses != 1 || s.HitsInFlight != 1 || s.Hits != 0 {
		t.Errorf("counts %+v", s)
	}
}

// TestTCPRate holds the lookup rates: two cycles a line, and the coalescer's 16
// lanes a cycle as a floor.
func TestTCPRate(t *testing.T) {
	tests := []struct {
		name  string
		lanes uint8
		lines int
		want  uint64 // cycles
	}{
		{"dwordx4 of 8 whole lines", 64, 8, 16},
		{"dwordx4 of 16 half lines", 64, 16, 32},
		{"dword of 64 lanes in 2 lines", 64, 2, 4},
		{"64 lanes in one line", 64, 1, 4},
		{"one lane", 1, 1, 2},
		{"no lane", 0, 0, 1},
		{"a line a lane", 64, 64, 128},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newTCPBench(t, tcpSpec())
			b.latency = 100
			l := &Lines{}
			for i := range tt.lines {
				l.Offset, l.Size = append(l.Offset, uint64(128*i)), append(l.Size, 64)
			}
			for i := range uint32(2) {
				*b.tcp.Slot() = MemOp{Kind: MemLoad, Tag: i, Bytes: 64, Lanes: tt.lanes, Lines: l}
				b.tcp.Push(0)
			}
			b.next = 1
			b.run(5000)
			if got := b.tcp.Stats.BusyCycles; got != 2*tt.want {
				t.Errorf("%d cycles for two, want %d", got, 2*tt.want)
			}
			if len(b.done) != 2 {
				t.Fatalf("completions %v", b.done)
			}
		})
	}
}

// TestTCPSetFull crowds one set: 64 lines in flight, and the lookup stops, even
// for lines of other sets and for hits, until a line of that set is back.
func TestTCPSetFull(t *testing.T) {
	b := newTCPBench(t, tcpSpec())
	b.load(100, 1) // another set, present before
	b.run(20)
	b.answer(0)
	b.run(200)
	b.sent, b.done = nil, nil
	sets := uint64(4)
	for i := range uint64(8) {
		var n []uint64
		for j := range uint64(8) {
			n = append(n, sets*(8*i+j))
		}
		b.load(uint32(i), n...)
	}
	b.run(400)
	if len(b.sent) != 64 {
		t.Fatalf("%d lines in flight, want 64", len(b.sent))
	}
	b.load(8, sets*64)
	b.load(9, 1)
	b.run(999)
	if len(b.sent) != 64 || b.tcp.Stats.Hits != 0 {
		t.Fatalf("the lookup went on: %d requests, %d hits", len(b.sent), b.tcp.Stats.Hits)
	}
	b.run(1000)
	b.answer(3)
	b.run(1001)
	if len(b.sent) != 64 {
		t.Fatal("went on before the line was in")
	}
	b.run(1002)
	if len(b.sent) != 65 || b.sent[64].Line != sets*64*128 || b.sent[64].At != 1002 {
		t.Fatalf("after a return: %d requests, the last %+v", len(b.sent), b.sent[len(b.sent)-1])
	}
	b.run(1010)
	if b.tcp.Stats.Hits != 1 {
		t.Error("the hit behind was not looked up")
	}
	if got := b.tcp.Stats.StallSetFull; got < 595 || got > 605 {
		t.Errorf("%d cycles booked on the full set, want about 601", got)
	}
	b.want() // the first instruction has lines outstanding: nothing completes
	for b.now = 1100; len(b.open) > 0; b.now += 2 {
		b.answer(0)
	}
	if len(b.done) != 10 {
		t.Errorf("%d completions, want 10", len(b.done))
	}
}

// TestTCPSetHash spreads power-of-two strides when asked to.
func TestTCPSetHash(t *testing.T) {
	for _, hash := range []bool{false, true} {
		s := tcpSpec()
		s.SetHash = hash
		b := newTCPBench(t, s)
		for i := range uint64(12) {
			var n []uint64
			for j := range uint64(8) {
				n = append(n, 64*(8*i+j)) // rows of 8 KiB
			}
			b.load(uint32(i), n...)
		}
		b.run(2000)
		if full := len(b.sent) == 64; full == hash {
			t.Errorf("hash %t: %d of 96 lines in flight", hash, len(b.sent))
		}
	}
}

// A hash of 13 bits spreads rows of 512 bytes to 2 KiB, and leaves those of 8 KiB in
// one set.
func TestTCPSetHashBits(t *testing.T) {
	for _, c := range []struct{ row, sets int }{{512, 4}, {768, 4}, {1536, 4}, {2048, 4}, {4096, 2}, {8192, 1}, {16384, 1}, {65536, 1}} {
		s := tcpSpec()
		s.Bytes, s.Ways, s.SetHash, s.SetHashBits = 32768, 64, true, 13
		tcp, err := NewTCP(s, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		var rows [4]int
		for i := range 64 {
			rows[tcp.setOf(tcp.number(uint64(i*c.row)))]++
		}
		if n := len(rows) - countOf(rows[:], 0); n != c.sets || slices.Max(rows[:]) != 64/c.sets {
			t.Errorf("64 rows %d bytes apart: %v by set, want them even over %d", c.row, rows, c.sets)
		}
	}
}

func countOf(s []int, v int) int {
	n := 0
	for _, x := range s {
		if x == v {
			n++
		}
	}
	return n
}

// TestTCPLRU compares the replacement with a plain list, one access at a time.
func TestTCPLRU(t *testing.T) {
	s := tcpSpec()
	s.Bytes, s.Ways = 2048, 8 // two sets
	b := newTCPBench(t, s)
	b.latency = 10
	r := rand.New(rand.NewPCG(1, 1))
	var lru [2][]uint64 // oldest first
	for i := range 4000 {
		line := uint64(r.IntN(24))
		set := &lru[line%2]
		hit := false
		for j, x := range *set {
			if x == line {
				*set = append((*set)[:j], (*set)[j+1:]...)
				hit = true
				break
			}
		}
		if !hit && len(*set) == 8 {
			*set = (*set)[1:]
		}
		*set = append(*set, line)
		before := b.tcp.Stats.Hits
		b.load(uint32(i), line)
		b.run(b.now + 40)
		if got := b.tcp.Stats.Hits != before; got != hit {
			t.Fatalf("access %d of line %d: hit %t, want %t", i, line, got, hit)
		}
	}
	if b.tcp.Stats.Hits == 0 || b.tcp.Stats.Misses == 0 {
		t.Error("the pattern only hits or only misses")
	}
}

// TestTCPOrder returns lines in any order: instructions complete in theirs.
func TestTCPOrder(t *testing.T) {
	b := newTCPBench(t, tcpSpec())
	b.load(9, 50)
	b.run(10)
	b.answer(0)
	b.run(300)
	b.done, b.sent = nil, nil
	b.load(1, 1, 2)
	b.load(2, 50) // hits
	b.push(MemLDSDMA, 3, lines(3))
	b.run(320)
	b.want()
	b.now = 400
	b.answer(2) // line 3
	b.now = 410
	b.answer(1) // line 2
	b.want()
	b.now = 420
	b.answer(0)
	b.want(TCPDone{1, MemLoad, 256, 420 + 2 + 115}, TCPDone{2, MemLoad, 128, 537 + 2}, TCPDone{3, MemLDSDMA, 128, 539 + 2})
}

// TestTCPStores writes through: two cycles a segment, complete when all are
// acknowledged, and no more unacknowledged segments than the queue holds.
func TestTCPStores(t *testing.T) {
	s := tcpSpec()
	s.StoreQueueEntries = 4
	b := newTCPBench(t, s)
	l := lines(0, 1, 2, 3, 4, 5)
	l.Size[5] = 64
	b.push(MemStore, 1, l)
	b.run(50)
	if len(b.sent) != 4 {
		t.Fatalf("%d segments unacknowledged, want 4", len(b.sent))
	}
	b.answer(2)
	b.run(50)
	if len(b.sent) != 4 {
		t.Fatal("went on in the cycle of the acknowledgement, want the next")
	}
	b.run(51)
	if len(b.sent) != 5 {
		t.Fatalf("%d segments sent after an acknowledgement, want 5", len(b.sent))
	}
	b.run(60)
	b.answer(0)
	b.run(70)
	b.want()
	for len(b.open) > 1 {
		b.answer(0)
	}
	b.want()
	b.run(80)
	b.answer(0)
	b.want(TCPDone{1, MemStore, 768, 80})
	if got := b.tcp.Stats; got.BytesOut != 5*128+64 || got.StoreSegments != 6 || got.BytesDelivered != 0 || got.Requests != 0 {
		t.Errorf("counts %+v", got)
	}
}

// TestTCPRefused: a request that the L2 does not take is tried again, counted
// once, and the pipe is never faster than a line in two cycles.
func TestTCPRefused(t *testing.T) {
	b := newTCPBench(t, tcpSpec())
	b.latency = 50
	n := 0
	b.refuse = func(now int64) int64 {
		if n++; n%2 == 0 {
			return now + 1
		}
		return 0
	}
	for i := range uint64(8) {
		b.load(uint32(i), 4*i, 4*i+1, 4*i+2, 4*i+3)
	}
	b.run(5000)
	if len(b.sent) != 32 || b.tcp.Stats.Misses != 32 || b.tcp.Stats.Requests != 32 || len(b.done) != 8 {
		t.Fatalf("%d requests, %d completions, counts %+v", len(b.sent), len(b.done), b.tcp.Stats)
	}
	if span := b.sent[31].At - b.sent[0].At; span < 2*31-lookupQuantum {
		t.Errorf("32 lines looked up within %d cycles, two cycles each", span)
	}
	if b.tcp.Stats.StallL2 == 0 {
		t.Error("no cycles booked on the L2")
	}
}

// TestTCPTraffic is random traffic against what must hold whatever the timing.
func TestTCPTraffic(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := tcpSpec()
		s.SetHash = r.IntN(2) == 0
		s.StoreQueueEntries = 4 + r.IntN(60)
		if r.IntN(2) == 0 {
			s.Bytes, s.Ways = 2048, 4
		}
		b := newTCPBench(t, s)
		b.latency = 1 + r.Int64N(900)
		if r.IntN(2) == 0 {
			b.refuse = func(now int64) int64 {
				if now%16 < 10 {
					return now - now%16 + 10
				}
				return 0
			}
		}
		var issued []TCPDone
		var out, delivered, requests uint64
		for len(issued) < 500 {
			b.run(b.now + r.Int64N(30))
			if b.tcp.Full() {
				continue
			}
			kind := MemKind(r.IntN(3))
			l := &Lines{}
			first := uint64(r.IntN(600))
			for i := range 1 + r.IntN(12) {
				size := uint8(16 * (1 + r.IntN(8)))
				l.Offset, l.Size = append(l.Offset, 128*(first+uint64(i))), append(l.Size, size)
				if kind == MemStore {
					out += uint64(size)
				} else {
					requests++
				}
			}
			tag := uint32(len(issued))
			b.push(kind, tag, l)
			bytes := int32(128 * len(l.Offset))
			issued = append(issued, TCPDone{Tag: tag, Kind: kind, Bytes: bytes})
			if kind != MemStore {
				delivered += uint64(bytes)
			}
		}
		b.run(b.now + 1_000_000)
		if b.tcp.Busy() || len(b.open) > 0 {
			t.Fatalf("seed %d: still busy: %s", seed, b.tcp.Dump())
		}
		last := int64(0)
		for i := range b.done {
			if b.done[i].At < last {
				t.Fatalf("seed %d: completion %d at cycle %d after one at %d", seed, i, b.done[i].At, last)
			}
			last = b.done[i].At
			issued[i].At = last
		}
		if d := gocmp.Diff(issued, b.done); d != "" {
			t.Fatalf("seed %d: completions are not the instructions in order:\n%s", seed, d)
		}
		st := b.tcp.Stats
		reads := uint64(0)
		for _, q := range b.sent {
			if q.Bytes == 0 {
				reads++
			}
		}
		for _, c := range []struct {
			what      string
			got, want uint64
		}{
			{"bytes in", st.BytesIn, 128 * reads}, {"bytes out", st.BytesOut, out}, {"bytes delivered", st.BytesDelivered, delivered},
			{"lookups", st.Requests, requests}, {"hits and misses", st.Hits + st.HitsInFlight + st.Misses, requests},
			{"misses", st.Misses, reads}, {"instructions", st.Instructions, 500},
		} {
			if c.got != c.want {
				t.Errorf("seed %d: %s %d, want %d", seed, c.what, c.got, c.want)
			}
		}
	}
}

// TestTCPBadSizes refuses what cannot be built.
func TestTCPBadSizes(t *testing.T) {
	for _, s := range []TCPSpec{
		{Bytes: 32768, LineBytes: 100, Ways: 64},
		{Bytes: 4096, LineBytes: 128, Ways: 64},
		{Bytes: 3 * 8192, LineBytes: 128, Ways: 64},
	} {
		if _, err := NewTCP(s, 0, nil); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// TestTCPAllocations: nothing is allocated per instruction once it runs.
func TestTCPAllocations(t *testing.T) {
	b := newTCPBench(t, tcpSpec())
	b.latency = 60
	load, store := lines(0, 1, 2, 3, 4, 5, 6, 7), lines(1000, 1001)
	base := uint64(0)
	step := func() {
		for range 64 {
			if !b.tcp.Full() {
				*b.tcp.Slot() = MemOp{Kind: MemLoad, Bytes: 1024, Lanes: 64, Base: base, Lines: load}
				b.tcp.Push(b.now)
				base += 1024
			}
			if !b.tcp.Full() {
				*b.tcp.Slot() = MemOp{Kind: MemStore, Bytes: 256, Lanes: 64, Base: base, Lines: store}
				b.tcp.Push(b.now)
			}
			b.next = min(b.next, b.now+1)
			b.run(b.now + 20)
			b.sent, b.done = b.sent[:0], b.done[:0]
		}
	}
	b.open = make([]tcpRequest, 0, 4096)
	for range 4 {
		step()
	}
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("%v allocations in 128 instructions, want none", n)
	}
	if b.tcp.Stats.Instructions < 1000 {
		t.Errorf("only %d instructions", b.tcp.Stats.Instructions)
	}
}
