package sim

import (
	"flag"
	"fmt"
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
// flight, on an eighth of an MI300X: one XCD with its share of LLC and memory,
// whose bandwidth is multiplied by eight. The report does not state the width of
// a load; a line each is what its own latencies and bandwidths come to.
func TestStreamRows(t *testing.T) {
	for _, c := range []struct {
		mib, passes int
		measured    float64
		tolerance   float64
	}{
		{16, 16, 7947, 0.15}, {64, 1, 3652, 0.15},
		{32, 16, 7460, 0.15}, {128, 1, 3777, 0.15}, {256, 1, 4340, 0.17},
		// Measured at the rate of the rows that the LLC serves, which no latency explains.
		{512, 1, 4161, 0.46}, {1024, 1, 3496, 0.38},
	} {
		if c.mib != 16 && c.mib != 64 && !*streams {
			continue
		}
		r, err := Run(RunOptions{Kernel: "stream", Arch: "mi300x", Set: eighth, Mode: "timing", Threads: 1, Seed: 1,
			Options: map[string]string{"workgroups": "38", "footprint": fmt.Sprintf("%dMiB", c.mib/8), "passes": fmt.Sprint(c.passes)}})
		if err != nil {
			t.Fatal(err)
		}
		gbs := 8 * float64(r.TCP.BytesRead) / r.KernelTimeUS / 1e3
		t.Logf("stream over %d MiB: %.0f GB/s, measured %.0f (%+.1f %%)", c.mib, gbs, c.measured, 100*(gbs/c.measured-1))
		if math.Abs(gbs/c.measured-1) > c.tolerance {
			t.Errorf("stream over %d MiB: %.0f GB/s, measured %.0f: more than %.0f %% off", c.mib, gbs, c.measured, 100*c.tolerance)
		}
	}
}
