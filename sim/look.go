package sim

import (
	"errors"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/xcd"
)

// A kernel that waits for memory may run at another clock than its pilot, one XCD in
// one round, has told. A run that is to be simulated whole is looked at when two
// rounds of its workgroups have ended: where it would be repeated, with some margin, if
// its work went on like this, it begins again at once. Only the first try of a run of
// one kernel is looked at.
const (
	lookAfter  = 2   // rounds
	lookRounds = 4   // that a launch must have, for its first two to stand for the rest
	lookMargin = 1.3 // of the clock's distance, since the rest differs
)

// errMissed ends a run whose work gives another clock than its guess.
var errMissed = errors.New("sim: the work so far gives another clock")

// look is how a run checks its clock underway.
type look struct {
	machine *configs.Machine
	first   *guess
	mhz     float64 // at which the run is simulated
	looked  bool
	next    float64 // what its work gives, when that is too far off; else 0
}

// attach lets a launch that is simulated whole be looked at, if it is long enough.
func (l *look) attach(g *xcd.GPU, launch *isa.Launch) {
	workgroups := launch.NumWorkgroups()
	if l == nil || workgroups < lookRounds*g.Capacity() {
		return
	}
	g.LookAfter(lookAfter*g.Capacity(), func(res *xcd.GPUResult) bool {
		l.looked = true
		work := energyOf(launch.Kernel, res, l.machine, l.mhz)
		work.lastRound(workgroups, g.Capacity())
		next := work.clock(&l.machine.Power, l.machine.Clock.PeakMHz)
		far := l.mhz + lookMargin*(next-l.mhz)
		if l.first.learn(l.mhz, far); !l.first.settled(l.mhz, far) {
			l.next = next
		}
		return l.next == 0
	})
}

// missed reports whether the look ended the run.
func (l *look) missed() bool { return l != nil && l.next != 0 }
