package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/configs"
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
func point(kernel, dtype string, m, n, k int) string {
	return fmt.Sprintf("%s %s %dx%dx%d", kernel, dtype, m, n, k)
}

// predicted reports whether a calibrated clock was fitted without this point.
func (l clockLaw) predicted(point string) bool {
	return l.class == "calibrated" && !slices.ContainsFunc(l.fittedOn, func(s string) bool { return strings.HasPrefix(s, point) })
}
