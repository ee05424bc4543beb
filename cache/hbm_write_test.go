package cache

import "testing"

// mixed sends reads and writes of n lines each, one of both every 4 cycles, which
// the channels can just carry, past an LLC that keeps neither, and returns the
// counts and the cycle of the last answer.
func mixed(t *testing.T, mem HBMConfig, n int) (HBMStats, int64) {
	t.Helper()
	cfg, _ := smallLLC()
	cfg.AllocateOnRead, cfg.AllocateOnWrite = false, false
	cfg.MSHRsPerSlice = 64
	b := newLLCBench(t, cfg, mem)
	for i := range n {
		b.llc.Read(int64(4*i), 0, 0, uint64(i)*128, uint32(i))
		b.llc.Write(int64(4*i), 1, 0, 1<<24+uint64(i)*128, 128)
	}
	for at := b.llc.Next(); at != Never; at = b.llc.Next() {
		b.llc.Advance(at)
	}
	if !b.llc.Idle() || len(b.replies) != n {
		t.Fatalf("idle %v, %d replies to %d reads", b.llc.Idle(), len(b.replies), n)
	}
	s := b.llc.HBMStats()
	if int(s.Reads) != n || int(s.Writes) != n || s.RowHits+s.RowMisses != s.Reads+s.Writes {
		t.Fatalf("%d reads and writes: %+v", n, s)
	}
	return s, b.replies[n-1].At
}

// A channel that lets accesses of the other direction wait turns its bus once a
// batch and not once an access, and so takes less time for the same.
func TestTurnAfter(t *testing.T) {
	_, mem := smallLLC()
	mem.ReadToWriteCycles, mem.WriteToReadCycles, mem.BanksPerChannel = 10, 20, 32
	const n = 4000
	mem.TurnAfter = 1
	each, slow := mixed(t, mem, n)
	mem.TurnAfter = 16
	batch, fast := mixed(t, mem, n)
	if each.Turnarounds < 2*batch.Turnarounds || fast >= slow {
		t.Errorf("turning for 16 the buses turned %d times, until cycle %d; for each %d times, until %d", batch.Turnarounds, fast, each.Turnarounds, slow)
	}
}

// A full write queue stops the slices, and everything is served in the end.
func TestWriteQueueStops(t *testing.T) {
	_, mem := smallLLC()
	mem.TurnAfter, mem.WriteToReadCycles = 4, 20
	_, free := mixed(t, mem, 500)
	mem.WriteQueue = 2
	if _, stopped := mixed(t, mem, 500); stopped <= free {
		t.Errorf("with two writes under way at most, done at cycle %d; without a limit at %d", stopped, free)
	}
}

// Writes without any read turn the bus and are served.
func TestWritesAlone(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.AllocateOnWrite = false
	mem.WriteQueue, mem.TurnAfter, mem.ReadToWriteCycles = 16, 16, 20
	b := newLLCBench(t, cfg, mem)
	for i := range 5 {
		b.llc.Write(0, 0, 0, uint64(i)*1024, 128)
	}
	b.run(10000)
	if s := b.llc.HBMStats(); !b.llc.Idle() || s.RowHits+s.RowMisses != 5 {
		t.Errorf("idle %v, %d of 5 writes reached a row", b.llc.Idle(), s.RowHits+s.RowMisses)
	}
}
