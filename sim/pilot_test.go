package sim

import (
	"math"
	"strings"
	"testing"
)

// TestSettled: a run is not repeated when its clock agrees with its work's, or
// when pilots have shown that its cycles hardly depend on it.
func TestSettled(t *testing.T) {
	for _, c := range []struct {
		sensitivity, mhz, next float64
		want                   bool
		note                   string
	}{
		{1, 1800, 1810, true, ""},
		{1, 1800, 1850, false, "has not settled"},
		{0.1, 1800, 1850, true, "an estimated 0.3 %"},
		{0.1, 1800, 1750, true, "an estimated 0.3 %"},
		{0.2, 1800, 1850, false, "has not settled"},
		{0, 1800, 2000, false, "has not settled"},
	} {
		g := guess{sensitivity: c.sensitivity}
		if got := g.settled(c.mhz, c.next); got != c.want {
			t.Errorf("sensitivity %g, %g and %g MHz: settled is %v", c.sensitivity, c.mhz, c.next, got)
		}
		if note := g.note(c.mhz, c.next); (note == "") != (c.note == "") || !strings.Contains(note, c.note) {
			t.Errorf("sensitivity %g, %g and %g MHz: %q", c.sensitivity, c.mhz, c.next, note)
		}
	}
}

// TestSecondPilot: it runs once, and only where its answer decides.
func TestSecondPilot(t *testing.T) {
	for _, c := range []struct {
		next float64
		runs int
	}{{1810, 0}, {1850, 1}, {2000, 0}} {
		runs := 0
		g := guess{sensitivity: 1, second: func() float64 { runs++; return 0.1 }}
		g.learn(1800, c.next)
		g.learn(1800, c.next)
		if runs != c.runs || (g.sensitivity == 0.1) != (c.runs == 1) {
			t.Errorf("clocks 1800 and %g MHz: %d pilots, sensitivity %g", c.next, runs, g.sensitivity)
		}
	}
}

// TestGuessClock: a guess within half the tolerance of the clock that the pilot ran
// at is sure to agree, so that no second pilot is kept; any other keeps one, at a
// clock pilotApart lower.
func TestGuessClock(t *testing.T) {
	machine, err := LoadMachine("mi355x", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := machine.Machine()
	work := energy{cycles: 1e6, cu: 4e11}
	mhz := work.clock(&m.Power, m.Clock.PeakMHz)
	if mhz < 500 || mhz >= float64(m.Clock.PeakMHz) {
		t.Fatalf("the work's clock is %g MHz, and not one that the board's limit gives", mhz)
	}
	half := clockTolerance / 2
	for _, c := range []struct {
		at     float64
		second bool
	}{{mhz, false}, {mhz / (1 + 0.9*half), false}, {mhz / (1 - 0.9*half), false}, {mhz / (1 + 1.1*half), true}, {mhz / (1 - 1.1*half), true}} {
		var asked []float64
		g, err := guessClock(m, clockLaw{mhz: c.at}, func(mhz float64) (energy, error) {
			asked = append(asked, mhz)
			return work, nil
		})
		if err != nil || g.mhz != mhz || g.sensitivity != 1 || len(asked) != 1 || asked[0] != c.at {
			t.Errorf("at %g MHz: %+v, %v, pilots at %v", c.at, g, err, asked)
		}
		if (g.second != nil) != c.second {
			t.Errorf("a guess of %g MHz from a pilot at %g: second pilot kept is %v", g.mhz, c.at, g.second != nil)
		}
		if g.second == nil {
			continue
		}
		if s := g.second(); s != pilotBlind || len(asked) != 2 || asked[1] != c.at*(1-pilotApart) {
			t.Errorf("pilots at %v of as many cycles give a sensitivity of %g", asked, s)
		}
	}
}

// TestPilot: one XCD's first workgroups stand for all of a kernel.
func TestPilot(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a kernel")
	}
	o := RunOptions{Kernel: "gemm", Arch: "mi355x", M: 1024, N: 1024, K: 512, Mode: "timing", Threads: 1,
		Set: []string{"chip.cus_per_xcd=4", "chip.shader_engines=1"}}
	machine, err := LoadMachine(o.Arch, "", o.Set)
	if err != nil {
		t.Fatal(err)
	}
	m := machine.Machine()
	job, err := build(&o, m)
	if err != nil {
		t.Fatal(err)
	}
	b := longestKernel(job)
	part, err := o.pilot(m, b, nil, 1800)
	if err != nil {
		t.Fatal(err)
	}
	if job, err = build(&o, m); err != nil {
		t.Fatal(err)
	}
	law := clockFor(machine, job.DType)
	law.mhz = 1800
	_, whole, err := runKernels(&o, machine, job, law, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, w := part.matrix/part.cycles, whole.matrix/whole.cycles
	if p == 0 || math.Abs(p-w) > 0.2*w {
		t.Errorf("matrix energy per cycle is %.0f pJ in the pilot and %.0f in the run", p, w)
	}
	if part.cycles == 0 || part.cu == 0 {
		t.Errorf("the pilot counted nothing: %+v", part)
	}
}
