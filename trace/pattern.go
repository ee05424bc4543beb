package trace

import (
	"encoding/binary"
	"math/bits"
)

// Lanes is the width of a wave.
const Lanes = 64

// Pattern is how the lanes of a memory access lie around its base, which is the
// address of the lowest active lane. Patterns are shared and must not change
// once they are in use.
type Pattern struct {
	Lanes   uint64        // lanes that access memory
	Bytes   uint8         // a lane and address
	Offset  [Lanes]int64  // from the base, of active lanes; zero for the others
	Offset2 *[Lanes]int64 // of the second address of two-address LDS instructions, from the same base
}

// First is the lowest active lane, 0 when none is active.
func (p *Pattern) First() int {
	if p.Lanes == 0 {
		return 0
	}
	return bits.TrailingZeros64(p.Lanes)
}

// Equal reports whether two patterns are the same.
func (p *Pattern) Equal(o *Pattern) bool {
	return p.Lanes == o.Lanes && p.Bytes == o.Bytes && p.Offset == o.Offset &&
		(p.Offset2 == o.Offset2 || p.Offset2 != nil && o.Offset2 != nil && *p.Offset2 == *o.Offset2)
}

// Hash is the same for equal patterns.
func (p *Pattern) Hash() uint64 {
	const prime = 1099511628211
	h := p.Lanes ^ uint64(p.Bytes)<<56 ^ 14695981039346656037
	for _, o := range p.Offset {
		h = (h ^ uint64(o)) * prime
	}
	if p.Offset2 != nil {
		for _, o := range p.Offset2 {
			h = (h ^ uint64(o)) * prime
		}
	}
	return h ^ h>>32
}

// append encodes a pattern: lanes, bytes, whether there are second addresses,
// and the difference of each active lane's offset from that of the lane before.
func (p *Pattern) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, p.Lanes)
	two := byte(0)
	if p.Offset2 != nil {
		two = 1
	}
	b = append(b, p.Bytes, two)
	b = appendOffsets(b, p.Lanes, &p.Offset)
	if two != 0 {
		b = appendOffsets(b, p.Lanes, p.Offset2)
	}
	return b
}

func appendOffsets(b []byte, lanes uint64, o *[Lanes]int64) []byte {
	last := int64(0)
	for m := lanes; m != 0; m &= m - 1 {
		v := o[bits.TrailingZeros64(m)]
		b = binary.AppendUvarint(b, zigzag(v-last))
		last = v
	}
	return b
}

func (d *decoder) pattern() *Pattern {
	head := d.bytes(10)
	if d.err != nil {
		return nil
	}
	p := &Pattern{Lanes: binary.LittleEndian.Uint64(head), Bytes: head[8]}
	if head[9] > 1 {
		d.fail("a pattern has %d second addresses", head[9])
		return nil
	}
	d.offsets(p.Lanes, &p.Offset)
	if head[9] == 1 {
		p.Offset2 = new([Lanes]int64)
		d.offsets(p.Lanes, p.Offset2)
	}
	return p
}

func (d *decoder) offsets(lanes uint64, o *[Lanes]int64) {
	last := int64(0)
	for m := lanes; m != 0; m &= m - 1 {
		last += d.varint()
		o[bits.TrailingZeros64(m)] = last
	}
}

// Affine reports whether the addresses of active lanes lie one step a lane apart.
// A single active lane has step 0.
func (p *Pattern) Affine() (step int64, ok bool) {
	first := p.First()
	rest := p.Lanes &^ (1 << first)
	if rest == 0 {
		return 0, true
	}
	second := bits.TrailingZeros64(rest)
	n := int64(second - first)
	if p.Offset[second]%n != 0 {
		return 0, false
	}
	step = p.Offset[second] / n
	for m := rest; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		if p.Offset[i] != step*int64(i-first) {
			return 0, false
		}
	}
	return step, true
}
