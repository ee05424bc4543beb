package isa

import "strings"

// LDS instructions. Bytes past the workgroup's allocation read as zero and
// writes there are dropped, as the hardware does; the functional runner's
// checks report them.

func ldsRead(lds []byte, addr uint32, b []byte) {
	if uint64(addr)+uint64(len(b)) <= uint64(len(lds)) {
		copy(b, lds[addr:])
		return
	}
	clear(b)
}

func ldsWrite(lds []byte, addr uint32, b []byte) {
	if uint64(addr)+uint64(len(b)) <= uint64(len(lds)) {
		copy(lds[addr:], b)
	}
}

// Values of memOp.two for LDS instructions.
const (
	ldsOne  = 0
	ldsTwo  = 1 // two addresses, offsets in elements
	ldsSt64 = 2 // two addresses, offsets in 64 elements
	ldsTID  = 3 // address is M0 and four times the lane
	ldsM0   = 4 // one address from M0 for the wave (append, consume)
)

func (s *State) ldsAddress(in *Inst, m *memOp) {
	a := &s.Access
	a.Bytes, a.Lanes = m.bytes, s.Exec()
	switch m.two {
	case ldsTID:
		for l := range a.Addr {
			a.Addr[l] = uint64(s.SGPR[M0]&0xffff + uint32(in.Offset) + 4*uint32(l))
		}
		return
	case ldsM0:
		a.Lanes = 1
		a.Addr[0] = uint64(s.SGPR[M0]>>16 + uint32(in.Offset))
		return
	}
	r := s.vreg(in.Src[0].Reg)
	if m.two == ldsOne {
		off := uint32(in.Offset)
		for l := range r {
			a.Addr[l] = uint64(r[l] + off)
		}
		return
	}
	unit := uint32(m.bytes)
	if m.two == ldsSt64 {
		unit *= 64
	}
	o0, o1 := uint32(in.Offset)*unit, uint32(in.Offset1)*unit
	for l := range r {
		a.Addr[l] = uint64(r[l] + o0)
		a.Addr2[l] = uint64(r[l] + o1)
	}
}

func registerLDS() {
	reg := func(op Op, m memOp, f execFunc) {
		m.space = spaceLDS
		memOps[op], execTable[op] = m, f
	}
	read := func(op Op, m memOp) { m.kind = memLoad; reg(op, m, execLDSRead) }
	write := func(op Op, m memOp) { m.kind = memStore; reg(op, m, execLDSWrite) }
	read(DS_READ_B32, memOp{bytes: 4})
	read(DS_READ_B64, memOp{bytes: 8})
	read(DS_READ_B96, memOp{bytes: 12})
	read(DS_READ_B128, memOp{bytes: 16})
	read(DS_READ_U8, memOp{bytes: 1})
	read(DS_READ_I8, memOp{bytes: 1, signed: true})
	read(DS_READ_U16, memOp{bytes: 2})
	read(DS_READ_I16, memOp{bytes: 2, signed: true})
	read(DS_READ_U8_D16, memOp{bytes: 1, part: partLo})
	read(DS_READ_U8_D16_HI, memOp{bytes: 1, part: partHi})
	read(DS_READ_I8_D16, memOp{bytes: 1, signed: true, part: partLo})
	read(DS_READ_I8_D16_HI, memOp{bytes: 1, signed: true, part: partHi})
	read(DS_READ_U16_D16, memOp{bytes: 2, part: partLo})
	read(DS_READ_U16_D16_HI, memOp{bytes: 2, part: partHi})
	read(DS_READ_ADDTID_B32, memOp{bytes: 4, two: ldsTID})
	read(DS_READ2_B32, memOp{bytes: 4, two: ldsTwo})
	read(DS_READ2_B64, memOp{bytes: 8, two: ldsTwo})
	read(DS_READ2ST64_B32, memOp{bytes: 4, two: ldsSt64})
	read(DS_READ2ST64_B64, memOp{bytes: 8, two: ldsSt64})
	write(DS_WRITE_B8, memOp{bytes: 1})
	write(DS_WRITE_B8_D16_HI, memOp{bytes: 1, part: partHi})
	write(DS_WRITE_B16, memOp{bytes: 2})
	write(DS_WRITE_B16_D16_HI, memOp{bytes: 2, part: partHi})
	write(DS_WRITE_B32, memOp{bytes: 4})
	write(DS_WRITE_B64, memOp{bytes: 8})
	write(DS_WRITE_B96, memOp{bytes: 12})
	write(DS_WRITE_B128, memOp{bytes: 16})
	write(DS_WRITE_ADDTID_B32, memOp{bytes: 4, two: ldsTID})
	write(DS_WRITE2_B32, memOp{bytes: 4, two: ldsTwo})
	write(DS_WRITE2_B64, memOp{bytes: 8, two: ldsTwo})
	write(DS_WRITE2ST64_B32, memOp{bytes: 4, two: ldsSt64})
	write(DS_WRITE2ST64_B64, memOp{bytes: 8, two: ldsSt64})
	for _, o := range []struct {
		op    Op
		bytes uint8
		width int
	}{
		{DS_READ_B64_TR_B16, 8, 16},
		{DS_READ_B64_TR_B8, 8, 8},
		{DS_READ_B64_TR_B4, 8, 4},
		{DS_READ_B96_TR_B6, 12, 6},
	} {
		reg(o.op, memOp{bytes: o.bytes, kind: memLoad}, ldsTranspose(o.width))
	}
	for op := range numOps {
		if name, ok := strings.CutPrefix(op.String(), "ds_"); ok && execTable[op] == nil {
			registerLDSAtomic(op, name)
		}
	}
	execTable[DS_SWIZZLE_B32] = execSwizzle
	execTable[DS_BPERMUTE_B32] = execBPermute
	execTable[DS_PERMUTE_B32] = execPermute
	reg(DS_APPEND, memOp{bytes: 4, kind: memAtomic, two: ldsM0}, ldsCount(1))
	reg(DS_CONSUME, memOp{bytes: 4, kind: memAtomic, two: ldsM0}, ldsCount(-1))
}

func execLDSRead(_ *Kernel, in *Inst, s *State) error {
	m := &memOps[in.Op]
	s.ldsAddress(in, m)
	a := &s.Access
	n := dataRegs(m.bytes)
	if m.two != ldsOne && m.two != ldsTID {
		n *= 2
	}
	d := s.vregs(in.Dst.Reg, n)
	var b [16]byte
	buf := b[:m.bytes]
	for e := a.Lanes; e != 0; {
		l := nextLane(&e)
		ldsRead(s.LDS, uint32(a.Addr[l]), buf)
		s.putLoad(d[:dataRegs(m.bytes)], l, m, buf)
		if n > dataRegs(m.bytes) {
			ldsRead(s.LDS, uint32(a.Addr2[l]), buf)
			s.putLoad(d[n/2:], l, m, buf)
		}
	}
	return nil
}

func execLDSWrite(_ *Kernel, in *Inst, s *State) error {
	m := &memOps[in.Op]
	s.ldsAddress(in, m)
	a := &s.Access
	data := in.Src[1].Reg
	var b [16]byte
	put := func(r Reg, addr *[Lanes]uint64) {
		d := s.vregs(r, dataRegs(m.bytes))
		for e := a.Lanes; e != 0; {
			l := nextLane(&e)
			for i := range d {
				v := d[i][l]
				if m.part == partHi {
					v >>= 16
				}
				putLE32(b[4*i:], v)
			}
			ldsWrite(s.LDS, uint32(addr[l]), b[:m.bytes])
		}
	}
	put(data, &a.Addr)
	if m.two == ldsTwo || m.two == ldsSt64 {
		put(in.Src[2].Reg, &a.Addr2)
	}
	return nil
}

// ldsTranspose reads one chunk a lane and transposes elements of w bits within
// groups of 16 lanes: the group's chunks form a matrix whose column t lane t
// gets. The result is defined with all lanes active; an inactive lane's chunk
// counts as zeros and its registers are left alone.
func ldsTranspose(w int) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		m := &memOps[in.Op]
		s.ldsAddress(in, m)
		a := &s.Access
		var chunk [Lanes][12]byte
		for e := a.Lanes; e != 0; {
			l := nextLane(&e)
			ldsRead(s.LDS, uint32(a.Addr[l]), chunk[l][:m.bytes])
		}
		per := int(m.bytes) * 8 / w // elements a lane; lanes of one matrix row: 16/per
		if w == 6 {
			per = 16
		}
		rowLanes := 16 / per
		d := s.vregs(in.Dst.Reg, dataRegs(m.bytes))
		for e := a.Lanes; e != 0; {
			l := nextLane(&e)
			base, t := l&^15, l&15
			var out [12]byte
			for j := range per {
				src := base + rowLanes*j + t/per
				setBits(out[:], j*w, w, getBits(chunk[src][:], t%per*w, w))
			}
			for i := range d {
				d[i][l] = le32(out[4*i:])
			}
		}
		return nil
	}
}

// getBits and setBits move little-endian bit fields of up to 16 bits; setBits
// expects zeros there.
func getBits(b []byte, at, w int) uint32 {
	var v uint32
	for i, sh := at/8, 0; sh < w+7 && i < len(b); i, sh = i+1, sh+8 {
		v |= uint32(b[i]) << sh
	}
	return v >> (at % 8) & (1<<w - 1)
}

func setBits(b []byte, at, w int, v uint32) {
	v <<= at % 8
	for i := at / 8; v != 0; i++ {
		b[i] |= byte(v)
		v >>= 8
	}
}

// execSwizzle follows the offset's mode: quad permute with bit 15, else and, or,
// xor of the lane number within 32, or a rotation within 32 from 0xc000.
func execSwizzle(k *Kernel, in *Inst, s *State) error {
	imm := uint32(in.Offset) & 0xffff
	if imm >= 0xe000 {
		return unsupported(k, in, "FFT swizzle")
	}
	return s.laneMove(in, func(n int) int {
		u := uint32(n)
		switch {
		case imm >= 0xc000:
			c := imm >> 5 & 31
			if imm>>10&1 != 0 {
				return int(u&^31 | (u-c)&31)
			}
			return int(u&^31 | (u+c)&31)
		case imm&0x8000 != 0:
			return int(u&^3 + imm>>(2*(u&3))&3)
		}
		return int(u&^31 | (u&31&imm|imm>>5)&31 ^ imm>>10&31)
	})
}

// laneMove gives each active lane the source of lane from(lane), zero if that
// lane is inactive.
func (s *State) laneMove(in *Inst, from func(lane int) int) error {
	src := *s.vreg(in.Src[0].Reg)
	d := s.vreg(in.Dst.Reg)
	exec := s.Exec()
	s.Access.Lanes = 0 // the crossbar touches no memory
	for e := exec; e != 0; {
		l := nextLane(&e)
		n := from(l)
		d[l] = 0
		if exec>>n&1 != 0 {
			d[l] = src[n]
		}
	}
	return nil
}

func execBPermute(_ *Kernel, in *Inst, s *State) error {
	addr, src := *s.vreg(in.Src[0].Reg), *s.vreg(in.Src[1].Reg)
	d := s.vreg(in.Dst.Reg)
	exec := s.Exec()
	s.Access.Lanes = 0 // the crossbar touches no memory
	for e := exec; e != 0; {
		l := nextLane(&e)
		n := (addr[l] + uint32(in.Offset)) / 4 % Lanes
		d[l] = 0
		if exec>>n&1 != 0 {
			d[l] = src[n]
		}
	}
	return nil
}

func execPermute(_ *Kernel, in *Inst, s *State) error {
	addr, src := s.vreg(in.Src[0].Reg), s.vreg(in.Src[1].Reg)
	var t VReg
	exec := s.Exec()
	s.Access.Lanes = 0 // the crossbar touches no memory
	for e := exec; e != 0; {
		l := nextLane(&e)
		t[(addr[l]+uint32(in.Offset))/4%Lanes] = src[l]
	}
	d := s.vreg(in.Dst.Reg)
	for e := exec; e != 0; {
		l := nextLane(&e)
		d[l] = t[l]
	}
	return nil
}
