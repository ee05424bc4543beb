package isa

// Data side of vector memory instructions: lanes go in ascending order, so of
// two stores to one address the highest lane's stays.

// dataRegs is the number of registers that n bytes take.
func dataRegs(bytes uint8) int { return (int(bytes) + 3) / 4 }

func execLoad(k *Kernel, in *Inst, s *State) error {
	if err := Address(k, in, s); err != nil {
		return err
	}
	m := &memOps[in.Op]
	if m.toLDS(in) {
		s.loadToLDS(in, m)
		return nil
	}
	a := &s.Access
	d := s.vregs(in.Dst.Reg, dataRegs(m.bytes))
	limit := ^uint64(0)
	if m.space == spaceBuffer {
		for e := s.Exec() &^ a.Lanes; e != 0; { // out of range reads zero
			l := nextLane(&e)
			s.putLoad(d, l, m, nil)
		}
		if m.bytes > 4 {
			limit = s.rawLimit(in)
		}
	}
	var b [16]byte
	buf := b[:m.bytes]
	for e := a.Lanes; e != 0; {
		l := nextLane(&e)
		s.readLane(m, l, limit, buf)
		s.putLoad(d, l, m, buf)
	}
	return nil
}

// readLane reads one lane's bytes, zero where a raw buffer's range ends.
func (s *State) readLane(m *memOp, l int, limit uint64, buf []byte) {
	addr := s.Access.Addr[l]
	switch m.space {
	case spaceScratch:
		s.scratchBytes(l, uint32(addr), buf, false)
		return
	case spaceFlat:
		switch aperture(addr) {
		case spaceLDS:
			ldsRead(s.LDS, uint32(addr), buf)
			return
		case spaceScratch:
			s.scratchBytes(l, uint32(addr), buf, false)
			return
		}
	}
	if n := uint64(len(buf)); addr+n > limit {
		clear(buf)
		buf = buf[:(limit-addr)&^3]
	}
	s.Mem.Read(addr, buf)
}

func (s *State) writeLane(m *memOp, l int, limit uint64, buf []byte) {
	addr := s.Access.Addr[l]
	switch m.space {
	case spaceScratch:
		s.scratchBytes(l, uint32(addr), buf, true)
		return
	case spaceFlat:
		switch aperture(addr) {
		case spaceLDS:
			ldsWrite(s.LDS, uint32(addr), buf)
			return
		case spaceScratch:
			s.scratchBytes(l, uint32(addr), buf, true)
			return
		}
	}
	if n := uint64(len(buf)); addr+n > limit {
		buf = buf[:(limit-addr)&^3]
	}
	s.Mem.Write(addr, buf)
}

// scratchBytes moves bytes of a lane's private memory, which is kept by dword.
func (s *State) scratchBytes(l int, addr uint32, buf []byte, write bool) {
	for i := range buf {
		p := addr + uint32(i)
		if int(p/4) >= len(s.Scratch) {
			continue
		}
		w, sh := &s.Scratch[p/4][l], p%4*8
		if write {
			*w = *w&^(0xff<<sh) | uint32(buf[i])<<sh
		} else {
			buf[i] = byte(*w >> sh)
		}
	}
}

// putLoad writes one lane's loaded bytes to registers; nil bytes are zeros.
func (s *State) putLoad(d []VReg, l int, m *memOp, b []byte) {
	if m.bytes >= 4 {
		for i := range d {
			var v uint32
			if b != nil {
				v = le32(b[4*i:])
			}
			d[i][l] = v
		}
		return
	}
	d[0][l] = mergePart(d[0][l], narrow(b, m.signed), m.part)
}

// narrow extends one or two bytes to a dword.
func narrow(b []byte, signed bool) uint32 {
	switch {
	case len(b) == 1 && signed:
		return uint32(int32(int8(b[0])))
	case len(b) == 1:
		return uint32(b[0])
	case len(b) == 2 && signed:
		return uint32(int32(int16(uint16(b[0]) | uint16(b[1])<<8)))
	case len(b) == 2:
		return uint32(b[0]) | uint32(b[1])<<8
	}
	return 0
}

func mergePart(old, v uint32, part uint8) uint32 {
	switch part {
	case partLo:
		return old&^0xffff | v&0xffff
	case partHi:
		return old&0xffff | v<<16
	}
	return v
}

// loadToLDS writes what a direct-to-LDS load reads: sub-dword values extend to
// a dword, lanes out of a buffer's range write zeros, inactive lanes nothing.
func (s *State) loadToLDS(in *Inst, m *memOp) {
	a := &s.Access
	var b [16]byte
	limit := ^uint64(0)
	if m.space == spaceBuffer && m.bytes > 4 {
		limit = s.rawLimit(in)
	}
	for e := s.Exec(); e != 0; {
		l := nextLane(&e)
		buf := b[:m.bytes]
		if a.Lanes>>l&1 == 0 {
			clear(buf)
		} else {
			s.readLane(m, l, limit, buf)
		}
		if m.bytes < 4 {
			v := narrow(buf, m.signed)
			buf = b[:4]
			putLE32(buf, v)
		}
		ldsWrite(s.LDS, a.LDS+uint32(l)*uint32(a.LDSStride), buf)
	}
}

func execStore(k *Kernel, in *Inst, s *State) error {
	if err := Address(k, in, s); err != nil {
		return err
	}
	m := &memOps[in.Op]
	a := &s.Access
	d := s.vregs(in.Src[3].Reg, dataRegs(m.bytes))
	limit := ^uint64(0)
	if m.space == spaceBuffer && m.bytes > 4 {
		limit = s.rawLimit(in)
	}
	var b [16]byte
	for e := a.Lanes; e != 0; {
		l := nextLane(&e)
		for i := range d {
			v := d[i][l]
			if m.part == partHi {
				v >>= 16
			}
			putLE32(b[4*i:], v)
		}
		s.writeLane(m, l, limit, b[:m.bytes])
	}
	return nil
}

// registerSMEM registers s_load_*, s_buffer_load_* and the scalar stores.
func registerSMEM() {
	for _, o := range []struct {
		load, buffer, store Op
		size                string
	}{
		{S_LOAD_DWORD, S_BUFFER_LOAD_DWORD, S_STORE_DWORD, "dword"},
		{S_LOAD_DWORDX2, S_BUFFER_LOAD_DWORDX2, S_STORE_DWORDX2, "dwordx2"},
		{S_LOAD_DWORDX4, S_BUFFER_LOAD_DWORDX4, S_STORE_DWORDX4, "dwordx4"},
		{S_LOAD_DWORDX8, S_BUFFER_LOAD_DWORDX8, OpInvalid, "dwordx8"},
		{S_LOAD_DWORDX16, S_BUFFER_LOAD_DWORDX16, OpInvalid, "dwordx16"},
	} {
		m := memOp{space: spaceScalar, kind: memLoad, bytes: memSizes[o.size].bytes}
		memOps[o.load], execTable[o.load] = m, execScalarLoad
		m.two = scalarBuffer
		memOps[o.buffer], execTable[o.buffer] = m, execScalarLoad
		if o.store != OpInvalid {
			memOps[o.store] = memOp{space: spaceScalar, kind: memStore, bytes: m.bytes}
			execTable[o.store] = execScalarStore
		}
	}
}

// scalarBuffer marks s_buffer_load in memOp.two.
const scalarBuffer = 1

// scalarAddress computes the one address of a scalar access. A buffer access
// past its range leaves no lane and reads zero.
func (s *State) scalarAddress(in *Inst, m *memOp) {
	a := &s.Access
	a.Bytes, a.Lanes = m.bytes, 1
	off := uint64(int64(in.Offset))
	if in.Src[1].Present() {
		o := uint64(s.s32(in, 1))
		if m.two == scalarScratch {
			o *= 64
		}
		off += o
	}
	if m.two != scalarBuffer {
		a.Addr[0] = (s.s64(in, 0) + off) &^ 3
		return
	}
	d := s.descriptor(in.Src[0].Reg)
	limit := d.records
	if d.stride != 0 {
		limit *= uint64(d.stride)
	}
	if off+uint64(m.bytes) > limit {
		a.Lanes = 0
	}
	a.Addr[0] = (d.base + off) &^ 3
}

func execScalarLoad(k *Kernel, in *Inst, s *State) error {
	if err := Address(k, in, s); err != nil {
		return err
	}
	n := int(memOps[in.Op].bytes) / 4
	for i := range n {
		var v uint32
		if s.Access.Lanes != 0 {
			v = s.Mem.Load32(s.Access.Addr[0] + uint64(4*i))
		}
		s.setS32(in.Dst.Reg+Reg(i), v)
	}
	return nil
}

func execScalarStore(k *Kernel, in *Inst, s *State) error {
	if err := Address(k, in, s); err != nil {
		return err
	}
	if s.Access.Lanes == 0 {
		return nil
	}
	for i := range int(memOps[in.Op].bytes) / 4 {
		s.Mem.Store32(s.Access.Addr[0]+uint64(4*i), s.scalar32(in, in.Src[2].Reg+Reg(i)))
	}
	return nil
}
