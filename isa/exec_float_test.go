package isa

import (
	"math"
	"math/big"
	"math/rand"
	"testing"
)

const (
	posInf = "0x7f800000"
	negInf = "0xff800000"
	qNaN   = "0x7fc00000"
)

func TestVectorFloat(t *testing.T) {
	runCases(t, GFX950, []execCase{
		{"v_add_f32_e32 v0, v1, v2", "v1=" + bf(1.5) + " v2=" + bf(2), "v0=" + bf(3.5)},
		{"v_add_f32_e32 v0, v1, v2", "v1=1 v2=1", "v0=2"}, // denormals are kept
		{"v_add_f32_e32 v0, v1, v2", "mode=0x3c0 v1=1 v2=1", "v0=0"},
		{"v_add_f32_e32 v0, v1, v2", "mode=0x3c0 v1=0x80000001 v2=0x80000001", "v0=0x80000000"},
		{"v_add_f32_e32 v0, v1, v2", "v1=" + posInf + " v2=" + negInf, "v0=" + qNaN},
		{"v_add_f32_e32 v0, v1, v2", "v1=0x7f800001 v2=" + bf(1), "v0=0x7fc00001"},
		{"v_sub_f32_e32 v0, v1, v2", "v1=" + bf(1) + " v2=0xffc00005", "v0=0xffc00005"},
		{"v_mul_f32_e64 v0, -v1, |v2|", "v1=" + bf(2) + " v2=" + bf(-3), "v0=" + bf(-6)},
		{"v_mul_f32_e64 v0, v1, v2 mul:4", "v1=" + bf(2) + " v2=" + bf(3), "v0=" + bf(24)},
		{"v_add_f32_e64 v0, v1, v2 clamp", "v1=" + bf(2) + " v2=" + bf(3), "v0=" + bf(1)},
		{"v_add_f32_e64 v0, v1, v2 clamp", "v1=" + qNaN, "v0=0"},
		{"v_fma_f32 v0, v1, v2, v3", "v1=0x3f800001 v2=0x3f800001 v3=0xbf800002", "v0=0x28800000"},
		{"v_fmac_f32_e32 v0, v1, v2", "v0=" + bf(1) + " v1=" + bf(2) + " v2=" + bf(3), "v0=" + bf(7)},
		{"v_fmaak_f32 v0, v1, v2, 0x40400000", "v1=" + bf(2) + " v2=" + bf(5), "v0=" + bf(13)},
		{"v_fmamk_f32 v0, v1, 0x40400000, v2", "v1=" + bf(2) + " v2=" + bf(5), "v0=" + bf(11)},
		{"v_mul_legacy_f32 v0, v1, v2", "v1=0x80000000 v2=" + posInf, "v0=0"},
		{"v_min_f32_e32 v0, v1, v2", "v1=0 v2=0x80000000", "v0=0x80000000"},
		{"v_max_f32_e32 v0, v1, v2", "v1=" + qNaN + " v2=" + bf(3), "v0=" + bf(3)},
		{"v_max_f32_e32 v0, v1, v2", "v1=0x7f800001 v2=" + bf(3), "v0=0x7fc00001"},
		{"v_med3_f32 v0, v1, v2, v3", "v1=" + bf(1) + " v2=" + qNaN + " v3=" + bf(2), "v0=" + bf(1)},
		{"v_med3_f32 v0, v1, v2, v3", "v1=" + bf(5) + " v2=" + bf(-1) + " v3=" + bf(2), "v0=" + bf(2)},
		{"v_maximum3_f32 v0, v1, v2, v3", "v1=" + bf(1) + " v2=" + qNaN + " v3=" + bf(2), "v0=" + qNaN},
		{"v_rndne_f32_e32 v0, v1", "v1=" + bf(2.5), "v0=" + bf(2)},
		{"v_fract_f32_e32 v0, v1", "v1=" + bf(-1e-30), "v0=0x3f7fffff"},
		{"v_ldexp_f32 v0, v1, v2", "v1=" + bf(3) + " v2=-1", "v0=" + bf(1.5)},
		{"v_ldexp_f32 v0, v1, v2", "v1=0x3f800001 v2=-127", "v0=0x00400000"},
		{"v_frexp_mant_f32_e32 v0, v1", "v1=" + bf(1), "v0=" + bf(0.5)},
		{"v_frexp_exp_i32_f32_e32 v0, v1", "v1=" + bf(1), "v0=1"},
		{"v_frexp_exp_i32_f32_e32 v0, v1", "v1=" + posInf, "v0=0"},
		{"v_rcp_f32_e32 v0, v1", "v1=1", "v0=" + posInf}, // a denormal is flushed whatever MODE says
		{"v_rcp_f32_e32 v0, v1", "v1=0x80000000", "v0=" + negInf},
		{"v_sqrt_f32_e32 v0, v1", "v1=" + bf(-1), "v0=" + qNaN},
		{"v_exp_f32_e32 v0, v1", "v1=" + bf(-127), "v0=0"},
		{"v_exp_f32_e32 v0, v1", "v1=" + bf(3), "v0=" + bf(8)},
		{"v_log_f32_e32 v0, v1", "v1=0", "v0=" + negInf},
		{"v_log_f32_e32 v0, v1", "v1=1", "v0=" + negInf},
		{"v_sin_f32_e32 v0, v1", "v1=" + bf(0.25), "v0=" + bf(1)},
		{"v_cmp_nlt_f32_e32 vcc, v1, v2", "v1=" + qNaN, "vcc=0xffffffffffffffff"},
		{"v_cmp_lg_f32_e32 vcc, v1, v2", "v1=" + qNaN, "vcc=0"},
		{"v_cmp_o_f32_e32 vcc, v1, v2", "v1[2]=" + qNaN + " exec=0xf", "vcc=0xb"},
		{"v_cmp_class_f32_e64 s[4:5], v1, v2", "v1[0]=0x7f800001 v1[1]=0x80000000 v1[2]=1 v2=0xa1 exec=0xf", "s[4:5]=0x7"},
		{"v_add_f16_e32 v0, v1, v2", "v0=-1 v1=0x3c00 v2=0x4000", "v0=0x4200"},
		{"v_add_f16_e32 v0, 0.5, v2", "v2=0x4000", "v0=0x4100"},
		{"v_fma_f16 v0, v1, v2, v3", "v1=0x3c01 v2=0x3c01 v3=0xbc02", "v0=0x0010"},
		{"v_mul_f16_e32 v0, v1, v2", "v1=0x7bff v2=0x4000", "v0=0x7c00"},
		{"v_add_f64 v[0:1], v[2:3], v[4:5]", "v3=0x3ff00000 v5=0x40000000", "v1=0x40080000"},
		{"v_fma_f64 v[0:1], v[2:3], v[4:5], -v[6:7]", "v3=0x40000000 v5=0x40000000 v7=0x3ff00000", "v1=0x40080000"},
		{"v_mul_f64 v[0:1], v[2:3], 0.5", "v3=0x40000000", "v1=0x3ff00000"},
		{"v_ldexp_f64 v[0:1], v[2:3], v4", "v3=0x3ff00000 v4=3", "v1=0x40200000"},
		{"v_pk_add_f32 v[0:1], v[2:3], v[4:5]", "v2=" + bf(1) + " v3=" + bf(2) + " v4=" + bf(10) + " v5=" + bf(20), "v0=" + bf(11) + " v1=" + bf(22)},
		{"v_pk_mul_f32 v[0:1], v[2:3], v[4:5] op_sel_hi:[1,0]", "v2=" + bf(1) + " v3=" + bf(2) + " v4=" + bf(10) + " v5=" + bf(20), "v0=" + bf(10) + " v1=" + bf(20)},
		{"v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[0:1] neg_lo:[1,0,0]", "v0=" + bf(1) + " v1=" + bf(1) + " v2=" + bf(1) + " v3=" + bf(2) + " s4=" + bf(10) + " s5=" + bf(20), "v0=" + bf(-9) + " v1=" + bf(41)},
		{"v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]", "v3=2 v4=3", "v0=2 v1=3"},
		{"v_pk_mul_f16 v0, v1, v2", "v1=0x40003c00 v2=0x42004400", "v0=0x46004400"},
		{"v_pk_fma_f16 v0, v1, v2, v3 op_sel_hi:[0,1,1]", "v1=0x40003c00 v2=0x42004400 v3=0", "v0=0x42004400"},
		{"v_pk_minimum3_f16 v0, v1, v2, v3", "v1=0x7e003c00 v2=0x3c004000 v3=0x3c004200", "v0=0x7e003c00"},
		{"v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]", "v1=0x40003c00 v2=" + bf(5) + " v3=" + bf(1), "v0=" + bf(11)},
		{"v_fma_mixhi_f16 v0, v1, v2, v3", "v0=0x1234 v1=" + bf(2) + " v2=" + bf(5) + " v3=" + bf(1), "v0=0x49801234"},
		{"v_dot2_f32_bf16 v0, v1, v2, v3", "v1=0x40003f80 v2=0x40404040 v3=" + bf(1), "v0=" + bf(10)},
		{"v_dot2c_f32_f16_e32 v0, v1, v2", "v0=" + bf(1) + " v1=0x40003c00 v2=0x42004200", "v0=" + bf(10)},
		{"v_pack_b32_f16 v0, v1, -v2", "v1=0x11113c00 v2=0x22224000", "v0=0xc0003c00"},
	})
}

func TestConversions(t *testing.T) {
	runCases(t, GFX950, []execCase{
		{"v_cvt_i32_f32_e32 v0, v1", "v1=" + bf(-1.9), "v0=-1"},
		{"v_cvt_i32_f32_e32 v0, v1", "v1=" + bf(3e9), "v0=0x7fffffff"},
		{"v_cvt_i32_f32_e32 v0, v1", "v1=" + qNaN, "v0=0"},
		{"v_cvt_u32_f32_e32 v0, v1", "v1=" + bf(-1), "v0=0"},
		{"v_cvt_u32_f32_e32 v0, v1", "v1=" + posInf, "v0=0xffffffff"},
		{"v_cvt_f32_u32_e32 v0, v1", "v1=0xffffffff", "v0=" + bf(0x1p32)},
		{"v_cvt_f32_ubyte2_e32 v0, v1", "v1=0x00ff0000", "v0=" + bf(255)},
		{"v_cvt_rpi_i32_f32_e32 v0, v1", "v1=" + bf(-1.5), "v0=-1"},
		{"v_cvt_f16_f32_e32 v0, v1", "v1=0x3f801000", "v0=0x3c00"}, // tie to even
		{"v_cvt_f16_f32_e32 v0, v1", "v1=0x3f803000", "v0=0x3c02"},
		{"v_cvt_f16_f32_e32 v0, v1", "v1=" + bf(65520), "v0=0x7c00"},
		{"v_cvt_f16_f32_e32 v0, v1", "mode=0x8003f0 v1=" + bf(65520), "v0=0x7bff"},
		{"v_cvt_f16_f32_e32 v0, v1", "v1=" + bf(0x1p-24), "v0=1"},
		{"v_cvt_f16_f32_e32 v0, v1", "v1=" + bf(0x1p-25), "v0=0"},
		{"v_cvt_f32_f16_e32 v0, v1", "v1=1", "v0=" + bf(0x1p-24)},
		{"v_cvt_f32_f16_sdwa v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", "v1=0x3c000000", "v0=" + bf(1)},
		{"v_cvt_pkrtz_f16_f32 v0, v1, v2", "v1=" + bf(70000) + " v2=0x3f801fff", "v0=0x3c007bff"},
		{"v_cvt_pk_bf16_f32 v0, v1, v2", "v1=0x3f808000 v2=0x3f818000", "v0=0x3f823f80"},
		{"v_cvt_pk_bf16_f32 v0, v1, v2", "v1=0x7f800001 v2=0x7f7fffff", "v0=0x7f807fc0"},
		{"v_cvt_f64_f32_e32 v[0:1], v1", "v1=" + bf(1.5), "v1=0x3ff80000"},
		{"v_cvt_f32_f64_e32 v0, v[2:3]", "v3=0x3ff80000", "v0=" + bf(1.5)},
		{"v_cvt_pk_i16_i32 v0, v1, v2", "v1=70000 v2=-70000", "v0=0x80007fff"},
		{"v_cvt_pknorm_i16_f32 v0, v1, v2", "v1=" + bf(1) + " v2=" + bf(-2), "v0=0x80017fff"},
		{"v_cvt_pk_u8_f32 v0, v1, 2, v3", "v1=" + bf(300) + " v3=0x11223344", "v0=0x11ff3344"},
		{"v_cvt_pk_fp8_f32 v0, v1, v2", "v0=0x12340000 v1=" + bf(1) + " v2=" + bf(-448), "v0=0x1234fe38"},
		{"v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]", "v0=0x1234 v1=" + bf(1000) + " v2=" + bf(0x1p-9), "v0=0x017f1234"},
		{"v_cvt_pk_bf8_f32 v0, v1, v2", "v1=" + bf(1) + " v2=" + bf(1e6), "v0=0x7c3c"},
		{"v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_1", "v1=0x7e00", "v0=" + bf(448)},
		{"v_cvt_pk_f32_bf8_e32 v[0:1], v2", "v2=0x443c", "v0=" + bf(1) + " v1=" + bf(4)},
		{"v_cvt_sr_fp8_f32 v0, v1, v2", "v1=0x3f880000 v2=0x80000000", "v0=0x39"},
		{"v_cvt_sr_fp8_f32 v0, v1, v2", "v1=0x3f880000 v2=0x7ff00000", "v0=0x38"},
		{"v_cvt_sr_bf16_f32 v0, v1, v2", "v1=0x3f808000 v2=0x8000", "v0=0x3f81"},
		{"v_cvt_scalef32_pk_fp8_f32 v0, v1, v2, v3", "v1=" + bf(4) + " v2=" + bf(-8) + " v3=" + bf(4.5), "v0=0xc038"},
		{"v_cvt_scalef32_pk_f32_fp4 v[0:1], v2, v3 op_sel:[1,0,0]", "v2=0x0000a700 v3=" + bf(2), "v0=" + bf(12) + " v1=" + bf(-2)},
		{"v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3 op_sel:[0,0,0,1]", "v0=-1 v1=" + bf(1) + " v2=" + bf(100) + " v3=" + bf(1), "v0=0xff72ffff"},
		{"v_cvt_scalef32_pk32_f32_fp6 v[32:63], v[0:5], v6", "v0=0x1f v6=" + bf(2), "v32=" + bf(15) + " v33=0"},
		{"v_cvt_scalef32_2xpk16_fp6_f32 v[0:5], v[16:31], v[32:47], v6", "v6=" + bf(1) + " v16=" + bf(7.5) + " v32=" + bf(-1) + " v17=" + bf(1), "v0=0x8a1f"},
	})
	runCases(t, GFX942, []execCase{
		{"v_cvt_pk_fp8_f32 v0, v1, v2", "v1=" + bf(1) + " v2=" + bf(240), "v0=0x7f40"},
		{"v_cvt_pk_fp8_f32 v0, v1, v2", "v1=0x80000000 v2=" + bf(1000), "v0=0x8000"},
		{"v_cvt_f32_fp8_e32 v0, v1", "v1=0x7f", "v0=" + bf(240)},
		{"v_cvt_f32_bf8_e32 v0, v1", "v1=0x7f", "v0=" + bf(57344)},
	})
}

// Every code of every small format survives the way up and back.
func TestSmallFormatsRoundTrip(t *testing.T) {
	for name, f := range map[string]*smallFormat{"fp8 fnuz": &fp8FNUZ, "bf8 fnuz": &bf8FNUZ, "fp8": &fp8OCP, "bf8": &bf8OCP, "fp6": &fp6, "bf6": &bf6, "fp4": &fp4} {
		for c, v := range f.decode {
			if v != v || math.IsInf(float64(v), 0) {
				continue
			}
			if got := f.encode(float64(v), false, false); got != uint32(c) {
				t.Errorf("%s: code %#x is %g, which encodes as %#x", name, c, v, got)
			}
		}
	}
	for f, want := range map[*smallFormat]float32{&fp8FNUZ: 240, &bf8FNUZ: 57344, &fp8OCP: 448, &bf8OCP: 57344, &fp6: 7.5, &bf6: 28, &fp4: 6} {
		if got := f.decode[f.maxCode()]; got != want {
			t.Errorf("largest value %g, want %g", got, want)
		}
	}
}

// exactFMA rounds a*b+c once, through big rationals.
func exactFMA(a, b, c float32) float32 {
	x := new(big.Float).SetPrec(2000).SetFloat64(float64(a))
	x.Mul(x, new(big.Float).SetPrec(2000).SetFloat64(float64(b)))
	x.Add(x, new(big.Float).SetPrec(2000).SetFloat64(float64(c)))
	v, _ := x.Float32()
	return v
}

func randomFloat(r *rand.Rand) float32 {
	return ffrom(r.Uint32()&0x807fffff | uint32(r.Intn(255))<<23)
}

func TestFMAIsExact(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 200_000 {
		a, b := randomFloat(r), randomFloat(r)
		c := randomFloat(r)
		if r.Intn(2) == 0 { // near the product, where the sum cancels
			c = float32(-float64(a) * float64(b) * (1 + float64(r.Intn(9)-4)*0x1p-23))
		}
		if math.IsInf(float64(c), 0) {
			continue
		}
		if got, want := fma32(a, b, c), exactFMA(a, b, c); got != want {
			t.Fatalf("fma(%g, %g, %g) = %g, want %g", a, b, c, got, want)
		}
	}
}

// divide runs the instruction chain that compilers emit for a/b.
func divide(a, b float32) float32 {
	A, B := uint64(fbits(a)), uint64(fbits(b))
	den, _ := div32.divScale(B, B, A)
	num, flag := div32.divScale(A, B, A)
	fma := func(x, y, z uint32) uint32 { return fmaF32(x, y, z) }
	neg := uint32(den) ^ 1<<31
	one := fbits(1)
	r := uint32(trans(reciprocal)(&fmt32, den, 0, 0))
	e := fma(neg, r, one)
	r = fma(e, r, r)
	q := mulF32(uint32(num), r)
	e2 := fma(neg, q, uint32(num))
	q = fma(e2, r, q)
	e3 := fma(neg, q, uint32(num))
	q = uint32(div32.fmas(uint64(e3), uint64(r), uint64(q), flag))
	return ffrom(uint32(div32.divFixup(uint64(q), B, A)))
}

func TestDivisionChain(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	extremes := []int{0, 1, 2, 23, 24, 25, 126, 127, 128, 252, 253, 254}
	pick := func() float32 {
		f := randomFloat(r)
		if r.Intn(2) == 0 {
			f = ffrom(fbits(f)&0x807fffff | uint32(extremes[r.Intn(len(extremes))])<<23)
		}
		return f
	}
	for range 100_000 {
		a, b := pick(), pick()
		got, want := divide(a, b), a/b
		if fbits(got) != fbits(want) && !(got != got && want != want) {
			t.Fatalf("%g (%#x) / %g (%#x) = %g (%#x), want %g (%#x)", a, fbits(a), b, fbits(b), got, fbits(got), want, fbits(want))
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range [][2]float32{{0, 0}, {1, 0}, {-1, 0}, {0, -3}, {inf, 2}, {2, inf}, {inf, inf}, {float32(math.NaN()), 1}} {
		got, want := divide(c[0], c[1]), c[0]/c[1]
		if got != want && !(got != got && want != want) || math.Signbit(float64(got)) != math.Signbit(float64(want)) && want == want {
			t.Errorf("%g / %g = %g, want %g", c[0], c[1], got, want)
		}
	}
}

func TestHalfConversionsRoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		f := f16ToF32(uint16(h))
		if f != f {
			continue
		}
		if got := f32ToF16(f); got != uint16(h) {
			t.Fatalf("f16 %#x is %g, which encodes as %#x", h, f, got)
		}
	}
}
