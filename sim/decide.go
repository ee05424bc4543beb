package sim

import (
	"fmt"
	"slices"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/workloads"
)

// sampledWorkgroups is how many workgroups of a launch are computed to learn the
// outcomes of branches that depend on data, at most.
const sampledWorkgroups = 4

// decided is what was recorded for one kernel of a job, and what the report says
// of it.
type decided struct {
	d    *isa.Decisions
	note string
}

// decide computes a sample of the launch's workgroups on the inputs of the seed
// and records the branches that depend on matrix results, which timing mode does
// not compute: once for a run, whatever the clock. nil decisions: there is no such
// branch, or every value is computed anyway.
func (o *RunOptions) decide(m *configs.Machine, job *workloads.Job, b *workloads.Built) (decided, error) {
	if o.replay != nil {
		return decided{}, nil // the trace has every branch
	}
	at := slices.Index(job.Kernels, b)
	if d, ok := o.decisions[at]; ok {
		return d, nil
	}
	var d decided
	if branches := isa.DataBranches(b.Launch.Kernel); len(branches) > 0 && b.FillFor != nil {
		var err error
		if d, err = o.record(m, at, branches, b.Launch.NumWorkgroups()); err != nil {
			return d, err
		}
	}
	if o.decisions == nil {
		o.decisions = map[int]decided{}
	}
	o.decisions[at] = d
	return d, nil
}

// record computes the sample of kernel number at, with n workgroups.
func (o *RunOptions) record(m *configs.Machine, at int, branches []int, n int) (decided, error) {
	if o.Mode == "full" {
		return decided{note: fmt.Sprintf("%d branches depend on computed data and were decided by it, in all %d workgroups", len(branches), n)}, nil
	}
	// On a copy, so that the run finds its memory as it would without.
	twin, err := build(o, m)
	if err != nil {
		return decided{}, err
	}
	t := twin.Kernels[at]
	d := isa.NewDecisions(t.Launch.Kernel, branches, sample(n, o.computed()))
	t.FillFor(d.Workgroups)
	if _, err := emu.Run(t.Launch, emu.Options{Workgroups: d.Workgroups, Branch: d.Record}); err != nil {
		return decided{}, err
	}
	visits, taken := d.Count()
	return decided{d, fmt.Sprintf("%d branches depend on computed data: they follow the outcomes of %d of the %d workgroups, computed on the inputs of seed %d (%d of %d visits taken); --mode full computes all",
		len(branches), len(d.Workgroups), n, o.Seed, taken, visits)}, nil
}

// sample spreads k of n workgroups over the launch, from the first on, by an odd
// step, so that a grid with power-of-two sides is met at different places.
func sample(n, k int) []int {
	k = min(n, k)
	step := max(1, n/k)
	if k < n && step%2 == 0 {
		step--
	}
	var out []int
	for i := range k {
		out = append(out, i*step)
	}
	return out
}

// computed is how many workgroups to compute.
func (o *RunOptions) computed() int {
	if o.SampledWorkgroups > 0 {
		return o.SampledWorkgroups
	}
	return sampledWorkgroups
}
