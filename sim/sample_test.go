package sim

import (
	"math"
	"testing"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/xcd"
)

// A sample of two rounds of a launch of three and a half: it takes as long as
// four, and does the work of three and a half, so that its power is less than the
// sample's.
func TestSampleOfUnevenRounds(t *testing.T) {
	res := &xcd.GPUResult{}
	res.Timing.Cycles, res.Timing.Finished, res.Timing.Marks = 2100, 20, []int64{1100, 2100}
	r := &report.Run{ClockMHz: 1000, Issued: report.NewCounts(report.IssueClasses), Stalls: report.NewCounts(report.StallReasons)}
	m := &configs.Machine{}
	m.Fabric.RequestBytes, m.Fabric.WriteGBs, m.Fabric.LatencyNS = 64, 100, 10
	// Half a workgroup's worth of the third round is in the counts. What is left in the fuller L2, 12 lines
	// with their requests, is 23.04 ns on its link.
	res.CU.Workgroups, res.CU.EndedIssues, r.WaveInstructions = 20, 2000, 2050
	res.Timing.Dirty = []xcd.Dirty{{Lines: 3, Bytes: 384}, {Lines: 12, Bytes: 1536}}
	if times := extrapolate(r, res, m, 35, 10, 1); r.Cycles != 4133 || r.WriteBackCycles != 33 || math.Abs(times-35/20.5) > 1e-12 {
		t.Fatalf("%d cycles, %d to write back, work %g times; want 4133, 33 and %g", r.Cycles, r.WriteBackCycles, times, 35/20.5)
	}
	res.Timing.Dirty, r.WaveInstructions = nil, 2000
	times := extrapolate(r, res, m, 35, 10, 1)
	if r.Cycles != 4100 || times != 1.75 {
		t.Fatalf("%d cycles, work %g times; want 4100 and 1.75", r.Cycles, times)
	}
	p := &configs.Power{BoardW: 1000, StaticW: 100, FloorMHz: 2000, PeakVoltage: 1.2}
	e := energy{matrix: 2e9, fabric: 1e9, cycles: 2100}
	e.stretch(times, r.Cycles)
	if want := 100 + 3e9*1.75*1000/4100*1e-6; e.watts(p, 2400, 1000) != want {
		t.Errorf("%g W, want %g", e.watts(p, 2400, 1000), want)
	}
}

// TestSampleIsTheLaunch: a sample of short workgroups, of which others are under way when its last one
// ends, and of short kernels, whose end is the L2s' write-back, has the time, the energy and the occupancy of the whole.
func TestSampleIsTheLaunch(t *testing.T) {
	if testing.Short() {
		t.Skip("runs whole launches")
	}
	for _, c := range []struct {
		kernel string
		rounds int
		by     float64 // tolerance
		o      map[string]string
	}{
		{"gemm", 1, 0.05, kv("m", "2048", "n", "1024", "k", "512", "tile", "256x256")},
		{"layernorm", 3, 0.1, kv("batch", "4", "seq", "256")},
		{"rotary", 4, 0.12, kv("batch", "2", "heads", "8", "seq", "4096")},
	} {
		o := RunOptions{Kernel: c.kernel, Arch: "mi355x", Threads: 2, Seed: 1, Mode: "timing", Options: c.o,
			Set: []string{"chip.xcds=1", "chip.iods=1", "chip.cus_per_xcd=8"}}
		whole := mustRun(t, o)
		o.SampleRounds = c.rounds
		part := mustRun(t, o)
		if part.Sample == nil {
			t.Fatalf("%s: not a sample", c.kernel)
		}
		for _, f := range []struct {
			what        string
			part, whole float64
		}{
			{"cycles", float64(part.Cycles), float64(whole.Cycles)},
			{"joules of the VALU", part.Power.Energy.VALU, whole.Power.Energy.VALU},
			{"joules of the LDS", part.Power.Energy.LDS, whole.Power.Energy.LDS},
			{"TB/s written over the fabric", part.Fabric.WriteTBs, whole.Fabric.WriteTBs},
			{"waves a SIMD", part.Occupancy.MeanWavesPerSIMD, whole.Occupancy.MeanWavesPerSIMD},
		} {
			if e := report.Ratio(f.part, f.whole) - 1; f.whole != 0 && !(math.Abs(e) < c.by) {
				t.Errorf("%s: %s: sampled %g, whole %g: %+.1f %%", c.kernel, f.what, f.part, f.whole, 100*e)
			}
		}
		if part.WriteBackCycles == 0 || part.WriteBackCycles > whole.WriteBackCycles*11/10 {
			t.Errorf("%s: the sample writes back in %d cycles, the whole in %d", c.kernel, part.WriteBackCycles, whole.WriteBackCycles)
		}
	}
}
