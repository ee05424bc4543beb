package sim

import (
	"encoding/csv"
	"flag"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/report"
)

var accuracy = flag.Bool("accuracy", false, "run the accuracy check (minutes)")

// point of the accuracy check: a run, the figure taken from it, what hardware
// measured, how far off it may be, and what this version gives. The last makes
// any change of a figure visible: the file is changed along with the model.
var accuracyRuns = map[string]struct {
	run    RunOptions
	figure func(*report.Run) float64
}{
	"mi355x_gemm_4096_tflops": {
		RunOptions{Kernel: "gemm", Arch: "mi355x", M: 4096, N: 4096, K: 4096},
		func(r *report.Run) float64 { return r.TFLOPS }},
	"mi325x_gemm_k_step_cycles": {
		RunOptions{Kernel: "gemm", Arch: "mi325x", M: 4096, N: 4096, K: 1024},
		func(r *report.Run) float64 { return r.LoopCyclesPerStep }},
	"mi355x_4wave_256x256_loop_percent": {
		RunOptions{Kernel: "gemm", Arch: "mi355x", M: 4096, N: 4096, K: 2048, Schedule: "interleave4", DType: "fp16", Tile: "256x256"}, loopPercent},
	"mi355x_4wave_256x128_loop_percent": {
		RunOptions{Kernel: "gemm", Arch: "mi355x", M: 4096, N: 2048, K: 2048, Schedule: "interleave4", DType: "fp16", Tile: "256x128"}, loopPercent},
	"mi355x_4wave_128x128_loop_percent": {
		RunOptions{Kernel: "gemm", Arch: "mi355x", M: 2048, N: 2048, K: 2048, Schedule: "interleave4", DType: "fp16", Tile: "128x128"}, loopPercent},
	"mi355x_4wave_128x64_loop_percent": {
		RunOptions{Kernel: "gemm", Arch: "mi355x", M: 2048, N: 1024, K: 2048, Schedule: "interleave4", DType: "fp16", Tile: "128x64"}, loopPercent},
}

func loopPercent(r *report.Run) float64 { return r.LoopMatrixUtilization * 100 }

// TestAccuracy compares simulated figures with measured ones, within the
// tolerance that the file states, and with what this version is known to give,
// within half a percent.
func TestAccuracy(t *testing.T) {
	if !*accuracy {
		t.Skip("runs with -accuracy")
	}
	f, err := os.Open("testdata/accuracy.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, row := range rows[1:] {
		name := row[0]
		var v [3]float64 // measured, tolerance, known
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i+1], 64); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		a, ok := accuracyRuns[name]
		if !ok {
			t.Fatalf("accuracy.csv: no run %q", name)
		}
		seen++
		t.Run(name, func(t *testing.T) {
			o := a.run
			o.Mode, o.Threads, o.Seed = "timing", 2, 1
			if !strings.HasSuffix(name, "_tflops") { // a figure in cycles needs no power budget
				o.Set = []string{"clock.law=sustained"}
			}
			r, err := Run(o)
			if err != nil {
				t.Fatal(err)
			}
			got := a.figure(r)
			t.Logf("simulated %.2f, measured %g (tolerance %g, %s)", got, v[0], v[1], row[4])
			if math.Abs(got-v[0]) > v[1] {
				t.Errorf("%.2f is more than %g from the measured %g", got, v[1], v[0])
			}
			if math.Abs(got/v[2]-1) > 0.005 {
				t.Errorf("%.2f, but accuracy.csv says that this version gives %g", got, v[2])
			}
		})
	}
	if seen != len(accuracyRuns) {
		t.Errorf("accuracy.csv has %d of %d points", seen, len(accuracyRuns))
	}
}
