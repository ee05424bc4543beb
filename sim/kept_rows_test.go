package sim

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"strings"
	"testing"
)

// tiny is a row that runs in a moment.
func tiny() []tableRow {
	return []tableRow{
		{table: "9", label: "small", paper: 1, metric: "throughput", unit: "TFLOPS", kind: KindPredicted, arch: "teaching", kernel: "gemm", options: kv("m", "256", "n", "256", "k", "256")},
		{table: "9", label: "other/machine", paper: 2, metric: "throughput", unit: "TFLOPS", kind: KindReference, note: "elsewhere"},
	}
}

// A finished row is not simulated again by the same program, and the same rows
// come out.
func TestRowsAreKept(t *testing.T) {
	var log bytes.Buffer
	o := ReproduceOptions{Table: "table9", Threads: 1, Out: t.TempDir(), Log: &log}
	first, err := reproduceRows(o, tiny())
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Rows) != 2 || first.Rows[0].Simulated == nil || *first.Rows[0].Simulated <= 0 || first.Rows[1].Simulated != nil || len(first.Text) != 0 {
		t.Fatalf("%+v", first)
	}
	if strings.Contains(log.String(), "kept") {
		t.Fatalf("kept before any was: %s", &log)
	}
	log.Reset()
	second, err := reproduceRows(o, tiny())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "small: kept") || len(second.Text) != 1 {
		t.Errorf("not kept: %s, %q", &log, second.Text)
	}
	if a, b := first.Rows[0], second.Rows[0]; *a.Simulated != *b.Simulated || a.Cycles != b.Cycles || a.Why != b.Why || *a.Paper != *b.Paper {
		t.Errorf("first %+v, kept %+v", a, b)
	}
	c := &rowCache{out: o.Out, table: o.Table}
	row := &tiny()[0]
	key, err := rowKey(row.arch, o.Machine, o.Set, row.label, row.options, o.Quick, o.Rounds)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeRow(c, row.label, key, ReproduceRow{Row: row.label}); err != nil {
		t.Fatal(err)
	}
	if p, err := reproduceRows(o, tiny()); err != nil || p.Rows[0].Simulated == nil {
		t.Errorf("a kept row without a value is a result: %v", err)
	}
	log.Reset()
	o.Set = []string{"lds.latency_cycles=90"}
	if _, err := reproduceRows(o, tiny()); err != nil || strings.Contains(log.String(), "kept") {
		t.Errorf("kept from another machine: %v, %s", err, &log)
	}
}

func TestRowsChosen(t *testing.T) {
	o := ReproduceOptions{Table: "table9", Threads: 1, Row: []string{"other/machine"}}
	p, err := reproduceRows(o, tiny())
	if err != nil || len(p.Rows) != 1 || p.Rows[0].Note != "elsewhere" {
		t.Errorf("%v, %+v", err, p)
	}
	o.Row = []string{"none"}
	var usage *UsageError
	if _, err := reproduceRows(o, tiny()); !errors.As(err, &usage) || !strings.Contains(err.Error(), "other/machine") {
		t.Errorf("%v", err)
	}
}

// Every full run that a sample is held against is of a row that there is.
func TestFullRuns(t *testing.T) {
	known, err := fullRuns()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("tables/quick.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(known) != len(lines)-1 {
		t.Errorf("%d lines, %d rows: one is there twice", len(lines)-1, len(known))
	}
	for name, full := range known {
		if full.of != fullWhole && full.of != fullRound {
			t.Errorf("%s: %q is no kind of full run", name, full.of)
		}
	}
	for _, rows := range []func() ([]tableRow, error){table1, table2, table3, kernelTargets} {
		all, err := rows()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			delete(known, r.table+"/"+r.label)
		}
	}
	for _, r := range table4Rows {
		for _, cell := range r.rows(&table4Result{}) {
			delete(known, cell.fullKey())
		}
	}
	for name := range known {
		t.Errorf("%s: no such row", name)
	}
}

// The sample's error is told apart by what it was held against.
func TestQuickText(t *testing.T) {
	text := quickText([]ReproduceRow{{Row: "a", SampleError: value(0.021), SampleOf: fullWhole}, {Row: "b", SampleError: value(-0.03), SampleOf: fullRound}, {Row: "c"}})
	for _, want := range []string{"against the whole run: a +2.1 %", "against the first round of the whole chip: b -3.0 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

// A what-if is not held against the full run of the table's own machine.
func TestSampleErrorsOfOwnMachine(t *testing.T) {
	for _, c := range []struct {
		o    ReproduceOptions
		r    ReproduceRow
		want bool
	}{
		{ReproduceOptions{Table: "table2", Quick: true}, ReproduceRow{Table: "2", Row: "0P/8C 256x256", Sampled: true, Simulated: value(1600)}, true},
		{ReproduceOptions{Table: "table2"}, ReproduceRow{Table: "2", Row: "0P/8C 256x256", Sampled: true, Simulated: value(1600)}, false},
		{ReproduceOptions{Table: "table2", Quick: true, Set: []string{"l2.ways=8"}}, ReproduceRow{Table: "2", Row: "0P/8C 256x256", Sampled: true, Simulated: value(1600)}, false},
		{ReproduceOptions{Table: "table2", Quick: true, Machine: "mi350x"}, ReproduceRow{Table: "2", Row: "0P/8C 256x256", Sampled: true, Simulated: value(1600)}, false},
		{ReproduceOptions{Table: "table4", Quick: true, Machine: "mi355x", Variant: "v1"}, ReproduceRow{Table: "4", Row: "9216 row-major", Metric: "LLC hit", Sampled: true, Simulated: value(95)}, true},
		{ReproduceOptions{Table: "table4", Quick: true, Machine: "mi355x", Variant: "v2"}, ReproduceRow{Table: "4", Row: "9216 row-major", Metric: "LLC hit", Sampled: true, Simulated: value(95)}, false},
	} {
		rows := []ReproduceRow{c.r}
		if err := c.o.sampleErrors(rows); err != nil {
			t.Fatal(err)
		}
		if got := rows[0].SampleError != nil; got != c.want {
			t.Errorf("%+v, %s %s: a sample error %v, want %v", c.o, c.r.Row, c.r.Metric, got, c.want)
		}
	}
}
