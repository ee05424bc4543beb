package main

import (
	"github.com/whisker-sim/whisker/sim"
)

// recordFlags record a run's events and write them for viewers.
type recordFlags struct {
	outputFlags
	Record        string `group:"Timeline" placeholder:"FILE" help:"Record the run's events to a run file, for whisker view."`
	HTML          string `name:"html" group:"Timeline" placeholder:"FILE" help:"Write a page that a browser opens from disk."`
	WindowKernel  int    `group:"Timeline" placeholder:"N" help:"Which kernel of several to record, from 0."`
	RecordLimitMB int    `name:"record-limit-mb" group:"Timeline" placeholder:"MB" help:"Memory that a recording may take (default 512)."`
}

// outputFlags say what to write of a recording, and which part of it.
type outputFlags struct {
	WindowCU     string `name:"window-cu" group:"Timeline" placeholder:"LIST" help:"CUs: XCD.CU with ranges, such as 0.0-3,1.*, or all (default 0.0)."`
	WindowCycles string `group:"Timeline" placeholder:"FROM:TO" help:"Cycles (default all)."`
}

// wanted reports whether the run is to be recorded.
func (f *recordFlags) wanted() bool { return f.Record != "" || f.HTML != "" }

// ask is what the run is told to record, nil for nothing.
func (f *recordFlags) ask() *sim.RecordOptions {
	if !f.wanted() {
		return nil
	}
	return &sim.RecordOptions{CUs: f.WindowCU, Cycles: f.WindowCycles, LimitMB: f.RecordLimitMB, Kernel: f.WindowKernel}
}

// outputs is what is written of a recording.
func (f *recordFlags) outputs() sim.Outputs {
	return sim.Outputs{Record: f.Record, HTML: f.HTML}
}
