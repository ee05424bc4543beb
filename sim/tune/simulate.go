package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
)

// search is the cycle model's part: first the best candidate of each of the best
// forms, since the estimate cannot tell schedules apart that wait differently;
// then orders of the form that was fastest.
type search struct {
	o     *Options
	ctx   context.Context
	kept  *kept
	all   []*Candidate // by rank
	began time.Time

	mu      sync.Mutex
	chosen  []*Candidate
	skipped []*Candidate
	longest time.Duration // that a candidate took
	total   int
	ended   bool // results of candidates that still run come too late
}

func (s *search) run() error {
	forms := s.forms()
	s.total = s.expected(forms)
	if err := s.simulate(forms, 0); err != nil {
		return err
	}
	best := slices.MinFunc(s.chosen, compare)
	if best.Simulated.Error != "" {
		return nil
	}
	orders := s.orders(best.form)
	s.total = len(s.chosen) + len(orders)
	// Orders of one form draw much the same power, so that its clock is a better
	// guess than a pilot's.
	return s.simulate(orders, best.Simulated.ClockMHz)
}

// forms are the best candidates of the best forms, for half of the places.
func (s *search) forms() []*Candidate {
	var out []*Candidate
	seen := map[*form]bool{}
	for _, c := range s.all {
		if !seen[c.form] && len(out) < (s.o.Best+1)/2 {
			seen[c.form] = true
			out = append(out, c)
		}
	}
	return out
}

// expected guesses how many candidates are run: the first form's orders are as
// many as another's, but for its own and those asked for.
func (s *search) expected(forms []*Candidate) int {
	s.chosen = forms
	n := len(forms) + len(s.orders(forms[0].form))
	s.chosen = nil
	return n
}

// orders are the candidates of a form for the places that are left, and beside them
// its own order and what was asked for.
func (s *search) orders(f *form) []*Candidate {
	var out []*Candidate
	for _, c := range s.all {
		if c.form != f || slices.Contains(s.chosen, c) {
			continue
		}
		if len(s.chosen)+len(out) < s.o.Best || c.Own || slices.Contains(s.o.Also, Order{c.Window, c.Chunk}) {
			out = append(out, c)
		}
	}
	return out
}

// simulate runs candidates on the cycle model. It returns early when the search's
// context ends.
func (s *search) simulate(list []*Candidate, mhz float64) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var workers sync.WaitGroup
		next := make(chan *Candidate)
		for range min(s.o.Jobs, len(list)) {
			workers.Go(func() {
				for c := range next {
					s.candidate(c, mhz)
				}
			})
		}
		for _, c := range list {
			next <- c
		}
		close(next)
		workers.Wait()
	}()
	select {
	case <-done:
		return s.kept.fault()
	case <-s.ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	advice := "with --keep FILE the same command would go on from there"
	if s.o.Keep != "" {
		advice = "they are in " + s.o.Keep + ", and the same command goes on from there"
	}
	return fmt.Errorf("tune: interrupted after %d of about %d candidates; %s", len(s.chosen), s.total, advice)
}

// candidate runs one candidate, or takes what was kept of it.
func (s *search) candidate(c *Candidate, mhz float64) {
	key := s.kept.key(s.o, c, mhz)
	r := s.kept.find(key)
	s.mu.Lock()
	if r == nil && (s.ended || s.over()) {
		if !s.ended { // what an interrupt leaves out is not the budget's
			s.skipped = append(s.skipped, c)
		}
		s.mu.Unlock()
		return
	}
	what := fmt.Sprintf("%d of %d: %s %s W%d C%d", min(len(s.chosen)+1, s.total), s.total, c.Schedule, c.Tile, c.Window, c.Chunk)
	s.mu.Unlock()
	begin := time.Now()
	if r == nil {
		r = s.o.run(c, mhz, what)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	took := time.Since(begin)
	s.longest = max(s.longest, took)
	c.Simulated = r
	s.chosen = append(s.chosen, c)
	s.kept.put(key, c)
	if s.o.Ran != nil {
		s.o.Ran(c, took, len(s.chosen), s.total)
	}
}

// over reports whether the budget does not reach for another candidate. The first
// one always runs.
func (s *search) over() bool {
	return s.o.Budget > 0 && s.longest > 0 && time.Since(s.began)+s.longest > s.o.Budget
}

// run runs one candidate, its clock tried at mhz first. A candidate that does not
// run is told, and the others go on.
func (o *Options) run(c *Candidate, mhz float64, what string) *Simulated {
	r, err := sim.Run(sim.RunOptions{Kernel: "gemm", Arch: o.Arch, Machine: o.Machine, Set: o.Set, Options: o.kernel(c.Schedule, c.Tile, c.Choose),
		Window: &c.Window, Chunk: &c.Chunk, Mode: "timing", Threads: o.Threads, Seed: 1, SampleRounds: o.SampleRounds, StartMHz: mhz,
		Progress: func(done, total, _ int64) { o.tell(what, done, total) }})
	if err != nil {
		return &Simulated{Error: strings.Join(strings.Fields(err.Error()), " ")}
	}
	return &Simulated{Cycles: r.Cycles, TimeUS: r.TimeUS, ClockMHz: r.ClockMHz, TFLOPS: r.TFLOPS, L2Hit: r.L2.ReadHitRate, LLCHit: r.LLC.ReadHitRate,
		BeyondL2: beyond(r), Sampled: r.Sample != nil}
}

// collect puts the outcome together.
func (s *search) collect(r *Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.chosen, compare)
	front(s.chosen)
	for _, c := range s.chosen {
		r.Candidates = append(r.Candidates, *c)
	}
	slices.SortFunc(s.skipped, func(a, b *Candidate) int { return cmp.Compare(a.Rank, b.Rank) })
	for _, c := range s.skipped {
		r.NotSimulated = append(r.NotSimulated, *c)
	}
	if r.Simulated = len(r.Candidates); r.Simulated > 0 {
		r.Best = &r.Candidates[0]
	}
	r.Notes = s.o.notes(r)
	if n := len(s.skipped); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d candidates were left out, which the budget of %v has no time for", n, s.o.Budget))
	}
}

// compare orders candidates by time, and by rank where that is equal; those that
// did not run come last.
func compare(a, b *Candidate) int {
	return cmp.Or(cmp.Compare(timeOf(a), timeOf(b)), cmp.Compare(a.Rank, b.Rank))
}

func timeOf(c *Candidate) float64 {
	if c.Simulated.Error != "" {
		return math.Inf(1)
	}
	return c.Simulated.TimeUS
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
