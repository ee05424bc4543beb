package isa

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
)

func TestScalarAtomicsAndScratch(t *testing.T) {
	runMemCases(t, GFX942, []memCase{
		{"add returns the old value", "s_atomic_add s20, s[2:3], 0xc glc", "s20=10", "s20=3 mem@12=13"},
		{"add without glc keeps its data", "s_atomic_add s20, s[2:3], 0xc", "s20=10", "s20=10 mem@12=13"},
		{"64 bits", "s_atomic_add_x2 s[20:21], s[2:3], 0x8 glc", "s20=0xffffffff s21=1", "s20=2 s21=3 mem@8=1 mem@12=5"},
		{"compare and swap", "s_atomic_cmpswap s[20:21], s[2:3], 0x10 glc", "s20=99 s21=4", "s20=4 mem@16=99"},
		{"compare fails", "s_atomic_cmpswap s[20:21], s[2:3], 0x10", "s20=99 s21=5", "mem@16=4"},
		{"buffer", "s_buffer_atomic_umax s20, s[4:7], 0x20", "s20=1000", "mem@32=1000"},
		{"buffer out of range", "s_buffer_atomic_umax s20, s[4:7], 0x100 glc", "s20=1000", "s20=0 mem@256=64"},
		{"buffer store", "s_buffer_store_dwordx2 s[20:21], s[4:7], 0x20", "s20=70 s21=71", "mem@32=70 mem@36=71 mem@40=10"},
		{"buffer store out of range", "s_buffer_store_dword s20, s[4:7], 0x100", "s20=70", "mem@256=64"},
		{"scratch counts blocks", "s_scratch_load_dword s20, s[2:3], s8", "s8=2", "s20=32"},
		{"scratch immediate is in bytes", "s_scratch_load_dwordx2 s[20:21], s[2:3], 0x8", "", "s20=2 s21=3"},
		{"scratch store", "s_scratch_store_dword s20, s[2:3], s8", "s8=1 s20=5", "mem@64=5"},
	})
}

func TestTypedBuffers(t *testing.T) {
	// s7 holds dst_sel, num_format and data_format: 0xfac selects x, y, z and w.
	runMemCases(t, GFX950, []memCase{
		{"8_8_8_8 unorm", "buffer_load_format_xyzw v[0:3], off, s[4:7], 0 offset:8",
			"s7=0x50fac", "v0=" + bf(2.0/255) + " v1=0 v2=0 v3=0"},
		{"16_16 uint, swapped by the descriptor", "buffer_load_format_xy v[0:1], off, s[4:7], 0 offset:8",
			"s7=0x2cfa5 v0=9", "v0=0 v1=2"},
		{"constant selectors", "buffer_load_format_xyzw v[0:3], off, s[4:7], 0 offset:8",
			"s7=0x24209", "v0=1 v1=1 v2=0 v3=1"},
		{"missing components are 0 and 1", "buffer_load_format_xyzw v[0:3], off, s[4:7], 0 offset:8",
			"s7=0x24fac", "v0=2 v1=0 v2=0 v3=1"},
		{"out of range", "buffer_load_format_xyzw v[0:3], v9, s[4:7], 0 offen", "s7=0x24fac v9=256 v0=5 v3=5", "v0=0 v3=0"},
		{"instruction's format", "tbuffer_load_format_xy v[0:1], off, s[4:7], 0 offset:8 format:[BUF_DATA_FORMAT_32_32,BUF_NUM_FORMAT_SINT]",
			"", "v0=2 v1=3"},
		{"d16 packs pairs", "tbuffer_load_format_d16_xyzw v[0:1], off, s[4:7], 0 offset:8 format:[BUF_DATA_FORMAT_16_16_16_16,BUF_NUM_FORMAT_UINT]",
			"", "v0=2 v1=3"},
		{"d16_hi keeps the low half", "buffer_load_format_d16_hi_x v0, off, s[4:7], 0 offset:8", "s7=0x24fac v0=0x1234", "v0=0x21234"},
		{"store snorm saturates", "tbuffer_store_format_xyzw v[0:3], off, s[4:7], 0 format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_SNORM]",
			"v0=" + bf(2) + " v1=" + bf(-2) + " v2=" + bf(0.5) + " v3=0x7fc00000", "mem@0=0x0040817f"},
		{"store half", "tbuffer_store_format_x v0, off, s[4:7], 0 format:[BUF_DATA_FORMAT_16,BUF_NUM_FORMAT_FLOAT]",
			"v0=" + bf(1.5), "mem@0=0x3e00"},
		{"store 10_11_11 float", "tbuffer_store_format_xyz v[0:2], off, s[4:7], 0 format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT]",
			"v0=" + bf(1) + " v1=" + bf(-3) + " v2=" + bf(2), "mem@0=0x800003c0"},
		{"store 2_10_10_10 unorm", "tbuffer_store_format_xyzw v[0:3], off, s[4:7], 0 format:[BUF_DATA_FORMAT_2_10_10_10]",
			"v0=" + bf(1) + " v1=0 v2=" + bf(1) + " v3=" + bf(1), "mem@0=0xfff003ff"},
	})
}

func TestTypedFormatErrors(t *testing.T) {
	k, s, _ := memState(GFX950)
	for _, w3 := range []uint32{0, 0x20000, 0x7f000} {
		s.SGPR[7] = w3
		in, err := Parse(GFX950, "buffer_load_format_x v0, off, s[4:7], 0")
		if err != nil {
			t.Fatal(err)
		}
		if err := Exec(k, &in, s); err == nil || !strings.Contains(err.Error(), "format") {
			t.Errorf("word 3 %#x: %v", w3, err)
		}
	}
}

// TestFormatRoundTrip: what a load makes of a component, a store turns back.
func TestFormatRoundTrip(t *testing.T) {
	for num := range uint8(8) {
		for _, n := range []uint8{2, 8, 10, 11, 16} {
			f := typed{num: num}
			if num == 6 || num == numFloat && n < 10 {
				continue
			}
			for v := range uint32(1) << n {
				got := f.store(f.load(v, n), n)
				x := ffrom(f.load(v, n))
				lowest := num == numSnorm && v == 1<<(n-1) // -1 has two codes
				if got != v && x == x && !lowest {
					t.Fatalf("number format %d, %d bits: %#x comes back as %#x", num, n, v, got)
				}
			}
		}
	}
}

func TestSADAndCube(t *testing.T) {
	runCases(t, GFX942, []execCase{
		{"v_qsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]", "v2=0x04030201 v3=0x08070605 v4=0x01010101 v6=0x00010000 v7=0", "v0=0x000b0006 v1=0x0012000e"},
		{"v_mqsad_pk_u16_u8 v[0:1], v[2:3], v4, v[6:7]", "v2=0x04030201 v3=0x08070605 v4=0x00010001 v6=0 v7=0", "v0=0x00040002 v1=0x00080006"},
		{"v_mqsad_u32_u8 v[0:3], v[4:5], v6, v[8:11]", "v4=0x04030201 v5=0x08070605 v6=0x00000100 v8=1 v9=2 v10=3 v11=4", "v0=2 v1=4 v2=6 v3=8"},
		{"v_cubeid_f32 v0, v1, v2, v3", "v1=" + bf(1) + " v2=" + bf(-3) + " v3=" + bf(2), "v0=" + bf(3)},
		{"v_cubesc_f32 v0, v1, v2, v3", "v1=" + bf(1) + " v2=" + bf(2) + " v3=" + bf(-3), "v0=" + bf(-1)},
		{"v_cubetc_f32 v0, v1, v2, v3", "v1=" + bf(1) + " v2=" + bf(-3) + " v3=" + bf(2), "v0=" + bf(-2)},
		{"v_cubema_f32 v0, v1, v2, v3", "v1=" + bf(-4) + " v2=" + bf(1) + " v3=" + bf(2), "v0=" + bf(-8)},
	})
}

// TestTrigPreop puts segments of 2/pi together and compares with 2/pi itself.
func TestTrigPreop(t *testing.T) {
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651", 10, 320, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	want := new(big.Float).SetPrec(320).Quo(big.NewFloat(2), pi)
	sum := new(big.Float).SetPrec(320)
	for i := range uint32(5) {
		sum.Add(sum, big.NewFloat(dfrom(trigPreop(dbits(1), i))))
	}
	diff, _ := new(big.Float).Sub(want, sum).Float64()
	if diff < 0 || diff >= math.Ldexp(1, -265) {
		t.Errorf("five segments differ from 2/pi by %g", diff)
	}
	// The reduction that OCML does with it: x*2/pi modulo 4, against math.Sin, which
	// has a reduction of its own. The largest exponents reach the last word.
	for _, e := range []int{100, 200, 500, 900} {
		x := math.Ldexp(1, e)
		rescale := 0
		if e+1023 >= 1968 { // the results are 2^128 larger
			rescale = -128
		}
		prod := new(big.Float).SetPrec(400)
		for i := range uint32(4) {
			seg := new(big.Float).SetPrec(400).SetFloat64(dfrom(trigPreop(dbits(x), i)))
			prod.Add(prod, seg.Mul(seg, big.NewFloat(x)))
		}
		prod.SetMantExp(prod, rescale)
		n, _ := prod.Int(nil)
		prod.Sub(prod, new(big.Float).SetInt(n))
		frac, _ := prod.Float64()
		sin, cos := math.Sincos(frac * math.Pi / 2)
		got := []float64{sin, cos, -sin, -cos}[new(big.Int).And(n, big.NewInt(3)).Int64()]
		if want := math.Sin(x); math.Abs(got-want) > 1e-15 {
			t.Errorf("sin(2^%d) by segments is %v, want %v", e, got, want)
		}
	}
}

func TestVGPRIndexing(t *testing.T) {
	k, s := newTestState(GFX942)
	for r := range s.VGPR {
		fill(&s.VGPR[r], uint32(100+r))
	}
	s.SGPR[4] = 3
	run := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			in, err := Parse(GFX942, text)
			if err != nil {
				t.Fatal(err)
			}
			if err := Exec(k, &in, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	run("s_mov_b32 m0, 0xabcd0000", "s_set_gpr_idx_on s4, gpr_idx(SRC0)", "v_mov_b32_e32 v0, v1", "v_add_u32_e32 v8, v1, v1", "s_set_gpr_idx_off", "v_mov_b32_e32 v9, v1")
	if s.VGPR[0][5] != 104 || s.VGPR[8][5] != 205 || s.VGPR[9][5] != 101 {
		t.Errorf("v0 %d, v8 %d, v9 %d", s.VGPR[0][5], s.VGPR[8][5], s.VGPR[9][5])
	}
	if m := s.SGPR[M0]; m != 0xabcd1003 {
		t.Errorf("m0 %#x", m)
	}
	run("s_set_gpr_idx_on s4, gpr_idx(DST)", "s_set_gpr_idx_idx 5", "v_mov_b32_e32 v10, v1", "s_set_gpr_idx_mode gpr_idx(SRC1)", "v_sub_u32_e32 v11, v1, v2", "s_set_gpr_idx_off")
	if s.VGPR[15][0] != 101 || s.VGPR[10][0] != 110 || s.VGPR[11][0] != uint32(0xfffffffa) {
		t.Errorf("v15 %d, v10 %d, v11 %#x", s.VGPR[15][0], s.VGPR[10][0], s.VGPR[11][0])
	}
	s.SGPR[4] = 255
	run("s_set_gpr_idx_on s4, gpr_idx(SRC0,DST)", "v_mov_b32_e32 v1, v2")
	if s.VGPR[1][0] != 101 {
		t.Errorf("a destination outside the allocation was written: v1 %d", s.VGPR[1][0])
	}
}

// TestRefused: what has no semantics says why.
func TestRefused(t *testing.T) {
	k, s := newTestState(GFX950)
	for op := OpInvalid + 1; op < numOps; op++ {
		if HasSemantics(op) == (Refused(op) != "") {
			t.Errorf("%v: semantics %v, reason %q", op, HasSemantics(op), Refused(op))
		}
		if HasSemantics(op) {
			continue
		}
		err := Exec(k, &Inst{Op: op, PC: 0x40}, s)
		if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), Refused(op)) || !strings.Contains(err.Error(), "0x40") {
			t.Errorf("%v: %v", op, err)
		}
	}
}
