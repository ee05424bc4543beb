package main

import (
	"bytes"
	"strings"
	"testing"
)

// Flags that would do nothing are refused by name.
func TestIdleFlags(t *testing.T) {
	for args, want := range map[string]string{
		"report r.sqlite --only size=256":                  "--only is of --plot",
		"report r.sqlite --x size -o r.csv":                "--x is of --plot",
		"swizzle estimate --table4 -W 5":                   "--window is not for --table4",
		"swizzle show --grid 5x5 --m 4096":                 "--m is not for --grid",
		"sweep study.yaml --partition x":                   "--partition is of --slurm",
		"validate --from x.csv --tolerance 0.1":            "--tolerance is of --fail-if-worse",
		"reproduce table5 --rounds 1 --out " + t.TempDir(): "--rounds samples workgroups",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d and %q, want %q", args, code, &stderr, want)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run(strings.Fields("swizzle show --grid 5x5 -W 2"), &stdout, &stderr); code != exitDone {
		t.Errorf("a flag that does something: exit code %d and %q", code, &stderr)
	}
}
