package cache

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type reply struct {
	At  int64
	Src int
	ID  uint32
}

type llcBench struct {
	llc     *LLC
	replies []reply
}

func (b *llcBench) Reply(now int64, src int, id uint32, _ int) {
	b.replies = append(b.replies, reply{now, src, id})
}

func (b *llcBench) run(until int64) {
	for at := b.llc.Next(); at <= until && at != Never; at = b.llc.Next() {
		b.llc.Advance(at)
	}
}

// smallLLC is 4 slices and 4 channels; 32 bytes a cycle and slice, 16 a cycle
// and channel; a 1000 MHz clock makes cycles of nanoseconds.
func smallLLC() (LLCConfig, HBMConfig) {
	return LLCConfig{
			Bytes: 64 << 10, LineBytes: 128, Ways: 4, Slices: 4, InterleaveBytes: 256, LatencyCycles: 200,
			GBs: 128, CoreMHz: 1000, MSHRsPerSlice: 4, AllocateOnRead: true, AllocateOnWrite: true,
		}, HBMConfig{
			Channels: 4, GBs: 64, CoreMHz: 1000, LatencyCycles: 150, RowMissCycles: 30, BanksPerChannel: 4, RowBytes: 1024,
		}
}

func newLLCBench(t testing.TB, cfg LLCConfig, mem HBMConfig) *llcBench {
	t.Helper()
	b := &llcBench{}
	llc, err := NewLLC(cfg, mem, b)
	if err != nil {
		t.Fatal(err)
	}
	b.llc = llc
	return b
}

func (b *llcBench) want(t *testing.T, replies ...reply) {
	t.Helper()
	if d := cmp.Diff(replies, b.replies); d != "" {
		t.Errorf("replies (-want +got):\n%s", d)
	}
	b.replies = nil
}

// TestMemoryUnloadedLatency: LLC hit, row hit and row miss cost the sums of
// what is configured, to the cycle.
func TestMemoryUnloadedLatency(t *testing.T) {
	cfg, mem := smallLLC()
	b := newLLCBench(t, cfg, mem)
	b.llc.Read(10, 2, 0, 0, 7)
	b.run(10 + 200 + 30 + 150 - 1)
	b.want(t)
	b.run(390)
	b.want(t, reply{390, 2, 7})
	b.llc.Read(1000, 3, 0, 0, 8)
	b.run(1199)
	b.want(t)
	b.run(1200)
	b.want(t, reply{1200, 3, 8})
	b.llc.Read(2000, 1, 0, 128, 9) // the row is open
	b.run(2349)
	b.want(t)
	b.run(2350)
	b.want(t, reply{2350, 1, 9})
	if s := b.llc.HBMStats(); s.RowHits != 1 || s.RowMisses != 1 || s.Reads != 2 || s.ReadBytes != 256 {
		t.Errorf("HBM counts: %+v", s)
	}
	if s := b.llc.Stats(); s.Reads != 3 || s.ReadHits != 1 || s.ReadMisses != 2 || s.Fills != 2 {
		t.Errorf("LLC counts: %+v", s)
	}
	if !b.llc.Idle() {
		t.Error("not idle")
	}
}

func TestLLCMergesMisses(t *testing.T) {
	for _, mshrs := range []int{4, 512} {
		cfg, mem := smallLLC()
		cfg.MSHRsPerSlice = mshrs
		mergesMisses(t, newLLCBench(t, cfg, mem))
	}
}

func mergesMisses(t *testing.T, b *llcBench) {
	t.Helper()
	b.llc.Read(0, 0, 0, 0, 1)
	b.llc.Read(50, 1, 0, 0, 2)
	b.llc.Read(300, 2, 0, 0, 3)
	b.run(1000)
	b.want(t, reply{380, 0, 1}, reply{380, 1, 2}, reply{500, 2, 3})
	if s := b.llc.Stats(); s.ReadHitsInFlight != 2 || s.ReadHits != 2 || s.ReadMisses != 1 {
		t.Errorf("counts: %+v", s)
	}
}

// TestBandwidths: saturated, hits run at the slices' bandwidth and misses at the
// channels'.
func TestBandwidths(t *testing.T) {
	const lines = 4000
	cfg, mem := smallLLC()
	cfg.Bytes, cfg.MSHRsPerSlice = 4<<20, 64
	for _, c := range []struct {
		name         string
		warm         bool
		bytesPerCycl float64
	}{{"hits", true, 128}, {"misses", false, 64}} {
		b := newLLCBench(t, cfg, mem)
		for i := range uint64(lines) {
			if c.warm {
				b.llc.Warm(i*128, false)
			}
			b.llc.Read(0, 0, 0, i*128, uint32(i))
		}
		b.run(Never - 1)
		if len(b.replies) != lines {
			t.Fatalf("%s: %d replies", c.name, len(b.replies))
		}
		took := float64(b.replies[lines-1].At - b.replies[0].At)
		if want := (lines - 4) * 128 / c.bytesPerCycl; took < want*0.995 || took > want*1.01 {
			t.Errorf("%s: %d lines take %.0f cycles, want %.0f", c.name, lines, took, want)
		}
	}
}

func TestLLCRegistersStopTheSlice(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.Slices, cfg.MSHRsPerSlice = 1, 1
	b := newLLCBench(t, cfg, mem)
	b.llc.Read(0, 0, 0, 0, 1)
	b.llc.Read(1, 0, 0, 4096, 2)
	b.llc.Read(2, 0, 0, 128, 3)
	b.run(5000)
	if len(b.replies) != 3 || b.replies[1].ID != 2 || b.replies[1].At < 380+350 || b.replies[2].At < b.replies[1].At+350 {
		t.Errorf("replies %+v: each miss must wait for the fill before it", b.replies)
	}
	if s := b.llc.Stats(); s.StalledRequests != 2 {
		t.Errorf("counts: %+v", s)
	}
}

// TestLLCWrites: writes allocate without a fetch, dirty victims go to memory,
// and a line partly written is fetched when read.
func TestLLCWrites(t *testing.T) {
	cfg, mem := smallLLC()
	b := newLLCBench(t, cfg, mem)
	b.llc.Write(0, 0, 0, 0, 128)
	b.llc.Write(100, 0, 0, 256, 32)
	b.llc.Read(1000, 0, 0, 0, 1)
	b.llc.Read(1000, 0, 0, 256, 2)
	b.run(3000)
	b.want(t, reply{1200, 0, 1}, reply{1380, 0, 2})
	// 32 sets a slice: lines 16 KiB apart share one. Four reads push line 0 out.
	for i := range 4 {
		b.llc.Read(4000+1000*int64(i), 0, 0, uint64(i+1)<<14, 3)
	}
	b.run(9000)
	if s := b.llc.HBMStats(); s.Writes != 1 || s.WriteBytes != 128 {
		t.Errorf("HBM counts: %+v", s)
	}
	cfg.AllocateOnWrite = false
	b = newLLCBench(t, cfg, mem)
	b.llc.Write(0, 0, 0, 0, 20)
	b.run(1000)
	if s := b.llc.HBMStats(); s.Writes != 1 || s.WriteBytes != 64 {
		t.Errorf("without allocation: HBM counts: %+v", s)
	}
	cfg.AllocateOnRead = false
	b = newLLCBench(t, cfg, mem)
	b.llc.Read(0, 0, 0, 0, 1)
	b.llc.Read(1000, 0, 0, 0, 2)
	b.run(3000)
	b.want(t, reply{380, 0, 1}, reply{1350, 0, 2})
}

// TestWarmLLC: what was touched last stays.
func TestWarmLLC(t *testing.T) {
	cfg, mem := smallLLC()
	b := newLLCBench(t, cfg, mem)
	const lines = 1024 // twice the capacity
	for i := range uint64(lines) {
		b.llc.Warm(i*128, i == lines-1)
	}
	for i := range uint64(lines) {
		b.llc.Read(int64(i)*1000, 0, 0, (lines-1-i)*128, 1)
	}
	b.run(Never - 1)
	if s := b.llc.Stats(); s.ReadHits != lines/2 {
		t.Errorf("%d hits, want the %d lines touched last", s.ReadHits, lines/2)
	}
	if s := b.llc.HBMStats(); s.Writes != 1 {
		t.Errorf("%d writes to memory, want 1: one line was dirty", s.Writes)
	}
}

// TestRowHitsGoFirst: a bank takes a request to its open row before an older
// one to another row.
func TestRowHitsGoFirst(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.Slices, mem.Channels, mem.BanksPerChannel = 1, 1, 1
	cfg.MSHRsPerSlice, cfg.LatencyCycles, cfg.GBs = 64, 1, 0
	b := newLLCBench(t, cfg, mem)
	b.llc.Read(0, 0, 0, 0, 1)
	b.llc.Read(0, 0, 0, 1024, 2)
	b.llc.Read(0, 0, 0, 128, 3)
	b.run(5000)
	var order []uint32
	for _, r := range b.replies {
		order = append(order, r.ID)
	}
	if !slices.Equal(order, []uint32{1, 3, 2}) {
		t.Errorf("order %v, want 1 3 2", order)
	}
	if s := b.llc.HBMStats(); s.RowHits != 1 || s.RowMisses != 2 {
		t.Errorf("counts: %+v", s)
	}
}

// TestBanksOverlap: row misses in different banks overlap, in one bank they
// follow each other.
func TestBanksOverlap(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.Slices, mem.Channels, cfg.LatencyCycles, cfg.GBs = 1, 1, 1, 0
	b := newLLCBench(t, cfg, mem)
	b.llc.Read(0, 0, 0, 0, 1)
	b.llc.Read(0, 0, 0, 1024, 2) // the next bank: bus only, 2 cycles for a line
	b.llc.Read(0, 0, 0, 5*1024, 3)
	b.run(5000)
	if d := b.replies[1].At - b.replies[0].At; d != 2 {
		t.Errorf("banks are %d cycles apart, want 2", d)
	}
	b = newLLCBench(t, cfg, mem)
	b.llc.Read(0, 0, 0, 0, 1)
	b.llc.Read(0, 0, 0, 5*1024, 2) // row 5: 1 XOR 1, bank 0
	b.run(5000)
	if d := b.replies[1].At - b.replies[0].At; d != 32 {
		t.Errorf("rows of a bank are %d cycles apart, want 32", d)
	}
}

func TestRefresh(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.Slices, mem.Channels, cfg.LatencyCycles = 1, 1, 1
	mem.RefreshInterval, mem.RefreshCycles = 1000, 100
	b := newLLCBench(t, cfg, mem)
	b.llc.Read(10, 0, 0, 0, 1)    // row miss
	b.llc.Read(500, 0, 0, 128, 2) // row hit
	b.llc.Read(898, 0, 0, 256, 3) // at memory at 899, the last cycle before the refresh
	b.llc.Read(899, 0, 0, 384, 4) // 900: waits until 1000, row closed
	b.run(5000)
	b.want(t, reply{10 + 181, 0, 1}, reply{500 + 151, 0, 2}, reply{898 + 151, 0, 3}, reply{1000 + 180, 0, 4})
}

func TestLLCConfigErrors(t *testing.T) {
	for name, change := range map[string]func(*LLCConfig, *HBMConfig){
		"geometry": func(c *LLCConfig, _ *HBMConfig) { c.Slices = 3 },
		"fetch":    func(c *LLCConfig, _ *HBMConfig) { c.FetchLines = 3 },
		"mshrs":    func(c *LLCConfig, _ *HBMConfig) { c.MSHRsPerSlice = 0 },
		"channels": func(_ *LLCConfig, m *HBMConfig) { m.Channels = 3 },
		"none":     func(_ *LLCConfig, m *HBMConfig) { m.Channels = 0 },
		"row":      func(_ *LLCConfig, m *HBMConfig) { m.RowBytes = 100 },
		"refresh":  func(_ *LLCConfig, m *HBMConfig) { m.RefreshInterval, m.RefreshCycles = 5, 5 },
	} {
		c, m := smallLLC()
		change(&c, &m)
		if _, err := NewLLC(c, m, &llcBench{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestChannelsOfSlices: whatever the numbers, lines and (channel, line) are one
// to one.
func TestChannelsOfSlices(t *testing.T) {
	for _, channels := range []int{1, 2, 4, 8, 16} {
		cfg, mem := smallLLC()
		mem.Channels = channels
		b := newLLCBench(t, cfg, mem)
		seen := map[[2]uint64]bool{}
		for i := range uint64(4096) {
			slice, line := b.llc.amap.local(i * 128)
			ch, line := b.llc.channelOf(slice, line)
			if ch < 0 || ch >= channels {
				t.Fatalf("%d channels: line %d goes to %d", channels, i, ch)
			}
			k := [2]uint64{uint64(ch), line}
			if seen[k] {
				t.Fatalf("%d channels: line %d shares its place", channels, i)
			}
			seen[k] = true
		}
	}
}

func benchmarkLLC(b *testing.B, lines int) {
	r := &discard{}
	llc, err := NewLLC(LLCConfig{
		Bytes: 256 << 20, LineBytes: 128, Ways: 16, Slices: 128, InterleaveBytes: 256, LatencyCycles: 300,
		GBs: 8500, CoreMHz: 2400, MSHRsPerSlice: 64, AllocateOnRead: true, AllocateOnWrite: true, SliceHash: true,
	}, HBMConfig{
		Channels: 128, GBs: 8000, CoreMHz: 2400, LatencyCycles: 400, RowMissCycles: 70, BanksPerChannel: 16, RowBytes: 2048,
		RefreshInterval: 9360, RefreshCycles: 300,
	}, r)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	now := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		now += rng.Int64N(2) // about 2 lines in 1 cycle: 5 TB/s
		for llc.Next() < now {
			llc.Advance(llc.Next())
		}
		llc.Read(now+240, 0, 0, uint64(rng.IntN(lines))*128, 0)
	}
}

type discard struct{}

func (discard) Reply(int64, int, uint32, int) {}

func BenchmarkLLCHit(b *testing.B)  { benchmarkLLC(b, 1<<18) }
func BenchmarkLLCMiss(b *testing.B) { benchmarkLLC(b, 1<<26) }
