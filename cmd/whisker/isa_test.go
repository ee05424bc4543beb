package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestISACommand(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(lines, []byte("0000e1d3040d0204\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		code   int
		output string // contained in what is printed
	}{
		{"isa disasm ../../workloads/suite/objects/hand.gfx950.co --kernel hand", 0, "// 000000001500: C00A0100 00000000"},
		{"isa disasm ../../workloads/suite/objects/hand.gfx950.co --raw-text", 0, "s_load_dwordx4 s[4:7], s[0:1], 0x0\n"},
		{"isa disasm --cpu gfx950 --hex " + lines, 0, "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]\n"},
		{"isa coverage", 0, "gfx950"},
		{"isa coverage --format json", 0, `"opcodes"`},
		{"isa disasm", 2, "--hex"},
		{"isa disasm x.co --hex -", 2, "not both"},
		{"isa disasm --hex nowhere --cpu gfx950", 2, "nowhere"},
		{"isa asm --hex " + lines, 2, "choose gfx942 or gfx950"},
		{"isa asm nowhere.s", 2, "nowhere.s"},
		{"isa", 2, "disasm"},
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
