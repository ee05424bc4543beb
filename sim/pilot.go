package sim

import (
	"context"
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// Pilots run a small part of a job's longest kernel: what one XCD holds at once,
// whole workgroups, so that prologue and epilogue have their share. One pilot, at
// the machine file's clock, guesses the power budget's; when the run at that guess
// does not agree with it, a second, at a clock pilotApart lower, shows how much the
// kernel's cycles depend on it, which they do through memory's time base alone.
const (
	pilotWorth = 10_000_000 // wave instructions of a launch from which pilots pay
	pilotShare = 6          // and they pay where at most one workgroup in so many is run
	pilotApart = 0.1
	// pilotBlind is added to the sensitivity that pilots show: one XCD does not see
	// what the XCDs do to each other. Whole runs of the 4096 GEMM at three clocks have
	// 0.07 to 0.09 where the pilots have 0.
	pilotBlind = 0.1
)

// guess is what is known of a job's clock before it has run.
type guess struct {
	mhz float64 // 0: nothing
	// sensitivity is the relative change of the cycles over that of the clock: 0
	// when nothing waits for memory, 1 when all does, and when nothing is known.
	sensitivity float64
	second      func() float64 // runs the pilot that tells the sensitivity; nil: it has run, or cannot
}

// unguessed is a job that no pilot has run for.
var unguessed = guess{sensitivity: 1}

// settled reports whether a run at mhz, whose work gives the clock next, need not
// be repeated there: its cycles would stay within clockTolerance, by the clocks
// alone, or cycleTolerance by what pilots have shown.
func (g guess) settled(mhz, next float64) bool {
	d := math.Abs(next-mhz) / mhz
	return d <= clockTolerance || d <= clockFar && d*g.sensitivity <= cycleTolerance
}

// note says how far a run's two clocks are apart when that is more than the
// tolerance; "" when not.
func (g guess) note(mhz, next float64) string {
	d := (next - mhz) / mhz
	switch {
	case math.Abs(d) <= clockTolerance:
		return ""
	case g.settled(mhz, next):
		return fmt.Sprintf("simulated at %.0f MHz, the power budget gives %.0f: by pilots at two clocks this changes the cycles by an estimated %.1f %%", mhz, next, 100*math.Abs(d)*g.sensitivity)
	}
	return fmt.Sprintf("the clock has not settled in %d runs: simulated at %.0f MHz, the power budget gives %.0f", clockTries, mhz, next)
}

// pilots guesses the clock of a long job. A pilot runs on memory as rebuild leaves
// it; the first uses job.
func pilots(o *RunOptions, machine *configs.Resolved, job *workloads.Job, law clockLaw, rebuild func() (*workloads.Job, error)) (guess, error) {
	m, b := machine.Machine(), longestKernel(job)
	if expectedInsts(b) < pilotWorth {
		return unguessed, nil
	}
	known, err := o.decide(m, job, b)
	if err != nil {
		return unguessed, err
	}
	return guessClock(m, law, func(mhz float64) (energy, error) {
		if b == nil {
			fresh, err := rebuild()
			if err != nil {
				return energy{}, err
			}
			b = longestKernel(fresh)
		}
		e, err := o.pilot(m, b, known.d, mhz)
		b = nil
		return e, err
	})
}

// guessClock guesses a clock from a pilot, which gives no cycles where there is
// nothing to learn from it, and leaves another to be run when it is needed.
func guessClock(m *configs.Machine, law clockLaw, pilot func(mhz float64) (energy, error)) (guess, error) {
	g := unguessed
	work, err := pilot(law.mhz)
	if err != nil || work.cycles == 0 {
		return g, err
	}
	g.mhz = work.clock(&m.Power, m.Clock.PeakMHz)
	if math.Abs(g.mhz-law.mhz) <= clockTolerance*law.mhz/2 {
		return g, nil // the run is sure to agree
	}
	g.second = func() float64 {
		slow, err := pilot(law.mhz * (1 - pilotApart))
		if err != nil || slow.cycles == 0 {
			return unguessed.sensitivity // the run has been done, and nothing is learnt
		}
		slower := math.Log(work.cycles / slow.cycles)
		return min(1, max(0, slower/-math.Log(1-pilotApart))+pilotBlind)
	}
	return g, nil
}

// learn runs the second pilot when a run at mhz has given the clock next and
// whether it is settled depends on the kernel's sensitivity.
func (g *guess) learn(mhz, next float64) {
	if d := math.Abs(next-mhz) / mhz; g.second != nil && d > clockTolerance && d <= clockFar {
		g.sensitivity = g.second()
		g.second = nil
	}
}

// longestKernel is the kernel of a job that issues the most instructions.
func longestKernel(job *workloads.Job) *workloads.Built {
	var longest *workloads.Built
	for _, b := range job.Kernels {
		if longest == nil || expectedInsts(b) > expectedInsts(longest) {
			longest = b
		}
	}
	return longest
}

// pilot runs a kernel's first workgroups on one XCD and gives the work of all XCDs
// over the same time; no cycles when that is too much of the launch.
func (o *RunOptions) pilot(machine *configs.Machine, b *workloads.Built, d *isa.Decisions, mhz float64) (energy, error) {
	opts := xcd.GPUOptions{Decisions: d, ColdLLC: o.cold(), Warm: o.warm(b), Touched: o.touched(b), Present: o.present(machine, b)}
	o.replay.attach(&opts, nil, b)
	e, _, err := pilotLaunch(machine, b.Launch, opts, mhz)
	return e, err
}

// pilotLaunch is pilot for any launch; res is nil when there are no cycles.
func pilotLaunch(machine *configs.Machine, l *isa.Launch, opts xcd.GPUOptions, mhz float64) (energy, *xcd.GPUResult, error) {
	// The other XCDs idle, so memory behind all of them gets this one's share.
	m := *machine
	n := m.Chip.XCDs
	m.LLC.GBs /= float64(n)
	m.HBM.GBs /= float64(n)
	all := l.NumWorkgroups()
	recorded := opts.Present
	opts.Present = func(wg int) bool { return xcd.XCDOf(&m, wg, all) == 0 && (recorded == nil || recorded(wg)) }
	g, err := xcd.NewGPU(&m, mhz, l, opts)
	if err != nil {
		return energy{}, nil, &UsageError{err}
	}
	round := min(g.Capacity()/n, (all+n-1)/n)
	if round*pilotShare > all {
		return energy{}, nil, nil
	}
	g.StopAfter(round, 0)
	res, err := g.Run(context.Background())
	if err != nil {
		return energy{}, nil, err
	}
	e := energyOf(l.Kernel, res, &m, mhz)
	e.cycles /= float64(n)
	e.lastRound(all, round*n)
	// Between none and all of what the others read from memory this one has brought
	// into the LLC for them: the middle.
	e.hbm -= (1 - 1/float64(n)) / 2 * float64(res.Memory.HBM.ReadBytes) * m.Power.HBMPJPerByte
	return e, res, nil
}
