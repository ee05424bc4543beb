package isa

import "math"

// The 8-, 6- and 4-bit float formats.

// smallFormat is a format of up to eight bits.
type smallFormat struct {
	ebits, mbits, bias int
	fnuz               bool // no negative zero: 0x80 is the only NaN
	inf                bool // the top exponent means infinity and NaN
	nan                bool // all ones is NaN
	decode             []float32
}

var (
	fp8FNUZ = smallFormat{ebits: 4, mbits: 3, bias: 8, fnuz: true}
	bf8FNUZ = smallFormat{ebits: 5, mbits: 2, bias: 16, fnuz: true}
	fp8OCP  = smallFormat{ebits: 4, mbits: 3, bias: 7, nan: true}
	bf8OCP  = smallFormat{ebits: 5, mbits: 2, bias: 15, inf: true}
	fp6     = smallFormat{ebits: 2, mbits: 3, bias: 1}
	bf6     = smallFormat{ebits: 3, mbits: 2, bias: 3}
	fp4     = smallFormat{ebits: 2, mbits: 1, bias: 1}
)

func init() {
	for _, f := range []*smallFormat{&fp8FNUZ, &bf8FNUZ, &fp8OCP, &bf8OCP, &fp6, &bf6, &fp4} {
		f.decode = make([]float32, 1<<f.width())
		for c := range f.decode {
			f.decode[c] = f.value(uint32(c))
		}
	}
}

func (f *smallFormat) width() int { return 1 + f.ebits + f.mbits }

// value decodes code c.
func (f *smallFormat) value(c uint32) float32 {
	sign := c >> (f.ebits + f.mbits)
	e, m := int(c>>f.mbits)&(1<<f.ebits-1), c&(1<<f.mbits-1)
	nan := float32(math.NaN())
	switch {
	case f.fnuz && c == 1<<(f.ebits+f.mbits):
		return nan
	case f.inf && e == 1<<f.ebits-1:
		if m != 0 {
			return nan
		}
		return float32(math.Inf(1 - 2*int(sign)))
	case f.nan && e == 1<<f.ebits-1 && m == 1<<f.mbits-1:
		return nan
	}
	v := math.Ldexp(float64(m), -f.mbits)
	if e != 0 {
		v = math.Ldexp(1+v, e-f.bias)
	} else {
		v = math.Ldexp(v, 1-f.bias)
	}
	return float32(math.Copysign(v, 1-2*float64(sign)))
}

// fp8Formats are fp8 and bf8 of a CPU: CDNA3 has the FNUZ variants, CDNA4 OCP's.
func fp8Formats(cpu CPU) (fp8, bf8 *smallFormat) {
	if cpu == GFX942 {
		return &fp8FNUZ, &bf8FNUZ
	}
	return &fp8OCP, &bf8OCP
}

// maxCode is the largest finite magnitude's code.
func (f *smallFormat) maxCode() uint32 {
	all := uint32(1)<<(f.ebits+f.mbits) - 1
	switch {
	case f.nan:
		return all - 1
	case f.inf:
		return all - 1<<f.mbits
	}
	return all
}

// special is the code of a NaN, or of an overflow when it does not saturate.
func (f *smallFormat) special(sign uint32, overflow bool) uint32 {
	top := uint32(1)<<(f.ebits+f.mbits) - 1
	switch {
	case f.fnuz:
		return 1 << (f.ebits + f.mbits)
	case f.nan:
		return sign | top
	case f.inf && overflow:
		return sign | (f.maxCode() + 1)
	case f.inf:
		return sign | top
	}
	return sign | f.maxCode() // formats with numbers only saturate
}

// encode converts v to nearest even, or toward zero with truncate. An overflow
// becomes the largest finite value with saturate, else infinity or NaN.
func (f *smallFormat) encode(v float64, truncate, saturate bool) uint32 {
	var sign uint32
	if math.Signbit(v) {
		sign = 1 << (f.ebits + f.mbits)
	}
	if v != v {
		return f.special(sign, false)
	}
	mag := math.Abs(v)
	code := f.maxCode() + 1
	switch {
	case mag == 0:
		code = 0
	case !math.IsInf(mag, 0):
		_, e := math.Frexp(mag)
		e = max(e-1, 1-f.bias)
		q := math.Ldexp(mag, f.mbits-e)
		if truncate {
			q = math.Trunc(q)
		} else {
			q = math.RoundToEven(q)
		}
		// The hidden bit in q carries into the exponent field.
		code = min(uint32(e-1+f.bias)<<f.mbits+uint32(q), code)
	}
	if code > f.maxCode() {
		if !saturate {
			return f.special(sign, true)
		}
		code = f.maxCode()
	}
	if f.fnuz && code == 0 {
		return 0
	}
	return sign | code
}

// encodeStochastic adds the top bits of rnd to the mantissa bits that the format
// drops, and truncates.
func (f *smallFormat) encodeStochastic(v float32, rnd uint32, saturate bool) uint32 {
	b := fbits(v)
	if b&0x7f800000 == 0x7f800000 {
		return f.encode(float64(v), true, saturate)
	}
	drop := 23 - f.mbits
	return f.encode(float64(ffrom(b+rnd>>(32-drop))), true, saturate)
}
