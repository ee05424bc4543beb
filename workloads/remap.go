package workloads

import (
	"encoding/binary"
	"math/bits"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/swizzle"
)

// blockOrder emits the tile that workgroup wg computes in order o of grid g, all
// parameters immediates. row and col receive it; t is scratch of four registers.
// A Hilbert curve has no closed form: table is then the address of the map, an
// SGPR pair that is loaded by now, with a dword (row << 16 | col) a workgroup.
func (b *Builder) blockOrder(row, col, wg, t Val, g swizzle.Grid, o swizzle.Order, table Val) {
	n := g.Tiles()
	t0, t1, id := t.At(0, 1), t.At(1, 1), t.At(3, 1)
	switch o.Kind {
	case swizzle.Hilbert:
		b.SMulAdd64(t.At(2, 2), table, wg, Imm(4), t)
		b.SLoad(row, t.At(2, 2), 0)
		b.WaitLGKM(0)
		b.SOP2(isa.S_AND_B32, col, row, Imm(0xffff))
		b.SOP2(isa.S_LSHR_B32, row, row, Imm(16))
	case swizzle.FullRange, swizzle.Contiguous:
		b.divMod(t0, t1, wg, o.XCDs, n) // t0 = place on the XCD, t1 = XCD
		b.SMul(id, t1, Imm((n+o.XCDs-1)/o.XCDs))
		b.SAdd(id, id, t0)
		if tall := swizzle.Tall(n, o.XCDs); tall < o.XCDs {
			// XCDs past the remainder have a tile less each.
			b.SOP2(isa.S_SUB_I32, t1, t1, Imm(tall))
			b.SOP2(isa.S_MAX_I32, t1, t1, Imm(0))
			b.SOP2(isa.S_SUB_U32, id, id, t1)
		}
		b.SMov(row, id)
		b.remap(row, col, row, t, g.Rows, g.Cols, o.Window, 0, o.XCDs)
	case swizzle.RowMajor:
		b.remap(row, col, wg, t, g.Rows, g.Cols, 1, 0, o.XCDs)
	case swizzle.ColumnMajor:
		b.remap(row, col, wg, t, g.Rows, g.Cols, g.Rows, 0, o.XCDs)
	case swizzle.Grouped:
		b.remap(row, col, wg, t, g.Rows, g.Cols, o.Window, 0, o.XCDs)
	default:
		b.remap(row, col, wg, t, g.Rows, g.Cols, o.Window, o.Chunk, o.XCDs)
	}
}

// Tiles returns the tile of every workgroup of a kernel with a grid of tiles, nil
// of any other.
func (b *Built) Tiles() []swizzle.Tile {
	g := swizzle.Grid{Rows: b.GridM, Cols: b.GridN}
	o := swizzle.Order{Kind: swizzle.Kind(b.Spec.Order), Window: b.Spec.W, Chunk: b.Spec.C, XCDs: max(1, b.Spec.XCDs)}
	if o.Kind == swizzle.Hilbert && g.Tiles() > 0 {
		o.XCDs = 1 // which the curve does not depend on
		tiles, err := o.Map(g)
		if err != nil {
			return nil
		}
		return tiles
	}
	var tiles []swizzle.Tile
	for wg := range g.Tiles() {
		tiles = append(tiles, o.Place(wg, g))
	}
	return tiles
}

// orderTable is the map that blockOrder reads where the order has no closed form.
func orderTable(tiles []swizzle.Tile) []byte {
	var s []byte
	for _, t := range tiles {
		s = binary.LittleEndian.AppendUint32(s, uint32(t.Row)<<16|uint32(t.Col))
	}
	return s
}

// magic returns m and s such that for all n < limit, n/d is the high half of
// 2n*m shifted right by s. Doubling n lets d = 1 fit a 32-bit m.
func magic(d, limit int) (m uint32, s int) {
	// ceil(2^(p-1)/d) errs by less than d/2^(p-1); times n < limit that stays
	// below 1/d when 2^(p-1) >= limit*d.
	p := max(32, bits.Len(uint(limit))+bits.Len(uint(d))+1)
	return uint32((uint64(1)<<(p-1) + uint64(d) - 1) / uint64(d)), p - 32
}

// divMod emits q = n/d and r = n%d for a constant d and n < limit. q and r must
// differ from n.
func (b *Builder) divMod(q, r, n Val, d, limit int) {
	if d&(d-1) == 0 {
		b.SOP2(isa.S_LSHR_B32, q, n, Imm(bits.TrailingZeros(uint(d))))
		b.SOP2(isa.S_AND_B32, r, n, Imm(d-1))
		return
	}
	m, s := magic(d, limit)
	b.SOP2(isa.S_LSHL_B32, q, n, Imm(1))
	b.SOP2(isa.S_MUL_HI_U32, q, q, Imm(int(m)))
	if s > 0 {
		b.SOP2(isa.S_LSHR_B32, q, q, Imm(s))
	}
	b.SMul(r, q, Imm(d))
	b.SOP2(isa.S_SUB_U32, r, n, r)
}

// remap emits Algorithm 1 (swizzle.Remap) for the workgroup id in wg, with every
// parameter an immediate: chunk 0 leaves the order of XCDs alone, and window 0
// walks row by row. row and col receive the tile; t is scratch of four registers.
func (b *Builder) remap(row, col, wg, t Val, nM, nN, window, chunk, xcds int) {
	n := nM * nN
	t0, t1, t2, id := t.At(0, 1), t.At(1, 1), t.At(2, 1), t.At(3, 1)
	b.SMov(id, wg)
	if round := xcds * chunk; chunk > 0 && n/round > 0 {
		last := n / round * round
		b.divMod(t0, t1, wg, xcds, n)  // t0 = place on the XCD, t1 = XCD
		b.divMod(t2, id, t0, chunk, n) // t2 = chunk, id = place in it
		b.SMul(t2, t2, Imm(round))
		b.SMul(t1, t1, Imm(chunk))
		b.SAdd(id, id, t2)
		b.SAdd(id, id, t1)
		if last < n {
			b.SOPC(isa.S_CMP_LT_U32, wg, Imm(last))
			b.SOP2(isa.S_CSELECT_B32, id, id, wg)
		}
	}
	window = min(max(window, 1), nM)
	b.divMod(t0, t1, id, window*nN, n) // t0 = window, t1 = place in it
	b.SMul(row, t0, Imm(window))
	tail := nM % window
	if tail == 0 {
		b.divMod(col, t2, t1, window, n)
		b.SAdd(row, row, t2)
		return
	}
	// The last window is lower: choose its height and reciprocal by SCC.
	b.SOPC(isa.S_CMP_LT_U32, t0, Imm(nM/window))
	mw, sw := magic(window, n)
	mt, st := magic(tail, n)
	b.SMov(t0, Imm(window))
	b.SOP2(isa.S_CSELECT_B32, t0, t0, Imm(tail))
	b.SMov(t2, Imm(int(mw)))
	b.SMov(col, Imm(int(mt)))
	b.SOP2(isa.S_CSELECT_B32, t2, t2, col)
	b.SMov(col, Imm(sw))
	b.SOP2(isa.S_CSELECT_B32, id, col, Imm(st))
	b.SOP2(isa.S_LSHL_B32, col, t1, Imm(1))
	b.SOP2(isa.S_MUL_HI_U32, col, col, t2)
	b.SOP2(isa.S_LSHR_B32, col, col, id)
	b.SMul(t0, t0, col)
	b.SOP2(isa.S_SUB_U32, t0, t1, t0)
	b.SAdd(row, row, t0)
}
