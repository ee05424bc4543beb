package isa

import (
	"math"
	"strings"
)

// Vector compares. v_cmp writes a lane mask whose inactive bits are zero;
// v_cmpx writes EXEC as well.

var floatConds = map[string]func(a, b float64) bool{
	"f": func(a, b float64) bool { return false },
	"lt": func(a, b float64) bool {
		return a < b
	},
	"eq":  func(a, b float64) bool { return a == b },
	"le":  func(a, b float64) bool { return a <= b },
	"gt":  func(a, b float64) bool { return a > b },
	"lg":  func(a, b float64) bool { return a < b || a > b },
	"ge":  func(a, b float64) bool { return a >= b },
	"o":   func(a, b float64) bool { return a == a && b == b },
	"u":   func(a, b float64) bool { return a != a || b != b },
	"nge": func(a, b float64) bool { return !(a >= b) },
	"nlg": func(a, b float64) bool { return !(a < b || a > b) },
	"ngt": func(a, b float64) bool { return !(a > b) },
	"nle": func(a, b float64) bool { return !(a <= b) },
	"neq": func(a, b float64) bool { return !(a == b) },
	"nlt": func(a, b float64) bool { return !(a < b) },
	"tru": func(a, b float64) bool { return true },
}

var signedConds = map[string]func(a, b int64) bool{
	"f":  func(a, b int64) bool { return false },
	"lt": func(a, b int64) bool { return a < b },
	"eq": func(a, b int64) bool { return a == b },
	"le": func(a, b int64) bool { return a <= b },
	"gt": func(a, b int64) bool { return a > b },
	"ne": func(a, b int64) bool { return a != b },
	"ge": func(a, b int64) bool { return a >= b },
	"t":  func(a, b int64) bool { return true },
}

func registerVectorCompare() {
	for op := range numOps {
		name, isX := strings.CutPrefix(op.String(), "v_cmpx_")
		if !isX {
			var ok bool
			if name, ok = strings.CutPrefix(op.String(), "v_cmp_"); !ok {
				continue
			}
		}
		cond, typ, _ := strings.Cut(name, "_")
		switch {
		case cond == "class":
			execTable[op] = cmpClass(typ, isX)
		case typ[0] == 'f':
			execTable[op] = cmpFloat(floatConds[cond], typ, isX)
		case typ == "i64" || typ == "u64":
			execTable[op] = cmpInt64(signedConds[cond], typ[0] == 'u', isX)
		default:
			execTable[op] = cmpInt(signedConds[cond], typ, isX)
		}
	}
}

// setCompare writes the mask of a compare.
func (s *State) setCompare(in *Inst, m uint64, isX bool) {
	if isX {
		s.SetExec(m)
	}
	s.setMask(in.Dst, m)
}

func cmpFloat(f func(a, b float64) bool, typ string, isX bool) execFunc {
	if typ == "f64" {
		return cmp64(kF64, kF64, func(a, b uint64) bool { return f(dfrom(a), dfrom(b)) }, isX)
	}
	if typ == "f16" {
		return cmp32(kF16, kF16, func(a, b uint32) bool {
			return f(float64(f16ToF32(uint16(a))), float64(f16ToF32(uint16(b))))
		}, isX)
	}
	return cmp32(kF32, kF32, func(a, b uint32) bool { return f(float64(ffrom(a)), float64(ffrom(b))) }, isX)
}

func cmpInt(f func(a, b int64) bool, typ string, isX bool) execFunc {
	switch typ {
	case "i16":
		return cmp32(kB16, kB16, func(a, b uint32) bool { return f(i16(a), i16(b)) }, isX)
	case "u16":
		return cmp32(kB16, kB16, func(a, b uint32) bool { return f(int64(a), int64(b)) }, isX)
	case "i32":
		return cmp32(kB32, kB32, func(a, b uint32) bool { return f(i32(a), i32(b)) }, isX)
	}
	return cmp32(kB32, kB32, func(a, b uint32) bool { return f(int64(a), int64(b)) }, isX)
}

func cmpInt64(f func(a, b int64) bool, unsigned, isX bool) execFunc {
	var flip uint64
	if unsigned {
		flip = 1 << 63 // keeps the order when read as signed
	}
	return cmp64(kB64, kB64, func(a, b uint64) bool { return f(int64(a^flip), int64(b^flip)) }, isX)
}

func cmpClass(typ string, isX bool) execFunc {
	switch typ {
	case "f64":
		return cmp64(kF64, kB32, func(a, b uint64) bool { return classMask(a, &fmt64)&uint32(b) != 0 }, isX)
	case "f16":
		return cmp32(kF16, kB32, func(a, b uint32) bool { return classMask(uint64(a), &fmt16)&b != 0 }, isX)
	}
	return cmp32(kM32, kB32, func(a, b uint32) bool { return classMask(uint64(a), &fmt32)&b != 0 }, isX)
}

func cmp32(k0, k1 kind, f func(a, b uint32) bool, isX bool) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var b0, b1 VReg
		a := s.fetch32(in, 0, k0, &b0)
		b := s.fetch32(in, 1, k1, &b1)
		var m uint64
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			m |= uint64(bit32(f(a[l], b[l]))) << l
		}
		s.setCompare(in, m, isX)
		return nil
	}
}

func cmp64(k0, k1 kind, f func(a, b uint64) bool, isX bool) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var a, b [Lanes]uint64
		s.fetch64(in, 0, k0, &a)
		s.fetch64(in, 1, k1, &b)
		var m uint64
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			m |= uint64(bit32(f(a[l], b[l]))) << l
		}
		s.setCompare(in, m, isX)
		return nil
	}
}

// format describes an IEEE format by its bit masks.
type format struct {
	sign, inf, quiet, defaultNaN uint64
	mant                         int // mantissa bits
	bias                         int
	rm                           rounding
}

var (
	fmt16 = format{1 << 15, 0x7c00, 0x200, defaultNaN16, 10, 15, roundNearest}
	fmt32 = format{1 << 31, 0x7f800000, 0x400000, defaultNaN32, 23, 127, roundNearest}
	fmt64 = format{1 << 63, 0x7ff << 52, 1 << 51, defaultNaN64, 52, 1023, roundNearest}
)

func (f *format) isNaN(x uint64) bool  { return x&^f.sign > f.inf }
func (f *format) isSNaN(x uint64) bool { return f.isNaN(x) && x&f.quiet == 0 }
func (f *format) isInf(x uint64) bool  { return x&^f.sign == f.inf }
func (f *format) isZero(x uint64) bool { return x&^f.sign == 0 }

// exponent is the encoded exponent field.
func (f *format) exponent(x uint64) int { return int(x & f.inf >> f.mant) }

// key orders non-NaN values as integers, -0 below +0.
func (f *format) key(x uint64) int64 {
	if x&f.sign != 0 {
		return -int64(x&^f.sign) - 1
	}
	return int64(x)
}

// value is the number as f64; NaN payloads are not kept.
func (f *format) value(x uint64) float64 {
	switch f.mant {
	case 10:
		return float64(f16ToF32(uint16(x)))
	case 23:
		return float64(ffrom(uint32(x)))
	}
	return dfrom(x)
}

// round converts an f64, exact or rounded to odd, to the format; a NaN becomes
// the default NaN.
func (f *format) round(v float64) uint64 {
	if v != v {
		return f.defaultNaN
	}
	switch f.mant {
	case 10:
		return roundToFormat(dbits(v), 5, 10, 15, f.rm)
	case 23:
		if f.rm != roundNearest {
			return roundToFormat(dbits(v), 8, 23, 127, f.rm)
		}
		return uint64(fbits(float32(v)))
	}
	return math.Float64bits(v)
}

// nan picks the NaN result for sources a, b and c: see nan32.
func (f *format) nan(a, b, c uint64) uint64 {
	for _, x := range [3]uint64{a, b, c} {
		if f.isNaN(x) {
			return x | f.quiet
		}
	}
	return f.defaultNaN
}

// classMask is the one bit of v_cmp_class's mask that x's class has.
func classMask(x uint64, f *format) uint32 {
	neg := x&f.sign != 0
	side := func(n, p uint) uint32 {
		if neg {
			return 1 << n
		}
		return 1 << p
	}
	switch e := x & f.inf; {
	case f.isSNaN(x):
		return 1
	case f.isNaN(x):
		return 2
	case e == f.inf:
		return side(2, 9)
	case f.isZero(x):
		return side(5, 6)
	case e == 0:
		return side(4, 7)
	}
	return side(3, 8)
}
