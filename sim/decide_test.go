package sim

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

func smallAttention(t *testing.T, mode string, sampled int, opts map[string]string) *report.Run {
	t.Helper()
	o := RunOptions{Kernel: "attention", Arch: "mi355x", Mode: mode, Threads: 1, Seed: 3, SampledWorkgroups: sampled, Options: opts,
		Set: []string{"chip.xcds=1", "chip.iods=1", "chip.shader_engines=1", "chip.cus_per_xcd=2"}}
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// With every workgroup computed for its decisions, timing mode gives the cycles
// of full mode; the report says where the decisions come from.
func TestTimingFollowsRecordedBranches(t *testing.T) {
	opts := map[string]string{"batch": "1", "heads": "2", "kv-heads": "1", "seq": "512", "dim": "64", "causal": "true"}
	full, timing := smallAttention(t, "full", 0, opts), smallAttention(t, "timing", 4, opts)
	if full.Cycles != timing.Cycles || full.WaveInstructions != timing.WaveInstructions {
		t.Errorf("timing: %d cycles and %d instructions, full: %d and %d", timing.Cycles, timing.WaveInstructions, full.Cycles, full.WaveInstructions)
	}
	for r, want := range map[*report.Run]string{full: "decided by it, in all 4 workgroups", timing: "outcomes of 4 of the 4 workgroups, computed on the inputs of seed 3"} {
		if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("%s: notes %q, want one with %q", r.Mode, r.Notes, want)
		}
	}
	one := smallAttention(t, "timing", 1, opts)
	if !slices.ContainsFunc(one.Notes, func(n string) bool { return strings.Contains(n, "outcomes of 1 of the 4 workgroups") }) {
		t.Errorf("notes %q", one.Notes)
	}
}

// The same with keys that grow along the sequence, so that waves take the
// rescaling path, each at blocks of its own.
func TestTimingFollowsTakenBranches(t *testing.T) {
	machine, err := LoadMachine("mi355x", "", []string{"chip.xcds=1", "chip.iods=1", "chip.shader_engines=1", "chip.cus_per_xcd=2"})
	if err != nil {
		t.Fatal(err)
	}
	job := func() *workloads.Built {
		j, err := workloads.Build("attention", workloads.Request{CPU: isa.GFX950, Seed: 5,
			Options: map[string]string{"batch": "1", "heads": "2", "seq": "512", "dim": "64"}})
		if err != nil {
			t.Fatal(err)
		}
		j.FillInputs()
		b := j.Kernels[0]
		for _, r := range b.Launch.Memory.Regions() {
			if r.Name != "K" {
				continue
			}
			for at := uint64(0); at < r.Size; at += 4 { // two bf16 values; 2^(token/64) by their exponents
				up := uint32(at / (2 * 64 * 2) / 64)
				b.Launch.Memory.Store32(r.Base+at, b.Launch.Memory.Load32(r.Base+at)+up<<7+up<<23)
			}
		}
		return b
	}
	twin := job()
	d := isa.NewDecisions(twin.Launch.Kernel, isa.DataBranches(twin.Launch.Kernel), sample(4, 4))
	if _, err := emu.Run(twin.Launch, emu.Options{Branch: d.Record}); err != nil {
		t.Fatal(err)
	}
	if visits, taken := d.Count(); taken == 0 || taken == visits {
		t.Fatalf("%d of %d visits taken: the test wants some", taken, visits)
	}
	var cycles, insts [2]int64
	for i, full := range []bool{true, false} {
		b := job()
		g, err := xcd.NewGPU(machine.Machine(), 2000, b.Launch, xcd.GPUOptions{Full: full, Threads: 1, Decisions: d})
		if err != nil {
			t.Fatal(err)
		}
		res, err := g.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		cycles[i] = res.Timing.Cycles
		insts[i] = int64(res.CU.IssuedCount[isa.UnitVALU])
	}
	if cycles[0] != cycles[1] || insts[0] != insts[1] {
		t.Errorf("full %d cycles, %d VALU instructions; recorded %d and %d", cycles[0], insts[0], cycles[1], insts[1])
	}
}

func TestSample(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want []int
	}{{4, 4, []int{0, 1, 2, 3}}, {3, 8, []int{0, 1, 2}}, {4096, 4, []int{0, 1023, 2046, 3069}}, {10, 3, []int{0, 3, 6}}} {
		if got := sample(c.n, c.k); !slices.Equal(got, c.want) {
			t.Errorf("%d of %d: %v, want %v", c.k, c.n, got, c.want)
		}
	}
}
