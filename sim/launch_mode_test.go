package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/workloads/suite"
)

// inFullOnly are the kernels that steer themselves by values which timing mode
// does not compute.
var inFullOnly = map[string]string{
	"abi": "stores what it reads back by flat addresses of its own scratch",
}

// TestTimingIsFull runs every launch of the suites in timing and in full mode:
// the cycles, the instructions and the stalls must be the same, and no kernel
// may need full mode unless it is known to.
func TestTimingIsFull(t *testing.T) {
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
				file := filepath.Join(dir, "launch", "mode.yaml")
				if err := os.WriteFile(file, []byte(l.Text), 0o644); err != nil {
					t.Fatal(err)
				}
				o := LaunchOptions{File: file, RunOptions: RunOptions{Arch: suiteMachines[l.CPU], Mode: "timing", Threads: 1}}
				timing, err := RunLaunch(o)
				if err != nil {
					t.Fatal(err)
				}
				again := strings.Contains(strings.Join(timing.Notes, "\n"), "ran in full mode")
				if _, known := inFullOnly[l.Name]; again != known {
					t.Errorf("ran in full mode: %v; notes: %q", again, timing.Notes)
				}
				o.Mode = "full"
				full, err := RunLaunch(o)
				if err != nil {
					t.Fatal(err)
				}
				if timing.Cycles != full.Cycles || timing.WaveInstructions != full.WaveInstructions {
					t.Errorf("timing mode: %d cycles, %d instructions; full mode: %d, %d", timing.Cycles, timing.WaveInstructions, full.Cycles, full.WaveInstructions)
				}
			})
		}
	}
}
