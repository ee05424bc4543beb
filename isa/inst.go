// Package isa holds the instruction set of CDNA3 (gfx942) and CDNA4 (gfx950):
// opcodes, the decoded instruction, its text, what it does to wave state, and
// the timing class that the compute unit schedules by.
//
// Nothing here knows about time: cu decides when an instruction issues, isa
// decides what it does.
package isa

// CPU is a target processor.
type CPU uint8

// The processors that Whisker simulates.
const (
	GFX942 CPU = iota // CDNA3: MI300A, MI300X, MI325X
	GFX950            // CDNA4: MI350X, MI355X
	numCPUs
)

// String returns LLVM's name of the processor.
func (c CPU) String() string {
	if c < numCPUs {
		return [...]string{"gfx942", "gfx950"}[c]
	}
	return "gfx?"
}

// Op identifies an opcode across encodings and CPUs. The constants carry the
// mnemonic without its encoding suffix.
type Op uint16

// String returns the mnemonic without an encoding suffix.
func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	if o.IsExtension() {
		return extensionNames[o-firstExtension]
	}
	return "invalid"
}

// Enc is the machine encoding of an instruction.
type Enc uint8

// Encodings, named as in the ISA documents. SDWA and DPP forms of VOP1, VOP2
// and VOPC are marked by Inst.Sub.
const (
	EncInvalid Enc = iota
	SOP1
	SOP2
	SOPK
	SOPC
	SOPP
	SMEM
	VOP1
	VOP2
	VOPC
	VOP3  // VOP3A and VOP3B
	VOP3P // packed math, not matrix
	MAI   // VOP3P-MAI: matrix, v_accvgpr_*
	DS
	MUBUF
	FLAT  // flat, global and scratch
	MTBUF // typed buffer: Inst.Offset1 is the data format, with the number format in bits 4..6
)

// Sub is the sub-dword or lane-permuting form of a VOP1, VOP2 or VOPC encoding.
type Sub uint8

// The forms of Sub.
const (
	SubNone Sub = iota
	SubDPP
	SubSDWA
)

// Reg is an operand code: 0..511 is the 9-bit source encoding of gfx9, and
// 512..767 names accumulation registers.
type Reg uint16

// Operand codes that are not a plain register range.
const (
	FlatScratchLo Reg = 102
	XnackMaskLo   Reg = 104
	VCCLo         Reg = 106
	VCCHi         Reg = 107
	TTMP0         Reg = 108
	M0            Reg = 124
	ExecLo        Reg = 126
	ExecHi        Reg = 127
	Const0        Reg = 128 // 128+n = n for n in 0..64
	ConstNeg1     Reg = 193 // 192+n = -n for n in 1..16
	SharedBase    Reg = 235
	SharedLimit   Reg = 236
	PrivateBase   Reg = 237
	PrivateLimit  Reg = 238
	ConstHalf     Reg = 240 // 240..247: 0.5 -0.5 1 -1 2 -2 4 -4
	ConstInv2Pi   Reg = 248
	VCCZ          Reg = 251
	ExecZ         Reg = 252
	SCC           Reg = 253
	Literal       Reg = 255
	V0            Reg = 256
	A0            Reg = 512
	RegNone       Reg = 0xffff // no operand ("off", absent)
)

// S, V and A name scalar, vector and accumulation register n.
func S(n int) Reg { return Reg(n) }

// V names vector register n.
func V(n int) Reg { return V0 + Reg(n) }

// A names accumulation register n.
func A(n int) Reg { return A0 + Reg(n) }

// Int returns the inline constant n, which must lie in -16..64.
func Int(n int) Reg {
	switch {
	case n >= 0 && n <= 64:
		return Const0 + Reg(n)
	case n < 0 && n >= -16:
		return Reg(192 - n)
	}
	panic("isa: inline constant out of range")
}

// IsVGPR reports whether r is an architectural vector register.
func (r Reg) IsVGPR() bool { return r >= V0 && r < A0 }

// IsAGPR reports whether r is an accumulation register.
func (r Reg) IsAGPR() bool { return r >= A0 && r < A0+256 }

// IsVector reports whether r is a vector or accumulation register.
func (r Reg) IsVector() bool { return r >= V0 && r < A0+256 }

// IsSGPR reports whether r is held in scalar state: s0..s101, FLAT_SCRATCH,
// XNACK_MASK, VCC, TTMP, M0 or EXEC.
func (r Reg) IsSGPR() bool { return r < Const0 }

// IsConst reports whether r is no register: an inline constant, a literal or one
// of the read-only sources.
func (r Reg) IsConst() bool { return r >= Const0 && r < V0 || r == RegNone }

// Index is the register number within its file.
func (r Reg) Index() int {
	switch {
	case r.IsAGPR():
		return int(r - A0)
	case r.IsVGPR():
		return int(r - V0)
	}
	return int(r)
}

// OpMod is a bit set of source modifiers.
type OpMod uint8

// Source modifiers.
const (
	Neg   OpMod = 1 << iota // VOP3 neg, SDWA/DPP neg, VOP3P neg_lo
	Abs                     // VOP3 abs, SDWA/DPP abs
	NegHi                   // VOP3P neg_hi
	Sext                    // SDWA sext
)

// Operand is a register range or constant with its modifiers.
type Operand struct {
	Reg Reg
	N   uint8 // dwords; 0 means absent
	Mod OpMod
}

// Present reports whether the operand exists.
func (o Operand) Present() bool { return o.N != 0 && o.Reg != RegNone }

// Flags is a bit set of single-bit instruction fields.
type Flags uint32

// Single-bit fields.
const (
	Clamp Flags = 1 << iota
	Offen
	Idxen
	SC0
	SC1
	NT
	LDSBit      // MUBUF and FLAT: data goes to LDS
	GDS         // refused by the assembler on both CPUs, kept for decode
	BoundCtrl   // DPP
	SOffsetEn   // SMEM: an SGPR offset is present
	ImmOffset   // SMEM: the immediate offset field is present
	AccCD       // MAI: C and D are accumulation registers
	SGPROut     // SDWA VOPC writes Dst instead of VCC
	ScalePrefix // mfma_scale: 16-byte form
	SegGlobal   // FLAT: global segment
	SegScratch  // FLAT: scratch segment
	NV          // SMEM, FLAT
)

// Inst is one decoded instruction. It is what the builder makes, the decoder
// returns, the printer prints, Exec runs and the timing model schedules.
//
// Operand slots by encoding:
//
//	VALU     Dst, SDst (carry out or v_div_scale mask), Src[0..2], Src[3] unused
//	MAI      Dst, Src[0]=A, Src[1]=B, Src[2]=C; mfma_scale: Scale[0], Scale[1]
//	SALU     Dst, Src[0..1]; SOPK: Offset is simm16; SOPP: Offset is simm16
//	SMEM     Dst (load data) or Src[2] (store data), Src[0]=base, Src[1]=SGPR offset, Offset
//	DS       Dst, Src[0]=address, Src[1]=data0, Src[2]=data1, Offset, Offset1 (two-address forms)
//	MUBUF    Dst (load) or Src[3] (store, atomic data; a returning atomic has both),
//	         Src[0]=vaddr, Src[1]=srsrc (4), Src[2]=soffset, Offset
//	FLAT     Dst, Src[0]=vaddr, Src[1]=saddr, Src[3]=data, Offset
type Inst struct {
	Op    Op
	Enc   Enc
	Sub   Sub
	Dst   Operand
	SDst  Operand
	Src   [4]Operand
	Flags Flags

	Literal uint32 // value when a source is Literal
	Offset  int32  // simm16, memory offset, or offset0 of two-address DS
	Offset1 uint8  // offset1 of two-address DS

	OpSel, OpSelHi uint8 // bit i is source i; OpSel bit 3 is the destination
	Omod           uint8 // 0 none, 1 *2, 2 *4, 3 /2
	CBSZ, ABID     uint8
	BLGP           uint8
	Bitop3         uint8 // v_bitop3 truth table

	DPPCtrl           uint16
	RowMask, BankMask uint8
	DstSel, DstUnused uint8 // SDWA
	Src0Sel, Src1Sel  uint8 // SDWA
	Scale             [2]Operand
	Size              uint8  // bytes: 4, 8, 12 or 16
	PC                uint32 // byte offset from the kernel entry
	Target            int32  // index of the branch target in Kernel.Insts, -1 if none
	E64               bool   // VOP1, VOP2 and VOPC opcodes encoded as VOP3
}
