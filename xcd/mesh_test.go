package xcd

import (
	"slices"
	"testing"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
)

// fourIODs is the test machine with an IOD for each XCD, in two rows of two.
func fourIODs() *configs.Machine {
	m := testMachine()
	m.Chip.IODs = 4
	m.Fabric.HopNS = 20
	return m
}

// TestDistanceOfASlice: a line in a slice of the XCD's own IOD comes two hops' time, both
// ways, before one of a neighbour, and that as much before one of the IOD across; in the
// mean as fabric.latency_ns has it.
func TestDistanceOfASlice(t *testing.T) {
	const start = 70 // the launch message
	want := map[int]int64{0: 151 + 50 + 110 + 50, 1: 151 + 70 + 110 + 70, 2: 151 + 70 + 110 + 70, 3: 151 + 90 + 110 + 90}
	seen := map[int]bool{}
	for xcd := range 4 {
		for unit := range uint64(8) {
			line := unit * 256
			m := fourIODs()
			m.Dispatch.XCDOffset = xcd
			r := newRig(t, m, Options{}, func(_, i int) (uint64, int, bool) { return line, 0, i < 1 })
			r.WarmLLC([]Range{{Base: line, Bytes: 128}})
			for range 2 { // the counts are those of the last launch
				r.run(t, 1)
			}
			iod := r.iod.slices[r.iod.llc.Slice(line)]
			seen[iod] = true
			far := iod ^ xcd // XCD n is on IOD n; the bits are column and row
			if got := r.cus[xcd][0].answers[0] - start; got != want[far] {
				t.Errorf("a line of IOD %d came to XCD %d after %d cycles, want %d", iod, xcd, got, want[far])
			}
			lines := uint64(1)
			if far == 0 {
				lines = 0
			}
			if s := r.Stats().Fabric.Mesh; s.Entered != lines || s.Left != lines {
				t.Errorf("IOD %d: %d lines entered the links between IODs and %d left them, want %d", iod, s.Entered, s.Left, lines)
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("eight slices lie on IODs %v, want all four", seen)
	}
}

// TestLinkBetweenIODs: lines of a neighbour's slices come at the bandwidth of the link
// between the IODs, and so do written lines the other way, for which the launch waits.
func TestLinkBetweenIODs(t *testing.T) {
	const lines = 3000
	for _, c := range []struct {
		name  string
		bytes int
	}{{"read", 0}, {"written", 128}} {
		t.Run(c.name, func(t *testing.T) {
			m := fourIODs()
			m.Chip.XCDs, m.L2.MSHRsPerChannel, m.LLC.MSHRsPerSlice, m.L2.Bytes = 1, 1024, 1024, 16<<10
			m.Fabric.ReadGBs, m.Fabric.WriteGBs, m.LLC.GBs, m.HBM.GBs = 4096, 4096, 4096, 4096
			m.Fabric.EastWestGBs = 32
			var east []uint64
			probe := newRig(t, m, Options{}, func(int, int) (uint64, int, bool) { return 0, 0, false })
			for line := uint64(0); len(east) < lines; line += 128 {
				if probe.iod.slices[probe.iod.llc.Slice(line)] == 1 {
					east = append(east, line)
				}
			}
			r := newRig(t, m, Options{}, func(wg, i int) (uint64, int, bool) {
				k := i*6 + wg
				return east[min(k, lines-1)], c.bytes, k < lines
			}, func(f *fakeCU) { f.window = 1000 })
			res := r.run(t, 6)
			want := float64(lines) * 128 / 32
			if got := float64(res.Cycles); got < want*0.99 || got > want*1.02+1500 {
				t.Errorf("%d lines take %.0f cycles, want %.0f", lines, got, want)
			}
			if s := r.Stats().Fabric.Mesh; s.Bytes != lines*128 || s.Queue.Count() != lines || s.QueueCycles == 0 || s.BusiestCycles < want*0.99 || s.BusiestCycles > want*1.01 {
				t.Errorf("the links carried %d bytes, the busiest for %.0f cycles; want %d and %.0f", s.Bytes, s.BusiestCycles, lines*128, want)
			}
		})
	}
}

// TestRowThenColumn: lines for the IOD across go along their row first.
func TestRowThenColumn(t *testing.T) {
	var arrived []meshLine
	m := newMesh(&configs.Fabric{HopNS: 5}, 4, 4, testMHz, func(now int64, l *meshLine) {
		if now != l.at {
			t.Errorf("a line due at %d arrived at %d", l.at, now)
		}
		arrived = append(arrived, *l)
	})
	m.reply(100, meshLine{from: 0, to: 3, bytes: 128})
	if m.links[0*directions+toEast].lines.nextAt() != 105 {
		t.Fatal("the line is not on the link to the east")
	}
	for _, at := range []int64{105, 110} {
		if m.next != at {
			t.Fatalf("next at %d, want %d", m.next, at)
		}
		m.advance(at)
	}
	if len(arrived) != 1 || arrived[0].at != 110 || m.next != cache.Never || m.stats.Bytes != 256 {
		t.Errorf("arrived %+v, next %d, %d bytes", arrived, m.next, m.stats.Bytes)
	}
	if m.span() != 2 || m.distance(1, 2) != 2 || m.distance(0, 2) != 1 {
		t.Errorf("span %d, distances %d and %d", m.span(), m.distance(1, 2), m.distance(0, 2))
	}
}

// XCDs fill IODs evenly where they divide; an MI300A has two on each of three IODs.
func TestHomes(t *testing.T) {
	for _, c := range []struct {
		xcds, iods int
		want       []int
	}{
		{8, 4, []int{0, 0, 1, 1, 2, 2, 3, 3}},
		{8, 2, []int{0, 0, 0, 0, 1, 1, 1, 1}},
		{6, 4, []int{0, 0, 1, 1, 2, 2}},
		{2, 4, []int{0, 2}},
		{1, 4, []int{0}},
	} {
		if got := homes(c.xcds, c.iods); !slices.Equal(got, c.want) {
			t.Errorf("%d XCDs on %d IODs: %v, want %v", c.xcds, c.iods, got, c.want)
		}
	}
}
