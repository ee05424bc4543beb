package isa

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Parse reads one instruction in LLVM's assembly syntax. A mnemonic without an
// encoding suffix takes the shortest encoding that holds its operands. Branch
// targets are distances in dwords, as LLVM's disassembler prints them.
func Parse(cpu CPU, text string) (Inst, error) {
	p := parser{cpu: cpu}
	p.in.Target = -1
	if err := p.parse(text); err != nil {
		return Inst{}, fmt.Errorf("isa: %v: %q: %w", cpu, text, err)
	}
	return p.in, nil
}

// parser builds one instruction from its text.
type parser struct {
	cpu    CPU
	in     Inst
	l      *layout
	suffix string
	mods   modSet

	pending [3]OpMod // neg_lo and neg_hi, for the operands to come
}

func (p *parser) parse(text string) error {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	if err := p.opcode(name); err != nil {
		return err
	}
	operands, mods := splitOperands(rest, len(p.l.slots) > 0)
	if p.l.has('W') {
		operands, mods = []string{rest}, nil
	}
	if err := p.modifiers(mods); err != nil {
		return err
	}
	if err := p.operands(operands); err != nil {
		return err
	}
	return p.finish()
}

// opcode resolves the mnemonic and its encoding suffix.
func (p *parser) opcode(name string) error {
	op, ok := mnemonic[name]
	if !ok {
		base := name
		for _, s := range [...]string{"_e32", "_e64", "_dpp", "_sdwa"} {
			if b, cut := strings.CutSuffix(name, s); cut {
				base, p.suffix = b, s
				break
			}
		}
		if op, ok = mnemonic[base]; !ok {
			op, ok = oldMatrixName(base)
		}
	}
	if !ok {
		return fmt.Errorf("unknown mnemonic %q", name)
	}
	if p.l = lookup(p.cpu, op); p.l == nil {
		return fmt.Errorf("%v is not on this CPU", op)
	}
	f := map[string]rowFlags{"_e32": fE32, "_e64": fE64, "_dpp": fDPP, "_sdwa": fSDWA}[p.suffix]
	if p.suffix != "" && p.l.flags&f == 0 {
		return fmt.Errorf("%v has no %s form", op, p.suffix[1:])
	}
	in := &p.in
	in.Op, in.Enc = op, p.l.enc
	in.E64 = p.suffix == "_e64"
	switch p.suffix {
	case "_dpp":
		in.Sub = SubDPP
	case "_sdwa":
		in.Sub = SubSDWA
	}
	return nil
}

// oldMatrixName resolves the matrix mnemonics from before gfx940, which ran the
// type into the shape and left the block count out.
func oldMatrixName(name string) (Op, bool) {
	name = strings.TrimSuffix(name, "_1k")
	if !strings.HasPrefix(name, "v_mfma_") {
		return 0, false
	}
	for _, t := range [...]string{"xf32", "bf16", "f16", "f32", "f64", "i8"} {
		shape, ok := strings.CutSuffix(name, t)
		if !ok {
			continue
		}
		for _, blocks := range [...]string{"_", "_2b_", "_4b_", "_16b_"} {
			if op, ok := mnemonic[shape+blocks+t]; ok {
				return op, true
			}
		}
	}
	return 0, false
}

// splitOperands separates the operand list from the modifiers that follow it.
// Commas and spaces inside brackets do not separate.
func splitOperands(s string, hasOperands bool) (operands, mods []string) {
	depth, start := 0, 0
	inMods := !hasOperands
	cut := func(end int) {
		f := strings.TrimSpace(s[start:end])
		switch {
		case f == "":
		case inMods:
			mods = append(mods, f)
		default:
			operands = append(operands, f)
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case depth > 0:
		case c == ',' && !inMods:
			cut(i)
			start = i + 1
		case c == ' ' && strings.TrimSpace(s[start:i]) != "":
			// A space ends the operand list unless a comma follows.
			cut(i)
			if !strings.HasPrefix(strings.TrimLeft(s[i:], " "), ",") {
				inMods = true
			} else {
				i += strings.IndexByte(s[i:], ',')
			}
			start = i + 1
		}
	}
	cut(len(s))
	return operands, mods
}

// operands assigns the operand texts to the slots of the row.
func (p *parser) operands(texts []string) error {
	in := &p.in
	i := 0
	for _, s := range p.l.slots {
		switch {
		case s.kind == 'D' && p.l.enc == MUBUF && in.Flags&LDSBit != 0:
			continue
		case s.kind == 'q' && in.Flags&SC0 == 0:
			continue
		case s.kind == 'E' && i >= len(texts):
			continue
		case i >= len(texts):
			return fmt.Errorf("operand %d is missing", i+1)
		}
		if err := p.slot(s, texts[i]); err != nil {
			return fmt.Errorf("operand %d: %w", i+1, err)
		}
		i++
	}
	if i < len(texts) {
		return fmt.Errorf("%d operands, want %d", len(texts), i)
	}
	return nil
}

func (p *parser) slot(s slot, text string) (err error) {
	in := &p.in
	switch s.kind {
	case 'K':
		v, err := parseInt(text)
		if err != nil {
			f, ferr := strconv.ParseFloat(text, 32)
			if ferr != nil {
				return err
			}
			v = int64(math.Float32bits(float32(f)))
		}
		in.Literal = uint32(v)
		switch {
		case p.l.enc != VOP2:
		case p.l.has('b'):
			in.Src[2] = Operand{Reg: Literal, N: 1}
		default:
			in.Src[1] = Operand{Reg: Literal, N: 1}
		}
		return nil
	case 'o':
		return p.smemOffset(text)
	case 'P':
		v, err := parseInt(text)
		in.Offset1 = uint8(v)
		return err
	case 'I', 'N', 'B', 'E', 'H', 'G', 'W', 'M':
		v, err := parseSimm16(s.kind, text)
		in.Offset = int32(int16(v))
		if s.kind == 'G' && p.l.enc == SOPC {
			in.Offset = int32(v & 0xff)
		}
		return err
	}
	o := p.in.operandOf(p.l, s.kind)
	*o, err = p.operand(text, s.n)
	return err
}

// operandOf is the operand that a slot kind names.
func (in *Inst) operandOf(l *layout, kind byte) *Operand {
	switch kind {
	case 'S':
		return &in.SDst
	case 'a', 'x':
		return &in.Src[0]
	case 'b':
		return &in.Src[1]
	case 'c':
		return &in.Src[2]
	case 'd':
		return &in.Src[3]
	case 'r':
		if l.enc == SMEM {
			return &in.Src[2]
		}
		return &in.Src[3]
	case 's', 't':
		return &in.Scale[kind-'s']
	}
	return &in.Dst
}

func (p *parser) smemOffset(text string) error {
	in := &p.in
	if v, err := parseInt(text); err == nil {
		in.Flags |= ImmOffset
		in.Offset = int32(v)
		return nil
	}
	o, err := p.operand(text, 1)
	in.Src[1] = o
	in.Flags |= SOffsetEn
	return err
}

// parseInt reads a decimal or hexadecimal integer with an optional sign.
func parseInt(s string) (int64, error) {
	neg := strings.HasPrefix(s, "-")
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "-"), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an integer", s)
	}
	if neg {
		return -int64(v), nil
	}
	return int64(v), nil
}

// finish derives what the text implies and proves the result by encoding it.
func (p *parser) finish() error {
	in := &p.in
	for i, m := range p.pending {
		in.Src[i].Mod |= m
	}
	switch p.l.enc {
	case MUBUF, MTBUF, SMEM:
		if p.l.has('r') && in.Flags&SC0 != 0 {
			in.Dst = *in.operandOf(p.l, 'r')
			if p.l.compareSwap() {
				in.Dst.N /= 2
			}
		}
	case FLAT:
		if p.l.flags&fGlobal != 0 {
			in.Flags |= SegGlobal
		}
		if p.l.flags&fScratch != 0 {
			in.Flags |= SegScratch
		}
		if p.l.toLDS() {
			in.Flags |= LDSBit
		}
	case MAI:
		if in.Dst.Reg.IsAGPR() && in.Dst.Present() && !p.l.has('A') {
			in.Flags |= AccCD
		}
		if p.l.has('s') {
			in.Flags |= ScalePrefix
		}
	}
	b, err := Encode(p.cpu, in)
	if err != nil && p.suffix == "" && in.Sub == SubNone && p.l.flags&fE64 != 0 {
		in.E64 = true
		b, err = Encode(p.cpu, in)
	}
	in.Size = uint8(len(b))
	return err
}
