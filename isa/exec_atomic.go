package isa

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Atomics of memory and LDS: lanes go in ascending order.

// atomic is a read-modify-write operation. Integer ones come in 32 and 64 bits.
type atomic uint8

const (
	atomNone atomic = iota
	atomSwap
	atomCmpSwap
	atomAdd
	atomSub
	atomRSub
	atomSMin
	atomSMax
	atomUMin
	atomUMax
	atomAnd
	atomOr
	atomXor
	atomInc
	atomDec
	atomMskOr
	atomWrap
	atomCondXchg
	atomAddF32
	atomAddF64
	atomMinF32
	atomMaxF32
	atomMinF64
	atomMaxF64
	atomCmpSwapF32
	atomCmpSwapF64
	atomPkAddF16
	atomPkAddBF16
)

// is64 reports an operation that is 64 bits wide whatever its name's suffix.
func (a atomic) is64() bool { return a == atomAddF64 || a == atomMinF64 || a == atomMaxF64 }

// atomicNames are the global, flat and buffer forms.
var atomicNames = map[string]atomic{
	"swap": atomSwap, "cmpswap": atomCmpSwap, "add": atomAdd, "sub": atomSub,
	"smin": atomSMin, "smax": atomSMax, "umin": atomUMin, "umax": atomUMax,
	"and": atomAnd, "or": atomOr, "xor": atomXor, "inc": atomInc, "dec": atomDec,
	"add_f32": atomAddF32, "add_f64": atomAddF64, "min_f64": atomMinF64, "max_f64": atomMaxF64,
	"pk_add_f16": atomPkAddF16, "pk_add_bf16": atomPkAddBF16,
}

// ldsAtomicNames map the verb and the type letter of an LDS atomic.
var ldsAtomicNames = map[string]atomic{
	"add_u": atomAdd, "sub_u": atomSub, "rsub_u": atomRSub, "inc_u": atomInc, "dec_u": atomDec,
	"min_i": atomSMin, "max_i": atomSMax, "min_u": atomUMin, "max_u": atomUMax,
	"and_b": atomAnd, "or_b": atomOr, "xor_b": atomXor, "mskor_b": atomMskOr,
	"wrxchg_b": atomSwap, "wrxchg2_b": atomSwap, "wrxchg2st64_b": atomSwap,
	"cmpst_b": atomCmpSwap, "wrap_b": atomWrap, "condxchg32_b": atomCondXchg,
}

var ldsFloatAtomics = map[string]atomic{
	"add_f32": atomAddF32, "add_f64": atomAddF64, "min_f32": atomMinF32, "max_f32": atomMaxF32,
	"min_f64": atomMinF64, "max_f64": atomMaxF64, "cmpst_f32": atomCmpSwapF32, "cmpst_f64": atomCmpSwapF64,
	"pk_add_f16": atomPkAddF16, "pk_add_bf16": atomPkAddBF16,
}

// apply32 is the new value of a 32-bit atomic; cmp is the compare value of a
// compare-and-swap and the second source of mskor and wrap.
func (a atomic) apply32(old, v, cmp uint32) uint32 {
	switch a {
	case atomSMin:
		return minI(old, v)
	case atomSMax:
		return maxI(old, v)
	case atomInc:
		if old >= v {
			return 0
		}
		return old + 1
	case atomDec:
		if old == 0 || old > v {
			return v
		}
		return old - 1
	case atomAddF32:
		return uint32(fAdd(&fmt32, uint64(old), uint64(v), 0))
	case atomMinF32:
		return pickIf(ffrom(v) < ffrom(old), v, old)
	case atomMaxF32:
		return pickIf(ffrom(v) > ffrom(old), v, old)
	case atomCmpSwapF32:
		return pickIf(ffrom(old) == ffrom(cmp), v, old)
	case atomPkAddF16:
		return uint32(fAdd(&fmt16, uint64(old&0xffff), uint64(v&0xffff), 0)) |
			uint32(fAdd(&fmt16, uint64(old>>16), uint64(v>>16), 0))<<16
	case atomPkAddBF16:
		add := func(x, y uint32) uint32 {
			return f32ToBF16(uint32(fAdd(&fmt32, uint64(x), uint64(y), 0)))
		}
		return add(old<<16, v<<16) | add(old&0xffff0000, v&0xffff0000)<<16
	}
	return uint32(a.apply(uint64(old), uint64(v), uint64(cmp)))
}

func pickIf(c bool, a, b uint32) uint32 {
	if c {
		return a
	}
	return b
}

// apply64 is the 64-bit form.
func (a atomic) apply64(old, v, cmp uint64) uint64 {
	r := old
	switch a {
	case atomSMin:
		return uint64(min(int64(old), int64(v)))
	case atomSMax:
		return uint64(max(int64(old), int64(v)))
	case atomInc:
		if old >= v {
			return 0
		}
		return old + 1
	case atomDec:
		if old == 0 || old > v {
			return v
		}
		return old - 1
	case atomAddF64:
		return fAdd(&fmt64, old, v, 0)
	case atomMinF64:
		if dfrom(v) < dfrom(old) {
			r = v
		}
		return r
	case atomMaxF64:
		if dfrom(v) > dfrom(old) {
			r = v
		}
		return r
	case atomCmpSwapF64:
		if dfrom(old) == dfrom(cmp) {
			r = v
		}
		return r
	case atomCondXchg: // each dword with its top bit set replaces the old one
		for sh := 0; sh < 64; sh += 32 {
			if d := v >> sh & 0xffffffff; d>>31 != 0 {
				r = r&^(0xffffffff<<sh) | (d&0x7fffffff)<<sh
			}
		}
		return r
	}
	return a.apply(old, v, cmp)
}

// apply holds the operations whose low bits do not depend on the width.
func (a atomic) apply(old, v, cmp uint64) uint64 {
	switch a {
	case atomSwap:
		return v
	case atomCmpSwap:
		if old == cmp {
			return v
		}
		return old
	case atomAdd:
		return old + v
	case atomSub:
		return old - v
	case atomRSub:
		return v - old
	case atomUMin:
		return min(old, v)
	case atomUMax:
		return max(old, v)
	case atomAnd:
		return old & v
	case atomOr:
		return old | v
	case atomXor:
		return old ^ v
	case atomMskOr:
		return old&^v | cmp
	case atomWrap:
		if old >= v {
			return old - v
		}
		return old + cmp
	}
	return old
}

// update applies the atomic to the value in b and returns the old one.
func (a atomic) update(b []byte, v, cmp uint64) uint64 {
	if len(b) == 4 {
		old := le32(b)
		putLE32(b, a.apply32(old, uint32(v), uint32(cmp)))
		return uint64(old)
	}
	old := binary.LittleEndian.Uint64(b)
	binary.LittleEndian.PutUint64(b, a.apply64(old, v, cmp))
	return old
}

// laneData is a lane's n-byte value in registers from d.
func laneData(d []VReg, l int, n uint8) uint64 {
	v := uint64(d[0][l])
	if n == 8 {
		v |= uint64(d[1][l]) << 32
	}
	return v
}

func putLaneData(d []VReg, l int, n uint8, v uint64) {
	d[0][l] = uint32(v)
	if n == 8 {
		d[1][l] = uint32(v >> 32)
	}
}

// execAtomic does a buffer, global or flat atomic. In memory a compare-and-swap
// takes the new value first and the compare value after it.
func execAtomic(k *Kernel, in *Inst, s *State) error {
	if err := Address(k, in, s); err != nil {
		return err
	}
	m := &memOps[in.Op]
	a := &s.Access
	w := dataRegs(m.bytes)
	src := s.vregs(in.Src[3].Reg, w)
	cmp := src
	if m.atom == atomCmpSwap {
		cmp = s.vregs(in.Src[3].Reg+Reg(w), w)
	}
	returns := in.Flags&SC0 != 0 && in.Dst.Present()
	var d []VReg
	if returns {
		d = s.vregs(in.Dst.Reg, w)
	}
	var b [8]byte
	for e := s.Exec(); e != 0; {
		l := nextLane(&e)
		var old uint64
		if a.Lanes>>l&1 != 0 {
			s.readLane(m, l, ^uint64(0), b[:m.bytes])
			old = m.atom.update(b[:m.bytes], laneData(src, l, m.bytes), laneData(cmp, l, m.bytes))
			s.writeLane(m, l, ^uint64(0), b[:m.bytes])
		}
		if returns {
			putLaneData(d, l, m.bytes, old)
		}
	}
	return nil
}

// registerLDSAtomic registers the LDS atomic called ds_<name>, if it is one.
func registerLDSAtomic(op Op, name string) {
	verb := strings.Replace(name, "_rtn", "", 1)
	m := memOp{space: spaceLDS, kind: memAtomic, bytes: 4}
	if strings.HasSuffix(verb, "64") {
		m.bytes = 8
	}
	a, ok := ldsFloatAtomics[verb]
	if !ok {
		verb = strings.TrimSuffix(strings.TrimSuffix(verb, "32"), "64")
		if a, ok = ldsAtomicNames[verb]; !ok {
			return
		}
	}
	switch {
	case strings.HasPrefix(verb, "wrxchg2st64"):
		m.two = ldsSt64
	case strings.HasPrefix(verb, "wrxchg2"):
		m.two = ldsTwo
	}
	m.atom = a
	memOps[op], execTable[op] = m, execLDSAtomic
}

// execLDSAtomic: LDS compare-and-store takes the compare value in the first
// data operand and the new value in the second, the reverse of memory.
func execLDSAtomic(_ *Kernel, in *Inst, s *State) error {
	m := &memOps[in.Op]
	s.ldsAddress(in, m)
	a := &s.Access
	w := dataRegs(m.bytes)
	v := s.vregs(in.Src[1].Reg, w)
	other := v
	if in.Src[2].Present() {
		other = s.vregs(in.Src[2].Reg, w)
	}
	if m.atom == atomCmpSwap || m.atom == atomCmpSwapF32 || m.atom == atomCmpSwapF64 {
		v, other = other, v
	}
	var d []VReg
	two := m.two == ldsTwo || m.two == ldsSt64
	if in.Dst.Present() {
		n := w
		if two {
			n *= 2
		}
		d = s.vregs(in.Dst.Reg, n)
	}
	for e := a.Lanes; e != 0; {
		l := nextLane(&e)
		x, y := laneData(v, l, m.bytes), laneData(other, l, m.bytes)
		old := s.ldsUpdate(uint32(a.Addr[l]), m, x, y)
		if d != nil {
			putLaneData(d, l, m.bytes, old)
		}
		if two {
			putLaneData(d[w:], l, m.bytes, s.ldsUpdate(uint32(a.Addr2[l]), m, y, y))
		}
	}
	return nil
}

func (s *State) ldsUpdate(addr uint32, m *memOp, v, cmp uint64) uint64 {
	if uint64(addr)+uint64(m.bytes) > uint64(len(s.LDS)) {
		return 0
	}
	return m.atom.update(s.LDS[addr:addr+uint32(m.bytes)], v, cmp)
}

// ldsCount is ds_append or ds_consume: the wave adds or subtracts its number of
// active lanes.
func ldsCount(sign int32) execFunc {
	return func(_ *Kernel, in *Inst, s *State) error {
		m := &memOps[in.Op]
		s.ldsAddress(in, m)
		n := uint32(sign * int32(bits.OnesCount64(s.Exec())))
		var old uint32
		if addr := uint32(s.Access.Addr[0]); uint64(addr)+4 <= uint64(len(s.LDS)) {
			old = le32(s.LDS[addr:])
			putLE32(s.LDS[addr:], old+n)
		}
		d := s.vreg(in.Dst.Reg)
		for e := s.Exec(); e != 0; {
			d[nextLane(&e)] = old
		}
		return nil
	}
}
