package isa

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// Barrier objects take 8 bytes of LDS: the arrivals that the phase still waits
// for, and the arrivals of a phase doubled plus the parity of the phase.
const MBarBytes = 8

// execExtension does one extension. A wait that is not over leaves s.PC where
// it was.
func execExtension(k *Kernel, in *Inst, s *State) error {
	switch in.Op {
	case X_SET_REGISTERS:
		if most := k.VGPRs + k.AGPRs; in.Offset < 1 || int(in.Offset) > most {
			return fmt.Errorf("isa: kernel %s: %s at pc %#x: a wave may hold 1 to %d registers", k.Name, in.Text(k.CPU), in.PC, most)
		}
		s.Registers = int(in.Offset)
	case X_MBAR_INIT:
		return s.mbarSet(k, in, uint32(in.Offset), uint32(in.Offset1), uint32(in.Offset1)<<1)
	case X_MBAR_ARRIVE:
		return s.mbarArrive(k, in, uint32(in.Offset))
	case X_MBAR_WAIT:
		_, state, err := s.mbar(k, in, uint32(in.Offset))
		if err != nil {
			return err
		}
		if state&1 == s.scalar32(in, in.Src[0].Reg)&1 {
			return nil // the phase is not over
		}
	case X_TILE_COPY:
		if err := s.tileCopy(k, in); err != nil {
			return err
		}
	case X_MMA_F32_16X16X32_BF16, X_MMA_F32_16X16X32_F16:
		if err := s.blockMultiply(k, in); err != nil {
			return err
		}
	}
	s.PC++
	return nil
}

// mbar reads a barrier object.
func (s *State) mbar(k *Kernel, in *Inst, at uint32) (left, state uint32, err error) {
	if uint64(at)+MBarBytes > uint64(len(s.LDS)) || at%MBarBytes != 0 {
		return 0, 0, fmt.Errorf("isa: kernel %s: %s at pc %#x: a barrier object at %#x, which must be a multiple of %d inside %d bytes of LDS: %w",
			k.Name, in.Text(k.CPU), in.PC, at, MBarBytes, len(s.LDS), ErrOutOfBounds)
	}
	return le32(s.LDS[at:]), le32(s.LDS[at+4:]), nil
}

func (s *State) mbarSet(k *Kernel, in *Inst, at, left, state uint32) error {
	if _, _, err := s.mbar(k, in, at); err != nil {
		return err
	}
	putLE32(s.LDS[at:], left)
	putLE32(s.LDS[at+4:], state)
	s.PC++
	return nil
}

// mbarArrive counts one arrival; the last of a phase begins the next one.
func (s *State) mbarArrive(k *Kernel, in *Inst, at uint32) error {
	left, state, err := s.mbar(k, in, at)
	if err != nil {
		return err
	}
	if left == 0 {
		return fmt.Errorf("isa: kernel %s: %s at pc %#x arrives at a barrier object that x_mbar_init has not set up", k.Name, in.Text(k.CPU), in.PC)
	}
	if left--; left == 0 {
		left, state = state>>1, state^1
	}
	return s.mbarSet(k, in, at, left, state)
}

// TileCopyInfo is what an x_tile_copy does, from scalar registers alone.
type TileCopyInfo struct {
	Base   uint64 // of the first row
	Stride uint32 // bytes from row to row
	Rows   int
	Inside int    // rows that lie inside the buffer; the others read as zero
	LDS    uint32 // of the tile; it takes Rows * TileRowBytes
}

// TileCopy reads the operands of an x_tile_copy.
func (s *State) TileCopy(in *Inst) TileCopyInfo {
	d := in.Src[0].Reg.Index()
	base := uint64(s.SGPR[d]) | uint64(s.SGPR[d+1]&0xffff)<<32
	off := s.scalar32(in, in.Src[1].Reg)
	t := TileCopyInfo{Base: base + uint64(off), Stride: s.scalar32(in, in.Src[3].Reg), Rows: int(in.Offset), LDS: s.scalar32(in, in.Src[2].Reg)}
	for t.Inside < t.Rows && uint64(off)+uint64(t.Inside)*uint64(t.Stride)+TileRowBytes <= uint64(s.SGPR[d+2]) {
		t.Inside++
	}
	return t
}

// Check refuses a tile that leaves LDS or memory.
func (t *TileCopyInfo) Check(k *Kernel, in *Inst, mem *Memory, ldsBytes int) error {
	if uint64(t.LDS)+uint64(t.Rows)*TileRowBytes > uint64(ldsBytes) || t.LDS%1024 != 0 || t.Rows%16 != 0 {
		return fmt.Errorf("isa: kernel %s: %s at pc %#x: %d rows to LDS %#x; a tile has a multiple of 16 rows and starts at a multiple of 1024 inside %d bytes: %w",
			k.Name, in.Text(k.CPU), in.PC, t.Rows, t.LDS, ldsBytes, ErrOutOfBounds)
	}
	for _, r := range []int{0, t.Inside - 1} {
		if r >= 0 && t.Inside > 0 {
			if err := mem.Check(t.Base+uint64(r)*uint64(t.Stride), TileRowBytes); err != nil {
				return fmt.Errorf("isa: kernel %s: %s at pc %#x, row %d: %w", k.Name, in.Text(k.CPU), in.PC, r, err)
			}
		}
	}
	return nil
}

func (s *State) tileCopy(k *Kernel, in *Inst) error {
	t := s.TileCopy(in)
	if err := t.Check(k, in, s.Mem, len(s.LDS)); err != nil {
		return err
	}
	var row [TileRowBytes]byte
	for r := range t.Rows {
		clear(row[:])
		if r < t.Inside {
			s.Mem.Read(t.Base+uint64(r)*uint64(t.Stride), row[:])
		}
		for c := range TileRowBytes / 16 {
			ldsWrite(s.LDS, t.LDS+tilePlace(r, c), row[16*c:16*c+16])
		}
	}
	if in.Literal != TileCopyCounted {
		pc := s.PC
		err := s.mbarArrive(k, in, in.Literal)
		s.PC = pc
		return err
	}
	return nil
}

// blockRegs lends the accumulation file's place to the operands of a block.
type blockRegs [8]VReg

var blockPool = sync.Pool{New: func() any { return new(blockRegs) }}

// blockMultiply does the base tiles of a block one after the other, by the
// matrix instruction's own arithmetic.
func (s *State) blockMultiply(k *Kernel, in *Inst) error {
	rows, cols := in.Block()
	buf := blockPool.Get().(*blockRegs)
	file := s.AGPR
	s.AGPR = buf[:]
	defer func() { s.AGPR = file; blockPool.Put(buf) }()
	op := in.Op.plain()
	one := Inst{Op: op, Enc: MAI, Src: [4]Operand{{Reg: A(0), N: 4}, {Reg: A(4), N: 4}}, PC: in.PC}
	for i := range rows {
		s.blockOperand(in, 0, i, uint32(in.Offset), buf[:4])
		for j := range cols {
			s.blockOperand(in, 1, j, in.Literal, buf[4:])
			n := Reg(4 * (i*cols + j))
			one.Dst = Operand{Reg: in.Dst.Reg + n, N: 4}
			one.Src[2] = in.Src[2]
			if one.Src[2].Reg.IsVector() {
				one.Src[2] = Operand{Reg: in.Src[2].Reg + n, N: 4}
			}
			if err := execTable[op](k, &one, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// BlockAddress fills s.Access with the lanes' LDS addresses of base tile 0 of
// operand src of an x_mma.
func (s *State) BlockAddress(in *Inst, src int) {
	off := uint32(in.Offset)
	if src == 1 {
		off = in.Literal
	}
	r := s.vreg(in.Src[src].Reg)
	a := &s.Access
	a.Bytes, a.Lanes = 16, ^uint64(0)
	for l := range r {
		a.Addr[l] = uint64(r[l] + off)
	}
}

// blockOperand puts base tile t of an operand into four registers.
func (s *State) blockOperand(in *Inst, src, t int, off uint32, to []VReg) {
	if in.Src[src].N > 1 {
		copy(to, s.vregs(in.Src[src].Reg+Reg(4*t), 4))
		return
	}
	addr := s.vreg(in.Src[src].Reg)
	var b [16]byte
	for l := range addr {
		ldsRead(s.LDS, addr[l]+off+uint32(t)*BlockTileStep, b[:])
		for i := range to {
			to[i][l] = binary.LittleEndian.Uint32(b[4*i:])
		}
	}
}
