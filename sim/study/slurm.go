package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/whisker-sim/whisker/report/results"
)

// Slurm says how to run points as Slurm job arrays. Tasks write their outcomes
// into a folder beside the results file, which must be on a file system that
// the nodes share, as must the study and this program.
type Slurm struct {
	Program   string // this program's file
	Threads   int    // a task
	MaxArray  int    // tasks of one array; more points go as several arrays
	AtOnce    int    // tasks of an array that run at once; 0: as many as Slurm will
	Partition string // passed through, as are the next two
	Time      string
	Mem       string

	// TaskTimeout ends a task that has run for longer, as on a node that never
	// returns, and a wait for tasks that Slurm cannot run; 0: never.
	TaskTimeout time.Duration
	Retries     int           // times that a task without an outcome is submitted again
	Poll        time.Duration // between looks at the queue
}

// silence is how long Slurm's controller may leave questions unanswered.
const silence = 5 * time.Minute

// flight is the points of a sweep that Slurm has.
type flight struct {
	*sweep
	c        Slurm
	dir      string
	wanted   map[int]Point // without an outcome yet
	tries    map[int]int   // submissions of each point
	tasks    map[task]int  // point of each task that is queued or running
	absent   map[task]bool // not in the queue when it was last looked at
	answered time.Time     // when Slurm last answered
	stuck    time.Time     // since when nothing can run; zero: something may
	why      string        // Slurm's reason for it
	arrays   int
}

// task is one task of a job array.
type task struct {
	job   string
	index int
}

// slurm runs the points as job arrays and collects their outcomes.
func (w *sweep) slurm(ctx context.Context, pending []Point) error {
	dir, err := filepath.Abs(w.o.Out + ".slurm")
	if err != nil {
		return err
	}
	f := &flight{sweep: w, c: *w.o.Slurm, dir: dir, wanted: map[int]Point{}, tries: map[int]int{}, tasks: map[task]int{}, absent: map[task]bool{}, answered: time.Now()}
	for _, p := range pending {
		f.wanted[p.Index] = p
	}
	for _, sub := range []string{"points", "log"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return usagef("%s cannot be made: %v", dir, errors.Unwrap(err))
		}
	}
	if err := f.collect(); err != nil {
		return err
	}
	if err := f.adopt(ctx); err != nil {
		return err
	}
	return f.run(ctx)
}

// run submits what is missing and waits, until every point has an outcome or
// has been tried often enough.
func (f *flight) run(ctx context.Context) error {
	for {
		if err := f.submitMissing(ctx); err != nil {
			return err
		}
		if len(f.wanted) == 0 {
			break
		}
		f.tell()
		select {
		case <-ctx.Done():
			return fmt.Errorf("interrupted: %d of %d points are safe in %s; %s; the same command collects them and goes on", f.status.Finished(), f.status.Points, f.o.Out, f.stillThere())
		case <-time.After(f.c.Poll):
		}
		if err := f.collect(); err != nil {
			return err
		}
		if err := f.look(ctx); err != nil {
			return err
		}
	}
	if f.status.Lost > 0 {
		return nil // the logs may be wanted
	}
	return os.RemoveAll(f.dir)
}

// stillThere names the jobs that go on without this process.
func (f *flight) stillThere() string {
	jobs := f.jobs()
	if len(jobs) == 0 {
		return "no job is queued"
	}
	return fmt.Sprintf("the queued tasks stay with Slurm (scancel %s ends them)", strings.Join(jobs, " "))
}

// jobs lists the jobs with tasks that are queued or running.
func (f *flight) jobs() []string {
	var jobs []string
	for t := range f.tasks {
		if !slices.Contains(jobs, t.job) {
			jobs = append(jobs, t.job)
		}
	}
	slices.Sort(jobs)
	return jobs
}

// collect stores the outcomes that tasks have written.
func (f *flight) collect() error {
	entries, err := os.ReadDir(filepath.Join(f.dir, "points"))
	if err != nil {
		return err
	}
	var found []int
	for _, e := range entries {
		var index int
		if n, err := fmt.Sscanf(e.Name(), "%d.json", &index); n != 1 || err != nil || e.Name() != outcomeName(index) {
			continue // being written
		}
		found = append(found, index)
	}
	slices.Sort(found)
	for _, index := range found {
		path := f.outcomePath(index)
		if p, ok := f.wanted[index]; ok {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if rec, err := decode(data, p); err == nil {
				if err := f.store(rec); err != nil {
					return err
				}
				f.done(index)
			}
		}
		// Stored, or of another study: in either case it has served.
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

func outcomeName(point int) string { return fmt.Sprintf("%d.json", point) }

func (f *flight) outcomePath(point int) string {
	return filepath.Join(f.dir, "points", outcomeName(point))
}

// done forgets a point that has its outcome.
func (f *flight) done(point int) {
	delete(f.wanted, point)
	for t, p := range f.tasks {
		if p == point {
			delete(f.tasks, t)
		}
	}
}

// submitMissing submits the points that no task has.
func (f *flight) submitMissing(ctx context.Context) error {
	queued := map[int]bool{}
	for _, p := range f.tasks {
		queued[p] = true
	}
	var missing []int
	for p := range f.wanted {
		if queued[p] {
			continue
		}
		if f.tries[p] > f.c.Retries {
			if err := f.lose(p); err != nil {
				return err
			}
			continue
		}
		missing = append(missing, p)
	}
	slices.Sort(missing)
	for chunk := range slices.Chunk(missing, f.c.MaxArray) {
		if err := f.submit(ctx, chunk); err != nil {
			if len(f.tasks) > 0 {
				return nil // there may be room in the queue once tasks have ended
			}
			return err
		}
	}
	return nil
}

// lose records a point that gave no answer however often it was submitted.
func (f *flight) lose(point int) error {
	rec := f.wanted[point].record()
	rec.Status, rec.Message = results.Lost, fmt.Sprintf("its Slurm task left no outcome in %d tries", f.tries[point])
	if said := f.lastWords(point); said != "" {
		rec.Message += ": " + said
	}
	delete(f.wanted, point)
	return f.store(rec)
}
