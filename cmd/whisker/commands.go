package main

import (
	"fmt"
	"io"

	"github.com/whisker-sim/whisker/sim"
)

type configCmd struct {
	List configListCmd `cmd:"" help:"List the built-in machines." example:"whisker config list"`
	Show configShowCmd `cmd:"" help:"Print a machine with the class and source of every value." example:"whisker config show mi355x --set lds.bytes=262144 > mine.yaml"`
	Diff configDiffCmd `cmd:"" help:"Print the values in which two machines differ." example:"whisker config diff mi355x mi300x"`
}

type configListCmd struct {
	Format string `default:"table" help:"table, json or csv."`
}

func (c *configListCmd) Run(w io.Writer) error { return sim.ConfigList(w, c.Format) }

type configShowCmd struct {
	Machine string   `arg:"" default:"mi355x" help:"Built-in machine or machine file."`
	Set     []string `sep:"none" placeholder:"KEY=VALUE" help:"Override a value; may be repeated."`
	Format  string   `default:"yaml" help:"yaml (a machine file), table, json or csv."`
}

func (c *configShowCmd) Run(w io.Writer) error {
	return sim.ConfigShow(w, c.Machine, c.Set, c.Format)
}

type configDiffCmd struct {
	A      string   `arg:"" help:"Built-in machine or machine file."`
	B      string   `arg:"" help:"Built-in machine or machine file."`
	Set    []string `sep:"none" placeholder:"KEY=VALUE" help:"Override a value of the second machine; may be repeated."`
	Format string   `default:"table" help:"table, json or csv."`
}

func (c *configDiffCmd) Run(w io.Writer) error {
	return sim.ConfigDiff(w, c.A, c.B, c.Set, c.Format)
}

type ldsCmd struct {
	Analyze ldsAnalyzeCmd `cmd:"" help:"Print the phases, banks and conflicts of one LDS access of a wave." example:"whisker lds analyze --op ds_read_b128 --arch mi355x --layout st_16x32"`
}

type ldsAnalyzeCmd struct {
	Op      string `required:"" placeholder:"OP" help:"LDS instruction, such as ds_read_b128."`
	Arch    string `default:"mi355x" help:"Machine, machine file or LLVM processor."`
	Layout  string `required:"" placeholder:"WHAT" help:"Where the lanes' addresses come from: a layout such as st_16x32, stride=BYTES or addresses=FILE."`
	Swizzle bool   `default:"true" negatable:"" help:"Show the layout's swizzled addresses; the cost is given both ways."`
	Access  int    `default:"0" help:"Which access of the layout's register tile."`
	Format  string `default:"table" help:"table, json or csv (one row a lane)."`
}

func (c *ldsAnalyzeCmd) Run(w io.Writer) error {
	return sim.LDSAnalyze(w, sim.LDSOptions{Op: c.Op, Arch: c.Arch, Layout: c.Layout, Swizzle: c.Swizzle, Access: c.Access}, c.Format)
}

type listCmd struct {
	What   string `arg:"" optional:"" help:"kernels lists every kernel form with its options, registers, LDS and occupancy."`
	Format string `default:"table" help:"table, json or csv."`
}

func (c *listCmd) Run(w io.Writer) error {
	switch c.What {
	case "":
		return sim.ListAll(w, c.Format)
	case "kernels":
		return sim.ListKernels(w, c.Format)
	}
	return &sim.UsageError{Err: fmt.Errorf("unknown list %q: kernels, or nothing for everything that can be named", c.What)}
}

type versionCmd struct{}

func (versionCmd) Run(w io.Writer) error {
	_, err := fmt.Fprintf(w, "whisker %s\n", sim.Version)
	return err
}
