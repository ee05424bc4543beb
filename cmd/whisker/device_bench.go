package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/whisker-sim/whisker/device"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
)

type deviceBenchCmd struct {
	machineFlags
	Output      string   `short:"o" placeholder:"DIR" help:"Folder of the suite; micro-CPU unless given."`
	Only        []string `placeholder:"PREFIX" help:"Only the rows whose names begin so, such as lds/; may be repeated."`
	ExportOnly  bool     `help:"Write the folder and run nothing, to carry it to where the GPU is."`
	Collect     bool     `help:"Run nothing: read what bench.sh left in the folder."`
	Repeats     int      `default:"20" help:"Launches of each kernel."`
	StepTimeout int      `default:"600" placeholder:"SECONDS" help:"Time limit of each run of the program or the profiler."`
	Force       bool     `help:"Replace an earlier suite."`
	Format      string   `default:"table" help:"table, json (the list of rows that whisker calibrate takes) or csv."`
}

// Run exports the suite, runs it, and prints its rows.
func (c *deviceBenchCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	switch {
	case c.ExportOnly && c.Collect:
		return &sim.UsageError{Err: errors.New("--export-only writes the folder and --collect reads its results: give one of them")}
	case c.StepTimeout < 1 || c.Repeats < 1:
		return &sim.UsageError{Err: errors.New("--step-timeout and --repeats must be at least 1")}
	}
	m, err := sim.LoadMachine(c.Arch, c.Machine, c.Set)
	if err != nil {
		return err
	}
	if c.Output == "" {
		c.Output = "micro-" + m.Machine().CPU
	}
	r, err := device.Bench(device.BenchOptions{Machine: m, Dir: c.Output, Only: c.Only, Force: c.Force, ExportOnly: c.ExportOnly, Collect: c.Collect,
		Timeout: time.Duration(c.StepTimeout) * time.Second, Repeats: c.Repeats, Version: sim.Version, Log: os.Stderr})
	switch {
	case r == nil:
		return err
	case c.ExportOnly && err == nil:
		_, err = fmt.Fprintf(w, "%s: run make and ./bench.sh there, then whisker device bench -o %s --collect\n", c.Output, c.Output)
		return err
	}
	if werr := device.WriteBench(w, r, c.Format); werr != nil {
		return werr
	}
	return err
}
