package isa

import "strings"

// half reports a slot whose inline floats LLVM's disassembler prints as f16 bits:
// a source of a 16-bit integer operation. Its assembler takes the same bits for a
// literal in the short encodings and refuses them in VOP3, so Text, which must
// assemble to the same bytes, keeps the float.
func (p *printer) half(s slot) bool {
	if s.kind == 'c' && (p.l.op == V_MAD_I32_I16 || p.l.op == V_MAD_U32_U16) {
		return false // the addend has 32 bits
	}
	return p.l.enc != VOP3P && integer16(p.l.op)
}

// integer16 reports a vector operation with 16-bit integer sources, the packed
// ones, sums of differences and dot products left out.
func integer16(op Op) bool {
	s, isVector := strings.CutPrefix(op.String(), "v_")
	if !isVector || !(strings.HasSuffix(s, "_i16") || strings.HasSuffix(s, "_u16") || strings.HasSuffix(s, "_b16")) {
		return false
	}
	for _, p := range [...]string{"cvt_", "sad_", "sat_", "dot", "pk_"} {
		if strings.HasPrefix(s, p) {
			return op == V_CVT_F16_I16 || op == V_CVT_F16_U16
		}
	}
	return true
}
