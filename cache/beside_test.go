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
	b.llc.Read(0, 0, 128, 1) // the upper line of a block brings the lower one
	b.llc.Read(300, 0, 0, 2) // under way: memory has it 8 cycles behind the other, with the row open
	b.run(387)
	b.want(t, reply{380, 0, 1})
	b.run(500)
	b.want(t, reply{500, 0, 2}) // 300 and the LLC's latency
	b.llc.Read(1000, 1, 0, 3)
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
	b.llc.Write(0, 0, 1024, 128)
	b.run(10)
	b.llc.Read(20, 0, 0, 1)
	b.run(2000)
	for i, line := range []uint64{0, 128, 1024, 1024 + 128} {
		b.llc.Read(int64(3000+1000*i), 0, line, 2)
	}
	b.run(9000)
	b.want(t, reply{400, 0, 1}, reply{3200, 0, 2}, reply{4200, 0, 2}, reply{5200, 0, 2}, reply{6200, 0, 2})
	if s := b.llc.Stats(); s.ReadMisses != 3 || s.ReadHits != 2 || s.Beside != 2 || s.BesideReads != 2 || s.Fills != 3 {
		t.Errorf("counts of four: %+v", s)
	}
}

// TestFetchBesideNeedsRoom: what a read does not keep brings nothing, not even when
// the line itself is there in part.
func TestFetchBesideNeedsRoom(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.FetchLines, cfg.AllocateOnRead = 2, false
	b := newLLCBench(t, cfg, mem)
	b.llc.Write(0, 0, 0, 64)
	b.run(100)
	b.llc.Read(200, 0, 0, 1)
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
				b.llc.Write(now+1, 0, line, 64+64*rng.IntN(2))
				continue
			}
			b.llc.Read(now+1, 0, line, uint32(reads))
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
		if s.ReadMisses-s.BesideReads+s.Beside != h.Reads || s.Fills != h.Reads || s.BesideReads > s.Beside || (cfg.FetchLines > 1) != (s.BesideReads > 0) {
			t.Errorf("seed %d: %+v and %d reads of memory", seed, s, h.Reads)
		}
	}
}
