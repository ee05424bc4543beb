package report

import (
	"bytes"
	"strings"
	"testing"
)

// The host's wait is inside every time and everything that follows from one, and is
// told apart.
func TestHostSync(t *testing.T) {
	r := sample()
	before := r.TimeUS
	r.HostSyncUS, r.HostSync = 50, &HostSync{Class: "calibrated", FittedOn: []string{"norm 0.3 ms"}}
	r.Derive()
	if r.TimeUS != before+50 || r.OutsideUS() != 53 {
		t.Errorf("%g us, %g of them outside the kernel; want %g and 53", r.TimeUS, r.OutsideUS(), before+50)
	}
	if want := r.FLOPs / r.TimeUS / 1e6; r.TFLOPS != want || r.PeakShare != want/r.PeakTFLOPSAtClock {
		t.Errorf("%g TFLOPS, %g of the peak; want %g TFLOPS", r.TFLOPS, r.PeakShare, want)
	}
	if p := r.LaunchSensitivity[0]; p.TimeUS != r.KernelTimeUS+51 {
		t.Errorf("at 1 us of launch %g us, want %g", p.TimeUS, r.KernelTimeUS+51)
	}
	for _, c := range []struct {
		prediction bool
		class      string
		want       string
	}{
		{false, "calibrated", "inside the time: 50.00 us (calibrated on norm 0.3 ms, which is this very run)\n"},
		{true, "calibrated", "inside the time: 50.00 us (calibrated on norm 0.3 ms; this point is a prediction)\n"},
		{false, "assumed", "inside the time: 50.00 us (assumed on norm 0.3 ms)\n"},
	} {
		r.HostSync.Prediction, r.HostSync.Class = c.prediction, c.class
		var b bytes.Buffer
		if err := WriteText(&b, r); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); !strings.Contains(s, c.want) || !strings.Contains(s, "us launch + 50.00 us host: ") {
			t.Errorf("no %q in\n%s", c.want, s)
		}
	}
}
