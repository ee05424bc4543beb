package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/whisker-sim/whisker/sim"
)

// taken are the flags that a way of running takes; any other would change
// nothing, and is refused rather than ignored.
var taken = map[string][]string{
	"--suite":        {"suite", "arch", "machine", "set", "mode", "threads", "format"},
	"--suite micro":  {"suite", "arch", "machine", "set", "threads", "format"},
	"--print-launch": {"print-launch", "code-object", "kernel"},
}

// notOfLaunch are the flags beside those of group Kernel that a launch file does
// not take, with the reason.
var notOfLaunch = map[string]string{
	"seed":           "the launch file has a seed of its own",
	"rotate-buffers": "a launch file has one set of buffers",
	"sample-rounds":  "a launch file runs whole",
	"window-kernel":  "a launch file runs one kernel",
}

// ofTime are the flags that say something of a run's time, which functional mode
// does not have. Those of recordings and traces are refused where they are read.
var ofTime = []string{"monitor", "cold-llc", "rotate-buffers", "per-instruction", "launch-overhead-us", "host-sync"}

// AfterApply notes which flags are given: a flag's value does not tell it from
// its default.
func (c *runCmd) AfterApply(ctx *kong.Context) error {
	c.given = nil
	for _, p := range ctx.Path {
		if p.Flag != nil && !slices.Contains(ctx.Model.Flags, p.Flag) { // every command takes the program's own
			c.given = append(c.given, givenFlag{p.Flag.Name, p.Flag.Tag.Group == "Kernel"})
		}
	}
	return nil
}

// givenFlag is a flag of the command line.
type givenFlag struct {
	name     string
	ofKernel bool // an option of kernels by name
}

func (c *runCmd) has(name string) bool {
	return slices.ContainsFunc(c.given, func(f givenFlag) bool { return f.name == name })
}

// checkFlags refuses the flags that the chosen way of running does not take.
func (c *runCmd) checkFlags() error {
	way := ""
	switch {
	case c.Suite == "micro":
		way = "--suite micro"
	case c.Suite != "":
		way = "--suite"
	case c.PrintLaunch:
		way = "--print-launch"
	}
	for _, f := range c.given {
		if takes := taken[way]; way != "" && !slices.Contains(takes, f.name) {
			return &sim.UsageError{Err: fmt.Errorf("--%s has no meaning with %s, which takes --%s", f.name, way, andList(takes[1:]))}
		}
		switch {
		case way != "":
		case c.Launch != "" && f.ofKernel:
			return &sim.UsageError{Err: fmt.Errorf("--%s is an option of kernels by name; what a kernel of a code object takes stands in the launch file", f.name)}
		case c.Launch != "" && notOfLaunch[f.name] != "":
			return &sim.UsageError{Err: fmt.Errorf("--%s has no meaning with --launch: %s", f.name, notOfLaunch[f.name])}
		case c.Mode == "functional" && slices.Contains(ofTime, f.name):
			return &sim.UsageError{Err: fmt.Errorf("--%s is for runs that take time; functional mode has none", f.name)}
		}
	}
	if c.Suite != "" && c.has("mode") && c.Mode == "timing" {
		return &sim.UsageError{Err: errors.New("--suite compares values, which timing mode does not compute: choose --mode functional or full")}
	}
	return nil
}

// andList joins the names of flags as a sentence does.
func andList(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", --") + " and --" + names[last]
}
