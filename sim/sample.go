package sim

import (
	"fmt"

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
// At the end of a launch the L2s write back what they hold; at the end of a sample they hold as much.
func extrapolate(r *report.Run, res *xcd.GPUResult, workgroups, round, parts int) (times float64) {
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
	r.Cycles = last + int64(rounds)*each + res.Timing.FlushCycles
	r.WriteBackCycles = res.Timing.FlushCycles
	r.Occupancy.EmptySlotCycles = 0
	r.Notes = append(r.Notes, fmt.Sprintf("sampled: %s of %s workgroups were simulated, in %d of %d rounds; cycles are extrapolated, counts are those of the sample",
		report.Thousands(int64(res.Timing.Finished)), report.Thousands(int64(workgroups)), len(marks), len(marks)+rounds))
	st := &res.CU
	done := report.Ratio(float64(r.WaveInstructions)*float64(st.Workgroups), float64(st.EndedIssues))
	return report.Ratio(float64(workgroups)/float64(max(parts, 1)), done)
}
