package isa

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrTruncated means that the bytes end inside an instruction.
var ErrTruncated = errors.New("truncated instruction")

// Decode reads the instruction at the start of b. Inst.Size is its length;
// Inst.PC is 0 and Inst.Target -1, since neither is in the bytes.
func Decode(cpu CPU, b []byte) (Inst, error) {
	d := decoder{cpu: cpu, bytes: b}
	d.in.Target = -1
	w, err := d.next()
	if err == nil {
		err = d.dispatch(w)
	}
	if err == nil {
		err = d.err
	}
	if err != nil {
		return Inst{}, fmt.Errorf("isa: %v: % x: %w", cpu, b[:min(len(b), 8)], err)
	}
	d.in.Size = uint8(d.pos)
	return d.in, nil
}

// DecodeAll decodes code from its first byte to its last, sets Inst.PC and
// resolves branch targets to instruction indices; a branch out of the code
// keeps Target -1.
func DecodeAll(cpu CPU, code []byte) ([]Inst, error) {
	insts := make([]Inst, 0, len(code)/6)
	at := make(map[uint32]int32, len(code)/6)
	for pc := 0; pc < len(code); {
		in, err := Decode(cpu, code[pc:])
		if err != nil {
			return nil, fmt.Errorf("pc %#x: %w", pc, err)
		}
		in.PC = uint32(pc)
		at[in.PC] = int32(len(insts))
		pc += int(in.Size)
		insts = append(insts, in)
	}
	for i := range insts {
		in := &insts[i]
		if !byOp[in.Op].has('B') {
			continue
		}
		if t, ok := at[in.PC+4+uint32(int32(int16(in.Offset))*4)]; ok {
			in.Target = t
		}
	}
	return insts, nil
}

// decoder reads the dwords of one instruction.
type decoder struct {
	cpu   CPU
	bytes []byte
	pos   int
	in    Inst
	l     *layout
	err   error
}

func (d *decoder) next() (uint32, error) {
	if len(d.bytes)-d.pos < 4 {
		return 0, ErrTruncated
	}
	w := binary.LittleEndian.Uint32(d.bytes[d.pos:])
	d.pos += 4
	return w, nil
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

// find selects the row of an opcode.
func (d *decoder) find(enc Enc, seg uint8, code uint32) error {
	l := byCode[codeKey{d.cpu, enc, seg, uint16(code)}]
	if l == nil {
		return fmt.Errorf("no %v opcode %#x", enc, code)
	}
	d.l = l
	d.in.Op, d.in.Enc = l.op, l.enc
	return nil
}

var encNames = [...]string{"invalid", "SOP1", "SOP2", "SOPK", "SOPC", "SOPP", "SMEM", "VOP1", "VOP2",
	"VOPC", "VOP3", "VOP3P", "MAI", "DS", "MUBUF", "FLAT", "MTBUF"}

// String returns the encoding's name in the ISA documents.
func (e Enc) String() string {
	if int(e) < len(encNames) {
		return encNames[e]
	}
	return "invalid"
}

// dispatch tells the encodings apart by their leading bits.
func (d *decoder) dispatch(w uint32) error {
	switch {
	case w>>31 == 0:
		return d.short(w)
	case w>>30 == 2:
		return d.scalar(w)
	}
	hi, err := d.next()
	if err != nil {
		return err
	}
	switch w >> 26 {
	case 0x30:
		return d.smem(w, hi)
	case 0x34:
		if w>>23 == 0x1a7 {
			return d.packed(w, hi)
		}
		return d.vop3(w, hi)
	case 0x36:
		return d.ds(w, hi)
	case 0x37:
		return d.flat(w, hi)
	case 0x38, 0x3a:
		return d.buffer(w, hi)
	}
	return fmt.Errorf("unknown encoding %#x", w>>26)
}

// slotDwords is the operand size that the signature gives a slot.
func (d *decoder) slotDwords(kind byte) uint8 {
	for _, s := range d.l.slots {
		if s.kind == kind {
			return s.n
		}
	}
	return 0
}

// operand makes the operand of a slot from its register; a slot that the
// opcode lacks stays absent.
func (d *decoder) operand(kind byte, r Reg) Operand {
	n := d.slotDwords(kind)
	if n == 0 {
		return Operand{}
	}
	return d.ranged(r, n)
}

func (d *decoder) ranged(r Reg, n uint8) Operand {
	o := Operand{Reg: r, N: n}
	if !r.valid() {
		d.fail("source code %d is reserved", r)
	}
	if r == Literal && !d.literalAllowed() {
		d.fail("%v takes no literal", d.l.enc)
	}
	if err := o.check(); err != nil {
		d.fail("%w", err)
	}
	return o
}

// literalAllowed reports whether the encoding being read can be followed by a
// literal.
func (d *decoder) literalAllowed() bool {
	switch d.l.enc {
	case SOP1, SOP2, SOPC:
		return true
	case VOP1, VOP2, VOPC:
		return !d.in.E64 && d.in.Sub == SubNone
	}
	return false
}

// valid reports whether a source code names something.
func (r Reg) valid() bool {
	switch {
	case r == 125, r > 208 && r < SharedBase, r > ConstInv2Pi && r < VCCZ, r == 254:
		return false
	}
	return r < A0+256
}

// wantLiteral reads the literal when a source announced one.
func (d *decoder) wantLiteral() error {
	lit := d.l.has('K')
	for _, o := range d.in.Src {
		lit = lit || o.Present() && o.Reg == Literal
	}
	if !lit {
		return nil
	}
	w, err := d.next()
	d.in.Literal = w
	return err
}

func (d *decoder) scalar(w uint32) error {
	in := &d.in
	dst, s0, s1 := Reg(w>>16&0x7f), Reg(w&0xff), Reg(w>>8&0xff)
	imm := int32(int16(w))
	switch {
	case w>>23 == 0x17f:
		if err := d.find(SOPP, 0, w>>16&0x7f); err != nil {
			return err
		}
		in.Offset = imm
		return nil
	case w>>23 == 0x17d:
		if err := d.find(SOP1, 0, w>>8&0xff); err != nil {
			return err
		}
		in.Dst, in.Src[0] = d.operand('D', dst), d.operand('a', s0)
	case w>>23 == 0x17e:
		if err := d.find(SOPC, 0, w>>16&0x7f); err != nil {
			return err
		}
		in.Src[0], in.Src[1] = d.operand('a', s0), d.operand('b', s1)
		if d.l.has('G') {
			in.Offset = int32(s1)
		}
	case w>>28 == 0xb:
		if err := d.find(SOPK, 0, w>>23&0x1f); err != nil {
			return err
		}
		in.Dst, in.Src[0], in.Offset = d.operand('D', dst), d.operand('a', dst), imm
	default:
		if err := d.find(SOP2, 0, w>>23&0x7f); err != nil {
			return err
		}
		in.Dst, in.Src[0], in.Src[1] = d.operand('D', dst), d.operand('a', s0), d.operand('b', s1)
	}
	return d.wantLiteral()
}

func (d *decoder) smem(w, hi uint32) error {
	if err := d.find(SMEM, 0, w>>18&0xff); err != nil {
		return err
	}
	in := &d.in
	data := Reg(w >> 6 & 0x7f)
	in.Dst, in.Src[2] = d.operand('D', data), d.operand('c', data)
	in.Src[0] = d.operand('a', Reg(w&0x3f<<1))
	d.flag(w>>16, SC0)
	d.flag(w>>15, NV)
	if d.l.has('r') {
		in.Src[2] = d.operand('r', data)
		if in.Flags&SC0 != 0 {
			in.Dst = in.Src[2]
			if d.l.compareSwap() {
				in.Dst.N /= 2
			}
		}
	}
	if d.l.has('P') {
		in.Offset1 = uint8(data)
	}
	if !d.l.has('o') {
		return nil
	}
	imm, soff := w>>17&1 != 0, w>>14&1 != 0
	switch {
	case imm:
		in.Flags |= ImmOffset
		in.Offset = int32(hi<<11) >> 11
		if soff {
			in.Flags |= SOffsetEn
			in.Src[1] = d.ranged(Reg(hi>>25), 1)
		}
	case soff:
		in.Flags |= SOffsetEn
		in.Src[1] = d.ranged(Reg(hi>>25), 1)
	default:
		in.Flags |= SOffsetEn
		in.Src[1] = d.ranged(Reg(hi&0x7f), 1)
	}
	return nil
}

// flag sets f when the low bit of v is set.
func (d *decoder) flag(v uint32, f Flags) {
	if v&1 != 0 {
		d.in.Flags |= f
	}
}
