package main

import (
	"errors"
	"io"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
)

// launchFlags run a kernel from a code object instead of one by name.
type launchFlags struct {
	Launch      string `group:"Code object" placeholder:"FILE" help:"Run the launch that a YAML file describes."`
	CodeObject  string `group:"Code object" placeholder:"FILE" help:"Code object (.co, .hsaco), for --print-launch."`
	KernelName  string `name:"kernel" group:"Code object" placeholder:"NAME" help:"Kernel of the code object."`
	PrintLaunch bool   `group:"Code object" help:"Print a launch file for a kernel of --code-object."`
	Suite       string `group:"Code object" placeholder:"NAME" help:"Run the kernels of a suite on the machines that they are code for, or on --arch, and check their values: triton, clang or mgpusim; micro measures the units of a CU."`
	MaxCycles   int64  `group:"Code object" placeholder:"N" help:"Give a kernel up that has not ended after so many cycles; in functional mode, which has none, after so many wave instructions."`
}

// given reports whether a code object is asked for.
func (f *launchFlags) given() bool {
	return f.Launch != "" || f.CodeObject != "" || f.PrintLaunch || f.Suite != ""
}

// chosen refuses a run without a kernel, and one with two.
func (c *runCmd) chosen() error {
	l := &c.launchFlags
	switch {
	case c.Kernel == "" && !l.given():
		return &sim.UsageError{Err: errors.New(`expected "<kernel>", or --launch FILE (see whisker run --help)`)}
	case c.Kernel != "" && l.given():
		return &sim.UsageError{Err: errors.New("give a kernel by name or a code object, not both")}
	case l.Suite != "" && (l.Launch != "" || l.CodeObject != "" || l.KernelName != "" || l.PrintLaunch):
		return &sim.UsageError{Err: errors.New("--suite brings its own code objects: leave --launch, --code-object, --kernel and --print-launch out")}
	case l.Launch != "" && (l.CodeObject != "" || l.KernelName != "" || l.PrintLaunch):
		return &sim.UsageError{Err: errors.New("--launch names code object and kernel itself: leave --code-object, --kernel and --print-launch out")}
	case l.PrintLaunch != (l.CodeObject != ""):
		return &sim.UsageError{Err: errors.New("--code-object FILE and --print-launch go together; --launch FILE runs what they print")}
	case c.Kernel != "" && (l.KernelName != "" || c.has("max-cycles")):
		return &sim.UsageError{Err: errors.New("--kernel and --max-cycles are for code objects")}
	}
	return nil
}

// runChosen runs the kernel by name or the launch.
func (c *runCmd) runChosen(o sim.RunOptions) (*report.Run, error) {
	if c.Launch == "" {
		return sim.Run(o)
	}
	return sim.RunLaunch(sim.LaunchOptions{File: c.Launch, MaxCycles: c.MaxCycles, RunOptions: o})
}

// runSuite runs a suite and writes a row a kernel.
func (c *runCmd) runSuite(w io.Writer) error {
	if c.Suite == sim.SuiteMicro {
		m, err := sim.LoadMachine(c.Arch, c.Machine, c.Set)
		if err != nil {
			return err
		}
		rows, err := sim.RunMicro(sim.MicroOptions{Machine: m, Threads: c.Threads})
		if err != nil {
			return err
		}
		return sim.WriteMicro(w, rows, c.Format)
	}
	o := sim.SuiteOptions{Name: c.Suite, Mode: c.Mode, Threads: c.Threads, Machine: c.Machine, Set: c.Set}
	if c.has("arch") || c.has("set") {
		o.Arch = c.Arch
	}
	rows, err := sim.RunSuite(o)
	if err != nil {
		return err
	}
	return sim.WriteSuite(w, c.Suite, rows, c.Format)
}

// printLaunch writes a template.
func (c *runCmd) printLaunch(w io.Writer) error {
	return sim.PrintLaunch(w, c.CodeObject, c.KernelName)
}
