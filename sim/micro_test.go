package sim

import (
	"flag"
	"math"
	"testing"
)

// Latency plateaus of the MI300X, in ns: L2 81 to 85 and HBM 341 to 353 (VF
// report), LLC 218 within the TLB's reach (C&C) and 256 to 262 beyond it (VF
// report). A scalar chase gives all four; at 128 MiB half of its hops hit in the
// TLB, at 256 MiB a quarter. Which loads were used is not stated; a vector chase
// passes the L1 first.
func TestChasePlateaus(t *testing.T) {
	for _, c := range []struct {
		load, footprint string
		measured        float64
		cold            bool
	}{
		{"scalar", "2MiB", 83, false}, {"scalar", "64MiB", 218, false}, {"scalar", "256MiB", 259, false}, {"scalar", "512MiB", 347, true},
		{"vector", "64MiB", 259, false},
	} {
		r, err := Run(RunOptions{Kernel: "chase", Arch: "mi300x", Mode: "timing", Threads: 1, Seed: 1, ColdLLC: c.cold,
			Options: map[string]string{"load": c.load, "footprint": c.footprint, "hops": "2000"}})
		if err != nil {
			t.Fatal(err)
		}
		ns := r.LoopCyclesPerStep / r.ClockMHz * 1000
		t.Logf("%s chase over %s: %.1f ns, measured %.0f", c.load, c.footprint, ns, c.measured)
		if math.Abs(ns/c.measured-1) > 0.1 {
			t.Errorf("%s chase over %s: %.1f ns, measured %.0f: more than 10 %% off", c.load, c.footprint, ns, c.measured)
		}
	}
}

var streams = flag.Bool("streams", false, "also stream from HBM (minutes)")

// The streaming reads of the VF report, one wave a SIMD and eight loads in
// flight, on a whole MI300X. The report does not state the width of
// a load; a line each is what its own latencies and bandwidths come to.
func TestStreamRows(t *testing.T) {
	for _, c := range []struct {
		mib       int
		measured  float64
		tolerance float64
	}{
		{16, 7947, 0.15}, {32, 7460, 0.15}, {64, 3652, 0.15}, {128, 3777, 0.15}, {256, 4340, 0.15},
		// Measured at the rate of the rows that the LLC serves, which no latency explains.
		{512, 4161, 0.38}, {1024, 3496, 0.25},
	} {
		if c.mib > 64 && !*streams {
			continue
		}
		gbs, err := streamRate(c.mib, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("stream over %d MiB: %.0f GB/s, measured %.0f (%+.1f %%)", c.mib, gbs, c.measured, 100*(gbs/c.measured-1))
		if math.Abs(gbs/c.measured-1) > c.tolerance {
			t.Errorf("stream over %d MiB: %.0f GB/s, measured %.0f: more than %.0f %% off", c.mib, gbs, c.measured, 100*c.tolerance)
		}
	}
}
