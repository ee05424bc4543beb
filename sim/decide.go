package sim

import (
	"fmt"
	"slices"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// sampledWorkgroups is how many workgroups of a launch are computed to learn the
// outcomes of branches that depend on data, at most.
const sampledWorkgroups = 4

// decide computes a sample of the launch's workgroups on the inputs of the seed
// and records the branches that depend on matrix results, which timing mode does
// not compute. nil: there is none, or every value is computed anyway.
func decide(o *RunOptions, r *report.Run, m *configs.Machine, job *workloads.Job, b *workloads.Built) (*isa.Decisions, error) {
	branches := isa.DataBranches(b.Launch.Kernel)
	if len(branches) == 0 || b.FillFor == nil {
		return nil, nil
	}
	n := b.Launch.NumWorkgroups()
	if o.Mode == "full" {
		r.Notes = append(r.Notes, fmt.Sprintf("%d branches depend on computed data and were decided by it, in all %d workgroups", len(branches), n))
		return nil, nil
	}
	// On a copy, so that the run finds its memory as it would without.
	twin, err := build(o, m)
	if err != nil {
		return nil, err
	}
	t := twin.Kernels[slices.Index(job.Kernels, b)]
	d := isa.NewDecisions(t.Launch.Kernel, branches, sample(n, o.computed()))
	t.FillFor(d.Workgroups)
	if _, err := emu.Run(t.Launch, emu.Options{Workgroups: d.Workgroups, Branch: d.Record}); err != nil {
		return nil, err
	}
	visits, taken := d.Count()
	r.Notes = append(r.Notes, fmt.Sprintf("%d branches depend on computed data: they follow the outcomes of %d of the %d workgroups, computed on the inputs of seed %d (%d of %d visits taken); --mode full computes all",
		len(branches), len(d.Workgroups), n, o.Seed, taken, visits))
	return d, nil
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
