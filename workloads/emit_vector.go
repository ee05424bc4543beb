package workloads

import (
	"encoding/binary"
	"math"

	"github.com/whisker-sim/whisker/isa"
)

// rowNewBcast is the DPP control that gives every lane of a row of 16 the value
// of the row's lane k.
const rowNewBcast = 0x150

// VOP2Row emits a two-source vector instruction whose first source is taken
// from lane k of the row.
func (b *Builder) VOP2Row(op isa.Op, d, s0, s1 Val, k int) {
	b.Emit(isa.Inst{Op: op, Enc: isa.VOP2, Sub: isa.SubDPP, Dst: d.Operand, Src: [4]isa.Operand{s0.Operand, s1.Operand},
		DPPCtrl: uint16(rowNewBcast + k), RowMask: 15, BankMask: 15, Flags: isa.BoundCtrl})
}

// MFMAZero emits d = a*bb on the matrix pipe, with a constant zero as C.
func (b *Builder) MFMAZero(op isa.Op, d, a, bb Val) {
	in := isa.Inst{Op: op, Enc: isa.MAI, Dst: d.Operand, Src: [4]isa.Operand{a.Operand, bb.Operand, Imm(0).Operand}}
	if d.Reg.IsAGPR() {
		in.Flags |= isa.AccCD
	}
	b.Emit(in)
}

// PermlaneSwap16 emits the exchange of odd rows of d with even rows of s.
func (b *Builder) PermlaneSwap16(d, s Val) { b.VOP1(isa.V_PERMLANE16_SWAP_B32, d, s) }

// BufferOp emits a MUBUF instruction with a lane offset, a scalar offset and an
// immediate one; d is its result, or its data when store is set.
func (b *Builder) BufferOp(op isa.Op, d, voff, srd, soff Val, offset int, store bool) {
	in := isa.Inst{Op: op, Enc: isa.MUBUF, Flags: isa.Offen, Offset: int32(offset),
		Src: [4]isa.Operand{voff.Operand, srd.Operand, soff.Operand}}
	if store {
		in.Src[3] = d.Operand
	} else {
		in.Dst = d.Operand
	}
	b.Emit(in)
}

// BufferDwordLDS emits a direct-to-LDS load of 4 bytes per lane.
func (b *Builder) BufferDwordLDS(voff, srd, soff Val) {
	b.Emit(isa.Inst{Op: isa.BUFFER_LOAD_DWORD, Enc: isa.MUBUF,
		Src: [4]isa.Operand{voff.Operand, srd.Operand, soff.Operand}, Flags: isa.Offen | isa.LDSBit})
}

// Compare emits a vector comparison into the scalar pair d.
func (b *Builder) Compare(op isa.Op, d, s0, s1 Val) {
	b.Emit(isa.Inst{Op: op, Enc: isa.VOPC, E64: true, Dst: d.Operand, Src: [4]isa.Operand{s0.Operand, s1.Operand}})
}

// VOPC emits a vector comparison into vcc.
func (b *Builder) VOPC(op isa.Op, s0, s1 Val) {
	b.Emit(isa.Inst{Op: op, Enc: isa.VOPC, Dst: isa.Operand{Reg: isa.VCCLo, N: 2}, Src: [4]isa.Operand{s0.Operand, s1.Operand}, Literal: s0.Lit})
}

// PkMul emits the products of two pairs of f32.
func (b *Builder) PkMul(d, s0, s1 Val) {
	b.Emit(isa.Inst{Op: isa.V_PK_MUL_F32, Enc: isa.VOP3P, Dst: d.Operand, Src: [4]isa.Operand{s0.Operand, s1.Operand}, OpSelHi: 7})
}

// Select emits d = mask ? t : f with the mask in the scalar pair.
func (b *Builder) Select(d, f, t, mask Val) {
	b.Emit(isa.Inst{Op: isa.V_CNDMASK_B32, Enc: isa.VOP2, E64: true, Dst: d.Operand, Src: [4]isa.Operand{f.Operand, t.Operand, mask.Operand}})
}

// AccRead emits the copy of an accumulation register to a VGPR.
func (b *Builder) AccRead(d, a Val) {
	b.Emit(isa.Inst{Op: isa.V_ACCVGPR_READ_B32, Enc: isa.MAI, Dst: d.Operand, Src: [4]isa.Operand{a.Operand}})
}

// f32Imm is a floating-point literal.
func f32Imm(x float64) Val {
	return Val{Operand: isa.Operand{Reg: isa.Literal, N: 1}, Lit: math.Float32bits(float32(x))}
}

func appendPtr(b []byte, p uint64) []byte { return binary.LittleEndian.AppendUint64(b, p) }

// AccWrite emits the copy of a VGPR to an accumulation register.
func (b *Builder) AccWrite(a, s Val) {
	b.Emit(isa.Inst{Op: isa.V_ACCVGPR_WRITE_B32, Enc: isa.MAI, Dst: a.Operand, Src: [4]isa.Operand{s.Operand}})
}
