package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/whisker-sim/whisker/sim"
)

// idle is a rule about flags that do nothing beside another or without it.
type idle struct {
	command string // as kong names it, without its arguments
	beside  string // the flags are idle where this one is given; "" for without
	without string // the flags are idle where this one is not given
	flags   []string
	why     string
}

var idles = []idle{
	{command: "report", without: "plot", flags: []string{"x", "y", "by", "only"}, why: "is of --plot"},
	{command: "swizzle estimate", beside: "table4", flags: []string{"m", "n", "k", "tile", "dtype", "order", "window", "chunk"}, why: "is not for --table4, which has its own"},
	{command: "swizzle show", beside: "grid", flags: []string{"m", "n", "k", "tile", "dtype"}, why: "is not for --grid, which says the grid itself"},
	{command: "sweep", without: "slurm", flags: []string{"max-array", "partition", "time", "mem", "task-timeout", "retries", "poll"}, why: "is of --slurm"},
	{command: "validate", without: "fail-if-worse", flags: []string{"tolerance"}, why: "is of --fail-if-worse"},
}

// refuseIdle refuses a flag that the command line gives and that does nothing there,
// rather than leave its giver in the belief that it did.
func refuseIdle(ctx *kong.Context) error {
	given := map[string]bool{}
	for _, p := range ctx.Path {
		if p.Flag != nil {
			given[p.Flag.Name] = true
		}
	}
	for _, r := range idles {
		if command, _, _ := strings.Cut(ctx.Command(), " <"); command != r.command || r.beside != "" && !given[r.beside] || r.without != "" && given[r.without] {
			continue
		}
		for _, f := range r.flags {
			if given[f] {
				return &sim.UsageError{Err: fmt.Errorf("--%s %s", f, r.why)}
			}
		}
	}
	return nil
}
