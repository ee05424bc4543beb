package sim

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/whisker-sim/whisker/report"
)

// ReproduceOptions is how a published table is simulated.
type ReproduceOptions struct {
	Table   string // one of ReproduceTables
	Quick   bool   // a sampled form that ends in two minutes
	Rounds  int    // rounds of workgroups that are simulated of each row; 0: all
	Machine string // machine file; the table's own machine unless given
	Set     []string
	Threads int
	Out     string // folder for the CSV file and the pictures; "" writes none
	// Row names the rows to run; all without any.
	Row []string
	// Variant is the form of table4's kernel, v1 or v2; "" is v1.
	Variant string
	// Log, when set, takes a line when a row begins and ends.
	Log io.Writer
	// Progress, when set, is told of each row what RunOptions.Progress is, one call at
	// a time, and at its end that all is done. Rows run side by side.
	Progress func(row string, done, total, cycle int64)
}

// say writes a line to the log.
func (o *ReproduceOptions) say(format string, args ...any) {
	if o.Log != nil {
		fmt.Fprintf(o.Log, format+"\n", args...)
	}
}

// ended tells the progress that a row, of which only a part may have been simulated,
// has ended.
func (o *ReproduceOptions) ended(row string) {
	if o.Progress != nil {
		o.Progress(row, 1, 1, 0)
	}
}

// ReproduceRow is one published value beside the simulated one.
type ReproduceRow struct {
	Table  string `json:"table"`
	Row    string `json:"row"`
	Metric string `json:"metric"`
	// Paper is what was published; nil where a what-if has no published value.
	Paper *float64 `json:"paper"`
	// Simulated is nil for a reference: another vendor's machine, or a kernel
	// without a public schedule.
	Simulated *float64 `json:"simulated"`
	// RelativeError is simulated / paper - 1.
	RelativeError *float64 `json:"relative_error"`
	// Kind is calibrated (the value, or one like it, chose a constant),
	// predicted, reference, derived (arithmetic on other cells) or open (no
	// single cause is known for the published value).
	Kind string `json:"kind"`
	Unit string `json:"unit,omitempty"`
	Note string `json:"note,omitempty"`
	// What the simulation says beside the value, where there is one.
	Cycles            int64   `json:"cycles,omitempty"`
	ClockMHz          float64 `json:"clock_mhz,omitempty"`
	MatrixUtilization float64 `json:"matrix_utilization,omitempty"`
	Limiter           string  `json:"limiter,omitempty"`
	// Why says from the run's own accounting where its time went.
	Why string `json:"why,omitempty"`
	// Sampled is true when not every workgroup was simulated; SampleError is then
	// the value over that of a fuller run, less 1, where one is known, and SampleOf
	// says what that run simulated.
	Sampled     bool     `json:"sampled,omitempty"`
	SampleError *float64 `json:"sample_error,omitempty"`
	SampleOf    string   `json:"sample_of,omitempty"`
}

// The kinds of a ReproduceRow.
const (
	KindCalibrated = "calibrated"
	KindPredicted  = "predicted"
	KindReference  = "reference"
	KindDerived    = "derived"
	KindOpen       = "open"
)

// value is an optional number of a row.
func value(v float64) *float64 { return &v }

// compare fills the relative error.
func (r *ReproduceRow) compare() {
	if r.Paper != nil && r.Simulated != nil && *r.Paper != 0 {
		r.RelativeError = value(*r.Simulated/(*r.Paper) - 1)
	}
}

// Reproduction is a table with what belongs to it.
type Reproduction struct {
	Rows []ReproduceRow
	// Text follows the table: findings, spreads, what a reader must know.
	Text []string
	// Files are written to the output folder by name.
	Files map[string][]byte
}

// reproducer simulates a table.
type reproducer struct {
	name, doc string
	run       func(ReproduceOptions) (*Reproduction, error)
}

// reproducers are the published tables that can be simulated.
var reproducers = []reproducer{
	{"table1", "HipKittens Table 1: attention backward, pinned registers against a compiler's", rowsOf(table1)},
	{"table2", "HipKittens Table 2: GEMM with and without producer waves", rowsOf(table2)},
	{"table3", "HipKittens Table 3: 8-wave against 4-wave kernels", rowsOf(table3)},
	{"table4", "HipKittens Table 4: block orders of a BF16 GEMM, by L2, LLC and throughput", reproduceTable4},
	{"table5", "HipKittens Table 5: banks and phases of LDS instructions, found by their solvers", reproduceTable5},
	{"kernels", "other published figures of HipKittens' kernels: GEMM, attention, layernorm, rotary", rowsOf(kernelTargets)},
}

// rowsOf is a reproducer of a table whose rows are runs.
func rowsOf(rows func() ([]tableRow, error)) func(ReproduceOptions) (*Reproduction, error) {
	return func(o ReproduceOptions) (*Reproduction, error) {
		all, err := rows()
		if err != nil {
			return nil, err
		}
		return reproduceRows(o, all)
	}
}

// ReproduceTables are the names of the tables.
func ReproduceTables() []string {
	var names []string
	for _, r := range reproducers {
		names = append(names, r.name)
	}
	return names
}

// Reproduce simulates a published table and writes it, paper beside simulated.
func Reproduce(w io.Writer, o ReproduceOptions, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	if err := oneOf("table", o.Table, ReproduceTables()); err != nil {
		return err
	}
	if o.Threads < 1 || o.Threads > maxThreads {
		return usagef("--threads is %d; it must be from 1 to %d", o.Threads, maxThreads)
	}
	if len(o.Row) > 0 && o.Table == "table5" {
		return usagef("--row chooses runs, and table5 is one program")
	}
	if o.Rounds > 0 && o.Table == "table5" {
		return usagef("--rounds samples workgroups, and table5 is one program")
	}
	if o.Rounds < 0 {
		return usagef("--rounds is %d; it must be at least 1", o.Rounds)
	}
	if o.Rounds > 0 && o.Quick {
		return usagef("--rounds and --quick are two ways to sample: give one of them")
	}
	if o.Variant != "" && o.Table != "table4" {
		return usagef("--variant chooses the form of table4's kernel, not of %s", o.Table)
	}
	if o.Variant == "" {
		o.Variant = table4Form
	}
	if err := oneOf("--variant", o.Variant, []string{"v1", "v2"}); err != nil {
		return err
	}
	if o.Out != "" { // before minutes of work, not after
		if err := os.MkdirAll(o.Out, 0o755); err != nil {
			return &UsageError{fmt.Errorf("--out: %w", err)}
		}
	}
	var p *Reproduction
	for _, r := range reproducers {
		if r.name == o.Table {
			var err error
			if p, err = r.run(o); err != nil {
				return err
			}
		}
	}
	for i := range p.Rows {
		p.Rows[i].compare()
	}
	if err := p.writeFiles(o); err != nil {
		return err
	}
	t := p.table()
	if format == "csv" {
		t = p.csv()
	}
	if err := writeRows(w, format, t, p.Rows); err != nil || format != "table" {
		return err
	}
	for _, r := range p.Rows {
		if r.Why != "" {
			p.Text = append(p.Text, r.Row+": "+r.Why)
		}
	}
	for _, line := range p.Text {
		fmt.Fprintf(w, "\n%s\n", line)
	}
	return nil
}

// table is the rows as text.
func (p *Reproduction) table() *report.Table {
	t := &report.Table{Header: []string{"table", "row", "metric", "paper", "simulated", "error", "unit", "kind", "cycles", "clock MHz", "matrix", "limiter", "note"},
		Left: []int{1, 2, 6, 7, 11, 12}}
	for _, r := range p.Rows {
		t.Add(r.Table, r.Row, r.Metric, number(r.Paper), number(r.Simulated), signed(r.RelativeError), r.Unit, r.Kind,
			unless(r.Cycles == 0, report.Thousands(r.Cycles)), unless(r.ClockMHz == 0, fmt.Sprintf("%.0f", r.ClockMHz)),
			unless(r.MatrixUtilization == 0, percent(r.MatrixUtilization)), r.Limiter, r.Note)
	}
	return t
}

// csv is the rows with their numbers in full, under the JSON keys.
func (p *Reproduction) csv() *report.Table {
	t := &report.Table{Header: []string{"table", "row", "metric", "paper", "simulated", "relative_error", "kind", "unit", "cycles", "clock_mhz",
		"matrix_utilization", "limiter", "note"}}
	full := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', -1, 64)
	}
	for _, r := range p.Rows {
		t.Add(r.Table, r.Row, r.Metric, full(r.Paper), full(r.Simulated), full(r.RelativeError), r.Kind, r.Unit,
			unless(r.Cycles == 0, strconv.FormatInt(r.Cycles, 10)), full(&r.ClockMHz), full(&r.MatrixUtilization), r.Limiter, r.Note)
	}
	return t
}

func number(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case math.Abs(*v) >= 200:
		return fmt.Sprintf("%.0f", *v)
	}
	return fmt.Sprintf("%.1f", *v)
}

func signed(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%+.1f %%", 100**v)
}

func unless(missing bool, s string) string {
	if missing {
		return "-"
	}
	return s
}

// writeFiles writes the table as CSV and whatever else it has.
func (p *Reproduction) writeFiles(o ReproduceOptions) error {
	if o.Out == "" {
		return nil
	}
	var csv bytes.Buffer
	if err := writeRows(&csv, "csv", p.csv(), nil); err != nil {
		return err
	}
	files := map[string][]byte{o.Table + ".csv": csv.Bytes()}
	for name, data := range p.Files {
		files[name] = data
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := writeWhole(filepath.Join(o.Out, name), files[name]); err != nil {
			return err
		}
	}
	return nil
}
