package isa

// The src0 codes that announce a second dword.
const (
	codeSDWA = 249
	codeDPP  = 250
)

// e64Base is where the opcodes of a short encoding sit among those of VOP3.
func e64Base(enc Enc) uint32 {
	switch enc {
	case VOP1:
		return 0x140
	case VOP2:
		return 0x100
	}
	return 0
}

// vdst is the destination field of a vector instruction, which a few
// opcodes use for a scalar register.
func (e *encoder) vdst() uint32 {
	if e.l.has('R') {
		return e.sreg(e.in.Dst, "destination")
	}
	return e.vreg(e.in.Dst, "destination")
}

// short emits the 32-bit VOP1, VOP2 or VOPC word with the given src0 field.
func (e *encoder) short(src0 uint32) {
	in, op := e.in, uint32(e.l.code)
	vcc := func(o Operand) {
		if o.Present() && o.Reg != VCCLo {
			e.fail("the 32-bit encoding uses vcc, not %v", o.Reg)
		}
	}
	switch e.l.enc {
	case VOP1:
		e.emit(0x7e000000 | e.vdst()<<17 | op<<9 | src0)
	case VOP2:
		s1 := in.Src[1]
		if e.l.has('K') {
			e.literal = true
			if !e.l.has('b') { // fmamk: the literal is the second factor
				s1 = in.Src[2]
			}
		} else {
			vcc(in.SDst)
			vcc(in.Src[2])
		}
		e.emit(op<<25 | e.vdst()<<17 | e.vsrc1(s1)<<9 | src0)
	case VOPC:
		if in.Sub != SubSDWA {
			vcc(in.Dst)
		}
		e.emit(0x7c000000 | op<<17 | e.vsrc1(in.Src[1])<<9 | src0)
	}
}

// vsrc1 is the second source of a short encoding; SDWA alone allows a scalar.
func (e *encoder) vsrc1(o Operand) uint32 {
	if e.in.Sub == SubSDWA {
		return e.reg9(o) & 0xff
	}
	return e.vreg(o, "source 1")
}

func (e *encoder) sdwa() {
	in := e.in
	if e.l.flags&fSDWA == 0 {
		e.fail("no SDWA form")
	}
	s0, s1 := in.Src[0], in.Src[1]
	e.short(codeSDWA)
	w := e.reg9(s0)&0xff | uint32(in.Src0Sel&7)<<16 | sdwaMods(s0)<<16
	if e.l.has('b') {
		w |= uint32(in.Src1Sel&7)<<24 | sdwaMods(s1)<<24
	}
	switch {
	case e.l.enc == VOPC:
		if in.Dst.Reg != VCCLo {
			w |= 1<<15 | e.sreg(in.Dst, "destination")<<8
		}
	default:
		sel, unused := in.DstSel, in.DstUnused
		if e.l.flags&fNoDstSel != 0 {
			sel, unused = 6, 0
		}
		w |= uint32(sel&7)<<8 | uint32(unused&3)<<11 | uint32(in.Omod&3)<<14
		w |= e.bit(Clamp, 13)
	}
	if e.literal {
		e.fail("SDWA takes no literal")
	}
	e.emit(w)
}

// sdwaMods are the modifier bits of one SDWA source above its 3-bit select.
func sdwaMods(o Operand) uint32 {
	var w uint32
	if o.Mod&Sext != 0 {
		w |= 1 << 3
	}
	if o.Mod&Neg != 0 {
		w |= 1 << 4
	}
	if o.Mod&Abs != 0 {
		w |= 1 << 5
	}
	if o.Present() && o.Reg < V0 {
		w |= 1 << 7
	}
	return w
}

func (e *encoder) dpp() {
	in := e.in
	if e.l.flags&fDPP == 0 {
		e.fail("no DPP form")
	}
	e.short(codeDPP)
	w := e.vreg(in.Src[0], "source 0") | uint32(in.DPPCtrl&0x1ff)<<8 |
		uint32(in.BankMask&15)<<24 | uint32(in.RowMask&15)<<28
	w |= e.bit(BoundCtrl, 19)
	for i, o := range in.Src[:2] {
		if o.Mod&Neg != 0 {
			w |= 1 << (20 + 2*i)
		}
		if o.Mod&Abs != 0 {
			w |= 1 << (21 + 2*i)
		}
	}
	e.emit(w)
}

func (e *encoder) vop3() {
	in := e.in
	if e.l.enc != VOP3 && e.l.flags&fE64 == 0 {
		e.fail("no VOP3 form")
	}
	lo := 0xd0000000 | (e64Base(e.l.enc)+uint32(e.l.code))<<16 | e.vdst() | e.bit(Clamp, 15)
	hi := e.src(0) | e.src(1)<<9 | e.src(2)<<18
	switch {
	case in.Op == V_BITOP3_B32 || in.Op == V_BITOP3_B16:
		t := uint32(in.Bitop3)
		lo |= t>>3&7<<8 | uint32(in.OpSel&15)<<11
		hi |= t&7<<29 | t>>6<<27
	case e.l.has('S'):
		lo |= e.sreg(in.SDst, "scalar destination") << 8
		hi |= uint32(in.modBits(Neg))<<29 | uint32(in.Omod&3)<<27
	default:
		lo |= uint32(in.modBits(Abs))<<8 | uint32(in.OpSel&15)<<11
		hi |= uint32(in.modBits(Neg))<<29 | uint32(in.Omod&3)<<27
	}
	if e.literal {
		e.fail("VOP3 takes no literal")
	}
	e.emit(lo, hi)
}

func (e *encoder) packed() {
	in := e.in
	lo := 0xd3800000 | uint32(e.l.code)<<16 | e.vdst() | e.bit(Clamp, 15) |
		uint32(in.modBits(NegHi))<<8 | uint32(in.OpSel&7)<<11 | uint32(in.OpSelHi>>2&1)<<14
	hi := e.src(0) | e.src(1)<<9 | e.src(2)<<18 | uint32(in.OpSelHi&3)<<27 | uint32(in.modBits(Neg))<<29
	if e.literal {
		e.fail("VOP3P takes no literal")
	}
	e.emit(lo, hi)
}

func (e *encoder) matrix() {
	in := e.in
	lo := 0xd3800000 | uint32(e.l.code)<<16 | e.vdst()
	hi := e.src(0) | e.src(1)<<9 | e.src(2)<<18
	switch in.Op {
	case V_ACCVGPR_READ_B32, V_ACCVGPR_WRITE_B32, V_ACCVGPR_WRITE:
		// Encoded as packed instructions with the default op_sel_hi.
		e.emit(lo|1<<14, hi|3<<27)
		return
	case V_MFMA_LD_SCALE_B32:
		e.emit(lo|uint32(in.OpSel&7)<<11|uint32(in.OpSelHi>>2&1)<<14, hi|uint32(in.OpSelHi&3)<<27)
		return
	}
	if e.l.has('s') {
		e.emit(0xd3ac0000|uint32(in.OpSel&3)<<11,
			e.reg9(in.Scale[0])|e.reg9(in.Scale[1])<<9|uint32(in.OpSelHi&3)<<27)
	}
	if in.Dst.Reg.IsAGPR() {
		lo |= 1 << 15
	}
	if c := in.Src[2]; !e.sparse() && c.Present() && c.Reg.IsVector() && c.Reg.IsAGPR() != in.Dst.Reg.IsAGPR() {
		e.fail("C and D must be in the same register file")
	}
	for i, o := range in.Src[:2] {
		if o.Reg.IsAGPR() && o.Present() {
			hi |= 1 << (27 + i)
		}
	}
	abid := in.ABID & 15
	if e.l.has('s') {
		abid = 1 // marks the scaled form
	}
	lo |= uint32(in.CBSZ&7)<<8 | uint32(abid)<<11
	hi |= uint32(in.BLGP&7) << 29
	if e.literal {
		e.fail("a matrix instruction takes no literal")
	}
	e.emit(lo, hi)
}

// sparse reports whether Src[2] is the index register of smfmac, which is
// always architectural.
func (e *encoder) sparse() bool { return e.l.flags&fSparse != 0 }
