package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestViewCommand records a run, makes what is asked for of it, and refuses what
// cannot be with one sentence and code 2.
func TestViewCommand(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("empty"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(wd, at("x.html"))
	if err != nil {
		t.Fatal(err)
	}
	const gemm = "gemm --arch teaching --tile 256x256 --m 256 --n 256 --k 256 "
	for _, c := range []struct {
		args   string
		code   int
		output string // contained in what is printed
		file   string // that must exist then
	}{
		{"run " + gemm + "--format json --record " + at("r.whisker") + " --html " + at("r.html") + " --threads 1", 0, `"cycles"`, "r.html"},
		{"view " + at("r.whisker") + " -o " + at("v.html"), 0, "wrote", "v.html"},
		{"view " + at("r.whisker") + " --window-cycles 4000:5000 --konata " + at("k.log"), 0, "k.log", "k.log"},
		{"view " + at("r.whisker") + " --picture tile=" + at("t.svg"), 0, "t.svg", "t.svg"},
		{"view " + at("empty"), 2, "is empty", ""},
		{"view " + at("r.html"), 2, "not a recorded run", ""},
		{"view " + at("r.whisker") + " --window-cycles 99999999:", 2, "outside", ""},
		{"view", 2, "<run>", ""},
		{"view " + at("r.whisker") + " -o " + at("r.whisker"), 2, "is also read", "r.whisker"},
		{"view " + at("r.whisker") + " -o " + at("x.html") + " --html " + at("y.html"), 2, "twice", ""},
		{"view " + at("r.whisker") + " --perfetto " + at("x.html") + " --html " + dir + "/./x.html", 2, "two outputs", ""},
		{"run " + gemm + "--perfetto " + at("x.html") + " --html " + at("x.html"), 2, "two outputs", ""},
		{"run " + gemm + "--perfetto " + at("x.html") + " --html " + relative, 2, "two outputs", ""},
		{"run " + gemm + "--trace " + at("x.html") + " --html " + at("x.html"), 2, "two outputs", ""},
		{"run " + gemm + "--window-cu 0.0", 2, "no output is asked for", ""},
		{"run " + gemm + "--html " + at("no/x.html"), 2, "no directory", ""},
		{"run " + gemm + "--window-cu 5.5 --html " + at("x.html"), 2, "XCDs 0 to 0", ""},
		{"run " + gemm + "--mode functional --html " + at("x.html"), 2, "functional", ""},
		{"step " + gemm + "--script show", 0, "SIMD.slot", ""},
		{"step " + gemm + "--script jump", 2, "unknown command", ""},
		{"step " + gemm + "--cu 7 --script show", 2, "CUs 0 to 0", ""},
		{"step gem --script show", 2, "unknown kernel", ""},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(strings.Fields(c.args), &stdout, &stderr); code != c.code {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, &stderr)
		}
		if out := stdout.String() + stderr.String(); !strings.Contains(out, c.output) {
			t.Errorf("%s does not say %q:\n%s", c.args, c.output, out)
		}
		if c.code != 0 && strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: not one sentence: %s", c.args, &stderr)
		}
		if c.file != "" {
			if _, err := os.Stat(at(c.file)); err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := os.Stat(at("x.html")); err == nil {
		t.Error("a refused run left a file")
	}
}
