package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/whisker-sim/whisker/sim"
)

// outputFlags say what to write of a recording, and which part of it.
type outputFlags struct {
	HTML         string   `name:"html" group:"Timeline" placeholder:"FILE" help:"Page that a browser opens from disk."`
	Perfetto     string   `group:"Timeline" placeholder:"FILE" help:"Trace events for ui.perfetto.dev, gzip."`
	RCV          string   `name:"rcv" group:"Timeline" placeholder:"DIR" help:"Folder for ROCprof Compute Viewer, below DIR."`
	Konata       string   `group:"Timeline" placeholder:"FILE" help:"Log for Konata."`
	AkitaTrace   string   `group:"Timeline" placeholder:"FILE" help:"Trace for Akita's Daisen (SQLite)."`
	Picture      pictures `group:"Timeline" placeholder:"NAME=FILE" help:"Drawing as SVG: timeline, tile, chiplets or first256; may be repeated."`
	WindowCU     string   `name:"window-cu" group:"Timeline" placeholder:"LIST" help:"CUs: XCD.CU with ranges, such as 0.0-3,1.*, or all; a run records 0.0 unless given."`
	WindowCycles string   `group:"Timeline" placeholder:"FROM:TO" help:"Cycles; all unless given."`
}

// pictures are the files of drawings, by name.
type pictures map[string]string

// Decode adds one NAME=FILE. A name that is given twice is an error: a map of
// kong's own would keep the second file alone.
func (p *pictures) Decode(c *kong.DecodeContext) error {
	var value string
	if err := c.Scan.PopValueInto("NAME=FILE", &value); err != nil {
		return err
	}
	name, file, ok := strings.Cut(value, "=")
	if !ok {
		return fmt.Errorf("expected NAME=FILE, not %q", value)
	}
	if _, given := (*p)[name]; given {
		return fmt.Errorf("the picture %s is asked for twice", name)
	}
	if *p == nil {
		*p = pictures{}
	}
	(*p)[name] = file
	return nil
}

func (f *outputFlags) outputs() sim.Outputs {
	return sim.Outputs{HTML: f.HTML, Perfetto: f.Perfetto, RCV: f.RCV, Konata: f.Konata, Akita: f.AkitaTrace, Pictures: f.Picture}
}

// recordFlags record a run's events and write them for viewers.
type recordFlags struct {
	outputFlags
	Record        string `group:"Timeline" placeholder:"FILE" help:"Run file for whisker view."`
	WindowKernel  int    `group:"Timeline" placeholder:"N" help:"Which kernel of several to record, from 0."`
	RecordLimitMB int    `name:"record-limit-mb" default:"512" group:"Timeline" placeholder:"MB" help:"Memory that a recording may take, 1 or more (default 512)."`
}

func (f *recordFlags) outputs() sim.Outputs {
	o := f.outputFlags.outputs()
	o.Record = f.Record
	return o
}

// ask is what the run is told to record, nil for nothing.
func (f *recordFlags) ask() (*sim.RecordOptions, error) {
	// Zero megabytes are the default of the package and an error of the flag.
	if f.RecordLimitMB == 0 {
		return nil, &sim.UsageError{Err: errors.New("--record-limit-mb is 0; it must be 1 or more")}
	}
	if o := f.outputs(); !o.Any() {
		if f.WindowCU+f.WindowCycles != "" || f.WindowKernel != 0 {
			return nil, &sim.UsageError{Err: errors.New("--window-cu, --window-cycles and --window-kernel say what to record, and no output is asked for: give --html, --record, --perfetto, --rcv, --konata, --akita-trace or --picture")}
		}
		return nil, nil
	}
	return &sim.RecordOptions{CUs: f.WindowCU, Cycles: f.WindowCycles, LimitMB: f.RecordLimitMB, Kernel: f.WindowKernel}, nil
}

type viewCmd struct {
	Runs []string `arg:"" name:"run" help:"Run file of whisker run --record; two to compare."`
	outputFlags
	Output string `short:"o" placeholder:"FILE" help:"The same as --html; RUN with .html when nothing is asked for."`
}

func (c *viewCmd) Run(w io.Writer) error {
	o := c.outputs()
	switch {
	case c.Output != "" && o.HTML != "" && c.Output != o.HTML:
		return &sim.UsageError{Err: fmt.Errorf("-o %s and --html %s name the page twice: give one", c.Output, o.HTML)}
	case c.Output != "":
		o.HTML = c.Output
	}
	return sim.View(w, sim.ViewOptions{Files: c.Runs, CUs: c.WindowCU, Cycles: c.WindowCycles, Outputs: o})
}

// writeOutputs writes a recorded run's files.
func (c *runCmd) writeOutputs(o *sim.RunOptions) error {
	return o.Record.Outputs(c.outputs(), os.Stderr)
}
