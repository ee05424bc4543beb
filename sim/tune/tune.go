package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
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
	Also             []Order  // candidates that the cycle model runs whatever the estimate says, on the tile of the best form
	Best             int      // candidates that the cycle model runs
	Jobs, Threads    int
	SampleRounds     int // of workgroups that the cycle model runs; 0: all

	// Progress, when set, is told what is going on, and how far it is.
	Progress func(what string, done, total int)
}

// Order is a window and a chunk.
type Order struct{ Window, Chunk int }

// Candidate is one choice with what is known of it.
type Candidate struct {
	Rank      int        `json:"rank"` // by the estimate, from 1
	Schedule  string     `json:"schedule"`
	Tile      string     `json:"tile"`
	Variant   string     `json:"variant,omitempty"`
	Window    int        `json:"window"`
	Chunk     int        `json:"chunk"`
	Own       bool       `json:"own,omitempty"` // the kernel's own window and chunk at this size
	Estimate  *Estimate  `json:"estimate"`
	Simulated *Simulated `json:"simulated,omitempty"`

	form *form
}

// Simulated is what the cycle model says of a candidate.
type Simulated struct {
	Cycles   int64   `json:"cycles"`
	TimeUS   float64 `json:"time_us"`
	TFLOPS   float64 `json:"tflops"`
	L2Hit    float64 `json:"l2_hit"`
	LLCHit   float64 `json:"llc_hit"`
	BeyondL2 int64   `json:"beyond_l2_bytes"`
	Front    bool    `json:"front"` // no other is both faster and moves less beyond the L2
	Error    string  `json:"error,omitempty"`
}

// Result is the outcome of Tune.
type Result struct {
	Machine    string      `json:"machine"`
	Size       string      `json:"size"`
	DType      string      `json:"dtype"`
	Considered int         `json:"considered"` // candidates that were estimated
	Simulated  int         `json:"simulated"`
	Best       *Candidate  `json:"best"`
	Candidates []Candidate `json:"candidates"` // the simulated ones, fastest first
	Notes      []string    `json:"notes"`
}

// Tune searches.
func Tune(o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	machine, err := sim.LoadMachine(o.Arch, o.Machine, o.Set)
	if err != nil {
		return nil, err
	}
	m := machine.Machine()
	forms, err := o.forms(m)
	if err != nil {
		return nil, err
	}
	mhz := sustained(m, o.DType)
	all, err := o.rank(forms, m, mhz)
	if err != nil {
		return nil, err
	}
	chosen := o.choose(all)
	if err := o.simulate(chosen); err != nil {
		return nil, err
	}
	r := &Result{Machine: m.Name, Size: sizeText(o.M, o.N, o.K), DType: o.DType, Considered: len(all), Simulated: len(chosen)}
	slices.SortStableFunc(chosen, func(a, b *Candidate) int { return cmp.Compare(cyclesOf(a), cyclesOf(b)) })
	front(chosen)
	for _, c := range chosen {
		r.Candidates = append(r.Candidates, *c)
	}
	if r.Candidates[0].Simulated.Error != "" {
		return nil, fmt.Errorf("tune: none of the %d best candidates ran; the first said: %s", len(chosen), r.Candidates[0].Simulated.Error)
	}
	r.Best = &r.Candidates[0]
	r.Notes = o.notes()
	return r, nil
}

func (o *Options) notes() []string {
	n := []string{"the front is of time against bytes beyond the L2, over the candidates that the cycle model ran"}
	if o.SampleRounds > 0 {
		n = append(n, fmt.Sprintf("cycles are extrapolated from the first %d rounds of workgroups, where there are more", o.SampleRounds))
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
func (o *Options) kernel(schedule, tile, variant string) map[string]string {
	out := map[string]string{"m": strconv.Itoa(o.M), "n": strconv.Itoa(o.N), "k": strconv.Itoa(o.K), "dtype": o.DType, "schedule": schedule, "tile": tile}
	if variant != "" {
		out["variant"] = variant
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

// promising is how far above the best form's bound a form's own may be for its
// windows and chunks to be tried: schedules differ by more than the bound knows.
const promising = 1.5

// rank estimates every form with its own order, and all orders of the forms
// that are promising; the best comes first.
func (o *Options) rank(forms []*form, m *configs.Machine, mhz float64) ([]*Candidate, error) {
	var all []*Candidate
	for i, f := range forms {
		o.tell("estimating", i, len(forms))
		e, err := f.estimate(m, mhz, f.window, f.chunk)
		if err != nil {
			return nil, &sim.UsageError{Err: err}
		}
		all = append(all, &Candidate{Schedule: f.schedule, Tile: f.tile, Variant: f.variant, Window: f.window, Chunk: f.chunk, Own: true, Estimate: e, form: f})
	}
	least := math.Inf(1)
	for _, c := range all {
		least = min(least, c.Estimate.US)
	}
	for _, own := range slices.Clone(all) {
		if own.Estimate.US > promising*least {
			continue
		}
		f := own.form
		orders := f.orders(m)
		for _, extra := range o.Also {
			if extra.Window <= f.grid.Rows && extra.Chunk <= f.grid.Tiles() {
				orders = append(orders, extra)
			}
		}
		seen := map[Order]bool{{f.window, f.chunk}: true}
		for i, w := range orders {
			if seen[w] {
				continue
			}
			seen[w] = true
			o.tell("estimating "+f.schedule+" "+f.tile, i, len(orders))
			e, err := f.estimate(m, mhz, w.Window, w.Chunk)
			if err != nil {
				return nil, &sim.UsageError{Err: err}
			}
			all = append(all, &Candidate{Schedule: f.schedule, Tile: f.tile, Variant: f.variant, Window: w.Window, Chunk: w.Chunk, Estimate: e, form: f})
		}
	}
	slices.SortStableFunc(all, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(a.Estimate.US, b.Estimate.US), cmp.Compare(a.Estimate.memory(), b.Estimate.memory()))
	})
	for i, c := range all {
		c.Rank = i + 1
	}
	return all, nil
}

// mostRows is the highest window that is tried: a taller one leaves the CUs of
// an XCD a column of tiles, which share B alone.
const mostRows = 16

// orders are the windows and chunks that are worth a try: chunks of what an XCD
// holds at once, of fractions and multiples of it, of whole columns of the
// window, and of the whole grid over the XCDs.
func (f *form) orders(m *configs.Machine) []Order {
	cus, most := m.Chip.CUsPerXCD, f.grid.Tiles()/max(1, m.Chip.XCDs)
	var all []Order
	for w := 1; w <= min(mostRows, f.grid.Rows); w++ {
		chunks := []int{1, cus / 4, cus / 2, cus, 2 * cus, 4 * cus, w * w, w * (cus / w), w * ((cus + w - 1) / w), most / 2, most}
		slices.Sort(chunks)
		for _, c := range slices.Compact(chunks) {
			if c >= 1 && c <= most {
				all = append(all, Order{w, c})
			}
		}
	}
	return all
}

// choose picks what the cycle model runs: the best of each form in the order of
// their ranks for half of the places, the best of all for the rest, and beside
// them the best form's own order and what was asked for.
func (o *Options) choose(all []*Candidate) []*Candidate {
	var chosen []*Candidate
	add := func(c *Candidate) {
		if !slices.Contains(chosen, c) {
			chosen = append(chosen, c)
		}
	}
	seen := map[*form]bool{}
	for _, c := range all {
		if !seen[c.form] && len(chosen) < (o.Best+1)/2 {
			seen[c.form] = true
			add(c)
		}
	}
	for _, c := range all {
		if len(chosen) < o.Best {
			add(c)
		}
	}
	best := all[0].form
	for _, c := range all {
		if c.form == best && (c.Own || slices.Contains(o.Also, Order{c.Window, c.Chunk})) {
			add(c)
		}
	}
	return chosen
}

// simulate runs the candidates on the cycle model.
func (o *Options) simulate(chosen []*Candidate) error {
	var mu sync.Mutex
	var workers sync.WaitGroup
	next, done := 0, 0
	o.tell("simulating", 0, len(chosen))
	for range min(o.Jobs, len(chosen)) {
		workers.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= len(chosen) {
					return
				}
				chosen[i].Simulated = o.run(chosen[i])
				mu.Lock()
				done++
				o.tell("simulating", done, len(chosen))
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return nil
}

// run runs one candidate. A candidate that does not run is told, and the others
// go on.
func (o *Options) run(c *Candidate) *Simulated {
	r, err := sim.Run(sim.RunOptions{Kernel: "gemm", Arch: o.Arch, Machine: o.Machine, Set: o.Set, Options: o.kernel(c.Schedule, c.Tile, c.Variant),
		Window: &c.Window, Chunk: &c.Chunk, Mode: "timing", Threads: o.Threads, Seed: 1, SampleRounds: o.SampleRounds})
	if err != nil {
		return &Simulated{Error: strings.Join(strings.Fields(err.Error()), " ")}
	}
	return &Simulated{Cycles: r.Cycles, TimeUS: r.TimeUS, TFLOPS: r.TFLOPS, L2Hit: r.L2.HitRate, LLCHit: r.LLC.HitRate, BeyondL2: beyond(r)}
}

// beyond is the bytes that crossed from the L2s to the LLC and back; of a
// sampled run, as many as the whole would move.
func beyond(r *report.Run) int64 {
	bytes := float64(r.Fabric.BytesRead + r.Fabric.BytesWritten)
	if s := r.Sample; s != nil && s.Workgroups > 0 {
		bytes *= float64(s.OfWorkgroups) / float64(s.Workgroups)
	}
	return int64(bytes)
}

// cyclesOf orders candidates; those that did not run come last.
func cyclesOf(c *Candidate) int64 {
	if c.Simulated.Error != "" {
		return math.MaxInt64
	}
	return c.Simulated.Cycles
}

// front marks the candidates that no other beats in both time and traffic. They
// are in the order of time.
func front(sorted []*Candidate) {
	least := int64(math.MaxInt64)
	for _, c := range sorted {
		if c.Simulated.Error == "" && c.Simulated.BeyondL2 < least {
			least, c.Simulated.Front = c.Simulated.BeyondL2, true
		}
	}
}

func (o *Options) tell(what string, done, total int) {
	if o.Progress != nil {
		o.Progress(what, done, total)
	}
}
