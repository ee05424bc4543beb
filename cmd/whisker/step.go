package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/sim/step"
)

type stepCmd struct {
	Kernel string `arg:"" optional:"" default:"gemm" help:"Kernel to step through."`
	kernelFlags
	Arch    string   `default:"teaching" group:"Machine" placeholder:"NAME" help:"Built-in machine; teaching has one CU."`
	Machine string   `group:"Machine" placeholder:"FILE" help:"Machine file; replaces --arch."`
	Set     []string `sep:"none" group:"Machine" placeholder:"KEY=VALUE" help:"Override a value of the machine; may be repeated."`

	XCD    int    `name:"xcd" default:"0" group:"Step" help:"XCD of the CU to watch."`
	CU     int    `name:"cu" default:"0" group:"Step" help:"CU to watch."`
	Mode   string `default:"timing" group:"Step" help:"timing or full."`
	Seed   uint64 `default:"1" group:"Step" help:"Seed of the input values."`
	Script string `group:"Step" placeholder:"COMMANDS" help:"Carry out commands instead of asking, such as 'issue; barrier 2; show'; - reads them from standard input."`
}

func (c *stepCmd) Run(w io.Writer) error {
	options, err := c.kernelFlags.options(c.Kernel)
	if err != nil {
		return err
	}
	if c.Script == "" && (!term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd()))) {
		return &sim.UsageError{Err: errors.New("stepping needs a terminal; without one, say what to do with --script 'issue; show'")}
	}
	m, err := step.Start(step.Options{XCD: c.XCD, CU: c.CU, RunOptions: sim.RunOptions{
		Kernel: c.Kernel, Arch: c.Arch, Machine: c.Machine, Set: c.Set, Options: options, Mode: c.Mode, Threads: 1, Seed: c.Seed,
	}})
	if err != nil {
		return err
	}
	defer m.Close()
	if c.Script == "" {
		return step.TUI(m, os.Stdin, os.Stdout)
	}
	text := c.Script
	if text == "-" {
		b, err := io.ReadAll(os.Stdin)
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		text = string(b)
	}
	return m.Script(w, text)
}
