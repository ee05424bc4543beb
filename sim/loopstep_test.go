package sim

import "testing"

// TestLoopStepOfNestedLoops: a loop that waves enter again and again has its steps counted at each entry; a
// step of a stream takes no longer because there are more passes over the same lines.
func TestLoopStepOfNestedLoops(t *testing.T) {
	step := func(passes string) float64 {
		o := RunOptions{Kernel: "stream", Arch: "mi355x", Mode: "timing", Threads: 1, Seed: 1, Set: []string{"chip.xcds=1", "chip.iods=1", "chip.cus_per_xcd=4"},
			Options: kv("footprint", "16KiB", "workgroups", "1", "passes", passes)}
		return mustRun(t, o).LoopCyclesPerStep
	}
	if one, many := step("1"), step("16"); many == 0 || many > one {
		t.Errorf("%g cycles a step in one pass, %g in 16 passes", one, many)
	}
}
