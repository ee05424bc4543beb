package xcd

import "github.com/whisker-sim/whisker/cache"

// FabricStats counts what the links carried. Data and request headers are kept
// apart.
type FabricStats struct {
	ReadBytes    uint64 // data towards the XCDs
	WriteBytes   uint64 // data towards the IOD
	RequestBytes uint64 // headers towards the IOD
	QueueCycles  uint64 // waiting for a link, summed over lines
}

func (f *FabricStats) merge(o *FabricStats) {
	f.ReadBytes += o.ReadBytes
	f.WriteBytes += o.WriteBytes
	f.RequestBytes += o.RequestBytes
	f.QueueCycles += o.QueueCycles
}

// MemoryStats counts the memory traffic of one kernel.
type MemoryStats struct {
	L2        cache.LevelStats   // all XCDs
	L2PerXCD  []cache.LevelStats // by XCD
	Fabric    FabricStats
	LLC       cache.LevelStats
	LLCPerXCD []cache.SourceStats // by XCD
	HBM       cache.HBMStats
}

// Stats returns the counts since the last kernel began.
func (c *Chip) Stats() MemoryStats {
	s := MemoryStats{Fabric: c.iod.fabric, LLC: *c.iod.llc.Stats(), HBM: c.iod.llc.HBMStats()}
	for i, x := range c.xcds {
		s.LLCPerXCD = append(s.LLCPerXCD, c.iod.llc.Source(i))
		l := *x.l2.Stats()
		s.L2.Merge(&l)
		s.L2PerXCD = append(s.L2PerXCD, l)
		s.Fabric.merge(&x.fabric)
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
