package sim

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLook: a run that is looked at underway is the run that is not, unless the
// look shows that it would be repeated, and at nearly the clock that its end gives.
func TestLook(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a kernel")
	}
	o := RunOptions{Kernel: "gemm", Arch: "mi355x", M: 1024, N: 768, K: 2048, Mode: "timing", Threads: 1, Seed: 1,
		Set: []string{"chip.xcds=1", "chip.iods=1", "chip.cus_per_xcd=2", "chip.shader_engines=1", "power.static_w=1", "power.board_w=6"}}
	machine, err := LoadMachine(o.Arch, "", o.Set)
	if err != nil {
		t.Fatal(err)
	}
	m := machine.Machine()
	run := func(mhz float64, underway *look) (any, energy, error) {
		job, err := build(&o, m)
		if err != nil {
			t.Fatal(err)
		}
		law := clockFor(machine, job.DType)
		law.mhz = mhz
		parts, work, err := runKernels(&o, machine, job, law, underway)
		if err != nil {
			return nil, work, err
		}
		return jsonOf(t, parts[0]), work, nil
	}
	const wrong = 2200
	_, work, err := run(wrong, nil)
	if err != nil {
		t.Fatal(err)
	}
	right := work.clock(&m.Power, m.Clock.PeakMHz)
	if right > wrong*(1-2*clockFar) {
		t.Fatalf("the work's clock is %g MHz: this test needs one far below %d", right, wrong)
	}

	missed := &look{machine: m, first: &guess{sensitivity: 1}, mhz: wrong}
	if _, _, err := run(wrong, missed); err != errMissed || !missed.missed() {
		t.Fatalf("a run at %d MHz, whose work gives %g, ended with %v", wrong, right, err)
	}
	if math.Abs(missed.next-right) > 0.02*right {
		t.Errorf("two rounds of the run give %g MHz and the whole %g", missed.next, right)
	}

	plain, _, err := run(right, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Two rounds of six are 2.4 % off the whole's clock; the cycles depend little enough on it.
	kept := &look{machine: m, first: &guess{sensitivity: 0.1}, mhz: right}
	seen, _, err := run(right, kept)
	if err != nil {
		t.Fatal(err)
	}
	if !kept.looked || kept.missed() {
		t.Errorf("looked is %v, missed %v", kept.looked, kept.missed())
	}
	if d := cmp.Diff(plain, seen); d != "" {
		t.Errorf("a run that was looked at (+) differs:\n%s", d)
	}
}

// TestLastRound: two and a half rounds take the time of three.
func TestLastRound(t *testing.T) {
	for _, c := range []struct {
		workgroups, capacity int
		want                 float64
	}{{20, 8, 1200}, {24, 8, 1000}, {3, 8, 8000. / 3}} {
		e := energy{matrix: 1, cycles: 1000}
		if e.lastRound(c.workgroups, c.capacity); math.Abs(e.cycles-c.want) > 1e-9 || e.matrix != 1 {
			t.Errorf("%d workgroups of which %d run at once: %g cycles, want %g", c.workgroups, c.capacity, e.cycles, c.want)
		}
	}
}
