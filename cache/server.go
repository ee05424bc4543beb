package cache

import "math"

// serverFraction is the number of fractional bits of a Server's time. With 24
// a byte at 8 TB/s costs about 5000 units, so rounding is below 0.02 percent,
// and 2^39 whole cycles remain: minutes of device time.
const serverFraction = 24

// Server is a bandwidth limit: a FIFO that passes so many bytes per cycle. A
// transfer begins when the transfers before it are through. Its own length
// delays only what follows: latencies are counted from the head of a transfer,
// so an unloaded path costs exactly the sum of its configured latencies.
type Server struct {
	free    int64 // fixed point: when the next transfer can begin
	perByte int64 // fixed point cycles per byte
	busy    int64 // fixed point: total occupancy
}

// NewServer makes a server of gbs gigabytes per second seen from a core clock
// of coreMHz. A bandwidth of zero or less means no limit.
func NewServer(gbs, coreMHz float64) Server {
	if gbs <= 0 {
		return Server{}
	}
	cycles := coreMHz / (1000 * gbs)
	return Server{perByte: int64(math.Round(cycles * (1 << serverFraction)))}
}

// Claim enters a transfer of bytes at cycle now and returns the cycle at which
// it begins. Callers must come in order of time.
func (s *Server) Claim(now int64, bytes int) int64 {
	start := max(now<<serverFraction, s.free)
	cost := int64(bytes) * s.perByte
	s.free = start + cost
	s.busy += cost
	return (start + 1<<serverFraction - 1) >> serverFraction
}

// Pause keeps the server idle for so many cycles after its last transfer.
func (s *Server) Pause(cycles int64) { s.free += cycles << serverFraction }

// Start returns the cycle at which a transfer entered now would begin.
func (s *Server) Start(now int64) int64 {
	return max(now, (s.free+1<<serverFraction-1)>>serverFraction)
}

// Cycles returns the occupancy of bytes, rounded up to whole cycles.
func (s *Server) Cycles(bytes int) int64 {
	return (int64(bytes)*s.perByte + 1<<serverFraction - 1) >> serverFraction
}

// BusyCycles returns the cycles spent transferring so far.
func (s *Server) BusyCycles() float64 {
	return float64(s.busy) / (1 << serverFraction)
}

// ResetStats clears the occupancy count, not the time.
func (s *Server) ResetStats() { s.busy = 0 }

// CyclesOf converts nanoseconds to whole core cycles, to the nearest.
func CyclesOf(ns, coreMHz float64) int64 {
	return int64(math.Round(ns * coreMHz / 1000))
}
