package sim

import (
	"strings"
	"testing"
)

// TestLowPrecision: every low-precision form computes its product in full mode,
// takes the same cycles in timing mode, and has no LDS bank conflict.
func TestLowPrecision(t *testing.T) {
	for _, c := range []struct {
		arch, dtype, variant, schedule, tile string
		k                                    int
	}{
		{"mi355x", "fp8", "", "pingpong8", "128x128", 512},
		{"mi355x", "fp8", "", "interleave4", "64x64", 640},
		{"mi355x", "fp6", "dwordx3", "pingpong8", "128x128", 512},
		{"mi355x", "fp6", "dwordx4", "pingpong8", "256x256", 384},
		{"mi355x", "fp6", "dwordx3", "interleave4", "128x128", 512},
		{"mi355x", "fp6", "dwordx4", "interleave4", "256x256", 512},
		{"mi355x", "fp4", "", "pingpong8", "128x128", 768},
		{"mi355x", "fp4", "", "interleave4", "128x128", 1024},
		{"mi325x", "fp8", "", "pingpong8", "128x128", 512},
	} {
		name := strings.Join([]string{c.arch, c.dtype, c.variant, c.schedule}, " ")
		o := small(c.arch)
		o.M, o.N, o.K = 256, 256, c.k
		o.Options = map[string]string{"dtype": c.dtype, "schedule": c.schedule, "tile": c.tile}
		if c.variant != "" {
			o.Options["variant"] = c.variant
		}
		timing := mustRun(t, o)
		o.Mode, o.Verify = "full", true
		full := mustRun(t, o)
		if timing.Cycles != full.Cycles {
			t.Errorf("%s: %d cycles in timing mode, %d in full", name, timing.Cycles, full.Cycles)
		}
		if !full.Verify.Passed {
			t.Errorf("%s: error %g, limit %g", name, full.Verify.MaxRelativeError, full.Verify.Limit)
		}
		if n := timing.LDS.BankConflicts; n != 0 {
			t.Errorf("%s: %d bank conflicts", name, n)
		}
		rotates := strings.Contains(strings.Join(timing.Notes, "\n"), "LLC starts cold")
		if rotates != (c.dtype == "fp8") {
			t.Errorf("%s: notes %q", name, timing.Notes)
		}
	}
}
