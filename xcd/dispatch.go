package xcd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
)

// workList is the share of one XCD in a launch: runs of run consecutive
// workgroups, the first at first and each stride after the one before; count
// workgroups of them. If only is not nil, it is those instead.
type workList struct {
	first, run, stride, count int
	only                      []int
}

func (l workList) at(i int) int {
	if l.only != nil {
		return l.only[i]
	}
	return l.first + i/l.run*l.stride + i%l.run
}

// choose keeps the workgroups that present names; nil keeps all.
func (l workList) choose(present func(wg int) bool) workList {
	if present == nil {
		return l
	}
	only := []int{}
	for i := range l.count {
		if wg := l.at(i); present(wg) {
			only = append(only, wg)
		}
	}
	return workList{count: len(only), only: only}
}

// shareOut returns the workgroups of an XCD. The map is static: round robin
// gives workgroup w to XCD (w + offset) mod XCDs, as measured on MI300X;
// shader_engine gives it as many consecutive ones as it has shader engines, and
// contiguous one range.
func shareOut(m *configs.Machine, xcd, workgroups int) workList {
	d, xcds := &m.Dispatch, m.Chip.XCDs
	turn := ((xcd-d.XCDOffset)%xcds + xcds) % xcds
	run := 1
	switch d.Order {
	case "shader_engine":
		run = m.Chip.ShaderEngines
	case "contiguous":
		run = max(1, (workgroups+xcds-1)/xcds)
	}
	whole := workgroups / (run * xcds) // rounds in which every XCD gets a run
	rest := workgroups - whole*run*xcds
	return workList{first: turn * run, run: run, stride: run * xcds, count: whole*run + max(0, min(run, rest-turn*run))}
}

// XCDOf returns the XCD that a workgroup of a launch is sent to.
func XCDOf(m *configs.Machine, wg, workgroups int) int {
	l := shareOut(m, 0, workgroups)
	return (wg/l.run + m.Dispatch.XCDOffset) % m.Chip.XCDs
}

// checkDispatch refuses orders that are not known; "" is the hardware's.
func checkDispatch(d *configs.Dispatch) error {
	for _, c := range []struct {
		what, value string
		known       []string
	}{
		{"order", d.Order, []string{"", "round_robin", "contiguous", "shader_engine"}},
		{"CU order", d.CUOrder, []string{"", "shader_engines", "fill", "spread"}},
	} {
		if !slices.Contains(c.known, c.value) {
			return fmt.Errorf("dispatch %s %q: %s are known", c.what, c.value, strings.Join(c.known[1:], ", "))
		}
	}
	return nil
}

// dispatcher starts the workgroups of one XCD. A shader engine launches one wave
// in WaveLaunchCycles, and StaggerCycles pass at least between two workgroups, with
// WaveStaggerCycles more for each wave of the first.
// Which CU is next is CUOrder's: shader engines take turns and give a workgroup
// to their least loaded CU that has room; or CUs are filled in the order of
// their numbers; or the least loaded one of all is next. CUs are numbered shader
// engine by shader engine in turn: CU c belongs to engine c mod engines.
type dispatcher struct {
	cfg      *configs.Dispatch
	cus      []ComputeUnit
	engines  int
	list     workList
	waves    int
	next     int       // of list
	turn     int       // shader engine whose turn it is
	launchAt int64     // the earliest next launch, by the stagger
	freeAt   []int64   // per shader engine: its launcher
	freed    [][]int64 // per CU, in order: when the room of a workgroup that ended can be taken
	load     []int     // per CU: workgroups running
	finished int
	at       int64 // next attempt, or cache.Never
	active   bool
}

func newDispatcher(cfg *configs.Dispatch, cus []ComputeUnit, engines int) *dispatcher {
	return &dispatcher{
		cfg: cfg, cus: cus, engines: engines,
		freeAt: make([]int64, engines),
		freed:  make([][]int64, len(cus)),
		load:   make([]int, len(cus)),
		at:     cache.Never,
	}
}

// begin takes a launch whose first workgroup may start at cycle now.
func (d *dispatcher) begin(now int64, list workList, waves int) {
	d.list, d.waves, d.next, d.turn, d.finished = list, waves, 0, 0, 0
	for i := range d.freeAt {
		d.freeAt[i] = now
	}
	for i := range d.freed {
		d.freed[i] = d.freed[i][:0]
	}
	d.at, d.launchAt = now, now
	d.active = true
}

// done reports whether every workgroup of the list has ended.
func (d *dispatcher) done() bool { return d.finished == d.list.count }

// ended takes the end of a workgroup on a CU.
func (d *dispatcher) ended(now int64, cu int) {
	d.finished++
	d.load[cu]--
	ready := now + max(1, int64(d.cfg.WorkgroupGapCycles))
	d.freed[cu] = append(d.freed[cu], ready)
	if d.next < d.list.count {
		d.at = min(d.at, ready)
	}
}

// roomAt returns the cycle from which one more workgroup can be given to the CU:
// now if it has room that no workgroup held within the gap, cache.Never if it is
// full. The gap is that of the room which a workgroup leaves: what else is free on
// the CU can be taken meanwhile.
func (d *dispatcher) roomAt(cu int, now int64) int64 {
	f := d.freed[cu]
	n := 0
	for n < len(f) && f[n] <= now {
		n++
	}
	if n > 0 {
		f = f[:copy(f, f[n:])]
		d.freed[cu] = f
	}
	switch room := d.cus[cu].Room(); {
	case room <= 0:
		return cache.Never
	case room > len(f):
		return now
	default:
		return f[0]
	}
}

// step launches what can be launched at cycle now, and sets the next attempt.
func (d *dispatcher) step(now int64, wakes []int64) {
	d.at = cache.Never
	for d.next < d.list.count {
		if d.launchAt > now {
			d.at = d.launchAt
			return
		}
		cu, at := d.pick(now)
		if cu < 0 {
			d.at = at
			return
		}
		engine := cu % d.engines
		d.freeAt[engine] = now + int64(d.waves*d.cfg.WaveLaunchCycles)
		d.launchAt = now + int64(d.cfg.StaggerCycles+d.waves*d.cfg.WaveStaggerCycles)
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
	if d.cfg.CUOrder == "fill" || d.cfg.CUOrder == "spread" {
		return d.pickOfAll(now)
	}
	retry := cache.Never
	for i := range d.engines {
		e := (d.turn + i) % d.engines
		best, ready := -1, cache.Never
		for cu := e; cu < len(d.cus); cu += d.engines {
			if best >= 0 && d.load[cu] >= d.load[best] {
				continue
			}
			if at := d.roomAt(cu, now); at > now {
				ready = min(ready, at)
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

// pickOfAll is pick over the CUs of all shader engines: the first that has room,
// or the least loaded one.
func (d *dispatcher) pickOfAll(now int64) (int, int64) {
	best, retry := -1, cache.Never
	for cu := range d.cus {
		if at := max(d.roomAt(cu, now), d.freeAt[cu%d.engines]); at > now {
			retry = min(retry, at)
			continue
		}
		if best < 0 || d.cfg.CUOrder == "spread" && d.load[cu] < d.load[best] {
			best = cu
		}
	}
	if best >= 0 {
		return best, now
	}
	return -1, retry
}
