package sim

import (
	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/xcd"
)

// pilotCycles bounds a pilot of a launch file. Its workgroups may wait for others
// that it leaves out; where they poll with atomics they get nowhere and are yet no
// livelock.
const pilotCycles = xcd.LivelockCycles

// pilots guesses the clock of a launch file's run as it is guessed for kernels by
// name. How long the launch is, its own pilot tells. Each pilot runs on memory as
// the launch finds it; full mode changes it.
func (o *LaunchOptions) pilots(machine *configs.Machine, l *LaunchFile, law clockLaw) guess {
	most := int64(pilotCycles)
	if o.MaxCycles > 0 {
		most = min(most, o.MaxCycles)
	}
	g, err := guessClock(machine, law, func(mhz float64) (energy, error) {
		p, err := l.prepare()
		if err != nil {
			return energy{}, err
		}
		e, res, err := pilotLaunch(machine, p.launch, xcd.GPUOptions{Full: o.Mode == "full", ColdLLC: o.ColdLLC || o.Warmup != nil && *o.Warmup == 0, Warm: launchRanges(p.launch.Memory), StopAt: most}, mhz)
		if err != nil || res == nil || res.Timing.Finished == 0 || res.Timing.Cycles >= most {
			return energy{}, err
		}
		issued := uint64(0)
		for _, n := range res.CU.IssuedCount {
			issued += n
		}
		if issued*uint64(p.launch.NumWorkgroups())/uint64(res.Timing.Finished) < pilotWorth {
			return energy{}, nil
		}
		return e, nil
	})
	if err != nil {
		return unguessed // a part of the launch may wait for the rest, and the run tells its own faults
	}
	return g
}
