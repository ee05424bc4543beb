package sim

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// Small runs on one CU by kernel.
var hostSyncRuns = map[string]RunOptions{
	"layernorm":          {Kernel: "layernorm", Options: map[string]string{"batch": "1", "seq": "64"}},
	"rotary":             {Kernel: "rotary", Options: map[string]string{"batch": "1", "heads": "1", "seq": "64"}},
	"gemm":               {Kernel: "gemm", M: 256, N: 256, K: 256},
	"attention-backward": {Kernel: "attention-backward", Options: map[string]string{"batch": "1", "heads": "1", "seq": "256"}},
}

func hostSyncRun(t *testing.T, kernel string, host *bool, set ...string) *report.Run {
	t.Helper()
	o := hostSyncRuns[kernel]
	o.Arch, o.Mode, o.Threads, o.Seed, o.HostSync, o.Set = "teaching", "timing", 1, 1, host, set
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHostSync: the wait is in the time of the kernels whose original's launch
// function waits, or of those that are asked to, once a launch; cycles stay.
func TestHostSync(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		kernel   string
		host     *bool
		launches float64
	}{
		{"layernorm", nil, 1}, {"layernorm", &no, 0}, {"layernorm", &yes, 1},
		{"rotary", nil, 1}, {"rotary", &no, 0},
		{"gemm", nil, 0}, {"gemm", &yes, 1}, {"gemm", &no, 0},
		{"attention-backward", nil, 0}, {"attention-backward", &yes, 3},
	} {
		r := hostSyncRun(t, c.kernel, c.host, "dispatch.host_sync_us=40")
		if want := 40 * c.launches; r.HostSyncUS != want || math.Abs(r.TimeUS-r.KernelTimeUS-r.LaunchOverheadUS-want) > 1e-9 {
			t.Errorf("%s: host %g us, time %g of kernel %g and launch %g; want a wait of %g", c.kernel, r.HostSyncUS, r.TimeUS, r.KernelTimeUS, r.LaunchOverheadUS, want)
		}
		note := slices.ContainsFunc(r.Notes, func(s string) bool { return strings.Contains(s, "--no-host-sync") })
		if waits := c.launches > 0; note != waits || (r.HostSync != nil) != waits {
			t.Errorf("%s: the report says %+v, note %v", c.kernel, r.HostSync, note)
		}
		if why := map[string]string{"layernorm": "published: ", "rotary": "assumed: "}[c.kernel]; r.HostSync != nil && !strings.HasPrefix(r.HostSync.Why, cmp.Or(why, "asked for")) {
			t.Errorf("%s: the host waits because %q", c.kernel, r.HostSync.Why)
		}
	}
	with, without := hostSyncRun(t, "layernorm", nil), hostSyncRun(t, "layernorm", &no)
	if with.Cycles != without.Cycles || with.KernelTimeUS != without.KernelTimeUS {
		t.Errorf("%d cycles with the wait, %d without", with.Cycles, without.Cycles)
	}
}

// TestHostSyncFitted: the layer norm that the wait was fitted on says so, and no
// other run does.
func TestHostSyncFitted(t *testing.T) {
	us := 3.0
	for _, c := range []struct {
		name, machine, kernel string
		seq                   int
		change                func(*RunOptions, *report.Run)
		prediction            bool
	}{
		{"the row", "mi355x", "layernorm", 4096, nil, false},
		{"half the rows", "mi355x", "layernorm", 2048, nil, true},
		{"another machine", "mi350x", "layernorm", 4096, nil, true},
		{"another kernel", "mi355x", "rotary", 4096, nil, true},
		{"a changed machine", "mi355x", "layernorm", 4096, func(_ *RunOptions, r *report.Run) { r.Machine.Hash = "another" }, true},
		{"another option", "mi355x", "layernorm", 4096, func(_ *RunOptions, r *report.Run) {
			r.Options.Other = append(r.Options.Other, report.Setting{Name: "registers", Value: "compiler"})
		}, true},
		{"another launch overhead", "mi355x", "layernorm", 4096, func(o *RunOptions, _ *report.Run) { o.LaunchOverheadUS = &us }, true},
		{"an empty LLC", "mi355x", "layernorm", 4096, func(o *RunOptions, _ *report.Run) { o.ColdLLC = true }, true},
		{"a sample", "mi355x", "layernorm", 4096, func(o *RunOptions, _ *report.Run) { o.SampleRounds = 1 }, true},
	} {
		m, err := configs.Load(c.machine)
		if err != nil {
			t.Fatal(err)
		}
		r, o := &report.Run{Kernel: c.kernel}, &RunOptions{Kernel: c.kernel, Mode: "timing"}
		r.Options.Other = []report.Setting{{Name: "batch", Value: 16}, {Name: "seq", Value: c.seq}, {Name: "dim", Value: 2048}, {Name: "dropout", Value: 0.01}}
		r.Machine.Name, r.Machine.Hash = c.machine, m.Hash()
		if c.change != nil {
			c.change(o, r)
		}
		hostSync(r, o, m, &workloads.Job{HostSync: true})
		if r.HostSyncUS != m.Machine().Dispatch.HostSyncUS || r.HostSync == nil || r.HostSync.Class != "calibrated" || r.HostSync.Prediction != c.prediction {
			t.Errorf("%s: %g us, %+v; want prediction %v", c.name, r.HostSyncUS, r.HostSync, c.prediction)
		}
		r.Clock = report.Clock{Class: "calibrated", FittedOn: []string{"gemm"}, Prediction: true}
		if note := notes(r)[0]; strings.HasPrefix(note, "time and TFLOPS are no prediction: dispatch.host_sync_us") == c.prediction {
			t.Errorf("%s: prediction %v, and the note is %q", c.name, c.prediction, note)
		}
	}
	// Set by hand the wait is nobody's calibration.
	if r := hostSyncRun(t, "layernorm", nil, "dispatch.host_sync_us=40"); r.HostSync.Class == "calibrated" || r.HostSync.Prediction {
		t.Errorf("set by hand: %+v", r.HostSync)
	}
}

// TestHostSyncRows: the layer norm is the row that the wait was fitted on, and
// rotary is predicted with it.
func TestHostSyncRows(t *testing.T) {
	rows, err := kernelTargets()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{}
	for _, row := range rows {
		kinds[row.kernel] = row.kind
		if row.kernel == "rotary" && !strings.Contains(row.note, "assumed") {
			t.Errorf("rotary's note is %q", row.note)
		}
		if row.kernel == "layernorm" && !strings.Contains(row.note, "dispatch.host_sync_us") {
			t.Errorf("the layer norm's note is %q", row.note)
		}
	}
	if kinds["layernorm"] != KindCalibrated || kinds["rotary"] != KindPredicted {
		t.Errorf("layer norm %s, rotary %s", kinds["layernorm"], kinds["rotary"])
	}
}

// TestHostSyncReplay: a trace carries whether the host waited, and a replay may
// say otherwise.
func TestHostSyncReplay(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		kernel           string
		recorded, replay *bool
		want             float64
	}{{"layernorm", nil, nil, 50}, {"layernorm", &no, nil, 0}, {"layernorm", nil, &no, 0}, {"gemm", &yes, nil, 50}, {"gemm", nil, &yes, 50}} {
		o := hostSyncRuns[c.kernel]
		o.Arch, o.Mode, o.Threads, o.Seed, o.HostSync = "teaching", "timing", 1, 1, c.recorded
		path, _ := traced(t, o)
		if got := mustReplay(t, ReplayOptions{File: path, HostSync: c.replay}); got.HostSyncUS != c.want {
			t.Errorf("%s: host %g us, want %g", c.kernel, got.HostSyncUS, c.want)
		}
	}
}

// TestNoteAtPeak: a run whose budget leaves the peak clock says so, and one that
// is held below it does not.
func TestNoteAtPeak(t *testing.T) {
	at := func(limited bool) string {
		r := &report.Run{Power: &report.Power{Limited: limited, Watts: 900, LimitW: 1400}}
		noteAtPeak(r)
		return strings.Join(r.Notes, "\n")
	}
	if s := at(false); !strings.Contains(s, "peak, which the power budget allows: 900 of 1400 W") {
		t.Errorf("at the peak: %q", s)
	}
	if s := at(true); s != "" {
		t.Errorf("held below it: %q", s)
	}
}
