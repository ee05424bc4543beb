package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whisker-sim/whisker/report/results"
)

// asWhisker makes this test program be the command line program: a sweep starts
// itself for every point.
const asWhisker = "WHISKER_TEST_IS_WHISKER"

func TestMain(m *testing.M) {
	if os.Getenv(asWhisker) == "1" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const sweepStudy = `
kernel: gemm
fixed: {size: 256, chip.xcds: 1, chip.iods: 1, chip.cus_per_xcd: 4}
axes:
  lds.bytes: [163840, 262144]
  l2.bytes: [1048576, 4194304]
  schedule: [pingpong8, interleave4]
`

// whisker starts the program in a folder.
func whisker(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), asWhisker+"=1")
	return cmd
}

func finished(path string) int {
	f, err := results.Open(path, false)
	if err != nil {
		return 0
	}
	defer f.Close()
	points, err := f.Points()
	if err != nil {
		return 0
	}
	return len(points)
}

// A sweep killed with SIGKILL goes on where it was, and ends with the bytes of
// one that was left alone.
func TestSweepSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(sweepStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := whisker(t, dir, "sweep", "study.yaml", "--out", "whole.sqlite", "--jobs", "2").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	killed := filepath.Join(dir, "killed.sqlite")
	before := 0
	for _, at := range []int{2, 5} {
		cmd := whisker(t, dir, "sweep", "study.yaml", "--out", "killed.sqlite", "--jobs", "1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(time.Minute); finished(killed) < at && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		now := finished(killed)
		if now < at || now == 8 || now < before {
			t.Fatalf("%d points after the kill, %d before", now, before)
		}
		before = now
	}
	out, err := whisker(t, dir, "sweep", "study.yaml", "--out", "killed.sqlite", "--format", "json").Output()
	if err != nil || !bytes.Contains(out, []byte(`"done": 8`)) {
		t.Fatalf("%v: %s", err, out)
	}
	a, err1 := os.ReadFile(filepath.Join(dir, "whole.sqlite"))
	b, err2 := os.ReadFile(killed)
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("the files differ: %v, %v, %d and %d bytes", err1, err2, len(a), len(b))
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
}

// Bad input of the commands on studies: one line, exit code 2.
func TestStudyCommandsRefuse(t *testing.T) {
	dir := t.TempDir()
	study := filepath.Join(dir, "study.yaml")
	if err := os.WriteFile(study, []byte(sweepStudy), 0o644); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text.sqlite")
	if err := os.WriteFile(text, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
	}{
		{"sweep " + study, "--out FILE is missing"},
		{"sweep " + dir + "/none.yaml --out x", "no such file"},
		{"sweep " + dir + " --out x", "is a folder"},
		{"sweep " + study + " --out " + dir + "/no/x", "cannot be written"},
		{"sweep " + study + " --out " + text, "not a SQLite database"},
		{"sweep " + study + " --out x --jobs 5000", "--jobs is 5000"},
		{"sweep " + study + " --dry-run --format xml", "xml"},
		{"report " + text, "not a SQLite database"},
		{"report " + dir + "/none.sqlite", "no such results file"},
		{"report " + text + " --format xml", "xml"},
	} {
		var stderr bytes.Buffer
		code := run(strings.Fields(c.args), io.Discard, &stderr)
		if got := stderr.String(); code != exitUsage || !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s, want %q", c.args, code, got, c.want)
		}
	}
}
