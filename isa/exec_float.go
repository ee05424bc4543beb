package isa

import "math"

// Number formats: f32 and f64 by bits, f16 and bf16 conversions, the fused
// multiply-add and NaN rules that Go's arithmetic does not give.

func ffrom(b uint32) float32 { return math.Float32frombits(b) }
func fbits(f float32) uint32 { return math.Float32bits(f) }
func dfrom(b uint64) float64 { return math.Float64frombits(b) }
func dbits(f float64) uint64 { return math.Float64bits(f) }

const (
	defaultNaN32 = 0x7fc00000
	defaultNaN64 = 0x7ff8000000000000
	defaultNaN16 = 0x7e00
)

func isNaN32(b uint32) bool { return b&0x7fffffff > 0x7f800000 }
func isNaN16(b uint32) bool { return b&0x7fff > 0x7c00 }
func isNaN64(b uint64) bool { return b&^(1<<63) > 0x7ff0000000000000 }

// isSNaN32 and its peers report a signalling NaN: the top mantissa bit clear.
func isSNaN32(b uint32) bool { return isNaN32(b) && b&0x400000 == 0 }
func isSNaN16(b uint32) bool { return isNaN16(b) && b&0x200 == 0 }
func isSNaN64(b uint64) bool { return isNaN64(b) && b&(1<<51) == 0 }

// nan32 is the NaN result of an operation: the first NaN source quieted, else
// the default NaN.
func nan32(a, b, c uint32) uint32 {
	for _, x := range [3]uint32{a, b, c} {
		if isNaN32(x) {
			return x | 0x400000
		}
	}
	return defaultNaN32
}

func nan16(a, b, c uint32) uint32 {
	for _, x := range [3]uint32{a, b, c} {
		if isNaN16(x) {
			return x | 0x200
		}
	}
	return defaultNaN16
}

func nan64(a, b, c uint64) uint64 {
	for _, x := range [3]uint64{a, b, c} {
		if isNaN64(x) {
			return x | 1<<51
		}
	}
	return defaultNaN64
}

// fma32 is a*b+c with one rounding. The product of two f32 is exact in f64; the
// sum is rounded to odd there, which makes the second rounding harmless.
//
// Without that, the second rounding goes wrong only where the f64 sum lands on
// the midpoint of two f32, or where the f32 is denormal.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := float64(p) + float64(c)
	if u := math.Float64bits(s); u&(1<<29-1) != 1<<28 && u>>52&0x7ff > 1023-126 {
		return float32(s)
	}
	return float32(addOdd(p, float64(c)))
}

// fmaOdd is a*b+c for sources whose product is exact in f64, rounded to odd:
// an inexact sum gets its last bit set, so that rounding it again to f32 or
// f16 gives the correctly rounded result.
func fmaOdd(a, b, c float64) float64 {
	p := float64(a * b)
	return addOdd(p, c)
}

func addOdd(p, c float64) float64 {
	s := p + c
	if math.IsInf(s, 0) || s != s {
		return s
	}
	// Knuth's two-sum: e is the exact rounding error of s.
	bb := s - p
	e := (p - (s - bb)) + (c - bb)
	if e == 0 {
		return s
	}
	u := math.Float64bits(s)
	if u&1 == 0 {
		// The true value lies between s and a neighbour; take the odd one of the two.
		if (e > 0) == (s > 0) {
			u++
		} else {
			u--
		}
	}
	return math.Float64frombits(u)
}

// f16ToF32 is exact; NaN payloads keep their place and quiet bit.
func f16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	e, m := uint32(h>>10)&31, uint32(h)&0x3ff
	switch {
	case e == 31:
		return ffrom(sign | 0x7f800000 | m<<13)
	case e != 0:
		return ffrom(sign | (e+112)<<23 | m<<13)
	case m == 0:
		return ffrom(sign)
	}
	f := float32(m) * 0x1p-24
	return ffrom(sign | fbits(f))
}

// f64ToF16 rounds to nearest even; overflow gives infinity and NaN is quieted.
func f64ToF16(f float64) uint16 {
	return uint16(roundToFormat(dbits(f), 5, 10, 15, roundNearest))
}

// f32ToF16 rounds to nearest even.
func f32ToF16(f float32) uint16 {
	b := fbits(f)
	if isNaN32(b) {
		return uint16(b>>16&0x8000 | 0x7e00 | b>>13&0x1ff)
	}
	return f64ToF16(float64(f))
}

// roundToFormat rounds an f64 by its bits to an IEEE format with infinities:
// ebits of exponent with the given bias and mbits of mantissa.
func roundToFormat(b uint64, ebits, mbits, bias int, r rounding) uint64 {
	sign := b >> 63 << (ebits + mbits)
	e, m := int(b>>52&0x7ff), b&(1<<52-1)
	top := uint64(1)<<ebits - 1
	if e == 0x7ff {
		if m == 0 {
			return sign | top<<mbits
		}
		return sign | top<<mbits | 1<<(mbits-1) | m>>(52-mbits)
	}
	away := r.away(sign != 0)
	if e == 0 { // f64 denormals are below half of any smaller format's least value
		return sign | uint64(bit32(away && m != 0))
	}
	x := e - 1023 + bias
	m |= 1 << 52
	sh := 52 - mbits
	if x <= 0 { // denormal
		sh += 1 - x
		x = 0
	} else {
		x--
	}
	if sh > 54 {
		return sign | uint64(bit32(away))
	}
	q, rem, half := m>>sh, m&(1<<sh-1), uint64(1)<<(sh-1)
	switch {
	case r != roundNearest:
		q += uint64(bit32(away && rem != 0))
	case rem > half || rem == half && q&1 != 0:
		q++
	}
	v := uint64(x)<<mbits + q // the hidden bit carries into the exponent
	if v >= top<<mbits {
		v = top << mbits
		if r != roundNearest && !away {
			v-- // the largest number
		}
	}
	return sign | v
}

// bf16ToF32 is exact.
func bf16ToF32(h uint16) float32 { return ffrom(uint32(h) << 16) }

// f32ToBF16 rounds to nearest even and quiets NaN.
func f32ToBF16(b uint32) uint32 {
	if isNaN32(b) {
		return b>>16 | 0x40
	}
	return (b + 0x7fff + b>>16&1) >> 16
}
