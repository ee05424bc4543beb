package sim

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const objects = "../workloads/suite/objects/"

func TestISAHex(t *testing.T) {
	const text = "v_mfma_f32_16x16x16_bf16 v[0:3], v[4:5], v[6:7], v[0:3]"
	var out bytes.Buffer
	if err := ISADisasmHex(&out, strings.NewReader("0000e1d3040d0204\n\n0x00,0x00,0xe1,0xd3, 04 0d 02 04\n"), "gfx950"); err != nil {
		t.Fatal(err)
	}
	if want := text + "\n\n" + text + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", &out, want)
	}
	out.Reset()
	if err := ISAAsmHex(&out, strings.NewReader(text+"\n"), "gfx942"); err != nil || out.String() != "0000e1d3040d0204\n" {
		t.Errorf("got %q, %v", &out, err)
	}
}

func TestISARefuses(t *testing.T) {
	var out bytes.Buffer
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no processor":   {ISADisasmHex(&out, strings.NewReader(""), ""), "choose gfx942 or gfx950"},
		"no hex":         {ISADisasmHex(&out, strings.NewReader("000080bf\nxy"), "gfx942"), "line 2:"},
		"cut short":      {ISADisasmHex(&out, strings.NewReader("0000e1d3"), "gfx942"), "truncated"},
		"too long":       {ISADisasmHex(&out, strings.NewReader("000080bf00"), "gfx942"), "5 bytes, but s_nop 0 has 4"},
		"no instruction": {ISAAsmHex(&out, strings.NewReader("fly"), "gfx942"), `unknown mnemonic "fly"`},
		"other CPU":      {ISAAsmHex(&out, strings.NewReader("v_prng_b32 v0, v1"), "gfx942"), "not on this CPU"},
		"no file":        {ISADisasm(&out, "nowhere.co", "", "", false), "nowhere.co"},
		"no object":      {ISADisasm(&out, "isa_cmd_test.go", "", "", false), "not an ELF file"},
		"no kernel":      {ISADisasm(&out, objects+"hand.gfx950.co", "foot", "gfx950", false), "it has hand"},
		"another CPU":    {ISADisasm(&out, objects+"hand.gfx950.co", "", "gfx942", false), "is code for gfx950, and --cpu is gfx942"},
		"unknown CPU":    {ISADisasm(&out, objects+"hand.gfx950.co", "", "gfx90a", false), "choose gfx942 or gfx950"},
		"no source":      {ISAAsm("nowhere.s", "", ""), "nowhere.s"},
		"bad source":     {ISAAsm("isa_cmd_test.go", "", "gfx942"), "isa_cmd_test.go:1"},
		"format":         {ISACoverage(&out, "xml"), "table, json or csv"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, c.err, c.want)
		}
		if _, ok := errors.AsType[*UsageError](c.err); !ok {
			t.Errorf("%s: %v is no usage error", name, c.err)
		}
	}
}

func TestISAAsmWrites(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "hand.s")
	text, err := os.ReadFile("../workloads/suite/sources/hand.s")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(src, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := ISAAsm(src, "", ""); err != nil {
		t.Fatal(err)
	}
	if err := ISAAsm(src, "", "gfx942"); err == nil {
		t.Error("gfx950 code was assembled for gfx942")
	}
	var out bytes.Buffer
	if err := ISADisasm(&out, filepath.Join(dir, "hand.co"), "hand", "", true); err != nil || !strings.Contains(out.String(), "v_mfma_f32_16x16x32_bf16 v[8:11]") {
		t.Errorf("%v\n%s", err, &out)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("files left behind: %v", files)
	}
}

// The counts must cover what the mnemonic lists name, and every gap must have a
// reason.
func TestCoverage(t *testing.T) {
	c := coverage()
	for _, s := range c.Summary {
		if s.Opcodes < 1100 || s.Semantics < s.Opcodes-16 || s.Timing < s.Opcodes-7 {
			t.Errorf("%+v", s)
		}
	}
	for _, r := range c.Missing {
		if r.Reason == "" {
			t.Errorf("%s on %s lacks %s and nothing says why", r.Opcode, r.CPU, r.Missing)
		}
	}
}
