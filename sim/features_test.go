package sim

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// featureRun is a producer-consumer GEMM of one workgroup that uses features, on
// a machine that has them.
func featureRun(features, tile, mode string) RunOptions {
	o := RunOptions{Kernel: "gemm", Arch: "teaching", M: 256, N: 256, K: 512, Tile: tile, Schedule: "producer-consumer",
		Mode: mode, Threads: 1, Seed: 3, Options: map[string]string{"features": features}}
	for _, f := range isa.FeatureNames() {
		if f != "all" && (features == "all" || strings.Contains(features, f)) {
			o.Set = append(o.Set, "features."+f+"=true")
		}
	}
	return o
}

// Computing every value while timing changes no cycle of a what-if, and the
// values are right: what the kernel waits for is what its data needs.
func TestFeaturesInFullMode(t *testing.T) {
	for _, c := range []struct{ features, tile string }{
		{"dynamic_registers", "256x256"}, {"mfma_lds_operands", "256x256"}, {"tile_copy", "128x256"}, {"mbarrier", "128x256"},
		{"tile_copy,mbarrier", "128x256"}, {"all", "256x256"},
	} {
		full := featureRun(c.features, c.tile, "full")
		full.Verify = true
		timing, computed := mustRun(t, featureRun(c.features, c.tile, "timing")), mustRun(t, full)
		if timing.Cycles != computed.Cycles || !computed.Verify.Passed {
			t.Errorf("%s: %d cycles in timing mode, %d in full, error %g", c.features, timing.Cycles, computed.Cycles, computed.Verify.MaxRelativeError)
		}
	}
}

// A last row tile that reaches beyond M: a tile copy fills rows of zeros, at whatever M.
func TestTileCopyOfRaggedRows(t *testing.T) {
	for _, m := range []int{130, 200, 300} {
		for _, mode := range []string{"timing", "full"} {
			o := featureRun("tile_copy", "128x256", mode)
			o.M, o.Verify = m, mode == "full"
			if r := mustRun(t, o); o.Verify && !r.Verify.Passed {
				t.Errorf("M %d: error %g", m, r.Verify.MaxRelativeError)
			}
		}
	}
}

// A switch costs a kernel that does not use it nothing.
func TestFeaturesUnused(t *testing.T) {
	o := small("mi355x")
	off := mustRun(t, o)
	for _, f := range isa.FeatureNames() {
		if f != "all" {
			o.Set = append(o.Set, "features."+f+"=true")
		}
	}
	if on := mustRun(t, o); on.Cycles != off.Cycles {
		t.Errorf("%d cycles with every switch on, %d with all off", on.Cycles, off.Cycles)
	}
}

// Bigger LDS makes room for a third stage, which the kernel then fills.
func TestBiggerLDSHoldsMoreStages(t *testing.T) {
	two := featureRun("all", "256x256", "timing")
	two.K = 2048
	three := two
	three.Options = map[string]string{"features": "all", "stages": "3"}
	if _, err := Run(three); err == nil || !strings.Contains(err.Error(), "bytes of LDS") {
		t.Fatalf("three stages of 64 KiB in 160 KiB: error %v", err)
	}
	three.Set = append(append([]string{}, two.Set...), "lds.bytes=262144")
	if a, b := mustRun(t, two), mustRun(t, three); b.Cycles >= a.Cycles {
		t.Errorf("two stages take %d cycles, three %d", a.Cycles, b.Cycles)
	}
}
