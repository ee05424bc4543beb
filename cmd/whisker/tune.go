package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/sim/tune"
	"golang.org/x/term"
)

type tuneCmd struct {
	GEMM tuneGEMMCmd `cmd:"" name:"gemm" help:"Choose schedule, tile, W and C of a GEMM." example:"whisker tune gemm --m 4096 --n 4096 --k 4096"`
}

type tuneGEMMCmd struct {
	machineFlags
	Size         *int          `group:"Kernel" placeholder:"N" help:"Set --m, --n and --k at once."`
	M            *int          `group:"Kernel" placeholder:"N" help:"Rows of C (default 8192)."`
	N            *int          `group:"Kernel" placeholder:"N" help:"Columns of C (default 8192)."`
	K            *int          `group:"Kernel" placeholder:"N" help:"Inner dimension (default 8192)."`
	DType        string        `name:"dtype" default:"bf16" group:"Kernel" placeholder:"TYPE" help:"Input type, such as bf16 or fp8."`
	Schedule     []string      `group:"Search" placeholder:"NAME" help:"Only these schedules; separated by commas or repeated."`
	Tile         []string      `group:"Search" placeholder:"MxN" help:"Only these tiles."`
	Also         []string      `group:"Search" placeholder:"WxC" help:"A window and chunk to simulate whatever the estimate says, such as 5x25."`
	Best         int           `default:"6" group:"Search" placeholder:"N" help:"Candidates that the cycle model runs: the best few forms first, then orders of the fastest."`
	SampleRounds int           `default:"2" group:"Search" placeholder:"N" help:"Let the cycle model run the first N rounds of workgroups and extrapolate; 0: all."`
	Budget       time.Duration `group:"Search" placeholder:"TIME" help:"Start no candidate that would end later than this, such as 10m, by those before it."`
	Keep         string        `group:"Search" placeholder:"FILE" help:"Keep simulated candidates in FILE: a search that was ended goes on from them."`
	Jobs         int           `short:"j" default:"1" group:"Run" help:"Candidates simulated at once."`
	Threads      int           `default:"${cpus}" group:"Run" help:"Threads that simulate a candidate."`
	Format       string        `default:"table" group:"Run" help:"table, json or csv."`
}

// Run tunes.
func (c *tuneGEMMCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	dim := func(own *int) int {
		switch {
		case own != nil:
			return *own
		case c.Size != nil:
			return *c.Size
		}
		return sim.DefaultDim
	}
	o := tune.Options{Arch: c.Arch, Machine: c.Machine, Set: c.Set, M: dim(c.M), N: dim(c.N), K: dim(c.K), DType: c.DType, Schedules: c.Schedule, Tiles: c.Tile,
		Best: c.Best, SampleRounds: c.SampleRounds, Budget: c.Budget, Keep: c.Keep, Jobs: c.Jobs, Threads: c.Threads}
	for _, text := range c.Also {
		var order tune.Order
		if n, err := fmt.Sscanf(text, "%dx%d", &order.Window, &order.Chunk); n != 2 || err != nil || text != fmt.Sprintf("%dx%d", order.Window, order.Chunk) || order.Window < 0 || order.Chunk < 0 {
			return &sim.UsageError{Err: fmt.Errorf("--also is %q; write window x chunk, such as 5x25", text)}
		}
		o.Also = append(o.Also, order)
	}
	stop := c.progress(&o)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	r, err := tune.Tune(ctx, o)
	stop()
	if r == nil {
		return err
	}
	if len(r.Candidates) == 0 && err != nil {
		return err
	}
	if werr := tune.Write(w, r, c.Format); werr != nil {
		return werr
	}
	return err
}

// progress shows a bar on a terminal, and elsewhere a line a candidate.
func (c *tuneGEMMCmd) progress(o *tune.Options) (stop func()) {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		o.Ran = func(c *tune.Candidate, took time.Duration, done, total int) {
			what := c.Simulated.Error
			if what == "" {
				what = fmt.Sprintf("%d cycles, %.1f us", c.Simulated.Cycles, c.Simulated.TimeUS)
			}
			fmt.Fprintf(os.Stderr, "%d of %d: %s %s W%d C%d: %s (%v)\n", done, total, c.Schedule, c.Tile, c.Window, c.Chunk, what, took.Round(time.Second))
		}
		return func() {}
	}
	bar := progressbar.NewOptions64(1, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionThrottle(200*time.Millisecond), progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	var mu sync.Mutex // candidates may run side by side
	last := ""
	o.Progress = func(what string, done, total int64) {
		mu.Lock()
		defer mu.Unlock()
		if what != last {
			bar.Reset()
			last = what
		}
		bar.ChangeMax64(max(total, 1))
		bar.Describe(what)
		_ = bar.Set64(done) // a bar that cannot be drawn must not end the search
	}
	return func() { _ = bar.Clear() }
}
