package isa

import "strings"

// Scalar memory beyond loads: atomics, scratch accesses and buffer stores. No
// current compiler emits them, but LLVM assembles them for both CPUs.

// scalarScratch marks s_scratch_*: an SGPR offset counts blocks of 64 bytes.
const scalarScratch = 2

func registerScalarAtomics() {
	for op := range numOps {
		name := op.String()
		m := memOp{space: spaceScalar, bytes: 4}
		rest, ok := strings.CutPrefix(name, "s_atomic_")
		if !ok {
			if rest, ok = strings.CutPrefix(name, "s_buffer_atomic_"); ok {
				m.two = scalarBuffer
			}
		}
		if !ok {
			continue
		}
		stem, wide := strings.CutSuffix(rest, "_x2")
		if wide {
			m.bytes = 8
		}
		m.kind, m.atom = memAtomic, atomicNames[stem]
		memOps[op], execTable[op] = m, execScalarAtomic
	}
	for _, o := range []struct {
		scratchLoad, scratchStore, bufferStore Op
		bytes                                  uint8
	}{
		{S_SCRATCH_LOAD_DWORD, S_SCRATCH_STORE_DWORD, S_BUFFER_STORE_DWORD, 4},
		{S_SCRATCH_LOAD_DWORDX2, S_SCRATCH_STORE_DWORDX2, S_BUFFER_STORE_DWORDX2, 8},
		{S_SCRATCH_LOAD_DWORDX4, S_SCRATCH_STORE_DWORDX4, S_BUFFER_STORE_DWORDX4, 16},
	} {
		m := memOp{space: spaceScalar, kind: memLoad, bytes: o.bytes, two: scalarScratch}
		memOps[o.scratchLoad], execTable[o.scratchLoad] = m, execScalarLoad
		m.kind = memStore
		memOps[o.scratchStore], execTable[o.scratchStore] = m, execScalarStore
		m.two = scalarBuffer
		memOps[o.bufferStore], execTable[o.bufferStore] = m, execScalarStore
	}
}

// execScalarAtomic takes the new value first and the compare value after it, and
// with glc (SC0) the old value replaces them.
func execScalarAtomic(k *Kernel, in *Inst, s *State) error {
	if err := Address(k, in, s); err != nil {
		return err
	}
	m := &memOps[in.Op]
	word := func(r Reg) uint64 {
		v := uint64(s.scalar32(in, r))
		if m.bytes == 8 {
			v |= uint64(s.scalar32(in, r+1)) << 32
		}
		return v
	}
	d := in.Src[2].Reg
	v, cmp := word(d), uint64(0)
	if m.atom == atomCmpSwap {
		cmp = word(d + Reg(m.bytes/4))
	}
	var old uint64
	if s.Access.Lanes != 0 {
		var b [8]byte
		s.Mem.Read(s.Access.Addr[0], b[:m.bytes])
		old = m.atom.update(b[:m.bytes], v, cmp)
		s.Mem.Write(s.Access.Addr[0], b[:m.bytes])
	}
	if in.Flags&SC0 != 0 {
		s.setS32(d, uint32(old))
		if m.bytes == 8 {
			s.setS32(d+1, uint32(old>>32))
		}
	}
	return nil
}
