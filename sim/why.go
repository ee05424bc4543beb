package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report"
)

// limits are a run's utilisations by the name of what is used.
func limits(r *report.Run) []namedShare {
	return []namedShare{
		{"matrix pipe", r.MatrixUtilization}, {"VALU", r.VALUUtilization}, {"instruction issue", r.IssueUtilization},
		{"LDS banks", r.LDS.BankUtilization}, {"LDS ports", r.LDS.PortUtilization}, {"L1 tags", r.TCP.Utilization}, {"L2", r.L2.Utilization},
		{"fabric", r.Fabric.ReadUtilization}, {"links between IODs", r.Fabric.IODUtilization}, {"LLC", r.LLC.Utilization}, {"HBM", r.HBM.Utilization},
	}
}

// namedShare is a fraction with the name of what it is of.
type namedShare struct {
	name  string
	share float64
}

// busyEnough is the share of its time from which a resource is called the
// limiter: the rest is its ramps and the unevenness of what it is asked for.
const busyEnough = 0.8

// Limiter names what holds a run: the busiest resource, when it is nearly
// always busy, else what its waves wait for most.
func Limiter(r *report.Run) string {
	all := limits(r)
	top := slices.MaxFunc(all, func(a, b namedShare) int { return compareShare(a.share, b.share) })
	if top.share >= busyEnough {
		return top.name
	}
	if s := stallsBy(r); len(s) > 0 {
		return s[0].name
	}
	return top.name
}

func compareShare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// waits are stall reasons in words. A busy matrix pipe is the goal and no wait.
var waits = map[string]string{
	"waitcnt_vmcnt": "waiting for vector memory", "waitcnt_lgkmcnt": "waiting for LDS", "barrier": "at barriers", "dependency": "on a result not ready",
	"valu_busy": "for the VALU", "lds_queue_full": "for the LDS queue", "vmem_queue_full": "for the vector-memory queue", "arbitration": "for an issue slot",
	"fetch": "for instructions", "sleep": "asleep",
}

// stallsBy are the reasons that waves waited, most first, as shares of the
// wave-cycles.
func stallsBy(r *report.Run) []namedShare {
	var out []namedShare
	for _, c := range r.Stalls {
		if w, ok := waits[c.Name]; ok && c.Value > 0 {
			out = append(out, namedShare{w, report.Ratio(float64(c.Value), float64(r.WaveCycles))})
		}
	}
	slices.SortStableFunc(out, func(a, b namedShare) int { return compareShare(b.share, a.share) })
	return out
}

// Why says in a sentence, from the run's own accounting, where its time went.
func Why(r *report.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the matrix pipe is busy %s of the time", report.Percent(r.MatrixUtilization))
	if r.LoopMatrixUtilization > 0 {
		fmt.Fprintf(&b, " (%s in the main loop)", report.Percent(r.LoopMatrixUtilization))
	}
	all := limits(r)
	busiest := slices.MaxFunc(all[1:], func(a, b namedShare) int { return compareShare(a.share, b.share) })
	fmt.Fprintf(&b, ", then the %s %s", busiest.name, report.Percent(busiest.share))
	var parts []string
	for _, s := range stallsBy(r) {
		if s.share >= 0.05 && len(parts) < 3 {
			parts = append(parts, fmt.Sprintf("%s %s", report.Percent(s.share), s.name))
		}
	}
	if len(parts) > 0 {
		b.WriteString("; of their cycles waves spend " + strings.Join(parts, ", "))
	}
	if p := r.Power; p != nil {
		if p.Limited {
			fmt.Fprintf(&b, "; the power limit holds the clock at %.0f MHz", r.ClockMHz)
		} else {
			fmt.Fprintf(&b, "; at the peak clock it draws %.0f of %.0f W", p.Watts, p.LimitW)
		}
	}
	return b.String()
}
