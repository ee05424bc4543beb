package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestLaunchCommand(t *testing.T) {
	const object = "../../workloads/suite/objects/vadd.gfx950.hsaco"
	const launch = "../../workloads/suite/launch/triton_vadd.yaml"
	for _, c := range []struct {
		args   string
		code   int
		output string // contained in what is printed
	}{
		{"run --code-object " + object + " --print-launch", 0, "args:\n  - {name: \"arg0\""},
		{"run --code-object " + object + " --kernel vadd --print-launch", 0, "kernel: \"vadd\""},
		{"run --launch " + launch + " --mode functional", 0, "float64 vadd"},
		{"run --launch " + launch + " --format json", 0, `"cycles"`},
		{"run --launch " + launch + " --arch mi300x", 2, "choose --arch"},
		{"run --launch nowhere.yaml", 2, "nowhere.yaml"},
		{"run --launch " + launch + " --max-cycles 100", 1, "--max-cycles"},
		{"run --launch " + launch + " --max-cycles=-1", 2, "--max-cycles"},
		{"run --launch " + launch + " --code-object " + object, 2, "--launch names"},
		{"run gemm --launch " + launch, 2, "not both"},
		{"run --code-object " + object, 2, "--print-launch"},
		{"run --print-launch", 2, "--code-object"},
		{"run --code-object " + object + " --kernel foot --print-launch", 2, "it has vadd"},
		{"run --code-object main.go --print-launch", 2, "not an ELF file"},
		{"run --suite triton --format csv", 0, "attention,gfx950"},
		{"run --suite rocm", 2, "mgpusim"},
		{"run --suite triton --launch x", 2, "--suite brings"},
		{"run gemm --suite triton", 2, "not both"},
		{"run gemm --kernel x", 2, "for code objects"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(c.args), &stdout, &stderr); code != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, &stderr)
		}
		if out := stdout.String() + stderr.String(); !strings.Contains(out, c.output) {
			t.Errorf("%s does not say %q:\n%s", c.args, c.output, out)
		}
	}
}
