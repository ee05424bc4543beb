package sim

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/report"
)

// TestTableRows: every published row of Tables 1 to 3 has a run or is a
// reference, and every run builds on its machine.
func TestTableRows(t *testing.T) {
	paper, err := readPublished("paper.csv")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]float64{}
	for _, tab := range []struct {
		name string
		rows func() ([]tableRow, error)
	}{{"1", table1}, {"2", table2}, {"3", table3}, {"kernels", kernelTargets}} {
		rows, err := tab.rows()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			values[tab.name] = append(values[tab.name], row.paper)
			if row.kind == KindReference {
				continue
			}
			m, err := LoadMachine(row.arch, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			o := RunOptions{Kernel: row.kernel, Options: row.options, Mode: "timing", Threads: 1}
			if _, err := build(&o, m.Machine()); err != nil {
				t.Errorf("table %s, %s: %v", tab.name, row.label, err)
			}
		}
	}
	for _, p := range paper {
		if p.table < "4" && !slices.Contains(values[p.table], p.value) {
			t.Errorf("table %s, %s: %g is missing", p.table, p.row, p.value)
		}
	}
}

var wholeMachine = flag.Bool("whole", false, "also run tests that simulate a whole machine (minutes)")

// TestQuickStandsForTheWhole: a sampled round on one XCD gives about the time
// that the whole machine takes.
func TestQuickStandsForTheWhole(t *testing.T) {
	if !*wholeMachine {
		t.Skip("a whole machine: runs with -whole")
	}
	row := tableRow{label: "gemm", arch: "mi355x", kernel: "gemm", options: kv("m", "4096", "n", "4096", "k", "1024")}
	whole, err := row.run(ReproduceOptions{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	quick, err := row.run(ReproduceOptions{Threads: 2, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if quick.Sample == nil || quick.Sample.Workgroups >= whole.Launch.Workgroups {
		t.Fatalf("sample %+v", quick.Sample)
	}
	if r := quick.TimeUS / whole.TimeUS; r < 0.7 || r > 1.3 {
		t.Errorf("quick %.1f us, whole %.1f us", quick.TimeUS, whole.TimeUS)
	}
}

// TestWhy names the busiest resource, or what waves wait for.
func TestWhy(t *testing.T) {
	r := &report.Run{MatrixUtilization: 0.9, WaveCycles: 100, Stalls: report.NewCounts(report.StallReasons)}
	if err := r.Stalls.Add("barrier", 40); err != nil {
		t.Fatal(err)
	}
	if got := Limiter(r); got != "matrix pipe" {
		t.Errorf("limiter %q", got)
	}
	r.MatrixUtilization = 0.5
	if got := Limiter(r); got != "at barriers" {
		t.Errorf("limiter %q", got)
	}
	if w := Why(r); !strings.Contains(w, "50.0 %") || !strings.Contains(w, "40.0 % at barriers") {
		t.Errorf("why: %s", w)
	}
}

// TestPowerLaw: more work at the same time lowers the clock, none leaves the
// peak, and the budget is met exactly.
func TestPowerLaw(t *testing.T) {
	m, err := LoadMachine("mi355x", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	p, peak := &m.Machine().Power, m.Machine().Clock.PeakMHz
	idle := energy{cycles: 1e6, mhz: 2400}
	if got := idle.clock(p, peak); got != float64(peak) {
		t.Errorf("no work: %g MHz", got)
	}
	last := float64(peak)
	for _, flops := range []float64{1e12, 2e12, 4e12} {
		e := energy{matrix: flops * p.MatrixPJPerFLOP16Bit, cu: 5e11, cycles: 1.2e6, mhz: 2400}
		f := e.clock(p, peak)
		if f >= last {
			t.Errorf("%g FLOP: %g MHz, no less than %g", flops, f, last)
		}
		if e.watts(p, peak, f) > p.BoardW || e.watts(p, peak, f+1) <= p.BoardW {
			t.Errorf("%g FLOP: %g W at %g MHz and %g a MHz above, limit %g", flops, e.watts(p, peak, f), f, e.watts(p, peak, f+1), p.BoardW)
		}
		last = f
	}
	if matrixLeaf("fp8") != "power.matrix_pj_per_flop_8bit" || matrixPJ(p, "fp8") != p.MatrixPJPerFLOP8Bit {
		t.Error("fp8's energy")
	}
}
