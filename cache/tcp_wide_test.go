package cache

import "testing"

// TestWideLoads: an instruction's bytes are those of all lanes. The address coalescer takes 64 lanes of a dword in 4 cycles and wider
// ones in 16, whatever the lines; a store's width does not matter to it.
func TestWideLoads(t *testing.T) {
	spec := tcpSpec()
	spec.LineCycles, spec.StoreLineCycles = 1, 1
	for _, c := range []struct {
		name  string
		kind  MemKind
		lanes uint8
		bytes int32 // all lanes
		busy  uint64
	}{
		{"dword", MemLoad, 64, 256, 4},
		{"dwordx2", MemLoad, 64, 512, 16},
		{"dwordx4", MemLoad, 64, 1024, 16},
		{"dwordx4 to LDS", MemLDSDMA, 64, 1024, 16},
		{"dwordx4, half of the lanes", MemLoad, 32, 1024, 8},
		{"dword, half of the lanes", MemLoad, 32, 256, 2},
		{"ushort, 16 lanes", MemLoad, 16, 128, 1},
		{"store of dwordx4", MemStore, 64, 1024, 8},
	} {
		b := newTCPBench(t, spec)
		b.latency = 100
		lines := &Lines{}
		for at := int32(0); at < c.bytes; at += 128 {
			lines.Offset = append(lines.Offset, uint64(at))
			lines.Size = append(lines.Size, 128)
		}
		*b.tcp.Slot() = MemOp{Kind: c.kind, Tag: 1, Bytes: c.bytes, Lanes: c.lanes, Lines: lines}
		b.tcp.Push(0)
		b.next = 0
		b.run(400)
		if got := b.tcp.Stats.BusyCycles; got != c.busy {
			t.Errorf("%s: the coalescer is busy for %d cycles, want %d", c.name, got, c.busy)
		}
	}
}
