package isa

import (
	"math"
	"math/big"
)

// Rounding other than to nearest even. MODE[1:0] rounds operations with f32
// sources and results, MODE[3:2] those with an f16 or f64 among them. What
// rounds by a fixed rule, here too: transcendentals, v_cvt_pk_{f16,bf16}_f32,
// conversions to eight bits and fewer (nearest even), v_cvt_pkrtz (zero), dot
// products, matrix instructions and atomics (nearest even).
//
// Each operation is registered with one function per rounding, so that nearest
// even, which compilers leave on, costs nothing more.

// rounding is a two-bit field of MODE.
type rounding uint8

const (
	roundNearest rounding = iota
	roundUp
	roundDown
	roundZero
)

// round32 and round16 are MODE's fields.
func (s *State) round32() rounding { return rounding(s.Mode & 3) }
func (s *State) round16() rounding { return rounding(s.Mode >> 2 & 3) }

// formats16 and its peers are a format by rounding.
var formats16, formats32, formats64 = byRounding(fmt16), byRounding(fmt32), byRounding(fmt64)

func byRounding(f format) *[4]format {
	var v [4]format
	for r := range v {
		v[r] = f
		v[r].rm = rounding(r)
	}
	return &v
}

// lane32 and lane64 are an operation on one lane.
type (
	lane32 = func(a, b, c uint32) uint32
	lane64 = func(a, b, c uint64) uint64
)

// rounded32 makes f an operation on dwords for every rounding.
func rounded32(f fop, formats *[4]format) *[4]lane32 {
	var v [4]lane32
	for r := range v {
		v[r] = func(a, b, c uint32) uint32 {
			return uint32(f(&formats[r], uint64(a), uint64(b), uint64(c)))
		}
	}
	return &v
}

func rounded64(f fop, formats *[4]format) *[4]lane64 {
	var v [4]lane64
	for r := range v {
		v[r] = func(a, b, c uint64) uint64 { return f(&formats[r], a, b, c) }
	}
	return &v
}

// away reports whether an inexact result grows in magnitude under a directed
// rounding.
func (r rounding) away(negative bool) bool {
	return r == roundUp && !negative || r == roundDown && negative
}

// sum is p+c rounded once. A 16- or 32-bit format's p may be a product, for that
// is exact in f64.
func (f *format) sum(p, c float64) uint64 {
	if f.mant == 52 {
		return dbits(sum64(f.rm, p, 1, c))
	}
	v := addOdd(p, c)
	if v == 0 {
		return f.round(zeroSum(f.rm, p, c))
	}
	return f.round(v)
}

// zeroSum is the zero that p+c gives: IEEE 754 makes an exact cancellation
// negative only when rounding down.
func zeroSum(r rounding, p, c float64) float64 {
	if r == roundDown && math.Signbit(p) != math.Signbit(c) {
		return math.Copysign(0, -1)
	}
	return p + c
}

// bigBits holds any a*b+c of f64 exactly: the product reaches from 2^2048 to
// 2^-2148.
const bigBits = 4400

// sum64 is a*b+c in f64 with one directed rounding.
func sum64(r rounding, a, b, c float64) float64 {
	v := math.FMA(a, b, c)
	switch {
	case r == roundNearest, v != v, math.IsInf(a, 0), math.IsInf(b, 0), math.IsInf(c, 0):
		return v
	}
	x := exactSum(a, b, c)
	if x.Sign() == 0 {
		return zeroSum(r, a*b, c)
	}
	return roundBig(r, x)
}

// exactSum is a*b+c of finite numbers.
func exactSum(a, b, c float64) *big.Float {
	x := new(big.Float).SetPrec(bigBits).SetFloat64(a)
	x.Mul(x, big.NewFloat(b))
	return x.Add(x, big.NewFloat(c))
}

// product64 is a*b in f64 with one directed rounding.
func product64(r rounding, a, b float64) float64 {
	v := a * b
	if r == roundNearest || v != v || math.IsInf(a, 0) || math.IsInf(b, 0) || a == 0 || b == 0 {
		return v
	}
	return roundBig(r, exactSum(a, b, 0))
}

// roundBig rounds a number other than zero to f64.
func roundBig(r rounding, x *big.Float) float64 {
	v, acc := x.Float64()
	if acc == big.Exact || r == roundNearest {
		return v
	}
	negative := x.Sign() < 0
	grew := (acc == big.Above) != negative
	switch away := r.away(negative); {
	case away && !grew:
		if v == 0 {
			return math.Copysign(math.SmallestNonzeroFloat64, float64(x.Sign()))
		}
		return math.Float64frombits(dbits(v) + 1)
	case !away && grew: // infinity steps back to the largest number
		return math.Float64frombits(dbits(v) - 1)
	}
	return v
}
