package isa

import (
	"fmt"
	"strings"
)

// Vector memory: what each opcode moves, where lanes go, and the checks.

// space is the address space of a memory instruction.
type space uint8

const (
	spaceNone space = iota
	spaceBuffer
	spaceGlobal
	spaceFlat
	spaceScratch
	spaceLDS
	spaceScalar
)

// memKind is what a memory instruction does with its bytes.
type memKind uint8

const (
	memNone memKind = iota
	memLoad
	memStore
	memAtomic
)

// Parts of a register that a sub-dword access uses.
const (
	partFull uint8 = iota // a load clears or extends into the rest
	partLo                // d16: the low half, the high half kept
	partHi                // d16_hi: the high half, the low half kept
)

// memOp describes a memory opcode.
type memOp struct {
	space  space
	kind   memKind
	bytes  uint8 // in memory, per lane and address
	signed bool
	part   uint8
	dma    bool // global_load_lds_*: always direct to LDS
	two    uint8
	atom   atomic
	format uint8 // components of a typed access, 0 elsewhere
	half   bool  // typed: components are 16 bits wide in registers
}

// memOps is indexed by opcode; space spaceNone means not a memory instruction.
var memOps [numOps]memOp

var memSizes = map[string]memOp{
	"dword": {bytes: 4}, "dwordx2": {bytes: 8}, "dwordx3": {bytes: 12}, "dwordx4": {bytes: 16},
	"dwordx8": {bytes: 32}, "dwordx16": {bytes: 64},
	"ubyte": {bytes: 1}, "sbyte": {bytes: 1, signed: true}, "ushort": {bytes: 2}, "sshort": {bytes: 2, signed: true},
	"byte": {bytes: 1}, "short": {bytes: 2}, "byte_d16_hi": {bytes: 1, part: partHi}, "short_d16_hi": {bytes: 2, part: partHi},
	"short_d16":    {bytes: 2, part: partLo},
	"ubyte_d16":    {bytes: 1, part: partLo},
	"ubyte_d16_hi": {bytes: 1, part: partHi},
	"sbyte_d16":    {bytes: 1, part: partLo, signed: true},
	"sbyte_d16_hi": {bytes: 1, part: partHi, signed: true},
}

var memSpaces = map[string]space{"buffer": spaceBuffer, "global": spaceGlobal, "flat": spaceFlat, "scratch": spaceScratch}

func registerMemory() {
	for op := range numOps {
		prefix, rest, _ := strings.Cut(op.String(), "_")
		if sp, ok := memSpaces[prefix]; ok {
			registerVMEM(op, sp, rest)
		}
	}
	registerSMEM()
	registerScalarAtomics()
	registerTyped()
	registerLDS()
}

func registerVMEM(op Op, sp space, rest string) {
	verb, size, _ := strings.Cut(rest, "_")
	size, dma := strings.CutPrefix(size, "lds_")
	m, ok := memSizes[size]
	m.space, m.dma = sp, dma
	switch {
	case verb == "load" && ok:
		m.kind = memLoad
		execTable[op] = execLoad
	case verb == "store" && ok:
		m.kind = memStore
		execTable[op] = execStore
	case verb == "atomic":
		wide := strings.HasSuffix(size, "_x2")
		a, ok := atomicNames[strings.TrimSuffix(size, "_x2")]
		if !ok {
			return
		}
		m.kind, m.atom, m.bytes = memAtomic, a, 4
		if wide || a.is64() {
			m.bytes = 8
		}
		execTable[op] = execAtomic
	default:
		return
	}
	memOps[op] = m
}

// toLDS reports a load whose data goes to LDS.
func (m *memOp) toLDS(in *Inst) bool { return m.dma || in.Flags&LDSBit != 0 && m.space == spaceBuffer }

// Address computes the lanes and addresses of a memory instruction into
// s.Access and checks them, without moving data.
func Address(k *Kernel, in *Inst, s *State) error {
	m := &memOps[in.Op]
	if m.format != 0 {
		sized, err := s.formatOp(k, in, m)
		if err != nil {
			return err
		}
		m = &sized
	}
	switch m.space {
	case spaceBuffer:
		s.bufferAddress(in, m)
	case spaceGlobal:
		s.globalAddress(in, m)
	case spaceFlat:
		s.flatAddress(in, m)
	case spaceScratch:
		s.scratchAddress(in, m)
	case spaceLDS:
		s.ldsAddress(in, m)
		return nil
	case spaceScalar:
		s.scalarAddress(in, m)
	default:
		s.Access.Lanes = 0
		return nil
	}
	if m.toLDS(in) {
		s.dmaAddress(in, m)
	}
	return s.checkAccess(k, in, m)
}

// M0 supplies the LDS address of direct-to-LDS loads: 16 bits on gfx942, 18 on
// gfx950, whose LDS is larger than 64 KiB.
func (s *State) ldsBase() uint32 {
	if s.CPU == GFX942 {
		return s.SGPR[M0] & 0xffff
	}
	return s.SGPR[M0] & 0x3ffff
}

// dmaAddress: the instruction offset counts on the LDS side too, and lanes are
// a dword apart, or 16 bytes for the wide forms.
func (s *State) dmaAddress(in *Inst, m *memOp) {
	a := &s.Access
	a.LDS = s.ldsBase() + uint32(in.Offset)
	a.LDSStride = 4
	if m.bytes > 4 {
		a.LDSStride = 16
	}
}

// descriptor is a decoded buffer resource (V#).
type descriptor struct {
	base       uint64
	stride     uint32
	records    uint64
	swizzle    bool
	addTID     bool
	indexWidth uint32
}

func (s *State) descriptor(r Reg) descriptor {
	w := s.SGPR[r : r+4]
	d := descriptor{
		base:       uint64(w[0]) | uint64(w[1]&0xffff)<<32,
		stride:     w[1] >> 16 & 0x3fff,
		records:    uint64(w[2]),
		addTID:     w[3]>>23&1 != 0,
		indexWidth: 8 << (w[3] >> 21 & 3),
	}
	if d.addTID {
		d.stride |= w[3] >> 15 & 15 << 14
	}
	d.swizzle = w[1]>>31 != 0 && d.addTID
	return d
}

// bufferAddress follows the V# rules: a raw access is in range when its last
// byte, counted with soffset, lies below num_records; a structured one when its
// index does. Lanes with no dword in range leave Access.Lanes.
func (s *State) bufferAddress(in *Inst, m *memOp) {
	a := &s.Access
	d := s.descriptor(in.Src[1].Reg)
	soff := uint64(s.scalar32(in, in.Src[2].Reg))
	idxen, offen := in.Flags&Idxen != 0, in.Flags&Offen != 0
	var index, offset *VReg
	if idxen {
		index = s.vreg(in.Src[0].Reg)
	}
	if offen {
		r := in.Src[0].Reg
		if idxen {
			r++
		}
		offset = s.vreg(r)
	}
	a.Bytes = m.bytes
	// Loads and stores are clamped by dword, atomics and typed accesses all or
	// nothing.
	unit := uint64(min(m.bytes, 4))
	if m.kind == memAtomic || m.format != 0 {
		unit = uint64(m.bytes)
	}
	exec := s.Exec()
	a.Lanes = 0
	for e := exec; e != 0; {
		l := nextLane(&e)
		var idx, off uint32
		if index != nil {
			idx = index[l]
		}
		off = uint32(in.Offset)
		if offset != nil {
			off += offset[l]
		}
		inRange := true
		switch {
		case d.addTID && !idxen:
		case idxen && d.stride != 0:
			inRange = uint64(idx) < d.records
		default:
			inRange = uint64(off)+soff+unit <= d.records
		}
		if d.addTID {
			idx += uint32(l)
		}
		var b uint64
		if d.swizzle {
			is := d.indexWidth
			b = uint64((idx/is)*d.stride+off&^3)*uint64(is) + uint64(idx%is)*4 + uint64(off&3)
		} else {
			b = uint64(idx)*uint64(d.stride) + uint64(off)
		}
		a.Addr[l] = d.base + soff + b
		if inRange {
			a.Lanes |= 1 << l
		}
	}
}

// rawLimit is the first address past a raw buffer, for clamping wide accesses
// by dword; structured buffers clamp by index only.
func (s *State) rawLimit(in *Inst) uint64 {
	d := s.descriptor(in.Src[1].Reg)
	if d.addTID || in.Flags&Idxen != 0 && d.stride != 0 {
		return ^uint64(0)
	}
	return d.base + d.records
}

func (s *State) globalAddress(in *Inst, m *memOp) {
	a := &s.Access
	a.Bytes, a.Lanes = m.bytes, s.Exec()
	off := uint64(int64(in.Offset))
	v := in.Src[0]
	if in.Src[1].Present() { // SGPR base, 32-bit VGPR offset
		base := s.s64(in, 1) + off
		r := s.vreg(v.Reg)
		for l := range r {
			a.Addr[l] = base + uint64(r[l])
		}
		return
	}
	r := s.vregs(v.Reg, 2)
	lo, hi := &r[0], &r[1]
	for l := range lo {
		a.Addr[l] = uint64(lo[l]) | uint64(hi[l])<<32
		a.Addr[l] += off
	}
}

func (s *State) flatAddress(in *Inst, m *memOp) {
	a := &s.Access
	a.Bytes, a.Lanes = m.bytes, s.Exec()
	r := s.vregs(in.Src[0].Reg, 2)
	lo, hi := &r[0], &r[1]
	off := uint64(uint32(in.Offset))
	for l := range lo {
		a.Addr[l] = uint64(lo[l]) | uint64(hi[l])<<32
		a.Addr[l] += off
	}
}

// scratchAddress gives byte offsets in the lane's private memory.
func (s *State) scratchAddress(in *Inst, m *memOp) {
	a := &s.Access
	a.Bytes, a.Lanes = m.bytes, s.Exec()
	base := uint32(in.Offset)
	if in.Src[1].Present() {
		base += s.s32(in, 1)
	}
	if !in.Src[0].Present() {
		for l := range a.Addr {
			a.Addr[l] = uint64(base)
		}
		return
	}
	r := s.vreg(in.Src[0].Reg)
	for l := range r {
		a.Addr[l] = uint64(base + r[l])
	}
}

// lane address kinds of flat addressing, by aperture.
func aperture(addr uint64) space {
	switch addr >> 32 {
	case sharedApertureHi:
		return spaceLDS
	case privateApertureHi:
		return spaceScratch
	}
	return spaceGlobal
}

// checkAccess reports the first lane whose bytes lie outside every allocation.
func (s *State) checkAccess(k *Kernel, in *Inst, m *memOp) error {
	a := &s.Access
	if m.space == spaceScratch {
		limit := uint64(4 * len(s.Scratch))
		for e := a.Lanes; e != 0; {
			l := nextLane(&e)
			if a.Addr[l]+uint64(a.Bytes) > limit {
				return s.accessError(k, in, l, a.Addr[l], int(a.Bytes))
			}
		}
		return nil
	}
	if s.Mem == nil {
		return nil
	}
	limit := ^uint64(0)
	if m.space == spaceBuffer && m.bytes > 4 {
		limit = s.rawLimit(in)
	}
	var r Region
	for e := a.Lanes; e != 0; {
		l := nextLane(&e)
		addr, n := a.Addr[l], uint64(a.Bytes)
		if addr+n > limit {
			n = (limit - addr) &^ 3
		}
		if off := addr - r.Base; off < r.Size && n <= r.Size-off {
			continue
		}
		if m.space == spaceFlat && aperture(addr) != spaceGlobal {
			continue
		}
		var ok bool
		if r, ok = s.Mem.Find(addr, n); !ok {
			return s.accessError(k, in, l, addr, int(n))
		}
	}
	return nil
}

func (s *State) accessError(k *Kernel, in *Inst, lane int, addr uint64, n int) error {
	near := "; nothing is allocated"
	if memOps[in.Op].space == spaceScratch {
		near = fmt.Sprintf("; the kernel has %d scratch bytes a lane", 4*len(s.Scratch))
	} else if r, ok := s.Mem.nearest(addr); ok {
		near = fmt.Sprintf("; the nearest allocation is %q [%#x, %#x)", r.Name, r.Base, r.Base+r.Size)
	}
	return fmt.Errorf("isa: kernel %s: %s at pc %#x: workgroup %v wave %d lane %d: access of %d bytes at %#x is %w%s",
		k.Name, in.Text(k.CPU), in.PC, s.Info.Workgroup, s.Info.WaveInWG, lane, n, addr, ErrOutOfBounds, near)
}

// nearest is the allocation whose bounds lie closest to addr.
func (m *Memory) nearest(addr uint64) (Region, bool) {
	var best Region
	found, dist := false, ^uint64(0)
	for _, r := range m.regions {
		d := uint64(0)
		switch {
		case addr < r.Base:
			d = r.Base - addr
		case addr >= r.Base+r.Size:
			d = addr - (r.Base + r.Size) + 1
		}
		if !found || d < dist {
			best, found, dist = r, true, d
		}
	}
	return best, found
}
