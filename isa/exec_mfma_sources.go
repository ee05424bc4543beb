package isa

import "math"

// Sources of matrix instructions: register layouts to dense f64 arrays.

// decodeDense fills out from source src. Lane l holds row l%M of block
// (l/M)%B, and elements of k from (l/(M*B))*E.
func (mo *matrixOp) decodeDense(s *State, in *Inst, src int, t elem, blgp uint8, out []float64) {
	lanesPerK := mo.m * mo.blocks
	e := mo.k / (Lanes / lanesPerK)
	regs := s.vregs(in.Src[src].Reg, max(1, e*elemBits[t]/32))
	neg := t == elemF64 && blgp>>src&1 != 0
	if t == elemF64 {
		blgp = 0
		neg = in.BLGP>>src&1 != 0
	}
	for l := range Lanes {
		from := l
		if blgp != 0 {
			from = blgpLane(blgp, l)
		}
		row := (l%lanesPerK/mo.m*mo.m + l%mo.m) * mo.k
		o := out[row+l/lanesPerK*e:][:e]
		decodeLane(s.CPU, regs, from, t, o)
		if neg {
			for i := range o {
				o[i] = -o[i]
			}
		}
	}
}

// blgpLane is the lane of B that lane l uses under a broadcast code.
func blgpLane(blgp uint8, l int) int {
	switch blgp {
	case 1:
		return l % 32
	case 2:
		return 32 + l%32
	case 3:
		return (l + 16) % 64
	case 4, 5, 6, 7:
		return 16*int(blgp-4) + l%16
	}
	return l
}

// decodeLane decodes consecutive elements of one lane.
func decodeLane(cpu CPU, regs []VReg, l int, t elem, out []float64) {
	switch t {
	case elemF16:
		for i := range out {
			out[i] = float64(f16ToF32(uint16(regs[i/2][l] >> (16 * (i & 1)))))
		}
	case elemBF16:
		for i := range out {
			v := regs[i/2][l]
			if i&1 == 0 {
				v <<= 16
			}
			out[i] = float64(ffrom(v & 0xffff0000))
		}
	case elemF32:
		for i := range out {
			out[i] = float64(ffrom(regs[i][l]))
		}
	case elemXF32: // truncated to a 10-bit mantissa
		for i := range out {
			out[i] = float64(ffrom(regs[i][l] &^ 0x1fff))
		}
	case elemF64:
		for i := range out {
			out[i] = dfrom(uint64(regs[2*i][l]) | uint64(regs[2*i+1][l])<<32)
		}
	case elemI8:
		for i := range out {
			out[i] = float64(int8(regs[i/4][l] >> (8 * (i & 3))))
		}
	default:
		f, w := smallElem(cpu, t), elemBits[t]
		for i := range out {
			out[i] = float64(f.decode[packedCode(regs, l, i*w, w)])
		}
	}
}

// packedCode is the w-bit field at a bit offset of a lane's registers.
func packedCode(regs []VReg, l, at, w int) uint32 {
	v := uint64(regs[at/32][l])
	if at%32+w > 32 {
		v |= uint64(regs[at/32+1][l]) << 32
	}
	return uint32(v>>(at%32)) & (1<<w - 1)
}

func smallElem(cpu CPU, t elem) *smallFormat {
	fp8, bf8 := fp8Formats(cpu)
	switch t {
	case elemFP8:
		return fp8
	case elemBF8:
		return bf8
	case elemFP6:
		return &fp6
	case elemBF6:
		return &bf6
	}
	return &fp4
}

// decodeScaled decodes an f8f6f4 source and multiplies in the scales of
// mfma_scale, one per row and 32 values of k. 8-bit formats hold two runs of 16
// k, narrower ones one run of 32.
func (mo *matrixOp) decodeScaled(s *State, in *Inst, src int, t elem, out []float64) {
	w := elemBits[t]
	regs := s.vregs(in.Src[src].Reg, 32*w/32)
	groups := Lanes / mo.m
	scaled := in.Scale[src].Present()
	var tmp [32]float64
	for l := range Lanes {
		row, g := l%mo.m*mo.k, l/mo.m
		decodeLane(s.CPU, regs, l, t, tmp[:])
		if w == 8 {
			copy(out[row+16*g:], tmp[:16])
			copy(out[row+16*groups+16*g:], tmp[16:])
		} else {
			copy(out[row+32*g:], tmp[:])
		}
	}
	if !scaled {
		return
	}
	sel := in.OpSel>>src&1 | in.OpSelHi>>src&1<<1
	for l := range Lanes {
		f := e8m0(s.laneOperand(in, in.Scale[src].Reg, l) >> (8 * sel))
		for i := range 32 {
			out[l%mo.m*mo.k+l/mo.m*32+i] *= f
		}
	}
}

// e8m0 decodes the low byte as a power of two; 0xff is NaN.
func e8m0(b uint32) float64 {
	if b &= 0xff; b != 0xff {
		return math.Ldexp(1, int(b)-127)
	}
	return math.NaN()
}

func (s *State) laneOperand(in *Inst, r Reg, l int) uint32 {
	if r.IsVector() {
		return s.vreg(r)[l]
	}
	return s.scalar32(in, r)
}

// decodeSparse expands a 4:2 compressed A: two stored elements per group of
// four k, their positions in the index register.
func (mo *matrixOp) decodeSparse(s *State, in *Inst, out []float64) {
	e := mo.k / (Lanes / mo.m) // dense elements a lane
	regs := s.vregs(in.Src[0].Reg, e/2*elemBits[mo.a]/32)
	clear(out[:mo.m*mo.k])
	off := 0
	if in.CBSZ == 0 {
		off = e * int(in.ABID) % 32
	}
	var tmp [16]float64
	for l := range Lanes {
		decodeLane(s.CPU, regs, l, mo.a, tmp[:e/2])
		idx := s.laneOperand(in, in.Src[2].Reg, l) >> off
		row := out[l%mo.m*mo.k+l/mo.m*e:]
		for p := range e / 2 {
			row[p/2*4+int(idx>>(2*p)&3)] += tmp[p]
		}
	}
}

// broadcastA replaces each block's A by block abid of its group of 2^cbsz.
func (mo *matrixOp) broadcastA(buf *matrixBuf, in *Inst) {
	n := mo.m * mo.k
	src := buf.a
	for b := range mo.blocks {
		from := b&^(1<<in.CBSZ-1) + int(in.ABID)
		copy(buf.a[b*n:(b+1)*n], src[from*n:(from+1)*n])
	}
}
