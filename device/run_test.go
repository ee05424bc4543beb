package device

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// fakeMachine is a machine with a gfx950 and a ROCm whose compiler and profiler are
// scripts of testdata/fake. Without lists files that it lacks.
func fakeMachine(t *testing.T, without ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		"dev/kfd": "",
		"sys/class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 128\ngfx_target_version 0\n",
		"sys/class/kfd/kfd/topology/nodes/1/properties": "simd_count 1024\ngfx_target_version 90500\n",
		"opt/rocm/include/hip/hip_runtime_api.h":        "",
		"opt/rocm/lib/libamdhip64.so":                   "",
	} {
		if !slices.Contains(without, name) {
			write(t, root, name, text)
		}
	}
	fake, err := filepath.Abs("testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ROCM_PATH", filepath.Join(root, "opt/rocm"))
	t.Setenv("CXX", filepath.Join(fake, "cxx"))
	t.Setenv("ROCPROFV3", filepath.Join(fake, "rocprofv3"))
	if slices.Contains(without, "rocprofv3") {
		t.Setenv("ROCPROFV3", "")
	}
	return root
}

// files lists what is below a folder, with sizes.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.Walk(dir, func(p string, i os.FileInfo, err error) error {
		if err == nil {
			out = append(out, p+" "+i.ModTime().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is missing is named, all of it, and nothing is changed.
func TestRunNamesWhatIsMissing(t *testing.T) {
	dir := exportSmall(t, "rotary", map[string]string{"batch": "1", "heads": "1", "seq": "32"})
	for _, c := range []struct {
		name    string
		without []string
		want    []string
	}{
		{"GPU", []string{"dev/kfd"}, []string{"an AMD GPU with its driver"}},
		{"ROCm", []string{"opt/rocm/include/hip/hip_runtime_api.h", "opt/rocm/lib/libamdhip64.so", "rocprofv3"}, []string{"HIP's headers", "libamdhip64.so is neither", "rocprofv3: it is neither"}},
		{"all", []string{"dev/kfd", "opt/rocm/lib/libamdhip64.so"}, []string{"an AMD GPU", "HIP's runtime"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, before := fakeMachine(t, c.without...), files(t, dir)
			_, err := Run(RunOptions{Dir: dir, Log: io.Discard, root: root})
			m, missing := errors.AsType[*MissingError](err)
			if !missing || len(m.What) != len(c.want) {
				t.Fatalf("error %v, want %d things missing", err, len(c.want))
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in %q", w, err)
				}
			}
			if !slices.Equal(before, files(t, dir)) {
				t.Error("the folder was changed")
			}
		})
	}
	t.Run("another GPU", func(t *testing.T) {
		root := fakeMachine(t)
		write(t, root, "sys/class/kfd/kfd/topology/nodes/1/properties", "gfx_target_version 90402\n")
		if _, err := Run(RunOptions{Dir: dir, Log: io.Discard, root: root}); err == nil || !strings.Contains(err.Error(), "a gfx950 GPU: it has gfx942") {
			t.Errorf("error %v", err)
		}
	})
}

func TestGFXNames(t *testing.T) {
	for v, want := range map[string]string{"90402": "gfx942", "90500": "gfx950", "90010": "gfx90a", "110000": "gfx1100", "120001": "gfx1201", "80003": "gfx803"} {
		if got := gfxOf(v); got != want {
			t.Errorf("%s is %s, want %s", v, got, want)
		}
	}
}

// The whole flow, with a compiler, a device binary and a profiler that behave in
// every way that they do in practice.
func TestRunFlow(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	dir := exportSmall(t, "rotary", map[string]string{"batch": "1", "heads": "1", "seq": "32"})
	root := fakeMachine(t)
	for _, c := range []struct {
		name, variable, value string
		timeout               time.Duration
		want                  []string // problems
		results               bool
	}{
		{"good", "FAKE_HOST", "ok", 0, nil, true},
		{"the program fails", "FAKE_HOST", "fail", 0, []string{"step plain failed with exit code 1: host: launch of k: out of memory"}, true},
		{"the GPU goes away", "FAKE_HOST", "gone", 0, []string{"step plain failed with exit code 3"}, true},
		{"the program hangs", "FAKE_HOST", "slow", time.Second, []string{"step plain ran into its time limit"}, true},
		{"half a timing", "FAKE_HOST", "half", 0, []string{"timing.json: it is no JSON object that the host program printed"}, true},
		{"the profiler fails", "FAKE_PROFILER", "fail", 0, []string{"step counters-sq-compute failed with exit code 7: rocprofv3: counters cannot be collected", "step counters-tcc failed"}, true},
		{"a counter is missing", "FAKE_PROFILER", "missing", 0, []string{"step counters-sq-compute did not give SQ_WAVES of rotary_128_gfx950"}, true},
		{"half a CSV", "FAKE_PROFILER", "half", 0, []string{"counters-sq-compute/sq-compute_counter_collection.csv:14: the file ends in the middle of this row"}, true},
		{"the profiler hangs", "FAKE_PROFILER", "slow", 4 * time.Second, []string{"step counters-sq-compute ran into its time limit"}, true},
		{"an empty thread trace", "FAKE_PROFILER", "null", 0, []string{"there is no code list, or it is null"}, true},
		{"the program does not build", "FAKE_CXX", "fail", 0, []string{"the host program does not build", "host.cpp:1: error: fake"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.timeout > 0 {
				t.Skip("short")
			}
			t.Setenv(c.variable, c.value)
			for _, f := range []string{"host", resultsFolder} {
				if err := os.RemoveAll(filepath.Join(dir, f)); err != nil {
					t.Fatal(err)
				}
			}
			r, err := Run(RunOptions{Dir: dir, Timeout: c.timeout, Log: io.Discard, root: root})
			if (err != nil) != (len(c.want) > 0) {
				t.Fatalf("error %v", err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is not in %q", w, err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, resultsFolder)); (err == nil) != c.results {
				t.Errorf("results folder: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".results.partial*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if err == nil {
				if len(r.Steps) != 8 || r.Measurement.Timing[0].Time.MedianUS != 10.5 || len(r.Measurement.Traces) != 1 {
					t.Errorf("results %+v", r)
				}
				k := r.Measurement.find("rotary_128_gfx950")
				if k == nil || k.Counter("TCC_HIT_sum") == nil || k.Counter("TCC_HIT_sum").Mean != 150 || k.TraceUS.Mean != 8 {
					t.Errorf("kernel %+v", k)
				}
			}
		})
	}
}

// Earlier results are kept.
func TestRunKeepsOldResults(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		write(t, dir, "results/steps.tsv", "")
		if err := keepOld(filepath.Join(dir, "results")); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"results.1", "results.2", "results.3"} {
		if _, err := os.Stat(filepath.Join(dir, n)); err != nil {
			t.Error(err)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Run(RunOptions{Dir: dir, Log: io.Discard}); err == nil || !strings.Contains(err.Error(), "is no exported folder") {
		t.Errorf("error %v", err)
	}
	write(t, dir, manifestFile, "{}")
	if _, err := Run(RunOptions{Dir: dir, Log: io.Discard}); err == nil || !strings.Contains(err.Error(), "the export is damaged") {
		t.Errorf("error %v", err)
	}
}
