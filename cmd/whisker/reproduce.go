package main

import (
	"fmt"
	"io"
	"os"

	"github.com/whisker-sim/whisker/sim"
	"golang.org/x/term"
)

type reproduceCmd struct {
	Table   string   `arg:"" help:"Published table: ${tables}."`
	Quick   bool     `help:"Sample: end within two minutes, with the sample's own error printed."`
	Rounds  int      `placeholder:"N" help:"Simulate only the first N rounds of workgroups of each row and extrapolate."`
	Row     []string `sep:"none" placeholder:"NAME" help:"Run only this row, such as \"9216 row-major\" of table4; may be repeated. Finished rows are kept in --out."`
	Variant string   `placeholder:"NAME" help:"table4: form of the 192x256 kernel, v1 (the default: it waits for all loads in each K step) or v2."`
	Machine string   `placeholder:"FILE" help:"Machine or machine file; the table's own unless given."`
	Set     []string `sep:"none" placeholder:"KEY=VALUE" help:"Override a value of the machine; may be repeated."`
	Threads int      `default:"${cpus}" help:"Threads that simulate; the result is the same on any number."`
	Out     string   `default:"out" placeholder:"DIR" help:"Folder for the CSV file, the pictures and the rows that are finished."`
	Format  string   `default:"table" help:"table, json (a list of rows) or csv."`
}

func (c *reproduceCmd) Run(w io.Writer) error {
	o := sim.ReproduceOptions{Table: c.Table, Quick: c.Quick, Rounds: c.Rounds, Machine: c.Machine, Set: c.Set, Threads: c.Threads, Out: c.Out, Row: c.Row, Variant: c.Variant, Log: os.Stderr}
	stop := func() {}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		o.Progress, stop = rowProgress(os.Stderr)
	} else {
		o.Progress = rowTenths(os.Stderr)
	}
	defer func() { stop() }()
	return sim.Reproduce(w, o, c.Format)
}

// rowTenths writes a line for each tenth of a row, where no bar can be drawn.
func rowTenths(w io.Writer) func(row string, done, total, cycle int64) {
	var now string
	var next int64
	return func(row string, done, total, cycle int64) {
		tenths := 10 * done / max(total, 1)
		if row != now || tenths < next-1 { // another row, or the same at another clock
			now, next = row, 1
		}
		if tenths >= next && tenths < 10 {
			fmt.Fprintf(w, "%s: %d %%, cycle %d\n", row, 10*tenths, cycle)
			next = tenths + 1
		}
	}
}

// rowProgress is progress for a run of many rows: each has its own bar.
func rowProgress(w io.Writer) (update func(row string, done, total, cycle int64), stop func()) {
	var now string
	inner, end := func(done, total, cycle int64) {}, func() {}
	update = func(row string, done, total, cycle int64) {
		if row != now {
			end()
			io.WriteString(w, row+"\n")
			inner, end = progress(w)
			now = row
		}
		inner(done, total, cycle)
	}
	return update, func() { end() }
}
