package isa

// acc is the bit at pos that moves a memory instruction's data to
// the accumulation registers.
func (e *encoder) acc(pos int, data ...Operand) uint32 {
	var set, clear bool
	for _, o := range data {
		if o.Present() {
			set = set || o.Reg.IsAGPR()
			clear = clear || o.Reg.IsVGPR()
		}
	}
	if set && clear {
		e.fail("data mixes architectural and accumulation registers")
	}
	if set {
		return 1 << pos
	}
	return 0
}

func (e *encoder) ds() {
	in := e.in
	off := uint32(in.Offset) & 0xffff
	if e.l.flags&fTwoAddr != 0 {
		if in.Offset < 0 || in.Offset > 255 {
			e.fail("offset0 %d does not fit 8 bits", in.Offset)
		}
		off = off&0xff | uint32(in.Offset1)<<8
	} else if in.Offset < 0 || in.Offset > 0xffff {
		e.fail("offset %d does not fit 16 bits", in.Offset)
	}
	e.emit(0xd8000000|uint32(e.l.code)<<17|e.bit(GDS, 16)|off|e.acc(25, in.Dst, in.Src[1], in.Src[2]),
		e.vreg(in.Src[0], "address")|e.vreg(in.Src[1], "data 0")<<8|
			e.vreg(in.Src[2], "data 1")<<16|e.vreg(in.Dst, "destination")<<24)
}

// transfer is the register that a buffer instruction moves.
func (e *encoder) transfer() Operand {
	if e.l.has('D') {
		if e.in.Flags&LDSBit != 0 {
			return Operand{}
		}
		return e.in.Dst
	}
	return e.in.Src[3]
}

func (e *encoder) buffer() {
	in := e.in
	if in.Offset < 0 || in.Offset > 0xfff {
		e.fail("offset %d does not fit 12 bits", in.Offset)
	}
	data := e.transfer()
	lo := uint32(in.Offset)&0xfff | e.bit(Offen, 12) | e.bit(Idxen, 13) | e.bit(SC0, 14)
	hi := e.vreg(in.Src[0], "address") | e.vreg(data, "data")<<8 |
		e.sreg(in.Src[1], "resource")>>2<<16 | e.acc(23, data) | e.code8(in.Src[2], "offset")<<24
	if e.l.enc == MTBUF {
		lo |= 0xe8000000 | uint32(e.l.code)<<15 | uint32(in.Offset1&0x7f)<<19
		hi |= e.bit(SC1, 21) | e.bit(NT, 22)
	} else {
		lo |= 0xe0000000 | uint32(e.l.code)<<18 | e.bit(SC1, 15) | e.bit(LDSBit, 16) | e.bit(NT, 17)
	}
	if e.literal {
		e.fail("a buffer offset cannot be a literal")
	}
	e.emit(lo, hi)
}

func (e *encoder) flat() {
	in := e.in
	lo := 0xdc000000 | uint32(e.l.code)<<18 | uint32(e.l.segment())<<14 |
		e.bit(SC0, 16) | e.bit(NT, 17) | e.bit(SC1, 25)
	var hi uint32
	if e.l.has('b') {
		if in.Offset < -1<<12 || in.Offset >= 1<<12 {
			e.fail("offset %d does not fit 13 bits", in.Offset)
		}
		lo |= uint32(in.Offset) & 0x1fff
		hi = 0x7f << 16
		if in.Src[1].Present() {
			hi = e.sreg(in.Src[1], "scalar address") << 16
		}
		if e.l.flags&fScratch != 0 && in.Src[0].Present() {
			lo |= 1 << 13
		}
	} else {
		if in.Offset < 0 || in.Offset >= 1<<12 {
			e.fail("offset %d does not fit 12 bits", in.Offset)
		}
		lo |= uint32(in.Offset) & 0xfff
	}
	dst := in.Dst
	if e.l.has('q') && in.Flags&SC0 == 0 {
		dst = Operand{}
	}
	hi |= e.vreg(in.Src[0], "address") | e.vreg(in.Src[3], "data")<<8 |
		e.acc(23, dst, in.Src[3]) | e.vreg(dst, "destination")<<24
	e.emit(lo, hi)
}
