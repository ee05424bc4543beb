// Package swizzle holds the orders in which workgroups walk a grid of tiles on
// a GPU of several dies. Workgroup n runs on XCD n mod XCDs, so the order decides
// which tiles share an L2 and how much of the matrices is live in the LLC. The
// package also replays an order against LRU caches, which takes a second where
// the cycle model takes minutes.
package swizzle

import (
	"fmt"
	"slices"
	"strings"
)

// Kind names an order.
type Kind string

// The orders.
const (
	// Remap is HipKittens' Algorithm 1: chunks of C consecutive tiles go to one
	// XCD, and tiles are walked in windows of W rows. Workgroups past the last
	// whole round of chunks keep their place.
	Remap Kind = "remap"
	// FullRange gives each XCD one range of tiles, windows as in Remap. It needs
	// a grid that the XCDs divide.
	FullRange Kind = "full-range"
	// Contiguous is FullRange for any grid: the first XCDs get a tile more where
	// the grid does not divide (Triton's and AITER's remap_xcd).
	Contiguous Kind = "contiguous"
	// RowMajor and ColumnMajor walk the grid plainly.
	RowMajor    Kind = "row-major"
	ColumnMajor Kind = "column-major"
	// Grouped walks groups of W rows column by column, as Triton's matmul does
	// (GROUP_SIZE_M), and leaves the XCDs alone.
	Grouped Kind = "grouped"
	// Hilbert follows a Hilbert curve over the grid.
	Hilbert Kind = "hilbert"
)

// Kinds are all orders, in the order of their description.
var Kinds = []Kind{Remap, FullRange, Contiguous, RowMajor, ColumnMajor, Grouped, Hilbert}

// Names are the orders' names.
func Names() []string {
	var s []string
	for _, k := range Kinds {
		s = append(s, string(k))
	}
	return s
}

// Windowed reports whether an order takes a window.
func (k Kind) Windowed() bool {
	return k == Remap || k == FullRange || k == Contiguous || k == Grouped
}

// Grid is a grid of tiles.
type Grid struct{ Rows, Cols int }

// Tiles returns the number of tiles.
func (g Grid) Tiles() int { return g.Rows * g.Cols }

func (g Grid) String() string { return fmt.Sprintf("%dx%d", g.Rows, g.Cols) }

// maxTiles bounds a grid: a map of it is held in memory.
const maxTiles = 1 << 24

// Tile is a place in a grid.
type Tile struct{ Row, Col int }

// Order is an order with its parameters. Window and Chunk are in tiles.
type Order struct {
	Kind          Kind
	Window, Chunk int
	XCDs          int
}

func (o Order) String() string {
	switch {
	case o.Kind == Remap:
		return fmt.Sprintf("%s W%d C%d", o.Kind, o.Window, o.Chunk)
	case o.Kind.Windowed():
		return fmt.Sprintf("%s W%d", o.Kind, o.Window)
	}
	return string(o.Kind)
}

// Check refuses an order that is none for the grid. All parameters must be
// given: a window and a chunk of no tile mean nothing.
func (o Order) Check(g Grid) error {
	if !slices.Contains(Kinds, o.Kind) {
		return fmt.Errorf("unknown order %q: choose %s", o.Kind, strings.Join(Names(), ", "))
	}
	switch {
	case g.Rows < 1 || g.Cols < 1:
		return fmt.Errorf("a grid of %s tiles: both must be at least 1", g)
	case g.Rows > maxTiles || g.Cols > maxTiles || g.Tiles() > maxTiles:
		return fmt.Errorf("a grid of %s tiles: at most %d tiles are possible", g, maxTiles)
	case o.XCDs < 1:
		return fmt.Errorf("%d XCDs: at least 1 is needed", o.XCDs)
	case g.Tiles() < o.XCDs:
		return fmt.Errorf("a grid of %s tiles is smaller than the %d XCDs: some would get none", g, o.XCDs)
	}
	if o.Kind.Windowed() && (o.Window < 1 || o.Window > g.Rows) {
		return fmt.Errorf("window W is %d: it must be from 1 to the grid's %d rows", o.Window, g.Rows)
	}
	if o.Kind == Remap && (o.Chunk < 1 || o.Chunk > g.Tiles()) {
		return fmt.Errorf("chunk C is %d: it must be from 1 to the grid's %d tiles", o.Chunk, g.Tiles())
	}
	if o.Kind == FullRange && g.Tiles()%o.XCDs != 0 {
		return fmt.Errorf("the full-range order of %d tiles is no bijection: the %d XCDs do not divide it; use the contiguous order", g.Tiles(), o.XCDs)
	}
	return nil
}

// Place is the tile that workgroup wg computes, for every order but Hilbert,
// whose map has no closed form (see Map). The parameters are not checked: a
// chunk of 0 leaves the XCDs alone and a window of 0 walks row by row.
func (o Order) Place(wg int, g Grid) Tile {
	n := g.Tiles()
	window := max(o.Window, 1)
	switch o.Kind {
	case FullRange:
		wg = wg%o.XCDs*(n/o.XCDs) + wg/o.XCDs
	case Contiguous:
		x := wg % o.XCDs
		// XCDs past the remainder have one tile less each.
		wg = x*((n+o.XCDs-1)/o.XCDs) + wg/o.XCDs - max(0, x-Tall(n, o.XCDs))
	case RowMajor:
		window = 1
	case ColumnMajor:
		window = g.Rows
	case Remap:
		if round := o.XCDs * o.Chunk; o.Chunk > 0 && wg < n/round*round {
			x, l := wg%o.XCDs, wg/o.XCDs
			wg = l/o.Chunk*round + x*o.Chunk + l%o.Chunk
		}
	}
	first := wg / (window * g.Cols) * window
	h := min(g.Rows-first, window)
	rem := wg % (window * g.Cols)
	return Tile{first + rem%h, rem / h}
}

// Tall is how many XCDs get a tile more than the others in the Contiguous order.
func Tall(tiles, xcds int) int {
	if r := tiles % xcds; r != 0 {
		return r
	}
	return xcds
}

// Tail is how many workgroups the remap leaves in place, after the last whole
// round of chunks. All of them: the order of XCDs is not changed at all.
func (o Order) Tail(g Grid) int {
	if o.Kind != Remap {
		return 0
	}
	return g.Tiles() % (o.XCDs * o.Chunk)
}

// Map returns the tile of every workgroup. The order must pass Check. The map is
// checked to be a bijection: every tile is computed once.
func (o Order) Map(g Grid) ([]Tile, error) {
	if err := o.Check(g); err != nil {
		return nil, err
	}
	var tiles []Tile
	if o.Kind == Hilbert {
		tiles = hilbert(g)
	} else {
		tiles = make([]Tile, g.Tiles())
		for wg := range tiles {
			tiles[wg] = o.Place(wg, g)
		}
	}
	if err := Bijective(tiles, g); err != nil {
		return nil, fmt.Errorf("order %s: %w", o, err)
	}
	return tiles, nil
}

// Bijective refuses a map that leaves a tile out or computes one twice.
func Bijective(tiles []Tile, g Grid) error {
	if len(tiles) != g.Tiles() {
		return fmt.Errorf("%d workgroups for the %d tiles of a %s grid", len(tiles), g.Tiles(), g)
	}
	owner := make([]int32, g.Tiles())
	for wg, t := range tiles {
		if t.Row < 0 || t.Row >= g.Rows || t.Col < 0 || t.Col >= g.Cols {
			return fmt.Errorf("workgroup %d goes to tile (%d, %d), outside the %s grid", wg, t.Row, t.Col, g)
		}
		at := &owner[t.Row*g.Cols+t.Col]
		if *at != 0 {
			return fmt.Errorf("workgroups %d and %d both go to tile (%d, %d)", *at-1, wg, t.Row, t.Col)
		}
		*at = int32(wg + 1)
	}
	return nil
}
