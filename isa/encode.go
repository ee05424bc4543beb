package isa

import (
	"encoding/binary"
	"fmt"
)

// Encode returns the machine code of an instruction: 4, 8, 12 or 16 bytes.
func Encode(cpu CPU, in *Inst) ([]byte, error) {
	l := lookup(cpu, in.Op)
	if l == nil {
		if in.Op.IsExtension() {
			return nil, errExtension(in.Op)
		}
		return nil, fmt.Errorf("isa: %v is not on %v", in.Op, cpu)
	}
	e := encoder{in: in, l: l}
	e.buf = e.words[:0]
	switch l.enc {
	case SOP1, SOP2, SOPC, SOPK, SOPP:
		e.scalar()
	case SMEM:
		e.smem()
	case VOP1, VOP2, VOPC:
		switch {
		case in.Sub == SubSDWA:
			e.sdwa()
		case in.Sub == SubDPP:
			e.dpp()
		case in.E64 || in.Enc == VOP3:
			e.vop3()
		default:
			e.short(e.src(0))
		}
	case VOP3:
		e.vop3()
	case VOP3P:
		e.packed()
	case MAI:
		e.matrix()
	case DS:
		e.ds()
	case MUBUF, MTBUF:
		e.buffer()
	case FLAT:
		e.flat()
	}
	e.widths()
	if e.literal {
		if len(e.buf) != 1 {
			e.fail("a literal needs a 4-byte encoding")
		}
		e.emit(in.Literal)
	}
	if e.err != nil {
		return nil, fmt.Errorf("isa: %v: %s: %w", cpu, in.Text(cpu), e.err)
	}
	b := make([]byte, 0, 16)
	for _, w := range e.buf {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b, nil
}

// widths refuses registers of another width than the opcode works on: the
// encoding holds only the first register, so the mistake would vanish.
func (e *encoder) widths() {
	for _, s := range e.l.slots {
		o := e.in.operandOf(e.l, s.kind)
		if s.n == 0 || !o.Present() || o.Reg.IsConst() {
			continue
		}
		want := s.n
		switch {
		case s.kind == 'a' && e.l.flags&fF8F6F4 != 0:
			want = f8f6f4Dwords[e.in.CBSZ&7]
		case s.kind == 'b' && e.l.flags&fF8F6F4 != 0:
			want = f8f6f4Dwords[e.in.BLGP&7]
		case s.kind == 'a' && e.l.flags&fGlobal != 0 && e.in.Src[1].Present():
			want = 1 // a 32-bit offset from the scalar base
		case s.kind == 'a' && (e.l.enc == MUBUF || e.l.enc == MTBUF):
			want = bitCount(e.in.Flags&Offen != 0, e.in.Flags&Idxen != 0)
		}
		if o.N != want {
			e.fail("operand %s has %d dwords, want %d", o.Reg.text(int(o.N)), o.N, want)
		}
	}
}

// encoder accumulates the dwords of one instruction.
type encoder struct {
	in      *Inst
	l       *layout
	words   [4]uint32
	buf     []uint32
	literal bool
	err     error
}

func (e *encoder) emit(w ...uint32) { e.buf = append(e.buf, w...) }

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

// check refuses register ranges that the hardware cannot name: past the end of
// their file, or not aligned (vector pairs to 2 since gfx90a, scalar pairs to 2
// and longer scalar ranges to 4).
func (o Operand) check() error {
	if o.N <= 1 {
		return nil
	}
	n := int(o.N)
	switch {
	case o.Reg.IsVector():
		if o.Reg.Index()+n > 256 {
			return fmt.Errorf("register range %s leaves the file", o.Reg.text(n))
		}
		if o.Reg&1 != 0 {
			return fmt.Errorf("register range %s is not aligned to 2", o.Reg.text(n))
		}
	case o.Reg.IsSGPR():
		base := o.Reg
		if base >= TTMP0 && base < M0 {
			base -= TTMP0
		}
		if base&1 != 0 || n > 2 && base&3 != 0 {
			return fmt.Errorf("register range %s is not aligned to %d", o.Reg.text(n), min(n, 4))
		}
		if int(o.Reg)+n > NumSGPRs {
			return fmt.Errorf("register range %s leaves the file", o.Reg.text(n))
		}
	}
	return nil
}

// reg9 is the 9-bit source code. Accumulation registers share the codes of
// the vector registers; acc bits elsewhere tell them apart.
func (e *encoder) reg9(o Operand) uint32 {
	if !o.Present() {
		return 0
	}
	if err := o.check(); err != nil {
		e.fail("%w", err)
	}
	if o.Reg == Literal {
		e.literal = true
	}
	if o.Reg.IsAGPR() {
		return uint32(o.Reg - V0)
	}
	return uint32(o.Reg)
}

// vreg is the 8-bit code of a vector register.
func (e *encoder) vreg(o Operand, what string) uint32 {
	if !o.Present() {
		return 0
	}
	if !o.Reg.IsVector() {
		e.fail("%s must be a vector register, not %v", what, o.Reg)
	}
	return e.reg9(o) & 0xff
}

// sreg is the 7-bit code of a scalar register.
func (e *encoder) sreg(o Operand, what string) uint32 {
	if !o.Present() {
		return 0
	}
	if !o.Reg.IsSGPR() {
		e.fail("%s must be a scalar register, not %v", what, o.Reg)
	}
	return e.reg9(o) & 0x7f
}

// code8 is the 8-bit code of a scalar source: register, constant or literal.
func (e *encoder) code8(o Operand, what string) uint32 {
	if o.Present() && o.Reg >= V0 {
		e.fail("%s must be scalar, not %v", what, o.Reg)
	}
	return e.reg9(o) & 0xff
}

func (e *encoder) src(i int) uint32 { return e.reg9(e.in.Src[i]) }

func (e *encoder) bit(f Flags, pos int) uint32 {
	if e.in.Flags&f != 0 {
		return 1 << pos
	}
	return 0
}

func (e *encoder) scalar() {
	in, op := e.in, uint32(e.l.code)
	switch e.l.enc {
	case SOP1:
		e.emit(0xbe800000 | e.sreg(in.Dst, "destination")<<16 | op<<8 | e.code8(in.Src[0], "source"))
	case SOP2:
		e.emit(0x80000000 | op<<23 | e.sreg(in.Dst, "destination")<<16 |
			e.code8(in.Src[1], "source 1")<<8 | e.code8(in.Src[0], "source 0"))
	case SOPC:
		s1 := e.code8(in.Src[1], "source 1")
		if e.l.has('G') {
			s1 = uint32(in.Offset) & 0xff
		}
		e.emit(0xbf000000 | op<<16 | s1<<8 | e.code8(in.Src[0], "source 0"))
	case SOPK:
		r := e.sreg(in.Dst, "destination")
		if e.l.has('a') {
			r = e.sreg(in.Src[0], "source")
		}
		e.emit(0xb0000000 | op<<23 | r<<16 | uint32(in.Offset)&0xffff)
		e.literal = e.l.has('K')
	case SOPP:
		e.emit(0xbf800000 | op<<16 | uint32(in.Offset)&0xffff)
	}
}

func (e *encoder) smem() {
	in := e.in
	data := in.Dst
	if e.l.has('c') || e.l.has('r') {
		data = in.Src[2]
	}
	w := 0xc0000000 | uint32(e.l.code)<<18 | e.bit(SC0, 16) | e.bit(NV, 15) | e.sreg(data, "data")<<6
	if e.l.has('P') {
		w |= uint32(in.Offset1) & 0x7f << 6
	}
	w |= e.sreg(in.Src[0], "base") >> 1
	var hi uint32
	soff := in.Flags&SOffsetEn != 0
	switch {
	case !e.l.has('o'):
	case soff && in.Flags&ImmOffset == 0:
		hi = e.sreg(in.Src[1], "offset")
	default:
		if in.Offset < -1<<20 || in.Offset >= 1<<20 {
			e.fail("offset %d does not fit 21 bits", in.Offset)
		}
		w |= 1 << 17
		hi = uint32(in.Offset) & 0x1fffff
		if soff {
			w |= 1 << 14
			hi |= e.sreg(in.Src[1], "offset") << 25
		}
	}
	e.emit(w, hi)
}
