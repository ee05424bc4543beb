package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/output"
	"github.com/whisker-sim/whisker/sim"
	"golang.org/x/term"
)

type validateCmd struct {
	Short       bool     `help:"Only the points that take seconds: a minute or two in all instead of twenty-five on two cores."`
	Only        []string `placeholder:"SET" help:"Only these sets: ${sets}; may be repeated."`
	Set         []string `sep:"none" placeholder:"KEY=VALUE" help:"Override a value of every machine; may be repeated."`
	Threads     int      `default:"${cpus}" help:"Points simulated at once; the result is the same on any number."`
	Out         string   `placeholder:"FILE" help:"Also write the points as CSV, which --fail-if-worse and --from read. What has ended is kept in FILE.part until then: the same command goes on from it."`
	FailIfWorse string   `placeholder:"FILE" help:"Stored points; exit code 1 when the error of one has grown by more than --tolerance."`
	Tolerance   float64  `default:"0.005" help:"How much an error may grow, as a fraction of the measured value."`
	From        string   `placeholder:"FILE" help:"Take stored points instead of simulating."`
	README      string   `name:"readme" placeholder:"FILE" help:"Rewrite the table between the two 'whisker validate' markers of this file."`
	Format      string   `default:"table" help:"table, json or csv (a row a point)."`
}

// Run simulates the measured sets, or reads what an earlier run stored, and prints
// how well they agree.
func (c *validateCmd) Run(w io.Writer) error {
	if err := c.check(); err != nil {
		return err
	}
	var stored []sim.ValidatePoint
	var err error
	if c.FailIfWorse != "" { // before minutes of work, not after
		if stored, err = sim.LoadPoints(c.FailIfWorse); err != nil {
			return err
		}
	}
	points, times, err := c.points()
	if err != nil {
		return err
	}
	v := sim.NewValidation(c.Short, points)
	v.Times = times
	if c.FailIfWorse != "" {
		v.Regress(stored, c.Tolerance, c.Only)
	}
	if err := v.Write(w, c.Format); err != nil {
		return err
	}
	if c.Out != "" {
		if err := sim.StorePoints(c.Out, points); err != nil {
			return err
		}
		if kept := c.keep(); kept != "" {
			if err := os.Remove(kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if c.README != "" {
		if err := sim.UpdateReadme(c.README, v.Sets); err != nil {
			return err
		}
	}
	if n := len(v.Regressions); n > 0 {
		return fmt.Errorf("%d points are worse than %s says, the first: %s (a change that means to move them stores new ones with --out)", n, c.FailIfWorse, v.Regressions[0])
	}
	return nil
}

// check refuses what would be refused only after minutes of work.
func (c *validateCmd) check() error {
	usage := func(format string, args ...any) error { return &sim.UsageError{Err: fmt.Errorf(format, args...)} }
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	if math.IsNaN(c.Tolerance) || c.Tolerance < 0 || c.Tolerance > 1 {
		return usage("--tolerance is %g; it must be a fraction from 0 to 1, such as 0.005", c.Tolerance)
	}
	if c.From != "" && (c.Short || len(c.Only) > 0 || len(c.Set) > 0) {
		return &sim.UsageError{Err: errors.New("--from takes what was stored: --short, --only and --set are for a simulation")}
	}
	if c.README != "" && (c.Short || len(c.Only) > 0 || len(c.Set) > 0) {
		return &sim.UsageError{Err: errors.New("--readme shows the whole form: leave --short, --only and --set out, or take a stored one with --from")}
	}
	if c.README != "" {
		if err := sim.CheckReadme(c.README); err != nil {
			return err
		}
	}
	if c.Out != "" {
		if st, err := os.Stat(filepath.Dir(c.Out)); err != nil || !st.IsDir() {
			return usage("--out %s: there is no folder %s", c.Out, filepath.Dir(c.Out))
		}
		if err := output.Check(c.Out); err != nil {
			return usage("--out: %w", err)
		}
	}
	return nil
}

// partSuffix names the file of what has ended, beside --out.
const partSuffix = ".part"

// keep is the file of what has ended; "" where nothing is simulated, which leaves a
// file of an earlier validation alone, or --out is a device.
func (c *validateCmd) keep() string {
	if c.From != "" || c.Out == "" {
		return ""
	}
	if st, err := os.Stat(c.Out); err == nil && !st.Mode().IsRegular() {
		return ""
	}
	return c.Out + partSuffix
}

func (c *validateCmd) points() ([]sim.ValidatePoint, []sim.SetTime, error) {
	if c.From != "" {
		points, err := sim.LoadPoints(c.From)
		return points, nil, err
	}
	o := sim.ValidateOptions{Short: c.Short, Only: c.Only, Set: c.Set, Threads: c.Threads}
	o.Keep = c.keep()
	if term.IsTerminal(int(os.Stderr.Fd())) {
		begin, ran := time.Now(), 0
		o.Progress = func(done, total int, point string, took time.Duration) {
			ran++
			left := time.Since(begin) / time.Duration(ran) * time.Duration(total-done)
			fmt.Fprintf(os.Stderr, "%d of %d: %s (%v); about %v left\n", done, total, point, took.Round(time.Second/10), left.Round(time.Second))
		}
	}
	return sim.Validate(o)
}
