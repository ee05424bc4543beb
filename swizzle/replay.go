package swizzle

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Replay describes a tiled C = A B^T whose block order is replayed against LRU
// caches. The unit is the slice of a tile of A or B that one K step reads; the
// caches are fully associative, of their full capacity, and a line in flight
// counts as a hit. Nothing in it takes time: the workgroups' pace is given.
type Replay struct {
	Grid   Grid
	KSteps int
	// Bytes of one K step of a tile of A and of B, and of a tile of C.
	ABytes, BBytes, CBytes int64
	XCDs, CUsPerXCD        int // a CU runs one workgroup at a time
	L2Bytes, LLCBytes      int64
	// Drift is the spread of the workgroups' pace: each takes 1-Drift to
	// 1+Drift units of time for a K step, drawn once. 0 is lockstep.
	Drift float64
	// Stagger is how much later, in K steps, each workgroup of an XCD's first
	// round starts than the one before it.
	Stagger float64
	Seed    uint64
	// XCDOf gives the XCD of a workgroup; nil is workgroup mod XCDs.
	XCDOf func(wg int) int
	Cold  bool // the LLC is empty at first instead of holding what a launch leaves
}

// Hits is what a replay counts: reads of the L2s, their hits, reads that leave
// for the LLC, and their hits there, in bytes.
type Hits struct {
	L2Bytes, L2HitBytes, LLCBytes, LLCHitBytes int64
	WrittenBytes                               int64 // of C
}

// L2 is the hit rate of the L2s.
func (h Hits) L2() float64 { return float64(h.L2HitBytes) / float64(h.L2Bytes) }

// LLC is the hit rate of the reads that miss the L2; 1 when there are none.
func (h Hits) LLC() float64 {
	if h.LLCBytes == 0 {
		return 1
	}
	return float64(h.LLCHitBytes) / float64(h.LLCBytes)
}

// Check refuses what cannot be replayed.
func (r *Replay) Check() error {
	switch {
	case r.KSteps < 1 || r.KSteps > maxTiles:
		return fmt.Errorf("%d K steps: 1 to %d are possible", r.KSteps, maxTiles)
	case r.ABytes < 1 || r.BBytes < 1 || r.CBytes < 0:
		return fmt.Errorf("tile slices of %d and %d bytes: both must be at least 1", r.ABytes, r.BBytes)
	case r.XCDs < 1 || r.CUsPerXCD < 1:
		return fmt.Errorf("%d XCDs of %d CUs: both must be at least 1", r.XCDs, r.CUsPerXCD)
	case r.L2Bytes < 0 || r.LLCBytes < 0:
		return fmt.Errorf("an L2 of %d and an LLC of %d bytes: neither may be negative", r.L2Bytes, r.LLCBytes)
	case !(r.Drift >= 0 && r.Drift < 1):
		return fmt.Errorf("a drift of %g: it must be from 0 to below 1", r.Drift)
	case !(r.Stagger >= 0 && r.Stagger <= 1e6):
		return fmt.Errorf("a stagger of %g K steps: it must be from 0 to 1000000", r.Stagger)
	}
	if slices := float64(r.Grid.Rows+r.Grid.Cols) * float64(r.KSteps); slices > 1<<26 {
		return fmt.Errorf("%.0f slices of tiles: a replay holds at most %d", slices, 1<<26)
	}
	return nil
}

// Run replays a map of the grid: tiles[n] is the tile of workgroup n. An XCD
// starts its workgroups in the order of their numbers. Unless Cold, a launch before it warms the LLC.
func (r *Replay) Run(tiles []Tile) (Hits, error) {
	if err := r.Check(); err != nil {
		return Hits{}, err
	}
	if err := Bijective(tiles, r.Grid); err != nil {
		return Hits{}, err
	}
	p := newPlayer(r, tiles)
	if !r.Cold {
		p.launch()
	}
	return p.launch(), nil
}

// player is a replay under way. Slices are numbered: A's by row and K step,
// B's after them by column and K step, then the tiles of C.
type player struct {
	*Replay
	tiles  []Tile
	lists  [][]int // workgroups by XCD
	firstB int32
	firstC int32
	l2     []lru
	llc    lru
	hits   Hits
}

func newPlayer(r *Replay, tiles []Tile) *player {
	p := &player{Replay: r, tiles: tiles, firstB: int32(r.Grid.Rows * r.KSteps)}
	p.firstC = p.firstB + int32(r.Grid.Cols*r.KSteps)
	n := int(p.firstC) + r.Grid.Tiles()
	for range r.XCDs {
		p.l2 = append(p.l2, newLRU(n, r.L2Bytes))
	}
	p.llc = newLRU(n, r.LLCBytes)
	p.lists = make([][]int, r.XCDs)
	for wg := range tiles {
		x := wg % r.XCDs
		if r.XCDOf != nil {
			x = r.XCDOf(wg)
		}
		p.lists[x] = append(p.lists[x], wg)
	}
	return p
}

// runner is a workgroup on its CU. Time is in K steps.
type runner struct {
	at   float64 // its next K step
	pace float64
	turn int // breaks ties: the order of the launch
	wg   int
	xcd  int
	step int
}

type runners []*runner

func (q runners) Len() int { return len(q) }
func (q runners) Less(i, j int) bool {
	if q[i].at != q[j].at {
		return q[i].at < q[j].at
	}
	return q[i].turn < q[j].turn
}
func (q runners) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *runners) Push(x any)   { *q = append(*q, x.(*runner)) }
func (q *runners) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// launch runs every workgroup once. The L2s are empty before it.
func (p *player) launch() Hits {
	p.hits = Hits{}
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	pace := func() float64 { return 1 + p.Drift*(2*rng.Float64()-1) }
	next := make([]int, p.XCDs)
	var q runners
	for x := range p.l2 {
		p.l2[x].clear()
		next[x] = min(p.CUsPerXCD, len(p.lists[x]))
		for i, wg := range p.lists[x][:next[x]] {
			q = append(q, &runner{at: float64(i) * p.Stagger, pace: pace(), wg: wg, xcd: x, turn: wg})
		}
	}
	if p.Drift == 0 && p.Stagger == 0 {
		p.lockstep(q, next)
		return p.hits
	}
	heap.Init(&q)
	for len(q) > 0 {
		w := q[0]
		p.step(w)
		w.step++
		w.at += w.pace
		if w.step == p.KSteps {
			p.store(w)
			list := p.lists[w.xcd]
			if next[w.xcd] == len(list) {
				heap.Pop(&q)
				continue
			}
			wg := list[next[w.xcd]]
			w.wg, w.step, w.turn, w.pace = wg, 0, wg, pace()
			next[w.xcd]++
		}
		heap.Fix(&q, 0)
	}
	return p.hits
}

// lockstep is what the queue comes to when all workgroups have one pace: rounds
// of a workgroup a CU, in which they take each K step in the order of their
// numbers.
func (p *player) lockstep(q runners, next []int) {
	for len(q) > 0 {
		slices.SortFunc(q, func(a, b *runner) int { return a.turn - b.turn })
		for range p.KSteps {
			for _, w := range q {
				p.step(w)
				w.step++
			}
		}
		kept := q[:0]
		for _, w := range q {
			p.store(w)
			if list := p.lists[w.xcd]; next[w.xcd] < len(list) {
				wg := list[next[w.xcd]]
				next[w.xcd]++
				w.wg, w.turn, w.step = wg, wg, 0
				kept = append(kept, w)
			}
		}
		q = kept
	}
}

// step reads a K step's slices of A and B.
func (p *player) step(w *runner) {
	t := p.tiles[w.wg]
	p.read(w.xcd, int32(t.Row*p.KSteps+w.step), p.ABytes)
	p.read(w.xcd, p.firstB+int32(t.Col*p.KSteps+w.step), p.BBytes)
}

func (p *player) read(xcd int, id int32, bytes int64) {
	p.hits.L2Bytes += bytes
	if p.l2[xcd].access(id, bytes) {
		p.hits.L2HitBytes += bytes
		return
	}
	p.hits.LLCBytes += bytes
	if p.llc.access(id, bytes) {
		p.hits.LLCHitBytes += bytes
	}
}

// store writes a tile of C through to the LLC, which allocates on writes.
func (p *player) store(w *runner) {
	if p.CBytes == 0 {
		return
	}
	id := p.firstC + int32(p.tiles[w.wg].Row*p.Grid.Cols+p.tiles[w.wg].Col)
	p.hits.WrittenBytes += p.CBytes
	p.l2[w.xcd].access(id, p.CBytes)
	p.llc.access(id, p.CBytes)
}
