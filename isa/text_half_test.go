package isa

import "testing"

// The inline floats of 16-bit integer operations as LLVM 22's disassembler prints
// them, beside the text that assembles to the same bytes.
func TestListingOf16BitConstants(t *testing.T) {
	for _, c := range []struct{ text, listing string }{
		{"v_add_u16_e32 v0, 0.5, v1", "v_add_u16_e32 v0, 0x3800, v1"},
		{"v_cmp_lt_u16_e32 vcc, 1.0, v1", "v_cmp_lt_u16_e32 vcc, 0x3c00, v1"},
		{"v_mul_lo_u16_e32 v0, 0.15915494, v1", "v_mul_lo_u16_e32 v0, 0x3118, v1"},
		{"v_mad_i32_i16 v0, -4.0, v1, 2.0", "v_mad_i32_i16 v0, 0xc400, v1, 2.0"},
		{"v_cvt_f16_u16_e32 v0, 1.0", "v_cvt_f16_u16_e32 v0, 0x3c00"},
		{"v_sat_pk_u8_i16_e32 v0, 1.0", "v_sat_pk_u8_i16_e32 v0, 1.0"},
		{"v_pk_add_u16 v0, 0.5, v1", "v_pk_add_u16 v0, 0.5, v1"},
		{"v_add_f16_e32 v0, 0.5, v1", "v_add_f16_e32 v0, 0.5, v1"},
	} {
		in, err := Parse(GFX950, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := in.Listing(GFX950); got != c.listing {
			t.Errorf("%s lists as %s, want %s", c.text, got, c.listing)
		}
		if got := in.Text(GFX950); got != c.text {
			t.Errorf("%s prints as %s", c.text, got)
		}
	}
	// A VOP3 has no literal: its listing means the constant again.
	a, err1 := Parse(GFX950, "v_mad_u16 v0, 0x3800, v1, v2")
	b, err2 := Parse(GFX950, "v_mad_u16 v0, 0.5, v1, v2")
	if err1 != nil || err2 != nil || a != b {
		t.Errorf("%+v, %v; %+v, %v", a, err1, b, err2)
	}
}
