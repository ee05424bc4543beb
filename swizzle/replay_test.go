package swizzle

import (
	"math"
	"strings"
	"testing"
	"time"
)

// table4 is the replay of a row of HipKittens' Table 4: 192x256 tiles, K steps
// of 64 BF16, the MI355X's caches.
func table4(n int, o Order) (Replay, []Tile) {
	g := Grid{n / 192, n / 256}
	o.XCDs = 8
	tiles, err := o.Map(g)
	if err != nil {
		panic(err)
	}
	return Replay{Grid: g, KSteps: n / 64, ABytes: 192 * 128, BBytes: 256 * 128, CBytes: 192 * 256 * 2,
		XCDs: 8, CUsPerXCD: 32, L2Bytes: 4 << 20, LLCBytes: 256 << 20}, tiles
}

// The lockstep replay of Table 4 gives what an independent replay of the same
// rules gave, within half a point, in well under the minute that all six may take.
func TestTable4Lockstep(t *testing.T) {
	began := time.Now()
	for _, c := range []struct {
		n       int
		o       Order
		l2, llc float64
	}{
		{9216, Order{Kind: RowMajor}, 72.7, 95.6},
		{9216, Order{Kind: Remap, Window: 7, Chunk: 216}, 79.8, 18.5},
		{9216, Order{Kind: Remap, Window: 5, Chunk: 25}, 71.9, 95.8},
		{14592, Order{Kind: RowMajor}, 35.9, 78.7},
		{14592, Order{Kind: Contiguous, Window: 8}, 80.1, 5.9},
		{14592, Order{Kind: Remap, Window: 8, Chunk: 64}, 79.4, 53.7},
	} {
		r, tiles := table4(c.n, c.o)
		h, err := r.Run(tiles)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d %s: L2 %.1f LLC %.1f, %.1f s", c.n, c.o, 100*h.L2(), 100*h.LLC(), time.Since(began).Seconds())
		if math.Abs(100*h.L2()-c.l2) > 0.5 || math.Abs(100*h.LLC()-c.llc) > 0.7 {
			t.Errorf("%d %s: L2 %.1f LLC %.1f, want %.1f and %.1f", c.n, c.o, 100*h.L2(), 100*h.LLC(), c.l2, c.llc)
		}
		if reads := int64(r.Grid.Tiles()) * int64(r.KSteps) * (r.ABytes + r.BBytes); h.L2Bytes != reads {
			t.Errorf("%d bytes read, the tiles need %d", h.L2Bytes, reads)
		}
	}
	if s := time.Since(began); s > 30*time.Second {
		t.Errorf("six rows took %v", s)
	}
}

// Lockstep is the limit of the queue of paces: a stagger too small to reorder
// K steps counts the same.
func TestLockstepIsTheQueueAtOnePace(t *testing.T) {
	for _, o := range []Order{{Kind: RowMajor}, {Kind: Remap, Window: 5, Chunk: 25}} {
		r, tiles := table4(9216, o)
		r.KSteps, r.LLCBytes = 24, 32<<20
		fast, err := r.Run(tiles)
		if err != nil {
			t.Fatal(err)
		}
		p := newPlayer(&r, tiles)
		p.Stagger = 1e-9
		p.launch()
		slow := p.launch()
		// Stores of a round come one after the other here and together there,
		// so that a few slices of the LLC differ.
		if math.Abs(fast.L2()-slow.L2()) > 1e-3 || math.Abs(fast.LLC()-slow.LLC()) > 0.02 {
			t.Errorf("%s: lockstep %+v, queue %+v", o, fast, slow)
		}
	}
}

// Drift takes the workgroups of an XCD apart, and with them the sharing that the
// order arranges; the same seed gives the same counts.
func TestDriftLosesSharing(t *testing.T) {
	r, tiles := table4(9216, Order{Kind: Remap, Window: 5, Chunk: 25})
	r.KSteps = 48
	together, err := r.Run(tiles)
	if err != nil {
		t.Fatal(err)
	}
	r.Drift, r.Stagger = 0.3, 2
	apart, err := r.Run(tiles)
	if err != nil {
		t.Fatal(err)
	}
	if apart.L2() > together.L2()-0.05 {
		t.Errorf("L2 hit rate %.3f apart, %.3f together", apart.L2(), together.L2())
	}
	again, err := r.Run(tiles)
	if err != nil || again != apart {
		t.Errorf("a second replay: %+v, %v, first %+v", again, err, apart)
	}
}

// An L2 of nothing misses everything, one of everything misses each slice once
// per XCD, and a cold LLC hits only what another XCD has read before.
func TestReplayLimits(t *testing.T) {
	r := Replay{Grid: Grid{4, 4}, KSteps: 2, ABytes: 100, BBytes: 10, XCDs: 2, CUsPerXCD: 8, LLCBytes: 1 << 20, Cold: true}
	tiles, err := Order{Kind: RowMajor, XCDs: 2}.Map(r.Grid)
	if err != nil {
		t.Fatal(err)
	}
	h, err := r.Run(tiles)
	if err != nil || h.L2HitBytes != 0 || h.LLCBytes != 16*2*110 || h.LLCHitBytes != h.LLCBytes-8*110 {
		t.Errorf("no L2: %+v, %v", h, err)
	}
	r.L2Bytes = 1 << 20
	h, err = r.Run(tiles)
	// XCD 0 has columns 0 and 2, XCD 1 columns 1 and 3, of all rows.
	if err != nil || h.LLCBytes != 2*(4*200+2*20) || h.LLCHitBytes != 4*200 {
		t.Errorf("a large L2: %+v, %v", h, err)
	}
}

func TestReplayRefuses(t *testing.T) {
	good := Replay{Grid: Grid{4, 4}, KSteps: 2, ABytes: 100, BBytes: 10, XCDs: 2, CUsPerXCD: 8}
	for _, c := range []struct {
		change func(*Replay)
		want   string
	}{
		{func(r *Replay) { r.KSteps = 0 }, "0 K steps"},
		{func(r *Replay) { r.ABytes = 0 }, "tile slices"},
		{func(r *Replay) { r.XCDs = 0 }, "0 XCDs"},
		{func(r *Replay) { r.LLCBytes = -1 }, "neither may be negative"},
		{func(r *Replay) { r.Drift = 1 }, "a drift of 1"},
		{func(r *Replay) { r.Stagger = math.NaN() }, "a stagger of NaN"},
		{func(r *Replay) { r.KSteps = 1 << 24 }, "slices of tiles"},
	} {
		r := good
		c.change(&r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", r, err, c.want)
		}
	}
	if _, err := good.Run(nil); err == nil {
		t.Error("no tiles: no error")
	}
}
