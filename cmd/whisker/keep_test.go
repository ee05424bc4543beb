package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An output that would replace an input is refused, and the input stays as it was.
func TestInputsStay(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for to, from := range map[string]string{
		"square.co":      "../../docs/lessons/square.s", // the name that asm would give its output
		"stream.txt":     "../../docs/lessons/stream.txt",
		"mine.yaml":      "../../configs/teaching.yaml",
		"square.s":       "../../docs/lessons/square.s",
		"vadd.co":        "../../workloads/suite/objects/vadd.gfx950.hsaco",
		"vadd.yaml":      "",
		"code/code.json": "",
		"points.csv":     "../../sim/tables/validate_short.csv",
		"a.json":         "../../report/testdata/sample.json",
		"study.yaml":     "../../studies/lds-l2.yaml",
	} {
		b := []byte("code_object: vadd.co\ngrid: [1]\nworkgroup: [256]\n")
		if from != "" {
			var err error
			if b, err = os.ReadFile(from); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Dir(at(to)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(to), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("square.s", at("link.s")); err != nil {
		t.Fatal(err)
	}
	const gemm = "run gemm --size 256 --machine "
	for args, input := range map[string]string{
		"isa asm " + at("square.co"):                                                                 "square.co",
		"isa asm " + at("square.s") + " -o " + at("link.s"):                                          "square.s",
		"trace import text " + at("stream.txt") + " -o " + at("stream.txt"):                          "stream.txt",
		"trace import att " + at("code") + " --launch " + at("vadd.yaml") + " -o " + at("vadd.yaml"): "vadd.yaml",
		gemm + at("mine.yaml") + " --html " + at("mine.yaml"):                                        "mine.yaml",
		gemm + at("mine.yaml") + " --trace " + at("mine.yaml"):                                       "mine.yaml",
		"run --launch " + at("vadd.yaml") + " --html " + at("vadd.yaml"):                             "vadd.yaml",
		"run --launch " + at("vadd.yaml") + " --trace " + at("vadd.co"):                              "vadd.co",
		"report " + at("a.json") + " --plot stalls -o " + at("a.json"):                               "a.json",
		"calibrate mi355x --from " + at("a.json") + " --out " + at("a.json"):                         "a.json",
		"swizzle show --machine " + at("mine.yaml") + " --grid 8x8 --png " + at("mine.yaml"):         "mine.yaml",
		"compare " + at("a.json") + " " + at("a.json") + "#1 --cpu-profile " + at("a.json"):          "a.json",
		"isa disasm " + at("vadd.co") + " --cpu-profile " + at("vadd.co"):                            "vadd.co",
		"validate --from " + at("points.csv") + " --out " + at("points.csv"):                         "points.csv",
		"sweep " + at("study.yaml") + " --out " + at("study.yaml"):                                   "study.yaml",
		"tune gemm --machine " + at("mine.yaml") + " --size 2048 --keep " + at("mine.yaml"):          "mine.yaml",
	} {
		before, err := os.ReadFile(at(input))
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(args), &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "is also read") {
			t.Errorf("%s: exit code %d and %q", args, code, &stderr)
		}
		if after, err := os.ReadFile(at(input)); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: %s is another now (%v)", args, input, err)
		}
	}
}
