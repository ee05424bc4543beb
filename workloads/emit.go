package workloads

import "github.com/whisker-sim/whisker/isa"

// lit returns the literal among vs, 0 if there is none.
func lit(vs ...Val) uint32 {
	for _, v := range vs {
		if v.N != 0 && v.Reg == isa.Literal {
			return v.Lit
		}
	}
	return 0
}

// SOP1 emits a one-source scalar instruction.
func (b *Builder) SOP1(op isa.Op, d, s Val) {
	b.Emit(isa.Inst{Op: op, Enc: isa.SOP1, Dst: d.Operand, Src: [4]isa.Operand{s.Operand}, Literal: lit(s)})
}

// SOP2 emits a two-source scalar instruction.
func (b *Builder) SOP2(op isa.Op, d, s0, s1 Val) {
	b.Emit(isa.Inst{Op: op, Enc: isa.SOP2, Dst: d.Operand, Src: [4]isa.Operand{s0.Operand, s1.Operand}, Literal: lit(s0, s1)})
}

// SOPC emits a scalar compare, which sets SCC.
func (b *Builder) SOPC(op isa.Op, s0, s1 Val) {
	b.Emit(isa.Inst{Op: op, Enc: isa.SOPC, Src: [4]isa.Operand{s0.Operand, s1.Operand}, Literal: lit(s0, s1)})
}

// SMov copies s into d.
func (b *Builder) SMov(d, s Val) { b.SOP1(isa.S_MOV_B32, d, s) }

// SAdd emits d = s0 + s1.
func (b *Builder) SAdd(d, s0, s1 Val) { b.SOP2(isa.S_ADD_U32, d, s0, s1) }

// SMul emits the low 32 bits of s0 * s1.
func (b *Builder) SMul(d, s0, s1 Val) { b.SOP2(isa.S_MUL_I32, d, s0, s1) }

// SMulAdd64 emits the 64-bit d = base + s*k; t is scratch of two registers.
func (b *Builder) SMulAdd64(d, base, s, k, t Val) {
	b.SMul(t.At(0, 1), s, k)
	b.SOP2(isa.S_MUL_HI_U32, t.At(1, 1), s, k)
	b.SAdd(d.At(0, 1), base.At(0, 1), t.At(0, 1))
	b.SOP2(isa.S_ADDC_U32, d.At(1, 1), base.At(1, 1), t.At(1, 1))
}

// SAdd64 emits the 64-bit d += k, where k fits 32 bits.
func (b *Builder) SAdd64(d, k Val) {
	b.SAdd(d.At(0, 1), d.At(0, 1), k)
	b.SOP2(isa.S_ADDC_U32, d.At(1, 1), d.At(1, 1), Imm(0))
}

// SLoad emits a scalar load of d.N dwords at base+offset.
func (b *Builder) SLoad(d, base Val, offset int) {
	op := map[uint8]isa.Op{1: isa.S_LOAD_DWORD, 2: isa.S_LOAD_DWORDX2, 4: isa.S_LOAD_DWORDX4}[d.N]
	b.Emit(isa.Inst{Op: op, Enc: isa.SMEM, Dst: d.Operand, Src: [4]isa.Operand{base.Operand},
		Flags: isa.ImmOffset, Offset: int32(offset)})
}

// SOPP emits an instruction whose only field is its immediate.
func (b *Builder) SOPP(op isa.Op, imm int) {
	b.Emit(isa.Inst{Op: op, Enc: isa.SOPP, Offset: int32(imm)})
}

// Barrier emits s_barrier.
func (b *Builder) Barrier() { b.SOPP(isa.S_BARRIER, 0) }

// SetPrio emits s_setprio.
func (b *Builder) SetPrio(p int) { b.SOPP(isa.S_SETPRIO, p) }

// Nop emits s_nop instructions that fill n wait states.
func (b *Builder) Nop(n int) {
	for ; n > 0; n -= 8 {
		b.SOPP(isa.S_NOP, min(n, 8)-1)
	}
}

// Limits of the wait counters: a field at its maximum does not wait
// (s_waitcnt: vmcnt 6 bits, expcnt 3, lgkmcnt 4).
const (
	noVM   = 63
	noLGKM = 15
)

// Wait emits s_waitcnt for at most vm outstanding vector memory operations and
// lgkm outstanding LDS and scalar ones.
func (b *Builder) Wait(vm, lgkm int) {
	n := b.waits
	b.waits++
	if n == b.dropWait {
		b.dropped = len(b.insts)
		return
	}
	b.SOPP(isa.S_WAITCNT, vm&15|(vm>>4)<<14|7<<4|lgkm<<8)
}

// WaitVM waits for all but n vector memory operations.
func (b *Builder) WaitVM(n int) { b.Wait(n, noLGKM) }

// WaitLGKM waits for all but n LDS operations.
func (b *Builder) WaitLGKM(n int) { b.Wait(noVM, n) }

// VOP1 emits a one-source vector instruction.
func (b *Builder) VOP1(op isa.Op, d, s Val) {
	b.Emit(isa.Inst{Op: op, Enc: isa.VOP1, Dst: d.Operand, Src: [4]isa.Operand{s.Operand}, Literal: lit(s)})
}

// VOP2 emits a two-source vector instruction; s1 is a VGPR.
func (b *Builder) VOP2(op isa.Op, d, s0, s1 Val) {
	b.Emit(isa.Inst{Op: op, Enc: isa.VOP2, Dst: d.Operand, Src: [4]isa.Operand{s0.Operand, s1.Operand}, Literal: lit(s0, s1)})
}

// VOP3 emits a vector instruction of up to three sources, none a literal.
func (b *Builder) VOP3(op isa.Op, d Val, src ...Val) {
	in := isa.Inst{Op: op, Enc: isa.VOP3, Dst: d.Operand}
	for i, s := range src {
		in.Src[i] = s.Operand
	}
	b.Emit(in)
}

// VAdd emits d = s0 + s1; s1 is a VGPR.
func (b *Builder) VAdd(d, s0, s1 Val) { b.VOP2(isa.V_ADD_U32, d, s0, s1) }

// VAnd emits d = s0 & s1; s1 is a VGPR.
func (b *Builder) VAnd(d, s0, s1 Val) { b.VOP2(isa.V_AND_B32, d, s0, s1) }

// VXor emits d = s0 ^ s1; s1 is a VGPR.
func (b *Builder) VXor(d, s0, s1 Val) { b.VOP2(isa.V_XOR_B32, d, s0, s1) }

// VShl emits d = s << n.
func (b *Builder) VShl(d, s Val, n int) { b.VOP2(isa.V_LSHLREV_B32, d, Imm(n), s) }

// VShr emits d = s >> n.
func (b *Builder) VShr(d, s Val, n int) { b.VOP2(isa.V_LSHRREV_B32, d, Imm(n), s) }

// VMul emits the low 32 bits of v * s; s is a register.
func (b *Builder) VMul(d, v, s Val) { b.VOP3(isa.V_MUL_LO_U32, d, v, s) }

// MFMA emits d += a*bb on the matrix pipe, d being C as well.
func (b *Builder) MFMA(op isa.Op, d, a, bb Val) {
	in := isa.Inst{Op: op, Enc: isa.MAI, Dst: d.Operand, Src: [4]isa.Operand{a.Operand, bb.Operand, d.Operand}}
	if d.Reg.IsAGPR() {
		in.Flags |= isa.AccCD
	}
	b.Emit(in)
}

// DSRead emits an LDS read of d at addr+offset.
func (b *Builder) DSRead(op isa.Op, d, addr Val, offset int) {
	b.Emit(isa.Inst{Op: op, Enc: isa.DS, Dst: d.Operand, Src: [4]isa.Operand{addr.Operand}, Offset: int32(offset)})
}

// DSWrite emits an LDS write of v at addr+offset.
func (b *Builder) DSWrite(op isa.Op, addr, v Val, offset int) {
	b.Emit(isa.Inst{Op: op, Enc: isa.DS, Src: [4]isa.Operand{addr.Operand, v.Operand}, Offset: int32(offset)})
}

// BufferLoad emits d = 16 bytes per lane at srd + voff + soff.
func (b *Builder) BufferLoad(d, voff, srd, soff Val) {
	b.Emit(isa.Inst{Op: isa.BUFFER_LOAD_DWORDX4, Enc: isa.MUBUF, Dst: d.Operand,
		Src: [4]isa.Operand{voff.Operand, srd.Operand, soff.Operand}, Flags: isa.Offen})
}

// SetM0 emits m0 = s, the LDS address of the next direct-to-LDS loads.
func (b *Builder) SetM0(s Val) { b.SMov(m0, s) }

// BufferLoadLDS emits a direct-to-LDS load of 16 bytes per lane: lane l's data
// lands at M0 + 16*l. A write of M0 needs one wait state before it
// (LLVM 22, both CPUs).
func (b *Builder) BufferLoadLDS(voff, srd, soff Val) {
	if n := len(b.insts); n > 0 && b.insts[n-1].Dst.Reg == isa.M0 {
		b.Nop(1)
	}
	b.Emit(isa.Inst{Op: isa.BUFFER_LOAD_DWORDX4, Enc: isa.MUBUF,
		Src: [4]isa.Operand{voff.Operand, srd.Operand, soff.Operand}, Flags: isa.Offen | isa.LDSBit})
}

// GlobalStore emits a store of v at the 64-bit saddr + voff + offset.
func (b *Builder) GlobalStore(op isa.Op, voff, v, saddr Val, offset int) {
	b.Emit(isa.Inst{Op: op, Enc: isa.FLAT, Flags: isa.SegGlobal, Offset: int32(offset),
		Src: [4]isa.Operand{voff.Operand, saddr.Operand, {Reg: isa.RegNone}, v.Operand}})
}

// BufferStore emits a store of v at srd + voff + offset; lanes beyond the
// buffer store nothing.
func (b *Builder) BufferStore(op isa.Op, voff, v, srd Val, offset int) {
	b.Emit(isa.Inst{Op: op, Enc: isa.MUBUF, Flags: isa.Offen, Offset: int32(offset),
		Src: [4]isa.Operand{voff.Operand, srd.Operand, Imm(0).Operand, v.Operand}})
}
