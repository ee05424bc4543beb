package isa

import "math"

// Conversions between integers, f16, bf16, f32 and f64.

// toInt truncates toward zero and saturates to [lo, hi]; NaN gives 0.
func toInt(v, lo, hi float64) int64 {
	switch {
	case v != v:
		return 0
	case v <= lo:
		return int64(lo)
	case v >= hi:
		return int64(hi)
	}
	return int64(v)
}

func toI32(v float64) uint32 { return uint32(toInt(v, math.MinInt32, math.MaxInt32)) }
func toU32(v float64) uint32 { return uint32(toInt(v, 0, math.MaxUint32)) }

func registerVectorConvert() {
	registerConvert32()
	registerConvert64()
	registerConvertPacked()
	registerVectorPacked()
	registerVectorDivide()
	registerVectorDot()
	registerConvertSmall()
}

// cvt registers a one-source conversion.
func cvt(op Op, src, dst kind, f func(a uint32) uint32) {
	execTable[op] = vop{src: [3]kind{src}, dst: dst, f: func(a, _, _ uint32) uint32 { return f(a) }}.exec()
}

// cvtRounded registers one that rounds by MODE to a 16- or 32-bit format.
func cvtRounded(op Op, src, dst kind, f fop) {
	formats := formats32
	if dst == kF16 {
		formats = formats16
	}
	r := rounded32(f, formats)
	execTable[op] = vop{src: [3]kind{src}, dst: dst, f: r[0], rounded: r}.exec()
}

// fCvtF16F32 is an f32 in format f, which is f16.
func fCvtF16F32(f *format, a, _, _ uint64) uint64 {
	if isNaN32(uint32(a)) {
		return uint64(f32ToF16(ffrom(uint32(a))))
	}
	return f.round(float64(ffrom(uint32(a))))
}

func registerConvert32() {
	fromSigned := func(f *format, a, _, _ uint64) uint64 { return f.round(float64(int32(a))) }
	fromUnsigned := func(f *format, a, _, _ uint64) uint64 { return f.round(float64(uint32(a))) }
	value := func(a uint32) float64 { return float64(ffrom(a)) }
	half := func(a uint32) float64 { return float64(f16ToF32(uint16(a))) }
	cvtRounded(V_CVT_F32_I32, kB32, kF32, fromSigned)
	cvtRounded(V_CVT_F32_U32, kB32, kF32, fromUnsigned)
	for i, op := range []Op{V_CVT_F32_UBYTE0, V_CVT_F32_UBYTE1, V_CVT_F32_UBYTE2, V_CVT_F32_UBYTE3} {
		cvt(op, kB32, kF32, func(a uint32) uint32 { return fbits(float32(a >> (8 * i) & 0xff)) })
	}
	cvt(V_CVT_I32_F32, kF32, kB32, func(a uint32) uint32 { return toI32(value(a)) })
	cvt(V_CVT_U32_F32, kF32, kB32, func(a uint32) uint32 { return toU32(value(a)) })
	cvt(V_CVT_RPI_I32_F32, kF32, kB32, func(a uint32) uint32 { return toI32(math.Floor(value(a) + 0.5)) })
	cvt(V_CVT_FLR_I32_F32, kF32, kB32, func(a uint32) uint32 { return toI32(math.Floor(value(a))) })
	cvtRounded(V_CVT_F16_F32, kF32, kF16, fCvtF16F32)
	cvt(V_CVT_F32_F16, kF16, kF32, func(a uint32) uint32 {
		if isNaN16(a) {
			a |= 0x200
		}
		return fbits(f16ToF32(uint16(a)))
	})
	cvt(V_CVT_F32_BF16, kB16, kF32, func(a uint32) uint32 { return a << 16 })
	cvtRounded(V_CVT_F16_U16, kB16, kF16, fromUnsigned)
	cvtRounded(V_CVT_F16_I16, kB16, kF16, func(f *format, a, _, _ uint64) uint64 { return f.round(float64(int16(a))) })
	cvt(V_CVT_U16_F16, kF16, kB16, func(a uint32) uint32 { return uint32(toInt(half(a), 0, 65535)) })
	cvt(V_CVT_I16_F16, kF16, kB16, func(a uint32) uint32 { return uint32(toInt(half(a), -32768, 32767)) })
	cvt(V_CVT_NORM_I16_F16, kF16, kB16, func(a uint32) uint32 { return normI16(half(a)) })
	cvt(V_CVT_NORM_U16_F16, kF16, kB16, func(a uint32) uint32 { return normU16(half(a)) })
	cvt(V_CVT_OFF_F32_I4, kB32, kF32, func(a uint32) uint32 { return fbits(float32(int32(a<<28)>>28) / 16) })
}

func normI16(v float64) uint32 {
	return uint32(toInt(math.RoundToEven(v*32767), -32767, 32767)) & 0xffff
}
func normU16(v float64) uint32 { return uint32(toInt(math.RoundToEven(v*65535), 0, 65535)) }

func registerConvert64() {
	t := &execTable
	from32 := func(op Op, k kind, f func(a uint32) float64) {
		t[op] = vop64{src: [3]kind{k}, dst: kF64, f: func(a, _, _ uint64) uint64 { return dbits(f(uint32(a))) }}.exec()
	}
	from32(V_CVT_F64_I32, kB32, func(a uint32) float64 { return float64(int32(a)) })
	from32(V_CVT_F64_U32, kB32, func(a uint32) float64 { return float64(a) })
	t[V_CVT_F64_F32] = vop64{src: [3]kind{kF32}, dst: kF64, f: func(a, _, _ uint64) uint64 {
		if b := uint32(a); isNaN32(b) {
			return uint64(b>>31)<<63 | 0x7ff8<<48 | uint64(b&0x3fffff)<<29
		}
		return dbits(float64(ffrom(uint32(a))))
	}}.exec()
	narrow := rounded64(func(f *format, a, _, _ uint64) uint64 {
		if isNaN64(a) {
			return a>>63<<31 | 0x7fc00000 | a>>29&0x3fffff
		}
		return f.round(dfrom(a))
	}, formats32)
	t[V_CVT_F32_F64] = vop64{src: [3]kind{kF64}, dst: kF32, f: narrow[0], rounded: narrow}.exec()
	t[V_CVT_I32_F64] = vop64{src: [3]kind{kF64}, dst: kB32, f: func(a, _, _ uint64) uint64 { return uint64(toI32(dfrom(a))) }}.exec()
	t[V_CVT_U32_F64] = vop64{src: [3]kind{kF64}, dst: kB32, f: func(a, _, _ uint64) uint64 { return uint64(toU32(dfrom(a))) }}.exec()
}

// rtzF16 rounds to f16 toward zero: a finite value never becomes infinity.
func rtzF16(a uint32) uint32 {
	if a&0x7f800000 == 0x7f800000 {
		return uint32(f32ToF16(ffrom(a)))
	}
	h := f32ToF16(ffrom(a))
	if v := f16ToF32(h); math.Abs(float64(v)) > math.Abs(float64(ffrom(a))) {
		h--
	}
	return uint32(h)
}

func registerConvertPacked() {
	f2 := [3]kind{kF32, kF32}
	execTable[V_CVT_PKRTZ_F16_F32] = vop{src: f2, f: func(a, b, _ uint32) uint32 { return rtzF16(a) | rtzF16(b)<<16 }}.exec()
	execTable[V_CVT_PK_F16_F32] = vop{src: f2, f: func(a, b, _ uint32) uint32 {
		return uint32(f32ToF16(ffrom(a))) | uint32(f32ToF16(ffrom(b)))<<16
	}}.exec()
	execTable[V_CVT_PKNORM_I16_F32] = vop{src: f2, f: func(a, b, _ uint32) uint32 {
		return normI16(float64(ffrom(a))) | normI16(float64(ffrom(b)))<<16
	}}.exec()
	execTable[V_CVT_PKNORM_U16_F32] = vop{src: f2, f: func(a, b, _ uint32) uint32 {
		return normU16(float64(ffrom(a))) | normU16(float64(ffrom(b)))<<16
	}}.exec()
	h2 := [3]kind{kF16, kF16}
	half := func(a uint32) float64 { return float64(f16ToF32(uint16(a))) }
	execTable[V_CVT_PKNORM_I16_F16] = vop{src: h2, f: func(a, b, _ uint32) uint32 { return normI16(half(a)) | normI16(half(b))<<16 }}.exec()
	execTable[V_CVT_PKNORM_U16_F16] = vop{src: h2, f: func(a, b, _ uint32) uint32 { return normU16(half(a)) | normU16(half(b))<<16 }}.exec()
	execTable[V_PACK_B32_F16] = vop{src: h2, f: func(a, b, _ uint32) uint32 { return a | b<<16 }}.exec()
	b32(V_CVT_PK_I16_I32, func(a, b, _ uint32) uint32 { return satI(i32(a), 16)&0xffff | satI(i32(b), 16)<<16 })
	b32(V_CVT_PK_U16_U32, func(a, b, _ uint32) uint32 { return satU(int64(a), 16) | satU(int64(b), 16)<<16 })
	pk := func(a, b, c uint32) uint32 {
		sh := 8 * (b & 3)
		v := uint32(toInt(math.RoundToEven(float64(ffrom(a))), 0, 255))
		return c&^(0xff<<sh) | v<<sh
	}
	execTable[V_CVT_PK_U8_F32] = vop{src: [3]kind{kF32, kB32, kB32}, f: pk}.exec()
	execTable[V_CVT_PKACCUM_U8_F32] = vop{src: [3]kind{kF32, kB32}, f: pk, acc: true}.exec()
}
