package sim

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
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
	row := tableRow{label: "gemm", arch: "mi355x", kernel: "gemm", options: kv("m", "8192", "n", "4096", "k", "1024")}
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
	if r := quick.TimeUS / whole.TimeUS; r < 0.9 || r > 1.1 {
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
}

// TestMatrixEnergies: the leaf that gives the clock its class is the one that prices the
// work, and the derived energies of the MI355X are what their sources say: multipliers, whose
// energy is as the square of the significand, have the share that the calibrated 8-bit energy leaves.
func TestMatrixEnergies(t *testing.T) {
	m, err := LoadMachine("mi355x", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &m.Machine().Power
	for _, dtype := range []string{"fp64", "fp32", "xf32", "bf16", "fp16", "fp8", "int8", "fp6", "fp4"} {
		found := false
		for _, leaf := range m.Leaves() {
			if leaf.Path == matrixLeaf(dtype) {
				found = leaf.Value == fmt.Sprint(matrixPJ(p, dtype))
			}
		}
		if !found {
			t.Errorf("%s: %s is not the %g pJ that its work is priced with", dtype, matrixLeaf(dtype), matrixPJ(p, dtype))
		}
	}
	bf16 := matrixPJ(p, "bf16")
	share := 2 * (1 - 2*matrixPJ(p, "fp8")/bf16)
	for _, c := range []struct {
		dtype       string
		rate        float64 // FLOPs of an instruction over BF16's
		significand float64 // bits
	}{{"fp16", 1, 11}, {"fp8", 2, 4}, {"fp6", 4, 4}, {"fp4", 4, 2}} {
		want := bf16 * (1 - share + share*c.rate*c.significand*c.significand/64) / c.rate
		if got := matrixPJ(p, c.dtype); math.Abs(got-want) > 0.01*want {
			t.Errorf("%s: %g pJ a FLOP, the share of the multipliers gives %g", c.dtype, got, want)
		}
	}
}

// A sample's XCD has an eighth of LLC bandwidth and power, and of HBM where XCDs read lines of their own.
func TestOneXCD(t *testing.T) {
	r, err := LoadMachine("mi355x", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := r.Machine()
	for _, shared := range []bool{false, true} {
		set, n := oneXCD(whole, shared, 0)
		one, err := LoadMachine("mi355x", "", set)
		if err != nil {
			t.Fatal(err)
		}
		m := one.Machine()
		stacks, gbs := whole.HBM.Stacks/8, whole.HBM.GBs/8
		if shared {
			stacks, gbs = whole.HBM.Stacks, whole.HBM.GBs
		}
		if n != 8 || m.Chip.XCDs != 1 || m.LLC.GBs != whole.LLC.GBs/8 || m.LLC.Bytes != whole.LLC.Bytes || m.Power.BoardW != whole.Power.BoardW/8 ||
			m.Power.StaticW != whole.Power.StaticW/8 || m.HBM.Stacks != stacks || m.HBM.GBs != gbs ||
			m.Chip.IODs != 2 || m.Fabric.EastWestGBs != whole.Fabric.EastWestGBs/4 || m.Fabric.NorthSouthGBs != whole.Fabric.NorthSouthGBs/4 {
			t.Errorf("shared reads %v: %d parts, %+v, %+v, %+v", shared, n, m.LLC, m.HBM, m.Fabric)
		}
	}
	for _, c := range []struct{ row, block int }{{0, 4096}, {256, 256}, {192, 128}, {64, 128}, {4096, 4096}, {8192, 4096}} {
		set, _ := oneXCD(whole, true, c.row)
		one, err := LoadMachine("mi355x", "", set)
		if err != nil {
			t.Fatal(err)
		}
		if got := one.Machine().LLC.PrefetchBlockBytes; got != c.block {
			t.Errorf("heads of %d bytes: the LLC fetches ahead in blocks of %d, want %d", c.row, got, c.block)
		}
	}
	one := *whole
	one.Chip.XCDs = 1
	if set, n := oneXCD(&one, false, 0); n != 1 || set != nil {
		t.Errorf("a machine of one XCD: %d parts, %v", n, set)
	}
}

// Which kernels' XCDs read the same lines.
func TestSharedReads(t *testing.T) {
	for _, c := range []struct {
		kernel  string
		xcds    int
		options map[string]string
		want    bool
	}{
		{"gemm", 8, kv("m", "256", "n", "256", "k", "256"), true},
		{"attention", 8, kv("heads", "16", "seq", "256", "batch", "1"), false},
		{"attention", 8, kv("heads", "64", "kv-heads", "8", "seq", "256", "batch", "1"), false},
		{"attention", 8, kv("heads", "8", "kv-heads", "4", "seq", "256", "batch", "1"), true},
		{"attention-backward", 8, kv("heads", "8", "seq", "256", "batch", "1"), false},
		{"attention-backward", 8, kv("heads", "4", "seq", "256", "batch", "1"), true},
		{"attention-backward", 8, kv("heads", "8", "seq", "256", "batch", "1", "schedule", "pingpong8"), true},
		{"attention-backward", 8, kv("heads", "8", "seq", "256", "batch", "1", "registers", "compiler"), true},
		{"layernorm", 8, kv("seq", "256", "batch", "1"), false},
	} {
		job, err := workloads.Build(c.kernel, workloads.Request{CPU: isa.GFX950, XCDs: c.xcds, LDSBytes: 160 << 10, Registers: 512, Options: c.options})
		if err != nil {
			t.Fatalf("%s %v: %v", c.kernel, c.options, err)
		}
		if job.SharedReads != c.want {
			t.Errorf("%s %v: shared reads %v", c.kernel, c.options, job.SharedReads)
		}
	}
}

// An XCD's share of a batch counts for all XCDs; where shares are not equal there is none.
func TestShareOfBatch(t *testing.T) {
	row := tableRow{table: "x", label: "x", arch: "mi355x", kernel: "attention", options: kv("batch", "2", "heads", "1", "seq", "256", "causal", "true")}
	set := []string{"chip.xcds=2", "chip.iods=1", "chip.cus_per_xcd=4"}
	r, err := row.share(ReproduceOptions{Threads: 1, Set: set})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2. * 4 * 256 * 256 * 128 / 2; r.FLOPs != want || r.PeakShare <= 0 || r.PeakShare > 1 {
		t.Errorf("%g FLOPs, want %g; %g of the peak", r.FLOPs, want, r.PeakShare)
	}
	row.options["batch"] = "3"
	if r, err := row.share(ReproduceOptions{Threads: 1, Set: set}); r != nil || err != nil {
		t.Errorf("a batch of 3 on 2 XCDs: %v, %v", r, err)
	}
	row.options["batch"] = ""
	if _, err := row.share(ReproduceOptions{Threads: 1, Set: set}); err == nil {
		t.Error("no batch: no error")
	}
}

// A sample's rates and its peak are of all XCDs.
func TestSamplePeak(t *testing.T) {
	r, err := Run(RunOptions{Kernel: "gemm", Arch: "mi355x", Set: []string{"chip.xcds=2", "chip.iods=1", "chip.cus_per_xcd=4"}, Mode: "timing", Threads: 1, Seed: 1, oneXCD: true,
		Options: kv("m", "512", "n", "1024", "k", "256", "tile", "128x128")})
	if err != nil {
		t.Fatal(err)
	}
	peak := 2 * 4 * 4096 * r.ClockMHz / 1e6 // XCDs, CUs, FLOPs of a CU and cycle
	if r.Sample == nil || math.Abs(r.PeakTFLOPSAtClock/peak-1) > 0.01 || r.PeakShare <= 0 || r.PeakShare > 1 {
		t.Errorf("sample %v, peak %g of %g TFLOPS, share %g", r.Sample, r.PeakTFLOPSAtClock, peak, r.PeakShare)
	}
}
