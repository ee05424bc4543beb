package isa

import (
	"fmt"
	"strings"
)

// modifiers prints everything after the operand list.
func (p *printer) modifiers() {
	in := p.in
	switch {
	case in.Sub == SubDPP:
		p.dpp()
	case in.Sub == SubSDWA:
		p.outputMods()
		p.sdwa()
	default:
		switch p.l.enc {
		case VOP1, VOP2, VOPC, VOP3:
			p.vop3()
		case VOP3P:
			p.packed()
		case MAI:
			p.matrix()
		case DS:
			p.ds()
		case MUBUF, MTBUF:
			p.buffer()
		case FLAT:
			if in.Offset != 0 {
				p.mod("offset:%d", in.Offset)
			}
			p.cachePolicy()
		case SMEM:
			if in.Flags&SOffsetEn != 0 && in.Flags&ImmOffset != 0 {
				p.mod("offset:%s", signedHex(in.Offset))
			}
			p.flag(SC0, "glc")
			p.flag(NV, "nv")
		}
	}
}

func signedHex(v int32) string {
	if v < 0 {
		return fmt.Sprintf("-%#x", -v)
	}
	return fmt.Sprintf("%#x", v)
}

func (p *printer) flag(f Flags, name string) {
	if p.in.Flags&f != 0 {
		p.b.WriteByte(' ')
		p.b.WriteString(name)
	}
}

func (p *printer) cachePolicy() {
	p.flag(SC0, "sc0")
	p.flag(NT, "nt")
	p.flag(SC1, "sc1")
}

// outputMods prints clamp and the output multiplier.
func (p *printer) outputMods() {
	p.flag(Clamp, "clamp")
	switch p.in.Omod {
	case 1:
		p.mod("mul:2")
	case 2:
		p.mod("mul:4")
	case 3:
		p.mod("div:2")
	}
}

func (p *printer) vop3() {
	in := p.in
	if p.isBitop3() && in.Bitop3 != 0 {
		if in.Bitop3 <= 10 {
			p.mod("bitop3:%d", in.Bitop3)
		} else {
			p.mod("bitop3:%#x", in.Bitop3)
		}
	}
	if p.isPermSwap() {
		if in.OpSel&2 != 0 {
			p.mod("bound_ctrl:1")
		}
		if in.OpSel&1 != 0 {
			p.mod("fi:1")
		}
		return
	}
	if n := p.l.opSelWidth(); n > 0 && in.OpSel != 0 {
		bits := make([]uint8, n)
		for i := range bits {
			bits[i] = in.OpSel >> i & 1
		}
		// The destination is bit 3 whatever the number of sources.
		bits[n-1] = in.OpSel >> 3 & 1
		p.list("op_sel", bits)
	}
	p.outputMods()
}

// opSelWidth is the length of the VOP3 op_sel list, destination included.
func (l *layout) opSelWidth() int {
	switch {
	case l.flags&fOpSel4 != 0:
		return 4
	case l.flags&fOpSel != 0:
		return l.nsrc + 1
	}
	return 0
}

func (p *printer) isBitop3() bool {
	return p.in.Op == V_BITOP3_B32 || p.in.Op == V_BITOP3_B16
}

func (p *printer) isPermSwap() bool {
	return p.in.Op == V_PERMLANE16_SWAP_B32 || p.in.Op == V_PERMLANE32_SWAP_B32
}

func (p *printer) list(name string, bits []uint8) {
	p.b.WriteByte(' ')
	p.b.WriteString(name)
	p.b.WriteString(":[")
	for i, b := range bits {
		if i > 0 {
			p.b.WriteByte(',')
		}
		p.b.WriteByte('0' + b)
	}
	p.b.WriteByte(']')
}

// bitList prints the low n bits of v unless they all equal the default.
func (p *printer) bitList(name string, v uint8, n int, def uint8) {
	mask := uint8(1)<<n - 1
	if v&mask == def&mask {
		return
	}
	bits := make([]uint8, n)
	for i := range bits {
		bits[i] = v >> i & 1
	}
	p.list(name, bits)
}

func (p *printer) packed() {
	in, n := p.in, p.l.nsrc
	p.bitList("op_sel", in.OpSel, n, 0)
	if p.l.flags&fMix != 0 {
		p.bitList("op_sel_hi", in.OpSelHi, n, 0)
	} else {
		p.bitList("op_sel_hi", in.OpSelHi, n, 7)
		p.bitList("neg_lo", in.modBits(Neg), n, 0)
		p.bitList("neg_hi", in.modBits(NegHi), n, 0)
	}
	p.flag(Clamp, "clamp")
}

// modBits gathers one source modifier of Src[0..2] into a bit set.
func (in *Inst) modBits(m OpMod) uint8 {
	var v uint8
	for i := range 3 {
		if in.Src[i].Mod&m != 0 {
			v |= 1 << i
		}
	}
	return v
}

func (p *printer) matrix() {
	in := p.in
	if in.Op == V_MFMA_LD_SCALE_B32 {
		p.bitList("op_sel", in.OpSel, 2, 0)
		p.bitList("op_sel_hi", in.OpSelHi, 2, 3)
		return
	}
	if p.l.has('s') {
		// The third element has no operand; LLVM prints it as 0, so the list
		// of high selects is never the default.
		p.bitList("op_sel", in.OpSel&3, 3, 0)
		p.bitList("op_sel_hi", in.OpSelHi&3, 3, 7)
	}
	if in.CBSZ != 0 {
		p.mod("cbsz:%d", in.CBSZ)
	}
	if in.ABID != 0 {
		p.mod("abid:%d", in.ABID)
	}
	if p.l.flags&fNegBLGP != 0 {
		p.bitList("neg", in.BLGP, 3, 0)
	} else if in.BLGP != 0 {
		p.mod("blgp:%d", in.BLGP)
	}
}

func (p *printer) ds() {
	in := p.in
	switch {
	case p.l.flags&fTwoAddr != 0:
		if in.Offset != 0 {
			p.mod("offset0:%d", in.Offset)
		}
		if in.Offset1 != 0 {
			p.mod("offset1:%d", in.Offset1)
		}
	case in.Offset == 0:
	case in.Op == DS_SWIZZLE_B32:
		p.mod("offset:%s", swizzleText(uint16(in.Offset)))
	default:
		p.mod("offset:%d", in.Offset)
	}
	p.flag(GDS, "gds")
}

func (p *printer) buffer() {
	in := p.in
	if p.l.enc == MTBUF {
		if f := tbufferFormat(in.Offset1); f != "" {
			p.mod("format:[%s]", f)
		}
	}
	p.flag(Idxen, "idxen")
	p.flag(Offen, "offen")
	if in.Offset != 0 {
		p.mod("offset:%d", in.Offset)
	}
	p.cachePolicy()
	p.flag(LDSBit, "lds")
}

var sdwaSel = [...]string{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"}
var sdwaUnused = [...]string{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"}

func pickName(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("invalid_%d", i)
}

func (p *printer) sdwa() {
	in := p.in
	if p.l.enc != VOPC && p.l.flags&fNoDstSel == 0 {
		p.mod("dst_sel:%s dst_unused:%s", pickName(sdwaSel[:], in.DstSel), pickName(sdwaUnused[:], in.DstUnused))
	}
	p.mod("src0_sel:%s", pickName(sdwaSel[:], in.Src0Sel))
	if p.l.has('b') {
		p.mod("src1_sel:%s", pickName(sdwaSel[:], in.Src1Sel))
	}
}

func (p *printer) dpp() {
	in := p.in
	p.mod("%s row_mask:%#x bank_mask:%#x", dppCtrlText(in.DPPCtrl), in.RowMask, in.BankMask)
	p.flag(BoundCtrl, "bound_ctrl:1")
}

// dppCtrlText names a DPP_CTRL value.
func dppCtrlText(c uint16) string {
	switch {
	case c < 0x100:
		return fmt.Sprintf("quad_perm:[%d,%d,%d,%d]", c&3, c>>2&3, c>>4&3, c>>6&3)
	case c > 0x100 && c < 0x110:
		return fmt.Sprintf("row_shl:%d", c&15)
	case c > 0x110 && c < 0x120:
		return fmt.Sprintf("row_shr:%d", c&15)
	case c > 0x120 && c < 0x130:
		return fmt.Sprintf("row_ror:%d", c&15)
	case c >= 0x150 && c < 0x160:
		return fmt.Sprintf("row_newbcast:%d", c&15)
	}
	for _, n := range dppNames {
		if n.code == c {
			return n.name
		}
	}
	return fmt.Sprintf("invalid_%#x", c)
}

var dppNames = [...]struct {
	code uint16
	name string
}{
	{0x130, "wave_shl:1"}, {0x134, "wave_rol:1"}, {0x138, "wave_shr:1"}, {0x13c, "wave_ror:1"},
	{0x140, "row_mirror"}, {0x141, "row_half_mirror"}, {0x142, "row_bcast:15"}, {0x143, "row_bcast:31"},
}

// swizzleText names a DS_SWIZZLE pattern; the forms are tried in LLVM's order.
func swizzleText(v uint16) string {
	switch {
	case v >= 0xe000:
		return fmt.Sprintf("swizzle(FFT,%d)", v&31)
	case v >= 0xc000:
		return fmt.Sprintf("swizzle(ROTATE,%d,%d)", v>>10&1, v>>5&31)
	case v >= 0x8000 && v < 0x8100:
		return fmt.Sprintf("swizzle(QUAD_PERM,%d,%d,%d,%d)", v&3, v>>2&3, v>>4&3, v>>6&3)
	case v >= 0x8000:
		return fmt.Sprint(v)
	}
	and, or, xor := v&31, v>>5&31, v>>10&31
	if and == 31 && or == 0 && xor != 0 {
		if xor&(xor-1) == 0 {
			return fmt.Sprintf("swizzle(SWAP,%d)", xor)
		}
		if xor&(xor+1) == 0 {
			return fmt.Sprintf("swizzle(REVERSE,%d)", xor+1)
		}
	}
	if group := 32 - and; and != 31 && group&(group-1) == 0 && or < group && xor == 0 {
		return fmt.Sprintf("swizzle(BROADCAST,%d,%d)", group, or)
	}
	var s strings.Builder
	for bit := 4; bit >= 0; bit-- {
		s.WriteByte(swizzleBit(and>>bit&1, or>>bit&1, xor>>bit&1))
	}
	return fmt.Sprintf("swizzle(BITMASK_PERM,%q)", s.String())
}

// swizzleBit is what the masks make of a lane number's bit: preserved,
// inverted, 0 or 1.
func swizzleBit(and, or, xor uint16) byte {
	at0, at1 := or^xor, (and|or)^xor
	switch {
	case at0 == 0 && at1 == 1:
		return 'p'
	case at0 == 1 && at1 == 0:
		return 'i'
	}
	return '0' + byte(at0)
}
