package isa

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Text prints the instruction in LLVM 22's assembly syntax. A branch prints its
// distance in dwords as LLVM's disassembler does; Assembly prints labels.
func (in *Inst) Text(cpu CPU) string { return in.print(cpu, false) }

// Listing prints the instruction as LLVM 22's disassembler does. It differs from
// Text in the inline floats of 16-bit integer operations (see half).
func (in *Inst) Listing(cpu CPU) string { return in.print(cpu, true) }

func (in *Inst) print(cpu CPU, listing bool) string {
	l := lookup(cpu, in.Op)
	if l == nil {
		if in.Op.IsExtension() {
			return in.extensionText()
		}
		return fmt.Sprintf("%v (not on %v)", in.Op, cpu)
	}
	p := printer{in: in, l: l, listing: listing}
	p.b.Grow(64)
	p.b.WriteString(in.Op.String())
	p.b.WriteString(p.suffix())
	for _, s := range l.slots {
		p.slot(s)
	}
	p.modifiers()
	return p.b.String()
}

// printer accumulates the text of one instruction.
type printer struct {
	b  strings.Builder
	in *Inst
	l  *layout
	n  int // operands printed so far

	listing bool
}

// suffix names the encoding where the mnemonic has more than one.
func (p *printer) suffix() string {
	switch {
	case p.in.Sub == SubDPP:
		return "_dpp"
	case p.in.Sub == SubSDWA:
		return "_sdwa"
	case p.l.flags&fE32 == 0:
		return ""
	case p.in.E64 || p.in.Enc == VOP3:
		return "_e64"
	}
	return "_e32"
}

// operand starts one operand of the list.
func (p *printer) operand(text string) {
	if p.n > 0 {
		p.b.WriteByte(',')
	}
	p.n++
	p.b.WriteByte(' ')
	p.b.WriteString(text)
}

func (p *printer) mod(format string, args ...any) {
	p.b.WriteByte(' ')
	fmt.Fprintf(&p.b, format, args...)
}

func (p *printer) slot(s slot) {
	in := p.in
	switch s.kind {
	case 'D', 'R', 'A':
		// Direct-to-LDS loads have no register to name.
		if p.l.enc == MUBUF && in.Flags&LDSBit != 0 {
			return
		}
		p.reg(in.Dst, s)
	case 'q':
		if in.Flags&SC0 != 0 {
			p.reg(in.Dst, s)
		}
	case 'S':
		p.reg(in.SDst, s)
	case 'a', 'x':
		p.source(0, s)
	case 'b':
		p.source(1, s)
	case 'c':
		p.source(2, s)
	case 'd':
		p.reg(in.Src[3], s)
	case 'r':
		if p.l.enc == SMEM {
			p.reg(in.Src[2], s)
		} else {
			p.reg(in.Src[3], s)
		}
	case 's', 't':
		p.reg(in.Scale[s.kind-'s'], s)
	case 'K':
		p.operand(p.literal())
	case 'o':
		p.smemOffset()
	case 'P':
		p.operand(simm16Text('N', uint16(in.Offset1)))
	case 'E':
		if in.Offset != 0 {
			p.operand(strconv.Itoa(int(in.Offset) & 0xffff))
		}
	default:
		p.operand(simm16Text(s.kind, uint16(in.Offset)))
	}
}

// literal prints the 32-bit literal as an operand of its own. LLVM spells
// s_setreg_imm32's like an inline constant where there is an equal one.
func (p *printer) literal() string {
	v := p.in.Literal
	if p.l.enc == SOPK {
		if n := int32(v); n >= -16 && n <= 64 {
			return strconv.Itoa(int(n))
		}
		for i, f := range inlineFloats {
			if math.Float32bits(float32(f)) == v {
				return specialRegs[ConstHalf+Reg(i)]
			}
		}
		if v == inv2PiBits {
			return ConstInv2Pi.text(1)
		}
	}
	return fmt.Sprintf("%#x", v)
}

// inv2PiBits is 1/(2 pi) in single precision, the value of ConstInv2Pi.
const inv2PiBits = 0x3e22f983

// source prints Src[i] with its modifiers.
func (p *printer) source(i int, s slot) {
	o := p.in.Src[i]
	switch p.l.enc {
	case VOP1, VOP2, VOPC, VOP3, VOP3P:
	default:
		p.reg(o, s)
		return
	}
	text := p.name(o, s)
	neg := o.Mod&Neg != 0
	abs := o.Mod&Abs != 0
	if p.l.enc == VOP3P {
		// Packed operands carry neg_lo and neg_hi as lists of their own.
		mix := p.l.flags&fMix != 0
		neg, abs = neg && mix, o.Mod&NegHi != 0 && mix
	}
	if abs {
		text = "|" + text + "|"
	} else if neg && o.Reg >= Const0 && o.Reg < V0 {
		p.operand("neg(" + text + ")")
		return
	}
	if neg {
		text = "-" + text
	}
	if o.Mod&Sext != 0 {
		text = "sext(" + text + ")"
	}
	p.operand(text)
}

func (p *printer) reg(o Operand, s slot) { p.operand(p.name(o, s)) }

// name is the operand without modifiers.
func (p *printer) name(o Operand, s slot) string {
	if !o.Present() {
		return "off"
	}
	if o.Reg == Literal {
		return fmt.Sprintf("%#x", p.in.Literal)
	}
	if p.listing && o.Reg >= ConstHalf && o.Reg <= ConstInv2Pi && p.half(s) {
		return fmt.Sprintf("%#x", inlineF16[o.Reg-ConstHalf])
	}
	n := int(o.N)
	if o.Reg == ConstInv2Pi {
		n = int(s.n)
		if p.l.enc == VOP3P { // a pair of 32-bit values, not a double
			n = 1
		}
	}
	return o.Reg.text(n)
}

var specialPairs = map[Reg]string{
	FlatScratchLo: "flat_scratch", XnackMaskLo: "xnack_mask", VCCLo: "vcc", ExecLo: "exec",
}

var specialRegs = map[Reg]string{
	FlatScratchLo: "flat_scratch_lo", FlatScratchLo + 1: "flat_scratch_hi",
	XnackMaskLo: "xnack_mask_lo", XnackMaskLo + 1: "xnack_mask_hi",
	VCCLo: "vcc_lo", VCCHi: "vcc_hi", M0: "m0", ExecLo: "exec_lo", ExecHi: "exec_hi",
	SharedBase: "src_shared_base", SharedLimit: "src_shared_limit",
	PrivateBase: "src_private_base", PrivateLimit: "src_private_limit",
	239:       "src_pops_exiting_wave_id",
	ConstHalf: "0.5", ConstHalf + 1: "-0.5", ConstHalf + 2: "1.0", ConstHalf + 3: "-1.0",
	ConstHalf + 4: "2.0", ConstHalf + 5: "-2.0", ConstHalf + 6: "4.0", ConstHalf + 7: "-4.0",
	VCCZ: "src_vccz", ExecZ: "src_execz", SCC: "src_scc", 254: "src_lds_direct",
}

// text names a range of n dwords that starts at r.
func (r Reg) text(n int) string {
	switch {
	case r.IsAGPR():
		return rangeText("a", r.Index(), n)
	case r.IsVGPR():
		return rangeText("v", r.Index(), n)
	case r < FlatScratchLo:
		return rangeText("s", int(r), n)
	case r >= Const0 && r <= 192:
		return strconv.Itoa(int(r - Const0))
	case r > 192 && r <= 208:
		return strconv.Itoa(192 - int(r))
	case r == ConstInv2Pi && n == 2:
		return "0.15915494309189532"
	case r == ConstInv2Pi:
		return "0.15915494"
	}
	if n == 2 {
		if s, ok := specialPairs[r]; ok {
			return s
		}
	}
	if s, ok := specialRegs[r]; ok {
		return s
	}
	if r >= TTMP0 && r < M0 {
		return rangeText("ttmp", int(r-TTMP0), n)
	}
	return fmt.Sprintf("invalid_%d", r)
}

// String names the first register of a range or the constant.
func (r Reg) String() string {
	if r == RegNone {
		return "off"
	}
	return r.text(1)
}

func rangeText(file string, first, n int) string {
	if n <= 1 {
		return file + strconv.Itoa(first)
	}
	return file + "[" + strconv.Itoa(first) + ":" + strconv.Itoa(first+n-1) + "]"
}

// smemOffset prints the offset forms of SMEM: an SGPR, an SGPR and an
// immediate, or an immediate alone.
func (p *printer) smemOffset() {
	in := p.in
	if in.Flags&SOffsetEn != 0 {
		p.reg(in.Src[1], slot{n: 1})
		return
	}
	if in.Offset < 0 {
		p.operand(fmt.Sprintf("-%#x", -in.Offset))
		return
	}
	p.operand(fmt.Sprintf("%#x", in.Offset))
}
