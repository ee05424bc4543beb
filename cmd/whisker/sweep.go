package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/sim/study"
	"golang.org/x/term"
)

// studyCommands are the commands on studies and their results.
type studyCommands struct {
	Sweep   sweepCmd   `cmd:"" help:"Run a study: one kernel on many machines, sizes and schedules." example:"whisker sweep study.yaml --out results.sqlite"`
	Report  reportCmd  `cmd:"" help:"Print, export and plot the results of a study." example:"whisker report results.sqlite --format parquet -o results.parquet"`
	Compare compareCmd `cmd:"" help:"Compare two runs: where the difference in cycles is." example:"whisker compare results.sqlite#0 results.sqlite#3"`
	Tune    tuneCmd    `cmd:"" help:"Choose a kernel's schedule, tile and block order." example:"whisker tune gemm --size 4096"`
}

type sweepCmd struct {
	Study       string `arg:"" placeholder:"STUDY" help:"Study file: kernel, fixed and axes."`
	Out         string `short:"o" placeholder:"FILE" help:"Results file; a sweep that was interrupted goes on from it."`
	Jobs        int    `short:"j" placeholder:"N" help:"Points at once; as many as CPUs unless given, and with --slurm as many as Slurm runs."`
	Threads     int    `default:"1" help:"Threads that simulate a point; the results are the same on any number."`
	DryRun      bool   `help:"List the points with estimates of time and memory, and run none."`
	Yes         bool   `help:"Run a study of more than 10,000 points."`
	RetryFailed bool   `help:"Run the points again that failed before."`
	Format      string `default:"table" help:"table, json or csv, of --dry-run; table or json of the summary."`

	Slurm       bool          `group:"Slurm" help:"Run the points as Slurm job arrays. Study, results and this program must be on a file system that the nodes share."`
	MaxArray    int           `group:"Slurm" default:"1000" placeholder:"N" help:"Tasks of one job array; more points go as several arrays."`
	Partition   string        `group:"Slurm" placeholder:"NAME" help:"Passed to sbatch, as are --time and --mem."`
	Time        string        `group:"Slurm" placeholder:"TIME" help:"Time limit of a task, as sbatch takes it."`
	Mem         string        `group:"Slurm" placeholder:"SIZE" help:"Memory of a task, as sbatch takes it."`
	TaskTimeout time.Duration `group:"Slurm" default:"2h" help:"Cancel and resubmit a task that has run for longer, such as on a node that never returns; 0: never."`
	Retries     int           `group:"Slurm" default:"3" placeholder:"N" help:"Times that a task without an outcome is submitted again."`
	Poll        time.Duration `group:"Slurm" default:"2s" help:"Time between looks at the queue."`

	Task        *int   `hidden:"" help:"Run one point and write its outcome: what a sweep starts for each point."`
	Fingerprint string `hidden:"" help:"What the study of --task must be."`
	Into        string `hidden:"" help:"File that --task writes; standard output unless given."`
}

// Run sweeps, or runs one point of a sweep.
func (c *sweepCmd) Run(w io.Writer) error {
	if c.Task != nil {
		return c.runTask(w)
	}
	if err := c.check(); err != nil {
		return err
	}
	s, err := study.Read(c.Study, c.Yes)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("sweep: this program cannot be found to run points with: %w", err)
	}
	o := study.Options{Out: c.Out, Jobs: c.Jobs, Threads: c.Threads, RetryFailed: c.RetryFailed, Runner: study.Processes(program, c.Threads)}
	if c.Slurm {
		o.Slurm = &study.Slurm{Program: program, Threads: c.Threads, MaxArray: c.MaxArray, AtOnce: c.Jobs, Partition: c.Partition, Time: c.Time, Mem: c.Mem,
			TaskTimeout: c.TaskTimeout, Retries: c.Retries, Poll: c.Poll}
	}
	if o.Jobs == 0 {
		o.Jobs = runtime.NumCPU()
	}
	if c.DryRun {
		return study.DryRun(w, s, o, c.Format)
	}
	stop := func() {}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		o.Progress, stop = sweepProgress(os.Stderr)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	status, err := study.Sweep(ctx, s, o)
	stop()
	if status.Points > 0 && status.Finished()+status.Lost == status.Points {
		if werr := c.summary(w, status); werr != nil {
			return werr
		}
	}
	return err
}

func (c *sweepCmd) check() error {
	valid := []string{"table", "json"}
	if c.DryRun {
		valid = report.Formats
	}
	if err := sim.CheckFormat(c.Format, valid); err != nil {
		return err
	}
	switch {
	case c.Out == "" && !c.DryRun:
		return &sim.UsageError{Err: fmt.Errorf("sweep: --out FILE is missing: the results file to make or go on with, such as results.sqlite")}
	case c.Jobs < 0 || c.Jobs > 4096:
		return &sim.UsageError{Err: fmt.Errorf("--jobs is %d; it must be from 1 to 4096", c.Jobs)}
	case c.MaxArray < 1:
		return &sim.UsageError{Err: fmt.Errorf("--max-array is %d; it must be at least 1", c.MaxArray)}
	case c.Retries < 0 || c.Poll < 0 || c.TaskTimeout < 0:
		return &sim.UsageError{Err: fmt.Errorf("--retries, --poll and --task-timeout must not be negative")}
	case c.Threads < 1 || c.Threads > 256:
		return &sim.UsageError{Err: fmt.Errorf("--threads is %d; it must be from 1 to 256", c.Threads)}
	}
	return nil
}

// summary says how the sweep ended.
func (c *sweepCmd) summary(w io.Writer, s study.Status) error {
	if c.Format == "json" {
		return report.WriteJSON(w, s)
	}
	_, err := fmt.Fprintf(w, "%s: %d points: %d done, %d failed, %d without an answer; %d run now, in %v\n", s.Out, s.Points, s.Done, s.Failed, s.Lost,
		s.Points-s.Before, s.Elapsed.Round(100*time.Millisecond))
	return err
}

// runTask runs one point for a sweep that may be on another computer.
func (c *sweepCmd) runTask(w io.Writer) error {
	t := study.Task{Study: c.Study, Fingerprint: c.Fingerprint, Point: *c.Task, Threads: c.Threads}
	if c.Into != "" {
		return t.WriteFile(c.Into)
	}
	study.EndWithParent(os.Stdin)
	rec, err := t.Run()
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(rec)
}

// sweepProgress shows a bar with a time estimate on a terminal.
func sweepProgress(w io.Writer) (update func(study.Status), stop func()) {
	bar := progressbar.NewOptions(1, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30),
		progressbar.OptionSetPredictTime(false), progressbar.OptionShowCount())
	update = func(s study.Status) {
		what := "points"
		if s.Failed > 0 {
			what = fmt.Sprintf("points, %d failed", s.Failed)
		}
		if left := s.Left(); left > 0 {
			what += fmt.Sprintf(", %v left", left.Round(time.Second))
		}
		if s.Note != "" {
			what += ", " + s.Note
		}
		bar.ChangeMax(s.Points)
		bar.Describe(what)
		_ = bar.Set(s.Finished() + s.Lost) // a bar that cannot be drawn must not end the sweep
	}
	return update, func() { _ = bar.Clear() }
}
