package whisker_test

import (
	"strings"
	"testing"
)

// TestReadme runs the commands that README shows with their output.
func TestReadme(t *testing.T) {
	const prefix, main = "go run ./cmd/whisker ", "run gemm"
	n := document{path: "README.md", dir: ".",
		skip: func(cmd string) bool { return cmd == prefix+main && !*longRun },
		args: func(cmd string) string {
			if cmd == prefix+main {
				cmd += " --threads 2" // the output is the same on any number
			}
			return "whisker " + strings.TrimPrefix(cmd, prefix)
		}}.check(t)
	if n < 4 {
		t.Errorf("README shows %d commands with output, want at least 4", n)
	}
}
