// Command whisker simulates AMD CDNA3 and CDNA4 GPUs. It turns flags into
// calls of package sim and writes what they return.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/whisker-sim/whisker/sim"
)

// cli is the command line. The example tag is what a command's help starts with.
type cli struct {
	Run       runCmd       `cmd:"" help:"Simulate a kernel." example:"whisker run gemm --size 4096"`
	View      viewCmd      `cmd:"" help:"Turn a recorded run into a page or a file for a viewer." example:"whisker run gemm --size 512 --record run.whisker; whisker view run.whisker"`
	Step      stepCmd      `cmd:"" help:"Step through a kernel on one CU, cycle by cycle." example:"whisker step gemm --size 256"`
	Config    configCmd    `cmd:"" help:"List, show and compare machines." example:"whisker config diff mi355x mi300x"`
	LDS       ldsCmd       `cmd:"" name:"lds" help:"Explain LDS accesses." example:"whisker lds analyze --op ds_read_b128 --layout st_16x32"`
	Reproduce reproduceCmd `cmd:"" help:"Simulate a published table, paper beside simulated." example:"whisker reproduce table4 --format json"`
	Swizzle   swizzleCmd   `cmd:"" help:"Show, estimate and tune block orders." example:"whisker swizzle show --grid 48x36 -W 5 -C 25"`
	ISA       isaCmd       `cmd:"" name:"isa" help:"Disassemble, assemble and list instructions." example:"whisker isa disasm kernel.co"`
	Trace     traceCmd     `cmd:"" help:"Record, replay, inspect and import instruction traces." example:"whisker trace record gemm --size 2048 -o gemm.trace"`
	Validate  validateCmd  `cmd:"" help:"Hold the simulator against every measured set: errors, worst points, rank correlation." example:"whisker validate --short"`
	Calibrate calibrateCmd `cmd:"" help:"Fit a machine file to measured microbenchmarks." example:"whisker calibrate mi355x --from results/micro.json --out mine.yaml"`
	Device    deviceCmd    `cmd:"" help:"Export kernels to a real GPU, run them there, and compare." example:"whisker device export gemm --size 4096 -o gemm-4096"`
	List      listCmd      `cmd:"" help:"List kernels, machines and the words that flags take." example:"whisker list"`
	Version   versionCmd   `cmd:"" help:"Print the version." example:"whisker version"`

	studyCommands
	profileFlags
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // the run failed, or an expectation did not hold
	exitUsage  = 2 // bad usage or input
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// exit is what kong's own exits, after --help, unwind with.
type exit int

// run is main without the process: it returns the exit code.
func run(args []string, out, stderr io.Writer) (code int) {
	stdout := &standardOutput{w: out}
	defer func() {
		if p := recover(); p != nil {
			c, ours := p.(exit)
			if !ours {
				panic(p)
			}
			code = int(c)
		}
		if stdout.err != nil && code != exitFailed {
			fmt.Fprintf(stderr, "whisker: %v\n", stdout.err)
			code = exitFailed
		}
	}()
	var flags cli
	parser, err := kong.New(&flags,
		kong.Name("whisker"),
		kong.Description("A cycle-level simulator of AMD CDNA3 and CDNA4 GPUs: it runs a kernel and says why it is as fast as it is."),
		kong.UsageOnError(),
		kong.Writers(stdout, stderr),
		kong.Exit(func(c int) { panic(exit(c)) }),
		kong.Help(helpWithExample),
		kong.Vars{"cpus": strconv.Itoa(runtime.NumCPU()), "kernels": strings.Join(sim.KernelNames(), ", "), "tables": strings.Join(sim.ReproduceTables(), ", "),
			"sets": strings.Join(sim.ValidateSets(), ", ")},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.BindTo(stdout, (*io.Writer)(nil)),
	)
	if err != nil {
		return fail(stderr, err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		if stdout.err != nil { // the help could not be printed
			return fail(stderr, err)
		}
		if len(args) > 0 && strings.HasPrefix(err.Error(), "unexpected argument "+args[0]) {
			var names []string
			for _, n := range parser.Model.Children {
				names = append(names, n.Name)
			}
			err = fmt.Errorf("unknown command %q: there are %s", args[0], strings.Join(names, ", "))
		}
		return fail(stderr, &sim.UsageError{Err: fmt.Errorf("%w (see whisker --help)", err)})
	}
	if err := refuseEmpty(ctx); err != nil {
		return fail(stderr, err)
	}
	if err := refuseIdle(ctx); err != nil {
		return fail(stderr, err)
	}
	if err := refuseShared(ctx, flags.CPUProfile); err != nil {
		return fail(stderr, err)
	}
	if name := strings.Fields(ctx.Command())[0]; name != "sweep" && name != "step" && name != "tune" { // which end in ways of their own
		defer removeAtSignal()()
	}
	err = profiled(flags.CPUProfile, func() error { return ctx.Run() })
	if stdout.err != nil {
		err = stdout.err // whatever the command made of it: what was asked for is not there
	}
	return fail(stderr, err)
}

// standardOutput is standard output, and remembers that it could not be written: a full
// disk is a failed run, whichever command meets it.
type standardOutput struct {
	w   io.Writer
	err error // the first
}

// Write writes.
func (o *standardOutput) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// refuseEmpty refuses a flag that is given an empty text, as an unset variable of
// a shell does: it would count as not given.
func refuseEmpty(ctx *kong.Context) error {
	for _, p := range ctx.Path {
		if f := p.Flag; f != nil && f.Target.Kind() == reflect.String && f.Target.String() == "" {
			return &sim.UsageError{Err: fmt.Errorf("--%s is empty", f.Name)}
		}
	}
	return nil
}

// fail prints an error as one sentence and gives its exit code.
func fail(stderr io.Writer, err error) int {
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "whisker: %v\n", err)
	if _, usage := errors.AsType[*sim.UsageError](err); usage {
		return exitUsage
	}
	if code := deviceExit(err); code != 0 {
		return code
	}
	return exitFailed
}

// helpWithExample puts the command's example before kong's own help.
func helpWithExample(options kong.HelpOptions, ctx *kong.Context) error {
	example := "whisker run gemm"
	if n := ctx.Selected(); n != nil && n.Tag != nil && n.Tag.Get("example") != "" {
		example = n.Tag.Get("example")
	}
	if _, err := fmt.Fprintf(ctx.Stdout, "Example:\n  %s\n\n", example); err != nil {
		return err
	}
	return kong.DefaultHelpPrinter(options, ctx)
}
