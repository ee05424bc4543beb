package sim

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads/npy"
	"github.com/whisker-sim/whisker/workloads/reference"
)

// fill is what a buffer starts with.
type fill struct {
	kind string
	a, b float64
}

// fillParams are the defaults of the fills that take numbers.
var fillParams = map[string][]float64{"zeros": {}, "iota": {}, "constant": {0}, "normal": {0, 1}, "uniform": {0, 1}}

// parseFill reads "normal", "normal(0, 0.5)" and the like; empty is zeros.
func parseFill(s string) (fill, error) {
	if s == "" {
		s = "zeros"
	}
	name, args, has := strings.Cut(strings.TrimSpace(s), "(")
	def, ok := fillParams[name]
	if !ok {
		return fill{}, fmt.Errorf("unknown fill %q: choose zeros, iota, constant(v), normal(mean, deviation) or uniform(low, high)", s)
	}
	v := append([]float64{}, def...)
	if has {
		args, closed := strings.CutSuffix(args, ")")
		parts := strings.Split(args, ",")
		if !closed || len(parts) != len(def) {
			return fill{}, fmt.Errorf("fill %q: %s takes %d numbers in parentheses", s, name, len(def))
		}
		for i, p := range parts {
			x, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
			if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				return fill{}, fmt.Errorf("fill %q: %q is no number", s, p)
			}
			v[i] = x
		}
	}
	switch {
	case name == "uniform" && v[0] > v[1]:
		return fill{}, fmt.Errorf("fill %q: uniform takes the lower bound first", s)
	case name == "normal" && v[1] < 0:
		return fill{}, fmt.Errorf("fill %q: a deviation is 0 or more", s)
	}
	f := fill{kind: name}
	if len(v) > 0 {
		f.a = v[0]
	}
	if len(v) > 1 {
		f.b = v[1]
	}
	return f, nil
}

// next gives the elements in order.
func (f fill) next(rng *rand.Rand, i int) float64 {
	switch f.kind {
	case "iota":
		return float64(i)
	case "constant":
		return f.a
	case "normal":
		return f.a + f.b*rng.NormFloat64()
	case "uniform":
		return f.a + (f.b-f.a)*rng.Float64()
	}
	return 0
}

// allocate makes a buffer and fills it. Every argument has a random stream of
// its own, so that adding one leaves the others as they were.
func (l *LaunchFile) allocate(m *isa.Memory, a *LaunchArg, name string, index int) (isa.Region, error) {
	var data []byte
	if a.File != "" {
		var err error
		if data, err = l.load(a); err != nil {
			return isa.Region{}, err
		}
	}
	width := elementBytes[a.Type]
	n := len(data) / width
	if a.Shape != nil {
		want, err := a.elements()
		if err != nil {
			return isa.Region{}, err
		}
		if a.File != "" && want != n {
			return isa.Region{}, fmt.Errorf("shape %v has %d elements, but %s has %d", a.Shape, want, a.File, n)
		}
		n = want
	} else {
		a.Shape = []int{n}
	}
	if n < 1 || n > maxBufferBytes/width {
		return isa.Region{}, fmt.Errorf("a buffer of %d elements of %s", n, a.Type)
	}
	base := m.Alloc(name, uint64(n)*uint64(width))
	r := isa.Region{Name: name, Base: base, Size: uint64(n) * uint64(width)}
	if data != nil {
		m.Write(base, data)
		return r, nil
	}
	f, err := parseFill(a.Fill)
	if err != nil || f.kind == "zeros" {
		return r, err
	}
	rng := rand.New(rand.NewPCG(l.Seed, uint64(index)+1))
	const chunk = 1 << 16
	buf := make([]byte, 0, chunk*width)
	for i := 0; i < n; {
		buf = buf[:0]
		for ; i < n && len(buf) < chunk*width; i++ {
			at := len(buf)
			buf = buf[:at+width]
			putElement(buf[at:], a.Type, f.next(rng, i))
		}
		m.Write(base+uint64(i*width-len(buf)), buf)
	}
	return r, nil
}

// load reads a buffer's file: .npy of the same type (16-bit unsigned for bf16),
// or raw bytes.
func (l *LaunchFile) load(a *LaunchArg) ([]byte, error) {
	path := l.resolve(a.File)
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file", a.File)
	case st.Size() > maxBufferBytes:
		return nil, fmt.Errorf("%s has %d bytes, more than any device", a.File, st.Size())
	}
	if !strings.HasSuffix(path, ".npy") {
		data, err := os.ReadFile(path)
		if err == nil && len(data)%elementBytes[a.Type] != 0 {
			err = fmt.Errorf("%s has %d bytes, no multiple of the %d of %s", a.File, len(data), elementBytes[a.Type], a.Type)
		}
		return data, err
	}
	arr, err := npy.Read(path)
	if err != nil {
		return nil, err
	}
	if arr.Type != a.Type && (a.Type != "bf16" || arr.Type != "u16") {
		return nil, fmt.Errorf("%s holds %s, where %s is asked for", a.File, arr.Type, a.Type)
	}
	if a.Shape == nil {
		a.Shape = arr.Shape
	}
	return arr.Data, nil
}

// putElement stores a number, rounded to the type; integers saturate.
func putElement(b []byte, t string, x float64) {
	le := binary.LittleEndian
	clamp := func(bits int) int64 {
		return int64(max(-math.Ldexp(1, bits-1), min(math.Trunc(x), math.Ldexp(1, bits-1)-1)))
	}
	uclamp := func(bits int) uint64 { return uint64(max(0, min(math.Trunc(x), math.Ldexp(1, bits)-1))) }
	switch t {
	case "f64":
		le.PutUint64(b, math.Float64bits(x))
	case "f32":
		le.PutUint32(b, math.Float32bits(float32(x)))
	case "bf16":
		le.PutUint16(b, bf16Bits(x))
	case "f16":
		le.PutUint16(b, f16Bits(x))
	case "i8":
		b[0] = byte(clamp(8))
	case "i16":
		le.PutUint16(b, uint16(clamp(16)))
	case "i32":
		le.PutUint32(b, uint32(clamp(32)))
	case "i64":
		le.PutUint64(b, uint64(clamp(53)))
	case "u8":
		b[0] = byte(uclamp(8))
	case "u16":
		le.PutUint16(b, uint16(uclamp(16)))
	case "u32":
		le.PutUint32(b, uint32(uclamp(32)))
	case "u64":
		le.PutUint64(b, uclamp(53))
	}
}

// element reads a number.
func element(b []byte, t string) float64 {
	le := binary.LittleEndian
	switch t {
	case "f64":
		return math.Float64frombits(le.Uint64(b))
	case "f32":
		return float64(math.Float32frombits(le.Uint32(b)))
	case "bf16":
		return float64(math.Float32frombits(uint32(le.Uint16(b)) << 16))
	case "f16":
		return f16Value(le.Uint16(b))
	case "i8":
		return float64(int8(b[0]))
	case "i16":
		return float64(int16(le.Uint16(b)))
	case "i32":
		return float64(int32(le.Uint32(b)))
	case "i64":
		return float64(int64(le.Uint64(b)))
	case "u8":
		return float64(b[0])
	case "u16":
		return float64(le.Uint16(b))
	case "u32":
		return float64(le.Uint32(b))
	}
	return float64(le.Uint64(b))
}

// bf16Bits rounds to nearest even.
func bf16Bits(x float64) uint16 {
	u := math.Float32bits(float32(x))
	if x != x {
		return 0x7fc0
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// f16Bits rounds to nearest even; too large numbers become infinite.
func f16Bits(x float64) uint16 {
	sign := uint16(math.Float64bits(x) >> 48 & 0x8000)
	a := math.Abs(x)
	switch {
	case x != x:
		return 0x7e00
	case a >= 65520:
		return sign | 0x7c00
	case a < 0x1p-14: // subnormal: units of 2^-24
		return sign | uint16(math.RoundToEven(a*0x1p24))
	}
	frac, exp := math.Frexp(a) // frac in [0.5, 1)
	return sign | uint16((exp+14)<<10) + uint16(math.RoundToEven(frac*2048)) - 1024
}

// f16Value is the value of a half-precision number.
func f16Value(h uint16) float64 {
	e, m := int(h>>10&31), float64(h&0x3ff)
	v := math.Ldexp(1+m/1024, e-15)
	switch {
	case e == 0:
		v = m * 0x1p-24
	case e == 31 && m == 0:
		v = math.Inf(1)
	case e == 31:
		v = math.NaN()
	}
	if h&0x8000 != 0 {
		v = -v
	}
	return v
}

// tensor reads a buffer from memory, or only its shape.
func (p *prepared) tensor(name string, values bool) (reference.Tensor, error) {
	a, r, err := p.find(name)
	if err != nil || !values {
		return reference.Tensor{Shape: a.shape()}, err
	}
	width := elementBytes[a.Type]
	raw := make([]byte, r.Size)
	p.launch.Memory.Read(r.Base, raw)
	t := reference.Tensor{Shape: a.Shape, Data: make([]float64, len(raw)/width)}
	for i := range t.Data {
		t.Data[i] = element(raw[i*width:], a.Type)
	}
	return t, nil
}

func (a *LaunchArg) shape() []int {
	if a == nil {
		return nil
	}
	return a.Shape
}

// find gives a buffer by the name of its argument.
func (p *prepared) find(name string) (*LaunchArg, isa.Region, error) {
	for i, a := range p.args {
		if r, ok := p.bases[name]; ok && a.label(i) == name {
			return a, r, nil
		}
	}
	return nil, isa.Region{}, fmt.Errorf("there is no buffer argument named %s", name)
}
