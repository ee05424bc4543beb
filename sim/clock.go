package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// clockLaw is where a run's core clock comes from.
type clockLaw struct {
	mhz      float64 // what the run is simulated at
	text     string
	class    string
	fittedOn []string
	power    bool // mhz is a guess until the run's power budget is solved
}

// clockFor picks the law of a data type from the machine file. The law
// "sustained", and a clock that is set by hand, give one clock per data type. The
// law "power" starts from that clock and is solved with the run's work.
func clockFor(machine *configs.Resolved, dtype string) clockLaw {
	c := machine.Machine().Clock
	path := "clock.sustained_mhz." + dtype
	mhz, ok := c.SustainedMHz[dtype]
	if !ok {
		path, mhz = "clock.default_mhz", c.DefaultMHz
	}
	l := clockLaw{mhz: mhz, class: "assumed", text: fmt.Sprintf("sustained clock under %s load: %g MHz", dtype, mhz)}
	byHand := false
	for _, leaf := range machine.Leaves() {
		if leaf.Path == path {
			l.class = leaf.Class
			l.fittedOn = slices.Clone(leaf.FittedOn)
			byHand = leaf.Source == configs.CommandLineSource
		}
	}
	if l.power = c.Law == "power" && !byHand; l.power {
		l.byPower(machine, matrixLeaf(dtype))
	}
	return l
}

// byPower takes text and class from the power budget: its fitted constant is
// the energy of the run's matrix work.
func (l *clockLaw) byPower(machine *configs.Resolved, leafPath string) {
	p := machine.Machine().Power
	l.text = fmt.Sprintf("power budget of %g W", p.BoardW)
	l.class, l.fittedOn = "assumed", nil
	for _, leaf := range machine.Leaves() {
		if leaf.Path == leafPath {
			l.class = leaf.Class
			l.fittedOn = slices.Clone(leaf.FittedOn)
		}
	}
}

// point names a run the way fitted_on does: "gemm bf16 8192x8192x8192".
func point(r *report.Run) string {
	o := &r.Options
	return fmt.Sprintf("%s %s %dx%dx%d", r.Kernel, o.DType, o.M, o.N, o.K)
}

// fittedOnThis reports whether this very run, kernel and machine, is one that
// the clock was fitted on: the built-in machine as it is and the kernel's own
// choices for the size. A point that was fitted on one of the machines that share
// the constant names it ("... on MI325X"). Anything else is a prediction.
func (l clockLaw) fittedOnThis(r *report.Run, cpu isa.CPU) bool {
	p, o := point(r), &r.Options
	if !slices.ContainsFunc(l.fittedOn, func(s string) bool {
		s, machine, named := strings.Cut(s, " on ")
		return strings.HasPrefix(s, p) && (!named || strings.EqualFold(machine, r.Machine.Name))
	}) {
		return false
	}
	own, err := configs.Load(r.Machine.Name)
	if err != nil || own.Hash() != r.Machine.Hash {
		return false
	}
	plain, err := workloads.GEMM(cpu, workloads.Spec{M: o.M, N: o.N, K: o.K, DType: o.DType, W: -1, C: -1})
	return err == nil && kernelHash(plain.Launch) == r.KernelHash
}

// atClock takes a run to another clock than it was simulated at: its cycles stay. Beyond the L2
// capacity is of time, of which the same cycles now take more or less.
func atClock(r *report.Run, mhz float64) {
	by := report.Ratio(mhz, r.ClockMHz)
	for _, of := range []*float64{&r.PeakTFLOPSAtClock, &r.Fabric.ReadUtilization, &r.Fabric.WriteUtilization, &r.Fabric.IODUtilization, &r.LLC.Utilization, &r.HBM.Utilization} {
		*of *= by
	}
	r.ClockMHz = mhz
}
