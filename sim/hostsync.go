package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// hostSync adds the host's round trip to a launch that the host waits for inside
// the timed part (hipDeviceSynchronize between the events), and says where its
// length comes from.
func hostSync(r *report.Run, o *RunOptions, machine *configs.Resolved, job *workloads.Job) {
	waits, why := job.HostSync, job.HostSyncWhy
	if o.HostSync != nil {
		waits = *o.HostSync
	}
	if why == "" { // it is not the kernel's own
		why = "asked for"
	}
	us := machine.Machine().Dispatch.HostSyncUS
	if !waits || us == 0 || o.Mode == "functional" {
		return
	}
	r.HostSyncUS = us
	h := &report.HostSync{Why: why, FittedOn: []string{}}
	for _, leaf := range machine.Leaves() {
		if leaf.Path == "dispatch.host_sync_us" {
			h.Class, h.FittedOn = leaf.Class, append(h.FittedOn, leaf.FittedOn...)
		}
	}
	h.Prediction = h.Class == "calibrated" && !(o.asPublished() && fittedPoint(r, h.FittedOn))
	r.HostSync = h
}

// asPublished reports that nothing is asked for which a published run of a kernel
// does not have.
func (o *RunOptions) asPublished() bool {
	return o.LaunchOverheadUS == nil && o.Warmup == nil && o.SampleRounds == 0 && !o.ColdLLC && !o.RotateBuffers
}

// fittedPoint reports whether a run is one of points: the built-in machine as it
// is, and the options that the point names, "kernel option=value ... figure on
// machine".
func fittedPoint(r *report.Run, points []string) bool {
	options := r.Kernel
	for _, o := range r.Options.Other {
		options += fmt.Sprintf(" %s=%v", o.Name, o.Value)
	}
	own, err := configs.Load(r.Machine.Name)
	if err != nil || own.Hash() != r.Machine.Hash {
		return false
	}
	return slices.ContainsFunc(points, func(p string) bool {
		figure, machine, _ := strings.Cut(p, " on ")
		return strings.HasPrefix(figure, options+" ") && strings.EqualFold(machine, r.Machine.Name)
	})
}

// noteHostSync says how long the run would be if the host did not wait.
func noteHostSync(r *report.Run) {
	if r.HostSync == nil {
		return
	}
	r.Notes = append(r.Notes, fmt.Sprintf("the host waits for the device after each launch, inside the time (%s): without it %.2f us instead of %.2f (--no-host-sync)",
		r.HostSync.Why, r.TimeUS-r.HostSyncUS, r.TimeUS))
}

// noteAtPeak says that a run's clock follows from no fitted energy: the power
// budget leaves the machine its peak.
func noteAtPeak(r *report.Run) {
	if r.Power == nil || r.Power.Limited {
		return
	}
	r.Notes = append(r.Notes, fmt.Sprintf("the clock is the machine's peak, which the power budget allows: %.0f of %.0f W; that it does is a prediction", r.Power.Watts, r.Power.LimitW))
}
