package sim

import (
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// spread samples a launch whose workgroups do unequal work, such as those of
// causal attention: rounds of consecutive workgroups spread evenly over the launch,
// the first and the last among them. How long workgroups took is fitted by a
// constant and a part in proportion to their work, and the dispatch of all of
// them, each to the place that is free first, is replayed with such times.
type spread struct {
	work   func(wg int) int
	took   []int64 // by workgroup; 0: not simulated
	round  int
	rounds map[int]bool // simulated; nil: all are
}

// spread returns the sampler of a launch, nil when its workgroups are alike or
// when all are to be simulated.
func (o *RunOptions) spread(b *workloads.Built) *spread {
	if b.Work == nil || o.SampleRounds <= 0 {
		return nil
	}
	return &spread{work: b.Work, took: make([]int64, b.Launch.NumWorkgroups())}
}

// attach has the sampler choose the workgroups that run, among those that do
// already, and told when they end.
func (s *spread) attach(o *xcd.GPUOptions) {
	present, ended := o.Present, o.Ended
	o.Present = func(wg int) bool {
		return (present == nil || present(wg)) && (s.rounds == nil || s.rounds[wg/s.round])
	}
	o.Ended = func(xcc, id, wg int, start, end int64) {
		s.took[wg] = end - start // each its own element: XCDs may run at the same time
		if ended != nil {
			ended(xcc, id, wg, start, end)
		}
	}
}

// choose settles the rounds: at least two, so that a slope can be told.
func (s *spread) choose(rounds, round int) {
	s.round = round
	all := (len(s.took) + round - 1) / round
	n := max(2, rounds)
	if n >= all {
		return
	}
	s.rounds = map[int]bool{}
	for i := range n {
		s.rounds[i*(all-1)/(n-1)] = true
	}
}

// extrapolate turns the report of the sample into that of the whole launch. The result is how often the
// whole launch does the work of the sample.
func (s *spread) extrapolate(r *report.Run, res *xcd.GPUResult, m *configs.Machine, parts int) (times float64) {
	if s.rounds == nil {
		return 1
	}
	base, per := s.fit()
	whole := *m
	whole.Chip.XCDs *= max(parts, 1)
	slots := max(1, s.round/whole.Chip.XCDs)
	all := s.replay(&whole, m.Chip.XCDs, slots, base, per, func(int) bool { return true })
	part := s.replay(&whole, m.Chip.XCDs, slots, base, per, func(wg int) bool { return s.rounds[wg/s.round] })
	var work, done float64 // in the time of workgroups
	for wg, t := range s.took {
		if xcd.XCDOf(&whole, wg, len(s.took)) < m.Chip.XCDs {
			took := max(base+per*float64(s.work(wg)), 0)
			work += took
			if t != 0 {
				done += took
			}
		}
	}
	times = report.Ratio(work, done)
	total := (len(s.took) + s.round - 1) / s.round
	// The L2s write back once, at the end.
	r.Cycles = int64(math.Round(float64(res.Timing.LastWorkgroup)*all/part)) + r.WriteBackCycles
	r.Sample = &report.Sample{Workgroups: res.Timing.Finished, OfWorkgroups: len(s.took), Rounds: len(s.rounds), SimulatedCycles: res.Timing.Cycles, RoundCycles: r.Cycles / int64(total)}
	r.Notes = append(r.Notes, fmt.Sprintf("sampled: %s of %s workgroups were simulated, in %d of %d rounds spread over the launch, since their work differs; a workgroup takes %.0f cycles and %.0f for each block of work; cycles are extrapolated by that, counts are those of the sample",
		report.Thousands(int64(res.Timing.Finished)), report.Thousands(int64(len(s.took))), len(s.rounds), total, base, per))
	return times
}

// fit is the least-squares line through the times of the workgroups that ran.
func (s *spread) fit() (base, per float64) {
	var n, x, y, xx, xy float64
	for wg, t := range s.took {
		if t == 0 {
			continue
		}
		w, d := float64(s.work(wg)), float64(t)
		n, x, y, xx, xy = n+1, x+w, y+d, xx+w*w, xy+w*d
	}
	if d := n*xx - x*x; d > 0 {
		per = (n*xy - x*y) / d
	}
	return (y - per*x) / max(n, 1), per
}

// replay is the time of the longest of the first xcds XCDs of a machine over the
// workgroups that in admits, each on the first of its XCD's slots that is free.
func (s *spread) replay(m *configs.Machine, xcds, slots int, base, per float64, in func(wg int) bool) float64 {
	free := make([][]float64, xcds)
	for i := range free {
		free[i] = make([]float64, slots)
	}
	end := 1.0
	for wg := range s.took {
		x := xcd.XCDOf(m, wg, len(s.took))
		if x >= xcds || !in(wg) {
			continue
		}
		first := 0
		for i, t := range free[x] {
			if t < free[x][first] {
				first = i
			}
		}
		at := free[x][first] + max(base+per*float64(s.work(wg)), 0)
		end = max(end, at)
		free[x][first] = at + float64(m.Dispatch.WorkgroupGapCycles)
	}
	return end
}
