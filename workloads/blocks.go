package workloads

import (
	"slices"

	"github.com/whisker-sim/whisker/swizzle"
)

// Blocks says where a GEMM's blocks lie in memory and in which order workgroups
// compute them. It is data only, so that a trace can keep it.
type Blocks struct {
	A, B, C      uint64 // addresses
	RowBytes     int    // of a row of A and of B
	M, N         int    // rows of A and of B
	TileM, TileN int
	Grid         swizzle.Grid
	Order        swizzle.Order
}

// Touch is memory that a workgroup reads or writes.
type Touch struct {
	Base, Bytes uint64
	Written     bool
}

// sweepParts is in how many pieces a round's sweep over K is told: workgroups
// that run together read the same piece of all their tiles before the next.
const sweepParts = 16

// LastTouches yields what the last workgroups of a launch touch, oldest first,
// where atOnce workgroups run together: whole rounds of them, from the end back
// to where their tiles fill capacity bytes. In a round the tiles of A and B are
// swept along K together, as workgroups that share tiles do, then C is written.
// It
// yields nothing for a kernel without blocks, or where all of it fits.
func (b *Blocks) LastTouches(atOnce int, capacity uint64, yield func(Touch)) error {
	if b.RowBytes == 0 {
		return nil
	}
	if uint64(b.M+b.N)*uint64(b.RowBytes)+uint64(b.M*b.N*2) <= capacity {
		return nil // all of it stays
	}
	tiles, err := b.Order.Map(b.Grid)
	if err != nil {
		return err
	}
	rounds := slices.Collect(slices.Chunk(tiles, max(atOnce, 1)))
	seen, first := uint64(0), len(rounds)
	old := newTileSets(b.Grid)
	for first > 0 && seen < capacity {
		first--
		rows, cols := old.add(rounds[first])
		n := 0
		for _, r := range rows {
			n += tileSpan(r, b.TileM, b.M) * b.RowBytes
		}
		for _, c := range cols {
			n += tileSpan(c, b.TileN, b.N) * b.RowBytes
		}
		for _, t := range rounds[first] {
			n += tileSpan(t.Row, b.TileM, b.M) * tileSpan(t.Col, b.TileN, b.N) * 2
		}
		seen += uint64(n)
	}
	for _, r := range rounds[first:] {
		b.round(r, yield)
	}
	return nil
}

// tileSpan is how many of n rows or columns a tile has.
func tileSpan(tile, size, n int) int { return min(size, n-tile*size) }

// round yields one round's touches.
func (b *Blocks) round(tiles []swizzle.Tile, yield func(Touch)) {
	rows, cols := newTileSets(b.Grid).add(tiles)
	piece := (b.RowBytes + sweepParts - 1) / sweepParts
	for from := 0; from < b.RowBytes; from += piece {
		n := min(piece, b.RowBytes-from)
		for _, r := range rows {
			for i := r * b.TileM; i < r*b.TileM+tileSpan(r, b.TileM, b.M); i++ {
				yield(Touch{Base: b.A + uint64(i*b.RowBytes+from), Bytes: uint64(n)})
			}
		}
		for _, c := range cols {
			for j := c * b.TileN; j < c*b.TileN+tileSpan(c, b.TileN, b.N); j++ {
				yield(Touch{Base: b.B + uint64(j*b.RowBytes+from), Bytes: uint64(n)})
			}
		}
	}
	for _, t := range tiles {
		for i := t.Row * b.TileM; i < t.Row*b.TileM+tileSpan(t.Row, b.TileM, b.M); i++ {
			yield(Touch{Base: b.C + uint64((i*b.N+t.Col*b.TileN)*2), Bytes: uint64(2 * tileSpan(t.Col, b.TileN, b.N)), Written: true})
		}
	}
}

// tileSets are the row and the column tiles seen so far.
type tileSets struct{ rows, cols []bool }

func newTileSets(g swizzle.Grid) *tileSets {
	return &tileSets{rows: make([]bool, g.Rows), cols: make([]bool, g.Cols)}
}

// add returns, in ascending order, the row and column tiles that were not seen
// before.
func (s *tileSets) add(tiles []swizzle.Tile) (rows, cols []int) {
	for _, t := range tiles {
		if !s.rows[t.Row] {
			s.rows[t.Row] = true
			rows = append(rows, t.Row)
		}
		if !s.cols[t.Col] {
			s.cols[t.Col] = true
			cols = append(cols, t.Col)
		}
	}
	slices.Sort(rows)
	slices.Sort(cols)
	return rows, cols
}
