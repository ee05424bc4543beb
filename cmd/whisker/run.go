package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
	"golang.org/x/term"
)

// machineFlags choose the machine.
type machineFlags struct {
	Arch    string   `default:"mi355x" group:"Machine" placeholder:"NAME" help:"Built-in machine: mi355x, mi350x, mi325x, mi300x, mi300a, b200-like or teaching."`
	Machine string   `group:"Machine" placeholder:"FILE" help:"Machine file; replaces --arch."`
	Set     []string `sep:"none" group:"Machine" placeholder:"KEY=VALUE" help:"Override a value of the machine, such as lds.bytes=262144; may be repeated."`
}

type runCmd struct {
	Kernel string `arg:"" optional:"" help:"Kernel to run: ${kernels}."`
	machineFlags
	launchFlags
	recordFlags

	kernelFlags

	Mode             string   `default:"timing" group:"Run" help:"timing, functional (values only) or full (both)."`
	Verify           bool     `group:"Run" help:"Compare the values with a float64 reference; needs --mode functional or full."`
	Threads          int      `default:"${cpus}" group:"Run" help:"Threads that simulate; the result is the same on any number."`
	Seed             uint64   `default:"1" group:"Run" help:"Seed of the input values."`
	LaunchOverheadUS *float64 `name:"launch-overhead-us" group:"Run" placeholder:"US" help:"Launch overhead in us; the machine's own unless given."`
	HostSync         *bool    `negatable:"" group:"Run" help:"The host waits for the device after each launch inside the time, or --no-host-sync; as the kernel's original does unless given."`
	ColdLLC          bool     `name:"cold-llc" group:"Run" help:"Start with an empty LLC."`
	Warmup           *int     `group:"Run" placeholder:"N" help:"Simulate N launches before the measured one; 0 measures the first. Unless given, the LLC starts as a launch leaves it."`
	RotateBuffers    bool     `group:"Run" help:"Every launch uses buffers of its own: the LLC holds none of the measured launch's."`
	Monitor          bool     `group:"Run" help:"Serve Akita's monitor while the run goes on."`
	SampleRounds     int      `group:"Run" placeholder:"N" help:"Simulate only the first N rounds of workgroups and extrapolate the time."`
	PerInstruction   bool     `group:"Run" help:"Report issue and stalls of every instruction address."`
	Trace            string   `group:"Run" placeholder:"FILE" help:"Write a trace of the run, which whisker trace replays."`
	Format           string   `default:"table" group:"Run" help:"table, json or csv."`

	given []givenFlag // of the command line
}

// Run simulates and writes the report. A report whose check failed is written
// as well.
func (c *runCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	if err := c.chosen(); err != nil {
		return err
	}
	if err := c.checkFlags(); err != nil {
		return err
	}
	switch {
	case c.PrintLaunch:
		return c.printLaunch(w)
	case c.Suite != "":
		return c.runSuite(w)
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	if err := sim.CheckOutputs(c.outputs(), c.Trace); err != nil {
		return err
	}
	if err := sim.KeepInputs(c.outputs(), []string{c.Trace}, append(sim.LaunchInputs(c.Launch), c.Machine)...); err != nil {
		return err
	}
	stop := func() {}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		o.Progress, stop = progress(os.Stderr)
	}
	r, err := c.runChosen(o)
	stop()
	if r != nil {
		if werr := report.Write(w, r, c.Format); werr != nil {
			return werr
		}
	}
	if err == nil {
		err = c.writeOutputs(&o)
	}
	if err == nil && r.Verify != nil && !r.Verify.Passed {
		return fmt.Errorf("%s: values differ from the reference by %.3g, more than %g", r.Kernel, r.Verify.MaxRelativeError, r.Verify.Limit)
	}
	return err
}

func (c *runCmd) options() (sim.RunOptions, error) {
	kernel, err := c.kernelFlags.options(c.Kernel)
	record, rerr := c.ask()
	if rerr == nil && record == nil && c.has("record-limit-mb") {
		rerr = &sim.UsageError{Err: errors.New("--record-limit-mb bounds a recording, and no output is asked for: give --html, --record, --perfetto, --rcv, --konata, --akita-trace or --picture")}
	}
	if err == nil {
		err = rerr
	}
	return sim.RunOptions{
		Kernel: c.Kernel, Arch: c.Arch, Machine: c.Machine, Set: c.Set, Options: kernel,
		Mode: c.Mode, Verify: c.Verify, Threads: c.Threads, Seed: c.Seed, LaunchOverheadUS: c.LaunchOverheadUS, HostSync: c.HostSync,
		ColdLLC: c.ColdLLC, Warmup: c.Warmup, RotateBuffers: c.RotateBuffers, Trace: c.Trace, Monitor: c.Monitor, PerInstruction: c.PerInstruction, SampleRounds: c.SampleRounds, Notices: os.Stderr, Record: record,
	}, err
}

// progress shows a bar with a time estimate on a terminal.
func progress(w io.Writer) (update func(done, total, cycle int64), stop func()) {
	bar := progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	)
	update = func(done, total, cycle int64) {
		bar.ChangeMax64(max(total, 1))
		bar.Describe("cycle " + report.Thousands(cycle))
		_ = bar.Set64(done) // a bar that cannot be drawn must not end the run
	}
	return update, func() { _ = bar.Clear() }
}
