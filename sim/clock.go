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

// clockLaw is the sustained clock that a run is simulated at.
type clockLaw struct {
	mhz      float64
	text     string
	class    string
	fittedOn []string
}

// clockFor picks the sustained clock of a data type from the machine file. The
// law is one clock per device and data type under matrix load; a type without
// an entry runs at the default, which is printed as assumed.
func clockFor(machine *configs.Resolved, dtype string) clockLaw {
	c := machine.Machine().Clock
	path := "clock.sustained_mhz." + dtype
	mhz, ok := c.SustainedMHz[dtype]
	if !ok {
		path, mhz = "clock.default_mhz", c.DefaultMHz
	}
	l := clockLaw{mhz: mhz, class: "assumed", text: fmt.Sprintf("sustained clock under %s load: %g MHz", dtype, mhz)}
	for _, leaf := range machine.Leaves() {
		if leaf.Path == path {
			l.class = leaf.Class
			l.fittedOn = slices.Clone(leaf.FittedOn)
		}
	}
	return l
}

// point names a run the way fitted_on does: "gemm bf16 8192x8192x8192".
func point(r *report.Run) string {
	o := &r.Options
	return fmt.Sprintf("%s %s %dx%dx%d", r.Kernel, o.DType, o.M, o.N, o.K)
}

// fittedOnThis reports whether this very run, kernel and machine, is one that
// the clock was fitted on: the built-in machine as it is and the kernel's own
// choices for the size. Anything else is a prediction.
func (l clockLaw) fittedOnThis(r *report.Run, cpu isa.CPU) bool {
	p, o := point(r), &r.Options
	if !slices.ContainsFunc(l.fittedOn, func(s string) bool { return strings.HasPrefix(s, p) }) {
		return false
	}
	own, err := configs.Load(r.Machine.Name)
	if err != nil || own.Hash() != r.Machine.Hash {
		return false
	}
	plain, err := workloads.GEMM(cpu, workloads.Spec{M: o.M, N: o.N, K: o.K, DType: o.DType, W: -1, C: -1})
	return err == nil && kernelHash(plain.Launch) == r.KernelHash
}
