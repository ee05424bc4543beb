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

type listCmd struct {
	Format string `default:"table" help:"table, json or csv."`
}

func (c *listCmd) Run(w io.Writer) error { return sim.ListAll(w, c.Format) }

type versionCmd struct{}

func (versionCmd) Run(w io.Writer) error {
	_, err := fmt.Fprintf(w, "whisker %s\n", sim.Version)
	return err
}
