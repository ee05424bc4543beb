package cache

// LevelStats counts what happened at one cache level. A read that finds its
// line still in flight is a hit, as the hardware's counters have it, and is
// counted in ReadHitsInFlight as well.
type LevelStats struct {
	Reads, ReadHits, ReadHitsInFlight, ReadMisses uint64
	Writes, WriteHits, WriteMisses                uint64
	ReadBytes, WriteBytes                         uint64 // asked for by the level above
	Fills, FillBytes                              uint64 // from the level below
	WriteBacks, WriteBackBytes                    uint64 // to the level below
	QueueCycles                                   uint64 // waiting for service, summed over requests
	LatencyCycles                                 uint64 // request to answer, summed over reads
	StalledRequests                               uint64 // waited for a miss register or an evictable way
	Retries                                       uint64 // turned away because the queue was full
	Latency                                       Histogram
}

// Requests returns reads and writes together.
func (s *LevelStats) Requests() uint64 { return s.Reads + s.Writes }

// HitRate returns hits over requests, reads and writes together, 0 to 1; 0
// without requests.
func (s *LevelStats) HitRate() float64 {
	return ratio(s.ReadHits+s.WriteHits, s.Requests())
}

// ReadHitRate returns read hits over reads.
func (s *LevelStats) ReadHitRate() float64 { return ratio(s.ReadHits, s.Reads) }

// MeanLatency returns cycles per read.
func (s *LevelStats) MeanLatency() float64 { return ratio(s.LatencyCycles, s.Reads) }

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
	s.ReadBytes += o.ReadBytes
	s.WriteBytes += o.WriteBytes
	s.Fills += o.Fills
	s.FillBytes += o.FillBytes
	s.WriteBacks += o.WriteBacks
	s.WriteBackBytes += o.WriteBackBytes
	s.QueueCycles += o.QueueCycles
	s.LatencyCycles += o.LatencyCycles
	s.StalledRequests += o.StalledRequests
	s.Retries += o.Retries
	s.Latency.Merge(&o.Latency)
}

func (s *LevelStats) answered(cycles int64) {
	s.LatencyCycles += uint64(cycles)
	s.Latency.Add(uint64(cycles))
}

// HBMStats counts what happened at the memory channels.
type HBMStats struct {
	Reads, Writes         uint64
	ReadBytes, WriteBytes uint64
	RowHits, RowMisses    uint64
	QueueCycles           uint64 // waiting for bank or bus, summed over requests
	LatencyCycles         uint64 // request to data, summed over reads
	BusyCycles            float64
	Latency               Histogram
}
