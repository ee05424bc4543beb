package cache

import "fmt"

// LevelStats counts what happened at one cache level. A read that finds its
// line still in flight is a hit, as the hardware's counters have it, and is
// counted in ReadHitsInFlight as well.
type LevelStats struct {
	Reads, ReadHits, ReadHitsInFlight, ReadMisses uint64
	Writes, WriteHits, WriteMisses                uint64
	Atomics, AtomicHits, AtomicMisses             uint64 // L2 only; a hit on a line in flight is a hit
	AtomicHitsInFlight                            uint64
	AtomicBytes                                   uint64 // operands
	AtomicCycles                                  uint64 // of the channels' ports
	PortCycles                                    uint64 // L2 only: of the channels' ports, all requests
	ReadBytes, WriteBytes                         uint64 // asked for by the level above
	Fills, FillBytes                              uint64 // from the level below
	Beside                                        uint64 // LLC only: lines fetched beside or ahead of another
	BesideReads                                   uint64 // first reads of such lines; they count as misses
	WriteBacks, WriteBackBytes                    uint64 // to the level below
	QueueCycles                                   uint64 // waiting for service, summed over requests
	LatencyCycles                                 uint64 // request to answer, summed over reads
	StalledRequests                               uint64 // waited for a miss register, an evictable way or a place in the latency FIFO
	Retries                                       uint64 // turned away because the queue was full
	Latency                                       Histogram
	Queue                                         Histogram // waiting for service, each request
	FetchCycles                                   uint64    // L2 only: from asking the level below for a line to having it, summed over fills
	Fetch                                         Histogram // the same, each fill
}

// Requests returns reads, writes and atomics together.
func (s *LevelStats) Requests() uint64 { return s.Reads + s.Writes + s.Atomics }

// HitRate returns hits over requests of all kinds, 0 to 1; 0 without requests.
func (s *LevelStats) HitRate() float64 {
	return ratio(s.ReadHits+s.WriteHits+s.AtomicHits, s.Requests())
}

// ReadHitRate returns read hits over reads.
func (s *LevelStats) ReadHitRate() float64 { return ratio(s.ReadHits, s.Reads) }

func ratio(a, b uint64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Merge adds the counts of another unit of the same level.
func (s *LevelStats) Merge(o *LevelStats) {
	s.Reads += o.Reads
	s.ReadHits += o.ReadHits
	s.ReadHitsInFlight += o.ReadHitsInFlight
	s.ReadMisses += o.ReadMisses
	s.Writes += o.Writes
	s.WriteHits += o.WriteHits
	s.WriteMisses += o.WriteMisses
	s.Atomics += o.Atomics
	s.AtomicHits += o.AtomicHits
	s.AtomicMisses += o.AtomicMisses
	s.AtomicHitsInFlight += o.AtomicHitsInFlight
	s.AtomicBytes += o.AtomicBytes
	s.AtomicCycles += o.AtomicCycles
	s.PortCycles += o.PortCycles
	s.ReadBytes += o.ReadBytes
	s.WriteBytes += o.WriteBytes
	s.Fills += o.Fills
	s.Beside += o.Beside
	s.BesideReads += o.BesideReads
	s.FillBytes += o.FillBytes
	s.WriteBacks += o.WriteBacks
	s.WriteBackBytes += o.WriteBackBytes
	s.QueueCycles += o.QueueCycles
	s.LatencyCycles += o.LatencyCycles
	s.StalledRequests += o.StalledRequests
	s.Retries += o.Retries
	s.Latency.Merge(&o.Latency)
	s.Queue.Merge(&o.Queue)
	s.FetchCycles += o.FetchCycles
	s.Fetch.Merge(&o.Fetch)
}

// Check tells whether requests and bytes add up at a level of lines of lineBytes:
// every read was answered, every miss fetched one line, and every request was a
// hit or a miss. It holds when nothing is under way.
func (s *LevelStats) Check(level string, lineBytes uint64) error {
	for _, c := range []struct {
		what string
		a, b uint64
	}{
		{"reads and their hits and misses", s.Reads, s.ReadHits + s.ReadMisses},
		{"writes and their hits and misses", s.Writes, s.WriteHits + s.WriteMisses},
		{"atomics and their hits and misses", s.Atomics, s.AtomicHits + s.AtomicMisses},
		{"reads and answers", s.Reads, s.Latency.Count()},
		{"requests and services", s.Requests(), s.Queue.Count()},
		{"misses, lines fetched ahead and fills", s.ReadMisses + s.AtomicMisses + s.Beside, s.Fills + s.BesideReads},
		{"bytes asked for and lines read", s.ReadBytes, s.Reads * lineBytes},
		{"bytes filled and lines filled", s.FillBytes, s.Fills * lineBytes},
	} {
		if c.a != c.b {
			return fmt.Errorf("%s: %s differ: %d and %d", level, c.what, c.a, c.b)
		}
	}
	return nil
}

// waited counts the cycles that a request waited for service.
func (s *LevelStats) waited(cycles int64) {
	s.QueueCycles += uint64(cycles)
	s.Queue.Add(uint64(cycles))
}

func (s *LevelStats) answered(cycles int64) {
	s.LatencyCycles += uint64(cycles)
	s.Latency.Add(uint64(cycles))
}

func (s *LevelStats) fetched(cycles int64) {
	s.FetchCycles += uint64(cycles)
	s.Fetch.Add(uint64(cycles))
}

// HBMStats counts what happened at the memory channels.
type HBMStats struct {
	Reads, Writes         uint64
	ReadBytes, WriteBytes uint64
	RowHits, RowMisses    uint64
	Turnarounds           uint64 // changes of direction of the buses
	QueueCycles           uint64 // waiting for bank or bus, summed over requests
	LatencyCycles         uint64 // request to data, summed over reads
	BusyCycles            float64
	Latency               Histogram
	Queue                 Histogram
}
