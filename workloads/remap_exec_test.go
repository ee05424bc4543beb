package workloads

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/swizzle"
)

// The emitted scalar code computes each order, also with divisors that are no
// powers of two and with a last window that is lower.
func TestOrderCode(t *testing.T) {
	for _, g := range []struct{ nM, nN, w, c, x int }{
		{32, 32, 8, 64, 8}, {48, 36, 7, 216, 8}, {48, 36, 5, 25, 8}, {76, 57, 8, 542, 8}, {76, 57, 8, 64, 8},
		{40, 32, 4, 16, 8}, {1, 1, 4, 16, 8}, {3, 5, 8, 64, 8}, {13, 7, 3, 2, 7}, {13, 7, 12, 1, 3}, {5, 9, 0, 0, 8},
		{17, 3, 4, 5, 6}, {4096, 4096, 7, 100, 7},
	} {
		for _, kind := range swizzle.Kinds {
			if kind == swizzle.FullRange && g.nM*g.nN%g.x != 0 || kind == swizzle.Hilbert && g.nM > 100 {
				continue
			}
			checkOrderCode(t, swizzle.Grid{Rows: g.nM, Cols: g.nN}, swizzle.Order{Kind: kind, Window: g.w, Chunk: g.c, XCDs: g.x})
		}
	}
}

func checkOrderCode(t *testing.T, g swizzle.Grid, o swizzle.Order) {
	t.Helper()
	mem := isa.NewMemory()
	var tiles []swizzle.Tile
	table := uint64(0)
	if o.Kind == swizzle.Hilbert {
		plain := o
		plain.XCDs = 1 // for grids that are smaller than the XCD count
		var err error
		if tiles, err = plain.Map(g); err != nil {
			t.Fatal(err)
		}
		table = mem.Alloc("order", uint64(4*len(tiles)))
		mem.Write(table, orderTable(tiles))
	}
	b := NewBuilder(isa.GFX950, 1, 3)
	row, col, tmp, ptr := b.SGPR(1), b.SGPR(1), b.SGPR(4), b.SGPR(2)
	b.blockOrder(row, col, reg(isa.S(2), 1), tmp, g, o, ptr)
	b.SOPP(isa.S_ENDPGM, 0)
	insts, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	k := &isa.Kernel{Name: "order", CPU: isa.GFX950, Insts: insts}
	n := g.Tiles()
	for wg := 0; wg < n; wg += max(1, n/5000) {
		s := &isa.State{CPU: isa.GFX950, Mode: isa.DefaultMode, Mem: mem}
		s.SGPR[2] = uint32(wg)
		s.SGPR[ptr.Reg], s.SGPR[ptr.Reg+1] = uint32(table), uint32(table>>32)
		for !s.Ended {
			if err := isa.Exec(k, &k.Insts[s.PC], s); err != nil {
				t.Fatal(err)
			}
		}
		want := swizzle.Tile{}
		if tiles != nil {
			want = tiles[wg]
		} else {
			want = o.Place(wg, g)
		}
		if got := (swizzle.Tile{Row: int(s.SGPR[row.Reg]), Col: int(s.SGPR[col.Reg])}); got != want {
			t.Fatalf("%v on %s: workgroup %d: code gives %v, want %v", o, g, wg, got, want)
		}
	}
}
