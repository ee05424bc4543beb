package isa

import (
	"fmt"
	"math"
	"strings"
)

// Typed buffer accesses: buffer_load/store_format_* take the format from the
// descriptor, tbuffer_* from the instruction. Names of data formats list the
// components from the most significant down; x is the lowest.

// Number formats (V# num_format, MTBUF nfmt).
const (
	numUnorm = iota
	numSnorm
	numUscaled
	numSscaled
	numUint
	numSint
	_
	numFloat
)

// formatBits are the component widths of the data formats, x first.
var formatBits = [16][]uint8{
	1: {8}, 2: {16}, 3: {8, 8}, 4: {32}, 5: {16, 16}, 6: {11, 11, 10}, 7: {10, 11, 11},
	8: {2, 10, 10, 10}, 9: {10, 10, 10, 2}, 10: {8, 8, 8, 8}, 11: {32, 32},
	12: {16, 16, 16, 16}, 13: {32, 32, 32}, 14: {32, 32, 32, 32},
}

// The unsigned floats of 11 and 10 bits: a half's exponent, no sign.
var (
	float11 = smallFormat{ebits: 5, mbits: 6, bias: 15, inf: true}
	float10 = smallFormat{ebits: 5, mbits: 5, bias: 15, inf: true}
)

// typed is the format of one access.
type typed struct {
	bits []uint8
	num  uint8
	sel  [4]uint8 // which component a load puts where: 0, 1, or 4 and up for x to w
}

func registerTyped() {
	for op := range numOps {
		name := strings.TrimPrefix(op.String(), "t")
		load := strings.HasPrefix(name, "buffer_load_format_")
		if !load && !strings.HasPrefix(name, "buffer_store_format_") {
			continue
		}
		comps := name[strings.LastIndexByte(name, '_')+1:]
		m := memOp{space: spaceBuffer, kind: memStore, format: uint8(len(comps)), half: strings.Contains(name, "d16")}
		f := execFormatStore
		if load {
			m.kind, f = memLoad, execFormatLoad
		}
		if strings.Contains(name, "d16_hi") {
			m.part = partHi
		} else if m.half && m.format == 1 {
			m.part = partLo
		}
		memOps[op], execTable[op] = m, f
	}
}

// typedFormat is the format of an access, and whether there is such a format.
func (s *State) typedFormat(in *Inst) (t typed, ok bool) {
	t.sel = [4]uint8{4, 5, 6, 7}
	data := in.Offset1 & 15
	t.num = in.Offset1 >> 4 & 7
	if in.Enc != MTBUF {
		w := s.SGPR[in.Src[1].Reg+3]
		data, t.num = uint8(w>>15&15), uint8(w>>12&7)
		for i := range t.sel {
			t.sel[i] = uint8(w >> (3 * i) & 7)
		}
	}
	t.bits = formatBits[data]
	if t.bits == nil {
		return t, false
	}
	w := t.bits[0]
	switch t.num {
	case numUint, numSint:
		return t, data != 6 && data != 7
	case numFloat:
		return t, w != 8 && data != 8 && data != 9
	case numUnorm, numSnorm, numUscaled, numSscaled:
		return t, w != 32 && data != 6 && data != 7
	}
	return t, false
}

func (t *typed) bytes() uint8 {
	n := uint8(0)
	for _, b := range t.bits {
		n += b
	}
	return n / 8
}

// formatOp is the memory operation with the size that its format gives it.
func (s *State) formatOp(k *Kernel, in *Inst, m *memOp) (memOp, error) {
	t, ok := s.typedFormat(in)
	if !ok {
		return *m, fmt.Errorf("isa: kernel %s: %s at pc %#x: its buffer format has no such data and number format together",
			k.Name, in.Text(k.CPU), in.PC)
	}
	sized := *m
	sized.bytes = t.bytes()
	return sized, nil
}

// component takes bits [off, off+n) of b.
func component(b []byte, off, n uint8) uint32 {
	var v uint64
	for i := off / 8; i < (off+n+7)/8; i++ {
		v |= uint64(b[i]) << (8 * (i - off/8))
	}
	return uint32(v >> (off % 8) & (1<<n - 1))
}

func setComponent(b []byte, off, n uint8, v uint32) {
	w := uint64(v&uint32(uint64(1)<<n-1)) << (off % 8)
	for i := off / 8; i < (off+n+7)/8; i++ {
		b[i] |= byte(w >> (8 * (i - off/8)))
	}
}

// integer reports a format whose values stay integers in registers.
func (t *typed) integer() bool { return t.num == numUint || t.num == numSint }

// load converts a component to its value in a register, a float where the
// format is not an integer one.
func (t *typed) load(v uint32, n uint8) uint32 {
	signed := int32(v<<(32-n)) >> (32 - n)
	top := float64(uint64(1)<<n - 1)
	switch t.num {
	case numUint:
		return v
	case numSint:
		return uint32(signed)
	case numUnorm:
		return fbits(float32(float64(v) / top))
	case numSnorm:
		return fbits(float32(max(float64(signed)/float64(uint64(1)<<(n-1)-1), -1)))
	case numUscaled:
		return fbits(float32(v))
	case numSscaled:
		return fbits(float32(signed))
	}
	switch n {
	case 10:
		return fbits(float10.value(v))
	case 11:
		return fbits(float11.value(v))
	case 16:
		return fbits(f16ToF32(uint16(v)))
	}
	return v
}

// store is the reverse of load; values out of range saturate, NaN is zero in
// the formats that have none.
func (t *typed) store(v uint32, n uint8) uint32 {
	f := float64(ffrom(v))
	hi := float64(uint64(1)<<n - 1)
	half := float64(uint64(1)<<(n-1) - 1)
	round := func(f, lo, hi float64) uint32 {
		if f != f {
			return 0
		}
		return uint32(int64(math.RoundToEven(min(max(f, lo), hi)))) & uint32(uint64(1)<<n-1)
	}
	switch t.num {
	case numUint:
		return uint32(min(uint64(v), uint64(1)<<n-1))
	case numSint:
		return round(float64(int32(v)), -half-1, half)
	case numUnorm:
		return round(min(f, 1)*hi, 0, hi)
	case numSnorm:
		return round(max(min(f, 1), -1)*half, -half, half)
	case numUscaled:
		return round(f, 0, hi)
	case numSscaled:
		return round(f, -half-1, half)
	}
	switch n {
	case 10, 11:
		small := &float11
		if n == 10 {
			small = &float10
		}
		if f < 0 {
			return 0
		}
		return small.encode(f, false, false) & uint32(hi)
	case 16:
		return uint32(f32ToF16(ffrom(v)))
	}
	return v
}

// toHalf and fromHalf move a component between its dword and 16-bit forms.
func (t *typed) toHalf(v uint32) uint32 {
	if t.integer() {
		return v & 0xffff
	}
	return uint32(f32ToF16(ffrom(v)))
}

func (t *typed) fromHalf(v uint32) uint32 {
	switch t.num {
	case numUint:
		return v & 0xffff
	case numSint:
		return uint32(int32(int16(v)))
	}
	return fbits(f16ToF32(uint16(v)))
}

// registers is how many registers the components of a typed access take.
func (m *memOp) registers() int {
	if m.half {
		return int(m.format+1) / 2
	}
	return int(m.format)
}

func execFormatLoad(k *Kernel, in *Inst, s *State) error {
	if err := Address(k, in, s); err != nil {
		return err
	}
	m := &memOps[in.Op]
	t, _ := s.typedFormat(in)
	d := s.vregs(in.Dst.Reg, m.registers())
	var b [16]byte
	for e := s.Exec(); e != 0; {
		l := nextLane(&e)
		clear(b[:])
		present := s.Access.Lanes>>l&1 != 0
		if present {
			s.Mem.Read(s.Access.Addr[l], b[:t.bytes()])
		}
		for i := range m.format {
			v := t.pick(b[:], i, present)
			switch {
			case !m.half:
				d[i][l] = v
			case m.format == 1:
				d[0][l] = mergePart(d[0][l], t.toHalf(v), m.part)
			case i%2 == 0:
				d[i/2][l] = t.toHalf(v)
			default:
				d[i/2][l] |= t.toHalf(v) << 16
			}
		}
	}
	return nil
}

// pick is what component i of a load gets: a constant or a component of
// memory. Those that the format lacks are 0, 0, 0 and 1; out of range all are 0.
func (t *typed) pick(b []byte, i uint8, present bool) uint32 {
	one := fbits(1)
	if t.integer() {
		one = 1
	}
	switch sel := t.sel[i]; {
	case !present || sel == 0:
		return 0
	case sel == 1:
		return one
	case sel < 4:
		return 0
	default:
		c := sel - 4
		if int(c) >= len(t.bits) {
			if c == 3 {
				return one
			}
			return 0
		}
		off := uint8(0)
		for _, n := range t.bits[:c] {
			off += n
		}
		return t.load(component(b, off, t.bits[c]), t.bits[c])
	}
}

func execFormatStore(k *Kernel, in *Inst, s *State) error {
	if err := Address(k, in, s); err != nil {
		return err
	}
	m := &memOps[in.Op]
	t, _ := s.typedFormat(in)
	src := s.vregs(in.Src[3].Reg, m.registers())
	var b [16]byte
	for e := s.Access.Lanes; e != 0; {
		l := nextLane(&e)
		clear(b[:])
		off := uint8(0)
		for i, n := range t.bits {
			if i >= int(m.format) {
				break // components that the instruction lacks are written as zero
			}
			var v uint32
			switch {
			case !m.half:
				v = src[i][l]
			case m.part == partHi:
				v = t.fromHalf(src[0][l] >> 16)
			default:
				v = t.fromHalf(src[i/2][l] >> (16 * (i % 2)))
			}
			setComponent(b[:], off, n, t.store(v, n))
			off += n
		}
		s.Mem.Write(s.Access.Addr[l], b[:t.bytes()])
	}
	return nil
}
