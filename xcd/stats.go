package xcd

import (
	"fmt"

	"github.com/whisker-sim/whisker/cache"
)

// FabricStats counts what the links carried. Data and request headers are kept
// apart.
type FabricStats struct {
	ReadBytes    uint64 // data towards the XCDs
	WriteBytes   uint64 // data towards the IOD
	RequestBytes uint64 // headers towards the IOD
	QueueCycles  uint64 // waiting for a link, summed over lines
	Queue        cache.Histogram
	// Translations that L2 misses wanted, and those that were not at hand.
	TLBLookups, TLBMisses uint64
	Mesh                  MeshStats // between the IODs
}

// waited counts the cycles that a line waited for a link.
func (f *FabricStats) waited(cycles int64) {
	f.QueueCycles += uint64(cycles)
	f.Queue.Add(uint64(cycles))
}

func (f *FabricStats) merge(o *FabricStats) {
	f.ReadBytes += o.ReadBytes
	f.WriteBytes += o.WriteBytes
	f.RequestBytes += o.RequestBytes
	f.QueueCycles += o.QueueCycles
	f.Queue.Merge(&o.Queue)
	f.TLBLookups += o.TLBLookups
	f.TLBMisses += o.TLBMisses
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

// Check tells whether requests and bytes add up from level to level: what leaves
// one arrives at the next. It holds when nothing is under way.
func (s *MemoryStats) Check(lineBytes uint64) error {
	if err := s.L2.Check("L2", lineBytes); err != nil {
		return err
	}
	if err := s.LLC.Check("LLC", lineBytes); err != nil {
		return err
	}
	if err := s.Fabric.Mesh.check(); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	for _, c := range []struct {
		what string
		a, b uint64
	}{
		{"L2 misses and LLC reads", s.L2.ReadMisses + s.L2.AtomicMisses, s.LLC.Reads},
		{"L2 fills and lines on the fabric", s.L2.FillBytes, s.Fabric.ReadBytes},
		{"L2 fills and the times that they took", s.L2.Fills, s.L2.Fetch.Count()},
		{"LLC reads and lines on the fabric", s.LLC.ReadBytes, s.Fabric.ReadBytes},
		{"L2 write-backs and LLC writes", s.L2.WriteBacks, s.LLC.Writes},
		{"bytes written back by the L2 and bytes on the fabric", s.L2.WriteBackBytes, s.Fabric.WriteBytes},
		{"bytes written to the LLC and bytes on the fabric", s.LLC.WriteBytes, s.Fabric.WriteBytes},
		{"LLC misses, lines fetched ahead and memory reads", s.LLC.ReadMisses + s.LLC.Beside, s.HBM.Reads + s.LLC.BesideReads},
		// A burst is longer than a short line.
		{"bytes filled in the LLC and bytes read from memory", s.LLC.Fills * max(lineBytes, cache.BurstBytes), s.HBM.ReadBytes},
		{"LLC write-backs and memory writes", s.LLC.WriteBacks, s.HBM.Writes},
		{"memory accesses and row hits and misses", s.HBM.Reads + s.HBM.Writes, s.HBM.RowHits + s.HBM.RowMisses},
		{"memory reads and answers", s.HBM.Reads, s.HBM.Latency.Count()},
	} {
		if c.a != c.b {
			return fmt.Errorf("memory: %s differ: %d and %d", c.what, c.a, c.b)
		}
	}
	return nil
}

// Stats returns the counts since the last kernel began.
func (c *Chip) Stats() MemoryStats {
	s := MemoryStats{Fabric: c.iod.fabric, LLC: *c.iod.llc.Stats(), HBM: c.iod.llc.HBMStats()}
	if c.iod.mesh != nil {
		s.Fabric.Mesh = c.iod.mesh.counts()
	}
	for i, x := range c.xcds {
		s.LLCPerXCD = append(s.LLCPerXCD, c.iod.llc.Source(i))
		l := *x.l2.Stats()
		s.L2.Merge(&l)
		s.L2PerXCD = append(s.L2PerXCD, l)
		x.fabric.TLBLookups, x.fabric.TLBMisses = x.l2.TLB().Counts()
		s.Fabric.merge(&x.fabric)
	}
	return s
}

func (c *Chip) resetStats() {
	c.iod.fabric = FabricStats{}
	c.iod.llc.ResetStats()
	if c.iod.mesh != nil {
		c.iod.mesh.resetStats()
	}
	for _, x := range c.xcds {
		x.fabric = FabricStats{}
		x.l2.ResetStats()
	}
}
