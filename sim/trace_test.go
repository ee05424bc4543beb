package sim

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/workloads/suite"
)

// oneDie makes a machine small, so that small launches fill it.
var oneDie = []string{"chip.iods=1", "chip.xcds=1", "chip.cus_per_xcd=4", "chip.shader_engines=2"}

// archOf is a machine for a processor.
func archOf(cpu isa.CPU) string { return suiteMachines[cpu.String()] }

// smallSizes makes any kernel short: the options of these names that it has get
// these values.
var smallSizes = map[string]string{"batch": "1", "heads": "2", "kv-heads": "2"}

// smallForm is a short run of one form of a kernel.
func smallForm(t *testing.T, f workloads.Info) RunOptions {
	t.Helper()
	o := RunOptions{Kernel: f.Name, Arch: archOf(f.CPU), Set: oneDie, Mode: "timing", Threads: 1, Seed: 1, PerInstruction: true, Options: map[string]string{}}
	has := func(name string) bool {
		return slices.ContainsFunc(f.Options, func(o workloads.Option) bool { return o.Name == name })
	}
	for name, v := range smallSizes {
		if has(name) {
			o.Options[name] = v
		}
	}
	for _, c := range []struct{ name, value string }{{"schedule", f.Schedule}, {"tile", f.Tile}, {"dtype", f.DType}, {"variant", f.Variant}} {
		if has(c.name) && c.value != "" {
			o.Options[c.name] = c.value
		}
	}
	for _, c := range f.Choose {
		o.Options[c.Name] = c.Value
	}
	for _, word := range strings.Fields(f.Variant) {
		switch {
		case word == "rescale":
			o.Options[word] = "always"
		case has(word):
			o.Options[word] = "true"
		}
	}
	if d := strings.Split(f.Tile, "x"); len(d) == 3 && has("dim") {
		o.Options["dim"] = d[2]
	}
	long := "seq"
	if has("m") && has("n") && has("k") {
		m, n, err := workloads.OneRound(f.Tile, 4)
		if err != nil {
			t.Fatal(err)
		}
		o.M, o.N, long = m, n, "k"
	}
	machine, err := LoadMachine(o.Arch, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if has("footprint") {
		o.Options["footprint"] = map[string]string{"chase": "65536", "stream": "262144"}[f.Name]
	}
	for name, small := range map[string]string{"hops": "64", "passes": "1", "trips": "4"} {
		if has(name) {
			o.Options[name] = small
		}
	}
	if !has(long) {
		return o
	}
	for _, size := range []string{"64", "128", "256", "384", "512", "768", "1024", "2048"} {
		o.Options[long] = size
		if _, err = build(&o, machine.Machine()); err == nil {
			return o
		}
	}
	t.Fatal(err)
	return o
}

// plain is a run's bytes without what only a replay has.
func plain(t *testing.T, r *report.Run) string {
	t.Helper()
	c := *r
	c.Replay = nil
	return jsonOf(t, &c)
}

// traced runs o twice, with a trace and without, and compares them.
func traced(t *testing.T, o RunOptions) (path string, want *report.Run) {
	t.Helper()
	want = mustRun(t, o)
	o.Trace = filepath.Join(t.TempDir(), "a.trace")
	if got := mustRun(t, o); plain(t, got) != plain(t, want) {
		t.Fatalf("recording changes the run: %d cycles instead of %d", got.Cycles, want.Cycles)
	}
	return o.Trace, want
}

func mustReplay(t *testing.T, o ReplayOptions) *report.Run {
	t.Helper()
	o.Threads = max(o.Threads, 1)
	o.PerInstruction = true
	r, err := Replay(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// changes are machines on which every kernel's stream stays the same.
var changes = [][]string{
	{"lds.latency_cycles=90"},
	{"l2.bytes=1048576"},
	{"clock.default_mhz=1200", "clock.sustained_mhz.bf16=1300"},
	{"tcp.line_bytes=64", "l2.line_bytes=64", "llc.line_bytes=64"},
}

// TestReplayIsTheRun records every form of every kernel at a small size. The
// replay gives the run's whole report, and on another machine that of a fresh
// run there.
func TestReplayIsTheRun(t *testing.T) {
	seen := map[string]bool{}
	for i, f := range workloads.List() {
		kind := strings.Join([]string{f.Name, f.CPU.String(), f.Schedule, f.DType, f.Variant, fmt.Sprint(f.Choose)}, "/")
		first := !seen[kind]
		seen[kind] = true
		if testing.Short() && !first {
			continue
		}
		t.Run(kind+"/"+f.Tile, func(t *testing.T) {
			o := smallForm(t, f)
			path, want := traced(t, o)
			got := mustReplay(t, ReplayOptions{File: path})
			if plain(t, got) != plain(t, want) {
				t.Errorf("the replay differs: %d cycles instead of %d", got.Cycles, want.Cycles)
			}
			if got.Replay.RecordedCycles != want.Cycles || !got.Replay.SameMachine || !got.Replay.Complete {
				t.Errorf("the replay says %+v", got.Replay)
			}
			if f.Spins || !first {
				return // on another machine its waves poll more often or less
			}
			set := changes[i%len(changes)]
			o.Set = append(slices.Clone(o.Set), set...)
			fresh := mustRun(t, o)
			got = mustReplay(t, ReplayOptions{File: path, Set: set})
			if plain(t, got) != plain(t, fresh) {
				t.Errorf("%v: the replay takes %d cycles, a fresh run %d", set, got.Cycles, fresh.Cycles)
			}
			if got.Replay.SameMachine {
				t.Errorf("%v: the replay says that it is the same machine", set)
			}
		})
	}
}

// TestReplayOfAStart: a replay starts with the caches of the recorded run, or there is no trace.
func TestReplayOfAStart(t *testing.T) {
	zero, one := 0, 1
	o := small("mi355x")
	warm := mustRun(t, o)
	for name, set := range map[string]func(*RunOptions){
		"cold":    func(o *RunOptions) { o.ColdLLC = true },
		"rotated": func(o *RunOptions) { o.RotateBuffers = true },
		"first":   func(o *RunOptions) { o.Warmup = &zero },
	} {
		o := small("mi355x")
		set(&o)
		path, want := traced(t, o)
		got := mustReplay(t, ReplayOptions{File: path})
		if plain(t, got) != plain(t, want) || want.LLCStart == warm.LLCStart {
			t.Errorf("%s: the replay takes %d cycles from an LLC that is %s, the run %d from one that is %s", name, got.Cycles, got.LLCStart, want.Cycles, want.LLCStart)
		}
	}
	o.Warmup, o.Trace = &one, filepath.Join(t.TempDir(), "a.trace")
	if _, err := Run(o); err == nil || !strings.Contains(err.Error(), "--warmup") {
		t.Errorf("a trace of a run after another: %v", err)
	}
}

// TestReplayOnChangedMachines takes one kernel through every kind of change, with
// cycles that do change.
func TestReplayOnChangedMachines(t *testing.T) {
	o := RunOptions{Kernel: "gemm", Arch: "mi355x", Set: oneDie, M: 1024, N: 1024, K: 512, Mode: "timing", Threads: 1, Seed: 1, PerInstruction: true}
	path, want := traced(t, o)
	for _, set := range append(slices.Clone(changes), []string{"lds.fifo_entries=2"}, []string{"chip.cus_per_xcd=2"}, []string{"mfma.scale=2"}, []string{"cu.barrier_cycles=40"}) {
		fresh := o
		fresh.Set = append(slices.Clone(o.Set), set...)
		f := mustRun(t, fresh)
		if got := mustReplay(t, ReplayOptions{File: path, Set: set, Threads: 2}); plain(t, got) != plain(t, f) {
			t.Errorf("%v: the replay takes %d cycles, a fresh run %d", set, got.Cycles, f.Cycles)
		}
		if f.Cycles == want.Cycles && set[0] != "l2.bytes=1048576" {
			t.Errorf("%v changes nothing", set)
		}
	}
	// Another machine by name, of the same processor.
	got := mustReplay(t, ReplayOptions{File: path, Arch: "mi350x", Set: oneDie})
	fresh := o
	fresh.Arch = "mi350x"
	if f := mustRun(t, fresh); plain(t, got) != plain(t, f) {
		t.Errorf("mi350x: the replay takes %d cycles, a fresh run %d", got.Cycles, f.Cycles)
	}
}

// TestTraceBytes: the same run writes the same trace, on one thread and on
// several, and full mode records the same waves as timing mode.
func TestTraceBytes(t *testing.T) {
	dir := t.TempDir()
	o := small("mi355x")
	var first []byte
	for i, threads := range []int{1, 1, 3} {
		o.Threads, o.Trace = threads, filepath.Join(dir, "t.trace")
		mustRun(t, o)
		b, err := os.ReadFile(o.Trace)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b
		} else if !bytes.Equal(b, first) {
			t.Errorf("%d threads write another trace", threads)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("temporary files stay behind: %v %v", left, err)
	}
}

// TestReplayOfSuites records code objects: other addressing, EXEC masks, scalar
// loads, full mode.
func TestReplayOfSuites(t *testing.T) {
	dir := t.TempDir()
	if err := suite.Extract(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"triton", "clang"} {
		launches, err := suite.Launches(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range launches {
			t.Run(name+"/"+l.Name+"/"+l.CPU, func(t *testing.T) {
				file := filepath.Join(dir, "launch", "trace.yaml")
				if err := os.WriteFile(file, []byte(l.Text), 0o644); err != nil {
					t.Fatal(err)
				}
				o := LaunchOptions{File: file, RunOptions: RunOptions{Arch: suiteMachines[l.CPU], Mode: "timing", Threads: 1, Trace: filepath.Join(dir, "l.trace")}}
				want, err := RunLaunch(o)
				if err != nil {
					t.Fatal(err)
				}
				got := mustReplay(t, ReplayOptions{File: o.Trace})
				if got.Cycles != want.Cycles || got.WaveInstructions != want.WaveInstructions || !maps.Equal(countsOf(got.Stalls), countsOf(want.Stalls)) {
					t.Errorf("the replay takes %d cycles and %d instructions, the run %d and %d", got.Cycles, got.WaveInstructions, want.Cycles, want.WaveInstructions)
				}
			})
		}
	}
}

func countsOf(c report.Counts) map[string]int64 {
	m := map[string]int64{}
	for _, x := range c {
		m[x.Name] = x.Value
	}
	return m
}
