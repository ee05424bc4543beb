package workloads

import (
	"math"
	"sort"

	"github.com/whisker-sim/whisker/isa"
)

// lowFormat is an 8-, 6- or 4-bit element type of the matrix instructions.
type lowFormat struct {
	name string
	bits int
	out  string // type of C

	// code is the operand format in CBSZ and BLGP of the f8f6f4 matrix
	// instructions.
	code uint8
	// values are the magnitudes of the codes without the sign bit, ascending
	// and without the codes that are no numbers.
	values []float64
	// oneZero says that the format has no negative zero: its code is the NaN.
	oneZero bool
}

// magnitudes lists the finite magnitudes of a small float with m bits of
// mantissa and the given bias, n of them.
func magnitudes(m, bias, n int) []float64 {
	v := make([]float64, n)
	for c := range v {
		e, f := c>>m, float64(c&(1<<m-1))/float64(int(1)<<m)
		if e == 0 {
			v[c] = math.Ldexp(f, 1-bias)
		} else {
			v[c] = math.Ldexp(1+f, e-bias)
		}
	}
	return v
}

// The low-precision element types. HipKittens' FP8 kernels write bf16 and its
// FP6 kernels fp16; FP4 follows FP8.
var (
	// E4M3 of the OCP specification: bias 7, greatest value 448.
	fp8OCP = &lowFormat{name: "fp8", bits: 8, out: "bf16", code: 0, values: magnitudes(3, 7, 0x7f)}
	// E4M3 FNUZ of gfx942: bias 8, greatest value 240, one zero.
	fp8FNUZ = &lowFormat{name: "fp8", bits: 8, out: "bf16", values: magnitudes(3, 8, 0x80), oneZero: true}
	// E2M3: bias 1, greatest value 7.5.
	fp6E2M3 = &lowFormat{name: "fp6", bits: 6, out: "fp16", code: 2, values: magnitudes(3, 1, 0x20)}
	// E2M1: bias 1, greatest value 6.
	fp4E2M1 = &lowFormat{name: "fp4", bits: 4, out: "bf16", code: 4, values: magnitudes(1, 1, 8)}
)

// lowFormatOf is the low-precision format of an element type on a CPU, nil if
// there is none of that name.
func lowFormatOf(cpu isa.CPU, dtype string) *lowFormat {
	switch {
	case dtype == "fp8" && cpu == isa.GFX942:
		return fp8FNUZ
	case dtype == "fp8":
		return fp8OCP
	case dtype == "fp6":
		return fp6E2M3
	case dtype == "fp4":
		return fp4E2M1
	}
	return nil
}

// encode rounds x to the nearest value, ties to the even code as IEEE rounding
// does, and saturates at the greatest magnitude.
func (f *lowFormat) encode(x float64) uint8 {
	a := math.Abs(x)
	hi := sort.SearchFloat64s(f.values, a)
	c := hi
	switch {
	case hi == len(f.values):
		c = hi - 1
	case hi > 0:
		down, up := a-f.values[hi-1], f.values[hi]-a
		if down < up || down == up && hi&1 == 1 {
			c = hi - 1
		}
	}
	if math.Signbit(x) && !(c == 0 && f.oneZero) {
		c |= 1 << (f.bits - 1)
	}
	return uint8(c)
}

// decode is the value of a code that encode makes.
func (f *lowFormat) decode(c uint8) float64 {
	v := f.values[c&(1<<(f.bits-1)-1)]
	if c>>(f.bits-1)&1 != 0 {
		return -v
	}
	return v
}

// put packs code c as element i of a row.
func (f *lowFormat) put(row []byte, i int, c uint8) {
	bit := i * f.bits
	v := uint16(c) << (bit % 8)
	row[bit/8] |= byte(v)
	if v > 0xff {
		row[bit/8+1] |= byte(v >> 8)
	}
}

// get is the code of element i of a row.
func (f *lowFormat) get(row []byte, i int) uint8 {
	bit := i * f.bits
	v := uint16(row[bit/8])
	if bit%8+f.bits > 8 {
		v |= uint16(row[bit/8+1]) << 8
	}
	return uint8(v>>(bit%8)) & uint8(1<<f.bits-1)
}
