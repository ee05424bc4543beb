package isa

// VOP3P: two halves or two dwords at once. op_sel picks the part of each source
// that makes the low result, op_sel_hi the part that makes the high result;
// neg and neg_hi negate per result.

// packed16 runs f on both halves: sat under clamp, rounded by MODE, if they are
// not nil.
func packed16(f, sat lane32, rounded *[4]lane32, k kind, acc bool) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		g := f
		if in.Flags&Clamp != 0 && sat != nil {
			g = sat
		}
		if rounded != nil {
			g = rounded[s.round16()]
		}
		var buf [3]VReg
		var src [3]*VReg
		for i := range src {
			src[i] = s.rawPacked(in, i, k, &buf[i])
		}
		d := s.vreg(in.Dst.Reg)
		selLo, selHi := in.OpSel, in.OpSelHi
		if acc || in.Enc == VOP2 { // e32 encodings have no op_sel: low with low, high with high
			src[2] = d
			if in.Enc == VOP2 {
				selLo, selHi = 0, 7
			}
		}
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			var lo, hi [3]uint32
			for i := range src {
				v := src[i][l]
				lo[i] = s.packedHalf(v, selLo>>i&1, k, in.Src[i].Mod&Neg != 0)
				hi[i] = s.packedHalf(v, selHi>>i&1, k, in.Src[i].Mod&NegHi != 0)
			}
			a, b := g(lo[0], lo[1], lo[2]), g(hi[0], hi[1], hi[2])
			if k == kF16 {
				a, b = s.outF16(in, a), s.outF16(in, b)
			}
			d[l] = a&0xffff | b<<16
		}
		return nil
	}
}

// rawPacked reads a packed source without modifiers; inline floats of an f16
// operation sit in the low half.
func (s *State) rawPacked(in *Inst, i int, k kind, buf *VReg) *VReg {
	o := in.Src[i]
	switch {
	case !o.Present():
		return buf
	case o.Reg.IsVector():
		return s.vreg(o.Reg)
	case k == kF16 && o.Reg >= ConstHalf && o.Reg <= ConstInv2Pi:
		fill(buf, inlineF16[o.Reg-ConstHalf])
	default:
		fill(buf, s.scalar32(in, o.Reg))
	}
	return buf
}

func (s *State) packedHalf(v uint32, hi uint8, k kind, neg bool) uint32 {
	if hi != 0 {
		v >>= 16
	}
	v &= 0xffff
	if k == kF16 {
		if s.Mode&modeDenormIn16 == 0 && v&0x7c00 == 0 {
			v &= 0x8000
		}
		v = signMod(v, 1<<15, neg, false)
	}
	return v
}

func packedF16(op Op, f fop, acc bool) {
	r := rounded32(f, formats16)
	execTable[op] = packed16(r[0], nil, r, kF16, acc)
}

// packedF32 runs f, which is exact's rounding to nearest, on two dwords of 64-bit
// sources.
func packedF32(f lane32, exact fop) execFunc {
	rounded := rounded32(exact, formats32)
	rounded[roundNearest] = f
	return func(_ *Kernel, in *Inst, s *State) error {
		f := rounded[s.round32()]
		var buf [6]VReg
		var lo, hi [3]*VReg
		for i := range lo {
			lo[i] = s.packedDword(in, i, in.OpSel>>i&1, in.Src[i].Mod&Neg != 0, &buf[2*i])
			hi[i] = s.packedDword(in, i, in.OpSelHi>>i&1, in.Src[i].Mod&NegHi != 0, &buf[2*i+1])
		}
		d := s.vregs(in.Dst.Reg, 2)
		for e := s.Exec(); e != 0; {
			l := nextLane(&e)
			// Both results before either write: a source may be the destination.
			a := f(lo[0][l], lo[1][l], lo[2][l])
			b := f(hi[0][l], hi[1][l], hi[2][l])
			d[0][l], d[1][l] = s.outF32(in, a), s.outF32(in, b)
		}
		return nil
	}
}

// packedDword is dword sel of a 64-bit source. A one-dword constant supplies
// the same value to both results.
func (s *State) packedDword(in *Inst, i int, sel uint8, neg bool, buf *VReg) *VReg {
	o := in.Src[i]
	if !o.Present() {
		return buf
	}
	var v *VReg
	switch {
	case o.Reg.IsVector():
		v = s.vreg(o.Reg + Reg(sel))
	case o.Reg.IsSGPR():
		fill(buf, s.SGPR[o.Reg+Reg(sel)])
		v = buf
	default:
		fill(buf, s.scalar32(in, o.Reg))
		v = buf
	}
	flush := s.Mode&modeDenormIn32 == 0
	if !neg && !flush {
		return v
	}
	for l := range v {
		x := v[l]
		if flush {
			x = flush32(x)
		}
		buf[l] = signMod(x, 1<<31, neg, false)
	}
	return buf
}

func registerVectorPacked() {
	packedF16(V_PK_ADD_F16, fAdd, false)
	packedF16(V_PK_MUL_F16, fMul, false)
	packedF16(V_PK_FMA_F16, fFMA, false)
	packedF16(V_PK_FMAC_F16, fFMA, true)
	packedF16(V_PK_MIN_F16, fMin, false)
	packedF16(V_PK_MAX_F16, fMax, false)
	packedF16(V_PK_MINIMUM3_F16, fMinimum3, false)
	packedF16(V_PK_MAXIMUM3_F16, fMaximum3, false)
	t := &execTable
	t[V_PK_ADD_F32] = packedF32(func(a, b, _ uint32) uint32 { return addF32(a, b) }, fAdd)
	t[V_PK_MUL_F32] = packedF32(func(a, b, _ uint32) uint32 { return mulF32(a, b) }, fMul)
	t[V_PK_FMA_F32] = packedF32(fmaF32, fFMA)
	t[V_PK_MOV_B32] = func(_ *Kernel, in *Inst, s *State) error {
		var buf [2]VReg
		// Copies: a source may overlap the destination pair.
		a, b := *s.movDword(in, 0, &buf[0]), *s.movDword(in, 1, &buf[1])
		d := s.vregs(in.Dst.Reg, 2)
		for e := s.Exec(); e != 0; {
			l := nextLane(&e)
			d[0][l], d[1][l] = a[l], b[l]
		}
		return nil
	}
	t[V_FMA_MIX_F32] = fmaMix(func(in *Inst, s *State, d *uint32, v uint32) { *d = s.outF32(in, v) })
	t[V_FMA_MIXLO_F16] = fmaMix(func(in *Inst, s *State, d *uint32, v uint32) {
		*d = *d&^0xffff | s.outF16(in, s.toF16(v))
	})
	t[V_FMA_MIXHI_F16] = fmaMix(func(in *Inst, s *State, d *uint32, v uint32) {
		*d = *d&0xffff | s.outF16(in, s.toF16(v))<<16
	})
}

// toF16 converts an f32 by MODE's rounding.
func (s *State) toF16(v uint32) uint32 {
	return uint32(fCvtF16F32(&formats16[s.round16()], uint64(v), 0, 0))
}

// movDword is the dword of source i that v_pk_mov_b32's op_sel picks.
func (s *State) movDword(in *Inst, i int, buf *VReg) *VReg {
	o := in.Src[i]
	sel := Reg(in.OpSel >> i & 1)
	switch {
	case o.Reg.IsVector():
		return s.vreg(o.Reg + sel)
	case o.Reg.IsSGPR():
		fill(buf, s.SGPR[o.Reg+sel])
	default:
		fill(buf, s.scalar32(in, o.Reg))
	}
	return buf
}

// fmaMix multiplies and adds sources that are f32, or with op_sel_hi f16 halves;
// neg_hi means abs here.
func fmaMix(store func(in *Inst, s *State, d *uint32, v uint32)) execFunc {
	rounded := rounded32(fFMA, formats32)
	rounded[roundNearest] = fmaF32
	return func(_ *Kernel, in *Inst, s *State) error {
		fma := rounded[s.round32()]
		var buf [3]VReg
		var src [3]*VReg
		for i := range src {
			k := kF32
			if in.OpSelHi>>i&1 != 0 {
				k = kF16
			}
			src[i] = s.rawPacked(in, i, k, &buf[i])
		}
		d := s.vreg(in.Dst.Reg)
		for e := s.Exec(); e != 0; {
			l := nextLane(&e)
			var x [3]uint32
			for i := range x {
				v := src[i][l]
				if in.OpSelHi>>i&1 != 0 {
					v = fbits(f16ToF32(uint16(s.packedHalf(v, in.OpSel>>i&1, kF16, false))))
				} else if s.Mode&modeDenormIn32 == 0 {
					v = flush32(v)
				}
				m := in.Src[i].Mod
				x[i] = signMod(v, 1<<31, m&Neg != 0, m&(NegHi|Abs) != 0)
			}
			store(in, s, &d[l], fma(x[0], x[1], x[2]))
		}
		return nil
	}
}
