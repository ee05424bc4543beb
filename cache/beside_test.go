package cache

import (
	"math/rand/v2"
	"testing"
)

// TestFetchBeside: a miss brings its neighbour, whose first read waits for it or hits
// at once and counts as a miss, and whose second is a hit.
func TestFetchBeside(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.FetchLines = 2
	b := newLLCBench(t, cfg, mem)
	b.llc.Read(0, 0, 0, 128, 1) // the upper line of a block brings the lower one
	b.llc.Read(300, 0, 0, 0, 2) // under way: memory has it 8 cycles behind the other, with the row open
	b.run(387)
	b.want(t, reply{380, 0, 1})
	b.run(500)
	b.want(t, reply{500, 0, 2}) // 300 and the LLC's latency
	b.llc.Read(1000, 1, 0, 0, 3)
	b.run(1200)
	b.want(t, reply{1200, 1, 3})
	if s := b.llc.Stats(); s.ReadMisses != 2 || s.ReadHits != 1 || s.Beside != 1 || s.BesideReads != 1 || s.Fills != 2 {
		t.Errorf("counts: %+v", s)
	}
	if s := b.llc.HBMStats(); s.Reads != 2 || s.RowMisses != 1 {
		t.Errorf("HBM counts: %+v", s)
	}
	if got := b.llc.Source(0); got.Hits != 0 || b.llc.Source(1).Hits != 1 {
		t.Errorf("hits of sources 0 and 1: %d, %d", got.Hits, b.llc.Source(1).Hits)
	}

	// A block of four in slices that change every two lines: lines 0 and 1 of slice 0
	// and the two that follow them there, 1 KiB on. What is there is not fetched.
	cfg.FetchLines, cfg.MSHRsPerSlice = 4, 8
	b = newLLCBench(t, cfg, mem)
	b.llc.Write(0, 0, 0, 1024, 128)
	b.run(10)
	b.llc.Read(20, 0, 0, 0, 1)
	b.run(2000)
	for i, line := range []uint64{0, 128, 1024, 1024 + 128} {
		b.llc.Read(int64(3000+1000*i), 0, 0, line, 2)
	}
	b.run(9000)
	b.want(t, reply{400, 0, 1}, reply{3200, 0, 2}, reply{4200, 0, 2}, reply{5200, 0, 2}, reply{6200, 0, 2})
	if s := b.llc.Stats(); s.ReadMisses != 3 || s.ReadHits != 2 || s.Beside != 2 || s.BesideReads != 2 || s.Fills != 3 {
		t.Errorf("counts of four: %+v", s)
	}
}

// TestFetchAhead: a miss brings the next line, and the first read of that one shows a
// run, of which four lines are fetched ahead from then on, up to the end of the block.
func TestFetchAhead(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.PrefetchLines, cfg.PrefetchBlock, cfg.MSHRsPerSlice = 4, 1024, 8
	b := newLLCBench(t, cfg, mem)
	b.llc.Write(0, 0, 0, 26*128, 128)
	b.run(10)
	for i, c := range []struct {
		what   string
		line   uint64
		cycles int64  // to the answer
		ahead  uint64 // lines fetched ahead so far
		misses uint64
	}{
		{"a miss, with a row to open, brings the next line", 0, 380, 1, 1},
		{"it is there, and four more are fetched", 1, 200, 5, 2},
		{"one more", 2, 200, 6, 3},
		{"a second read of a line fetches nothing and hits", 2, 200, 6, 3},
		{"the last of the block", 3, 200, 7, 4},
		{"the next would be beyond the block", 4, 200, 7, 5},
		{"a miss elsewhere brings its next line alone", 16, 350, 8, 6},
		{"another", 18, 350, 9, 7},
		{"the last line of a block brings none", 15, 350, 9, 8},
		{"a line that is there is not fetched", 25, 350, 9, 9},
	} {
		now := int64(1000 * (i + 1))
		b.llc.Read(now, 0, 0, c.line*128, uint32(i))
		b.run(now + 900)
		b.want(t, reply{now + c.cycles, 0, uint32(i)})
		if s := b.llc.Stats(); s.Beside != c.ahead || s.ReadMisses != c.misses {
			t.Errorf("%s: %d lines fetched ahead and %d misses, want %d and %d", c.what, s.Beside, s.ReadMisses, c.ahead, c.misses)
		}
	}
	if s := b.llc.Stats(); s.BesideReads != 4 || s.ReadHits != 1 {
		t.Errorf("%d first reads of lines fetched ahead and %d hits, want 4 and 1", s.BesideReads, s.ReadHits)
	}

	// Who asks for a line on its way waits for no more than what is left.
	b = newLLCBench(t, cfg, mem)
	b.llc.Read(0, 0, 0, 0, 1)
	b.llc.Read(300, 0, 0, 128, 2)
	b.run(2000)
	b.want(t, reply{380, 0, 1}, reply{500, 0, 2})
	if s := b.llc.Stats(); s.Beside != 5 || s.ReadMisses != 2 || s.ReadHits != 0 {
		t.Errorf("counts: %+v", s)
	}
}

// TestFetchAheadLeavesRegisters: half of a slice's registers are for reads that somebody
// waits for.
func TestFetchAheadLeavesRegisters(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.PrefetchLines, cfg.PrefetchBlock, cfg.InterleaveBytes = 16, 4096, 4096
	b := newLLCBench(t, cfg, mem)
	b.llc.Read(0, 0, 0, 0, 1)
	b.run(900)
	b.llc.Read(1000, 0, 0, 128, 2) // of 16 lines two find a register: four are free
	b.run(2000)
	if s := b.llc.Stats(); s.Beside != 3 {
		t.Errorf("%d lines fetched ahead, want 3", s.Beside)
	}
}

// TestFetchBesideNeedsRoom: what a read does not keep brings nothing, not even when
// the line itself is there in part.
func TestFetchBesideNeedsRoom(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.FetchLines, cfg.AllocateOnRead = 2, false
	b := newLLCBench(t, cfg, mem)
	b.llc.Write(0, 0, 0, 0, 64)
	b.run(100)
	b.llc.Read(200, 0, 0, 0, 1)
	b.run(2000)
	if s := b.llc.Stats(); s.Beside != 0 || s.ReadMisses != 1 {
		t.Errorf("counts: %+v", s)
	}
}

// TestFetchBesideAddsUp: whatever is read and written, every read is answered once,
// and what memory was read for adds up.
func TestFetchBesideAddsUp(t *testing.T) {
	for seed := range uint64(20) {
		cfg, mem := smallLLC()
		cfg.FetchLines = 1 << (seed % 5)
		cfg.PrefetchLines, cfg.PrefetchBlock = int(seed%4), 1024
		cfg.SetHash, cfg.SliceHash = seed%2 == 0, seed%3 == 0
		mem.WriteQueue = 8
		b := newLLCBench(t, cfg, mem)
		rng := rand.New(rand.NewPCG(seed, 1))
		reads, now := 0, int64(0)
		for range 3000 {
			now += rng.Int64N(40)
			b.run(now - 1)
			line := uint64(rng.IntN(2048)) * 128
			if rng.IntN(4) == 0 {
				b.llc.Write(now+1, 0, 0, line, 64+64*rng.IntN(2))
				continue
			}
			b.llc.Read(now+1, 0, 0, line, uint32(reads))
			reads++
		}
		b.run(now + 1_000_000)
		if len(b.replies) != reads || !b.llc.Idle() {
			t.Fatalf("seed %d: %d answers to %d reads", seed, len(b.replies), reads)
		}
		s, h := b.llc.Stats(), b.llc.HBMStats()
		if err := s.Check("LLC", 128); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if s.ReadMisses-s.BesideReads+s.Beside != h.Reads || s.Fills != h.Reads || s.BesideReads > s.Beside || (cfg.FetchLines > 1 || cfg.PrefetchLines > 0) != (s.BesideReads > 0) {
			t.Errorf("seed %d: %+v and %d reads of memory", seed, s, h.Reads)
		}
	}
}
