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
	Record  traceRecordCmd  `cmd:"" help:"Run a kernel and write what its waves do." example:"whisker trace record gemm --size 2048 -o gemm.trace"`
	Replay  traceReplayCmd  `cmd:"" help:"Time a trace again, on the machine it was recorded on or another." example:"whisker trace replay gemm.trace --set lds.latency_cycles=80"`
	Info    traceInfoCmd    `cmd:"" help:"Say what is in a trace." example:"whisker trace info gemm.trace"`
	Dump    traceDumpCmd    `cmd:"" help:"Print waves as text, one instruction a line." example:"whisker trace dump gemm.trace --workgroups 0 --waves 0 --range 0-99"`
	Check   traceCheckCmd   `cmd:"" help:"Read all of a trace and say whether it is sound." example:"whisker trace check gemm.trace --code-object gemm.co"`
	Slice   traceSliceCmd   `cmd:"" help:"Cut workgroups, waves or a range of instructions out of a trace." example:"whisker trace slice gemm.trace --workgroups 0-31 -o part.trace"`
	Compare traceCompareCmd `cmd:"" help:"Replay a trace of hardware and show where the model's issue times part from the measured ones." example:"whisker trace compare hw.trace --top 20"`
	Import  traceImportCmd  `cmd:"" help:"Make a trace of a hardware thread trace or of text." example:"whisker trace import text stream.txt -o stream.trace"`
}

type traceCompareCmd struct {
	File string `arg:"" help:"Trace that was imported from hardware."`
	traceMachineFlags
	AllowTruncated bool   `help:"Take a truncated trace up to its last whole chunk."`
	Top            int    `placeholder:"N" help:"Print the N instructions that differ most; all in order of address unless given."`
	Format         string `default:"table" help:"table, json or csv (a row an instruction)."`
}

func (c *traceCompareCmd) Run(w io.Writer) error {
	return sim.CompareTrace(w, sim.CompareOptions{Top: c.Top, Format: c.Format,
		ReplayOptions: sim.ReplayOptions{File: c.File, AllowTruncated: c.AllowTruncated, Arch: c.Arch, Machine: c.Machine, Set: c.Set}})
}

type traceImportCmd struct {
	ATT  traceImportATTCmd  `cmd:"" name:"att" help:"Import the ui_output folder of a rocprofv3 thread trace." example:"whisker trace import att ui_output_agent_1_dispatch_2 -o hw.trace"`
	Text traceImportTextCmd `cmd:"" help:"Import instructions, one a line." example:"whisker trace import text stream.txt -o stream.trace"`
}

// importFlags are what both imports take.
type importFlags struct {
	Out string `short:"o" required:"" placeholder:"FILE" help:"Trace to write."`
	CPU string `name:"cpu" placeholder:"CPU" help:"Processor, gfx942 or gfx950, where the input does not say it."`
	traceMachineFlags
	Format string `default:"table" help:"table, json or csv."`
}

func (f *importFlags) options() sim.ImportOptions {
	return sim.ImportOptions{Out: f.Out, CPU: f.CPU, Arch: f.Arch, Machine: f.Machine, Set: f.Set, Format: f.Format}
}

type traceImportATTCmd struct {
	Dir    string `arg:"" help:"Folder with code.json and the waves' files."`
	Launch string `placeholder:"FILE" help:"Launch file of the kernel, which gives the addresses; a default locality unless given."`
	Waves  int    `placeholder:"N" help:"Waves of a workgroup; those that run at the same time unless given."`
	importFlags
}

func (c *traceImportATTCmd) Run(w io.Writer) error {
	return sim.ImportATT(w, c.Dir, sim.ATTOptions{ImportOptions: c.options(), Launch: c.Launch, Waves: c.Waves})
}

type traceImportTextCmd struct {
	File string `arg:"" help:"Text; - is standard input."`
	importFlags
}

func (c *traceImportTextCmd) Run(w io.Writer) error { return sim.ImportText(w, c.File, c.options()) }

type traceInfoCmd struct {
	File           string `arg:"" help:"Trace."`
	AllowTruncated bool   `help:"Take a truncated trace up to its last whole chunk."`
	Format         string `default:"table" help:"table, json or csv."`
}

func (c *traceInfoCmd) Run(w io.Writer) error {
	return sim.TraceInfoOf(w, c.File, c.AllowTruncated, c.Format)
}

// selectFlags choose waves and instructions.
type selectFlags struct {
	Workgroups string `short:"g" placeholder:"LIST" help:"Workgroups, such as 0-7,12; all unless given."`
	Waves      string `short:"w" placeholder:"LIST" help:"Waves of a workgroup, such as 0-3; all unless given."`
	Range      string `placeholder:"FROM-TO" help:"Instructions of each wave in order of execution, such as 100-199; all unless given."`
}

type traceDumpCmd struct {
	File           string `arg:"" help:"Trace."`
	Launch         int    `default:"-1" placeholder:"N" help:"Launch of a trace that has several; all unless given."`
	AllowTruncated bool   `help:"Take a truncated trace up to its last whole chunk."`
	selectFlags
}

func (c *traceDumpCmd) Run(w io.Writer) error {
	return sim.TraceDump(w, c.File, sim.Selection{Launch: c.Launch, Workgroups: c.Workgroups, Waves: c.Waves, Range: c.Range}, c.AllowTruncated)
}

type traceCheckCmd struct {
	File           string `arg:"" help:"Trace."`
	AllowTruncated bool   `help:"Take a truncated trace up to its last whole chunk."`
	CodeObject     string `placeholder:"FILE" help:"Compare the trace's programs with this code object."`
	KernelName     string `name:"kernel" placeholder:"NAME" help:"Compare only the launches of this kernel."`
	Format         string `default:"table" help:"table, json or csv."`
}

func (c *traceCheckCmd) Run(w io.Writer) error {
	return sim.TraceCheck(w, c.File, c.CodeObject, c.KernelName, c.AllowTruncated, c.Format)
}

type traceSliceCmd struct {
	File           string `arg:"" help:"Trace."`
	Out            string `short:"o" required:"" placeholder:"FILE" help:"Trace to write."`
	AllowTruncated bool   `help:"Take a truncated trace up to its last whole chunk."`
	selectFlags
	Format string `default:"table" help:"table, json or csv."`
}

func (c *traceSliceCmd) Run(w io.Writer) error {
	return sim.TraceSlice(w, c.File, c.Out, sim.Selection{Workgroups: c.Workgroups, Waves: c.Waves, Range: c.Range}, c.AllowTruncated, c.Format)
}

type traceRecordCmd struct {
	runCmd
	Out string `short:"o" group:"Run" placeholder:"FILE" help:"Trace file to write."`
}

func (c *traceRecordCmd) Run(w io.Writer) error {
	switch {
	case c.Out == "" && c.Trace == "":
		return &sim.UsageError{Err: errors.New("name the trace to write: -o FILE")}
	case c.Out != "" && c.Trace != "" && c.Out != c.Trace:
		return &sim.UsageError{Err: fmt.Errorf("-o %s and --trace %s name the trace twice: give one", c.Out, c.Trace)}
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
	KernelName       string   `name:"kernel" group:"Run" placeholder:"NAME" help:"Compare only the launches of this kernel."`
	Threads          int      `default:"${cpus}" group:"Run" help:"Threads that simulate; the result is the same on any number."`
	LaunchOverheadUS *float64 `name:"launch-overhead-us" group:"Run" placeholder:"US" help:"Launch overhead in us; the machine's own unless given."`
	HostSync         *bool    `negatable:"" group:"Run" help:"The host waits for the device after each launch inside the time, or --no-host-sync; as the kernel's original does unless given."`
	PerInstruction   bool     `group:"Run" help:"Report issue and stalls of every instruction address."`
	Format           string   `default:"table" group:"Run" help:"table, json or csv."`
}

func (c *traceReplayCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	o := sim.ReplayOptions{File: c.File, AllowTruncated: c.AllowTruncated, CodeObject: c.CodeObject, KernelName: c.KernelName,
		Arch: c.Arch, Machine: c.Machine, Set: c.Set, Threads: c.Threads, LaunchOverheadUS: c.LaunchOverheadUS, HostSync: c.HostSync, PerInstruction: c.PerInstruction}
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
