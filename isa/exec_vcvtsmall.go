package isa

import (
	"math"
	"strings"
)

// Conversions to and from 8-, 6- and 4-bit floats, scaled ones included, and
// stochastic rounding.

// registerConvertSmall registers them; which fp8 variant applies is known only
// at run time, by the CPU.
func registerConvertSmall() {
	t := &execTable
	t[V_CVT_F32_FP8], t[V_CVT_F32_BF8] = cvtFromFP8(elemFP8, 1), cvtFromFP8(elemBF8, 1)
	t[V_CVT_PK_F32_FP8], t[V_CVT_PK_F32_BF8] = cvtFromFP8(elemFP8, 2), cvtFromFP8(elemBF8, 2)
	t[V_CVT_PK_FP8_F32], t[V_CVT_PK_BF8_F32] = cvtToFP8(elemFP8), cvtToFP8(elemBF8)
	t[V_CVT_SR_FP8_F32], t[V_CVT_SR_BF8_F32] = cvtStochasticFP8(elemFP8), cvtStochasticFP8(elemBF8)
	t[V_CVT_SR_BF16_F32] = cvtStochasticHalf(func(v, rnd uint32) uint32 {
		if isNaN32(v) {
			return f32ToBF16(v)
		}
		return (v + rnd&0xffff*bit32(v&0x7f800000 != 0x7f800000)) >> 16
	})
	t[V_CVT_SR_F16_F32] = cvtStochasticHalf(func(v, rnd uint32) uint32 {
		if v&0x7f800000 == 0x7f800000 {
			return uint32(f32ToF16(ffrom(v)))
		}
		return rtzF16(v + rnd&0x1fff)
	})
	for op := range numOps {
		if rest, ok := strings.CutPrefix(op.String(), "v_cvt_scalef32_"); ok {
			execTable[op] = parseScaled(rest).exec
		}
	}
}

// saturates reports whether a narrowing conversion clamps to the largest finite
// value: MODE.FP16_OVFL.
func (s *State) saturates() bool { return s.Mode&modeFP16Overflow != 0 }

// cvtFromFP8 widens n codes from the low bits of the source, SDWA choosing which.
func cvtFromFP8(t elem, n int) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var b VReg
		a := s.fetch32(in, 0, kB32, &b)
		f := smallElem(s.CPU, t)
		d := s.vregs(in.Dst.Reg, n)
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			v := a[l]
			for i := range d {
				d[i][l] = s.outF32(in, fbits(f.decode[v>>(8*i)&0xff]))
			}
		}
		return nil
	}
}

func cvtToFP8(t elem) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var b0, b1 VReg
		a, b := s.fetch32(in, 0, kF32, &b0), s.fetch32(in, 1, kF32, &b1)
		f, sat := smallElem(s.CPU, t), s.saturates()
		sh := uint32(in.OpSel>>3&1) * 16
		d := s.vreg(in.Dst.Reg)
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			v := f.encode(float64(ffrom(a[l])), false, sat) | f.encode(float64(ffrom(b[l])), false, sat)<<8
			d[l] = insert(d[l], v, sh, 16)
		}
		return nil
	}
}

// insert replaces w bits of old at bit sh.
func insert(old, v, sh, w uint32) uint32 {
	m := uint32(uint64(1)<<w-1) << sh
	return old&^m | v<<sh&m
}

func cvtStochasticFP8(t elem) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var b0, b1 VReg
		a, b := s.fetch32(in, 0, kF32, &b0), s.fetch32(in, 1, kB32, &b1)
		f, sat := smallElem(s.CPU, t), s.saturates()
		sh := uint32(in.OpSel>>2&3) * 8
		d := s.vreg(in.Dst.Reg)
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			d[l] = insert(d[l], f.encodeStochastic(ffrom(a[l]), b[l], sat), sh, 8)
		}
		return nil
	}
}

// cvtStochasticHalf writes the half that op_sel[3] names and keeps the other.
func cvtStochasticHalf(f func(v, rnd uint32) uint32) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var b0, b1 VReg
		a, b := s.fetch32(in, 0, kF32, &b0), s.fetch32(in, 1, kB32, &b1)
		sh := uint32(in.OpSel>>3&1) * 16
		d := s.vreg(in.Dst.Reg)
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			d[l] = insert(d[l], f(a[l], b[l]), sh, 16)
		}
		return nil
	}
}

// scaledCvt is a v_cvt_scalef32_* operation: n values from one type to another,
// divided by the scale on the way to a narrow type and multiplied on the way
// back.
type scaledCvt struct {
	n          int
	from, to   elem
	stochastic bool
	twoSources bool // values from S0 and S1
	interleave bool // 2xpk16: S0 and S1 alternate
}

// parseScaled reads what follows "v_cvt_scalef32_".
func parseScaled(name string) *scaledCvt {
	c := &scaledCvt{n: 1}
	name, c.stochastic = strings.CutPrefix(name, "sr_")
	switch {
	case strings.HasPrefix(name, "2xpk16_"):
		c.n, c.twoSources, c.interleave = 32, true, true
	case strings.HasPrefix(name, "pk32_"):
		c.n = 32
	case strings.HasPrefix(name, "pk_"):
		c.n = 2
	}
	parts := strings.Split(name, "_")
	types := map[string]elem{"f32": elemF32, "f16": elemF16, "bf16": elemBF16, "fp8": elemFP8, "bf8": elemBF8,
		"fp6": elemFP6, "bf6": elemBF6, "fp4": elemFP4}
	c.to, c.from = types[parts[len(parts)-2]], types[parts[len(parts)-1]]
	c.twoSources = c.twoSources || c.n == 2 && c.from == elemF32 && !c.stochastic
	return c
}

func isSmall(t elem) bool { return t >= elemFP8 }

func (c *scaledCvt) exec(_ *Kernel, in *Inst, s *State) error {
	scaleAt := 1
	if c.twoSources || c.stochastic {
		scaleAt = 2
	}
	lanes := s.Exec()
	var out [Lanes][32]uint32 // all results before any write: sources may overlap
	for e := lanes; e != 0; {
		l := nextLane(&e)
		c.lane(in, s, l, scaleAt, &out[l])
	}
	for e := lanes; e != 0; {
		l := nextLane(&e)
		c.write(in, s, l, &out[l])
	}
	return nil
}

// lane computes the codes of one lane's results.
func (c *scaledCvt) lane(in *Inst, s *State, l, scaleAt int, out *[32]uint32) {
	var v [32]float64
	c.values(in, s, l, v[:c.n])
	exp := int(s.laneOperand(in, in.Src[scaleAt].Reg, l)>>23&0xff) - 127
	if !isSmall(c.from) {
		exp = -exp
	}
	var rnd uint32
	if c.stochastic {
		rnd = s.laneOperand(in, in.Src[1].Reg, l)
	}
	for i := range c.n {
		x := math.Ldexp(v[i], exp)
		switch {
		case c.to == elemF32:
			out[i] = fbits(float32(x))
		case c.to == elemF16:
			out[i] = uint32(f64ToF16(x))
		case c.to == elemBF16:
			out[i] = f32ToBF16(fbits(float32(x)))
		case c.stochastic:
			out[i] = smallElem(s.CPU, c.to).encodeStochastic(float32(x), rnd, s.saturates())
			rnd = prng(rnd)
		default:
			out[i] = smallElem(s.CPU, c.to).encode(x, false, s.saturates())
		}
	}
}

// values reads the source numbers of a lane.
func (c *scaledCvt) values(in *Inst, s *State, l int, v []float64) {
	mod := func(x float64, m OpMod) float64 {
		if m&Abs != 0 {
			x = math.Abs(x)
		}
		if m&Neg != 0 {
			x = -x
		}
		return x
	}
	switch {
	case c.interleave:
		for i := range v {
			v[i] = float64(ffrom(s.vregs(in.Src[i&1].Reg, 16)[i/2][l]))
		}
		return
	case c.twoSources:
		for i := range v {
			v[i] = mod(float64(ffrom(s.laneOperand(in, in.Src[i].Reg, l))), in.Src[i].Mod)
		}
		return
	}
	r := in.Src[0].Reg
	var one [1]VReg
	regs := one[:]
	if r.IsVector() {
		regs = s.vregs(r, (c.n*elemBits[c.from]+31)/32)
	} else {
		one[0][l] = s.scalar32(in, r)
	}
	// Sources narrower than the register: op_sel says which part.
	shift := 0
	switch sel := int(in.OpSel); {
	case c.n == 1 && c.from >= elemFP8, c.from == elemFP4:
		shift = 8 * (sel & 3)
	case c.n == 2 && isSmall(c.from), c.n == 1 && elemBits[c.from] == 16:
		shift = 16 * (sel & 1)
	}
	if shift != 0 {
		w := regs[0][l] >> shift
		regs = one[:]
		one[0][l] = w
	}
	decodeLane(s.CPU, regs, l, c.from, v)
	for i := range v {
		v[i] = mod(v[i], in.Src[0].Mod)
	}
}

// write packs a lane's codes into the destination: parts of a register that
// op_sel names, the rest of it kept, or whole registers.
func (c *scaledCvt) write(in *Inst, s *State, l int, out *[32]uint32) {
	w := uint32(elemBits[c.to])
	total := uint32(c.n) * w
	if total < 32 {
		var v uint32
		for i := range c.n {
			v |= out[i] << (uint32(i) * w)
		}
		sh := uint32(in.OpSel>>3&1) * 16
		if total == 8 {
			sh = uint32(in.OpSel>>2&3) * 8
		}
		d := s.vreg(in.Dst.Reg)
		d[l] = insert(d[l], v, sh, total)
		return
	}
	d := s.vregs(in.Dst.Reg, int(total/32))
	for i := range d {
		d[i][l] = 0
	}
	for i := range c.n {
		at := uint32(i) * w
		d[at/32][l] |= out[i] << (at % 32)
		if at%32+w > 32 {
			d[at/32+1][l] |= out[i] >> (32 - at%32)
		}
	}
}
