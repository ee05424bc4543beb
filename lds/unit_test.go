package lds

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// specs are the LDS constants of the two architectures (sources: type Spec).
// LatencyCycles is what leaves 69 cycles for gfx950's dependent ds_read_b32
// chase and 50 for gfx942's ds_bpermute with its s_waitcnt; QueueCycles is what
// the MI325X thread trace shows (TestTraceBurst), taken for both.
var specs = map[string]Spec{
	"gfx942": {PairPortBytesPerCycle: 64, FIFOEntries: 8, LatencyCycles: 38, QueueCycles: 22, FillBytesPerCycle: 128},
	"gfx950": {PairPortBytesPerCycle: 128, FIFOEntries: 8, LatencyCycles: 49, QueueCycles: 22, FillBytesPerCycle: 128},
}

// wave is a stream of equal instructions on one SIMD.
type wave struct {
	simd  int
	count int
	req   Request
}

// driven is what drive saw: per wave the cycle of each push and the end of its
// inbound transfer, and the completion times.
type driven struct {
	pushed, sent, done [][]int64
}

// drive runs waves as a CU would: each cycle visits one SIMD, so a wave can
// issue every fourth cycle, and it retries until the unit takes the request.
func drive(tb testing.TB, u *Unit, waves []wave) driven {
	tb.Helper()
	d := driven{make([][]int64, len(waves)), make([][]int64, len(waves)), make([][]int64, len(waves))}
	left := 0
	for _, w := range waves {
		left += w.count
	}
	for now := int64(0); left > 0 || u.Next() != Never; now++ {
		if now > 1<<20 {
			tb.Fatal("the unit makes no progress")
		}
		u.Step(now)
		for i, w := range waves {
			if int(now%4) != w.simd || len(d.pushed[i]) == w.count {
				continue
			}
			r := w.req
			r.Pair, r.Side, r.Tag = uint8(w.simd/2), uint8(w.simd&1), uint32(i)
			if ok, end := u.Push(now, r); ok {
				d.pushed[i] = append(d.pushed[i], now)
				d.sent[i] = append(d.sent[i], end)
				left--
			}
		}
		for _, c := range u.Done {
			d.done[c.Tag] = append(d.done[c.Tag], c.At)
		}
		u.Done = u.Done[:0]
	}
	return d
}

// cadence is the steady interval of a wave's requests: the last half.
func cadence(at []int64) float64 {
	n := len(at)
	return float64(at[n-1]-at[n/2-1]) / float64(n-n/2)
}

func request(tab *Table, s Spec, k Kind, addr [Lanes]uint32) Request {
	r := Request{Service: int32(tab.Analyze(k, &addr, ^uint64(0)).Service)}
	if k.Write() {
		r.In, _ = s.BusCycles(k.Bytes(), 0)
	} else {
		r.In, r.Out = s.BusCycles(0, k.Bytes())
	}
	return r
}

func onSIMDs(n, count int, r Request) []wave {
	var w []wave
	for i := range n {
		w = append(w, wave{i, count, r})
	}
	return w
}

// A read's data is there at In + QueueCycles + max(Service, Out) + the rest of
// the latency, and the FIFO entry is free when the banks take it: at that
// cycle, not one before.
func TestReadyAtNotBefore(t *testing.T) {
	s := Spec{PairPortBytesPerCycle: 128, FIFOEntries: 1, LatencyCycles: 30, QueueCycles: 10, FillBytesPerCycle: 128}
	u := NewUnit(s)
	if ok, free := u.Push(100, Request{Service: 4, In: 2, Out: 8, Tag: 7}); !ok || free != 102 {
		t.Fatalf("first push: %v, %d, want true, 102", ok, free)
	}
	if ok, free := u.Push(101, Request{Service: 4, In: 2, Out: 8}); ok || free != 102 {
		t.Errorf("push at 101 = %v, %d: the latch is busy until 102", ok, free)
	}
	if ok, free := u.Push(102, Request{Service: 4, In: 2, Out: 8}); ok || free != Never {
		t.Errorf("push at 102 = %v, %d: the FIFO is full", ok, free)
	}
	if next := u.Step(111); next != 112 || len(u.Done) != 0 {
		t.Fatalf("Step(111) = %d with %v done, want 112 and nothing", next, u.Done)
	}
	if ok, _ := u.Push(111, Request{Service: 4, In: 2, Out: 8}); ok {
		t.Error("the FIFO entry was free at 111")
	}
	if next := u.Step(112); next != Never {
		t.Errorf("Step(112) = %d, want Never", next)
	}
	if want := (Completion{Tag: 7, At: 100 + 2 + 10 + 8 + 20}); !slices.Equal(u.Done, []Completion{want}) {
		t.Errorf("done %v, want %v", u.Done, want)
	}
	if ok, free := u.Push(112, Request{Service: 4, In: 2, Out: 8}); !ok || free != 114 {
		t.Errorf("push at 112 = %v, %d, want true, 114", ok, free)
	}
}

// A second read of the pair waits for the return bus, a write does not, and
// completions stay in order.
func TestReturnBusAndOrder(t *testing.T) {
	s := Spec{PairPortBytesPerCycle: 128, FIFOEntries: 8, LatencyCycles: 0, FillBytesPerCycle: 128}
	u := NewUnit(s)
	u.Push(0, Request{Service: 1, In: 1, Out: 8, Tag: 1}) // banks 1..2, bus 1..9
	u.Push(1, Request{Service: 1, In: 1, Out: 0, Tag: 2}) // banks 2..3, in order: done 9
	u.Push(2, Request{Service: 1, In: 1, Out: 8, Tag: 3}) // ready 3, bus free at 9
	if next := u.Step(8); next != 9 {
		t.Errorf("Step(8) = %d, want 9: the bus is free then", next)
	}
	u.Step(9)
	want := []Completion{{Tag: 1, At: 9}, {Tag: 2, At: 9}, {Tag: 3, At: 17}}
	if !slices.Equal(u.Done, want) {
		t.Errorf("done %v, want %v", u.Done, want)
	}
	if u.Stats.ReturnBlockedCycles != 6 {
		t.Errorf("banks idle for the bus %d cycles, want 6", u.Stats.ReturnBlockedCycles)
	}
}

// The banks serve both pairs and the fills in turn, the oldest first.
func TestArbitration(t *testing.T) {
	s := Spec{PairPortBytesPerCycle: 128, FIFOEntries: 8, LatencyCycles: 0, FillBytesPerCycle: 128}
	u := NewUnit(s)
	for i := range uint32(3) {
		u.PushFill(0, 512, 30+i) // ready 1, 4 cycles each
	}
	for i := range uint32(3) {
		now := int64(2 * i)
		u.Push(now, Request{Service: 4, In: 2, Tag: 10 + i, Pair: 0}) // ready 2, 4, 6
		u.Push(now, Request{Service: 4, In: 2, Tag: 20 + i, Pair: 1})
	}
	u.Step(100)
	var tags []uint32
	for _, c := range u.Done {
		tags = append(tags, c.Tag)
	}
	if want := []uint32{30, 10, 20, 31, 11, 21, 32, 12, 22}; !slices.Equal(tags, want) {
		t.Errorf("served %v, want %v", tags, want)
	}
	if u.Done[0] != (Completion{30, 5, true}) || u.Done[8].At != 1+9*4 {
		t.Errorf("first %+v, last %+v", u.Done[0], u.Done[8])
	}
}

// The other SIMD of a pair gets the port next, so two contending SIMDs share
// it; SIMDs of different pairs do not meet there.
func TestWriteIssue(t *testing.T) {
	cases := []struct {
		arch  string
		kind  Kind
		simds []int
		want  float64
	}{
		{"gfx942", WriteB128, []int{0}, 20}, // 4 address + 16 data
		{"gfx950", WriteB128, []int{0}, 10},
		{"gfx942", WriteB64, []int{0}, 12},
		{"gfx942", WriteB64, []int{0, 1}, 24},
		{"gfx942", WriteB64, []int{0, 2}, 12},
		{"gfx942", WriteB64, []int{0, 1, 2, 3}, 24},
		{"gfx942", WriteB32, []int{0}, 8},
	}
	for _, c := range cases {
		tab, s := mustTable(t, c.arch), specs[c.arch]
		r := request(tab, s, c.kind, spread(tab, c.kind, 1))
		u := NewUnit(s)
		// The port alone, without the SQ's four-cycle slots: each SIMD pushes as
		// soon as its latch is free.
		next, last := map[int]int64{}, map[int][]int64{}
		for now := int64(0); now < 2000; now++ {
			u.Step(now)
			for _, simd := range c.simds {
				if next[simd] > now {
					continue
				}
				q := r
				q.Pair, q.Side = uint8(simd/2), uint8(simd&1)
				ok, free := u.Push(now, q)
				if ok {
					last[simd] = append(last[simd], free)
				}
				if free != Never {
					next[simd] = free
				}
			}
		}
		for _, simd := range c.simds {
			if got := cadence(last[simd]); got != c.want {
				t.Errorf("%s %s on SIMDs %v: SIMD %d issues every %v cycles, want %v", c.arch, c.kind, c.simds, simd, got, c.want)
			}
		}
	}
}

// Skipping to the cycles that Step names gives the cycles of stepping one by
// one.
func TestSkippingChangesNothing(t *testing.T) {
	run := func(every bool) []Completion {
		rng := rand.New(rand.NewPCG(5, 6))
		u := NewUnit(specs["gfx950"])
		var all []Completion
		next := int64(0)
		for now := int64(0); now < 20000; now++ {
			work := rng.IntN(9) == 0
			if !every && !work && now < next {
				continue
			}
			next = u.Step(now)
			if work {
				if rng.IntN(4) == 0 {
					u.PushFill(now, 128*(1+rng.IntN(8)), 1)
				} else {
					r := Request{Service: 1 + int32(rng.IntN(16)), In: 2 + int32(rng.IntN(3)), Out: int32(rng.IntN(9)),
						Tag: uint32(now), Pair: uint8(rng.IntN(2)), Side: uint8(rng.IntN(2))}
					u.Push(now, r)
				}
				next = u.Next()
			}
			all = append(all, u.Done...)
			u.Done = u.Done[:0]
		}
		return all
	}
	a, b := run(true), run(false)
	if len(a) < 1000 || !slices.Equal(a, b) {
		t.Errorf("%d completions stepped, %d skipping, equal %v", len(a), len(b), slices.Equal(a, b))
	}
}

func TestUnitAllocatesNothing(t *testing.T) {
	u := NewUnit(specs["gfx950"])
	now := int64(0)
	n := testing.AllocsPerRun(1000, func() {
		u.Push(now, Request{Service: 4, In: 2, Out: 8})
		u.PushFill(now, 128, 0)
		now += 10
		u.Step(now)
		u.Done = u.Done[:0]
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFillQueueGrows(t *testing.T) {
	u := NewUnit(specs["gfx950"])
	for i := range uint32(1000) {
		u.PushFill(int64(i/100), 128, i)
	}
	u.Step(5000)
	if len(u.Done) != 1000 || u.Stats.FillCycles != 1000 {
		t.Fatalf("%d fills done in %d cycles", len(u.Done), u.Stats.FillCycles)
	}
	for i, c := range u.Done {
		if c.Tag != uint32(i) || c.At != int64(i)+2 || !c.Fill {
			t.Fatalf("fill %d: %+v", i, c)
		}
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	u := NewUnit(specs["gfx942"])
	u.Step(10)
	defer func() {
		if recover() == nil {
			t.Error("cycle 9 after cycle 10 was accepted")
		}
	}()
	u.Step(9)
}

func BenchmarkUnit(b *testing.B) {
	u := NewUnit(specs["gfx950"])
	now := int64(0)
	for b.Loop() {
		u.Push(now, Request{Service: 4, In: 2, Out: 8, Pair: uint8(now >> 3 & 1)})
		now += 8
		u.Step(now)
		u.Done = u.Done[:0]
	}
}
