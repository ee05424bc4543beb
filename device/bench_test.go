package device

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/workloads"
)

// someRows are rows of every kind of value.
var someRows = []string{"valu/v_fma_f32/latency", "barrier/waves4", "chase/vector/64MiB", "chase/vector/1GiB", "launch/", "xcd-map/"}

func benchMachine(t *testing.T) *configs.Resolved {
	t.Helper()
	m, err := configs.Load("mi355x")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Without a GPU the bench says what is missing and leaves nothing behind.
func TestBenchNamesWhatIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bench")
	_, err := Bench(BenchOptions{Machine: benchMachine(t), Dir: dir, Only: someRows, Log: io.Discard, root: fakeMachine(t, "dev/kfd")})
	if m, ok := err.(*MissingError); !ok || len(m.What) != 1 || !strings.Contains(err.Error(), "an AMD GPU with its driver") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
	if _, err := Bench(BenchOptions{Machine: benchMachine(t), Dir: dir, Only: []string{"ldss/"}, Log: io.Discard}); err == nil || !strings.Contains(err.Error(), "--only ldss/: no row") {
		t.Errorf("error %v", err)
	}
}

// The whole flow on a fake device whose kernels take 3000 cycles and 640 more a
// unit of length, or 1500 ns and 300 more.
func TestBenchFlow(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	root := fakeMachine(t)
	dir := filepath.Join(t.TempDir(), "bench")
	o := BenchOptions{Machine: benchMachine(t), Dir: dir, Only: someRows, Force: true, Log: io.Discard, root: root}
	r, err := Bench(o)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, resultsFolder, RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	var rows []workloads.MicroRow
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows, r.Rows) || r.File != filepath.Join(dir, resultsFolder, RowsFile) {
		t.Errorf("%s holds other rows than were returned", r.File)
	}
	want := map[string]float64{"valu/v_fma_f32/latency": 2.5, "barrier/waves4": 10, "chase/vector/64MiB": 300, "chase/vector/1GiB": 300, "launch/waves1": 1.0 / 640, "xcd-map/regular": 1}
	if len(rows) != len(want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
	for _, row := range rows {
		if w := want[row.Name]; row.Value < w*0.9999 || row.Value > w*1.0001 || row.CPU != "gfx950" {
			t.Errorf("%s is %g on %s, want %g", row.Name, row.Value, row.CPU, w)
		}
		if row.Name == "xcd-map/regular" && !strings.Contains(row.Note, "workgroup + 4") {
			t.Errorf("note %q", row.Note)
		}
	}
	plan, err := os.ReadFile(filepath.Join(dir, "plan.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(plan), "\ncold\n"); n != 2 {
		t.Errorf("%d kernels start with a cold cache, want the two of the chase over 1 GiB", n)
	}
	c := o
	c.Collect = true
	again, err := Bench(c)
	if err != nil || !slices.Equal(again.Rows, r.Rows) {
		t.Errorf("collected later: %v, %v", again, err)
	}
}

// What goes wrong on the device is said, and what was measured is kept.
func TestBenchFailures(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	root := fakeMachine(t)
	for _, c := range []struct{ name, variable, value, want string }{
		{"the program fails", "FAKE_HOST", "fail", "step plain failed with exit code 1: host: launch of k: out of memory"},
		{"the profiler fails", "FAKE_PROFILER", "fail", "step cycles failed with exit code 7"},
		{"half a CSV", "FAKE_PROFILER", "half", "the file ends in the middle of this row"},
		{"a counter is missing", "FAKE_PROFILER", "missing", "there is no GRBM_GUI_ACTIVE of micro_barrier_waves4"},
		{"the profiler hangs", "FAKE_PROFILER", "slow", "step cycles ran into its time limit"},
		{"the program does not build", "FAKE_CXX", "fail", "the host program does not build"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if testing.Short() && c.value == "slow" {
				t.Skip("short")
			}
			t.Setenv(c.variable, c.value)
			dir := filepath.Join(t.TempDir(), "bench")
			r, err := Bench(BenchOptions{Machine: benchMachine(t), Dir: dir, Only: []string{"barrier/waves4", "chase/vector/64MiB"}, Timeout: 2 * time.Second, Log: io.Discard, root: root})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if c.value == "missing" && (r == nil || len(r.Rows) != 1 || r.Rows[0].Name != "chase/vector/64MiB") {
				t.Errorf("what was measured is not kept: %+v", r)
			}
		})
	}
}

// The host program in a suite's folder, on the stand-in for HIP: it launches every
// kernel so often in sequence, empties the cache where the plan says so, and saves
// the output that it names.
func TestSuiteOnFakeHIP(t *testing.T) {
	cxx := compiler(t)
	dir := filepath.Join(t.TempDir(), "bench")
	if _, err := Bench(BenchOptions{Machine: benchMachine(t), Dir: dir, Only: []string{"xcd-map/", "barrier/waves4"}, ExportOnly: true, Log: io.Discard}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(cxx, "-std=c++17", "-O0", "-Wall", "-Werror", "-D__HIP_PLATFORM_AMD__", "-o", filepath.Join(dir, "host"), filepath.Join(dir, "host.cpp"), "testdata/fakehip.cpp").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	result := make([]byte, 256)
	for wg := range 64 {
		result[4*wg] = byte((wg + 3) % 8)
	}
	file := filepath.Join(dir, "result.bin")
	if err := os.WriteFile(file, result, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_HIP_ARCH", "gfx950")
	t.Setenv("FAKE_HIP_KERNEL", "micro_xcd_map_regular_x64")
	t.Setenv("FAKE_HIP_RESULTS", "1:"+file)
	stdout, said, code := runHost(t, dir, "--repeat", "3", "--save", ".")
	if code != 0 || strings.Contains(stdout, "times_us") || !json.Valid([]byte(stdout)) {
		t.Fatalf("exit code %d: %s %s", code, said, stdout)
	}
	saved, err := words(filepath.Join(dir, "micro_xcd_map_regular_x64.out"), 64)
	if err != nil {
		t.Fatal(err)
	}
	if share, first := workloads.RegularXCDs(saved, 8); share != 1 || first != 3 {
		t.Errorf("%g of the workgroups are where a round robin from XCD %d puts them", share, first)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"cold without a launch", "limit 0\n", "limit 0\ncold\n", "there is no launch before it"},
		{"a region that is not there", "save 5 ", "save 50 ", "there is no such region"},
		{"another folder", " micro_xcd_map_regular_x64.out", " ../x", "the file is not in one folder"},
	} {
		plan, err := os.ReadFile(filepath.Join(dir, "plan.txt"))
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(plan), c.old, c.new, 1)
		if changed == string(plan) {
			t.Fatalf("%s: the plan has no %q:\n%s", c.name, c.old, plan)
		}
		write(t, dir, "plan.txt", changed)
		if _, said, code := runHost(t, dir, "--repeat", "1"); code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %q, want %q", c.name, code, said, c.want)
		}
		write(t, dir, "plan.txt", string(plan))
	}
}
