package workloads

import (
	"testing"

	"github.com/whisker-sim/whisker/swizzle"
)

// grid is 4 x 6 tiles of 2 x 2 elements, K of 16 bytes: a row of A or B is a
// sixteenth of a piece of K each.
func testBlocks() Blocks {
	return Blocks{A: 0x1000, B: 0x2000, C: 0x3000, RowBytes: 16, M: 7, N: 12, TileM: 2, TileN: 2,
		Grid: swizzle.Grid{Rows: 4, Cols: 6}, Order: swizzle.Order{Kind: swizzle.RowMajor, XCDs: 1}}
}

func lastTouches(t *testing.T, b Blocks, atOnce int, capacity uint64) []Touch {
	t.Helper()
	var got []Touch
	if err := b.LastTouches(atOnce, capacity, func(t Touch) { got = append(got, t) }); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestLastTouchesOfOneRound(t *testing.T) {
	// 6 workgroups at once are one row of tiles: the last is row tile 3, of which
	// the ragged M leaves one row, with all 12 rows of B, and 6 rows of C.
	got := lastTouches(t, testBlocks(), 6, 1)
	if len(got) != 16*(1+12)+6 {
		t.Fatalf("%d touches", len(got))
	}
	if want := (Touch{Base: 0x1000 + 6*16, Bytes: 1}); got[0] != want {
		t.Errorf("the first is %+v, want %+v: the last row of A, start of K", got[0], want)
	}
	if want := (Touch{Base: 0x2000 + 11*16 + 15, Bytes: 1}); got[16*13-1] != want {
		t.Errorf("the sweep ends with %+v, want %+v: the last row of B, end of K", got[16*13-1], want)
	}
	if want := (Touch{Base: 0x3000 + (6*12+10)*2, Bytes: 4, Written: true}); got[len(got)-1] != want {
		t.Errorf("the last is %+v, want %+v: the last piece of C", got[len(got)-1], want)
	}
}

func TestLastTouchesReachTheCapacity(t *testing.T) {
	b := testBlocks()
	seen := func(got []Touch) map[uint64]bool {
		s := map[uint64]bool{}
		for _, g := range got {
			for a := g.Base; a < g.Base+g.Bytes; a++ {
				s[a] = true
			}
		}
		return s
	}
	total := uint64((7+12)*16 + 7*12*2)
	for _, capacity := range []uint64{1, 250, 300, 400, total - 1} {
		if n := uint64(len(seen(lastTouches(t, b, 6, capacity)))); n < min(capacity, total) {
			t.Errorf("capacity %d: %d bytes touched", capacity, n)
		}
	}
	if n := uint64(len(seen(lastTouches(t, b, 24, total-1)))); n != total {
		t.Errorf("one round of everything touches %d bytes of %d", n, total)
	}
	if got := lastTouches(t, b, 6, total); got != nil {
		t.Errorf("all of it fits, and %d touches are told", len(got))
	}
	if got := lastTouches(t, Blocks{}, 6, 1); got != nil {
		t.Errorf("no blocks, and %d touches are told", len(got))
	}
}
