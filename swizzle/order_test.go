package swizzle

import (
	"fmt"
	"strings"
	"testing"
)

// Every order visits every tile once, on grids of every shape.
func TestOrdersAreBijective(t *testing.T) {
	for rows := 1; rows <= 19; rows++ {
		for cols := 1; cols <= 17; cols++ {
			checkAll(t, Grid{rows, cols})
		}
	}
	for _, g := range []Grid{{48, 36}, {76, 57}, {32, 32}, {40, 32}, {43, 32}, {1, 4096}, {997, 3}} {
		checkAll(t, g)
	}
}

func checkAll(t *testing.T, g Grid) {
	t.Helper()
	for _, xcds := range []int{1, 7, 8} {
		if g.Tiles() < xcds {
			continue
		}
		for _, k := range Kinds {
			if k == FullRange && g.Tiles()%xcds != 0 {
				continue
			}
			for _, w := range []int{1, 2, 5, g.Rows} {
				for _, c := range []int{1, 3, 25, g.Tiles()} {
					o := Order{k, w, c, xcds}
					if w > g.Rows || c > g.Tiles() {
						continue
					}
					if _, err := o.Map(g); err != nil {
						t.Fatalf("%s, %d XCDs: %v", g, xcds, err)
					}
				}
			}
		}
	}
}

// What Bijective refuses.
func TestBijectiveRefuses(t *testing.T) {
	g := Grid{2, 2}
	for _, c := range []struct {
		tiles []Tile
		want  string
	}{
		{[]Tile{{0, 0}, {0, 1}, {1, 0}}, "3 workgroups for the 4 tiles"},
		{[]Tile{{0, 0}, {0, 1}, {1, 0}, {0, 1}}, "workgroups 1 and 3 both go to tile (0, 1)"},
		{[]Tile{{0, 0}, {0, 1}, {1, 0}, {2, 0}}, "outside"},
	} {
		if err := Bijective(c.tiles, g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.tiles, err, c.want)
		}
	}
}

// Algorithm 1 worked by hand: 32x32 tiles, W 8, C 64. Workgroup 8 is the second
// of XCD 0, place 1 of its chunk; workgroup 1 starts XCD 1's chunk at place 64,
// column 8; workgroup 512 starts XCD 0's second chunk, two windows on.
func TestRemapByHand(t *testing.T) {
	o, g := Order{Remap, 8, 64, 8}, Grid{32, 32}
	for _, c := range []struct{ wg, row, col int }{{0, 0, 0}, {8, 1, 0}, {64, 0, 1}, {1, 0, 8}, {512, 16, 0}, {1023, 31, 31}} {
		if got := o.Place(c.wg, g); got != (Tile{c.row, c.col}) {
			t.Errorf("workgroup %d: tile %v, want (%d, %d)", c.wg, got, c.row, c.col)
		}
	}
}

// C = 542 on 76x57 tiles is printed in the paper, and remaps nothing: a round
// of 8 chunks is longer than the grid. The contiguous order splits it evenly.
func TestChunkBeyondTheGridIsTail(t *testing.T) {
	g := Grid{76, 57}
	if o := (Order{Remap, 8, 542, 8}); o.Tail(g) != g.Tiles() {
		t.Errorf("tail %d, want all %d", o.Tail(g), g.Tiles())
	}
	if o := (Order{Remap, 8, 64, 8}); o.Tail(g) != 4332-8*512 {
		t.Errorf("tail %d", o.Tail(g))
	}
	tiles, err := Order{Kind: Contiguous, Window: 1, XCDs: 8}.Map(g)
	if err != nil {
		t.Fatal(err)
	}
	// 4332 = 4*542 + 4*541, each XCD one run of row-major tiles.
	next := 0
	for x := range 8 {
		for wg := x; wg < len(tiles); wg += 8 {
			if at := tiles[wg].Row*g.Cols + tiles[wg].Col; at != next {
				t.Fatalf("XCD %d, workgroup %d: tile %d, want %d", x, wg, at, next)
			}
			next++
		}
		if want := []int{542, 1084, 1626, 2168, 2709, 3250, 3791, 4332}[x]; next != want {
			t.Errorf("XCD %d ends at %d, want %d", x, next, want)
		}
	}
}

// A Hilbert curve steps to a neighbour; where an odd side forces it, diagonally
// and at most once.
func TestHilbertSteps(t *testing.T) {
	for rows := 2; rows <= 40; rows++ {
		for cols := 2; cols <= 40; cols++ {
			tiles, diagonal := hilbert(Grid{rows, cols}), 0
			for i := 1; i < len(tiles); i++ {
				d := abs(tiles[i].Row-tiles[i-1].Row) + abs(tiles[i].Col-tiles[i-1].Col)
				if d == 2 && tiles[i].Row != tiles[i-1].Row && tiles[i].Col != tiles[i-1].Col {
					diagonal++
				} else if d != 1 {
					t.Fatalf("%dx%d: step %d goes from %v to %v", rows, cols, i, tiles[i-1], tiles[i])
				}
			}
			if diagonal > 1 || diagonal == 1 && rows%2 == 0 && cols%2 == 0 {
				t.Fatalf("%dx%d: %d diagonal steps", rows, cols, diagonal)
			}
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	big := Grid{48, 36}
	for _, c := range []struct {
		o    Order
		g    Grid
		want string
	}{
		{Order{Remap, 0, 25, 8}, big, "window W is 0: it must be from 1 to the grid's 48 rows"},
		{Order{Remap, -1, 25, 8}, big, "window W is -1"},
		{Order{Remap, 49, 25, 8}, big, "window W is 49"},
		{Order{Remap, 5, 0, 8}, big, "chunk C is 0"},
		{Order{Remap, 5, 1729, 8}, big, "chunk C is 1729: it must be from 1 to the grid's 1728 tiles"},
		{Order{Remap, 1, 1, 8}, Grid{1, 7}, "smaller than the 8 XCDs"},
		{Order{FullRange, 8, 0, 8}, Grid{76, 57}, "no bijection"},
		{Order{RowMajor, 0, 0, 8}, Grid{0, 57}, "at least 1"},
		{Order{RowMajor, 0, 0, 8}, Grid{1 << 20, 1 << 20}, "at most"},
		{Order{"spiral", 0, 0, 8}, big, "unknown order"},
		{Order{RowMajor, 0, 0, 0}, big, "0 XCDs"},
	} {
		if err := c.o.Check(c.g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v on %s: %v, want %q", c.o, c.g, err, c.want)
		}
	}
}

// The plain orders, and the equality of grouped with a window alone.
func TestPlainOrders(t *testing.T) {
	g := Grid{3, 2}
	for _, c := range []struct {
		o    Order
		want string
	}{
		{Order{Kind: RowMajor, XCDs: 1}, "[{0 0} {0 1} {1 0} {1 1} {2 0} {2 1}]"},
		{Order{Kind: ColumnMajor, XCDs: 1}, "[{0 0} {1 0} {2 0} {0 1} {1 1} {2 1}]"},
		{Order{Kind: Grouped, Window: 2, XCDs: 1}, "[{0 0} {1 0} {0 1} {1 1} {2 0} {2 1}]"},
		{Order{Kind: FullRange, Window: 1, XCDs: 2}, "[{0 0} {1 1} {0 1} {2 0} {1 0} {2 1}]"},
	} {
		tiles, err := c.o.Map(g)
		if got := fmt.Sprint(tiles); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.o, got, err, c.want)
		}
	}
}
