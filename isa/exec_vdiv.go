package isa

import "math"

// The division helpers. The scaling rules are those of semantics 3.4: the
// published pseudocode's differ and give wrong quotients at extreme exponents.

// divRules are the constants of one format.
type divRules struct {
	f          *format
	scale      int // exponent of the scaling factor
	t          int // exponent difference that needs scaling
	hugeDen    int // encoded exponent of a denominator that is scaled down
	smallNum   int // encoded exponent of a numerator that is scaled up
	underflow  int // exponent difference of a quotient that underflows
	fmasMiddle int // encoded exponent above which div_fmas scales up
}

var (
	div32 = divRules{&fmt32, 64, 96, 253, 24, -150, 127}
	div64 = divRules{&fmt64, 128, 768, 2045, 53, -1075, 1023}
)

// under are the rules with a rounding.
func (r divRules) under(rm rounding) *divRules {
	if r.f.mant == 23 {
		r.f = &formats32[rm]
	} else {
		r.f = &formats64[rm]
	}
	return &r
}

// nan is the NaN that a division makes: the negative one.
func (r *divRules) nan() uint64 { return r.f.defaultNaN | r.f.sign }

func (r *divRules) times(x uint64, exp int) uint64 { return fLdexp(r.f, x, int32(exp)) }

// divScale returns the scaled source and whether div_fmas must scale back.
func (r *divRules) divScale(s0, den, num uint64) (uint64, bool) {
	f := r.f
	d, flag := s0, false
	eDen, eNum := f.exponent(den), f.exponent(num)
	diff, isDen := eNum-eDen, s0 == den
	special := f.isNaN(s0) || f.isInf(s0)
	scale := func(exp int) {
		if !special {
			d = r.times(s0, exp)
		}
	}
	switch {
	case diff >= r.t:
		flag = true
		if isDen {
			scale(r.scale)
		}
	case eDen == 0:
		scale(r.scale)
	case eDen >= r.hugeDen:
		flag = diff <= -r.t
		if !flag || isDen {
			scale(-r.scale)
		}
	case diff <= -r.t:
		flag = true
		if !isDen {
			scale(r.scale)
		}
	case eNum <= r.smallNum:
		scale(r.scale)
	}
	if f.isZero(num) || f.isZero(den) {
		return r.nan(), flag
	}
	if f.isNaN(s0) {
		d = s0 | f.quiet
	}
	return d, flag
}

// divFixup repairs quotient q of num/den at special values.
func (r *divRules) divFixup(q, den, num uint64) uint64 {
	f := r.f
	sign := (den ^ num) & f.sign
	switch {
	case f.isNaN(num):
		return num | f.quiet
	case f.isNaN(den):
		return den | f.quiet
	case f.isZero(num) && f.isZero(den), f.isInf(num) && f.isInf(den):
		return r.nan()
	case f.isZero(den), f.isInf(num):
		return sign | f.inf
	case f.isInf(den), f.isZero(num):
		return sign
	case f.exponent(num)-f.exponent(den) < r.underflow:
		return sign
	case f.isNaN(q), f.isInf(q):
		return sign | f.inf
	}
	return sign | q&^f.sign
}

// fmas is a*b+c scaled by 2^exp with one rounding at the end.
func (r *divRules) fmas(a, b, c uint64, scaled bool) uint64 {
	f := r.f
	if !scaled {
		return fFMA(f, a, b, c)
	}
	exp := -r.scale
	if f.exponent(c) > r.fmasMiddle {
		exp = r.scale
	}
	x, y, z := f.value(a), f.value(b), f.value(c)
	switch v := math.FMA(x, y, z); {
	case v != v:
		return f.nan(a, b, c)
	case v == 0 || f.isInf(a) || f.isInf(b) || f.isInf(c):
		return fFMA(f, a, b, c)
	case f.mant == 23:
		return f.round(math.Ldexp(fmaOdd(x, y, z), exp))
	}
	sum := exactSum(x, y, z)
	return dbits(roundBig(f.rm, sum.SetMantExp(sum, exp)))
}

func registerVectorDivide() {
	t := &execTable
	t[V_DIV_SCALE_F32] = divScale32
	t[V_DIV_SCALE_F64] = divScale64
	t[V_DIV_FMAS_F32] = func(_ *Kernel, in *Inst, s *State) error {
		var buf [3]VReg
		var src [3]*VReg
		for i := range src {
			src[i] = s.fetch32(in, i, kM32, &buf[i])
		}
		vcc, d, r := s.VCC(), s.vreg(in.Dst.Reg), div32.under(s.round32())
		for e := s.Exec(); e != 0; {
			l := nextLane(&e)
			v := r.fmas(uint64(src[0][l]), uint64(src[1][l]), uint64(src[2][l]), vcc>>l&1 != 0)
			s.write32(in, kF32, &d[l], uint32(v))
		}
		return nil
	}
	t[V_DIV_FMAS_F64] = func(_ *Kernel, in *Inst, s *State) error {
		var src [3][Lanes]uint64
		for i := range src {
			s.fetch64(in, i, kM64, &src[i])
		}
		vcc, d, r := s.VCC(), s.vregs(in.Dst.Reg, 2), div64.under(s.round16())
		for e := s.Exec(); e != 0; {
			l := nextLane(&e)
			v := s.outF64(in, r.fmas(src[0][l], src[1][l], src[2][l], vcc>>l&1 != 0))
			d[0][l], d[1][l] = uint32(v), uint32(v>>32)
		}
		return nil
	}
	half := func(f *format, q, den, num uint64) uint64 {
		w := func(x uint64) uint64 { return uint64(fbits(f16ToF32(uint16(x)))) }
		v := uint32(div32.divFixup(w(q), w(den), w(num)))
		return uint64(f32ToF16(ffrom(v)))
	}
	registerFormats(V_DIV_FIXUP_F16, OpInvalid, OpInvalid, half, false)
	registerFormats(V_DIV_FIXUP_LEGACY_F16, OpInvalid, OpInvalid, half, false)
	registerFormats(OpInvalid, V_DIV_FIXUP_F32, OpInvalid,
		func(_ *format, q, den, num uint64) uint64 { return div32.divFixup(q, den, num) }, false)
	registerFormats(OpInvalid, OpInvalid, V_DIV_FIXUP_F64,
		func(_ *format, q, den, num uint64) uint64 { return div64.divFixup(q, den, num) }, false)
}

func divScale32(_ *Kernel, in *Inst, s *State) error {
	var buf [3]VReg
	var src [3]*VReg
	for i := range src {
		src[i] = s.fetch32(in, i, kF32, &buf[i])
	}
	d, r := s.vreg(in.Dst.Reg), div32.under(s.round32())
	var m uint64
	for e := s.Exec(); e != 0; {
		l := nextLane(&e)
		v, c := r.divScale(uint64(src[0][l]), uint64(src[1][l]), uint64(src[2][l]))
		d[l] = s.outF32(in, uint32(v))
		m |= uint64(bit32(c)) << l
	}
	s.setMask(in.SDst, m)
	return nil
}

func divScale64(_ *Kernel, in *Inst, s *State) error {
	var src [3][Lanes]uint64
	for i := range src {
		s.fetch64(in, i, kF64, &src[i])
	}
	d, r := s.vregs(in.Dst.Reg, 2), div64.under(s.round16())
	var m uint64
	for e := s.Exec(); e != 0; {
		l := nextLane(&e)
		v, c := r.divScale(src[0][l], src[1][l], src[2][l])
		v = s.outF64(in, v)
		d[0][l], d[1][l] = uint32(v), uint32(v>>32)
		m |= uint64(bit32(c)) << l
	}
	s.setMask(in.SDst, m)
	return nil
}
