package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
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
		o.Progress, o.Log, stop = rowProgress(os.Stderr)
	} else {
		o.Progress = rowTenths(os.Stderr)
	}
	defer func() { stop() }()
	return sim.Reproduce(w, o, c.Format)
}

// rowTenths writes a line for each tenth of a row, where no bar can be drawn. Rows
// may run side by side.
func rowTenths(w io.Writer) func(row string, done, total, cycle int64) {
	next := map[string]int64{} // tenth by row
	return func(row string, done, total, cycle int64) {
		tenths := 10 * done / max(total, 1)
		if tenths < next[row]-1 { // the row again, at another clock
			next[row] = 0
		}
		if tenths >= max(1, next[row]) && tenths < 10 {
			fmt.Fprintf(w, "%s: %d %%, cycle %d\n", row, 10*tenths, cycle)
			next[row] = tenths + 1
		}
	}
}

// rowProgress is one bar for the rows that run side by side. It names the first of
// them, and gives way to what is logged.
func rowProgress(w io.Writer) (update func(row string, done, total, cycle int64), log io.Writer, stop func()) {
	const whole = 1000
	bar := progressbar.NewOptions64(whole, progressbar.OptionSetWriter(w), progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionSetPredictTime(false), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(30))
	type state struct {
		name string
		part int64 // of whole
	}
	var rows []state
	update = func(row string, done, total, cycle int64) {
		i := slices.IndexFunc(rows, func(s state) bool { return s.name == row })
		if i < 0 {
			i = len(rows)
			rows = append(rows, state{name: row})
		}
		rows[i].part = whole * done / max(total, 1)
		if rows[i].part >= whole { // it may begin again, at another clock
			rows = slices.Delete(rows, i, i+1)
		}
		if len(rows) == 0 {
			_ = bar.Clear()
			return
		}
		sum := int64(0)
		for _, s := range rows {
			sum += s.part
		}
		what := rows[0].name
		if len(rows) > 1 {
			what += fmt.Sprintf(" and %d more", len(rows)-1)
		}
		bar.Describe(what)
		_ = bar.Set64(min(whole-1, sum/int64(len(rows)))) // a bar that cannot be drawn must not end the run
	}
	clear := func() { _ = bar.Clear() }
	return update, clearingWriter{clear, w}, clear
}

// clearingWriter takes the bar away before each line.
type clearingWriter struct {
	clear func()
	w     io.Writer
}

func (c clearingWriter) Write(p []byte) (int, error) {
	c.clear()
	return c.w.Write(p)
}
