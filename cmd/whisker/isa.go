package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/whisker-sim/whisker/sim"
)

type isaCmd struct {
	Disasm   isaDisasmCmd   `cmd:"" help:"Print a code object's instructions as llvm-objdump does." example:"whisker isa disasm kernel.co --kernel gemm"`
	Asm      isaAsmCmd      `cmd:"" help:"Assemble a source file to a code object." example:"whisker isa asm kernel.s -o kernel.co"`
	Coverage isaCoverageCmd `cmd:"" help:"List opcodes that decode but have no semantics or no timing class." example:"whisker isa coverage"`
}

// hexFlags turn single instructions over, a line each.
type hexFlags struct {
	CPU string `name:"cpu" placeholder:"CPU" help:"Processor: gfx942 or gfx950."`
	Hex string `placeholder:"FILE" help:"Turn single instructions over, one a line; - is standard input."`
}

// open gives the lines to read.
func (f *hexFlags) open() (io.ReadCloser, error) {
	if f.Hex == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	r, err := os.Open(f.Hex)
	if err != nil {
		return nil, &sim.UsageError{Err: err}
	}
	return r, nil
}

// exclusive refuses a file together with --hex, and neither; and with --hex the
// flag ofFile, empty when it is not given, which is for files.
func (f *hexFlags) exclusive(file, ofFile string) error {
	switch {
	case file != "" && f.Hex != "":
		return &sim.UsageError{Err: errors.New("give a file or --hex, not both")}
	case f.Hex != "" && ofFile != "":
		return &sim.UsageError{Err: fmt.Errorf("%s has no meaning with --hex, which writes a line for each line that it reads", ofFile)}
	case f.Hex != "" && f.CPU == "":
		return &sim.UsageError{Err: errors.New("--hex needs --cpu: choose gfx942 or gfx950")}
	case file == "" && f.Hex == "":
		return &sim.UsageError{Err: errors.New("give a file, or --hex - with --cpu to read single instructions")}
	}
	return nil
}

type isaDisasmCmd struct {
	File    string `arg:"" optional:"" help:"Code object (.co, .hsaco)."`
	Kernel  string `placeholder:"NAME" help:"Print this kernel alone."`
	RawText bool   `help:"Print instruction text alone, without addresses and encodings."`
	hexFlags
}

func (c *isaDisasmCmd) Run(w io.Writer) error {
	ofFile := ""
	switch {
	case c.Kernel != "":
		ofFile = "--kernel"
	case c.RawText:
		ofFile = "--raw-text"
	}
	if err := c.exclusive(c.File, ofFile); err != nil {
		return err
	}
	if c.File != "" {
		return sim.ISADisasm(w, c.File, c.Kernel, c.CPU, c.RawText)
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	defer r.Close()
	return sim.ISADisasmHex(w, r, c.CPU)
}

type isaAsmCmd struct {
	File   string `arg:"" optional:"" help:"Assembly source."`
	Output string `short:"o" placeholder:"FILE" help:"Code object to write; the source's name with .co unless given."`
	hexFlags
}

func (c *isaAsmCmd) Run(w io.Writer) error {
	ofFile := ""
	if c.Output != "" {
		ofFile = "--output"
	}
	if err := c.exclusive(c.File, ofFile); err != nil {
		return err
	}
	if c.File != "" {
		return sim.ISAAsm(c.File, c.Output, c.CPU)
	}
	r, err := c.open()
	if err != nil {
		return err
	}
	defer r.Close()
	return sim.ISAAsmHex(w, r, c.CPU)
}

type isaCoverageCmd struct {
	Format string `default:"table" help:"table, json or csv."`
}

func (c *isaCoverageCmd) Run(w io.Writer) error { return sim.ISACoverage(w, c.Format) }
