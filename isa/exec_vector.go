package isa

// The vector ALU runner. An operation is a function of up to three lane values
// with the kinds of its operands; fetching applies modifiers, DPP, SDWA and
// op_sel, writing applies omod, clamp, op_sel and SDWA. Sources that the
// instruction does not have read as zero.

// kind says how an operand's bits are read or written.
type kind uint8

const (
	kB32 kind = iota // dword, no float modifiers
	kM32             // dword with neg and abs on bit 31, never flushed (v_cndmask_b32)
	kF32             // float
	kB16             // half chosen by op_sel
	kF16             // float half chosen by op_sel
	kB64
	kF64
	kM64 // f64 with neg and abs, never flushed (v_div_fmas_f64)
)

// vop is a 32-bit or narrower vector operation.
type vop struct {
	f   func(a, b, c uint32) uint32
	sat func(a, b, c uint32) uint32 // integer operation under clamp, nil if there is none
	src [3]kind
	dst kind
	acc bool // the destination is the third source (v_fmac, v_dot*c)

	// rounded is f by MODE's rounding; nil where it does not matter.
	rounded *[4]lane32

	// all does f for every lane, where calling f by lane would show; nil elsewhere.
	all func(d, a, b, c *VReg)
}

// vop64 is a vector operation with a 64-bit source or result.
type vop64 struct {
	f   func(a, b, c uint64) uint64
	src [3]kind
	dst kind
	acc bool

	rounded *[4]lane64 // f by MODE's rounding; nil where it does not matter
}

func (o vop) exec() execFunc {
	return func(_ *Kernel, in *Inst, s *State) error { o.run(in, s); return nil }
}

func (o vop64) exec() execFunc {
	return func(_ *Kernel, in *Inst, s *State) error { o.run(in, s); return nil }
}

func (o *vop) run(in *Inst, s *State) {
	lanes := s.vectorLanes(in)
	a := s.fetch32(in, 0, o.src[0], &s.tmp[0])
	b := s.fetch32(in, 1, o.src[1], &s.tmp[1])
	var c *VReg
	if o.acc {
		c = s.vreg(in.Dst.Reg)
	} else {
		c = s.fetch32(in, 2, o.src[2], &s.tmp[2])
	}
	f, all := o.f, o.all
	if o.rounded != nil && s.Mode&0xf != 0 {
		f, all = o.rounded[s.roundOf(o.dst)], nil
	}
	if in.Flags&Clamp != 0 && o.sat != nil {
		f = o.sat
	}
	d := s.vreg(in.Dst.Reg)
	post := o.dst == kF16 || o.dst == kB16 || in.Sub == SubSDWA ||
		o.dst == kF32 && (in.Omod != 0 || in.Flags&Clamp != 0 || s.Mode&modeDenormOut32 == 0)
	if post {
		for m := lanes; m != 0; {
			l := nextLane(&m)
			s.write32(in, o.dst, &d[l], f(a[l], b[l], c[l]))
		}
		return
	}
	if lanes == ^uint64(0) {
		if all != nil && in.Flags&Clamp == 0 {
			all(d, a, b, c)
			return
		}
		for l := range d {
			d[l] = f(a[l], b[l], c[l])
		}
		return
	}
	for m := lanes; m != 0; {
		l := nextLane(&m)
		d[l] = f(a[l], b[l], c[l])
	}
}

// roundOf is MODE's rounding of an operation with 32-bit sources, by its result.
func (s *State) roundOf(dst kind) rounding {
	if dst == kF32 {
		return s.round32()
	}
	return s.round16()
}

// vectorLanes is the lanes that a vector instruction writes: EXEC less the
// lanes that DPP leaves alone.
func (s *State) vectorLanes(in *Inst) uint64 {
	lanes := s.Exec()
	if in.Sub == SubDPP {
		lanes &= dppLanes(in, lanes)
	}
	return lanes
}

// zeroVReg is what an absent source reads as; nothing writes it.
var zeroVReg VReg

// fetch32 returns source i by lane. The result is the register itself where
// nothing changes the bits, else buf.
func (s *State) fetch32(in *Inst, i int, k kind, buf *VReg) *VReg {
	o := in.Src[i]
	if !o.Present() {
		return &zeroVReg
	}
	var v *VReg
	if o.Reg.IsVector() {
		v = s.vreg(o.Reg)
	} else {
		x := s.scalar32(in, o.Reg)
		if (k == kF16 || k == kB16) && o.Reg >= ConstHalf && o.Reg <= ConstInv2Pi && k == kF16 {
			x = inlineF16[o.Reg-ConstHalf]
		}
		fill(buf, x)
		v = buf
	}
	switch {
	case in.Sub == SubNone:
	case in.Sub == SubDPP && i == 0:
		dppPermute(in, s.Exec(), v, buf)
		v = buf
	case in.Sub == SubSDWA && i < 2:
		sel := in.Src0Sel
		if i == 1 {
			sel = in.Src1Sel
		}
		for l := range v {
			buf[l] = sdwaSelect(v[l], sel, o.Mod&Sext != 0)
		}
		v = buf
	}
	return s.modify(in, i, k, v, buf)
}

// modify applies op_sel, denormal flush, abs and neg, in that order.
func (s *State) modify(in *Inst, i int, k kind, v, buf *VReg) *VReg {
	neg, abs := in.Src[i].Mod&Neg != 0, in.Src[i].Mod&Abs != 0
	switch k {
	case kB32:
		return v
	case kM32, kF32:
		flush := k == kF32 && s.Mode&modeDenormIn32 == 0
		if !neg && !abs && !flush {
			return v
		}
		for l := range v {
			x := v[l]
			if flush {
				x = flush32(x)
			}
			buf[l] = signMod(x, 1<<31, neg, abs)
		}
		return buf
	}
	sh := uint32(0)
	if in.OpSel>>i&1 != 0 {
		sh = 16
	}
	float := k == kF16
	flush := float && s.Mode&modeDenormIn16 == 0
	for l := range v {
		x := v[l] >> sh & 0xffff
		if flush && x&0x7c00 == 0 {
			x &= 0x8000
		}
		if float {
			x = signMod(x, 1<<15, neg, abs)
		}
		buf[l] = x
	}
	return buf
}

func signMod(x, sign uint32, neg, abs bool) uint32 {
	if abs {
		x &^= sign
	}
	if neg {
		x ^= sign
	}
	return x
}

func flush32(x uint32) uint32 {
	if x&0x7f800000 == 0 {
		return x & 0x80000000
	}
	return x
}

// write32 finishes one lane's result and stores it.
func (s *State) write32(in *Inst, k kind, d *uint32, v uint32) {
	switch k {
	case kF32:
		v = s.outF32(in, v)
	case kF16:
		v = s.outF16(in, v)
	case kB16:
		v &= 0xffff
	}
	switch {
	case in.Sub == SubSDWA:
		*d = sdwaMerge(*d, v, in.DstSel, in.DstUnused)
	case k != kF16 && k != kB16:
		*d = v
	case in.OpSel&8 != 0:
		*d = *d&0xffff | v<<16
	default: // gfx9 clears the other half
		*d = v
	}
}

// outF32 applies omod, clamp and the output denormal flush.
func (s *State) outF32(in *Inst, v uint32) uint32 {
	if in.Omod != 0 {
		v = uint32(fMul(&formats32[s.round32()], uint64(v), uint64(fbits(omodFactor[in.Omod&3])), 0))
	}
	if in.Flags&Clamp != 0 {
		v = s.clampF32(v)
	}
	if s.Mode&modeDenormOut32 == 0 {
		v = flush32(v)
	}
	return v
}

var omodFactor = [4]float32{1, 2, 4, 0.5}

func (s *State) clampF32(v uint32) uint32 {
	f := ffrom(v)
	switch {
	case f != f:
		if s.Mode&modeDX10Clamp != 0 {
			return 0
		}
		return v
	case !(f > 0):
		return 0
	case f > 1:
		return 0x3f800000
	}
	return v
}

func (s *State) outF16(in *Inst, v uint32) uint32 {
	if in.Omod != 0 {
		v = uint32(fMul(&formats16[s.round16()], uint64(v), uint64(f32ToF16(omodFactor[in.Omod&3])), 0))
	}
	if in.Flags&Clamp != 0 {
		v = uint32(f64ToF16(float64(ffrom(s.clampF32(fbits(f16ToF32(uint16(v))))))))
	}
	if v&0x7c00 == 0x7c00 && v&0x3ff == 0 && s.Mode&modeFP16Overflow != 0 {
		v = v&0x8000 | 0x7bff
	}
	if s.Mode&modeDenormOut16 == 0 && v&0x7c00 == 0 {
		v &= 0x8000
	}
	return v
}

func (o *vop64) run(in *Inst, s *State) {
	lanes := s.vectorLanes(in)
	var b0, b1, b2 [Lanes]uint64
	s.fetch64(in, 0, o.src[0], &b0)
	s.fetch64(in, 1, o.src[1], &b1)
	if o.acc {
		d := s.vregs(in.Dst.Reg, 2)
		for l := range b2 {
			b2[l] = uint64(d[0][l]) | uint64(d[1][l])<<32
		}
	} else {
		s.fetch64(in, 2, o.src[2], &b2)
	}
	f := o.f
	if o.rounded != nil { // also v_cvt_f32_f64: LLVM sets the f64 field for it
		f = o.rounded[s.round16()]
	}
	if o.dst != kB64 && o.dst != kF64 {
		d := s.vreg(in.Dst.Reg)
		for m := lanes; m != 0; {
			l := nextLane(&m)
			s.write32(in, o.dst, &d[l], uint32(f(b0[l], b1[l], b2[l])))
		}
		return
	}
	d := s.vregs(in.Dst.Reg, 2)
	for m := lanes; m != 0; {
		l := nextLane(&m)
		v := f(b0[l], b1[l], b2[l])
		if o.dst == kF64 {
			v = s.outF64(in, v)
		}
		d[0][l], d[1][l] = uint32(v), uint32(v>>32)
	}
}

// fetch64 reads source i by lane into buf, 32-bit kinds zero-extended.
func (s *State) fetch64(in *Inst, i int, k kind, buf *[Lanes]uint64) {
	o := in.Src[i]
	if !o.Present() {
		return
	}
	if k < kB64 {
		var t VReg
		v := s.fetch32(in, i, k, &t)
		for l := range v {
			buf[l] = uint64(v[l])
		}
		return
	}
	if o.Reg.IsVector() {
		r := s.vregs(o.Reg, 2)
		lo, hi := &r[0], &r[1]
		var t0, t1 VReg
		if in.Sub == SubDPP && i == 0 {
			dppPermute(in, s.Exec(), lo, &t0)
			dppPermute(in, s.Exec(), hi, &t1)
			lo, hi = &t0, &t1
		}
		for l := range buf {
			buf[l] = uint64(lo[l]) | uint64(hi[l])<<32
		}
	} else {
		x := s.scalar64(in, o.Reg)
		if k != kB64 && o.Reg == Literal {
			x = uint64(in.Literal) << 32
		}
		for l := range buf {
			buf[l] = x
		}
	}
	if k != kB64 {
		s.modify64(o.Mod, k == kF64 && s.Mode&modeDenormIn16 == 0, buf)
	}
}

func (s *State) modify64(m OpMod, flush bool, buf *[Lanes]uint64) {
	if m&(Neg|Abs) == 0 && !flush {
		return
	}
	for l := range buf {
		x := buf[l]
		if flush && x&0x7ff0000000000000 == 0 {
			x &= 1 << 63
		}
		if m&Abs != 0 {
			x &^= 1 << 63
		}
		if m&Neg != 0 {
			x ^= 1 << 63
		}
		buf[l] = x
	}
}

func (s *State) outF64(in *Inst, v uint64) uint64 {
	if in.Omod != 0 {
		v = fMul(&formats64[s.round16()], v, dbits(float64(omodFactor[in.Omod&3])), 0)
	}
	if in.Flags&Clamp != 0 {
		f := dfrom(v)
		switch {
		case f != f:
			if s.Mode&modeDX10Clamp != 0 {
				v = 0
			}
		case !(f > 0):
			v = 0
		case f > 1:
			v = dbits(1)
		}
	}
	if s.Mode&modeDenormOut16 == 0 && v&0x7ff0000000000000 == 0 {
		v &= 1 << 63
	}
	return v
}
