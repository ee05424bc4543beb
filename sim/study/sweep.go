package study

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
)

// Options is what Sweep is asked for beside the study.
type Options struct {
	Out         string // results file
	Jobs        int    // points at once
	Threads     int    // threads a point; the results are the same on any number
	RetryFailed bool   // run failed points again too
	Runner      Runner // nil: in this process
	Slurm       *Slurm // nil: on this machine

	// Progress, when set, is called after every point.
	Progress func(Status)
}

// Runner gets the outcome of a point. An error means that no outcome came, and
// that trying again may help.
type Runner func(ctx context.Context, s *Study, p Point) (results.Record, error)

// Status is how far a sweep is.
type Status struct {
	Points  int           `json:"points"`
	Before  int           `json:"before"` // finished by an earlier sweep
	Done    int           `json:"done"`
	Failed  int           `json:"failed"`
	Lost    int           `json:"lost"`
	Elapsed time.Duration `json:"-"`
	Out     string        `json:"out"`
	Note    string        `json:"-"` // what is going on, such as Slurm's queue
}

// Finished is how many points need not be run again.
func (s Status) Finished() int { return s.Done + s.Failed }

// Left estimates the time that the missing points take, from those of this
// sweep; 0 when there are none to learn from.
func (s Status) Left() time.Duration {
	ran := s.Finished() + s.Lost - s.Before
	if ran <= 0 {
		return 0
	}
	return s.Elapsed / time.Duration(ran) * time.Duration(s.Points-s.Finished()-s.Lost)
}

// sweep is a sweep that is under way.
type sweep struct {
	s      *Study
	o      Options
	file   *results.File
	states map[int]string
	status Status
	begin  time.Time
	host   *hostLog
	whole  bool   // the file is in its final form already
	first  string // what a point failed with
}

// Sweep runs the points that the results file does not have yet. It may be
// interrupted at any moment and called again.
func Sweep(ctx context.Context, s *Study, o Options) (Status, error) {
	count, err := s.Count()
	if err != nil {
		return Status{}, err
	}
	if count == 0 {
		return Status{}, usagef("study %s: no point satisfies its conditions", s.path)
	}
	if o.Slurm != nil {
		if err := o.Slurm.complete(); err != nil {
			return Status{}, err
		}
	}
	unlock, err := lock(o.Out)
	if err != nil {
		return Status{}, err
	}
	defer unlock()
	w := &sweep{s: s, o: o, begin: time.Now(), status: Status{Points: int(count), Out: o.Out}}
	if err := w.open(); err != nil {
		return w.status, asUsage(err)
	}
	if w.host, err = openHostLog(o.Out); err != nil {
		return w.status, errors.Join(err, w.file.Close())
	}
	defer w.host.close()
	pending, err := w.pending()
	if err != nil {
		return w.status, errors.Join(err, w.file.Close())
	}
	if len(pending) == 0 && w.whole {
		return w.status, errors.Join(w.file.Close(), w.verdict())
	}
	if len(pending) > 0 {
		if o.Slurm != nil {
			err = w.slurm(ctx, pending)
		} else {
			err = w.local(ctx, pending)
		}
	}
	return w.status, w.end(err)
}

// asUsage marks faults of results files as the user's.
func asUsage(err error) error {
	if _, ours := errors.AsType[*results.Error](err); ours {
		return &sim.UsageError{Err: err}
	}
	return err
}

// open opens the results file or makes it, and refuses one of another study.
func (w *sweep) open() error {
	print, err := w.s.Fingerprint()
	if err != nil {
		return err
	}
	if _, err := os.Stat(w.o.Out); errors.Is(err, os.ErrNotExist) {
		w.file, err = results.Create(w.o.Out, &results.Study{Name: w.s.Name, Fingerprint: print, Text: w.s.Text(), Version: sim.Version,
			Points: w.status.Points, Axes: w.s.Axes()})
		w.states = map[int]string{}
		return err
	}
	if w.file, err = results.Open(w.o.Out, true); err != nil {
		return err
	}
	if err := w.sameStudy(print); err != nil {
		return errors.Join(err, w.file.Close())
	}
	if w.states, err = w.file.States(); err != nil {
		return errors.Join(err, w.file.Close())
	}
	for _, state := range w.states {
		w.count(state, 1)
	}
	w.status.Before = w.status.Finished()
	return nil
}

func (w *sweep) sameStudy(print string) error {
	have, err := w.file.Study()
	if err != nil {
		return err
	}
	if have.Version != sim.Version {
		return usagef("%s was made by whisker %s and this is %s, whose cycles may differ: finish it with that one, or sweep into another file", w.o.Out, have.Version, sim.Version)
	}
	w.whole = have.Complete
	if have.Fingerprint != print || have.Points != w.status.Points {
		return usagef("%s holds another study (%s) or one of other machine files: sweep into another file", w.o.Out, have.Name)
	}
	return nil
}

func (w *sweep) count(state string, by int) {
	switch state {
	case results.Done:
		w.status.Done += by
	case results.Failed:
		w.status.Failed += by
	case results.Lost:
		w.status.Lost += by
	}
}

// pending lists the points to run.
func (w *sweep) pending() ([]Point, error) {
	var out []Point
	for p, err := range w.s.Points() {
		if err != nil {
			return nil, err
		}
		state := w.states[p.Index]
		if state == results.Done || state == results.Failed && !w.o.RetryFailed {
			continue
		}
		w.count(state, -1)
		delete(w.states, p.Index)
		out = append(out, p)
	}
	w.status.Before = w.status.Finished()
	return out, nil
}

// store puts an outcome into the file, on disk.
func (w *sweep) store(rec results.Record) error {
	if err := w.file.Put(&rec); err != nil {
		if full(err) {
			return fmt.Errorf("no room to store point %d: %d of %d points are safe in %s; make room and run the same command again", rec.Point, w.status.Finished(), w.status.Points, w.o.Out)
		}
		return err
	}
	w.host.add(&rec)
	if rec.Status == results.Failed && w.first == "" {
		w.first = fmt.Sprintf("; point %d: %s", rec.Point, rec.Message)
	}
	w.states[rec.Point] = rec.Status
	w.count(rec.Status, 1)
	w.tell()
	return nil
}

func (w *sweep) tell() {
	w.status.Elapsed = time.Since(w.begin)
	if w.o.Progress != nil {
		w.o.Progress(w.status)
	}
}

// full recognizes a disk without room, as SQLite and the system word it.
func full(err error) bool {
	text := err.Error()
	return strings.Contains(text, "disk is full") || strings.Contains(text, "no space left") || strings.Contains(text, "disk I/O error") || strings.Contains(text, "file too large")
}

// local runs the points in a pool.
func (w *sweep) local(ctx context.Context, pending []Point) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	run := w.o.Runner
	if run == nil {
		run = func(_ context.Context, s *Study, p Point) (results.Record, error) {
			return s.Simulate(p, max(1, w.o.Threads)), nil
		}
	}
	points, outcomes := make(chan Point), make(chan results.Record)
	var workers sync.WaitGroup
	for range max(1, min(w.o.Jobs, len(pending))) {
		workers.Go(func() {
			for p := range points {
				rec, err := run(ctx, w.s, p)
				if ctx.Err() != nil {
					return // stopped: the point will be run again
				}
				if err != nil {
					rec = p.record()
					rec.Status, rec.Message = results.Lost, oneLine(err.Error())
				}
				select {
				case outcomes <- rec:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	go func() {
		defer close(outcomes)
		defer workers.Wait()
		defer close(points)
		for _, p := range pending {
			select {
			case points <- p:
			case <-ctx.Done():
				return
			}
		}
	}()
	w.tell()
	var err error
	for rec := range outcomes {
		if err == nil {
			if err = w.store(rec); err != nil {
				stop()
			}
		}
	}
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %d of %d points are safe in %s; the same command goes on from there", w.status.Finished(), w.status.Points, w.o.Out)
	}
	return err
}

// end puts the file into its final form and says what is missing.
func (w *sweep) end(err error) error {
	w.status.Elapsed = time.Since(w.begin)
	if err != nil {
		return errors.Join(err, w.file.Close())
	}
	if err := w.file.Finish(); err != nil {
		if full(err) {
			return fmt.Errorf("no room to write %s in its final form: all points are safe; make room and run the same command again", w.o.Out)
		}
		return err
	}
	return w.verdict()
}

// verdict is the error of a sweep whose points did not all succeed.
func (w *sweep) verdict() error {
	switch {
	case w.status.Lost > 0:
		return fmt.Errorf("%d of %d points gave no answer; the same command tries them again", w.status.Lost, w.status.Points)
	case w.status.Failed > 0:
		return fmt.Errorf("%d of %d points failed; whisker report %s says why%s", w.status.Failed, w.status.Points, w.o.Out, w.first)
	}
	return nil
}
