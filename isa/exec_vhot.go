package isa

// The vector operations that kernels run most, with a loop over all lanes for
// the usual case of a full EXEC mask. The results are those of the same
// operation by lane.

func registerHot() {
	registerHotF32()
	registerHotInt()
}

// hot adds an all-lanes form to a dword operation.
func hot(op Op, f func(a, b, c uint32) uint32, all func(d, a, b, c *VReg)) {
	execTable[op] = vop{f: f, all: all}.exec()
}

func registerHotF32() {
	f32 := [3]kind{kF32, kF32, kF32}
	execTable[V_ADD_F32] = vop{src: f32, dst: kF32, f: func(a, b, _ uint32) uint32 { return addF32(a, b) }, rounded: rounded32(fAdd, formats32),
		all: func(d, a, b, _ *VReg) {
			for l := range d {
				d[l] = addF32(a[l], b[l])
			}
		}}.exec()
	execTable[V_MUL_F32] = vop{src: f32, dst: kF32, f: func(a, b, _ uint32) uint32 { return mulF32(a, b) }, rounded: rounded32(fMul, formats32),
		all: func(d, a, b, _ *VReg) {
			for l := range d {
				d[l] = mulF32(a[l], b[l])
			}
		}}.exec()
	fma := vop{src: f32, dst: kF32, f: fmaF32, rounded: rounded32(fFMA, formats32), all: func(d, a, b, c *VReg) {
		for l := range d {
			d[l] = fmaF32(a[l], b[l], c[l])
		}
	}}
	execTable[V_FMA_F32] = fma.exec()
	fma.acc = true
	execTable[V_FMAC_F32] = fma.exec()
}

func registerHotInt() {
	hot(V_MOV_B32, func(a, _, _ uint32) uint32 { return a }, func(d, a, _, _ *VReg) { *d = *a })
	hot(V_ACCVGPR_READ_B32, func(a, _, _ uint32) uint32 { return a }, func(d, a, _, _ *VReg) { *d = *a })
	hot(V_ACCVGPR_WRITE_B32, func(a, _, _ uint32) uint32 { return a }, func(d, a, _, _ *VReg) { *d = *a })
	hot(V_AND_B32, func(a, b, _ uint32) uint32 { return a & b }, func(d, a, b, _ *VReg) {
		for l := range d {
			d[l] = a[l] & b[l]
		}
	})
	hot(V_OR_B32, func(a, b, _ uint32) uint32 { return a | b }, func(d, a, b, _ *VReg) {
		for l := range d {
			d[l] = a[l] | b[l]
		}
	})
	hot(V_XOR_B32, func(a, b, _ uint32) uint32 { return a ^ b }, func(d, a, b, _ *VReg) {
		for l := range d {
			d[l] = a[l] ^ b[l]
		}
	})
	hot(V_LSHLREV_B32, func(a, b, _ uint32) uint32 { return b << (a & 31) }, func(d, a, b, _ *VReg) {
		for l := range d {
			d[l] = b[l] << (a[l] & 31)
		}
	})
	hot(V_LSHRREV_B32, func(a, b, _ uint32) uint32 { return b >> (a & 31) }, func(d, a, b, _ *VReg) {
		for l := range d {
			d[l] = b[l] >> (a[l] & 31)
		}
	})
	hot(V_LSHL_ADD_U32, func(a, b, c uint32) uint32 { return a<<(b&31) + c }, func(d, a, b, c *VReg) {
		for l := range d {
			d[l] = a[l]<<(b[l]&31) + c[l]
		}
	})
	hot(V_LSHL_OR_B32, func(a, b, c uint32) uint32 { return a<<(b&31) | c }, func(d, a, b, c *VReg) {
		for l := range d {
			d[l] = a[l]<<(b[l]&31) | c[l]
		}
	})
	hot(V_MUL_LO_U32, func(a, b, _ uint32) uint32 { return a * b }, func(d, a, b, _ *VReg) {
		for l := range d {
			d[l] = a[l] * b[l]
		}
	})
	execTable[V_ADD_U32] = vop{f: func(a, b, _ uint32) uint32 { return a + b },
		sat: func(a, b, _ uint32) uint32 { return satU(int64(a)+int64(b), 32) },
		all: func(d, a, b, _ *VReg) {
			for l := range d {
				d[l] = a[l] + b[l]
			}
		}}.exec()
	execTable[V_CVT_PK_BF16_F32] = vop{src: [3]kind{kF32, kF32}, f: packBF16, all: func(d, a, b, _ *VReg) {
		for l := range d {
			d[l] = packBF16(a[l], b[l], 0)
		}
	}}.exec()
}

func packBF16(a, b, _ uint32) uint32 { return f32ToBF16(a) | f32ToBF16(b)<<16 }

func addF32(a, b uint32) uint32 {
	if v := ffrom(a) + ffrom(b); v == v {
		return fbits(v)
	}
	return nan32(a, b, 0)
}
