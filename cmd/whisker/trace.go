package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
	"golang.org/x/term"
)

type traceCmd struct {
	Record traceRecordCmd `cmd:"" help:"Run a kernel and write what its waves do." example:"whisker trace record gemm --size 2048 -o gemm.trace"`
	Replay traceReplayCmd `cmd:"" help:"Time a trace again, on the machine it was recorded on or another." example:"whisker trace replay gemm.trace --set lds.latency_cycles=80"`
}

type traceRecordCmd struct {
	runCmd
	Out string `short:"o" group:"Run" placeholder:"FILE" help:"Trace file to write."`
}

func (c *traceRecordCmd) Run(w io.Writer) error {
	switch {
	case c.Out == "" && c.Trace == "":
		return &sim.UsageError{Err: errors.New("name the trace to write: -o FILE")}
	case c.Out != "":
		c.Trace = c.Out
	}
	return c.runCmd.Run(w)
}

// traceMachineFlags choose the machine of a replay.
type traceMachineFlags struct {
	Arch    string   `group:"Machine" placeholder:"NAME" help:"Built-in machine; the one that the trace was recorded on unless given."`
	Machine string   `group:"Machine" placeholder:"FILE" help:"Machine file; replaces --arch."`
	Set     []string `sep:"none" group:"Machine" placeholder:"KEY=VALUE" help:"Override a value of the machine, such as l2.bytes=8388608; may be repeated."`
}

type traceReplayCmd struct {
	File string `arg:"" help:"Trace."`
	traceMachineFlags
	AllowTruncated   bool     `group:"Run" help:"Replay a truncated trace up to its last whole chunk."`
	CodeObject       string   `group:"Run" placeholder:"FILE" help:"Refuse a trace that was not recorded from this code object."`
	KernelName       string   `name:"kernel" group:"Run" placeholder:"NAME" help:"Kernel of --code-object; the trace's own unless given."`
	Threads          int      `default:"${cpus}" group:"Run" help:"Threads that simulate; the result is the same on any number."`
	LaunchOverheadUS *float64 `name:"launch-overhead-us" group:"Run" placeholder:"US" help:"Launch overhead in us; the machine's own unless given."`
	PerInstruction   bool     `group:"Run" help:"Report issue and stalls of every instruction address."`
	Format           string   `default:"table" group:"Run" help:"table, json or csv."`
}

func (c *traceReplayCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	o := sim.ReplayOptions{File: c.File, AllowTruncated: c.AllowTruncated, CodeObject: c.CodeObject, KernelName: c.KernelName,
		Arch: c.Arch, Machine: c.Machine, Set: c.Set, Threads: c.Threads, LaunchOverheadUS: c.LaunchOverheadUS, PerInstruction: c.PerInstruction}
	stop := func() {}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		o.Progress, stop = progress(os.Stderr)
	}
	r, err := sim.Replay(o)
	stop()
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	return report.Write(w, r, c.Format)
}
