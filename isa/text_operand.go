package isa

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// operand reads a register range or constant with its modifiers. n is the width
// that the opcode gives the slot, which constants take.
func (p *parser) operand(text string, n uint8) (Operand, error) {
	var mod OpMod
	for {
		t := text
		switch {
		case wrapped(&t, "neg(", ")"):
			mod |= Neg
		case wrapped(&t, "abs(", ")"), wrapped(&t, "|", "|"):
			mod |= Abs
		case wrapped(&t, "sext(", ")"):
			mod |= Sext
		case len(t) > 1 && t[0] == '-' && (t[1] < '0' || t[1] > '9'):
			t = t[1:]
			mod |= Neg
		}
		if t == text {
			break
		}
		text = strings.TrimSpace(t)
	}
	if p.l.flags&fMix != 0 && mod&Abs != 0 {
		mod = mod&^Abs | NegHi // mix instructions keep abs in the neg_hi field
	}
	o, err := p.bare(text, n)
	o.Mod = mod
	return o, err
}

// wrapped strips a prefix and a suffix that occur together.
func wrapped(s *string, prefix, suffix string) bool {
	if len(*s) < len(prefix)+len(suffix) || !strings.HasPrefix(*s, prefix) || !strings.HasSuffix(*s, suffix) {
		return false
	}
	*s = (*s)[len(prefix) : len(*s)-len(suffix)]
	return true
}

var namedOperands = buildNames()

func buildNames() map[string]Operand {
	m := make(map[string]Operand)
	for r, s := range specialRegs {
		m[s] = Operand{Reg: r, N: 1}
	}
	for r, s := range specialPairs {
		m[s] = Operand{Reg: r, N: 2}
	}
	m["0.15915494309189532"] = Operand{Reg: ConstInv2Pi, N: 1}
	m["0.15915494"] = Operand{Reg: ConstInv2Pi, N: 1}
	return m
}

// bare reads an operand without modifiers.
func (p *parser) bare(text string, n uint8) (Operand, error) {
	if text == "off" {
		return Operand{}, nil
	}
	if o, ok := namedOperands[text]; ok {
		if !o.Reg.valid() {
			return o, fmt.Errorf("%s cannot be an operand", text)
		}
		if o.Reg >= Const0 {
			o.N = n
		}
		return o, nil
	}
	if o, ok := parseRange(text); ok {
		return o, o.check()
	}
	if v, err := parseInt(text); err == nil {
		return p.integer(v, n)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Operand{}, fmt.Errorf("%q is no register or constant", text)
	}
	return p.float(f, n)
}

// parseRange reads v5, v[5:6], s.., a.., ttmp...
func parseRange(text string) (Operand, bool) {
	for _, f := range [...]struct {
		name  string
		first Reg
		count int
	}{{"ttmp", TTMP0, 16}, {"v", V0, 256}, {"a", A0, 256}, {"s", 0, 102}} {
		rest, ok := strings.CutPrefix(text, f.name)
		if !ok {
			continue
		}
		lo, hi := rest, rest
		if wrapped(&rest, "[", "]") {
			if lo, hi, ok = strings.Cut(rest, ":"); !ok {
				hi = lo
			}
		}
		a, err1 := strconv.Atoi(lo)
		b, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || a < 0 || b < a || b >= f.count {
			return Operand{}, false
		}
		return Operand{Reg: f.first + Reg(a), N: uint8(b - a + 1)}, true
	}
	return Operand{}, false
}

// floatKind is the width in bits that an opcode gives a floating-point constant
// in a slot; 0 means that the operand is an integer.
func (p *parser) floatKind(n uint8) int {
	name := p.l.op.String()
	switch {
	case n == 2 && strings.Contains(name, "_f64"):
		return 64
	case n == 1 && strings.Contains(name, "f16") && !strings.Contains(name, "_f32_f16"):
		return 16
	}
	return 0
}

// inlineFloats are the values of the codes from ConstHalf on.
var inlineFloats = [...]float64{0.5, -0.5, 1, -1, 2, -2, 4, -4}

// inline16 are the same constants as half-precision bits.
var inline16 = [...]uint16{0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400}

// integer turns an integer into an inline constant where one has the same bits
// in the operand's type, else into a literal.
func (p *parser) integer(v int64, n uint8) (Operand, error) {
	is16 := p.is16bit(n)
	if v >= 0 && v <= math.MaxUint32 && n == 1 && !is16 {
		v = int64(int32(uint32(v)))
	}
	if v >= -16 && v <= 64 {
		return Operand{Reg: Int(int(v)), N: n}, nil
	}
	for i, f := range inlineFloats {
		var same bool
		switch {
		case p.floatKind(n) == 16:
			same = v == int64(inline16[i])
		case is16:
			// A VOP3 takes no literal, so the bits can only mean the constant.
			same = p.l.enc == VOP3 && p.suffix == "" && integer16(p.l.op) && v == int64(inline16[i])
		case n == 1:
			same = uint32(v) == math.Float32bits(float32(f))
		case p.floatKind(n) == 64:
			same = uint64(v) == math.Float64bits(f) || uint64(v) == math.Float64bits(f)>>32
		default:
			same = uint64(v) == math.Float64bits(f)
		}
		if same {
			return Operand{Reg: ConstHalf + Reg(i), N: n}, nil
		}
	}
	if v < math.MinInt32 || v > math.MaxUint32 {
		return Operand{}, fmt.Errorf("%#x does not fit a 32-bit literal", v)
	}
	return p.literal(uint32(v), n)
}

// is16bit reports whether a one-dword slot holds a 16-bit value.
func (p *parser) is16bit(n uint8) bool {
	name := p.l.op.String()
	return n == 1 && (p.floatKind(n) == 16 || strings.HasSuffix(name, "16"))
}

func (p *parser) literal(v uint32, n uint8) (Operand, error) {
	if p.in.literalUsed() && p.in.Literal != v {
		return Operand{}, fmt.Errorf("a second literal, %#x", v)
	}
	p.in.Literal = v
	return Operand{Reg: Literal, N: n}, nil
}

func (in *Inst) literalUsed() bool {
	for _, o := range in.Src {
		if o.Present() && o.Reg == Literal {
			return true
		}
	}
	return false
}

func (p *parser) float(f float64, n uint8) (Operand, error) {
	for i, v := range inlineFloats {
		if f == v {
			return Operand{Reg: ConstHalf + Reg(i), N: n}, nil
		}
	}
	if f == 0 {
		return Operand{Reg: Const0, N: n}, nil
	}
	switch p.floatKind(n) {
	case 64:
		return p.literal(uint32(math.Float64bits(f)>>32), n)
	case 16:
		return Operand{}, fmt.Errorf("write the half-precision constant %v in hexadecimal", f)
	}
	return p.literal(math.Float32bits(float32(f)), n)
}
