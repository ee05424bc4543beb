package sim

import (
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
	r := &report.Run{Issued: report.NewCounts(report.IssueClasses), Stalls: report.NewCounts(report.StallReasons)}
	times := extrapolate(r, res, 35, 10, 1)
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
