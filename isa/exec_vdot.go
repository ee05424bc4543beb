package isa

// Dot products of packed sources, accumulated into S2 or, in the "c" forms,
// into the destination.

// dotFields sums products of n fields a source.
func dotFields(a, b uint32, n int, signed bool) int64 {
	w := 32 / n
	var d int64
	for i := range n {
		x, y := a<<(32-w*(i+1)), b<<(32-w*(i+1))
		if signed {
			d += int64(int32(x)>>(32-w)) * int64(int32(y)>>(32-w))
		} else {
			d += int64(x>>(32-w)) * int64(y>>(32-w))
		}
	}
	return d
}

func dotInt(n int, signed, acc bool) execFunc {
	wide := func(c uint32) int64 {
		if signed {
			return i32(c)
		}
		return int64(c)
	}
	sat := satU
	if signed {
		sat = satI
	}
	return vop{acc: acc,
		f:   func(a, b, c uint32) uint32 { return uint32(dotFields(a, b, n, signed)) + c },
		sat: func(a, b, c uint32) uint32 { return sat(dotFields(a, b, n, signed)+wide(c), 32) },
	}.exec()
}

// dotFloat adds the two products to the accumulator one after the other, each
// sum rounded to f32. Denormal halves are kept in every mode.
func dotFloat(half func(h uint16) float32, acc bool) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		var buf [3]VReg
		a, b := s.rawPacked(in, 0, kF16, &buf[0]), s.rawPacked(in, 1, kF16, &buf[1])
		d := s.vreg(in.Dst.Reg)
		c := d
		if !acc {
			c = s.rawPacked(in, 2, kF32, &buf[2])
		}
		for e := s.vectorLanes(in); e != 0; {
			l := nextLane(&e)
			x, y := a[l], b[l]
			x ^= negMask(in.Src[0].Mod)
			y ^= negMask(in.Src[1].Mod)
			v := signMod(c[l], 1<<31, !acc && in.Src[2].Mod&Neg != 0, false)
			v = fmaF32(fbits(half(uint16(x))), fbits(half(uint16(y))), v)
			v = fmaF32(fbits(half(uint16(x>>16))), fbits(half(uint16(y>>16))), v)
			s.write32(in, kF32, &d[l], v)
		}
		return nil
	}
}

func negMask(m OpMod) uint32 {
	var v uint32
	if m&Neg != 0 {
		v |= 1 << 15
	}
	if m&NegHi != 0 {
		v |= 1 << 31
	}
	return v
}

func registerVectorDot() {
	t := &execTable
	t[V_DOT2_I32_I16], t[V_DOT2_U32_U16] = dotInt(2, true, false), dotInt(2, false, false)
	t[V_DOT4_I32_I8], t[V_DOT4_U32_U8] = dotInt(4, true, false), dotInt(4, false, false)
	t[V_DOT8_I32_I4], t[V_DOT8_U32_U4] = dotInt(8, true, false), dotInt(8, false, false)
	t[V_DOT2C_I32_I16], t[V_DOT4C_I32_I8], t[V_DOT8C_I32_I4] = dotInt(2, true, true), dotInt(4, true, true), dotInt(8, true, true)
	t[V_DOT2_F32_F16], t[V_DOT2C_F32_F16] = dotFloat(f16ToF32, false), dotFloat(f16ToF32, true)
	t[V_DOT2_F32_BF16], t[V_DOT2C_F32_BF16] = dotFloat(bf16ToF32, false), dotFloat(bf16ToF32, true)
}
