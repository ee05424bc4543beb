package isa

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Apertures of flat addressing: the high dwords that Linux sets up on gfx9 for
// LDS (shared) and scratch (private), 4 GiB each.
const (
	sharedApertureHi  = 1 << 16
	privateApertureHi = 2 << 16
)

// InAperture reports whether a flat address reaches LDS or scratch instead of
// device memory.
func InAperture(addr uint64) bool {
	hi := uint32(addr >> 32)
	return hi == sharedApertureHi || hi == privateApertureHi
}

// Inline float constants 240..248 by operand type.
var (
	inlineF32 = [9]uint32{0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000, 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983}
	inlineF16 = [9]uint32{0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118}
	inlineF64 = [9]uint64{
		math.Float64bits(0.5), math.Float64bits(-0.5), math.Float64bits(1), math.Float64bits(-1),
		math.Float64bits(2), math.Float64bits(-2), math.Float64bits(4), math.Float64bits(-4), 0x3fc45f306dc9c882,
	}
)

// Bits of MODE.
const (
	modeDenormIn32   = 1 << 4
	modeDenormOut32  = 1 << 5
	modeDenormIn16   = 1 << 6
	modeDenormOut16  = 1 << 7
	modeDX10Clamp    = 1 << 8
	modeIEEE         = 1 << 9
	modeFP16Overflow = 1 << 23
)

// scalar32 is the dword that operand r supplies to every lane or to the SALU.
func (s *State) scalar32(in *Inst, r Reg) uint32 {
	switch {
	case r < Const0:
		return s.SGPR[r]
	case r <= Const0+64:
		return uint32(r - Const0)
	case r <= 208:
		return uint32(192 - int32(r))
	case r >= ConstHalf && r <= ConstInv2Pi:
		return inlineF32[r-ConstHalf]
	}
	switch r {
	case SharedBase:
		return sharedApertureHi
	case SharedLimit:
		return sharedApertureHi | 0xffff
	case PrivateBase:
		return privateApertureHi
	case PrivateLimit:
		return privateApertureHi | 0xffff
	case VCCZ:
		return bit32(s.VCC() == 0)
	case ExecZ:
		return bit32(s.Exec() == 0)
	case SCC:
		return bit32(s.SCC)
	case Literal:
		return in.Literal
	}
	return 0
}

// scalar64 is the 64-bit integer that operand r supplies: literals and inline
// integers are sign-extended, apertures sit in the high dword.
func (s *State) scalar64(in *Inst, r Reg) uint64 {
	switch {
	case r < Const0:
		return uint64(s.SGPR[r]) | uint64(s.SGPR[(r+1)&127])<<32
	case r <= 208:
		return uint64(int64(int32(s.scalar32(in, r))))
	case r >= ConstHalf && r <= ConstInv2Pi:
		return inlineF64[r-ConstHalf]
	case r >= SharedBase && r <= PrivateLimit:
		return uint64(s.scalar32(in, r)) << 32
	case r == Literal:
		return uint64(int64(int32(in.Literal)))
	}
	return uint64(s.scalar32(in, r))
}

// s32 and s64 read a source of a scalar instruction.
func (s *State) s32(in *Inst, i int) uint32 { return s.scalar32(in, in.Src[i].Reg) }
func (s *State) s64(in *Inst, i int) uint64 { return s.scalar64(in, in.Src[i].Reg) }

func (s *State) setS32(r Reg, v uint32) {
	if r < Const0 {
		s.SGPR[r] = v
	}
}

func (s *State) setS64(r Reg, v uint64) {
	if r < Const0-1 {
		s.SGPR[r], s.SGPR[r+1] = uint32(v), uint32(v>>32)
	}
}

// mask64 reads a lane mask operand that is VCC when the encoding leaves it out.
func (s *State) mask64(in *Inst, o Operand) uint64 {
	if !o.Present() {
		return s.VCC()
	}
	return s.scalar64(in, o.Reg)
}

func (s *State) setMask(o Operand, v uint64) {
	if !o.Present() {
		s.SetVCC(v)
		return
	}
	s.setS64(o.Reg, v)
}

// vregs is the range of n vector or accumulation registers from r.
func (s *State) vregs(r Reg, n int) []VReg {
	i := r.Index()
	if r.IsAGPR() {
		return s.AGPR[i : i+n]
	}
	return s.VGPR[i : i+n]
}

func (s *State) vreg(r Reg) *VReg {
	if r.IsAGPR() {
		return &s.AGPR[r-A0]
	}
	return &s.VGPR[r-V0]
}

func bit32(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func fill(v *VReg, x uint32) {
	for i := range v {
		v[i] = x
	}
}

// nextLane pops the lowest lane of m.
func nextLane(m *uint64) int {
	l := bits.TrailingZeros64(*m)
	*m &= *m - 1
	return l
}

func le32(b []byte) uint32       { return binary.LittleEndian.Uint32(b) }
func putLE32(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
