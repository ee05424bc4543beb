package sim

import (
	"errors"
	"math"
	"os"
	"testing"
)

// Rows are chosen by their labels, in the table's order; an unknown one is the
// user's mistake.
func TestTable4Chosen(t *testing.T) {
	all, err := table4Chosen(nil)
	if err != nil || len(all) != len(table4Rows)+len(table4Variants) {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	some, err := table4Chosen([]string{"14592 XCD W8 C64", "9216 row-major"})
	if err != nil || len(some) != 2 || some[0].label != "9216 row-major" || some[1].label != "14592 XCD W8 C64" {
		t.Fatalf("%v, %v", some, err)
	}
	var usage *UsageError
	if _, err := table4Chosen([]string{"9216"}); !errors.As(err, &usage) {
		t.Errorf("row 9216: %v", err)
	}
}

// A finished row is kept, and read under the same machine and options only.
func TestTable4Kept(t *testing.T) {
	row := &table4Rows[1]
	o := ReproduceOptions{Machine: "mi355x", Out: t.TempDir()}
	c := &rowCache{out: o.Out, table: "table4"}
	key, err := row.key(o)
	if err != nil {
		t.Fatal(err)
	}
	if readRow[table4Result](c, row.label, key) != nil {
		t.Fatal("a result before any was kept")
	}
	if err := writeRow(c, row.label, key, table4Result{L2: 0.79, TFLOPS: 991}); err != nil {
		t.Fatal(err)
	}
	if r := readRow[table4Result](c, row.label, key); r == nil || r.L2 != 0.79 || r.TFLOPS != 991 {
		t.Fatalf("read back %+v", r)
	}
	for name, other := range map[string]ReproduceOptions{
		"quick": {Machine: "mi355x", Quick: true}, "rounds": {Machine: "mi355x", Rounds: 2},
		"machine": {Machine: "mi350x"}, "set": {Machine: "mi355x", Set: []string{"l2.ways=8"}},
	} {
		if k, err := row.key(other); err != nil || k == key {
			t.Errorf("%s: the same key, %v", name, err)
		}
	}
	if err := os.WriteFile(c.path(row.label), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if readRow[table4Result](c, row.label, key) != nil {
		t.Error("a damaged file is a result")
	}
}

// The LLC's column is of the reads that the L2s miss, in the whole form and in the
// quick one: the stores of C are in its requests and miss, and are not in the table's
// rate. The L2's is of all requests.
func TestTable4Rates(t *testing.T) {
	for _, c := range []struct {
		quick bool
		m     int
	}{{false, 384}, {true, 12 * 192}} {
		o := RunOptions{Kernel: "gemm", Machine: "mi355x", Set: []string{"chip.xcds=2", "chip.iods=1", "chip.cus_per_xcd=4"}, M: c.m, N: 512, K: 256, Tile: table4Tile, DType: "bf16",
			Mode: "timing", Threads: 1, Seed: 1, ColdLLC: true}
		if c.quick {
			o.SampleRounds = 2
		}
		run, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		llc := run.LLC
		if sampled := run.Sample != nil; sampled != c.quick || !c.quick && llc.Writes == 0 || llc.ReadHits == 0 || llc.ReadHits != llc.Hits+llc.HitsInFlight || run.L2.HitRate == run.L2.ReadHitRate {
			t.Fatalf("quick %v, sampled %v: the LLC has %d reads, of them %d hits, and %d writes, %d hits in all; the L2's rates are %g and %g; the test needs stores that miss and rates that differ",
				c.quick, sampled, llc.Reads, llc.ReadHits, llc.Writes, llc.Hits+llc.HitsInFlight, run.L2.HitRate, run.L2.ReadHitRate)
		}
		res := table4Rows[0].resultOf(ReproduceOptions{Quick: c.quick}, run)
		if want := 1 - float64(llc.Fills)/float64(llc.Reads); math.Abs(res.LLC-want) > 0.02 || !c.quick && res.LLC <= llc.HitRate {
			t.Errorf("quick %v: LLC %g; %d of %d reads were filled from memory, which makes %g", c.quick, res.LLC, llc.Fills, llc.Reads, want)
		}
		if res.L2 != run.L2.HitRate {
			t.Errorf("quick %v: L2 %g, want %g", c.quick, res.L2, run.L2.HitRate)
		}
	}
}

// The quick form has all of K at 9216 and half in the larger rows, in an even number of K steps.
func TestTable4QuickK(t *testing.T) {
	for size, want := range map[int]int{9216: 9216, 14592: 7296} {
		r := table4Row{size: size}
		if got := r.quickK(); got != want || got%128 != 0 {
			t.Errorf("%d: K %d, want %d", size, got, want)
		}
	}
}
