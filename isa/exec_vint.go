package isa

import (
	"math/bits"
)

// Integer, bit and move operations of the vector ALU.

func registerVector() {
	registerVectorBits()
	registerVectorInt()
	registerVectorInt16()
	registerVector64()
	registerVectorLanes()
	registerVectorCarry()
	registerVectorCompare()
	registerVectorF32()
	registerVectorConvert()
	registerHot()
}

// b32 registers a dword operation without float modifiers.
func b32(op Op, f func(a, b, c uint32) uint32) { execTable[op] = vop{f: f}.exec() }

// sat32 registers one that saturates under clamp.
func sat32(op Op, f, sat func(a, b, c uint32) uint32) { execTable[op] = vop{f: f, sat: sat}.exec() }

func registerVectorBits() {
	b32(V_ACCVGPR_WRITE, func(a, _, _ uint32) uint32 { return a })
	b32(V_ACCVGPR_MOV_B32, func(a, _, _ uint32) uint32 { return a })
	b32(V_NOT_B32, func(a, _, _ uint32) uint32 { return ^a })
	b32(V_XNOR_B32, func(a, b, _ uint32) uint32 { return ^(a ^ b) })
	b32(V_BFREV_B32, func(a, _, _ uint32) uint32 { return bits.Reverse32(a) })
	b32(V_ASHRREV_I32, func(a, b, _ uint32) uint32 { return uint32(int32(b) >> (a & 31)) })
	b32(V_BFE_U32, func(a, b, c uint32) uint32 { return uint32(bfeU(uint64(a), b&31, c&31)) })
	b32(V_BFE_I32, func(a, b, c uint32) uint32 { return uint32(bfeI(uint64(a), b&31, c&31, 32)) })
	b32(V_BFI_B32, func(a, b, c uint32) uint32 { return a&b | ^a&c })
	b32(V_BFM_B32, func(a, b, _ uint32) uint32 { return (1<<(a&31) - 1) << (b & 31) })
	b32(V_ALIGNBIT_B32, func(a, b, c uint32) uint32 { return uint32((uint64(a)<<32 | uint64(b)) >> (c & 31)) })
	b32(V_ALIGNBYTE_B32, func(a, b, c uint32) uint32 { return uint32((uint64(a)<<32 | uint64(b)) >> (8 * (c & 3))) })
	b32(V_PERM_B32, permBytes)
	b32(V_ADD_LSHL_U32, func(a, b, c uint32) uint32 { return (a + b) << (c & 31) })
	b32(V_AND_OR_B32, func(a, b, c uint32) uint32 { return a&b | c })
	b32(V_OR3_B32, func(a, b, c uint32) uint32 { return a | b | c })
	b32(V_ADD3_U32, func(a, b, c uint32) uint32 { return a + b + c })
	b32(V_XAD_U32, func(a, b, c uint32) uint32 { return a ^ b + c })
	b32(V_FFBH_U32, func(a, _, _ uint32) uint32 { return ffbh32(a) })
	b32(V_FFBL_B32, func(a, _, _ uint32) uint32 { return ffb32(a) })
	b32(V_FFBH_I32, func(a, _, _ uint32) uint32 { return ffbhI32(a) })
	b32(V_BCNT_U32_B32, func(a, b, _ uint32) uint32 { return uint32(bits.OnesCount32(a)) + b })
	b32(V_PRNG_B32, func(a, _, _ uint32) uint32 { return prng(a) })
	b32(V_SAT_PK_U8_I16, func(a, _, _ uint32) uint32 {
		return satU(int64(int16(a)), 8) | satU(int64(int16(a>>16)), 8)<<8
	})
	execTable[V_BITOP3_B32] = func(_ *Kernel, in *Inst, s *State) error {
		t := in.Bitop3
		o := vop{f: func(a, b, c uint32) uint32 { return bitop3(t, a, b, c) }}
		o.run(in, s)
		return nil
	}
	execTable[V_BITOP3_B16] = func(_ *Kernel, in *Inst, s *State) error {
		t := in.Bitop3
		o := vop{f: func(a, b, c uint32) uint32 { return bitop3(t, a, b, c) }, src: [3]kind{kB16, kB16, kB16}, dst: kB16}
		o.run(in, s)
		return nil
	}
	pk8 := func(sat func(v int64, w uint) uint32) execFunc {
		return vop{dst: kB16, f: func(a, b, c uint32) uint32 {
			return sat(int64(int32(a)>>(c&31)), 8) | sat(int64(int32(b)>>(c&31)), 8)<<8
		}}.exec()
	}
	execTable[V_ASHR_PK_I8_I32] = pk8(func(v int64, w uint) uint32 { return satI(v, w) & 0xff })
	execTable[V_ASHR_PK_U8_I32] = pk8(satU)
}

// permBytes is v_perm_b32: selector bytes of c over {a, b}.
func permBytes(a, b, c uint32) uint32 {
	src := uint64(a)<<32 | uint64(b)
	var d uint32
	for i := 0; i < 32; i += 8 {
		sel := c >> i & 0xff
		var v uint32
		switch {
		case sel < 8:
			v = uint32(src>>(8*sel)) & 0xff
		case sel < 12:
			v = uint32(int64(src<<(48-16*(sel-8)))>>63) & 0xff
		case sel > 12:
			v = 0xff
		}
		d |= v << i
	}
	return d
}

// bitop3 looks up truth table t with the bits of a, b and c; a is the high
// index bit.
func bitop3(t uint8, a, b, c uint32) uint32 {
	var d uint32
	for i := range 8 {
		if t>>i&1 == 0 {
			continue
		}
		m := ^uint32(0)
		for j, x := range [3]uint32{c, b, a} {
			if i>>j&1 != 0 {
				m &= x
			} else {
				m &^= x
			}
		}
		d |= m
	}
	return d
}

// prng is one step of v_prng_b32's feedback register.
func prng(x uint32) uint32 {
	if int32(x) < 0 {
		return x<<1 ^ 197
	}
	return x << 1
}

// satI and satU saturate to a signed or unsigned type of w bits.
func satI(v int64, w uint) uint32 {
	hi := int64(1)<<(w-1) - 1
	return uint32(max(min(v, hi), -hi-1))
}

func satU(v int64, w uint) uint32 { return uint32(max(min(v, int64(1)<<w-1), 0)) }

func u24(a uint32) uint64 { return uint64(a & 0xffffff) }
func i24(a uint32) int64  { return int64(int32(a<<8) >> 8) }
func i32(a uint32) int64  { return int64(int32(a)) }

func registerVectorInt() {
	add := func(a, b, _ uint32) uint32 { return a + b }
	sub := func(a, b, _ uint32) uint32 { return a - b }
	rev := func(a, b, _ uint32) uint32 { return b - a }
	sat32(V_SUB_U32, sub, func(a, b, _ uint32) uint32 { return satU(int64(a)-int64(b), 32) })
	sat32(V_SUBREV_U32, rev, func(a, b, _ uint32) uint32 { return satU(int64(b)-int64(a), 32) })
	sat32(V_ADD_I32, add, func(a, b, _ uint32) uint32 { return satI(i32(a)+i32(b), 32) })
	sat32(V_SUB_I32, sub, func(a, b, _ uint32) uint32 { return satI(i32(a)-i32(b), 32) })
	b32(V_MUL_LO_I32, func(a, b, _ uint32) uint32 { return a * b })
	b32(V_MUL_HI_U32, func(a, b, _ uint32) uint32 { return mulHiU32(a, b) })
	b32(V_MUL_HI_I32, func(a, b, _ uint32) uint32 { return mulHiI32(a, b) })
	b32(V_MUL_U32_U24, func(a, b, _ uint32) uint32 { return uint32(u24(a) * u24(b)) })
	b32(V_MUL_HI_U32_U24, func(a, b, _ uint32) uint32 { return uint32(u24(a) * u24(b) >> 32) })
	b32(V_MUL_I32_I24, func(a, b, _ uint32) uint32 { return uint32(i24(a) * i24(b)) })
	b32(V_MUL_HI_I32_I24, func(a, b, _ uint32) uint32 { return uint32(i24(a) * i24(b) >> 32) })
	sat32(V_MAD_U32_U24, func(a, b, c uint32) uint32 { return uint32(u24(a)*u24(b)) + c },
		func(a, b, c uint32) uint32 { return satU(int64(u24(a)*u24(b)+uint64(c)), 32) })
	sat32(V_MAD_I32_I24, func(a, b, c uint32) uint32 { return uint32(i24(a)*i24(b)) + c },
		func(a, b, c uint32) uint32 { return satI(i24(a)*i24(b)+i32(c), 32) })
	execTable[V_MAD_U32_U16] = vop{src: [3]kind{kB16, kB16, kB32},
		f:   func(a, b, c uint32) uint32 { return a*b + c },
		sat: func(a, b, c uint32) uint32 { return satU(int64(a)*int64(b)+int64(c), 32) }}.exec()
	execTable[V_MAD_I32_I16] = vop{src: [3]kind{kB16, kB16, kB32},
		f:   func(a, b, c uint32) uint32 { return uint32(i16(a)*i16(b)) + c },
		sat: func(a, b, c uint32) uint32 { return satI(i16(a)*i16(b)+i32(c), 32) }}.exec()
	b32(V_MIN_I32, func(a, b, _ uint32) uint32 { return minI(a, b) })
	b32(V_MAX_I32, func(a, b, _ uint32) uint32 { return maxI(a, b) })
	b32(V_MIN_U32, func(a, b, _ uint32) uint32 { return min(a, b) })
	b32(V_MAX_U32, func(a, b, _ uint32) uint32 { return max(a, b) })
	b32(V_MIN3_I32, func(a, b, c uint32) uint32 { return minI(minI(a, b), c) })
	b32(V_MAX3_I32, func(a, b, c uint32) uint32 { return maxI(maxI(a, b), c) })
	b32(V_MIN3_U32, func(a, b, c uint32) uint32 { return min(a, b, c) })
	b32(V_MAX3_U32, func(a, b, c uint32) uint32 { return max(a, b, c) })
	b32(V_MED3_I32, func(a, b, c uint32) uint32 { return maxI(minI(a, b), minI(maxI(a, b), c)) })
	b32(V_MED3_U32, func(a, b, c uint32) uint32 { return max(min(a, b), min(max(a, b), c)) })
	b32(V_LERP_U8, func(a, b, c uint32) uint32 {
		var d uint32
		for i := 0; i < 32; i += 8 {
			d |= (a>>i&0xff + b>>i&0xff + c>>i&1) >> 1 << i
		}
		return d
	})
	b32(V_SAD_U8, func(a, b, c uint32) uint32 { return c + sadU8(a, b, false) })
	b32(V_SAD_HI_U8, func(a, b, c uint32) uint32 { return c + sadU8(a, b, false)<<16 })
	b32(V_MSAD_U8, func(a, b, c uint32) uint32 { return c + sadU8(a, b, true) })
	b32(V_SAD_U16, func(a, b, c uint32) uint32 { return c + absDiff(a&0xffff, b&0xffff) + absDiff(a>>16, b>>16) })
	b32(V_SAD_U32, func(a, b, c uint32) uint32 { return c + absDiff(a, b) })
}

func minI(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }
func maxI(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }
func i16(a uint32) int64      { return int64(int16(a)) }

func absDiff(a, b uint32) uint32 { return max(a, b) - min(a, b) }

// sadU8 sums absolute byte differences; masked skips bytes whose reference b is zero.
func sadU8(a, b uint32, masked bool) uint32 {
	var d uint32
	for i := 0; i < 32; i += 8 {
		if masked && b>>i&0xff == 0 {
			continue
		}
		d += absDiff(a>>i&0xff, b>>i&0xff)
	}
	return d
}

// b16 registers an operation on halves that saturates under clamp if sat is set.
func b16(op Op, f, sat func(a, b, c uint32) uint32) {
	execTable[op] = vop{f: f, sat: sat, src: [3]kind{kB16, kB16, kB16}, dst: kB16}.exec()
}

// Signed and unsigned halves share one form; the packed opcodes reuse it.
var int16Ops = []struct {
	op, pk Op
	f, sat func(a, b, c uint32) uint32
}{
	{V_ADD_U16, V_PK_ADD_U16, func(a, b, _ uint32) uint32 { return a + b }, func(a, b, _ uint32) uint32 { return satU(int64(a)+int64(b), 16) }},
	{V_SUB_U16, V_PK_SUB_U16, func(a, b, _ uint32) uint32 { return a - b }, func(a, b, _ uint32) uint32 { return satU(int64(a)-int64(b), 16) }},
	{V_SUBREV_U16, OpInvalid, func(a, b, _ uint32) uint32 { return b - a }, func(a, b, _ uint32) uint32 { return satU(int64(b)-int64(a), 16) }},
	{V_ADD_I16, V_PK_ADD_I16, func(a, b, _ uint32) uint32 { return a + b }, func(a, b, _ uint32) uint32 { return satI(i16(a)+i16(b), 16) }},
	{V_SUB_I16, V_PK_SUB_I16, func(a, b, _ uint32) uint32 { return a - b }, func(a, b, _ uint32) uint32 { return satI(i16(a)-i16(b), 16) }},
	{V_MUL_LO_U16, V_PK_MUL_LO_U16, func(a, b, _ uint32) uint32 { return a * b }, nil},
	{V_MAD_U16, V_PK_MAD_U16, func(a, b, c uint32) uint32 { return a*b + c }, func(a, b, c uint32) uint32 { return satU(int64(a)*int64(b)+int64(c), 16) }},
	{V_MAD_I16, V_PK_MAD_I16, func(a, b, c uint32) uint32 { return a*b + c }, func(a, b, c uint32) uint32 { return satI(i16(a)*i16(b)+i16(c), 16) }},
	{V_MAD_LEGACY_U16, OpInvalid, func(a, b, c uint32) uint32 { return a*b + c }, nil},
	{V_MAD_LEGACY_I16, OpInvalid, func(a, b, c uint32) uint32 { return a*b + c }, nil},
	{V_LSHLREV_B16, V_PK_LSHLREV_B16, func(a, b, _ uint32) uint32 { return b << (a & 15) }, nil},
	{V_LSHRREV_B16, V_PK_LSHRREV_B16, func(a, b, _ uint32) uint32 { return b >> (a & 15) }, nil},
	{V_ASHRREV_I16, V_PK_ASHRREV_I16, func(a, b, _ uint32) uint32 { return uint32(i16(b) >> (a & 15)) }, nil},
	{V_MIN_I16, V_PK_MIN_I16, func(a, b, _ uint32) uint32 { return uint32(min(i16(a), i16(b))) }, nil},
	{V_MAX_I16, V_PK_MAX_I16, func(a, b, _ uint32) uint32 { return uint32(max(i16(a), i16(b))) }, nil},
	{V_MIN_U16, V_PK_MIN_U16, func(a, b, _ uint32) uint32 { return min(a, b) }, nil},
	{V_MAX_U16, V_PK_MAX_U16, func(a, b, _ uint32) uint32 { return max(a, b) }, nil},
	{V_MIN3_I16, OpInvalid, func(a, b, c uint32) uint32 { return uint32(min(i16(a), i16(b), i16(c))) }, nil},
	{V_MAX3_I16, OpInvalid, func(a, b, c uint32) uint32 { return uint32(max(i16(a), i16(b), i16(c))) }, nil},
	{V_MIN3_U16, OpInvalid, func(a, b, c uint32) uint32 { return min(a, b, c) }, nil},
	{V_MAX3_U16, OpInvalid, func(a, b, c uint32) uint32 { return max(a, b, c) }, nil},
	{V_MED3_I16, OpInvalid, func(a, b, c uint32) uint32 {
		return uint32(max(min(i16(a), i16(b)), min(max(i16(a), i16(b)), i16(c))))
	}, nil},
	{V_MED3_U16, OpInvalid, func(a, b, c uint32) uint32 { return max(min(a, b), min(max(a, b), c)) }, nil},
}

func registerVectorInt16() {
	for _, o := range int16Ops {
		b16(o.op, o.f, o.sat)
		if o.pk != OpInvalid {
			execTable[o.pk] = packed16(o.f, o.sat, nil, kB16, false)
		}
	}
}

func registerVector64() {
	t := &execTable
	t[V_MOV_B64] = vop64{f: func(a, _, _ uint64) uint64 { return a }, src: [3]kind{kB64}, dst: kB64}.exec()
	sh := [3]kind{kB32, kB64}
	t[V_LSHLREV_B64] = vop64{f: func(a, b, _ uint64) uint64 { return b << (a & 63) }, src: sh, dst: kB64}.exec()
	t[V_LSHRREV_B64] = vop64{f: func(a, b, _ uint64) uint64 { return b >> (a & 63) }, src: sh, dst: kB64}.exec()
	t[V_ASHRREV_I64] = vop64{f: func(a, b, _ uint64) uint64 { return uint64(int64(b) >> (a & 63)) }, src: sh, dst: kB64}.exec()
	t[V_LSHL_ADD_U64] = vop64{f: func(a, b, c uint64) uint64 { return a<<(b&7) + c }, src: [3]kind{kB64, kB32, kB64}, dst: kB64}.exec()
}
