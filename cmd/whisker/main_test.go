package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		args   string
		code   int
		stdout string // contained
		stderr string // contained
	}{
		{"--help", 0, "Example:\n  whisker run gemm", ""},
		{"run --help", 0, "Example:\n  whisker run gemm --size 4096", ""},
		{"config show --help", 0, "--set lds.bytes=262144", ""},
		{"version", 0, "whisker ", ""},
		{"list", 0, "gemm", ""},
		{"config list", 0, "mi355x", ""},
		{"config list --format json", 0, `"name": "mi355x"`, ""},
		{"config show teaching", 0, "lds:", ""},
		{"config diff mi355x mi300x", 0, "lds.bytes", ""},

		{"lds analyze --op ds_read_b128 --layout st_16x32", 0, "without swizzle", ""},
		{"lds analyze --op ds_read_b64 --arch mi300x --layout stride=128 --format json", 0, `"arch": "gfx942"`, ""},
		{"lds analyze --op ds_read_b32 --arch teaching --layout stride=4 --no-swizzle --format csv", 0, "lane,phase,address", ""},

		{"lds analyze --op ds_read_b128", 2, "", "--layout"},
		{"lds analyze --op ds_read_b127 --layout stride=4", 2, "", "ds_read_b127"},
		{"lds analyze --op ds_read_b128 --layout st_9x9", 2, "", "st_16x32"},
		{"lds analyze --op ds_read_b128 --layout stride=x", 2, "", "stride=x"},
		{"lds analyze --op ds_read_b128 --layout addresses=nowhere", 2, "", "nowhere"},
		{"lds analyze --op ds_read_b128 --layout st_16x32 --access 99", 2, "", "99"},
		{"lds analyze --op ds_read_b128 --layout st_16x32 --arch gfx90a", 2, "", "gfx942"},
		{"lds", 2, "", "analyze"},

		{"", 2, "", "expected one of"},
		{"fly", 2, "", "unknown command"},
		{"run", 2, "", "<kernel>"},
		{"run gem", 2, "", "choose gemm"},
		{"run gemm --sise 3", 2, "", "--size"},
		{"run gemm --m many", 2, "", "--m"},
		{"run gemm --m 0", 2, "", "M = 0"},
		{"run gemm --m=-5", 2, "", "M = -5"},
		{"run gemm --m 99999999999999999999", 2, "", "--m"},
		{"run gemm --window=-1", 2, "", "--window is -1"},
		{"run gemm --mode fast", 2, "", "functional"},
		{"run gemm --format xml", 2, "", "table, json or csv"},
		{"run gemm --arch mi355", 2, "", "mi355x"},
		{"run gemm --machine /", 2, "", "directory"},
		{"run gemm --set lds.byte=3", 2, "", "lds.bytes"},
		{"config show nowhere.yaml", 2, "", "nowhere.yaml"},
		{"config show --set lds.bytes=big", 2, "", "lds.bytes"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(strings.Fields(c.args), &stdout, &stderr)
			if code != c.code {
				t.Errorf("exit code %d, want %d; stderr: %s", code, c.code, &stderr)
			}
			if !strings.Contains(stdout.String(), c.stdout) {
				t.Errorf("stdout does not say %q:\n%s", c.stdout, &stdout)
			}
			if !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("stderr does not say %q:\n%s", c.stderr, &stderr)
			}
			if c.code != 0 {
				if stdout.Len() > 0 {
					t.Errorf("a refusal wrote to stdout: %s", &stdout)
				}
				if n := strings.Count(stderr.String(), "\n"); n != 1 {
					t.Errorf("a refusal has %d lines: %s", n, &stderr)
				}
			}
		})
	}
}
