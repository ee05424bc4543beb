package isa

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseVectors(t *testing.T) {
	bad := 0
	for _, v := range readVectors(t) {
		in, err := Parse(v.cpu, v.text)
		if err != nil {
			t.Errorf("%v", err)
			bad++
			continue
		}
		b, err := Encode(v.cpu, &in)
		if err != nil || !bytes.Equal(b, v.bytes) {
			t.Errorf("%v %s: encoded %x, want %x (%v)", v.cpu, v.text, b, v.bytes, err)
			bad++
		}
		want, err := Decode(v.cpu, v.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, in); d != "" {
			t.Errorf("%v %s: parsed and decoded differ (-decoded +parsed):\n%s", v.cpu, v.text, d)
			bad++
		}
		if bad > 20 {
			t.Fatal("too many differences")
		}
	}
}

// TestParseSpellings parses other spellings of what LLVM prints, and modifiers
// that the bulk vectors lack.
func TestParseSpellings(t *testing.T) {
	f, err := os.Open("testdata/vectors_extra.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows[1:] {
		cpu := GFX942
		if r[0] == "gfx950" {
			cpu = GFX950
		}
		want, err := hex.DecodeString(r[3])
		if err != nil {
			t.Fatal(err)
		}
		in, err := Parse(cpu, r[1])
		if err != nil {
			t.Error(err)
			continue
		}
		b, err := Encode(cpu, &in)
		if err != nil || !bytes.Equal(b, want) {
			t.Errorf("%v %s: encoded %x, want %x (%v)", cpu, r[1], b, want, err)
		}
		if got := in.Text(cpu); got != r[2] && in.Op != V_ACCVGPR_WRITE {
			t.Errorf("%v %s: printed %q, want %q", cpu, r[1], got, r[2])
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"v_frob_b32 v0", "unknown mnemonic"},
		{"v_mfma_f32_16x16x8_xf32 v[0:3], v[4:5], v[6:7], v[0:3]", "not on this CPU"},
		{"v_mul_lo_u32_e32 v0, v1, v2", "no e32 form"},
		{"v_add_f32_e32 v0, v1", "missing"},
		{"v_add_f32_e32 v0, v1, v2, v3", "4 operands"},
		{"v_add_f32_e32 v0, v1, s2", "must be a vector register"},
		{"v_fma_f64 v[1:2], v[2:3], v[4:5], v[6:7]", "not aligned to 2"},
		{"v_fma_f64 v[0:3], v[2:3], v[4:5], v[6:7]", "has 4 dwords, want 2"},
		{"s_load_dwordx4 s[2:5], s[0:1], 0x0", "not aligned to 4"},
		{"v_fma_f32 v0, v1, v2, 0x1234567", "takes no literal"},
		{"s_add_u32 s0, 0x1234567, 0x7654321", "second literal"},
		{"ds_read_b32 v0, v1 offset:65536", "does not fit 16 bits"},
		{"buffer_load_dword v0, off, s[0:3], 0 offset:4096", "does not fit 12 bits"},
		{"global_load_dword v0, v[2:3], off offset:4096", "does not fit 13 bits"},
		{"v_mfma_f32_16x16x32_bf16 a[0:3], v[4:7], v[8:11], v[0:3]", "same register file"},
		{"ds_read_b32 v0, v1 frob", "unknown modifier"},
		{"s_waitcnt vmcnt(64)", "unknown counter"},
		{"", "unknown mnemonic"},
	} {
		if _, err := Parse(GFX950, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one that says %q", c.text, err, c.want)
		}
	}
}

func TestWaitcnt(t *testing.T) {
	for _, c := range []struct {
		vm, exp, lgkm int
		want          string
	}{
		{0, -1, -1, "s_waitcnt vmcnt(0)"},
		{-1, -1, 0, "s_waitcnt lgkmcnt(0)"},
		{63, 7, 15, "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)"},
		{17, 2, 3, "s_waitcnt vmcnt(17) expcnt(2) lgkmcnt(3)"},
	} {
		in := Inst{Op: S_WAITCNT, Enc: SOPP, Offset: Waitcnt(c.vm, c.exp, c.lgkm)}
		if got := in.Text(GFX950); got != c.want {
			t.Errorf("Waitcnt(%d, %d, %d) is %q, want %q", c.vm, c.exp, c.lgkm, got, c.want)
		}
	}
}
