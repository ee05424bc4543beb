package isa

import (
	"math"
	"math/big"
)

// Float arithmetic of the vector ALU: f16, f32 and f64 forms of one operation
// are registered together.

// fop is an operation on values of one format, by bits.
type fop func(f *format, a, b, c uint64) uint64

// registerFormats registers op's three forms; OpInvalid skips one.
func registerFormats(op16, op32, op64 Op, f fop, acc bool) {
	if op16 != OpInvalid {
		r := rounded32(f, formats16)
		execTable[op16] = vop{src: [3]kind{kF16, kF16, kF16}, dst: kF16, acc: acc, f: r[0], rounded: r}.exec()
	}
	if op32 != OpInvalid {
		r := rounded32(f, formats32)
		execTable[op32] = vop{src: [3]kind{kF32, kF32, kF32}, dst: kF32, acc: acc, f: r[0], rounded: r}.exec()
	}
	if op64 != OpInvalid {
		r := rounded64(f, formats64)
		execTable[op64] = vop64{src: [3]kind{kF64, kF64, kF64}, dst: kF64, acc: acc, f: r[0], rounded: r}.exec()
	}
}

func fAdd(f *format, a, b, _ uint64) uint64 {
	v := f.value(a) + f.value(b)
	if v != v {
		return f.nan(a, b, 0)
	}
	switch {
	case f.rm != roundNearest:
		return f.sum(f.value(a), f.value(b))
	case f.mant == 23:
		return uint64(fbits(ffrom(uint32(a)) + ffrom(uint32(b))))
	}
	return f.round(v)
}

func fMul(f *format, a, b, _ uint64) uint64 {
	v := f.value(a) * f.value(b)
	if v != v {
		return f.nan(a, b, 0)
	}
	if f.mant == 52 {
		return dbits(product64(f.rm, dfrom(a), dfrom(b)))
	}
	return f.round(v) // exact before rounding for f16 and f32
}

func fFMA(f *format, a, b, c uint64) uint64 {
	x, y, z := f.value(a), f.value(b), f.value(c)
	if f.mant == 52 {
		if v := sum64(f.rm, x, y, z); v == v {
			return dbits(v)
		}
		return f.nan(a, b, c)
	}
	p := float64(x * y)
	if p != p || p+z != p+z {
		return f.nan(a, b, c)
	}
	return f.sum(p, z)
}

// fMAD rounds the product before the sum.
func fMAD(f *format, a, b, c uint64) uint64 { return fAdd(f, fMul(f, a, b, 0), c, 0) }

func fMin(f *format, a, b, _ uint64) uint64 { return f.minMax(a, b, false) }
func fMax(f *format, a, b, _ uint64) uint64 { return f.minMax(a, b, true) }

// minMax with MODE.IEEE on: a signalling NaN is quieted and returned, a quiet
// one loses to a number, -0 is below +0.
func (f *format) minMax(a, b uint64, wantMax bool) uint64 {
	switch {
	case f.isSNaN(a):
		return a | f.quiet
	case f.isSNaN(b):
		return b | f.quiet
	case f.isNaN(a):
		return b
	case f.isNaN(b):
		return a
	case (f.key(a) > f.key(b)) == wantMax:
		return a
	}
	return b
}

func fMin3(f *format, a, b, c uint64) uint64 { return fMin(f, fMin(f, a, b, 0), c, 0) }
func fMax3(f *format, a, b, c uint64) uint64 { return fMax(f, fMax(f, a, b, 0), c, 0) }

func fMed3(f *format, a, b, c uint64) uint64 {
	if f.isNaN(a) || f.isNaN(b) || f.isNaN(c) {
		return fMin3(f, a, b, c)
	}
	ka, kb, kc := f.key(a), f.key(b), f.key(c)
	switch m := max(min(ka, kb), min(max(ka, kb), kc)); m {
	case ka:
		return a
	case kb:
		return b
	}
	return c
}

// fMinimum3 and fMaximum3 follow IEEE 754-2019: any NaN gives a quiet NaN.
func fMinimum3(f *format, a, b, c uint64) uint64 {
	if f.isNaN(a) || f.isNaN(b) || f.isNaN(c) {
		return f.nan(a, b, c)
	}
	return fMin3(f, a, b, c)
}

func fMaximum3(f *format, a, b, c uint64) uint64 {
	if f.isNaN(a) || f.isNaN(b) || f.isNaN(c) {
		return f.nan(a, b, c)
	}
	return fMax3(f, a, b, c)
}

// unary makes a fop of a function of the value, rounded once.
func unary(g func(x float64) float64) fop {
	return func(f *format, a, _, _ uint64) uint64 {
		if f.isNaN(a) {
			return a | f.quiet
		}
		return f.round(g(f.value(a)))
	}
}

// trans is unary with the f32 form's denormal inputs and outputs flushed
// whatever MODE says, as the hardware's transcendental unit does.
func trans(g func(x float64) float64) fop {
	u := unary(g)
	nearest := map[int]*format{10: &fmt16, 23: &fmt32, 52: &fmt64}
	return func(f *format, a, _, _ uint64) uint64 {
		if f.rm != roundNearest {
			f = nearest[f.mant]
		}
		if f.mant != 23 {
			return u(f, a, 0, 0)
		}
		return uint64(flush32(uint32(u(f, uint64(flush32(uint32(a))), 0, 0))))
	}
}

func fFract(f *format, a, _, _ uint64) uint64 {
	if f.isNaN(a) {
		return a | f.quiet
	}
	if f.isInf(a) {
		return f.defaultNaN
	}
	x := f.value(a)
	one := f.round(1)
	return min(f.sum(x, -math.Floor(x))&^f.sign, one-1)
}

func fFrexpMant(f *format, a, _, _ uint64) uint64 {
	if f.isNaN(a) {
		return a | f.quiet
	}
	if f.isInf(a) {
		return a
	}
	m, _ := math.Frexp(f.value(a))
	return f.round(m)
}

func frexpExp(f *format, a uint64) uint32 {
	if f.isNaN(a) || f.isInf(a) || f.isZero(a) {
		return 0
	}
	_, e := math.Frexp(f.value(a))
	return uint32(e)
}

func fLdexp(f *format, a uint64, n int32) uint64 {
	if f.isNaN(a) {
		return a | f.quiet
	}
	if f.mant != 52 { // no limit of f64 comes near
		return f.round(math.Ldexp(f.value(a), int(max(min(n, 400), -400))))
	}
	x, e := dfrom(a), int(max(min(n, 4000), -4000))
	if f.rm == roundNearest || x == 0 || f.isInf(a) {
		return dbits(math.Ldexp(x, e))
	}
	b := big.NewFloat(x)
	return dbits(roundBig(f.rm, b.SetMantExp(b, e)))
}

// cycles is sin or cos of an angle in revolutions.
func cycles(g func(x float64) float64) func(x float64) float64 {
	return func(x float64) float64 {
		if math.IsInf(x, 0) {
			return math.NaN()
		}
		return g(2 * math.Pi * (x - math.Floor(x)))
	}
}

func reciprocal(x float64) float64 { return 1 / x }

// reciprocalSqrt takes one Newton step, for the root and the quotient round and
// their errors add up to more than a unit in the last place.
func reciprocalSqrt(x float64) float64 {
	y := 1 / math.Sqrt(x)
	if y == 0 || math.IsInf(y, 0) {
		return y
	}
	h := x * y
	e := math.FMA(-h, y, 1) - math.FMA(x, y, -h)*y // 1 - x*y*y
	return math.FMA(y/2, e, y)
}

// log2 gives -inf for either zero.
func log2(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	return math.Log2(x)
}

func registerVectorF32() {
	r := registerFormats
	sub := func(f *format, a, b, _ uint64) uint64 { return fSub(f, a, b) }
	rev := func(f *format, a, b, _ uint64) uint64 { return fSub(f, b, a) }
	r(V_ADD_F16, V_ADD_F32, V_ADD_F64, fAdd, false)
	r(V_SUB_F16, V_SUB_F32, OpInvalid, sub, false)
	r(V_SUBREV_F16, V_SUBREV_F32, OpInvalid, rev, false)
	r(V_MUL_F16, V_MUL_F32, V_MUL_F64, fMul, false)
	r(V_FMA_F16, V_FMA_F32, V_FMA_F64, fFMA, false)
	r(V_FMA_LEGACY_F16, OpInvalid, OpInvalid, fFMA, false)
	r(OpInvalid, V_FMAC_F32, V_FMAC_F64, fFMA, true)
	r(V_MAC_F16, OpInvalid, OpInvalid, fMAD, true)
	r(V_MAD_F16, OpInvalid, OpInvalid, fMAD, false)
	r(V_MAD_LEGACY_F16, OpInvalid, OpInvalid, fMAD, false)
	r(V_MADAK_F16, V_FMAAK_F32, OpInvalid, halfOrWide(fMAD, fFMA), false)
	r(V_MADMK_F16, V_FMAMK_F32, OpInvalid, halfOrWide(fMAD, fFMA), false)
	r(V_MIN_F16, V_MIN_F32, V_MIN_F64, fMin, false)
	r(V_MAX_F16, V_MAX_F32, V_MAX_F64, fMax, false)
	r(V_MIN3_F16, V_MIN3_F32, OpInvalid, fMin3, false)
	r(V_MAX3_F16, V_MAX3_F32, OpInvalid, fMax3, false)
	r(V_MED3_F16, V_MED3_F32, OpInvalid, fMed3, false)
	r(OpInvalid, V_MINIMUM3_F32, OpInvalid, fMinimum3, false)
	r(OpInvalid, V_MAXIMUM3_F32, OpInvalid, fMaximum3, false)
	r(OpInvalid, V_MUL_LEGACY_F32, OpInvalid, func(f *format, a, b, _ uint64) uint64 {
		if f.isZero(a) || f.isZero(b) {
			return 0
		}
		return fMul(f, a, b, 0)
	}, false)
	r(V_RNDNE_F16, V_RNDNE_F32, V_RNDNE_F64, unary(math.RoundToEven), false)
	r(V_TRUNC_F16, V_TRUNC_F32, V_TRUNC_F64, unary(math.Trunc), false)
	r(V_CEIL_F16, V_CEIL_F32, V_CEIL_F64, unary(math.Ceil), false)
	r(V_FLOOR_F16, V_FLOOR_F32, V_FLOOR_F64, unary(math.Floor), false)
	r(V_FRACT_F16, V_FRACT_F32, V_FRACT_F64, fFract, false)
	r(V_FREXP_MANT_F16, V_FREXP_MANT_F32, V_FREXP_MANT_F64, fFrexpMant, false)
	r(V_RCP_F16, V_RCP_F32, V_RCP_F64, trans(reciprocal), false)
	r(OpInvalid, V_RCP_IFLAG_F32, OpInvalid, trans(reciprocal), false)
	r(V_RSQ_F16, V_RSQ_F32, V_RSQ_F64, trans(reciprocalSqrt), false)
	r(V_SQRT_F16, V_SQRT_F32, V_SQRT_F64, trans(math.Sqrt), false)
	r(V_EXP_F16, V_EXP_F32, OpInvalid, trans(math.Exp2), false)
	r(OpInvalid, V_EXP_LEGACY_F32, OpInvalid, trans(math.Exp2), false)
	r(V_LOG_F16, V_LOG_F32, OpInvalid, trans(log2), false)
	r(OpInvalid, V_LOG_LEGACY_F32, OpInvalid, trans(log2), false)
	r(V_SIN_F16, V_SIN_F32, OpInvalid, trans(cycles(math.Sin)), false)
	r(V_COS_F16, V_COS_F32, OpInvalid, trans(cycles(math.Cos)), false)
	registerVectorScale()
}

// halfOrWide uses one rule for f16 and another for the wider formats.
func halfOrWide(half, wide fop) fop {
	return func(f *format, a, b, c uint64) uint64 {
		if f.mant == 10 {
			return half(f, a, b, c)
		}
		return wide(f, a, b, c)
	}
}

func fSub(f *format, a, b uint64) uint64 {
	if f.isNaN(b) {
		return f.nan(a, b, 0)
	}
	return fAdd(f, a, b^f.sign, 0)
}

func registerVectorScale() {
	t := &execTable
	by32 := func(f *format, a, b, _ uint64) uint64 { return fLdexp(f, a, int32(b)) }
	by16 := func(f *format, a, b, _ uint64) uint64 { return fLdexp(f, a, int32(int16(b))) }
	r32, r16, r64 := rounded32(by32, formats32), rounded32(by16, formats16), rounded64(by32, formats64)
	t[V_LDEXP_F32] = vop{src: [3]kind{kF32, kB32}, dst: kF32, f: r32[0], rounded: r32}.exec()
	t[V_LDEXP_F16] = vop{src: [3]kind{kF16, kB16}, dst: kF16, f: r16[0], rounded: r16}.exec()
	t[V_LDEXP_F64] = vop64{src: [3]kind{kF64, kB32}, dst: kF64, f: r64[0], rounded: r64}.exec()
	t[V_FREXP_EXP_I32_F32] = vop{src: [3]kind{kF32},
		f: func(a, _, _ uint32) uint32 { return frexpExp(&fmt32, uint64(a)) }}.exec()
	t[V_FREXP_EXP_I16_F16] = vop{src: [3]kind{kF16}, dst: kB16,
		f: func(a, _, _ uint32) uint32 { return frexpExp(&fmt16, uint64(a)) }}.exec()
	t[V_FREXP_EXP_I32_F64] = vop64{src: [3]kind{kF64}, dst: kB32,
		f: func(a, _, _ uint64) uint64 { return uint64(frexpExp(&fmt64, a)) }}.exec()
}

func mulF32(a, b uint32) uint32 {
	if v := ffrom(a) * ffrom(b); v == v {
		return fbits(v)
	}
	return nan32(a, b, 0)
}

func fmaF32(a, b, c uint32) uint32 {
	if v := fma32(ffrom(a), ffrom(b), ffrom(c)); v == v {
		return fbits(v)
	}
	return nan32(a, b, c)
}
