package isa

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactBits holds any sum of products of f64 exactly.
const exactBits = 5000

// roundExact rounds x to f's precision and range by integer arithmetic alone:
// the count of units in the last place, rounded as IEEE 754 says.
func roundExact(f *format, x *big.Float, r rounding) float64 {
	if x.Sign() == 0 {
		v, _ := x.Float64()
		return v
	}
	negative := x.Sign() < 0
	least := 1 - f.bias - f.mant // exponent of the least denormal
	unit := max(x.MantExp(nil)-1-f.mant, least)
	q := new(big.Float).SetPrec(exactBits).SetMantExp(new(big.Float).Abs(x), -unit)
	n, _ := q.Int(nil)
	rest := q.Sub(q, new(big.Float).SetPrec(exactBits).SetInt(n))
	up := rest.Sign() != 0 && (r == roundUp && !negative || r == roundDown && negative)
	if r == roundNearest {
		half := rest.Cmp(big.NewFloat(0.5))
		up = half > 0 || half == 0 && n.Bit(0) != 0
	}
	if up {
		n.Add(n, big.NewInt(1))
	}
	y := new(big.Float).SetPrec(exactBits).SetInt(n)
	y.SetMantExp(y, unit)
	largest := new(big.Float).SetMantExp(big.NewFloat(2-math.Ldexp(1, -f.mant)), f.bias)
	v, _ := y.Float64()
	if y.Cmp(largest) > 0 {
		v, _ = largest.Float64()
		if r == roundNearest || r == roundUp && !negative || r == roundDown && negative {
			v = math.Inf(1)
		}
	}
	if negative {
		return -v
	}
	return v
}

// modeCase is an instruction with its exact value. Sources are v2.., v4.., v6..
// in format src (nil: integers) and the destination v0.. in format dst.
type modeCase struct {
	text     string
	src, dst *format
	packed   bool // two halves
	exact    func(a, b, c *big.Float) *big.Float
	integer  func(x uint32) float64
	double   bool // rounds by the f16 and f64 field of MODE
}

func exactAdd(a, b, _ *big.Float) *big.Float { return signedSum(a, b) }
func exactSub(a, b, _ *big.Float) *big.Float {
	return signedSum(a, new(big.Float).Neg(b))
}
func exactRev(a, b, _ *big.Float) *big.Float { return exactSub(b, a, nil) }
func exactMul(a, b, _ *big.Float) *big.Float {
	return new(big.Float).SetPrec(exactBits).Mul(a, b)
}
func exactFMAOf(a, b, c *big.Float) *big.Float { return signedSum(exactMul(a, b, nil), c) }
func exactSelf(a, _, _ *big.Float) *big.Float  { return a }

// signedSum is a+b; a nil result stands for a sum of opposite numbers, whose
// zero takes its sign from the rounding.
func signedSum(a, b *big.Float) *big.Float {
	z := new(big.Float).SetPrec(exactBits).Add(a, b)
	if z.Sign() == 0 && a.Signbit() != b.Signbit() {
		return nil
	}
	return z
}

func modeCases() []modeCase {
	h, s, d := &fmt16, &fmt32, &fmt64
	fma, self := exactFMAOf, exactSelf
	i32 := func(x uint32) float64 { return float64(int32(x)) }
	return []modeCase{
		{text: "v_add_f16_e32 v0, v2, v4", src: h, dst: h, exact: exactAdd, double: true},
		{text: "v_subrev_f16_e32 v0, v2, v4", src: h, dst: h, exact: exactRev, double: true},
		{text: "v_mul_f16_e32 v0, v2, v4", src: h, dst: h, exact: exactMul, double: true},
		{text: "v_fma_f16 v0, v2, v4, v6", src: h, dst: h, exact: fma, double: true},
		{text: "v_pk_add_f16 v0, v2, v4", src: h, dst: h, exact: exactAdd, double: true, packed: true},
		{text: "v_pk_mul_f16 v0, v2, v4", src: h, dst: h, exact: exactMul, double: true, packed: true},
		{text: "v_pk_fma_f16 v0, v2, v4, v6", src: h, dst: h, exact: fma, double: true, packed: true},
		{text: "v_add_f32_e32 v0, v2, v4", src: s, dst: s, exact: exactAdd},
		{text: "v_sub_f32_e32 v0, v2, v4", src: s, dst: s, exact: exactSub},
		{text: "v_subrev_f32_e32 v0, v2, v4", src: s, dst: s, exact: exactRev},
		{text: "v_mul_f32_e32 v0, v2, v4", src: s, dst: s, exact: exactMul},
		{text: "v_fma_f32 v0, v2, v4, v6", src: s, dst: s, exact: fma},
		{text: "v_pk_add_f32 v[0:1], v[2:3], v[4:5]", src: s, dst: s, exact: exactAdd},
		{text: "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]", src: s, dst: s, exact: exactMul},
		{text: "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[6:7]", src: s, dst: s, exact: fma},
		{text: "v_fma_mix_f32 v0, v2, v4, v6", src: s, dst: s, exact: fma},
		{text: "v_fmamk_f32 v0, v2, 0x40490fdb, v6", src: s, dst: s, exact: func(a, _, c *big.Float) *big.Float {
			return fma(a, big.NewFloat(float64(ffrom(0x40490fdb))), c)
		}},
		{text: "v_ldexp_f32 v0, v2, -9", src: s, dst: s, exact: scaleExact(-9)},
		{text: "v_ldexp_f16_e64 v0, v2, -9", src: h, dst: h, exact: scaleExact(-9), double: true},
		{text: "v_ldexp_f64 v[0:1], v[2:3], -16", src: d, dst: d, exact: scaleExact(-16), double: true},
		{text: "v_add_f64 v[0:1], v[2:3], v[4:5]", src: d, dst: d, exact: exactAdd, double: true},
		{text: "v_mul_f64 v[0:1], v[2:3], v[4:5]", src: d, dst: d, exact: exactMul, double: true},
		{text: "v_fma_f64 v[0:1], v[2:3], v[4:5], v[6:7]", src: d, dst: d, exact: fma, double: true},
		{text: "v_cvt_f16_f32_e32 v0, v2", src: s, dst: h, exact: self, double: true},
		{text: "v_cvt_f32_f64_e32 v0, v[2:3]", src: d, dst: s, exact: self, double: true},
		{text: "v_cvt_f64_f32_e32 v[0:1], v2", src: s, dst: d, exact: self, double: true},
		{text: "v_cvt_f32_f16_e32 v0, v2", src: h, dst: s, exact: self},
		{text: "v_cvt_f32_i32_e32 v0, v2", dst: s, exact: self, integer: i32},
		{text: "v_cvt_f32_u32_e32 v0, v2", dst: s, exact: self, integer: func(x uint32) float64 { return float64(x) }},
		{text: "v_cvt_f16_u16_e32 v0, v2", dst: h, exact: self, integer: func(x uint32) float64 { return float64(uint16(x)) }, double: true},
		{text: "v_cvt_f16_i16_e32 v0, v2", dst: h, exact: self, integer: func(x uint32) float64 { return float64(int16(x)) }, double: true},
	}
}

func scaleExact(n int) func(a, _, _ *big.Float) *big.Float {
	return func(a, _, _ *big.Float) *big.Float { return new(big.Float).SetMantExp(a, n) }
}

// randomOperands fills a, b and c with finite numbers of format f: any exponent,
// extreme ones more often, and every other c near -a*b or -b, where sums cancel.
func randomOperands(r *rand.Rand, f *format) [3]uint64 {
	top := f.exponent(f.inf)
	number := func() uint64 {
		e := uint64(r.IntN(top))
		switch r.IntN(4) {
		case 0:
			e = uint64(r.IntN(3))
		case 1:
			e = uint64(top - 1 - r.IntN(3))
		case 2:
			e = uint64(top/2 - 12 + r.IntN(24))
		}
		m := r.Uint64() & (1<<f.mant - 1)
		if r.IntN(4) == 0 {
			m = m >> (f.mant - 2) << (f.mant - 2)
		}
		return (m | e<<f.mant) | r.Uint64()&f.sign
	}
	v := [3]uint64{number(), number(), number()}
	switch r.IntN(4) {
	case 0:
		v[1] = v[0] ^ f.sign ^ uint64(r.IntN(3))
	case 1:
		if p := f.round(-f.value(v[0]) * f.value(v[1])); !f.isInf(p) && !f.isNaN(p) {
			v[2] = p
		}
	}
	for i := range v {
		if f.isInf(v[i]) || f.isNaN(v[i]) {
			v[i] = f.sign
		}
	}
	return v
}

// flushed is x less its denormals, when MODE's pair of bits lacks bit.
func flushed(f *format, x uint64, mode uint32, bit uint) uint64 {
	sh := uint(4)
	if f.mant != 23 {
		sh = 6
	}
	if mode>>(sh+bit)&1 == 0 && f.exponent(x) == 0 {
		return x & f.sign
	}
	return x
}

// bitsOf are v's bits in format f; v is a number of it.
func bitsOf(f *format, v float64) uint64 {
	switch f.mant {
	case 10:
		return uint64(f64ToF16(v))
	case 23:
		return uint64(fbits(float32(v)))
	}
	return dbits(v)
}

// want is the result that IEEE 754 and MODE fix.
func (c *modeCase) want(mode uint32, src [3]uint64) uint64 {
	var x [3]*big.Float
	for i, b := range src {
		if c.integer != nil {
			x[i] = big.NewFloat(c.integer(uint32(b)))
			continue
		}
		x[i] = big.NewFloat(c.src.value(flushed(c.src, b, mode, 0)))
	}
	r := rounding(mode & 3)
	if c.double {
		r = rounding(mode >> 2 & 3)
	}
	var v float64
	if e := c.exact(x[0], x[1], x[2]); e != nil {
		v = roundExact(c.dst, e, r)
	} else if r == roundDown {
		v = math.Copysign(0, -1)
	}
	return flushed(c.dst, bitsOf(c.dst, v), mode, 1)
}

// Every value of MODE's rounding and denormal fields, through Exec, against
// exact arithmetic.
func TestModeAgainstExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	for _, c := range modeCases() {
		in, err := Parse(GFX950, c.text)
		if err != nil {
			in, err = Parse(GFX942, c.text)
		}
		if err != nil {
			t.Error(err)
			continue
		}
		bad := 0
		for mode := range uint32(256) {
			if testing.Short() && mode%7 != 0 {
				continue
			}
			if bad += c.run(t, rng, &in, mode|modeDX10Clamp|modeIEEE); bad > 3 {
				break
			}
		}
	}
}

// run does the instruction once with a set of operands a lane.
func (c *modeCase) run(t *testing.T, rng *rand.Rand, in *Inst, mode uint32) (bad int) {
	k, s := newTestState(GFX950)
	s.Mode = mode
	var src [Lanes][3]uint64
	for l := range src {
		if c.integer != nil {
			src[l] = [3]uint64{uint64(rng.Uint32() >> rng.IntN(32))}
		} else {
			src[l] = randomOperands(rng, c.src)
		}
		for i, v := range src[l] {
			hi := uint32(v >> 32)
			if c.src == &fmt32 {
				hi = uint32(v)
			}
			if c.packed {
				v |= v << 16
			}
			s.VGPR[2+2*i][l], s.VGPR[3+2*i][l] = uint32(v), hi
		}
	}
	if err := Exec(k, in, s); err != nil {
		t.Error(err)
		return 4
	}
	for l := range src {
		got := uint64(s.VGPR[0][l])
		want := c.want(mode, src[l])
		switch {
		case c.dst == &fmt64, in.Dst.N == 2:
			got |= uint64(s.VGPR[1][l]) << 32
			if c.dst == &fmt32 {
				want |= want << 32
			}
		case c.packed:
			want |= want << 16
		}
		if got != want {
			t.Errorf("%s with mode %#x, sources %#x: %#x, want %#x", c.text, mode, src[l], got, want)
			if bad++; bad > 3 {
				return bad
			}
		}
	}
	return bad
}

// s_setreg and the other readers of MODE, and operations with a rounding of
// their own.
func TestModeRules(t *testing.T) {
	third := bf(1.0 / 3)
	for mode, want := range map[uint32][2]string{
		0x3f0: {"0x3eaaaaab", "0x3555"}, 0x3f5: {"0x3eaaaaab", "0x3556"},
		0x3fa: {"0x3eaaaaab", "0x3555"}, 0x3ff: {"0x3eaaaaab", "0x3555"},
	} {
		m := fmt.Sprintf("mode=%#x v1=", mode)
		runCases(t, GFX950, []execCase{
			{"v_rcp_f32_e32 v0, v1", m + bf(3), "v0=" + want[0]}, // nearest whatever MODE says
			{"v_cvt_f16_f32_e32 v0, v1", m + third, "v0=" + want[1]},
			{"v_cvt_pk_f16_f32 v0, v1, v1", m + "0x3f803000", "v0=0x3c023c02"},
			{"v_cvt_pk_bf16_f32 v0, v1, v1", m + "0x3f818000", "v0=0x3f823f82"},
			{"v_cvt_pkrtz_f16_f32 v0, v1, v1", m + "0x3f801fff", "v0=0x3c003c00"},
			{"v_cvt_i32_f32_e32 v0, v1", m + bf(1.9), "v0=1"},
			{"v_rndne_f32_e32 v0, v1", m + bf(1.5), "v0=" + bf(2)},
			{"v_fract_f32_e32 v0, v1", m + bf(2), "v0=0"},
		})
	}
	runCases(t, GFX942, []execCase{
		{"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 13", "", "mode=0x3fd"},
		{"s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s1", "s1=0xf5 mode=0x3f3", "mode=0x353"},
		{"v_fma_mixlo_f16 v0, v1, v2, v3", "mode=0x3f4 v1=" + third + " v2=" + bf(1), "v0=0x3556"},
		{"v_fract_f32_e32 v0, v1", "mode=0x3f1 v1=" + bf(-1e-30), "v0=0x3f7fffff"},
		{"v_fract_f64_e32 v[0:1], v[2:3]", "mode=0x3fc v2=1 v3=0x80000000", "v0=0xffffffff v1=0x3fefffff"},
		{"v_mul_f32_e64 v0, v1, v2 mul:2", "mode=0x3c3 v1=0x7f7fffff v2=" + bf(1), "v0=0x7f7fffff"},
		{"v_cmp_eq_f32_e32 vcc, v1, v2", "mode=0x3c0 v1=1 v2=0x80000002", "vcc=-1"},
		{"v_cmp_eq_f32_e32 vcc, v1, v2", "v1=1 v2=0x80000002", "vcc=0"},
		{"v_cmp_eq_f16_e32 vcc, v1, v2", "mode=0x330 v1=1 v2=2", "vcc=-1"},
		{"v_cmp_eq_f64_e32 vcc, v[2:3], v[4:5]", "mode=0x330 v2=1 v4=2", "vcc=-1"},
		{"v_max_f32_e32 v0, v1, v2", "mode=0x3e0 v1=1 v2=0", "v0=0"},
		{"v_div_fmas_f32 v0, v1, v2, v3", "mode=0x3e0 v1=1 v2=" + bf(1), "v0=1"}, // its denormal sources are kept,
		{"v_dot2_f32_f16 v0, v1, v2, v3", "mode=0x300 v1=1 v2=0x3c00", "v0=" + bf(0x1p-24)},
	})
}
