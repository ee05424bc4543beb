package isa

// vector makes a vector operand, in the accumulation registers if acc is set.
func (d *decoder) vector(kind byte, code, acc uint32) Operand {
	return d.operand(kind, V0+Reg(code&0xff)+Reg(acc&1)<<8)
}

func (d *decoder) ds(w, hi uint32) error {
	if err := d.find(DS, 0, w>>17&0xff); err != nil {
		return err
	}
	in := &d.in
	acc := w >> 25
	d.flag(w>>16, GDS)
	in.Src[0] = d.vector('a', hi, 0)
	in.Src[1] = d.vector('b', hi>>8, acc)
	in.Src[2] = d.vector('c', hi>>16, acc)
	in.Dst = d.vector('D', hi>>24, acc)
	if d.l.flags&fTwoAddr != 0 {
		in.Offset, in.Offset1 = int32(w&0xff), uint8(w>>8)
	} else {
		in.Offset = int32(w & 0xffff)
	}
	return nil
}

func (d *decoder) buffer(w, hi uint32) error {
	in := &d.in
	if w>>26 == 0x3a {
		if err := d.find(MTBUF, 0, w>>15&0xf); err != nil {
			return err
		}
		in.Offset1 = uint8(w >> 19 & 0x7f)
		d.flag(hi>>21, SC1)
		d.flag(hi>>22, NT)
	} else {
		if err := d.find(MUBUF, 0, w>>18&0x7f); err != nil {
			return err
		}
		d.flag(w>>15, SC1)
		d.flag(w>>16, LDSBit)
		d.flag(w>>17, NT)
	}
	d.flag(w>>14, SC0)
	if len(d.l.slots) == 0 { // cache maintenance
		in.Flags &^= LDSBit
		return nil
	}
	in.Offset = int32(w & 0xfff)
	d.flag(w>>12, Offen)
	d.flag(w>>13, Idxen)
	if n := bitCount(in.Flags&Offen != 0, in.Flags&Idxen != 0); n > 0 {
		in.Src[0] = d.ranged(V0+Reg(hi&0xff), n)
	}
	in.Src[1] = d.operand('b', Reg(hi>>16&0x1f<<2))
	in.Src[2] = d.operand('c', Reg(hi>>24))
	acc, data := hi>>23, hi>>8
	switch {
	case d.l.has('d'):
		in.Src[3] = d.vector('d', data, acc)
	case d.l.has('r'):
		in.Src[3] = d.vector('r', data, acc)
		if in.Flags&SC0 != 0 {
			in.Dst = in.Src[3]
			if d.l.compareSwap() {
				in.Dst.N /= 2
			}
		}
	case in.Flags&LDSBit == 0:
		in.Dst = d.vector('D', data, acc)
	}
	if in.Flags&LDSBit != 0 && !d.l.has('D') {
		d.fail("lds on an instruction that is no load")
	}
	return nil
}

func bitCount(flags ...bool) uint8 {
	var n uint8
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

func (d *decoder) flat(w, hi uint32) error {
	if err := d.find(FLAT, uint8(w>>14&3), w>>18&0x7f); err != nil {
		return err
	}
	in := &d.in
	d.flag(w>>16, SC0)
	d.flag(w>>17, NT)
	d.flag(w>>25, SC1)
	addr := d.slotDwords('a')
	switch d.l.segment() {
	case 0:
		in.Offset = int32(w & 0xfff)
	default:
		in.Offset = int32(w<<19) >> 19
		if s := Reg(hi >> 16 & 0x7f); s != 0x7f {
			in.Src[1] = d.operand('b', s)
			if d.l.flags&fGlobal != 0 {
				addr = 1 // a 32-bit offset from the scalar base
			}
		}
		if d.l.flags&fScratch != 0 {
			in.Flags |= SegScratch
			if w>>13&1 == 0 {
				addr = 0
			}
		} else {
			in.Flags |= SegGlobal
		}
	}
	if addr > 0 {
		in.Src[0] = d.ranged(V0+Reg(hi&0xff), addr)
	}
	acc := hi >> 23
	in.Src[3] = d.vector('d', hi>>8, acc)
	switch {
	case d.l.has('D'):
		in.Dst = d.vector('D', hi>>24, acc)
	case d.l.has('q') && in.Flags&SC0 != 0:
		in.Dst = d.vector('q', hi>>24, acc)
	}
	if d.l.toLDS() {
		in.Flags |= LDSBit
	}
	return nil
}
