package cache

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// answer is a call of the CU's side.
type answer struct {
	At   int64
	CU   int
	Tag  uint32
	Kind string
}

// tccBench is an L2 on a memory that answers after a fixed time.
type tccBench struct {
	t       testing.TB
	l2      *TCC
	memory  int64    // cycles from fetch to fill; Never: the test fills
	ahead   []answer // decided, not yet due
	answers []answer
	fetches []event
	backs   []event
}

func (b *tccBench) LineReturned(now int64, cu int, tag uint32) {
	b.ahead = append(b.ahead, answer{now, cu, tag, "line"})
}

func (b *tccBench) WriteAcked(now int64, cu int, tag uint32) {
	b.ahead = append(b.ahead, answer{now, cu, tag, "ack"})
}

func (b *tccBench) Fetch(now int64, line uint64, id uint32) {
	b.fetches = append(b.fetches, event{at: now, addr: line, id: id})
	if b.memory != Never {
		b.l2.Fill(now+b.memory, id)
	}
}

func (b *tccBench) WriteBack(now int64, line uint64, bytes int) {
	b.backs = append(b.backs, event{at: now, addr: line, bytes: uint16(bytes)})
}

// run handles all up to a cycle, and takes the answers that are due by then.
func (b *tccBench) run(until int64) {
	for at := b.l2.Next(); at <= until && at != Never; at = b.l2.Next() {
		b.l2.Advance(at)
	}
	slices.SortStableFunc(b.ahead, func(x, y answer) int { return cmp.Compare(x.At, y.At) })
	for len(b.ahead) > 0 && b.ahead[0].At <= until {
		b.answers = append(b.answers, b.ahead[0])
		b.ahead = b.ahead[1:]
	}
}

func (b *tccBench) want(answers ...answer) {
	b.t.Helper()
	if d := gocmp.Diff(answers, b.answers); d != "" {
		b.t.Errorf("answers (-want +got):\n%s", d)
	}
	b.answers = nil
}

func smallL2() TCCConfig {
	return TCCConfig{
		Bytes: 64 << 10, LineBytes: 128, Ways: 4, Channels: 2, ReadBytesPerCycle: 128, WriteBytesPerCycle: 64,
		HitLatencyCycles: 101, WriteAckCycles: 60, MSHRsPerChannel: 4, QueueEntries: 8, InterleaveBytes: 128, AtomicBytesPerCycle: 64,
	}
}

func newTCCBench(t testing.TB, cfg TCCConfig, memory int64) *tccBench {
	t.Helper()
	b := &tccBench{t: t, memory: memory}
	l2, err := NewTCC(cfg, b)
	if err != nil {
		t.Fatal(err)
	}
	b.l2 = l2
	return b
}

func (b *tccBench) read(now int64, cu int, line uint64, tag uint32) {
	b.t.Helper()
	if retry := b.l2.Read(now, cu, line, tag); retry != 0 {
		b.t.Fatalf("read of %#x at %d turned away until %d", line, now, retry)
	}
}

// TestUnloadedLatency: a miss costs hit latency and memory, a hit the hit
// latency; not a cycle less or more.
func TestUnloadedLatency(t *testing.T) {
	b := newTCCBench(t, smallL2(), 500)
	b.read(10, 3, 0x1000, 7)
	b.run(10 + 601 - 1)
	b.want()
	b.run(10 + 601)
	b.want(answer{611, 3, 7, "line"})
	if f := b.fetches[0]; f.at != 35 || f.addr != 0x1000 {
		t.Errorf("fetch of %#x at %d, want 0x1000 at 35", f.addr, f.at)
	}
	b.read(1000, 4, 0x1000, 8)
	b.run(1100)
	b.want()
	b.run(1101)
	b.want(answer{1101, 4, 8, "line"})
	if !b.l2.Idle() {
		t.Error("not idle after the last answer")
	}
}

// TestDirtyOfABusyL2: lines on their way are dirty by what was written to them, not by the number of their
// miss register.
func TestDirtyOfABusyL2(t *testing.T) {
	cfg := smallL2()
	cfg.MSHRsPerChannel, cfg.QueueEntries = 64, 128
	b := newTCCBench(t, cfg, Never)
	for i := range 32 {
		b.read(int64(i), 0, uint64(i)*128, uint32(i))
	}
	b.run(300)
	if lines, bytes := b.l2.Dirty(); lines != 0 || bytes != 0 {
		t.Errorf("32 reads under way: %d lines, %d bytes dirty", lines, bytes)
	}
	if retry := b.l2.Write(400, 0, 31*128, 64, 99); retry != 0 {
		t.Fatal("turned away")
	}
	b.run(500)
	if lines, bytes := b.l2.Dirty(); lines != 1 || bytes != 64 {
		t.Errorf("64 bytes written to a line under way: %d lines, %d bytes dirty", lines, bytes)
	}
}

// TestHitOnLineInFlight: later requests join the miss, are hits, and leave one
// per cycle when the line is there, also where a miss register's number reaches
// the bit that marks a readable line.
func TestHitOnLineInFlight(t *testing.T) {
	for _, mshrs := range []int{4, 512} {
		cfg := smallL2()
		cfg.MSHRsPerChannel = mshrs
		hitOnLineInFlight(newTCCBench(t, cfg, 500))
	}
}

func hitOnLineInFlight(b *tccBench) {
	t := b.t
	t.Helper()
	b.read(0, 0, 0, 1)
	b.read(5, 1, 0, 2)
	b.read(100, 2, 0, 3)
	b.read(520, 3, 0, 4) // before the fill at 525; its own way through ends after it
	b.run(1000)
	b.want(answer{601, 0, 1, "line"}, answer{602, 1, 2, "line"}, answer{603, 2, 3, "line"}, answer{621, 3, 4, "line"})
	s := b.l2.Stats()
	if s.Reads != 4 || s.ReadMisses != 1 || s.ReadHits != 3 || s.ReadHitsInFlight != 3 || s.Fills != 1 {
		t.Errorf("counts: %+v", s)
	}
	if len(b.fetches) != 1 {
		t.Errorf("%d fetches of one line", len(b.fetches))
	}
}

// TestChannelServesOneLinePerCycle: two channels in parallel, each in order.
func TestChannelServesOneLinePerCycle(t *testing.T) {
	b := newTCCBench(t, smallL2(), 1)
	for i := range 8 {
		b.read(int64(i)*200, 0, uint64(i)*128, uint32(i))
		b.run(int64(i+1) * 199)
	}
	b.run(1800)
	b.answers = nil
	for i := range 8 {
		b.read(2000, 0, uint64(i)*128, uint32(i))
	}
	b.run(3000)
	var want []answer
	for i := range 8 {
		want = append(want, answer{2101 + int64(i/2), 0, uint32(i), "line"})
	}
	b.want(want...)
}

// TestQueueTurnsAway: a channel takes QueueEntries waiting requests beside the
// one in service; the next caller is told the cycle in which one starts.
func TestQueueTurnsAway(t *testing.T) {
	cfg := smallL2()
	cfg.ReadBytesPerCycle = 32 // four cycles a line
	b := newTCCBench(t, cfg, 1)
	b.read(0, 0, 0, 0)
	b.run(500)
	for i := range 9 {
		b.read(1000, 0, 0, uint32(i))
	}
	if retry := b.l2.Read(1000, 0, 0, 99); retry != 1004 {
		t.Fatalf("request 10 is turned away until %d, want 1004", retry)
	}
	if retry := b.l2.Read(1000, 1, 0, 98); retry != 1005 {
		t.Fatalf("the next caller is sent to %d, want 1005", retry)
	}
	if retry := b.l2.Read(1003, 0, 0, 99); retry == 0 {
		t.Fatal("accepted at 1003")
	}
	b.read(1004, 0, 0, 99)
	b.run(2000)
	if last := b.answers[len(b.answers)-1]; last.At != 1000+9*4+101 {
		t.Errorf("last line at %d, want %d", last.At, 1000+9*4+101)
	}
}

// TestMissRegistersStopTheChannel: the fifth miss waits for the first fill, a
// hit behind it waits too, and the other channel goes on.
func TestMissRegistersStopTheChannel(t *testing.T) {
	b := newTCCBench(t, smallL2(), 500)
	for i := range 5 {
		b.read(0, 0, uint64(i)*256, uint32(i))
	}
	b.read(0, 0, 0, 9)    // behind the stalled miss
	b.read(0, 0, 128, 10) // the other channel
	b.run(5000)
	want := []answer{
		{601, 0, 0, "line"}, {601, 0, 10, "line"}, {602, 0, 1, "line"}, {603, 0, 2, "line"}, {604, 0, 3, "line"},
		{525 + 1 + 101, 0, 9, "line"}, // a hit, served after the stalled miss
		{525 + 601, 0, 4, "line"},
	}
	b.want(want...)
	if s := b.l2.Stats(); s.StalledRequests != 2 || s.ReadHits != 1 || s.ReadMisses != 6 {
		t.Errorf("counts: %+v", s)
	}
}

func TestStalledQueueIsBounded(t *testing.T) {
	b := newTCCBench(t, smallL2(), Never)
	n := 0
	for ; n < 100; n++ {
		if retry := b.l2.Read(int64(n), 0, uint64(n)*256, uint32(n)); retry != 0 {
			if retry <= int64(n) {
				t.Fatalf("turned away at %d until %d", n, retry)
			}
			break
		}
	}
	if n != 4+8 {
		t.Errorf("%d requests accepted, want 4 misses and 8 that wait", n)
	}
}

// TestWrites: no fetch; dirty bytes add up; evicted and flushed lines send what
// is dirty; a line wholly written can be read, another is fetched.
func TestWrites(t *testing.T) {
	b := newTCCBench(t, smallL2(), 500)
	w := func(now int64, line uint64, bytes int, tag uint32) {
		t.Helper()
		if retry := b.l2.Write(now, 0, line, bytes, tag); retry != 0 {
			t.Fatalf("write turned away until %d", retry)
		}
		b.run(now + 90)
	}
	w(0, 0x100, 64, 1)
	w(100, 0x100, 64, 2)
	w(200, 0x200, 32, 3)
	b.want(answer{60, 0, 1, "ack"}, answer{160, 0, 2, "ack"}, answer{260, 0, 3, "ack"})
	if len(b.fetches) != 0 {
		t.Fatal("a write was fetched")
	}
	b.read(400, 0, 0x100, 4)
	b.run(501)
	b.want(answer{501, 0, 4, "line"})
	b.read(600, 0, 0x200, 5)
	b.run(600 + 601)
	b.want(answer{1201, 0, 5, "line"})
	b.l2.Flush(2000)
	var got []event
	for _, e := range b.backs {
		got = append(got, event{addr: e.addr, bytes: e.bytes})
	}
	if d := gocmp.Diff([]event{{addr: 0x100, bytes: 128}, {addr: 0x200, bytes: 32}}, got, gocmp.AllowUnexported(event{})); d != "" {
		t.Errorf("write-backs (-want +got):\n%s", d)
	}
	s := b.l2.Stats()
	if s.Writes != 3 || s.WriteMisses != 2 || s.WriteHits != 1 || s.WriteBackBytes != 160 || s.ReadHits != 1 || s.ReadMisses != 1 {
		t.Errorf("counts: %+v", s)
	}
	b.read(3000, 0, 0x100, 6)
	b.run(3101)
	b.want() // invalidated: a miss
}

func TestEvictionWritesBack(t *testing.T) {
	cfg := smallL2() // 64 sets a channel: lines 16 KiB apart share one
	b := newTCCBench(t, cfg, 10)
	if b.l2.Write(0, 0, 0x80, 128, 1) != 0 {
		t.Fatal("turned away")
	}
	for i := range 4 {
		b.read(1000*int64(i+1), 0, 0x80+uint64(i+1)<<14, 2)
		b.run(1000 * int64(i+2))
	}
	if len(b.backs) != 1 || b.backs[0].addr != 0x80 || b.backs[0].bytes != 128 || b.backs[0].at != 4025 {
		t.Errorf("write-backs %+v, want line 0x80 at 4025", b.backs)
	}
}

// TestWriteCost: a whole line takes two cycles of the channel, part of one a
// cycle more than its bytes.
func TestWriteCost(t *testing.T) {
	for _, c := range []struct {
		bytes int
		cost  int64
	}{{128, 2}, {64, 2}, {65, 3}, {4, 2}, {127, 3}} {
		b := newTCCBench(t, smallL2(), 1)
		b.l2.Write(0, 0, 0, c.bytes, 1)
		b.l2.Write(0, 0, 0x100, 128, 2)
		b.run(1000)
		if got := b.answers[1].At - b.answers[0].At; got != c.cost {
			t.Errorf("a write of %d bytes takes %d cycles, want %d", c.bytes, got, c.cost)
		}
	}
}

func TestTCCConfigErrors(t *testing.T) {
	for name, change := range map[string]func(*TCCConfig){
		"geometry": func(c *TCCConfig) { c.Channels = 3 },
		"ports":    func(c *TCCConfig) { c.ReadBytesPerCycle = 0 },
		"mshrs":    func(c *TCCConfig) { c.MSHRsPerChannel = 0 },
		"many":     func(c *TCCConfig) { c.MSHRsPerChannel = 1 << 16 },
		"queue":    func(c *TCCConfig) { c.QueueEntries = 0 },
		"latency":  func(c *TCCConfig) { c.HitLatencyCycles = 0 },
	} {
		cfg := smallL2()
		change(&cfg)
		if _, err := NewTCC(cfg, &tccBench{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// benchClient drops everything and answers fetches after a fixed time.
type benchClient struct{ l2 *TCC }

func (b *benchClient) LineReturned(int64, int, uint32)         {}
func (b *benchClient) WriteAcked(int64, int, uint32)           {}
func (b *benchClient) WriteBack(int64, uint64, int)            {}
func (b *benchClient) Fetch(now int64, line uint64, id uint32) { b.l2.Fill(now+900, id) }

func mi300L2() TCCConfig {
	return TCCConfig{
		Bytes: 4 << 20, LineBytes: 128, Ways: 16, Channels: 16, ReadBytesPerCycle: 128, WriteBytesPerCycle: 64,
		HitLatencyCycles: 170, WriteAckCycles: 120, MSHRsPerChannel: 128, QueueEntries: 32, InterleaveBytes: 256, ChannelHash: true, AtomicBytesPerCycle: 64,
	}
}

func benchmarkL2(b *testing.B, lines uint64) {
	c := &benchClient{}
	l2, err := NewTCC(mi300L2(), c)
	if err != nil {
		b.Fatal(err)
	}
	c.l2 = l2
	now, line := int64(0), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		for l2.Read(now, int(line&31), line*128, 1) != 0 {
			now++
			for l2.Next() <= now {
				l2.Advance(l2.Next())
			}
		}
		if line++; line == lines {
			line = 0
		}
		if line&7 == 0 {
			now++
			for l2.Next() <= now {
				l2.Advance(l2.Next())
			}
		}
	}
}

func BenchmarkL2Hit(b *testing.B)    { benchmarkL2(b, 16<<10) }
func BenchmarkL2Stream(b *testing.B) { benchmarkL2(b, 8<<20) }

// A flush that keeps lines writes back what is dirty, once, and leaves what can be
// read: a line that was read, and one that was written whole; one of which a part
// was written is gone, and so is a dropped one.
func TestFlushKeepsLines(t *testing.T) {
	for _, keep := range []bool{false, true} {
		cfg := smallL2()
		cfg.KeepLines = keep
		b := newTCCBench(t, cfg, 500)
		const read, whole, part, dropped = 0x1000, 0x2000, 0x3000, 0x4000
		b.read(0, 0, read, 1)
		b.read(0, 0, dropped, 2)
		b.l2.Write(0, 0, whole, 128, 3)
		b.l2.Write(0, 0, part, 4, 4)
		b.run(5000)
		b.l2.Flush(5000)
		if len(b.backs) != 2 {
			t.Errorf("keep %t: %d write-backs, want 2", keep, len(b.backs))
		}
		if got := b.l2.TakeWritten(); keep && !slices.Equal(got, []uint64{whole, part}) || !keep && len(got) > 0 {
			t.Errorf("keep %t: written %#x", keep, got)
		}
		if got := b.l2.TakeWritten(); len(got) > 0 {
			t.Errorf("keep %t: written %#x is told twice", keep, got)
		}
		b.l2.Drop(dropped)
		b.l2.Drop(0x5000) // not here
		b.fetches = nil
		for i, line := range []uint64{read, whole, part, dropped} {
			b.read(6000, 0, line, uint32(i))
		}
		b.run(9000)
		var fetched []uint64
		for _, f := range b.fetches {
			fetched = append(fetched, f.addr)
		}
		slices.Sort(fetched)
		want := []uint64{read, whole, part, dropped}
		if keep {
			want = []uint64{part, dropped}
		}
		if !slices.Equal(fetched, want) {
			t.Errorf("keep %t: fetched again %#x, want %#x", keep, fetched, want)
		}
		if b.l2.Flush(9000); len(b.backs) != 2 {
			t.Errorf("keep %t: a second flush writes back again: %d in all", keep, len(b.backs))
		}
	}
}

// Lines that were written and evicted before the flush are among those that other L2s
// must drop; a line that is dirty is not dropped.
func TestWrittenAndEvicted(t *testing.T) {
	cfg := smallL2()
	cfg.KeepLines = true
	b := newTCCBench(t, cfg, 50)
	b.l2.Write(0, 0, 0, 128, 1)
	b.run(1000)
	b.l2.Drop(0)
	at := int64(1000)
	for i := range 2 * cfg.Bytes / cfg.LineBytes { // pushes it out
		b.read(at, 0, uint64((1+i)*cfg.LineBytes), 1)
		at += 200
		b.run(at)
	}
	if len(b.backs) != 1 {
		t.Fatalf("%d write-backs, want that of the one line: a dirty one was dropped, or none evicted", len(b.backs))
	}
	b.l2.Flush(at)
	if got := b.l2.TakeWritten(); !slices.Equal(got, []uint64{0}) {
		t.Errorf("written %#x, want line 0", got)
	}
	b.l2.Empty()
	b.fetches = nil
	b.read(at, 0, uint64(2*cfg.Bytes), 1)
	if b.run(at + 1000); len(b.fetches) != 1 {
		t.Errorf("%d fetches of an emptied L2, want 1", len(b.fetches))
	}
}
