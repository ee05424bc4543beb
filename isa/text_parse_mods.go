package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// modSet remembers which modifiers were given, for those with a default that is
// not zero.
type modSet struct {
	opSelHi, dstUnused, format bool
}

// plainFlags are the modifiers that stand alone.
var plainFlags = map[string]Flags{
	"clamp": Clamp, "offen": Offen, "idxen": Idxen, "sc0": SC0, "sc1": SC1, "nt": NT,
	"lds": LDSBit, "gds": GDS, "glc": SC0, "nv": NV,
}

// omods are the output multipliers.
var omods = map[string]uint8{"mul:2": 1, "mul:4": 2, "div:2": 3}

// modifiers applies the modifier texts and then the defaults.
func (p *parser) modifiers(mods []string) error {
	in := &p.in
	if in.Sub == SubSDWA {
		in.Src0Sel = 6
		if p.l.enc != VOP1 {
			in.Src1Sel = 6
		}
		if p.l.enc != VOPC {
			in.DstSel = 6
		}
	}
	in.RowMask, in.BankMask = 15, 15
	for _, m := range mods {
		if f, ok := plainFlags[m]; ok {
			in.Flags |= f
			continue
		}
		if o, ok := omods[m]; ok {
			in.Omod = o
			continue
		}
		if ctrl, ok := parseDPPCtrl(m); ok {
			in.DPPCtrl, in.Sub = ctrl, SubDPP
			continue
		}
		key, value, ok := strings.Cut(m, ":")
		if !ok {
			return fmt.Errorf("unknown modifier %q", m)
		}
		if err := p.modifier(key, value); err != nil {
			return fmt.Errorf("modifier %q: %w", m, err)
		}
	}
	p.defaults()
	return nil
}

func (p *parser) defaults() {
	in := &p.in
	if in.Sub != SubDPP {
		in.RowMask, in.BankMask = 0, 0
	}
	if in.Sub == SubSDWA && p.l.enc != VOPC && p.l.flags&fNoDstSel == 0 && !p.mods.dstUnused {
		in.DstUnused = 2 // LLVM preserves the rest of the register
	}
	if !p.mods.opSelHi && p.l.flags&fMix == 0 && (p.l.enc == VOP3P || in.Op == V_MFMA_LD_SCALE_B32) {
		in.OpSelHi = 7
	}
	if p.l.enc == MTBUF && !p.mods.format {
		in.Offset1 = 1
	}
}

func (p *parser) modifier(key, value string) error {
	in := &p.in
	switch key {
	case "op_sel", "op_sel_hi", "neg_lo", "neg_hi", "neg":
		return p.listModifier(key, value)
	case "dst_sel", "src0_sel", "src1_sel", "dst_unused":
		return p.selModifier(key, value)
	case "format":
		p.mods.format = true
		f, err := parseFormat(value)
		in.Offset1 = f
		return err
	case "offset":
		if strings.HasPrefix(value, "swizzle(") {
			v, err := parseSwizzle(value)
			in.Offset = int32(v)
			return err
		}
	}
	v, err := parseInt(value)
	if err != nil {
		return err
	}
	switch key {
	case "offset":
		in.Offset = int32(v)
		if p.l.enc == SMEM {
			in.Flags |= ImmOffset
		}
	case "offset0":
		in.Offset = int32(v)
	case "offset1":
		in.Offset1 = uint8(v)
	case "cbsz":
		in.CBSZ = uint8(v)
	case "abid":
		in.ABID = uint8(v)
	case "blgp":
		in.BLGP = uint8(v)
	case "bitop3":
		in.Bitop3 = uint8(v)
	case "row_mask":
		in.RowMask = uint8(v)
	case "bank_mask":
		in.BankMask = uint8(v)
	case "bound_ctrl":
		// LLVM accepts 0 and 1 for the same bit.
		if in.Op == V_PERMLANE16_SWAP_B32 || in.Op == V_PERMLANE32_SWAP_B32 {
			in.OpSel |= 2
		} else {
			in.Flags |= BoundCtrl
		}
	case "fi":
		in.OpSel |= uint8(v & 1)
	default:
		return fmt.Errorf("unknown")
	}
	return nil
}

// listModifier reads a bit list such as op_sel:[0,1].
func (p *parser) listModifier(key, value string) error {
	in := &p.in
	if !wrapped(&value, "[", "]") {
		return fmt.Errorf("want a list in brackets")
	}
	var bits uint8
	n := 0
	for _, f := range strings.Split(value, ",") {
		f = strings.TrimSpace(f)
		if f != "0" && f != "1" || n == 4 {
			return fmt.Errorf("want at most 4 bits")
		}
		bits |= (f[0] - '0') << n
		n++
	}
	switch key {
	case "op_sel":
		if w := p.l.opSelWidth(); p.l.enc != VOP3P && p.l.enc != MAI && w == n && n < 4 {
			// The last element is the destination, which sits in bit 3.
			bits = bits&(1<<(n-1)-1) | bits>>(n-1)<<3
		}
		in.OpSel = bits
	case "op_sel_hi":
		p.mods.opSelHi = true
		in.OpSelHi = bits
		if p.l.enc == VOP3P && p.l.flags&fMix == 0 || in.Op == V_MFMA_LD_SCALE_B32 {
			in.OpSelHi |= 7 &^ (1<<n - 1)
		}
		if p.l.has('s') {
			in.OpSelHi &= 3
		}
	case "neg":
		in.BLGP = bits & 7
	case "neg_lo":
		p.modBits(bits, Neg)
	case "neg_hi":
		p.modBits(bits, NegHi)
	}
	return nil
}

// modBits keeps the modifier bits until the operands are read.
func (p *parser) modBits(bits uint8, m OpMod) {
	for i := range 3 {
		if bits>>i&1 != 0 {
			p.pending[i] |= m
		}
	}
}

func (p *parser) selModifier(key, value string) error {
	in := &p.in
	names := sdwaSel[:]
	if key == "dst_unused" {
		names = sdwaUnused[:]
	}
	for i, n := range names {
		if n != value {
			continue
		}
		switch key {
		case "dst_sel":
			in.DstSel = uint8(i)
		case "src0_sel":
			in.Src0Sel = uint8(i)
		case "src1_sel":
			in.Src1Sel = uint8(i)
		case "dst_unused":
			in.DstUnused, p.mods.dstUnused = uint8(i), true
		}
		return nil
	}
	return fmt.Errorf("unknown select")
}

// parseDPPCtrl reads a DPP control, the inverse of dppCtrlText.
func parseDPPCtrl(m string) (uint16, bool) {
	for _, n := range dppNames {
		if n.name == m {
			return n.code, true
		}
	}
	key, value, _ := strings.Cut(m, ":")
	if key == "quad_perm" {
		v, err := smallInts(strings.Trim(value, "[]"), 4, 3)
		if err != nil {
			return 0, false
		}
		return v[0] | v[1]<<2 | v[2]<<4 | v[3]<<6, true
	}
	base, ok := map[string]uint16{"row_shl": 0x100, "row_shr": 0x110, "row_ror": 0x120, "row_newbcast": 0x150}[key]
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseUint(value, 0, 4)
	if v == 0 && key != "row_newbcast" {
		return 0, false // a shift by nothing has no code
	}
	return base + uint16(v), err == nil
}

// smallInts reads n integers of at most max, separated by commas.
func smallInts(s string, n int, max uint64) ([]uint16, error) {
	f := strings.Split(s, ",")
	if len(f) != n {
		return nil, fmt.Errorf("want %d values in %q", n, s)
	}
	v := make([]uint16, n)
	for i := range f {
		x, err := strconv.ParseUint(strings.TrimSpace(f[i]), 0, 16)
		if err != nil || x > max {
			return nil, fmt.Errorf("want values of 0..%d in %q", max, s)
		}
		v[i] = uint16(x)
	}
	return v, nil
}
