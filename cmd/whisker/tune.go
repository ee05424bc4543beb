package main

import (
	"fmt"
	"io"
	"os"
	"strings"

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
	Size         *int     `group:"Kernel" placeholder:"N" help:"Set --m, --n and --k at once."`
	M            *int     `group:"Kernel" placeholder:"N" help:"Rows of C (default 8192)."`
	N            *int     `group:"Kernel" placeholder:"N" help:"Columns of C (default 8192)."`
	K            *int     `group:"Kernel" placeholder:"N" help:"Inner dimension (default 8192)."`
	DType        string   `name:"dtype" default:"bf16" group:"Kernel" placeholder:"TYPE" help:"Input type, such as bf16 or fp8."`
	Schedule     []string `group:"Search" placeholder:"NAME" help:"Only these schedules; separated by commas or repeated."`
	Tile         []string `group:"Search" placeholder:"MxN" help:"Only these tiles."`
	Also         []string `group:"Search" placeholder:"WxC" help:"A window and chunk to simulate whatever the estimate says, such as 5x25."`
	Best         int      `default:"6" group:"Search" placeholder:"N" help:"Candidates that the cycle model runs."`
	SampleRounds int      `group:"Search" placeholder:"N" help:"Let the cycle model run only the first N rounds of workgroups; 0: all."`
	Jobs         int      `short:"j" default:"1" group:"Run" help:"Candidates simulated at once."`
	Threads      int      `default:"${cpus}" group:"Run" help:"Threads that simulate a candidate."`
	Format       string   `default:"table" group:"Run" help:"table, json or csv."`
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
		Best: c.Best, SampleRounds: c.SampleRounds, Jobs: c.Jobs, Threads: c.Threads}
	for _, text := range c.Also {
		var order tune.Order
		if n, err := fmt.Sscanf(text, "%dx%d", &order.Window, &order.Chunk); n != 2 || err != nil || text != fmt.Sprintf("%dx%d", order.Window, order.Chunk) || order.Window < 0 || order.Chunk < 0 {
			return &sim.UsageError{Err: fmt.Errorf("--also is %q; write window x chunk, such as 5x25", text)}
		}
		o.Also = append(o.Also, order)
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		bar := progressbar.NewOptions(1, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
		o.Progress = func(what string, done, total int) {
			bar.ChangeMax(max(total, 1))
			bar.Describe(strings.TrimSpace(what))
			_ = bar.Set(done) // a bar that cannot be drawn must not end the search
		}
		defer func() { _ = bar.Clear() }()
	}
	r, err := tune.Tune(o)
	if err != nil {
		return err
	}
	return tune.Write(w, r, c.Format)
}
