package xcd

import "github.com/whisker-sim/whisker/cache"

// FabricStats counts what the links carried. Data and request headers are kept
// apart.
type FabricStats struct {
	FabricReadBytes    uint64 // data towards the XCDs
	FabricWriteBytes   uint64 // data towards the IOD
	FabricRequestBytes uint64 // headers towards the IOD
	FabricQueueCycles  uint64 // waiting for a link, summed over lines
}

func (f *FabricStats) merge(o *FabricStats) {
	f.FabricReadBytes += o.FabricReadBytes
	f.FabricWriteBytes += o.FabricWriteBytes
	f.FabricRequestBytes += o.FabricRequestBytes
	f.FabricQueueCycles += o.FabricQueueCycles
}

// MemoryStats counts the memory traffic of one kernel.
type MemoryStats struct {
	L2       cache.LevelStats   // all XCDs
	L2PerXCD []cache.LevelStats // by XCD
	FabricStats
	LLC      cache.LevelStats
	HBM      cache.HBMStats
}

// Stats returns the counts since the last kernel began.
func (c *Chip) Stats() MemoryStats {
	s := MemoryStats{FabricStats: c.iod.fabric, LLC: *c.iod.llc.Stats(), HBM: c.iod.llc.HBMStats()}
	for _, x := range c.xcds {
		l := *x.l2.Stats()
		s.L2.Merge(&l)
		s.L2PerXCD = append(s.L2PerXCD, l)
		s.FabricStats.merge(&x.fabric)
	}
	return s
}

func (c *Chip) resetStats() {
	c.iod.fabric = FabricStats{}
	c.iod.llc.ResetStats()
	for _, x := range c.xcds {
		x.fabric = FabricStats{}
		x.l2.ResetStats()
	}
}
