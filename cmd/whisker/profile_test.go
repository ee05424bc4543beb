package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCPUProfile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.pprof")
	var out, errs bytes.Buffer
	if code := run([]string{"run", "gemm", "--arch", "teaching", "--size", "256", "--cpu-profile", path}, &out, &errs); code != exitDone {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := gzip.NewReader(f); err != nil {
		t.Errorf("not a profile: %v", err)
	}
}

// A command that is used wrongly leaves no profile, and one that cannot be written
// is a sentence.
func TestCPUProfileRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "cpu.pprof")
	var out, errs bytes.Buffer
	if code := run([]string{"run", "gemm", "--size", "-1", "--cpu-profile", path}, &out, &errs); code != exitUsage {
		t.Errorf("exit %d, want %d: %s", code, exitUsage, &errs)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, args := range [][]string{
		{"run", "gemm", "--arch", "teaching", "--size", "256", "--html", path, "--cpu-profile", path},
		{"run", "gemm", "--arch", "teaching", "--size", "256", "--cpu-profile", filepath.Join(dir, "x", "..", "cpu.pprof"), "--trace", path},
	} {
		errs.Reset()
		if code := run(args, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), "--cpu-profile") {
			t.Errorf("%v: exit %d: %s", args, code, &errs)
		}
	}
	errs.Reset()
	if code := run([]string{"list", "--cpu-profile", filepath.Join(dir, "no", "cpu.pprof")}, &out, &errs); code == exitDone || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("exit %d: %q", code, errs.String())
	}
}
