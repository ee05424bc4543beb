package isa

// Scalar ALU. The helpers take a function of the sources and SCC that returns
// the result and the new SCC; operations that leave SCC alone return it.

type (
	salu32 func(a, b uint32, c bool) (uint32, bool)
	salu64 func(a, b uint64, c bool) (uint64, bool)
)

func sop32(f salu32) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		d, c := f(s.s32(in, 0), s.s32(in, 1), s.SCC)
		s.setS32(in.Dst.Reg, d)
		s.SCC = c
		return nil
	}
}

func sop64(f salu64) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		d, c := f(s.s64(in, 0), s.s64(in, 1), s.SCC)
		s.setS64(in.Dst.Reg, d)
		s.SCC = c
		return nil
	}
}

// sop64by32 is for shifts and field extracts: 64-bit data, 32-bit second source.
func sop64by32(f func(a uint64, b uint32) uint64) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		d := f(s.s64(in, 0), s.s32(in, 1))
		s.setS64(in.Dst.Reg, d)
		s.SCC = d != 0
		return nil
	}
}

// sop64to32 is for counts and searches of a 64-bit source.
func sop64to32(f func(a uint64, c bool) (uint32, bool)) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		d, c := f(s.s64(in, 0), s.SCC)
		s.setS32(in.Dst.Reg, d)
		s.SCC = c
		return nil
	}
}

// sopk works on the destination and the sign-extended 16-bit immediate.
func sopk(f salu32) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		d, c := f(s.scalar32(in, in.Dst.Reg), uint32(int32(int16(in.Offset))), s.SCC)
		s.setS32(in.Dst.Reg, d)
		s.SCC = c
		return nil
	}
}

func scmp(f func(a, b uint32) bool) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		s.SCC = f(s.s32(in, 0), s.s32(in, 1))
		return nil
	}
}

// scmpk compares a register, which sits in the destination field, with the
// immediate: sign-extended for i32, zero-extended for u32.
func scmpk(f func(a, b uint32) bool, signed bool) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		r := in.Dst.Reg
		if in.Src[0].Present() {
			r = in.Src[0].Reg
		}
		b := uint32(uint16(in.Offset))
		if signed {
			b = uint32(int32(int16(in.Offset)))
		}
		s.SCC = f(s.scalar32(in, r), b)
		return nil
	}
}

// saveexec writes the old EXEC to the destination and op(S0, EXEC) to EXEC.
func saveexec(f func(a, exec uint64) uint64, wrexec bool) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		old := s.Exec()
		now := f(s.s64(in, 0), old)
		if wrexec {
			old = now
		}
		s.setS64(in.Dst.Reg, old)
		s.SetExec(now)
		s.SCC = now != 0
		return nil
	}
}

func nz32(v uint32) (uint32, bool) { return v, v != 0 }
func nz64(v uint64) (uint64, bool) { return v, v != 0 }

func addCarry(a, b uint32, cin bool) (uint32, bool) {
	v := uint64(a) + uint64(b) + uint64(bit32(cin))
	return uint32(v), v>>32 != 0
}

func subBorrow(a, b uint32, cin bool) (uint32, bool) {
	sub := uint64(b) + uint64(bit32(cin))
	return uint32(uint64(a) - sub), sub > uint64(a)
}

func addOverflow(a, b uint32) (uint32, bool) {
	d := a + b
	return d, (a^d)&(b^d)>>31 != 0
}

func subOverflow(a, b uint32) (uint32, bool) {
	d := a - b
	return d, (a^b)&(a^d)>>31 != 0
}

func registerScalar() {
	registerScalarArith()
	registerScalarBits32()
	registerScalarBits64()
	registerScalarMoves()
	registerScalarCompare()
}

func registerScalarArith() {
	t := &execTable
	t[S_ADD_U32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return addCarry(a, b, false) })
	t[S_ADDC_U32] = sop32(addCarry)
	t[S_SUB_U32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return subBorrow(a, b, false) })
	t[S_SUBB_U32] = sop32(subBorrow)
	t[S_ADD_I32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return addOverflow(a, b) })
	t[S_SUB_I32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return subOverflow(a, b) })
	t[S_ADDK_I32] = sopk(func(a, b uint32, _ bool) (uint32, bool) { return addOverflow(a, b) })
	t[S_MULK_I32] = sopk(func(a, b uint32, c bool) (uint32, bool) { return a * b, c })
	t[S_MUL_I32] = sop32(func(a, b uint32, c bool) (uint32, bool) { return a * b, c })
	t[S_MUL_HI_U32] = sop32(func(a, b uint32, c bool) (uint32, bool) { return mulHiU32(a, b), c })
	t[S_MUL_HI_I32] = sop32(func(a, b uint32, c bool) (uint32, bool) { return mulHiI32(a, b), c })
	t[S_MIN_I32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return pick(int32(a) < int32(b), a, b) })
	t[S_MIN_U32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return pick(a < b, a, b) })
	t[S_MAX_I32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return pick(int32(a) >= int32(b), a, b) })
	t[S_MAX_U32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return pick(a >= b, a, b) })
	t[S_ABS_I32] = sop32(func(a, _ uint32, _ bool) (uint32, bool) { return nz32(abs32(a)) })
	t[S_ABSDIFF_I32] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return nz32(abs32(a - b)) })
	for n, op := range []Op{S_LSHL1_ADD_U32, S_LSHL2_ADD_U32, S_LSHL3_ADD_U32, S_LSHL4_ADD_U32} {
		sh := n + 1
		t[op] = sop32(func(a, b uint32, _ bool) (uint32, bool) {
			v := uint64(a)<<sh + uint64(b)
			return uint32(v), v>>32 != 0
		})
	}
}

func pick(c bool, a, b uint32) (uint32, bool) {
	if c {
		return a, true
	}
	return b, false
}

func abs32(a uint32) uint32 {
	if int32(a) < 0 {
		return -a
	}
	return a
}

func mulHiU32(a, b uint32) uint32 { return uint32(uint64(a) * uint64(b) >> 32) }
func mulHiI32(a, b uint32) uint32 { return uint32(int64(int32(a)) * int64(int32(b)) >> 32) }

func registerScalarMoves() {
	t := &execTable
	t[S_MOV_B32] = sop32(func(a, _ uint32, c bool) (uint32, bool) { return a, c })
	t[S_MOV_B64] = sop64(func(a, _ uint64, c bool) (uint64, bool) { return a, c })
	t[S_MOVK_I32] = sopk(func(_, b uint32, c bool) (uint32, bool) { return b, c })
	t[S_CMOVK_I32] = sopk(func(a, b uint32, c bool) (uint32, bool) {
		if c {
			return b, c
		}
		return a, c
	})
	t[S_CMOV_B32] = func(_ *Kernel, in *Inst, s *State) error {
		if s.SCC {
			s.setS32(in.Dst.Reg, s.s32(in, 0))
		}
		return nil
	}
	t[S_CMOV_B64] = func(_ *Kernel, in *Inst, s *State) error {
		if s.SCC {
			s.setS64(in.Dst.Reg, s.s64(in, 0))
		}
		return nil
	}
	t[S_CSELECT_B32] = func(_ *Kernel, in *Inst, s *State) error {
		i := 1
		if s.SCC {
			i = 0
		}
		s.setS32(in.Dst.Reg, s.s32(in, i))
		return nil
	}
	t[S_CSELECT_B64] = func(_ *Kernel, in *Inst, s *State) error {
		i := 1
		if s.SCC {
			i = 0
		}
		s.setS64(in.Dst.Reg, s.s64(in, i))
		return nil
	}
	bitset := func(wide, set bool) execFunc {
		return func(_ *Kernel, in *Inst, s *State) error {
			n, r := s.s32(in, 0), in.Dst.Reg
			switch {
			case wide && set:
				s.setS64(r, s.scalar64(in, r)|1<<(n&63))
			case wide:
				s.setS64(r, s.scalar64(in, r)&^(1<<(n&63)))
			case set:
				s.setS32(r, s.scalar32(in, r)|1<<(n&31))
			default:
				s.setS32(r, s.scalar32(in, r)&^(1<<(n&31)))
			}
			return nil
		}
	}
	t[S_BITSET0_B32], t[S_BITSET1_B32] = bitset(false, false), bitset(false, true)
	t[S_BITSET0_B64], t[S_BITSET1_B64] = bitset(true, false), bitset(true, true)
	registerScalarIndexed()
	registerSaveExec()
}

// registerScalarIndexed holds the moves whose register number M0 offsets.
func registerScalarIndexed() {
	t := &execTable
	at := func(s *State, r Reg) Reg { return Reg((uint32(r) + s.SGPR[M0]) & (NumSGPRs - 1)) }
	t[S_MOVRELS_B32] = func(_ *Kernel, in *Inst, s *State) error {
		s.setS32(in.Dst.Reg, s.scalar32(in, at(s, in.Src[0].Reg)))
		return nil
	}
	t[S_MOVRELS_B64] = func(_ *Kernel, in *Inst, s *State) error {
		s.setS64(in.Dst.Reg, s.scalar64(in, at(s, in.Src[0].Reg)))
		return nil
	}
	t[S_MOVRELD_B32] = func(_ *Kernel, in *Inst, s *State) error {
		s.setS32(at(s, in.Dst.Reg), s.s32(in, 0))
		return nil
	}
	t[S_MOVRELD_B64] = func(_ *Kernel, in *Inst, s *State) error {
		s.setS64(at(s, in.Dst.Reg), s.s64(in, 0))
		return nil
	}
}

func registerSaveExec() {
	t := &execTable
	t[S_AND_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return a & e }, false)
	t[S_OR_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return a | e }, false)
	t[S_XOR_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return a ^ e }, false)
	t[S_ANDN2_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return a &^ e }, false)
	t[S_ORN2_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return a | ^e }, false)
	t[S_ANDN1_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return ^a & e }, false)
	t[S_ORN1_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return ^a | e }, false)
	t[S_NAND_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return ^(a & e) }, false)
	t[S_NOR_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return ^(a | e) }, false)
	t[S_XNOR_SAVEEXEC_B64] = saveexec(func(a, e uint64) uint64 { return ^(a ^ e) }, false)
	t[S_ANDN1_WREXEC_B64] = saveexec(func(a, e uint64) uint64 { return ^a & e }, true)
	t[S_ANDN2_WREXEC_B64] = saveexec(func(a, e uint64) uint64 { return a &^ e }, true)
}

func registerScalarCompare() {
	t := &execTable
	eq := func(a, b uint32) bool { return a == b }
	lg := func(a, b uint32) bool { return a != b }
	gtU := func(a, b uint32) bool { return a > b }
	geU := func(a, b uint32) bool { return a >= b }
	ltU := func(a, b uint32) bool { return a < b }
	leU := func(a, b uint32) bool { return a <= b }
	gtI := func(a, b uint32) bool { return int32(a) > int32(b) }
	geI := func(a, b uint32) bool { return int32(a) >= int32(b) }
	ltI := func(a, b uint32) bool { return int32(a) < int32(b) }
	leI := func(a, b uint32) bool { return int32(a) <= int32(b) }
	for _, c := range []struct {
		i, u, ki, ku Op
		fi, fu       func(a, b uint32) bool
	}{
		{S_CMP_EQ_I32, S_CMP_EQ_U32, S_CMPK_EQ_I32, S_CMPK_EQ_U32, eq, eq},
		{S_CMP_LG_I32, S_CMP_LG_U32, S_CMPK_LG_I32, S_CMPK_LG_U32, lg, lg},
		{S_CMP_GT_I32, S_CMP_GT_U32, S_CMPK_GT_I32, S_CMPK_GT_U32, gtI, gtU},
		{S_CMP_GE_I32, S_CMP_GE_U32, S_CMPK_GE_I32, S_CMPK_GE_U32, geI, geU},
		{S_CMP_LT_I32, S_CMP_LT_U32, S_CMPK_LT_I32, S_CMPK_LT_U32, ltI, ltU},
		{S_CMP_LE_I32, S_CMP_LE_U32, S_CMPK_LE_I32, S_CMPK_LE_U32, leI, leU},
	} {
		t[c.i], t[c.u] = scmp(c.fi), scmp(c.fu)
		t[c.ki], t[c.ku] = scmpk(c.fi, true), scmpk(c.fu, false)
	}
	t[S_CMP_EQ_U64] = func(_ *Kernel, in *Inst, s *State) error { s.SCC = s.s64(in, 0) == s.s64(in, 1); return nil }
	t[S_CMP_LG_U64] = func(_ *Kernel, in *Inst, s *State) error { s.SCC = s.s64(in, 0) != s.s64(in, 1); return nil }
	t[S_BITCMP0_B32] = scmp(func(a, b uint32) bool { return a>>(b&31)&1 == 0 })
	t[S_BITCMP1_B32] = scmp(func(a, b uint32) bool { return a>>(b&31)&1 == 1 })
	bitcmp64 := func(want uint64) execFunc {
		return func(_ *Kernel, in *Inst, s *State) error {
			s.SCC = s.s64(in, 0)>>(s.s32(in, 1)&63)&1 == want
			return nil
		}
	}
	t[S_BITCMP0_B64], t[S_BITCMP1_B64] = bitcmp64(0), bitcmp64(1)
}
