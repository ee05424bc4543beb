package device

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/workloads"
)

// compiler is a C++ compiler that finds HIP's headers.
func compiler(t *testing.T) string {
	t.Helper()
	cxx, err := exec.LookPath("g++")
	if err == nil {
		c := exec.Command(cxx, "-D__HIP_PLATFORM_AMD__", "-E", "-x", "c++", "-")
		c.Stdin = strings.NewReader("#include <hip/hip_runtime_api.h>\n")
		err = c.Run()
	}
	if err != nil {
		if os.Getenv("REQUIRE_HIP") != "" {
			t.Fatal("HIP's headers and a C++ compiler are required: ", err)
		}
		t.Skip("no C++ compiler with HIP's headers")
	}
	return cxx
}

// The host program compiles and links against the real libamdhip64 without a
// warning, and says that there is no GPU where there is none.
func TestHostLinks(t *testing.T) {
	cxx := compiler(t)
	if _, err := os.Stat("/dev/kfd"); err == nil {
		t.Skip("this machine has a GPU")
	}
	dir := exportSmall(t, "rotary", map[string]string{"batch": "1", "heads": "1", "seq": "32"})
	c := exec.Command("make", "host", "CXX="+cxx, "CXXFLAGS=-std=c++17 -O0 -Wall -Wextra -Werror")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, said, code := runHost(t, dir)
	if code != 3 || !strings.Contains(said, "no AMD GPU was found by HIP") {
		t.Errorf("exit code %d, %q", code, said)
	}
}

// exportSmall exports a kernel for a small gfx950.
func exportSmall(t *testing.T, kernel string, options map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := Export(ExportOptions{Kernel: kernel, Options: options, Seed: 5, Machine: smallMachine(t, isa.GFX950), Dir: dir}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runHost runs the host program in an exported folder.
func runHost(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := exec.Command("./host", args...)
	c.Dir = dir
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// The host program's whole way, on a stand-in for HIP whose launches leave what
// the simulated kernels compute: it verifies with the reference of the export,
// times, and notices wrong values and damaged files.
func TestHostOnFakeHIP(t *testing.T) {
	cxx := compiler(t)
	options := map[string]string{"batch": "1", "heads": "1", "seq": "32"}
	dir := exportSmall(t, "rotary", options)
	out, err := exec.Command(cxx, "-std=c++17", "-O0", "-Wall", "-Werror", "-D__HIP_PLATFORM_AMD__", "-o", filepath.Join(dir, "host"), filepath.Join(dir, "host.cpp"), "testdata/fakehip.cpp").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	job, err := workloads.Build("rotary", workloads.Request{CPU: isa.GFX950, XCDs: 1, Seed: 5, LDSBytes: 160 << 10, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	job.FillInputs()
	l := job.Kernels[0].Launch
	if _, err := emu.Run(l, emu.Options{}); err != nil {
		t.Fatal(err)
	}
	result := filepath.Join(dir, "result.bin")
	good := contents(l.Memory)["o"]
	if err := os.WriteFile(result, good, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_HIP_KERNEL", l.Kernel.Name)
	t.Setenv("FAKE_HIP_RESULTS", "3:"+result)
	t.Setenv("FAKE_HIP_ARCH", "gfx950")
	args := []string{"--warmup", "3", "--launches", "10"}

	stdout, said, code := runHost(t, dir, args...)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	var m Timing
	if err := json.Unmarshal([]byte(stdout), &m); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	if m.Verify == nil || !m.Verify.Passed || m.Verify.Values != job.Values || m.Verify.MaxRelativeError == nil || *m.Verify.MaxRelativeError == 0 {
		t.Errorf("verify %+v", m.Verify)
	}
	if len(m.TimesUS) != 10 || m.Time.MedianUS < 250 || m.Time.MedianUS > 257 || m.Device.Arch != "gfx950:sramecc+:xnack-" || m.Protocol.Warmup != 3 {
		t.Errorf("timing %+v", m)
	}

	for _, c := range []struct {
		name, want string
		code       int
		prepare    func(t *testing.T)
	}{
		{"wrong values", "differ from the reference", 1, func(t *testing.T) { overwrite(t, result, make([]byte, len(good))) }},
		{"another GPU", "device 0 is gfx942", 3, func(t *testing.T) { t.Setenv("FAKE_HIP_ARCH", "gfx942") }},
		{"no GPU", "no AMD GPU was found", 3, func(t *testing.T) { t.Setenv("FAKE_HIP_ARCH", "") }},
		{"damaged input", "is not what was exported", 2, func(t *testing.T) { overwrite(t, filepath.Join(dir, "inputs/x.bin"), []byte("short")) }},
		{"plan cut short", "the plan ends early", 2, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(dir, "plan.txt"))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, filepath.Join(dir, "plan.txt"), b[:len(b)-4])
		}},
		{"no plan", "cannot read", 2, func(t *testing.T) {
			if err := os.Rename(filepath.Join(dir, "plan.txt"), filepath.Join(dir, "was")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.prepare(t)
			_, said, code := runHost(t, dir, args...)
			if code != c.code || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %q; want %d, %q", code, said, c.code, c.want)
			}
		})
	}
}

// overwrite replaces a file until the subtest ends.
func overwrite(t *testing.T, file string, data []byte) {
	t.Helper()
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(file, old, 0o644) })
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
