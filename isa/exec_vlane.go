package isa

import (
	"math/bits"
)

// Operations across lanes, with lane masks or with carries.

func registerVectorLanes() {
	t := &execTable
	t[V_READFIRSTLANE_B32] = func(_ *Kernel, in *Inst, s *State) error {
		l := 0
		if e := s.Exec(); e != 0 {
			l = bits.TrailingZeros64(e)
		}
		s.setS32(in.Dst.Reg, s.laneValue(in, 0, l))
		return nil
	}
	t[V_READLANE_B32] = func(_ *Kernel, in *Inst, s *State) error {
		s.setS32(in.Dst.Reg, s.laneValue(in, 0, int(s.s32(in, 1)&63)))
		return nil
	}
	t[V_WRITELANE_B32] = func(_ *Kernel, in *Inst, s *State) error {
		s.vreg(in.Dst.Reg)[s.s32(in, 1)&63] = s.s32(in, 0)
		return nil
	}
	t[V_CNDMASK_B32] = func(_ *Kernel, in *Inst, s *State) error {
		var b0, b1 VReg
		a := s.fetch32(in, 0, kM32, &b0)
		b := s.fetch32(in, 1, kM32, &b1)
		m := s.mask64(in, in.Src[2])
		d := s.vreg(in.Dst.Reg)
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			v := a[l]
			if m>>l&1 != 0 {
				v = b[l]
			}
			s.write32(in, kB32, &d[l], v)
		}
		return nil
	}
	t[V_MBCNT_LO_U32_B32] = mbcnt(func(l int) uint32 { return uint32(uint64(1)<<min(l, 32) - 1) })
	t[V_MBCNT_HI_U32_B32] = mbcnt(func(l int) uint32 { return uint32(uint64(1)<<max(l-32, 0) - 1) })
	t[V_SWAP_B32] = func(_ *Kernel, in *Inst, s *State) error {
		a, d := s.vreg(in.Src[0].Reg), s.vreg(in.Dst.Reg)
		for e := s.Exec(); e != 0; {
			l := nextLane(&e)
			a[l], d[l] = d[l], a[l]
		}
		return nil
	}
	// Both permlane swaps ignore EXEC: the published pseudocode has no test of it.
	t[V_PERMLANE32_SWAP_B32] = func(_ *Kernel, in *Inst, s *State) error {
		a, d := s.vreg(in.Src[0].Reg), s.vreg(in.Dst.Reg)
		for l := range 32 {
			d[l+32], a[l] = a[l], d[l+32]
		}
		return nil
	}
	t[V_PERMLANE16_SWAP_B32] = func(_ *Kernel, in *Inst, s *State) error {
		a, d := s.vreg(in.Src[0].Reg), s.vreg(in.Dst.Reg)
		for _, base := range [2]int{0, 32} {
			for l := base; l < base+16; l++ {
				d[l+16], a[l] = a[l], d[l+16]
			}
		}
		return nil
	}
}

// laneValue is source i of one lane.
func (s *State) laneValue(in *Inst, i, lane int) uint32 {
	if r := in.Src[i].Reg; r.IsVector() {
		return s.vreg(r)[lane]
	}
	return s.s32(in, i)
}

func mbcnt(below func(lane int) uint32) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var b0, b1 VReg
		a := s.fetch32(in, 0, kB32, &b0)
		b := s.fetch32(in, 1, kB32, &b1)
		d := s.vreg(in.Dst.Reg)
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			s.write32(in, kB32, &d[l], b[l]+uint32(bits.OnesCount32(a[l]&below(l))))
		}
		return nil
	}
}

// carryOp computes a dword and a carry from two sources and a carry in.
type carryOp func(a, b uint32, cin bool) (uint32, bool)

func carry(f carryOp, withIn bool) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var b0, b1 VReg
		a := s.fetch32(in, 0, kB32, &b0)
		b := s.fetch32(in, 1, kB32, &b1)
		var cin, cout uint64
		if withIn {
			cin = s.mask64(in, in.Src[2])
		}
		d := s.vreg(in.Dst.Reg)
		lanes := s.vectorLanes(in)
		for e := lanes; e != 0; {
			l := nextLane(&e)
			v, c := f(a[l], b[l], cin>>l&1 != 0)
			s.write32(in, kB32, &d[l], v)
			cout |= uint64(bit32(c)) << l
		}
		s.setMask(in.SDst, cout)
		return nil
	}
}

func registerVectorCarry() {
	t := &execTable
	rev := func(a, b uint32, c bool) (uint32, bool) { return subBorrow(b, a, c) }
	t[V_ADD_CO_U32], t[V_ADDC_CO_U32] = carry(addCarry, false), carry(addCarry, true)
	t[V_SUB_CO_U32], t[V_SUBB_CO_U32] = carry(subBorrow, false), carry(subBorrow, true)
	t[V_SUBREV_CO_U32], t[V_SUBBREV_CO_U32] = carry(rev, false), carry(rev, true)
	t[V_MAD_U64_U32] = mad64(func(a, b uint32, c uint64) (uint64, bool) {
		d, o := bits.Add64(uint64(a)*uint64(b), c, 0)
		return d, o != 0
	})
	t[V_MAD_I64_I32] = mad64(func(a, b uint32, c uint64) (uint64, bool) {
		p := uint64(int64(int32(a)) * int64(int32(b)))
		d, o := bits.Add64(p, c, 0)
		// Bit 64 of the sum of two sign-extended 65-bit numbers.
		return d, (o+p>>63+c>>63)&1 != 0
	})
}

func mad64(f func(a, b uint32, c uint64) (uint64, bool)) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var b0, b1 VReg
		var c [Lanes]uint64
		a := s.fetch32(in, 0, kB32, &b0)
		b := s.fetch32(in, 1, kB32, &b1)
		s.fetch64(in, 2, kB64, &c)
		d := s.vregs(in.Dst.Reg, 2)
		var cout uint64
		for e := s.Exec(); e != 0; {
			l := nextLane(&e)
			v, o := f(a[l], b[l], c[l])
			d[0][l], d[1][l] = uint32(v), uint32(v>>32)
			cout |= uint64(bit32(o)) << l
		}
		s.setMask(in.SDst, cout)
		return nil
	}
}
