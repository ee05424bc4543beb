package workloads

import "github.com/whisker-sim/whisker/isa"

// operandRead is one LDS read of a lane's part of a base tile: 16 rows of a K
// tile.
type operandRead struct {
	op   isa.Op
	dst  int // first register of the base tile
	n    int // registers
	addr int // which of the wave's LDS addresses
	off  int // bytes
	temp bool
}

// operandForm is how a low-precision operand lies in LDS and in registers.
//
// FP8 and FP4 lie in LDS as rows of 128 bytes (HipKittens' st_16x128: in a
// subtile of 2 KiB, byte offset o gets o ^= (o%2048 >> 8) << 4). A lane reads
// the 16-byte units lane/16 and lane/16+4 of row lane%16. For FP8 they are the
// two halves of one operand 128 deep, for FP4 the operands of two matrix
// instructions, 128 deep each.
//
// FP6 dwordx3 has the same rows, of eight 16-byte slots that hold 12 bytes
// (o ^= (o%1024 >> 7) << 4). A lane reads slots 2*(lane/16) and the next. Of
// the six registers of an operand the upper three start odd, where no
// ds_read_b96 may go: they arrive elsewhere and are moved.
//
// FP6 dwordx4 has packed rows of 96 bytes; rows 8 to 15 of a subtile swap
// halves of 48 bytes. A lane reads 24 bytes from 24*(lane/16).
type operandForm struct {
	packed   bool // rows of 96 bytes, else of 128
	slots    bool // 12 bytes in each 16-byte unit
	subtile  int  // bytes of 16 rows in LDS
	kSteps   int  // matrix instructions per K tile
	width    int  // registers of one matrix operand
	advance  int  // bytes of a row in memory per K tile
	loadUnit int  // bytes per lane of a direct-to-LDS load
	reads    []operandRead
}

// form is the operand form of the plan's element type and variant.
func (p *plan) form() *operandForm {
	b128 := func(dst, addr int) operandRead {
		return operandRead{op: isa.DS_READ_B128, dst: dst, n: 4, addr: addr}
	}
	switch {
	case p.low.bits == 8:
		return &operandForm{subtile: 2048, kSteps: 1, width: 8, advance: 128, loadUnit: 16,
			reads: []operandRead{b128(0, 0), b128(4, 1)}}
	case p.low.bits == 4:
		return &operandForm{subtile: 2048, kSteps: 2, width: 4, advance: 128, loadUnit: 16,
			reads: []operandRead{b128(0, 0), b128(4, 1)}}
	case p.Variant == DwordX4:
		f := &operandForm{packed: true, subtile: 1536, kSteps: 1, width: 6, advance: 96, loadUnit: 16}
		for i := range 3 {
			f.reads = append(f.reads, operandRead{op: isa.DS_READ_B64, dst: 2 * i, n: 2, off: 8 * i})
		}
		return f
	}
	return &operandForm{slots: true, subtile: 2048, kSteps: 1, width: 6, advance: 96, loadUnit: 12,
		reads: []operandRead{
			{op: isa.DS_READ_B96, n: 3},
			{op: isa.DS_READ_B96, dst: 3, n: 3, addr: 1, temp: true},
		}}
}

// place is the LDS byte of 16-byte unit u of row r of a tile, whose subtiles
// follow one another.
func (f *operandForm) place(r, u int) int {
	switch {
	case f.packed:
		return r*96 + (u*16+r/8%2*48)%96
	case f.slots:
		return r*128 + (u^r%8)*16
	}
	return r*128 + (u^r/2%8)*16
}

// addresses is the number of LDS addresses a wave reads an operand with.
func (f *operandForm) addresses() int {
	if f.packed {
		return 1
	}
	return 2
}

// readAddr emits the LDS byte address, from the start of a subtile, of a lane's
// first read. broken leaves the swizzle out. t is scratch.
func (f *operandForm) readAddr(b *Builder, ln lanes, d, t Val, broken bool) {
	switch {
	case f.packed:
		// 96*(lane%16) + 24*(lane/16 ^ row/8*2)
		b.VShr(t, ln.lane, 4)
		if !broken {
			b.VShr(d, ln.lane, 2)
			b.VAnd(d, Imm(2), d)
			b.VXor(t, d, t)
		}
		b.VAnd(d, Imm(15), ln.lane)
		b.VShl(d, d, 2)
		b.VAdd(d, d, t)
		b.VShl(t, d, 4)
		b.VShl(d, d, 3)
		b.VAdd(d, d, t) // (4*row + group) * 24
	case f.slots:
		// 128*(lane%16) + 16*(2*(lane/16) ^ lane%8)
		b.VAnd(d, Imm(15), ln.lane)
		b.VShl(d, d, 7)
		b.VAnd(t, Imm(48), ln.lane)
		b.VShl(t, t, 1)
		b.VAdd(d, t, d)
		if !broken {
			b.VAnd(t, Imm(7), ln.lane)
			b.VShl(t, t, 4)
			b.VXor(d, t, d)
		}
	default:
		b.readBase(RowXOR16, ln, d, t, broken)
	}
}

// otherAddr is what the second address differs from the first by, as an XOR.
func (f *operandForm) otherAddr() int {
	if f.slots {
		return 16
	}
	return 64
}

// fillAddr emits the byte offset in the row block that a lane fetches for load
// number i of its wave, of waves in all: LDS unit (i*waves + wave)*64 + lane of
// the half tile. prev is the offset of the load before, t0 and t1 are scratch
// VGPRs, s scratch of two SGPRs.
func (f *operandForm) fillAddr(b *Builder, ln lanes, stride, d Val, i, waves int, prev, t0, t1, s Val) {
	s0, s1 := s.At(0, 1), s.At(1, 1)
	switch {
	case f.packed:
		// Row and unit of the row: divide by six.
		u := t0
		b.VAdd(u, Imm(i*waves*isa.Lanes), ln.tid)
		b.SMov(s0, Imm(0x2aaaaaab)) // ceil(2^32 / 6), exact below 2^28
		b.VOP3(isa.V_MUL_HI_U32, d, u, s0)
		b.SMov(s0, Imm(6))
		b.VMul(t1, d, s0)
		b.VOP2(isa.V_SUB_U32, u, u, t1) // unit in LDS
		// In memory: three on, modulo six, where row/8 is odd.
		b.VOP3(isa.V_BFE_U32, t1, d, Imm(3), Imm(1))
		b.VMul(d, d, stride)
		b.SMov(s0, Imm(3))
		b.VMul(t1, t1, s0)
		b.VAdd(u, t1, u)
		b.SMov(s0, Imm(0x2aaaaaab))
		b.VOP3(isa.V_MUL_HI_U32, t1, u, s0)
		b.SMov(s0, Imm(6))
		b.VMul(t1, t1, s0)
		b.VOP2(isa.V_SUB_U32, u, u, t1)
		b.VShl(u, u, 4)
		b.VAdd(d, u, d)
	case i > 0: // whole rows further on, a multiple of the swizzle's period
		b.SMul(s1, stride, Imm(waves*8))
		b.VAdd(d, s1, prev)
	case f.slots:
		// Row wave*8 + lane/8, unit lane%8 ^ row%8, 12 bytes each.
		b.SOP2(isa.S_LSHL_B32, s0, ln.wave, Imm(3))
		b.VShr(t0, ln.lane, 3)
		b.VXor(d, ln.lane, t0)
		b.VAnd(d, Imm(7), d)
		b.VAdd(t0, s0, t0)
		b.VMul(t0, t0, stride)
		b.SMov(s0, Imm(12))
		b.VMul(d, d, s0)
		b.VAdd(d, t0, d)
	default:
		b.fillBase(RowXOR16, ln, stride, d, t0, s0)
	}
}
