package tune

import (
	"context"
	"sync"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/swizzle"
	"github.com/whisker-sim/whisker/xcd"
)

// traffic is what a block order moves at each level, and the rounds of
// workgroups that the fullest XCD runs.
type traffic struct {
	hits   swizzle.Hits
	rounds int
	err    error
}

// shape is what decides the traffic of an order: forms that have it in common
// share their replays.
type shape struct {
	grid         swizzle.Grid
	tileM, tileN int
	kSteps       int
	stepBytes    float64
}

func (f *form) shape() shape { return shape{f.grid, f.tileM, f.tileN, f.kSteps, f.stepBytes} }

// replays keeps the traffic of every shape and order that was asked for.
type replays struct {
	ctx     context.Context // when it ends, no further replay begins
	machine *configs.Machine
	threads int
	known   map[shape]map[Order]*traffic
	tell    func(done, total int)
}

// of gives the traffic of orders on a shape, replaying those that are not known
// yet on as many threads as there are.
func (r *replays) of(s shape, orders []Order) (map[Order]*traffic, error) {
	if r.known[s] == nil {
		r.known[s] = map[Order]*traffic{}
	}
	all := r.known[s]
	var todo []Order
	for _, o := range orders {
		if all[o] == nil {
			all[o] = new(traffic)
			todo = append(todo, o)
		}
	}
	next := make(chan Order)
	var workers sync.WaitGroup
	for range min(r.threads, len(todo)) {
		workers.Go(func() {
			for o := range next {
				*all[o] = s.replay(r.machine, o) // its own element: the map stands
			}
		})
	}
	for i, o := range todo {
		if r.ctx.Err() != nil { // estimates of a large grid take long enough to be interrupted
			break
		}
		r.tell(i, len(todo))
		next <- o
	}
	close(next)
	workers.Wait()
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	for _, o := range todo {
		if err := all[o].err; err != nil {
			return nil, &sim.UsageError{Err: err}
		}
	}
	return all, nil
}

// replay replays a block order against the caches, some K steps at a time.
func (s shape) replay(m *configs.Machine, o Order) (t traffic) {
	// Without windows rows follow each other, as with windows of one row; without chunks, or fewer tiles than
	// XCDs, blocks stay where the dispatch puts them, as with chunks of one.
	order := swizzle.Order{Kind: swizzle.Remap, Window: max(o.Window, 1), Chunk: max(o.Chunk, 1), XCDs: m.Chip.XCDs}
	if s.grid.Tiles() < order.XCDs {
		order.XCDs = 1
	}
	tiles, err := order.Map(s.grid)
	if err != nil {
		return traffic{err: err}
	}
	n := s.grid.Tiles()
	on := func(wg int) int { return xcd.XCDOf(m, wg, n) }
	steps := s.together(m, tiles, on)
	bytes := func(rows int) int64 { return int64(float64(rows) * s.stepBytes * float64(steps)) }
	r := swizzle.Replay{Grid: s.grid, KSteps: s.kSteps / steps, ABytes: bytes(s.tileM), BBytes: bytes(s.tileN),
		CBytes: int64(s.tileM) * int64(s.tileN) * 2, XCDs: m.Chip.XCDs, CUsPerXCD: m.Chip.CUsPerXCD, L2Bytes: int64(m.L2.Bytes), LLCBytes: int64(m.LLC.Bytes), XCDOf: on}
	if t.hits, t.err = r.Run(tiles); t.err != nil {
		return t
	}
	perXCD, most := make([]int, m.Chip.XCDs), 0
	for wg := range n {
		perXCD[on(wg)]++
		most = max(most, perXCD[on(wg)])
	}
	t.rounds = (most + m.Chip.CUsPerXCD - 1) / m.Chip.CUsPerXCD
	return t
}

// fewSteps is how many steps a replay has at least, where the kernel has them, so
// that the caches' ends are seen.
const fewSteps = 16

// together is how many K steps a replay of the order may take as one: as long as
// what an XCD reads in them fits its L2, workgroups in step that share a slice
// still find it there.
func (s shape) together(m *configs.Machine, tiles []swizzle.Tile, on func(wg int) int) int {
	most := 0.0
	counts := make([]int, m.Chip.XCDs)
	rows, cols := make([]map[int]bool, m.Chip.XCDs), make([]map[int]bool, m.Chip.XCDs)
	for wg, t := range tiles {
		x := on(wg)
		if counts[x]%m.Chip.CUsPerXCD == 0 { // another round of the XCD
			rows[x], cols[x] = map[int]bool{}, map[int]bool{}
		}
		counts[x]++
		rows[x][t.Row], cols[x][t.Col] = true, true
		most = max(most, (float64(len(rows[x])*s.tileM)+float64(len(cols[x])*s.tileN))*s.stepBytes)
	}
	steps := max(1, min(int(float64(m.L2.Bytes)/most), s.kSteps/fewSteps))
	for s.kSteps%steps != 0 { // the last of them must be whole too
		steps--
	}
	return steps
}
