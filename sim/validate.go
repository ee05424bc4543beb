package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// ValidateOptions says what of the measured sets is simulated, and how.
type ValidateOptions struct {
	Short   bool     // the points that take seconds
	Only    []string // sets; all unless given
	Set     []string // changes to every machine, path=value
	Threads int      // points simulated at once
	Keep    string   // file of the jobs that have ended: those in it are not run again; empty: none
	// Progress, when set, is told which point of how many has ended, and what it took.
	Progress func(done, total int, point string, took time.Duration)
}

// ValidatePoint is one measured value and what the simulator gives for it.
type ValidatePoint struct {
	Set      string  `json:"set"`
	Name     string  `json:"point"`
	Unit     string  `json:"unit"`
	Measured float64 `json:"measured"`
	// Simulated is nil for a point that is not covered; Note then says why.
	Simulated *float64 `json:"simulated"`
	// RelativeError is simulated / measured - 1. Where 0 was measured it is 0 for
	// a simulated 0 and 1 for anything else.
	RelativeError *float64 `json:"relative_error"`
	// Kind is calibrated (this value, or one like it, chose a constant) or
	// predicted.
	Kind string `json:"kind"`
	How  string `json:"how,omitempty"` // whole, sampled, replay or unit
	Note string `json:"note,omitempty"`
}

// How a point is simulated.
const (
	HowWhole   = "whole"   // every workgroup on every CU
	HowSampled = "sampled" // one XCD with its share of what all use: see oneXCD and tableRow.share
	HowReplay  = "replay"  // block orders against LRU caches, without time
	HowUnit    = "unit"    // a micro kernel on one CU
)

// put sets the simulated value and its error.
func (p *ValidatePoint) put(v float64, how string) {
	p.Simulated, p.How = value(v), how
	e := 0.0
	switch {
	case p.Measured != 0:
		e = v/p.Measured - 1
	case v != 0:
		e = 1
	}
	p.RelativeError = value(e)
}

// validationJob simulates one or more points of a set together. Without run they
// are not covered.
type validationJob struct {
	short  bool // part of the short form
	long   bool // starts before the others, so that it does not end long after them
	points []ValidatePoint
	run    func(v *validation, points []ValidatePoint) error
}

// turn sorts jobs.
func (j *validationJob) turn() int {
	if j.long {
		return 0
	}
	return 1
}

// validationSet is measured values with one source.
type validationSet struct {
	name, doc string
	jobs      func() ([]*validationJob, error)
}

// validationSets are all measured sets, in the order that they are printed.
var validationSets = []validationSet{
	{"table1", "HipKittens Table 1: attention backward, TFLOPS", tableJobs(table1, nil)},
	{"table2", "HipKittens Table 2: GEMM with and without producers, TFLOPS", tableJobs(table2, []string{"0P/8C 256x256", "0P/8C 192x256, v2"})},
	{"table3", "HipKittens Table 3: 8 against 4 waves, TFLOPS", tableJobs(table3, []string{"FP8 4-wave"})},
	{"table4", "HipKittens Table 4: L2 and LLC hit rates of block orders, %", table4Jobs},
	{"table5", "HipKittens Table 5 and the LDS phase study: banks and phases", phaseJobs},
	{"kernels", "HipKittens' other kernels: GEMM, attention, layernorm, rotary", tableJobs(kernelTargets, []string{"MI355X gemm 4096x4096x4096", "MI355X rotary B16 H16 N4096 D128"})},
	{"loops", "AMD's fp16 GEMM loops on MI355X: matrix pipe busy, %", loopJobs},
	{"gemm-fp16", "AMD's fp16 GEMM 4096x4096x8192 on MI355X: loop, TFLOPS", fp16Jobs},
	{"gemm-fp8", "AMD's fp8 GEMM 4096x4096x16384 on MI355X: loop, TFLOPS", fp8Jobs},
	{"thread-trace", "thread trace of the MI325X GEMM: cycles of the K step and of an instruction", traceJobs},
	{"units", "microbenchmarks of LDS, VALU and matrix pipe, cycles", unitJobs},
	{"lds-strides", "LDS reads by stride on MI300X and MI350X, cycles", strideJobs},
	{"chase", "pointer chases on MI300X, ns", chaseJobs},
	{"stream", "streaming reads by working set on MI300X, GB/s", streamJobs},
	{"mi300a", "kernels of MGPUSim's benchmarks on MI300A, us", timedJobs},
	{"counters", "counters of real runs: rocprofv3 and AMD's", counterJobs},
	{"published", "published figures of kernels whose source Whisker has no counterpart of", uncoveredJobs},
}

// ValidateSets are the names of the measured sets.
func ValidateSets() []string {
	var names []string
	for _, s := range validationSets {
		names = append(names, s.name)
	}
	return names
}

// validation is a run of the jobs.
type validation struct {
	ValidateOptions
	runs sync.Map // of rows that were run, by kernel and options
}

// reproduce are the options of a sampled run of a table's row.
func (v *validation) reproduce() ReproduceOptions {
	return ReproduceOptions{Quick: true, Set: v.Set, Threads: 1}
}

// notShort is the note of points that the short form leaves out.
const notShort = "left out of the short form"

// Validate simulates the measured sets. The points come in the order of the sets,
// whatever ended first; the times are the host's.
func Validate(o ValidateOptions) ([]ValidatePoint, []SetTime, error) {
	for _, s := range o.Only {
		if err := oneOf("set", s, ValidateSets()); err != nil {
			return nil, nil, err
		}
	}
	if o.Threads < 1 || o.Threads > maxThreads {
		return nil, nil, usagef("--threads is %d; it must be from 1 to %d", o.Threads, maxThreads)
	}
	for _, arch := range []string{"mi355x", "mi300x"} { // a bad --set before minutes of work
		if _, err := LoadMachine(arch, "", o.Set); err != nil {
			return nil, nil, err
		}
	}
	var jobs []*validationJob
	for _, s := range validationSets {
		if len(o.Only) > 0 && !slices.Contains(o.Only, s.name) {
			continue
		}
		more, err := s.jobs()
		if err != nil {
			return nil, nil, err
		}
		for _, j := range more {
			for i := range j.points {
				j.points[i].Set = s.name
			}
			if o.Short && !j.short && j.run != nil {
				j.run = nil
				for i := range j.points {
					j.points[i].Note = notShort
				}
			}
		}
		jobs = append(jobs, more...)
	}
	finished, err := openFinished(o.Keep, &o)
	if err != nil {
		return nil, nil, err
	}
	if err := errors.Join(runJobs(&validation{ValidateOptions: o}, jobs, finished), finished.close()); err != nil {
		return nil, nil, err
	}
	var points []ValidatePoint
	for _, j := range jobs {
		points = append(points, j.points...)
	}
	return points, finished.times(), nil
}

// runJobs runs jobs on as many goroutines as there are threads; the first job of
// the list that failed gives the error.
func runJobs(v *validation, jobs []*validationJob, finished *finishedJobs) error {
	all := slices.DeleteFunc(slices.Clone(jobs), func(j *validationJob) bool { return j.run == nil })
	todo := slices.DeleteFunc(slices.Clone(all), finished.take)
	slices.SortStableFunc(todo, func(a, b *validationJob) int { return a.turn() - b.turn() })
	errs := make([]error, len(todo))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := len(all) - len(todo)
	for range min(v.Threads, max(len(todo), 1)) {
		wg.Go(func() {
			for i := range next {
				j := todo[i]
				begin := time.Now()
				errs[i] = j.run(v, j.points)
				took := time.Since(begin)
				if errs[i] == nil {
					errs[i] = finished.add(j, took)
				}
				mu.Lock()
				done++
				if v.Progress != nil {
					v.Progress(done, len(all), j.points[0].Set+": "+strings.TrimSpace(j.points[0].Name), took)
				}
				mu.Unlock()
			}
		})
	}
	for i := range todo {
		next <- i
	}
	close(next)
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			p := todo[i].points[0]
			return fmt.Errorf("%s: %s: %w", p.Set, strings.TrimSpace(p.Name), err)
		}
	}
	return nil
}
