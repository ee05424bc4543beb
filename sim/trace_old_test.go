package sim

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/report/att"
	"github.com/whisker-sim/whisker/trace"
	"github.com/whisker-sim/whisker/workloads/suite"
)

// rewrite copies a trace with another head of its launch.
func rewrite(t *testing.T, path string, change func(l *trace.Launch)) string {
	t.Helper()
	in, err := openTrace(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out := filepath.Join(t.TempDir(), "rewritten.trace")
	if err := writeTrace(out, func(w *trace.Writer) error {
		l := *in.Launch(0)
		change(&l)
		if err := w.Begin(&l, in.Program(0)); err != nil {
			return err
		}
		for _, g := range in.Workgroups(0) {
			for _, v := range in.Waves(0, g) {
				parts, err := in.Wave(0, g, v)
				if err != nil {
					return err
				}
				for _, p := range parts {
					if err := w.Wave(p); err != nil {
						return err
					}
				}
			}
		}
		return w.End(in.Result(0).Cycles)
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOldTrace: a trace whose machine lacks keys that have come since replays with
// the built-in machine's values of them, to the recorded cycles where they are
// the same, and says so in one line.
func TestOldTrace(t *testing.T) {
	path, cycles := tinyTrace(t)
	old := rewrite(t, path, func(l *trace.Launch) {
		var keep []string
		for _, line := range strings.Split(l.Machine.YAML, "\n") {
			if k := strings.TrimSpace(line); !strings.HasPrefix(k, "barrier_cycles:") && !strings.HasPrefix(k, "branch_taken_cycles:") {
				keep = append(keep, line)
			}
		}
		l.Machine.YAML, l.Machine.Hash = strings.Join(keep, "\n"), "0123456789abcdef"
	})
	r := mustReplay(t, ReplayOptions{File: old})
	const want = "the trace is older than cu.barrier_cycles, cu.branch_taken_cycles of its machine: taken from mi355x"
	if r.Cycles != cycles || !r.Replay.SameMachine || strings.Count(strings.Join(r.Notes, "\n"), want) != 1 {
		t.Errorf("%d cycles, recorded %d; same machine %v; notes %q", r.Cycles, cycles, r.Replay.SameMachine, r.Notes)
	}
	if r := mustReplay(t, ReplayOptions{File: old, Set: []string{"cu.barrier_cycles=80"}}); r.Cycles == cycles || r.Replay.SameMachine {
		t.Errorf("with slower barriers %d cycles, same machine %v", r.Cycles, r.Replay.SameMachine)
	}
	bad := rewrite(t, path, func(l *trace.Launch) { l.Machine.YAML += "surprise: 1\n" })
	if _, err := Replay(ReplayOptions{File: bad, Threads: 1}); err == nil || !strings.Contains(err.Error(), "surprise") || !strings.Contains(err.Error(), "--arch") {
		t.Errorf("a key of a later version: %v", err)
	}
}

// TestImportATTLaunch: a thread trace takes its addresses from the launch file of
// the same code, and then asks the caches for as much as the run that it is of.
func TestImportATTLaunch(t *testing.T) {
	dir := t.TempDir()
	if err := suite.Extract(dir); err != nil {
		t.Fatal(err)
	}
	launch := filepath.Join(dir, "launch", "clang_vadd.yaml")
	record := &RecordOptions{CUs: "all"}
	run := RunOptions{Arch: "mi300x", Set: []string{"chip.xcds=1", "chip.iods=1", "chip.cus_per_xcd=2", "chip.shader_engines=1"}, Mode: "timing", Threads: 1, Record: record}
	ran, err := RunLaunch(LaunchOptions{File: launch, RunOptions: run})
	if err != nil {
		t.Fatal(err)
	}
	if err := att.Write(dir, att.FolderName(0, 1), att.From(record.Result)); err != nil {
		t.Fatal(err)
	}
	folder, out := filepath.Join(dir, att.FolderName(0, 1)), filepath.Join(dir, "hw.trace")
	o := ATTOptions{ImportOptions: ImportOptions{Out: out, Arch: run.Arch, Set: run.Set, Format: "table"}, Launch: launch, Waves: ran.Launch.WavesPerWorkgroup}
	var b bytes.Buffer
	if err := ImportATT(&b, folder, o); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); strings.Contains(s, "default locality") || !strings.Contains(s, "addresses are those of "+launch) {
		t.Errorf("the import says\n%s", s)
	}
	r := mustReplay(t, ReplayOptions{File: out})
	if r.WaveInstructions != ran.WaveInstructions || r.TCP.Requests != ran.TCP.Requests || r.L2.Requests != ran.L2.Requests {
		t.Errorf("%d instructions, %d and %d requests of L1 and L2; the run has %d, %d and %d", r.WaveInstructions, r.TCP.Requests, r.L2.Requests,
			ran.WaveInstructions, ran.TCP.Requests, ran.L2.Requests)
	}
	// Another kernel's launch file is refused, and leaves nothing behind.
	o.Launch, o.Out = filepath.Join(dir, "launch", "clang_ldsdma.yaml"), filepath.Join(dir, "other.trace")
	if err := ImportATT(&b, folder, o); err == nil || !strings.Contains(err.Error(), "is of other code than kernel") {
		t.Errorf("another launch file: %v", err)
	}
	if _, err := os.Stat(o.Out); err == nil {
		t.Error("a trace is left behind")
	}
}
