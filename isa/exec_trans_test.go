package isa

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

const transBits = 240

// roots are 2^(2^-i).
var roots = func() [160]*big.Float {
	var v [160]*big.Float
	v[0] = new(big.Float).SetPrec(transBits).SetInt64(2)
	for i := 1; i < len(v); i++ {
		v[i] = new(big.Float).SetPrec(transBits).Sqrt(v[i-1])
	}
	return v
}()

// exp2Exact is 2^x, by x's binary digits down to 2^-159.
func exp2Exact(x float64) *big.Float {
	n := math.Floor(x)
	frac := x - n
	y := new(big.Float).SetPrec(transBits).SetInt64(1)
	for i := 1; i < len(roots) && frac != 0; i++ {
		if frac *= 2; frac >= 1 {
			frac--
			y.Mul(y, roots[i])
		}
	}
	return y.SetMantExp(y, int(n))
}

// transCase is a transcendental instruction: near reports whether got is within
// 1 ulp of its function of a positive x, ulp being got's.
type transCase struct {
	f32, f16, f64 string
	near          func(x, got, ulp float64) bool
	negative      bool // defined for negative numbers
	exponents     [2]int
}

// within reports |got-exact| <= ulp.
func within(got, ulp float64, exact *big.Float) bool {
	d := new(big.Float).SetPrec(transBits).SetFloat64(got)
	return d.Abs(d.Sub(d, exact)).Cmp(big.NewFloat(ulp)) <= 0
}

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(transBits).SetFloat64(x) }

var transCases = []transCase{
	{f32: "v_rcp_f32_e32 v0, v2", f16: "v_rcp_f16_e32 v0, v2", f64: "v_rcp_f64_e32 v[0:1], v[2:3]", negative: true,
		near: func(x, got, ulp float64) bool { return within(got, ulp, new(big.Float).Quo(bigOf(1), bigOf(x))) }},
	{f32: "v_rcp_iflag_f32_e32 v0, v2", negative: true,
		near: func(x, got, ulp float64) bool { return within(got, ulp, new(big.Float).Quo(bigOf(1), bigOf(x))) }},
	{f32: "v_sqrt_f32_e32 v0, v2", f16: "v_sqrt_f16_e32 v0, v2", f64: "v_sqrt_f64_e32 v[0:1], v[2:3]",
		near: func(x, got, ulp float64) bool { return within(got, ulp, new(big.Float).Sqrt(bigOf(x))) }},
	{f32: "v_rsq_f32_e32 v0, v2", f16: "v_rsq_f16_e32 v0, v2", f64: "v_rsq_f64_e32 v[0:1], v[2:3]",
		near: func(x, got, ulp float64) bool {
			return within(got, ulp, new(big.Float).Quo(bigOf(1), new(big.Float).Sqrt(bigOf(x))))
		}},
	{f32: "v_exp_f32_e32 v0, v2", f16: "v_exp_f16_e32 v0, v2", negative: true, exponents: [2]int{-30, 7},
		near: func(x, got, ulp float64) bool { return within(got, ulp, exp2Exact(x)) }},
	{f32: "v_log_f32_e32 v0, v2", f16: "v_log_f16_e32 v0, v2",
		near: func(x, got, ulp float64) bool { // the function is monotonic
			return exp2Exact(got-ulp).Cmp(bigOf(x)) <= 0 && exp2Exact(got+ulp).Cmp(bigOf(x)) >= 0
		}},
}

// ulpOf is the unit in the last place of v in format f.
func ulpOf(f *format, v float64) float64 {
	_, e := math.Frexp(v)
	return math.Ldexp(1, max(e-1, 1-f.bias)-f.mant)
}

// checkTrans compares a result with the exact function. An f32 source has no
// denormals here, and a result below the normal numbers must be zero.
func checkTrans(c *transCase, f *format, x, got float64) bool {
	switch {
	case x < 0 && !c.negative:
		return got != got
	case math.IsInf(got, 0): // overflow: the exact value exceeds the largest number
		largest := f.value(f.inf - 1)
		return !c.near(x, math.Copysign(largest, got), ulpOf(f, largest)/2)
	case f.mant == 23 && got == 0:
		least := math.Ldexp(1, 1-f.bias)
		return c.near(x, math.Copysign(least/2, got), least/2)
	case f.mant == 23 && f.exponent(bitsOf(f, got)) == 0:
		return false // not flushed
	}
	return c.near(x, got, ulpOf(f, got))
}

func TestTranscendentals(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 11))
	for i := range transCases {
		c := &transCases[i]
		n := 100
		if testing.Short() {
			n = 20
		}
		c.check(t, c.f32, &fmt32, n, func() uint64 {
			lo, hi := 1, 254
			if c.exponents != [2]int{} {
				lo, hi = 127+c.exponents[0], 127+c.exponents[1]
			}
			if rng.IntN(3) == 0 { // around one, where logarithms vanish
				lo, hi = 126, 127
			}
			b := uint64(lo+rng.IntN(hi-lo+1))<<23 | uint64(rng.Uint32()&0x7fffff)
			if c.negative || rng.IntN(16) == 0 {
				b |= uint64(rng.Uint32()) & fmt32.sign
			}
			if rng.IntN(4) == 0 {
				b &^= 0x7ffff // few digits
			}
			return b
		})
		next := uint64(0)
		c.check(t, c.f16, &fmt16, 1<<16/Lanes, func() uint64 { next++; return next & 0xffff })
		c.check(t, c.f64, &fmt64, n/5, func() uint64 {
			b := uint64(1+rng.IntN(2045))<<52 | rng.Uint64()>>12
			if c.negative {
				b |= rng.Uint64() & fmt64.sign
			}
			return b
		})
	}
}

// check runs an instruction n times on 64 sources of format f. Those that are
// not finite or zero have their own test.
func (c *transCase) check(t *testing.T, text string, f *format, n int, source func() uint64) {
	t.Helper()
	if text == "" {
		return
	}
	in, err := Parse(GFX950, text)
	if err != nil {
		t.Error(err)
		return
	}
	k, s := newTestState(GFX950)
	bad := 0
	for range n {
		var src [Lanes]uint64
		for l := range src {
			src[l] = source()
			s.VGPR[2][l], s.VGPR[3][l] = uint32(src[l]), uint32(src[l]>>32)
		}
		if err := Exec(k, &in, s); err != nil {
			t.Error(err)
			return
		}
		for l, b := range src {
			if f.isNaN(b) || f.isInf(b) || f.isZero(b) {
				continue
			}
			got := uint64(s.VGPR[0][l])
			if f == &fmt64 {
				got |= uint64(s.VGPR[1][l]) << 32
			}
			if !checkTrans(c, f, f.value(b), f.value(got)) {
				if bad++; bad < 4 {
					t.Errorf("%s: of %g (%#x) is %g (%#x)", text, f.value(b), b, f.value(got), got)
				}
			}
		}
	}
}

func TestTranscendentalSpecials(t *testing.T) {
	neg := func(v float64) string { return bf(math.Copysign(v, -1)) }
	for _, c := range []struct {
		op       string
		src, dst []string
	}{
		{"rcp", []string{"0", neg(0), posInf, negInf, qNaN, "0x00400000", bf(0x1p127)}, []string{posInf, negInf, "0", neg(0), qNaN, posInf, "0"}},
		{"rsq", []string{"0", neg(0), posInf, negInf, qNaN, "0x00400000", bf(-1)}, []string{posInf, negInf, "0", qNaN, qNaN, posInf, qNaN}},
		{"sqrt", []string{"0", neg(0), posInf, negInf, qNaN, "0x00400000", bf(-1)}, []string{"0", neg(0), posInf, qNaN, qNaN, "0", qNaN}},
		{"exp", []string{"0", neg(0), posInf, negInf, qNaN, bf(128), bf(-126.5)}, []string{bf(1), bf(1), posInf, "0", qNaN, posInf, "0"}},
		{"log", []string{"0", neg(0), posInf, negInf, qNaN, "0x00400000", bf(-1)}, []string{negInf, negInf, posInf, qNaN, qNaN, negInf, qNaN}},
	} {
		for i, src := range c.src {
			runCases(t, GFX950, []execCase{{"v_" + c.op + "_f32_e32 v0, v1", "v1=" + src, "v0=" + c.dst[i]}})
		}
	}
}
