package sim

import (
	"fmt"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// A sampled run simulates the first rounds of workgroups, a round being what
// the machine holds at once, and takes every further round to last as long as
// the last one simulated: workgroups of a grid do equal work. Where they do not, see
// spread.go.

// sampled sets the launch to stop after o.SampleRounds rounds; it reports
// whether anything is left out.
func (o *RunOptions) sampled(g *xcd.GPU, workgroups int) bool {
	round := g.Capacity()
	if o.SampleRounds <= 0 || o.SampleRounds*round*max(o.parts, 1) >= workgroups {
		return false
	}
	g.StopAfter(o.SampleRounds*round, round)
	return true
}

// present chooses the workgroups that the first XCD of a machine of several gets,
// when it alone is simulated.
func (o *RunOptions) present(m *configs.Machine, b *workloads.Built) func(wg int) bool {
	if o.parts <= 1 {
		return nil
	}
	whole := *m
	whole.Chip.XCDs *= o.parts
	n := b.Launch.NumWorkgroups()
	return func(wg int) bool { return xcd.XCDOf(&whole, wg, n) == 0 }
}

// extrapolate turns a stopped run's report into that of the whole launch: its
// cycles are extrapolated, its counts stay those of the part that was
// simulated.
//
// parts is how many machines of the simulated size the launch stands for. The
// result is how often the whole launch does the work of the sample: less than the
// cycles grow by where the last round is not full. Workgroups that were under way when the
// last one of the sample ended are in its counts, by the instructions that they had issued.
// At the end of a launch the L2s write back what its outputs leave in them, of which a sample leaves a part
// where its rounds do not fill them: its write-back is no longer than the launch's.
func extrapolate(r *report.Run, res *xcd.GPUResult, m *configs.Machine, workgroups, round, parts int) (times float64) {
	round *= max(parts, 1)
	marks := res.Timing.Marks
	last := marks[len(marks)-1]
	each := last
	if len(marks) > 1 {
		each = last - marks[len(marks)-2]
	}
	left := max(0, workgroups-len(marks)*round)
	rounds := (left + round - 1) / round
	r.Sample = &report.Sample{Workgroups: res.Timing.Finished, OfWorkgroups: workgroups, Rounds: len(marks), SimulatedCycles: res.Timing.Cycles, RoundCycles: each}
	st := &res.CU
	done := report.Ratio(float64(r.WaveInstructions)*float64(st.Workgroups), float64(st.EndedIssues))
	times = report.Ratio(float64(workgroups)/float64(max(parts, 1)), done)
	r.WriteBackCycles = writeBackCycles(res.Timing.Dirty, m, r.ClockMHz)
	r.Cycles = last + int64(rounds)*each + r.WriteBackCycles
	r.Occupancy.EmptySlotCycles = 0
	r.Notes = append(r.Notes, fmt.Sprintf("sampled: %s of %s workgroups were simulated, in %d of %d rounds; cycles are extrapolated, counts are those of the sample",
		report.Thousands(int64(res.Timing.Finished)), report.Thousands(int64(workgroups)), len(marks), len(marks)+rounds))
	return times
}

// countDirty counts what a sample leaves in the L2s as written back, as it is of the launch.
func countDirty(res *xcd.GPUResult) {
	for _, d := range res.Timing.Dirty {
		res.Memory.L2.WriteBacks += uint64(d.Lines)
		res.Memory.L2.WriteBackBytes += uint64(d.Bytes)
		res.Memory.Fabric.WriteBytes += uint64(d.Bytes)
		res.Memory.LLC.WriteBytes += uint64(d.Bytes)
	}
}

// writeBackCycles is how long the fullest L2 takes to write back what is dirty in it: every line with its
// request over the XCD's link.
func writeBackCycles(dirty []xcd.Dirty, m *configs.Machine, mhz float64) int64 {
	longest := int64(0)
	for _, d := range dirty {
		if d.Bytes > 0 {
			ns := float64(d.Bytes+d.Lines*m.Fabric.RequestBytes)/m.Fabric.WriteGBs + m.Fabric.LatencyNS
			longest = max(longest, cache.CyclesOf(ns, mhz))
		}
	}
	return longest
}
