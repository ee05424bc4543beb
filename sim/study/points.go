package study

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
)

// Point is one simulation of a study.
type Point struct {
	Index    int // place in the study's order, from 0
	Settings []results.Setting
}

// at makes the point with the given step of each group.
func (s *Study) at(index int, steps []int) Point {
	p := Point{Index: index, Settings: slices.Clone(s.Fixed)}
	for g, step := range steps {
		for _, a := range s.Groups[g].Axes {
			p.Settings = append(p.Settings, results.Setting{Key: a.Key, Value: a.Values[step], Axis: true})
		}
	}
	return p
}

// Combinations is how many points the axes make before conditions; it stops at
// the largest integer.
func (s *Study) Combinations() int64 {
	n := int64(1)
	for _, g := range s.Groups {
		if l := int64(g.Len()); n > math.MaxInt64/l {
			return math.MaxInt64
		} else {
			n *= l
		}
	}
	return n
}

// Points yields the points in order.
func (s *Study) Points() iter.Seq2[Point, error] {
	return func(yield func(Point, error) bool) {
		steps, index := make([]int, len(s.Groups)), 0
		for {
			p := s.at(index, steps)
			ok, err := s.satisfied(p)
			if err != nil {
				yield(p, err)
				return
			}
			if ok {
				if !yield(p, nil) {
					return
				}
				index++
			}
			if !s.advance(steps) {
				return
			}
		}
	}
}

// advance counts steps up like an odometer, the last wheel fastest.
func (s *Study) advance(steps []int) bool {
	for g := len(steps) - 1; g >= 0; g-- {
		steps[g]++
		if steps[g] < s.Groups[g].Len() {
			return true
		}
		steps[g] = 0
	}
	return false
}

// Hash identifies what the point simulates: its settings, in any order, and the
// version that simulates it.
func (p Point) Hash() string {
	lines := make([]string, len(p.Settings))
	for i, s := range p.Settings {
		lines[i] = s.Key + "=" + s.Value
	}
	slices.Sort(lines)
	h := sha256.Sum256([]byte(sim.Version + "\n" + strings.Join(lines, "\n")))
	return hex.EncodeToString(h[:8])
}

// Label names the point by its values on the axes.
func (p Point) Label() string {
	var parts []string
	for _, s := range p.Settings {
		if s.Axis {
			parts = append(parts, s.Key+"="+s.Value)
		}
	}
	if len(parts) == 0 {
		return "the only point"
	}
	return strings.Join(parts, " ")
}

// get is a setting's value, or def.
func (p Point) get(key, def string) string {
	for _, s := range p.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return def
}

// record starts the outcome of the point.
func (p Point) record() results.Record {
	return results.Record{Point: p.Index, ConfigHash: p.Hash(), Kernel: p.get("kernel", ""), Machine: p.get("machine", defaultMachine),
		Version: sim.Version, Seed: 1, Settings: p.Settings}
}

// Simulate runs a point. A run that fails is an outcome like any other.
func (s *Study) Simulate(p Point, threads int) (rec results.Record) {
	rec = p.record()
	fail := func(err error) results.Record {
		rec.Status, rec.Message = results.Failed, oneLine(err.Error())
		return rec
	}
	defer func() {
		if r := recover(); r != nil {
			rec = fail(fmt.Errorf("the simulation broke off, which is a fault of Whisker: %v", r))
		}
	}()
	o, err := s.runOptions(p)
	if err != nil {
		return fail(err)
	}
	o.Threads = threads
	rec.Seed = o.Seed
	run, err := s.run(p, o)
	if err != nil {
		return fail(err)
	}
	if err := rec.SetRun(run); err != nil {
		return fail(err)
	}
	if run.Verify != nil && !run.Verify.Passed {
		rec.Status, rec.Message = results.Failed, fmt.Sprintf("values differ from the reference by %.3g, more than %g", run.Verify.MaxRelativeError, run.Verify.Limit)
		rec.Run, rec.Resolved, rec.Instructions = nil, nil, nil
	}
	return rec
}

// run runs the point's kernel or launch file.
func (s *Study) run(p Point, o sim.RunOptions) (*report.Run, error) {
	if p.get("launch", "") != "" {
		return s.launch(p, o)
	}
	return sim.Run(o)
}

// oneLine joins the lines of a message.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Point makes the point with a number.
func (s *Study) Point(index int) (Point, error) {
	if len(s.rules) == 0 && index >= 0 && int64(index) < s.Combinations() {
		steps, rest := make([]int, len(s.Groups)), index
		for g := len(steps) - 1; g >= 0; g-- {
			steps[g] = rest % s.Groups[g].Len()
			rest /= s.Groups[g].Len()
		}
		return s.at(index, steps), nil
	}
	for p, err := range s.Points() {
		if err != nil {
			return p, err
		}
		if p.Index == index {
			return p, nil
		}
	}
	return Point{}, usagef("study %s has no point %d", s.path, index)
}
