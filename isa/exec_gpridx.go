package isa

// VGPR indexing (CDNA3 ISA, "M0 register" and MODE.GPR_IDX_EN): while it is on,
// the register numbers of the vector ALU's operands that M0[15:12] selects are
// moved by M0[7:0]. Compilers index arrays in registers with it.

// modeGPRIdx is MODE.GPR_IDX_EN.
const modeGPRIdx = 1 << 27

// Bits of M0[15:12]: the operands that move.
const gprIdxDst = 8 // sources are bits 0 to 2

func registerGPRIdx() {
	t := &execTable
	setIndex := func(s *State, v uint32) { s.SGPR[M0] = s.SGPR[M0]&^0xff | v&0xff }
	setSelect := func(s *State, v int32) { s.SGPR[M0] = s.SGPR[M0]&^0xf000 | uint32(v)&15<<12 }
	t[S_SET_GPR_IDX_ON] = func(_ *Kernel, in *Inst, s *State) error {
		setIndex(s, s.s32(in, 0))
		setSelect(s, in.Offset)
		s.Mode |= modeGPRIdx
		return nil
	}
	t[S_SET_GPR_IDX_OFF] = func(_ *Kernel, _ *Inst, s *State) error { s.Mode &^= modeGPRIdx; return nil }
	t[S_SET_GPR_IDX_MODE] = func(_ *Kernel, in *Inst, s *State) error { setSelect(s, in.Offset); return nil }
	t[S_SET_GPR_IDX_IDX] = func(_ *Kernel, in *Inst, s *State) error { setIndex(s, s.s32(in, 0)); return nil }
}

// execIndexed does an instruction with indexing on. A source outside the
// allocation reads v0, a destination outside it is not written.
func execIndexed(k *Kernel, in *Inst, s *State) error {
	switch in.Enc {
	case VOP1, VOP2, VOPC, VOP3, VOP3P:
	default:
		return execTable[in.Op](k, in, s)
	}
	moved := *in
	by, which := Reg(s.SGPR[M0]&0xff), s.SGPR[M0]>>12&15
	for i := range moved.Src[:3] {
		if which>>i&1 != 0 && !s.moveReg(&moved.Src[i], by) {
			moved.Src[i].Reg = V0
		}
	}
	if which&gprIdxDst != 0 && !s.moveReg(&moved.Dst, by) {
		return nil
	}
	return execTable[in.Op](k, &moved, s)
}

// moveReg moves a VGPR operand and reports whether it stays in the allocation.
func (s *State) moveReg(o *Operand, by Reg) bool {
	if !o.Present() || !o.Reg.IsVGPR() {
		return true
	}
	o.Reg += by
	return o.Reg.IsVGPR() && o.Reg.Index()+int(o.N) <= len(s.VGPR)
}
