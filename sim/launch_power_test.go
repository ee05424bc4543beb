package sim

import "testing"

// A launch's clock comes from what its work takes, like every kernel's.
func TestLaunchPower(t *testing.T) {
	r, err := launch(t, launchFiles(t)["triton_vadd.gfx950"], "timing")
	if err != nil {
		t.Fatal(err)
	}
	if r.Power == nil {
		t.Fatal("no power budget")
	}
	if e := r.Power.Energy; r.Power.Watts <= r.Power.StaticW || e.CU <= 0 || e.VALU <= 0 || e.L2 <= 0 {
		t.Errorf("the work takes nothing: %+v", *r.Power)
	}
}
