package cache

import (
	"math/rand/v2"
	"testing"
)

func fifoL2(entries int) TCCConfig {
	cfg := smallL2()
	cfg.LatencyFIFOEntries = entries
	return cfg
}

// TestHitWaitsBehindMiss: a hit that passed the tags after a miss is answered a cycle
// after it, and without the FIFO at once; in the other channel nothing waits.
func TestHitWaitsBehindMiss(t *testing.T) {
	for _, c := range []struct {
		entries int
		hit     int64 // of the channel with the miss
	}{{0, 1101 + 5}, {8, 1000 + 601 + 1}} {
		b := newTCCBench(t, fifoL2(c.entries), 500)
		b.read(0, 0, 0, 1)
		b.read(0, 0, 128, 2)
		b.run(900)
		b.answers = nil
		b.read(1000, 0, 0x1000, 3) // misses
		b.read(1005, 1, 0, 4)      // hits, same channel
		b.read(1005, 2, 128, 5)    // hits, the other
		b.run(c.hit - 1)
		for _, a := range b.answers {
			if a.Tag == 4 {
				t.Errorf("%d entries: hit answered at %d, before %d", c.entries, a.At, c.hit)
			}
		}
		b.run(2000)
		for _, a := range b.answers {
			if want := map[uint32]int64{3: 1601, 4: c.hit, 5: 1106}[a.Tag]; a.At != want {
				t.Errorf("%d entries: read %d answered at %d, want %d", c.entries, a.Tag, a.At, want)
			}
		}
		if !b.l2.Idle() || len(b.answers) != 3 {
			t.Errorf("%d entries: %d answers, idle %v", c.entries, len(b.answers), b.l2.Idle())
		}
	}
}

// TestFillsOutOfOrder: lines that come in another order are answered in the order of
// their reads, and without the FIFO as they come.
func TestFillsOutOfOrder(t *testing.T) {
	for entries, want := range map[int][]answer{
		0: {{676, 1, 1, "line"}, {726, 2, 2, "line"}, {776, 0, 0, "line"}},
		8: {{776, 0, 0, "line"}, {777, 1, 1, "line"}, {778, 2, 2, "line"}},
	} {
		b := newTCCBench(t, fifoL2(entries), Never)
		for i := range 3 {
			b.read(int64(i), i, uint64(i)*0x100, uint32(i))
		}
		b.run(100)
		for i, n := range []int{1, 2, 0} {
			at := int64(600 + 50*i)
			b.l2.Fill(at, b.fetches[n].id)
			b.run(at)
		}
		b.run(2000)
		b.want(want...)
	}
}

// TestFIFOFull: a channel whose FIFO is full serves nothing until its head leaves.
func TestFIFOFull(t *testing.T) {
	b := newTCCBench(t, fifoL2(2), 500)
	for i := range 3 {
		b.read(0, 0, uint64(i)*0x100, uint32(i))
	}
	b.run(599)
	if len(b.fetches) != 3 || b.fetches[2].at < 525 {
		t.Errorf("fetches %v: the third belongs behind the first fill", b.fetches)
	}
	b.run(3000)
	if s := b.l2.Stats(); s.StalledRequests != 1 || len(b.answers) != 3 || !b.l2.Idle() {
		t.Errorf("%d stalled, answers %v", s.StalledRequests, b.answers)
	}
}

// TestTranslationOutsideFIFO: a read that waits for its translation holds nobody up while
// there are entries; it, and who joins its line meanwhile, come behind those that pass the tags before.
func TestTranslationOutsideFIFO(t *testing.T) {
	cfg := fifoL2(4)
	cfg.TLB, cfg.TLBMissCycles = TLBConfig{Entries: 1, Ways: 1, PageBytes: 4096}, 300
	b := newTCCBench(t, cfg, 500)
	b.read(0, 0, 0, 1)
	b.run(2000) // page 0 is in the TLB, line 0 in the cache
	b.answers = nil
	b.read(2000, 0, 0x2000, 2) // page 2: translated at 2025 + 300
	b.read(2010, 1, 0x2000, 3)
	b.read(2020, 2, 0, 4) // hits
	b.run(2121)
	b.want(answer{2121, 2, 4, "line"})
	b.read(2200, 3, 0x2400, 5) // page 2 too
	b.run(5000)
	b.want(answer{2901, 0, 2, "line"}, answer{2902, 1, 3, "line"}, answer{2903, 3, 5, "line"})
	if !b.l2.Idle() {
		t.Error("not idle")
	}
}

// TestFIFOKeepsOrder: any mix of reads, writes and atomics with fills in any order ends,
// loses nothing, keeps to its entries, and answers the reads of a channel in the order of
// their service but for those whose translation is missing.
func TestFIFOKeepsOrder(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		cfg := fifoL2(1 + r.IntN(12))
		cfg.Channels, cfg.Bytes = 1, 16<<10
		inOrder := seed%2 == 0 // a missing translation lets others pass
		if !inOrder {
			cfg.TLB, cfg.TLBMissCycles = TLBConfig{Entries: 2, Ways: 1, PageBytes: 4096}, 1+int64(r.IntN(300))
		}
		b := newTCCBench(t, cfg, Never)
		var now int64
		var reads []uint32
		waiting := []event{}
		writes := 0
		const n = 400
		for tag := uint32(0); tag < n; {
			line := uint64(r.IntN(200)) * 128
			var retry int64
			switch r.IntN(8) {
			case 0:
				if retry = b.l2.Write(now, 0, line, 64, tag); retry == 0 {
					writes++
				}
			case 1:
				if retry = b.l2.Atomic(now, 0, line, Atomic{Bytes: 4, Same: 1}, tag); retry == 0 {
					writes++
				}
			default:
				if retry = b.l2.Read(now, 0, line, tag); retry == 0 {
					reads = append(reads, tag)
				}
			}
			if retry == 0 {
				tag++
			}
			if f := &b.l2.channels[0].fifo; f.n+f.late > len(f.entries) || f.n < 0 || f.late < 0 {
				t.Fatalf("seed %d: %d entries and %d without translation of %d", seed, f.n, f.late, len(f.entries))
			}
			now += int64(r.IntN(4))
			b.run(now)
			waiting = append(waiting, b.fetches...)
			b.fetches = nil
			if len(waiting) > 0 && (retry != 0 || r.IntN(3) == 0) {
				k := r.IntN(len(waiting))
				b.l2.Fill(now, waiting[k].id)
				waiting = append(waiting[:k], waiting[k+1:]...)
			}
		}
		for !b.l2.Idle() {
			now += 10
			b.run(now)
			waiting = append(waiting, b.fetches...)
			b.fetches = nil
			if len(waiting) > 0 {
				b.l2.Fill(now, waiting[0].id)
				waiting = waiting[1:]
			}
		}
		b.run(now + 10000)
		var got []uint32
		for _, a := range b.answers {
			if a.Kind == "line" {
				got = append(got, a.Tag)
			}
		}
		if len(got) != len(reads) || len(b.answers) != len(reads)+writes {
			t.Fatalf("seed %d: %d lines for %d reads, %d answers", seed, len(got), len(reads), len(b.answers))
		}
		for i := range got {
			if inOrder && got[i] != reads[i] {
				t.Fatalf("seed %d: answer %d is read %d, want %d", seed, i, got[i], reads[i])
			}
		}
	}
}
