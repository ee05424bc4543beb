package isa

import (
	"math/rand/v2"
	"strings"
)

// randomInst makes a legal instruction of an opcode: one scalar source at most
// for vector instructions, aligned register ranges, modifiers that the opcode
// has.
func randomInst(r *rand.Rand, l *layout) Inst {
	g := generator{Rand: r, l: l}
	g.in = Inst{Op: l.op, Enc: l.enc, Target: -1}
	g.form()
	for _, s := range l.slots {
		g.slot(s)
	}
	g.mods()
	return g.in
}

type generator struct {
	*rand.Rand
	l      *layout
	in     Inst
	scalar bool // the constant bus is taken
	acc    bool // data and accumulators are in the accumulation registers
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) vector(n uint8) Operand {
	return Operand{Reg: V0 + Reg(g.IntN((257-int(n))/2)*2), N: n}
}

func (g *generator) data(n uint8) Operand {
	o := g.vector(n)
	if g.acc {
		o.Reg += 256
	}
	return o
}

func (g *generator) sgpr(n uint8) Operand {
	align := map[uint8]int{1: 1, 2: 2}[n]
	if align == 0 {
		align = 4
	}
	return Operand{Reg: Reg(g.IntN((102-int(n))/align+1) * align), N: n}
}

func (g *generator) inline(n uint8) Operand {
	switch g.IntN(3) {
	case 0:
		return Operand{Reg: Int(g.IntN(81) - 16), N: n}
	case 1:
		return Operand{Reg: ConstHalf + Reg(g.IntN(9)), N: n}
	}
	return Operand{Reg: Const0, N: n}
}

// form picks among the encodings of a vector opcode.
func (g *generator) form() {
	in, f := &g.in, g.l.flags
	switch g.l.enc {
	case VOP1, VOP2, VOPC:
		switch k := g.IntN(4); {
		case k == 0 && f&fE64 != 0 && f&fE32 != 0:
			in.E64 = true
		case k == 1 && f&fDPP != 0 && len(g.l.slots) > 0:
			in.Sub = SubDPP
		case k == 2 && f&fSDWA != 0 && len(g.l.slots) > 0:
			in.Sub = SubSDWA
		}
	case MAI, DS, MUBUF, FLAT, MTBUF:
		g.acc = g.chance(30) && g.l.op != V_ACCVGPR_READ_B32
	}
}

func (g *generator) slot(s slot) {
	in, l := &g.in, g.l
	o := in.operandOf(l, s.kind)
	switch s.kind {
	case 'a', 'x', 'b', 'c':
		i := strings.IndexByte("abc", s.kind)
		if s.kind == 'x' {
			i = 0
		}
		in.Src[i] = g.source(i, s)
	case 'D', 'q', 'd', 'r':
		switch l.enc {
		case SOP1, SOP2, SOPK, SMEM:
			*o = g.sgpr(s.n)
		default:
			*o = g.data(s.n)
		}
	case 'R', 'S':
		*o = g.sgpr(s.n)
		if s.n == 2 && !in.E64 && (l.enc == VOPC && in.Sub != SubSDWA || l.enc == VOP2) {
			*o = Operand{Reg: VCCLo, N: 2}
		}
	case 'A':
		*o = g.vector(s.n)
		o.Reg += 256
	case 's', 't':
		*o = g.vector(1)
	case 'K':
		in.Literal = g.Uint32()
		if strings.HasSuffix(l.op.String(), "16") {
			in.Literal &= 0xffff
		}
		if l.enc == VOP2 {
			*in.operandOf(l, "cb"[bit(!l.has('b'))]) = Operand{Reg: Literal, N: 1}
		}
	case 'o':
		g.smemOffset()
	case 'P':
		in.Offset1 = uint8(g.IntN(128))
	case 'G':
		in.Offset = int32(g.IntN(16))
	case 'W':
		in.Offset = Waitcnt(g.IntN(64), g.IntN(8), g.IntN(16))
	case 'H':
		off := g.IntN(32)
		in.Offset = int32(int16(g.IntN(64) | off<<6 | g.IntN(32-off)<<11))
	case 'M':
		in.Offset = int32(g.IntN(1024) &^ 0x80)
	case 'I', 'N', 'B', 'E':
		in.Offset = int32(int16(g.Uint32()))
	}
}

func (g *generator) smemOffset() {
	in := &g.in
	in.Offset, in.Flags = int32(g.IntN(1<<20)), in.Flags|ImmOffset
	switch g.IntN(4) {
	case 0:
		in.Offset, in.Flags = 0, SOffsetEn
		in.Src[1] = g.sgpr(1)
	case 1:
		in.Flags |= SOffsetEn
		in.Src[1] = g.sgpr(1)
	}
}

// source makes Src[i].
func (g *generator) source(i int, s slot) Operand {
	switch g.l.enc {
	case SOP1, SOP2, SOPC:
		return g.scalarSource(s.n)
	case SOPK:
		return g.sgpr(s.n)
	case SMEM:
		return g.sgpr(s.n)
	case DS:
		if i == 0 {
			return g.vector(s.n)
		}
		return g.data(s.n)
	case MUBUF, MTBUF:
		return g.bufferSource(i, s.n)
	case FLAT:
		return g.flatSource(i, s.n)
	case MAI:
		return g.matrixSource(i, s)
	}
	return g.valuSource(i, s)
}

func (g *generator) scalarSource(n uint8) Operand {
	switch {
	case g.chance(20) && !g.in.literalUsed():
		g.in.Literal = g.Uint32() | 1<<30 | 1
		return Operand{Reg: Literal, N: n}
	case g.chance(30):
		return g.inline(n)
	}
	return g.sgpr(n)
}

func (g *generator) bufferSource(i int, n uint8) Operand {
	switch i {
	case 0:
		g.in.Flags |= []Flags{0, Offen, Idxen, Offen | Idxen}[g.IntN(4)]
		if k := bitCount(g.in.Flags&Offen != 0, g.in.Flags&Idxen != 0); k > 0 {
			return g.vector(k)
		}
		return Operand{}
	case 1:
		return g.sgpr(n)
	}
	if g.chance(30) {
		return Operand{Reg: Int(g.IntN(65)), N: 1}
	}
	return g.sgpr(n)
}

func (g *generator) flatSource(i int, n uint8) Operand {
	in := &g.in
	if i == 1 {
		switch {
		case g.l.flags&fGlobal != 0 && in.Src[0].N == 1:
			return g.sgpr(2)
		case g.l.flags&fScratch != 0 && g.chance(50):
			return g.sgpr(1)
		}
		return Operand{}
	}
	if g.l.flags&fGlobal != 0 && g.chance(50) {
		return g.vector(1)
	}
	if g.l.flags&fScratch != 0 && g.chance(30) {
		return Operand{}
	}
	return g.vector(n)
}

func (g *generator) matrixSource(i int, s slot) Operand {
	o := g.vector(s.n)
	switch {
	case s.kind == 'x':
		o.Reg += 256
	case g.l.op == V_ACCVGPR_WRITE_B32 || g.l.op == V_MFMA_LD_SCALE_B32:
		if g.chance(30) {
			return g.inline(1)
		}
	case i == 2 && g.l.flags&fSparse == 0:
		if g.chance(20) {
			return Operand{Reg: Int(g.IntN(65)), N: s.n}
		}
		return g.data(s.n)
	case i < 2 && g.chance(40):
		o.Reg += 256
	}
	return o
}

// vectorOnly are the opcodes whose first source must be a vector register.
var vectorOnly = map[Op]bool{V_SWAP_B32: true, V_PERMLANE16_SWAP_B32: true, V_PERMLANE32_SWAP_B32: true,
	V_READFIRSTLANE_B32: true, V_READLANE_B32: true, V_CVT_SCALEF32_SR_PK_FP4_F32: true}

func (g *generator) valuSource(i int, s slot) Operand {
	in, l := &g.in, g.l
	name := l.op.String()
	carryIn := i == 2 && s.n == 2 && l.enc == VOP2
	switch {
	case carryIn && in.E64:
		g.scalar = true
		return g.sgpr(2)
	case carryIn:
		g.scalar = true
		return Operand{Reg: VCCLo, N: 2}
	case s.kind == 'x':
		o := g.vector(1)
		o.Reg += 256
		return o
	case name == "v_readlane_b32" && i == 1, name == "v_writelane_b32" && i == 1:
		return g.sgpr(1)
	case vectorOnly[l.op], in.Sub == SubDPP, in.Sub == SubSDWA, s.n > 2:
		return g.vector(s.n)
	}
	e32 := !in.E64 && (l.enc == VOP1 || l.enc == VOP2 || l.enc == VOPC)
	switch {
	case e32 && i > 0:
		return g.vector(s.n)
	case e32 && g.chance(15) && !l.has('K') && !g.scalar && !strings.Contains(name, "16") && s.n == 1:
		in.Literal = g.Uint32() | 1<<30 | 1
		return Operand{Reg: Literal, N: s.n}
	case g.chance(25) && !l.has('S'):
		return g.inline(s.n)
	case i == 0 && g.chance(25) && !g.scalar && !l.has('S'):
		g.scalar = true
		return g.sgpr(s.n)
	}
	return g.vector(s.n)
}

// mods sets the modifiers that the opcode has.
func (g *generator) mods() {
	in, l := &g.in, g.l
	switch l.enc {
	case DS:
		g.dsMods()
	case MUBUF, MTBUF:
		if len(l.slots) > 0 {
			in.Offset = int32(g.IntN(1 << 12))
		}
		in.Flags |= []Flags{0, SC0, SC1, NT, SC0 | NT | SC1}[g.IntN(5)]
		if len(l.slots) == 0 {
			in.Flags &= SC0 | SC1
		}
		if l.enc == MTBUF {
			in.Offset1 = uint8(g.IntN(128))
		}
		g.finishAtomic('r')
	case FLAT:
		in.Offset = int32(g.IntN(1 << 12))
		if l.has('b') && g.chance(50) {
			in.Offset = -in.Offset - 1
		}
		in.Flags |= []Flags{0, SC0, SC1, NT, SC0 | NT | SC1}[g.IntN(5)]
		if in.Flags&SC0 == 0 && l.has('q') {
			in.Dst = Operand{}
		}
		if l.has('q') && g.acc && strings.HasSuffix(l.op.String(), "_f64") {
			in.Flags &^= SC1 // LLVM 22 prints it but leaves the bit clear
		}
	case SMEM:
		if !l.has('P') && l.has('o') && !strings.Contains(l.op.String(), "discard") && g.chance(30) {
			in.Flags |= SC0
		}
		g.finishAtomic('r')
	case MAI:
		g.matrixMods()
	case VOP3P:
		g.packedMods()
	default:
		g.valuMods()
	}
}

// finishAtomic gives a returning atomic its destination.
func (g *generator) finishAtomic(kind byte) {
	if g.l.has(kind) && g.in.Flags&SC0 != 0 {
		g.in.Dst = *g.in.operandOf(g.l, kind)
	}
}

func (g *generator) dsMods() {
	in := &g.in
	switch {
	case g.l.flags&fTwoAddr != 0:
		in.Offset, in.Offset1 = int32(g.IntN(256)), uint8(g.IntN(256))
	case g.l.flags&fGDS != 0:
		in.Flags |= GDS
		in.Offset = int32(g.IntN(1 << 16))
	case g.l.op == DS_NOP:
	case g.l.op == DS_SWIZZLE_B32:
		// Some patterns have several codes; take the one that LLVM writes.
		text := swizzleText(uint16(g.IntN(1 << 16)))
		v, err := parseSwizzle(text)
		if err != nil {
			v = 0
		}
		in.Offset = int32(v)
	case g.chance(70):
		in.Offset = int32(g.IntN(1 << 16))
	}
}

func (g *generator) matrixMods() {
	in, l := &g.in, g.l
	name := l.op.String()
	switch {
	case strings.HasPrefix(name, "v_accvgpr"):
		return
	case l.op == V_MFMA_LD_SCALE_B32:
		in.OpSel, in.OpSelHi = uint8(g.IntN(4)), uint8(g.IntN(4))|4
		return
	case l.flags&fNegBLGP != 0:
		in.BLGP = uint8(g.IntN(8))
		return
	case l.flags&fF8F6F4 != 0:
		in.CBSZ, in.BLGP = uint8(g.IntN(5)), uint8(g.IntN(5))
		in.Src[0].N, in.Src[1].N = f8f6f4Dwords[in.CBSZ], f8f6f4Dwords[in.BLGP]
		if l.has('s') {
			in.OpSel, in.OpSelHi = uint8(g.IntN(4)), uint8(g.IntN(4))
		}
		return
	case g.chance(50):
		in.CBSZ, in.ABID = uint8(g.IntN(8)), uint8(g.IntN(16))
		if l.flags&fSparse == 0 {
			in.BLGP = uint8(g.IntN(8))
		}
	}
}

func (g *generator) packedMods() {
	in, l := &g.in, g.l
	name := l.op.String()
	all := uint8(1)<<l.nsrc - 1
	if l.flags&fMix == 0 {
		in.OpSelHi = 7
	}
	if g.chance(50) && !strings.HasPrefix(name, "v_dot") {
		in.OpSel = uint8(g.IntN(8)) & all
		in.OpSelHi = in.OpSelHi&^all | uint8(g.IntN(8))&all
	}
	for i := range l.nsrc {
		in.Src[i].Mod = []OpMod{0, Neg, NegHi, Neg | NegHi}[g.IntN(4)]
		if l.flags&fMix != 0 && in.Src[i].Reg < V0 {
			in.Src[i].Mod = 0
		}
	}
	if g.chance(20) && l.op != V_PK_MOV_B32 {
		in.Flags |= Clamp
	}
}

func (g *generator) valuMods() {
	in, l := &g.in, g.l
	switch l.enc {
	case VOP1, VOP2, VOPC, VOP3:
	default:
		return
	}
	wide := in.E64 || l.enc == VOP3
	if wide {
		if n := l.opSelWidth(); n > 0 && g.chance(50) {
			in.OpSel = uint8(g.IntN(16))
			if n < 4 {
				in.OpSel &= 1<<(n-1) - 1 | 8
			}
		}
		if l.op == V_BITOP3_B32 || l.op == V_BITOP3_B16 {
			in.Bitop3 = uint8(g.Uint32())
		}
		if g.l.op == V_PERMLANE16_SWAP_B32 || g.l.op == V_PERMLANE32_SWAP_B32 {
			in.OpSel = uint8(g.IntN(4))
		}
	}
	if in.Sub == SubDPP {
		in.DPPCtrl = []uint16{uint16(g.IntN(256)), 0x101, 0x11f, 0x124, 0x130, 0x141, 0x143, 0x15a}[g.IntN(8)]
		if in.Dst.N > 1 && l.enc != VOPC || in.Src[0].N > 1 {
			in.DPPCtrl = 0x150 + uint16(g.IntN(16))
		}
		in.RowMask, in.BankMask = uint8(g.IntN(16)), uint8(g.IntN(16))
		in.Flags |= []Flags{0, BoundCtrl}[g.IntN(2)]
	}
	if in.Sub == SubSDWA {
		in.Src0Sel = uint8(g.IntN(7))
		if l.has('b') {
			in.Src1Sel = uint8(g.IntN(7))
		}
		if l.enc != VOPC {
			in.DstSel, in.DstUnused = uint8(g.IntN(7)), uint8(g.IntN(3))
			if l.flags&fNoDstSel != 0 {
				in.DstSel, in.DstUnused = 6, 0
			}
		}
	}
	if l.flags&fFPMod != 0 && (wide || in.Sub == SubDPP) {
		if in.Src[0].Reg >= V0 && in.Src[0].Present() && !l.has('S') {
			in.Src[0].Mod = []OpMod{0, Neg, Abs, Neg | Abs}[g.IntN(4)]
		}
	}
}
