package sim

import "testing"

// Timing and full mode give the same cycles for every form of the attention
// backward, none has LDS bank conflicts, and only the permuting form
// has scratch accesses in the loop.
func TestAttentionBackwardModes(t *testing.T) {
	if testing.Short() {
		t.Skip("six runs of three kernels")
	}
	for _, f := range []map[string]string{{}, {"registers": "permuting"}, {"schedule": "pingpong8"}} {
		var cycles [2]int64
		for i, mode := range []string{"timing", "full"} {
			o := map[string]string{"batch": "1", "heads": "1", "seq": "256"}
			for k, v := range f {
				o[k] = v
			}
			r, err := Run(RunOptions{Kernel: "attention-backward", Arch: "mi355x", Mode: mode, Threads: 1, Options: o,
				Set: []string{"chip.iods=1", "chip.xcds=1", "chip.cus_per_xcd=4"}})
			if err != nil {
				t.Fatalf("%v: %v", f, err)
			}
			cycles[i] = r.Cycles
			if r.LDS.BankConflicts != 0 {
				t.Errorf("%v: %d bank conflicts", f, r.LDS.BankConflicts)
			}
			if spills := r.Registers.SpillLoads > 0; spills != (f["registers"] == "permuting") {
				t.Errorf("%v: %d scratch loads", f, r.Registers.SpillLoads)
			}
			if len(r.Parts) != 3 {
				t.Errorf("%v: %d kernels in the measurement", f, len(r.Parts))
			}
		}
		if cycles[0] != cycles[1] {
			t.Errorf("%v: %d cycles in timing mode, %d in full", f, cycles[0], cycles[1])
		}
	}
}
