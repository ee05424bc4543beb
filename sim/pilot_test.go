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
	_, whole, err := runKernels(&o, machine, job, law)
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
