package sim

import (
	"math"
	"testing"

	"github.com/whisker-sim/whisker/configs"
)

// TestSpreadFit: times that lie on a line give the line back, and a replay of
// the dispatch what a hand count gives.
func TestSpreadFit(t *testing.T) {
	s := &spread{work: func(wg int) int { return wg / 2 }, took: make([]int64, 16)}
	s.choose(2, 4)
	for wg := range s.took {
		if s.rounds[wg/4] {
			s.took[wg] = int64(100 + 7*s.work(wg))
		}
	}
	if len(s.rounds) != 2 || !s.rounds[0] || !s.rounds[3] {
		t.Errorf("rounds %v, want the first and the last", s.rounds)
	}
	base, per := s.fit()
	if math.Abs(base-100) > 1e-6 || math.Abs(per-7) > 1e-6 {
		t.Errorf("fitted %g and %g, want 100 and 7", base, per)
	}
	// Two XCDs of one slot: 0, 2, ... and 1, 3, ..., eight each of 100 and 7 for
	// each pair before, with gaps of 10.
	m := &configs.Machine{Chip: configs.Chip{XCDs: 2}, Dispatch: configs.Dispatch{Order: "round_robin", WorkgroupGapCycles: 10}}
	if got, want := s.replay(m, 2, 1, 100, 7, func(int) bool { return true }), float64(8*100+7*28+7*10); math.Abs(got-want) > 1e-6 {
		t.Errorf("replayed %g cycles, want %g", got, want)
	}
}

// TestSpreadSamplesCausal: a sampled causal launch takes as long as the whole, with the energy and
// the utilisation of the whole.
func TestSpreadSamplesCausal(t *testing.T) {
	if testing.Short() {
		t.Skip("runs whole launches")
	}
	for _, kernel := range []string{"attention", "attention-backward"} {
		o := RunOptions{Kernel: kernel, Arch: "mi355x", Threads: 2, Seed: 1, Mode: "timing",
			Set:     []string{"chip.xcds=1", "chip.iods=1", "chip.cus_per_xcd=4", "chip.shader_engines=4"},
			Options: kv("batch", "2", "heads", "4", "seq", "1024", "causal", "true")}
		whole, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		o.SampleRounds = 2
		part, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		if part.Sample == nil || whole.Sample != nil {
			t.Fatalf("%s: samples %v and %v", kernel, part.Sample, whole.Sample)
		}
		if e := float64(part.Cycles)/float64(whole.Cycles) - 1; math.Abs(e) > 0.08 {
			t.Errorf("%s: sampled %d cycles, whole %d: %+.1f %%", kernel, part.Cycles, whole.Cycles, 100*e)
		}
		for _, c := range []struct {
			what        string
			part, whole float64
		}{
			{"joules of matrix instructions", part.Power.Energy.Matrix, whole.Power.Energy.Matrix},
			{"joules of CUs", part.Power.Energy.CU, whole.Power.Energy.CU},
			{"cycles a step", part.LoopCyclesPerStep, whole.LoopCyclesPerStep},
			{"matrix utilisation", part.MatrixUtilization, whole.MatrixUtilization},
			{"L1 bandwidth", part.TCP.BandwidthTBs, whole.TCP.BandwidthTBs},
		} {
			if e := c.part/c.whole - 1; !(math.Abs(e) < 0.08) {
				t.Errorf("%s: %s: sampled %g, whole %g: %+.1f %%", kernel, c.what, c.part, c.whole, 100*e)
			}
		}
	}
}
