package xcd

import (
	"fmt"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
)

// workList is the share of one XCD in a launch: workgroups first,
// first+stride, ... count of them.
type workList struct {
	first, stride, count int
}

func (l workList) at(i int) int { return l.first + i*l.stride }

// shareOut returns the workgroups of an XCD. The map is static: round robin
// gives workgroup w to XCD (w + offset) mod XCDs, as measured on MI300X;
// contiguous gives each XCD one range.
func shareOut(d *configs.Dispatch, xcds, xcd, workgroups int) (workList, error) {
	turn := ((xcd-d.XCDOffset)%xcds + xcds) % xcds
	switch d.Order {
	case "round_robin", "":
		return workList{turn, xcds, max(0, (workgroups-turn+xcds-1)/xcds)}, nil
	case "contiguous":
		per := (workgroups + xcds - 1) / xcds
		first := min(turn*per, workgroups)
		return workList{first, 1, min(per, workgroups-first)}, nil
	}
	return workList{}, fmt.Errorf("dispatch order %q: round_robin and contiguous are known", d.Order)
}

// dispatcher starts the workgroups of one XCD. Shader engines take turns; a
// shader engine launches one wave in WaveLaunchCycles, and gives a workgroup to
// its least loaded CU that has room. CUs are numbered shader engine by shader
// engine in turn: CU c belongs to engine c mod engines.
type dispatcher struct {
	cfg      *configs.Dispatch
	cus      []ComputeUnit
	engines  int
	list     workList
	waves    int
	next     int     // of list
	turn     int     // shader engine whose turn it is
	freeAt   []int64 // per shader engine: its launcher
	readyAt  []int64 // per CU: after a workgroup ended on it
	load     []int   // per CU: workgroups running
	finished int
	at       int64 // next attempt, or cache.Never
	active   bool
}

func newDispatcher(cfg *configs.Dispatch, cus []ComputeUnit, engines int) *dispatcher {
	return &dispatcher{
		cfg: cfg, cus: cus, engines: engines,
		freeAt:  make([]int64, engines),
		readyAt: make([]int64, len(cus)),
		load:    make([]int, len(cus)),
		at:      cache.Never,
	}
}

// begin takes a launch whose first workgroup may start at cycle now.
func (d *dispatcher) begin(now int64, list workList, waves int) {
	d.list, d.waves, d.next, d.turn, d.finished = list, waves, 0, 0, 0
	for i := range d.freeAt {
		d.freeAt[i] = now
	}
	for i := range d.readyAt {
		d.readyAt[i] = now
	}
	d.at = now
	d.active = true
}

// done reports whether every workgroup of the list has ended.
func (d *dispatcher) done() bool { return d.finished == d.list.count }

// ended takes the end of a workgroup on a CU.
func (d *dispatcher) ended(now int64, cu int) {
	d.finished++
	d.load[cu]--
	d.readyAt[cu] = now + max(1, int64(d.cfg.WorkgroupGapCycles))
	if d.next < d.list.count {
		d.at = min(d.at, d.readyAt[cu])
	}
}

// step launches what can be launched at cycle now, and sets the next attempt.
func (d *dispatcher) step(now int64, wakes []int64) {
	d.at = cache.Never
	for d.next < d.list.count {
		cu, at := d.pick(now)
		if cu < 0 {
			d.at = at
			return
		}
		engine := cu % d.engines
		d.freeAt[engine] = now + int64(d.waves*d.cfg.WaveLaunchCycles)
		d.turn = (engine + 1) % d.engines
		d.load[cu]++
		wg := d.list.at(d.next)
		d.next++
		wakes[cu] = min(wakes[cu], max(now, d.cus[cu].Launch(now, wg)))
	}
}

// pick returns the CU for the next workgroup, or -1 and the cycle at which to
// try again; cache.Never when only the end of a workgroup can change anything.
func (d *dispatcher) pick(now int64) (int, int64) {
	retry := cache.Never
	for i := range d.engines {
		e := (d.turn + i) % d.engines
		best, ready := -1, cache.Never
		for cu := e; cu < len(d.cus); cu += d.engines {
			if best >= 0 && d.load[cu] >= d.load[best] && d.readyAt[best] <= now {
				continue
			}
			if !d.cus[cu].CanHost() {
				continue
			}
			if d.readyAt[cu] > now {
				ready = min(ready, d.readyAt[cu])
				continue
			}
			best = cu
		}
		switch {
		case best >= 0 && d.freeAt[e] <= now:
			return best, now
		case best >= 0:
			retry = min(retry, d.freeAt[e])
		case ready != cache.Never:
			retry = min(retry, max(ready, d.freeAt[e]))
		}
	}
	return -1, retry
}
