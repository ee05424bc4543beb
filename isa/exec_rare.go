package isa

import "math"

// Operations that are rare in compute code: sums of absolute differences, cube
// maps, and the bits of 2/pi that the reduction of large sine and cosine
// arguments takes.

func registerRare() {
	registerSAD()
	registerCube()
	execTable[V_TRIG_PREOP_F64] = vop64{src: [3]kind{kF64, kB32}, dst: kF64,
		f: func(a, b, _ uint64) uint64 { return trigPreop(a, uint32(b)) }}.exec()
}

// registerSAD: each of four sums takes the bytes of the 64-bit source from one
// byte further on. The "m" forms leave out bytes whose reference is zero.
func registerSAD() {
	packed := func(masked bool) func(a, b, c uint64) uint64 {
		return func(a, b, c uint64) uint64 {
			var d uint64
			for i := 0; i < 4; i++ {
				sum := c>>(16*i)&0xffff + uint64(sadU8(uint32(a>>(8*i)), uint32(b), masked))
				d |= sum & 0xffff << (16 * i)
			}
			return d
		}
	}
	src := [3]kind{kB64, kB32, kB64}
	execTable[V_QSAD_PK_U16_U8] = vop64{src: src, dst: kB64, f: packed(false)}.exec()
	execTable[V_MQSAD_PK_U16_U8] = vop64{src: src, dst: kB64, f: packed(true)}.exec()
	execTable[V_MQSAD_U32_U8] = func(_ *Kernel, in *Inst, s *State) error {
		var a, b [Lanes]uint64
		s.fetch64(in, 0, kB64, &a)
		s.fetch64(in, 1, kB32, &b)
		d := s.vregs(in.Dst.Reg, 4)
		for m := s.Exec(); m != 0; {
			l := nextLane(&m)
			var sum [4]uint32
			for i := range sum {
				sum[i] = sadU8(uint32(a[l]>>(8*i)), uint32(b[l]), true)
				if c := in.Src[2].Reg; c.IsVector() {
					sum[i] += s.vregs(c, 4)[i][l]
				} else if c.IsSGPR() {
					sum[i] += s.scalar32(in, c+Reg(i))
				} else {
					sum[i] += s.scalar32(in, c)
				}
			}
			for i := range sum {
				d[i][l] = sum[i]
			}
		}
		return nil
	}
}

// registerCube: the major axis is the coordinate of the largest magnitude, z
// before y before x (CDNA3 ISA, v_cube*).
func registerCube() {
	cube := func(op Op, f func(x, y, z float32) float32) {
		execTable[op] = vop{src: [3]kind{kF32, kF32, kF32}, dst: kF32,
			f: func(a, b, c uint32) uint32 { return fbits(f(ffrom(a), ffrom(b), ffrom(c))) }}.exec()
	}
	abs := func(v float32) float32 { return float32(math.Abs(float64(v))) }
	zMajor := func(x, y, z float32) bool { return abs(z) >= abs(x) && abs(z) >= abs(y) }
	yMajor := func(x, y float32) bool { return abs(y) >= abs(x) }
	pick := func(neg bool, a, b float32) float32 {
		if neg {
			return a
		}
		return b
	}
	cube(V_CUBEID_F32, func(x, y, z float32) float32 {
		switch {
		case zMajor(x, y, z):
			return pick(z < 0, 5, 4)
		case yMajor(x, y):
			return pick(y < 0, 3, 2)
		}
		return pick(x < 0, 1, 0)
	})
	cube(V_CUBESC_F32, func(x, y, z float32) float32 {
		switch {
		case zMajor(x, y, z):
			return pick(z < 0, -x, x)
		case yMajor(x, y):
			return x
		}
		return pick(x < 0, z, -z)
	})
	cube(V_CUBETC_F32, func(x, y, z float32) float32 {
		switch {
		case zMajor(x, y, z):
			return -y
		case yMajor(x, y):
			return pick(y < 0, -z, z)
		}
		return -y
	})
	cube(V_CUBEMA_F32, func(x, y, z float32) float32 {
		switch {
		case zMajor(x, y, z):
			return 2 * z
		case yMajor(x, y):
			return 2 * y
		}
		return 2 * x
	})
}

// twoOverPi holds the first 1216 fractional bits of 2/pi, the most significant
// word first. The instruction has 1201 of them.
var twoOverPi = [19]uint64{
	0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
	0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
	0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
	0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
	0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
}

const twoOverPiBits = 1201

// trigPreop is v_trig_preop_f64: 53 bits of 2/pi, segment b of them, after the
// bits that an argument as large as a makes whole turns of.
func trigPreop(a uint64, b uint32) uint64 {
	exp := int(a >> 52 & 0x7ff)
	shift := int(b&31) * 53
	if exp > 1077 {
		shift += exp - 1077
	}
	var v uint64
	for i := shift; i < shift+53; i++ {
		v <<= 1
		if i < twoOverPiBits {
			v |= twoOverPi[i/64] >> (63 - i%64) & 1
		}
	}
	scale := -53 - shift
	if exp >= 1968 {
		scale += 128
	}
	return dbits(math.Ldexp(float64(v), scale))
}
