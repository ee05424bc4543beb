package isa

import "math/bits"

// Bit operations of the scalar ALU.

func registerScalarBits32() {
	t := &execTable
	logic := map[Op]func(a, b uint32) uint32{
		S_AND_B32:   func(a, b uint32) uint32 { return a & b },
		S_OR_B32:    func(a, b uint32) uint32 { return a | b },
		S_XOR_B32:   func(a, b uint32) uint32 { return a ^ b },
		S_ANDN2_B32: func(a, b uint32) uint32 { return a &^ b },
		S_ORN2_B32:  func(a, b uint32) uint32 { return a | ^b },
		S_NAND_B32:  func(a, b uint32) uint32 { return ^(a & b) },
		S_NOR_B32:   func(a, b uint32) uint32 { return ^(a | b) },
		S_XNOR_B32:  func(a, b uint32) uint32 { return ^(a ^ b) },
		S_NOT_B32:   func(a, _ uint32) uint32 { return ^a },
		S_LSHL_B32:  func(a, b uint32) uint32 { return a << (b & 31) },
		S_LSHR_B32:  func(a, b uint32) uint32 { return a >> (b & 31) },
		S_ASHR_I32:  func(a, b uint32) uint32 { return uint32(int32(a) >> (b & 31)) },
		S_BFE_U32:   func(a, b uint32) uint32 { return uint32(bfeU(uint64(a), b&31, b>>16&127)) },
		S_BFE_I32:   func(a, b uint32) uint32 { return uint32(bfeI(uint64(a), b&31, b>>16&127, 32)) },
		S_WQM_B32:   func(a, _ uint32) uint32 { return uint32(wqm(uint64(a))) },
		S_QUADMASK_B32: func(a, _ uint32) uint32 {
			return uint32(quadmask(uint64(a)))
		},
		S_BCNT0_I32_B32: func(a, _ uint32) uint32 { return uint32(bits.OnesCount32(^a)) },
		S_BCNT1_I32_B32: func(a, _ uint32) uint32 { return uint32(bits.OnesCount32(a)) },
	}
	for op, f := range logic {
		t[op] = sop32(func(a, b uint32, _ bool) (uint32, bool) { return nz32(f(a, b)) })
	}
	keep := map[Op]func(a, b uint32) uint32{
		S_BFM_B32:         func(a, b uint32) uint32 { return (1<<(a&31) - 1) << (b & 31) },
		S_PACK_LL_B32_B16: func(a, b uint32) uint32 { return b<<16 | a&0xffff },
		S_PACK_LH_B32_B16: func(a, b uint32) uint32 { return b&0xffff0000 | a&0xffff },
		S_PACK_HH_B32_B16: func(a, b uint32) uint32 { return b&0xffff0000 | a>>16 },
		S_FF0_I32_B32:     func(a, _ uint32) uint32 { return ffb32(^a) },
		S_FF1_I32_B32:     func(a, _ uint32) uint32 { return ffb32(a) },
		S_FLBIT_I32_B32:   func(a, _ uint32) uint32 { return ffbh32(a) },
		S_FLBIT_I32:       func(a, _ uint32) uint32 { return ffbhI32(a) },
		S_BREV_B32:        func(a, _ uint32) uint32 { return bits.Reverse32(a) },
		S_SEXT_I32_I8:     func(a, _ uint32) uint32 { return uint32(int32(int8(a))) },
		S_SEXT_I32_I16:    func(a, _ uint32) uint32 { return uint32(int32(int16(a))) },
	}
	for op, f := range keep {
		t[op] = sop32(func(a, b uint32, c bool) (uint32, bool) { return f(a, b), c })
	}
}

// ffb32 is the index of the lowest set bit, -1 if there is none.
func ffb32(a uint32) uint32 {
	if a == 0 {
		return ^uint32(0)
	}
	return uint32(bits.TrailingZeros32(a))
}

// ffbh32 counts leading zeros, -1 if a is zero.
func ffbh32(a uint32) uint32 {
	if a == 0 {
		return ^uint32(0)
	}
	return uint32(bits.LeadingZeros32(a))
}

// ffbhI32 is the index from the top of the first bit that differs from the
// sign, -1 if all are equal.
func ffbhI32(a uint32) uint32 {
	if int32(a) < 0 {
		a = ^a
	}
	return ffbh32(a)
}

func bfeU(a uint64, off, w uint32) uint64 {
	if w == 0 {
		return 0
	}
	a >>= off
	if w < 64 {
		a &= 1<<w - 1
	}
	return a
}

// bfeI sign-extends the field from its top bit; bits past the source's width
// read as zero.
func bfeI(a uint64, off, w, width uint32) uint64 {
	v := bfeU(a, off, w)
	if w == 0 || w >= width {
		if width == 32 {
			return uint64(int64(int32(v)))
		}
		return v
	}
	return uint64(int64(v<<(64-w)) >> (64 - w))
}

func wqm(a uint64) uint64 {
	q := a | a>>1
	q = (q | q>>2) & 0x1111111111111111
	return q * 15
}

func quadmask(a uint64) uint64 {
	var m uint64
	for q := range 16 {
		if a>>(4*q)&15 != 0 {
			m |= 1 << q
		}
	}
	return m
}

func registerScalarBits64() {
	t := &execTable
	logic := map[Op]func(a, b uint64) uint64{
		S_AND_B64:      func(a, b uint64) uint64 { return a & b },
		S_OR_B64:       func(a, b uint64) uint64 { return a | b },
		S_XOR_B64:      func(a, b uint64) uint64 { return a ^ b },
		S_ANDN2_B64:    func(a, b uint64) uint64 { return a &^ b },
		S_ORN2_B64:     func(a, b uint64) uint64 { return a | ^b },
		S_NAND_B64:     func(a, b uint64) uint64 { return ^(a & b) },
		S_NOR_B64:      func(a, b uint64) uint64 { return ^(a | b) },
		S_XNOR_B64:     func(a, b uint64) uint64 { return ^(a ^ b) },
		S_NOT_B64:      func(a, _ uint64) uint64 { return ^a },
		S_WQM_B64:      func(a, _ uint64) uint64 { return wqm(a) },
		S_QUADMASK_B64: func(a, _ uint64) uint64 { return quadmask(a) },
	}
	for op, f := range logic {
		t[op] = sop64(func(a, b uint64, _ bool) (uint64, bool) { return nz64(f(a, b)) })
	}
	t[S_LSHL_B64] = sop64by32(func(a uint64, b uint32) uint64 { return a << (b & 63) })
	t[S_LSHR_B64] = sop64by32(func(a uint64, b uint32) uint64 { return a >> (b & 63) })
	t[S_ASHR_I64] = sop64by32(func(a uint64, b uint32) uint64 { return uint64(int64(a) >> (b & 63)) })
	t[S_BFE_U64] = sop64by32(func(a uint64, b uint32) uint64 { return bfeU(a, b&63, b>>16&127) })
	t[S_BFE_I64] = sop64by32(func(a uint64, b uint32) uint64 { return bfeI(a, b&63, b>>16&127, 64) })
	t[S_BREV_B64] = sop64(func(a, _ uint64, c bool) (uint64, bool) { return bits.Reverse64(a), c })
	t[S_BCNT0_I32_B64] = sop64to32(func(a uint64, _ bool) (uint32, bool) { return nz32(uint32(bits.OnesCount64(^a))) })
	t[S_BCNT1_I32_B64] = sop64to32(func(a uint64, _ bool) (uint32, bool) { return nz32(uint32(bits.OnesCount64(a))) })
	find := func(f func(a uint64) (int, bool)) execFunc {
		return sop64to32(func(a uint64, c bool) (uint32, bool) {
			if n, ok := f(a); ok {
				return uint32(n), c
			}
			return ^uint32(0), c
		})
	}
	t[S_FF0_I32_B64] = find(func(a uint64) (int, bool) { return bits.TrailingZeros64(^a), ^a != 0 })
	t[S_FF1_I32_B64] = find(func(a uint64) (int, bool) { return bits.TrailingZeros64(a), a != 0 })
	t[S_FLBIT_I32_B64] = find(func(a uint64) (int, bool) { return bits.LeadingZeros64(a), a != 0 })
	t[S_FLBIT_I32_I64] = find(func(a uint64) (int, bool) {
		if int64(a) < 0 {
			a = ^a
		}
		return bits.LeadingZeros64(a), a != 0
	})
	t[S_BFM_B64] = func(_ *Kernel, in *Inst, s *State) error {
		s.setS64(in.Dst.Reg, (uint64(1)<<(s.s32(in, 0)&63)-1)<<(s.s32(in, 1)&63))
		return nil
	}
	t[S_BITREPLICATE_B64_B32] = func(_ *Kernel, in *Inst, s *State) error {
		a := s.s32(in, 0)
		var v uint64
		for i := range 32 {
			v |= uint64(a>>i&1) * 3 << (2 * i)
		}
		s.setS64(in.Dst.Reg, v)
		return nil
	}
}
