package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTraceCommands records, replays and takes apart a trace by the commands that
// docs/trace-format.md names, and refuses what cannot be with one sentence and
// code 2.
func TestTraceCommands(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"empty":    "",
		"good.txt": ".cpu gfx950\n.waves 4\nloop:\n  v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]\n  s_cbranch_scc1 loop @ taken 9\n",
		"bad.txt":  ".cpu gfx950\n  v_mfma_f32_9x9x9 v0, v1, v2, v3\n",
	} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const gemm = "gemm --arch teaching --m 256 --n 256 --k 256 --tile 256x256 --threads 1 "
	for _, c := range []struct {
		args   string
		code   int
		output string // contained in what is printed
		file   string // that must exist then
	}{
		{"trace record " + gemm + "-o " + at("a.trace"), 0, "SPEED OF LIGHT", "a.trace"},
		{"run " + gemm + "--trace " + at("b.trace"), 0, "SPEED OF LIGHT", "b.trace"},
		{"trace replay " + at("a.trace") + " --format json", 0, `"same_machine": true`, ""},
		{"trace replay " + at("a.trace") + " --set lds.latency_cycles=90", 0, "SPEED OF LIGHT", ""},
		{"trace info " + at("a.trace"), 0, "8,544", ""},
		{"trace info " + at("a.trace") + " --format json", 0, `"launches"`, ""},
		{"trace dump " + at("a.trace") + " --workgroups 0 --waves 0 --range 0-3", 0, "s_load_dwordx4", ""},
		{"trace check " + at("a.trace"), 0, "", ""},
		{"trace slice " + at("a.trace") + " --waves 0-3 -o " + at("part.trace"), 0, "part.trace", "part.trace"},
		{"trace replay " + at("part.trace"), 0, "slice", ""},
		{"trace import text " + at("good.txt") + " --arch teaching -o " + at("t.trace"), 0, "t.trace", "t.trace"},
		{"trace replay " + at("t.trace"), 0, "matrix pipe", ""},
		{"trace import text " + at("bad.txt") + " -o " + at("x.trace"), 2, "bad.txt:2:3", ""},
		{"trace import att " + at("nowhere") + " -o " + at("x.trace"), 2, "no folder", ""},
		{"trace import att " + dir + " -o " + at("x.trace"), 2, "code.json is missing", ""},
		{"trace compare " + at("a.trace"), 2, "", ""},
		{"trace replay " + at("a.trace") + " --kernel gemm", 2, "--code-object", ""},
		{"trace check " + at("a.trace") + " --kernel gemm", 2, "--code-object", ""},
		{"trace record " + gemm + "-o " + at("x.trace") + " --trace " + at("y.trace"), 2, "twice", ""},
		{"trace dump " + at("a.trace") + " --range 999999", 2, "instructions 0 to 1067", ""},
		{"run " + gemm + "--record-limit-mb 0 --record " + at("x.trace"), 2, "1 or more", ""},
		{"trace replay " + at("empty"), 2, "not a valid trace", ""},
		{"trace info " + at("none.trace"), 2, "none.trace", ""},
		{"trace dump " + at("a.trace") + " --waves x", 2, "waves", ""},
		{"trace slice " + at("a.trace") + " --waves 0 -o " + at("a.trace"), 2, "is also read", ""},
		{"run " + gemm + "--record-limit-mb 64", 2, "no output is asked for", ""},
		{"trace slice " + at("a.trace") + " --waves 99 -o " + at("x.trace"), 2, "none of the waves", ""},
		{"trace replay " + at("a.trace") + " --arch mi300x", 2, "gfx942", ""},
		{"trace record " + gemm + "--mode functional -o " + at("x.trace"), 2, "functional", ""},
		{"trace record gem -o " + at("x.trace"), 2, "unknown kernel", ""},
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
		if strings.Contains(c.args, "--format json") {
			var v map[string]any
			if err := json.Unmarshal(stdout.Bytes(), &v); err != nil {
				t.Errorf("%s: its JSON is no object: %v", c.args, err)
			}
		}
	}
	if _, err := os.Stat(at("x.trace")); err == nil {
		t.Error("a refused command left a trace")
	}
	a, err := os.ReadFile(at("a.trace"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(at("b.trace"))
	if err != nil || !bytes.Equal(a, b) {
		t.Errorf("trace record and run --trace write different files, %d and %d bytes (%v)", len(a), len(b), err)
	}
}
