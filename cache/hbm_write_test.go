package cache

import "testing"

// mixed sends reads and writes of n lines each, one of both every 16 cycles, past
// an LLC that keeps neither, and returns the counts and the cycle of the last
// answer.
func mixed(t *testing.T, mem HBMConfig, n int) (HBMStats, int64) {
	t.Helper()
	cfg, _ := smallLLC()
	cfg.AllocateOnRead, cfg.AllocateOnWrite = false, false
	cfg.MSHRsPerSlice = 64
	b := newLLCBench(t, cfg, mem)
	for i := range n {
		b.llc.Read(int64(16*i), 0, uint64(i)*128, uint32(i))
		b.llc.Write(int64(16*i), 1, 1<<24+uint64(i)*128, 128)
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

// A channel that gathers writes turns its bus once a batch and not once a
// request, and so takes less time for the same.
func TestWriteQueue(t *testing.T) {
	_, mem := smallLLC()
	mem.ReadToWriteCycles, mem.WriteToReadCycles = 10, 20
	const n = 4000
	alone, slow := mixed(t, mem, n)
	mem.WriteQueue = 16
	gathered, fast := mixed(t, mem, n)
	if alone.Turnarounds < n/2 {
		t.Errorf("without a queue the buses turned %d times for %d reads and writes", alone.Turnarounds, n)
	}
	if gathered.Turnarounds > n/4 || fast >= slow {
		t.Errorf("with a queue the buses turned %d times, until cycle %d; without %d times, until %d", gathered.Turnarounds, fast, alone.Turnarounds, slow)
	}
}

// Writes that no read follows leave the queue all the same.
func TestWriteQueueEmpties(t *testing.T) {
	cfg, mem := smallLLC()
	cfg.AllocateOnWrite = false
	mem.WriteQueue, mem.WriteToReadCycles = 16, 20
	b := newLLCBench(t, cfg, mem)
	for i := range 5 {
		b.llc.Write(0, 0, uint64(i)*1024, 128)
	}
	b.run(10000)
	if s := b.llc.HBMStats(); !b.llc.Idle() || s.RowHits+s.RowMisses != 5 {
		t.Errorf("idle %v, %d of 5 writes reached a row", b.llc.Idle(), s.RowHits+s.RowMisses)
	}
}
