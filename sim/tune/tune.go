package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/workloads"
)

// Options is what Tune is asked for.
type Options struct {
	Arch, Machine string
	Set           []string
	M, N, K       int
	DType         string

	Schedules, Tiles []string // only these; empty: all
	Also             []Order  // orders of the fastest form that the cycle model runs whatever the estimate says
	Best             int      // candidates that the cycle model runs
	Jobs, Threads    int
	SampleRounds     int           // of workgroups that the cycle model runs; 0: all
	Budget           time.Duration // no candidate starts that would end later, by those before it; 0: all run
	Keep             string        // file of simulated candidates: those in it are not run again; empty: none

	// Progress, when set, is told what is going on, and how far it is.
	Progress func(what string, done, total int64)
	// Ran, when set, is told of every candidate that the cycle model has run.
	Ran func(c *Candidate, took time.Duration, done, total int)
}

// Order is a window and a chunk.
type Order struct{ Window, Chunk int }

// Candidate is one choice with what is known of it.
type Candidate struct {
	Rank      int                 `json:"rank"` // by the estimate, from 1
	Schedule  string              `json:"schedule"`
	Tile      string              `json:"tile"`
	Choose    []workloads.Setting `json:"-"`
	Options   map[string]string   `json:"options,omitempty"` // what else the form is chosen by
	Window    int                 `json:"window"`
	Chunk     int                 `json:"chunk"`
	Own       bool                `json:"own,omitempty"` // the kernel's own window and chunk at this size
	Estimate  *Estimate           `json:"estimate"`
	Simulated *Simulated          `json:"simulated,omitempty"`

	form *form
}

// flags are the command-line flags that choose the candidate's form.
func (c *Candidate) flags() string {
	out := "--schedule " + c.Schedule + " --tile " + c.Tile
	for _, s := range c.Choose {
		out += " --" + s.Name + " " + s.Value
	}
	return out
}

// Simulated is what the cycle model says of a candidate. Hit rates are of reads, as
// the estimates are.
type Simulated struct {
	Cycles   int64   `json:"cycles"`
	TimeUS   float64 `json:"time_us"`
	ClockMHz float64 `json:"clock_mhz"`
	TFLOPS   float64 `json:"tflops"`
	L2Hit    float64 `json:"l2_hit"`
	LLCHit   float64 `json:"llc_hit"`
	BeyondL2 int64   `json:"beyond_l2_bytes"`
	Front    bool    `json:"front"` // no other is both faster and moves less beyond the L2
	Sampled  bool    `json:"sampled"`
	Error    string  `json:"error,omitempty"`
}

// Result is the outcome of Tune.
type Result struct {
	Machine      string      `json:"machine"`
	Size         string      `json:"size"`
	DType        string      `json:"dtype"`
	Considered   int         `json:"considered"` // candidates that were estimated
	Simulated    int         `json:"simulated"`
	Best         *Candidate  `json:"best"`
	Candidates   []Candidate `json:"candidates"`    // the simulated ones, fastest first
	NotSimulated []Candidate `json:"not_simulated"` // those that the budget left out
	Notes        []string    `json:"notes"`
}

// Tune searches. When ctx ends it gives what is known by then and an error.
func Tune(ctx context.Context, o Options) (*Result, error) {
	began := time.Now() // the estimates are of the budget too
	if err := o.check(); err != nil {
		return nil, err
	}
	machine, err := sim.LoadMachine(o.Arch, o.Machine, o.Set)
	if err != nil {
		return nil, err
	}
	m := machine.Machine()
	kept, err := openKept(o.Keep, machine.Hash())
	if err != nil {
		return nil, err
	}
	forms, err := o.forms(m)
	if err != nil {
		return nil, err
	}
	all, err := o.rank(ctx, forms, m, sustained(m, o.DType))
	if ctx.Err() != nil {
		return nil, errors.New("tune: interrupted before any candidate was simulated")
	}
	if err != nil {
		return nil, err
	}
	s := &search{o: &o, ctx: ctx, kept: kept, all: all, began: began}
	err = s.run()
	r := &Result{Machine: m.Name, Size: sizeText(o.M, o.N, o.K), DType: o.DType, Considered: len(all), Candidates: []Candidate{}, NotSimulated: []Candidate{}}
	s.collect(r)
	if err != nil {
		return r, err
	}
	if r.Candidates[0].Simulated.Error != "" {
		return nil, fmt.Errorf("tune: none of the %d best candidates ran; the first said: %s", r.Simulated, r.Candidates[0].Simulated.Error)
	}
	return r, nil
}

func (o *Options) notes(r *Result) []string {
	n := []string{"the front is of time against bytes beyond the L2, over the candidates that the cycle model ran"}
	if slices.ContainsFunc(r.Candidates, func(c Candidate) bool { return c.Simulated.Sampled }) {
		n = append(n, fmt.Sprintf("cycles are extrapolated from the first %d rounds of workgroups; --sample-rounds 0 runs all of them", o.SampleRounds))
	}
	return n
}

func (o *Options) check() error {
	if _, ok := typeBits[o.DType]; !ok {
		return usagef("unknown --dtype %q: choose bf16, fp16, fp8, fp6 or fp4", o.DType)
	}
	for _, v := range []struct {
		flag            string
		value, from, to int
	}{{"--m", o.M, 1, 1 << 20}, {"--n", o.N, 1, 1 << 20}, {"--k", o.K, 1, 1 << 20}, {"--best", o.Best, 1, 1000}, {"--jobs", o.Jobs, 1, 4096},
		{"--threads", o.Threads, 1, 256}, {"--sample-rounds", o.SampleRounds, 0, 1 << 20}} {
		if v.value < v.from || v.value > v.to {
			return usagef("%s is %d; it must be from %d to %d", v.flag, v.value, v.from, v.to)
		}
	}
	if o.Budget < 0 {
		return usagef("--budget is %v; it must not be negative", o.Budget)
	}
	return nil
}

func usagef(format string, args ...any) error {
	return &sim.UsageError{Err: fmt.Errorf(format, args...)}
}

// sustained is the clock under load of the data type.
func sustained(m *configs.Machine, dtype string) float64 {
	if mhz, ok := m.Clock.SustainedMHz[dtype]; ok {
		return mhz
	}
	return m.Clock.DefaultMHz
}

// kernel gives the GEMM's options by name.
func (o *Options) kernel(schedule, tile string, choose []workloads.Setting) map[string]string {
	out := map[string]string{"m": strconv.Itoa(o.M), "n": strconv.Itoa(o.N), "k": strconv.Itoa(o.K), "dtype": o.DType, "schedule": schedule, "tile": tile}
	for _, s := range choose {
		out[s.Name] = s.Value
	}
	return out
}

// forms lists the schedules and tiles that fit the size and the machine.
func (o *Options) forms(m *configs.Machine) ([]*form, error) {
	gemm, ok := workloads.Define("gemm")
	if !ok {
		return nil, fmt.Errorf("tune: there is no gemm to tune")
	}
	var fits []*form
	var reason error
	var names []string
	for _, info := range gemm.Forms() {
		if info.CPU.String() != m.CPU || info.DType != "" && info.DType != o.DType {
			continue
		}
		names = append(names, info.Schedule+" "+info.Tile)
		if len(o.Schedules) > 0 && !slices.Contains(o.Schedules, info.Schedule) || len(o.Tiles) > 0 && !slices.Contains(o.Tiles, info.Tile) {
			continue
		}
		f, err := newForm(o, info, m, info.CPU)
		if err != nil {
			reason = err
			continue
		}
		fits = append(fits, f)
	}
	switch {
	case len(fits) > 0:
		return fits, nil
	case reason != nil:
		return nil, usagef("tune: no form of the GEMM fits: %w", reason)
	case len(names) == 0:
		return nil, usagef("tune: %s has no GEMM of %s", m.Name, o.DType)
	}
	return nil, usagef("tune: no form is left by --schedule and --tile; there are %s", strings.Join(names, ", "))
}

func (o *Options) tell(what string, done, total int64) {
	if o.Progress != nil {
		o.Progress(what, done, total)
	}
}
