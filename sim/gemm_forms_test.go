package sim

import (
	"strings"
	"testing"
)

// TestGEMMForms: every form takes the same cycles in timing and in full mode and
// on any number of threads, its values are right, and its layouts are free of
// LDS bank conflicts. Row tiles are ragged where it says so.
func TestGEMMForms(t *testing.T) {
	pc := " schedule=producer-consumer"
	for _, form := range []string{
		"m=256 n=256 mfma=32x32x16",
		"m=320 n=256 tile=192x256", // ragged
		"m=192 n=256 tile=192x256 variant=v1",
		"m=200 n=256 tile=192x256 variant=v1", // ragged: whole loads lie beyond M, alone under way
		"m=272 n=256 mfma=32x32x16",           // ragged
		"m=272 n=256 tile=256x256",            // ragged
		"m=132 n=128 tile=128x128",            // ragged
		"m=260 n=256 schedule=interleave4",    // ragged
		"m=128 n=256" + pc,
		"m=200 n=256 stages=3" + pc, // ragged
		"m=192 n=256 consumers=12" + pc,
		"m=200 n=256 consumers=12" + pc, // ragged
		"m=200 n=256 consumers=12 handshake=lds-atomic" + pc,
		"m=200 n=256 consumers=12 handshake=lds-atomic variant=v1" + pc,
		"m=130 n=256 stages=3 handshake=lds-atomic" + pc,
		"m=192 n=256 consumers=12 handshake=lds-atomic" + pc,
		"m=192 n=256 consumers=12 handshake=lds-atomic variant=v1" + pc,
		"m=128 n=256 stages=3 handshake=lds-atomic" + pc,
	} {
		o := RunOptions{Kernel: "gemm", Arch: "mi355x", Mode: "timing", Threads: 1, Seed: 1, Options: map[string]string{"k": "384"},
			Set: []string{"chip.xcds=2", "chip.cus_per_xcd=4"}}
		if !strings.Contains(form, "producer") {
			o.Options["k"] = "256"
		}
		for _, f := range strings.Fields(form) {
			name, value, _ := strings.Cut(f, "=")
			o.Options[name] = value
		}
		timing := mustRun(t, o)
		o.Threads = 2
		if jsonOf(t, mustRun(t, o)) != jsonOf(t, timing) {
			t.Errorf("%s: two threads differ from one", form)
		}
		o.Mode, o.Verify = "full", true
		full := mustRun(t, o)
		if timing.Cycles != full.Cycles || timing.WaveInstructions != full.WaveInstructions {
			t.Errorf("%s: timing mode %d cycles and %d instructions, full mode %d and %d", form, timing.Cycles, timing.WaveInstructions, full.Cycles, full.WaveInstructions)
		}
		if !full.Verify.Passed {
			t.Errorf("%s: values are off by %g", form, full.Verify.MaxRelativeError)
		}
		if timing.LDS.BankConflicts != 0 {
			t.Errorf("%s: %d LDS conflict cycles", form, timing.LDS.BankConflicts)
		}
	}
}
