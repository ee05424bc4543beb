package isa

import "fmt"

// short reads the 32-bit VOP1, VOP2 and VOPC words, and the SDWA and DPP words
// that may follow them.
func (d *decoder) short(w uint32) error {
	in := &d.in
	var err error
	switch w >> 25 {
	case 0x3f:
		err = d.find(VOP1, 0, w>>9&0xff)
	case 0x3e:
		err = d.find(VOPC, 0, w>>17&0xff)
	default:
		err = d.find(VOP2, 0, w>>25)
	}
	if err != nil {
		return err
	}
	vdst, vsrc1, src0 := w>>17&0xff, V0+Reg(w>>9&0xff), w&0x1ff
	if d.l.enc == VOPC {
		in.Dst = Operand{Reg: VCCLo, N: 2}
	} else {
		in.Dst = d.vdst(vdst)
	}
	if d.l.has('S') {
		in.SDst = Operand{Reg: VCCLo, N: 2}
	}
	if d.l.enc != VOP1 {
		in.Src[1] = d.operand('b', vsrc1)
		if d.l.has('K') && !d.l.has('b') {
			in.Src[1], in.Src[2] = Operand{Reg: Literal, N: 1}, d.operand('c', vsrc1)
		} else if d.l.has('K') {
			in.Src[2] = Operand{Reg: Literal, N: 1}
		} else if d.l.has('c') {
			in.Src[2] = Operand{Reg: VCCLo, N: 2}
		}
	}
	switch {
	case src0 == codeSDWA && d.l.flags&fSDWA != 0:
		return d.sdwa(vsrc1)
	case src0 == codeDPP && d.l.flags&fDPP != 0:
		return d.dpp()
	}
	in.Src[0] = d.source0(Reg(src0))
	return d.wantLiteral()
}

// source0 is the first source, which v_accvgpr_mov and v_accvgpr_read take
// from the accumulation registers.
func (d *decoder) source0(r Reg) Operand {
	if d.l.has('x') {
		if !r.IsVGPR() {
			d.fail("source 0 must be a vector register")
		}
		return d.operand('x', r+256)
	}
	return d.operand('a', r)
}

// vdst is the destination field of a vector instruction.
func (d *decoder) vdst(code uint32) Operand {
	switch {
	case d.l.has('R'):
		if code >= uint32(Const0) {
			d.fail("destination %d is not a scalar register", code)
		}
		return d.operand('R', Reg(code))
	case d.l.has('A'):
		return d.operand('A', A0+Reg(code))
	}
	return d.operand('D', V0+Reg(code))
}

func (d *decoder) sdwa(vsrc1 Reg) error {
	w, err := d.next()
	if err != nil {
		return err
	}
	in := &d.in
	in.Sub = SubSDWA
	src0 := V0 + Reg(w&0xff)
	if w>>23&1 != 0 {
		src0 = Reg(w & 0xff)
	}
	in.Src[0] = d.operand('a', src0)
	in.Src0Sel = d.sdwaSource(&in.Src[0], w>>16)
	if d.l.has('b') {
		if w>>31 != 0 {
			in.Src[1] = d.operand('b', vsrc1-V0)
		}
		in.Src1Sel = d.sdwaSource(&in.Src[1], w>>24)
	}
	if d.l.enc == VOPC {
		if w>>15&1 != 0 {
			in.Dst = d.vdst(w >> 8 & 0x7f)
		}
		return nil
	}
	in.DstSel, in.DstUnused, in.Omod = uint8(w>>8&7), uint8(w>>11&3), uint8(w>>14&3)
	d.flag(w>>13, Clamp)
	if in.DstSel > 6 || in.DstUnused > 2 {
		d.fail("reserved SDWA select")
	}
	return nil
}

// sdwaSource applies the modifiers of one source and returns its select.
func (d *decoder) sdwaSource(o *Operand, w uint32) uint8 {
	if w>>3&1 != 0 {
		o.Mod |= Sext
	}
	if w>>4&1 != 0 {
		o.Mod |= Neg
	}
	if w>>5&1 != 0 {
		o.Mod |= Abs
	}
	if w&7 == 7 {
		d.fail("reserved SDWA select")
	}
	return uint8(w & 7)
}

func (d *decoder) dpp() error {
	w, err := d.next()
	if err != nil {
		return err
	}
	in := &d.in
	in.Sub = SubDPP
	in.Src[0] = d.operand('a', V0+Reg(w&0xff))
	in.DPPCtrl = uint16(w >> 8 & 0x1ff)
	in.BankMask, in.RowMask = uint8(w>>24&15), uint8(w>>28)
	d.flag(w>>19, BoundCtrl)
	for i := range 2 {
		if !in.Src[i].Present() {
			continue
		}
		if w>>(20+2*i)&1 != 0 {
			in.Src[i].Mod |= Neg
		}
		if w>>(21+2*i)&1 != 0 {
			in.Src[i].Mod |= Abs
		}
	}
	return nil
}

// findVOP3 selects among VOP3's own opcodes and those of the short encodings.
func (d *decoder) findVOP3(code uint32) error {
	if err := d.find(VOP3, 0, code); err == nil {
		return nil
	}
	enc := VOPC
	switch {
	case code >= 0x1c0:
		return fmt.Errorf("no VOP3 opcode %#x", code)
	case code >= 0x140:
		enc = VOP1
	case code >= 0x100:
		enc = VOP2
	}
	if err := d.find(enc, 0, code-e64Base(enc)); err != nil {
		return err
	}
	if d.l.flags&fE64 == 0 {
		return fmt.Errorf("%v has no VOP3 form", d.l.op)
	}
	d.in.E64 = true
	return nil
}

func (d *decoder) vop3(w, hi uint32) error {
	if err := d.findVOP3(w >> 16 & 0x3ff); err != nil {
		return err
	}
	in := &d.in
	in.Dst = d.vdst(w & 0xff)
	d.sources(hi)
	d.flag(w>>15, Clamp)
	neg, omod := uint8(hi>>29), uint8(hi>>27&3)
	switch {
	case in.Op == V_BITOP3_B32 || in.Op == V_BITOP3_B16:
		in.Bitop3 = omod<<6 | uint8(w>>8&7)<<3 | neg
		in.OpSel = uint8(w >> 11 & 15)
		return nil
	case d.l.has('S'):
		in.SDst = d.operand('S', Reg(w>>8&0x7f))
		d.mods(neg, Neg)
	default:
		in.OpSel = uint8(w >> 11 & 15)
		d.mods(neg, Neg)
		d.mods(uint8(w>>8&7), Abs)
	}
	in.Omod = omod
	return nil
}

// sources fills Src[0..2] from the three 9-bit fields.
func (d *decoder) sources(hi uint32) {
	in := &d.in
	in.Src[0] = d.source0(Reg(hi & 0x1ff))
	in.Src[1] = d.operand('b', Reg(hi>>9&0x1ff))
	in.Src[2] = d.operand('c', Reg(hi>>18&0x1ff))
}

// mods sets a modifier on the sources whose bit is set, where the opcode has
// source modifiers.
func (d *decoder) mods(bits uint8, m OpMod) {
	if d.l.flags&fFPMod == 0 && d.l.enc != VOP3P {
		return
	}
	for i := range 3 {
		if bits>>i&1 != 0 && d.in.Src[i].Present() {
			d.in.Src[i].Mod |= m
		}
	}
}

// packed reads VOP3P words, matrix instructions included.
func (d *decoder) packed(w, hi uint32) error {
	code := w >> 16 & 0x7f
	if d.find(VOP3P, 0, code) != nil {
		return d.matrix(w, hi, code)
	}
	in := &d.in
	in.Dst = d.vdst(w & 0xff)
	d.sources(hi)
	d.flag(w>>15, Clamp)
	in.OpSel = uint8(w >> 11 & 7)
	in.OpSelHi = uint8(hi>>27&3 | w>>14&1<<2)
	d.mods(uint8(hi>>29), Neg)
	d.mods(uint8(w>>8&7), NegHi)
	return nil
}

func (d *decoder) matrix(w, hi, code uint32) error {
	if code == uint32(byOp[V_MFMA_LD_SCALE_B32].code) && d.cpu == GFX950 {
		return d.scale(w, hi)
	}
	if err := d.find(MAI, 0, code); err != nil {
		return err
	}
	d.matrixFields(w, hi)
	return nil
}

// scale reads the first half of a scaled matrix instruction and the second
// half if there is one.
func (d *decoder) scale(w, hi uint32) error {
	in := &d.in
	s0, s1 := Reg(hi&0x1ff), Reg(hi>>9&0x1ff)
	opSel, opSelHi := uint8(w>>11&7), uint8(hi>>27&3|w>>14&1<<2)
	if len(d.bytes)-d.pos >= 8 {
		lo2, _ := d.next()
		hi2, _ := d.next()
		if lo2>>23 == 0x1a7 && lo2>>11&1 != 0 && d.find(MAI, segScaled, lo2>>16&0x7f) == nil {
			in.Scale = [2]Operand{d.ranged(s0, 1), d.ranged(s1, 1)}
			in.OpSel, in.OpSelHi = opSel&3, opSelHi&3
			in.Flags |= ScalePrefix
			d.matrixFields(lo2, hi2)
			in.ABID = 0 // its low bit marks the scaled form
			return nil
		}
		d.pos -= 8
	}
	if err := d.find(MAI, 0, w>>16&0x7f); err != nil {
		return err
	}
	in.Src[0], in.Src[1] = d.operand('a', s0), d.operand('b', s1)
	in.OpSel, in.OpSelHi = opSel, opSelHi
	return nil
}

func (d *decoder) matrixFields(w, hi uint32) {
	in := &d.in
	switch in.Op {
	case V_ACCVGPR_READ_B32, V_ACCVGPR_WRITE_B32:
		in.Dst = d.vdst(w & 0xff)
		d.sources(hi)
		return
	}
	in.CBSZ, in.ABID, in.BLGP = uint8(w>>8&7), uint8(w>>11&15), uint8(hi>>29)
	accD := Reg(0)
	if w>>15&1 != 0 {
		accD = 256
		in.Flags |= AccCD
	}
	in.Dst = d.operand('D', V0+Reg(w&0xff)+accD)
	na, nb := d.slotDwords('a'), d.slotDwords('b')
	if d.l.flags&fF8F6F4 != 0 {
		na, nb = f8f6f4Dwords[in.CBSZ], f8f6f4Dwords[in.BLGP]
	}
	in.Src[0] = d.factor(hi&0x1ff, hi>>27, na)
	in.Src[1] = d.factor(hi>>9&0x1ff, hi>>28, nb)
	c := Reg(hi >> 18 & 0x1ff)
	if c.IsVGPR() && d.l.flags&fSparse == 0 {
		c += accD
	}
	if !c.IsVGPR() && d.l.flags&fSparse != 0 {
		d.fail("the index of a sparse instruction must be a register, not code %d", c)
	}
	in.Src[2] = d.operand('c', c)
}

// factor is the A or B operand, which must be a register.
func (d *decoder) factor(code, acc uint32, n uint8) Operand {
	r := Reg(code)
	if !r.IsVGPR() {
		d.fail("a matrix factor must be a register, not code %d", code)
		return Operand{}
	}
	if acc&1 != 0 {
		r += 256
	}
	return d.ranged(r, n)
}
