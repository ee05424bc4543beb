package workloads

import "github.com/whisker-sim/whisker/isa"

// RegTile is a grid of base tiles (one matrix operand each) in registers.
type RegTile struct {
	Rows, Cols int
	Width      int // registers per base tile
	Base       Val
}

// VTile allocates a register tile in VGPRs.
func (b *Builder) VTile(rows, cols, width int) RegTile {
	return RegTile{rows, cols, width, b.VGPR(rows * cols * width)}
}

// ATile allocates a register tile in AGPRs.
func (b *Builder) ATile(rows, cols, width int) RegTile {
	return RegTile{rows, cols, width, b.AGPR(rows * cols * width)}
}

// At is the operand of base tile (i, j).
func (t RegTile) At(i, j int) Val { return t.Base.At((i*t.Cols+j)*t.Width, t.Width) }

// Zero clears the tile.
func (b *Builder) Zero(t RegTile) {
	for i := range t.Rows * t.Cols * t.Width {
		d := t.Base.At(i, 1)
		if d.Reg.IsAGPR() {
			b.Emit(isa.Inst{Op: isa.V_ACCVGPR_WRITE_B32, Enc: isa.MAI, Dst: d.Operand, Src: [4]isa.Operand{Imm(0).Operand}})
		} else {
			b.VOP1(isa.V_MOV_B32, d, Imm(0))
		}
	}
}

// Layout places the elements of a 16-bit tile of 64 columns in LDS. Both sides
// of a transfer use it: the fill, which for direct-to-LDS loads swizzles the
// global address, and the read.
type Layout uint8

// The layouts of 16-bit tiles.
const (
	// ST16x32 is a row-major grid of 16x32 subtiles of 1 KiB; in a subtile the
	// byte offset o gets o ^= (o>>9&1)<<5. One GL16 fills one subtile: 16 rows
	// of 64 bytes (HipKittens st_16x32).
	ST16x32 Layout = iota
	// RowXOR8 is row-major with 128-byte rows; the 8-byte unit index is XORed
	// with row%16 (HipKittens' CDNA3 shared tile).
	RowXOR8
	// RowXOR16 is row-major with 128-byte rows; the 16-byte unit index is XORed
	// with row/2%8, so that a GL16 covers 8 whole rows and every phase of a
	// ds_read_b128 of 16 rows touches 64 different banks.
	RowXOR16
	// ST32x32 is a row-major grid of 32x32 subtiles of 2 KiB; in a subtile the
	// byte offset o gets o ^= (o>>9&1)<<5 and o ^= (o>>10&1)<<4. Two GL16 fill
	// one subtile: 16 rows of 64 bytes each (HipKittens st_32x32).
	ST32x32
)

// Offset is the byte offset of element (row, col) from the start of a tile that
// is 64 columns wide.
func (l Layout) Offset(row, col int) int {
	switch l {
	case ST16x32:
		o := row%16*64 + col%32*2
		o ^= o >> 9 & 1 << 5
		return (row/16*2+col/32)*1024 + o
	case ST32x32:
		o := row%32*64 + col%32*2
		o ^= o >> 9 & 1 << 5
		o ^= o >> 10 & 1 << 4
		return (row/32*2+col/32)*2048 + o
	case RowXOR8:
		return row*128 + col*2 ^ row%16<<3
	}
	return row*128 + col*2 ^ row/2%8<<4
}

// lanes holds what the address arithmetic of every kernel starts from.
type lanes struct {
	tid, lane Val // v0 = work-item, and its number within the wave
	wave      Val // SGPR: wave within the workgroup
}

// lanes emits the wave number, scalar, and the lane number.
func (b *Builder) lanes() lanes {
	l := lanes{tid: reg(isa.V(0), 1), lane: b.VGPR(1), wave: b.SGPR(1)}
	b.VShr(l.lane, l.tid, 6)
	b.Nop(1) // a VALU result needs one wait state before v_readfirstlane (LLVM 22)
	b.VOP1(isa.V_READFIRSTLANE_B32, l.wave, l.lane)
	b.VAnd(l.lane, Imm(63), l.tid)
	return l
}

// readBase emits the LDS byte address that a lane reads of base tile (0, 0):
// row lane%16, and columns from lane/16 times the unit of width bytes; of
// ST32x32 row lane%32 and columns from lane/32. broken leaves the swizzle out.
func (b *Builder) readBase(l Layout, ln lanes, d, t Val, broken bool) {
	if l == ST32x32 {
		b.readBase32(ln, d, t, broken)
		return
	}
	b.VAnd(d, Imm(15), ln.lane)
	if l == ST16x32 {
		b.VShl(d, d, 6)
		b.VAnd(t, Imm(48), ln.lane) // lane/16 * 16 bytes
		b.VAdd(d, t, d)
		if !broken {
			b.VAnd(t, Imm(8), ln.lane)
			b.VShl(t, t, 2)
			b.VXor(d, t, d)
		}
		return
	}
	b.VShl(d, d, 7)
	b.VAnd(t, Imm(48), ln.lane)
	if l == RowXOR8 {
		b.VShr(t, t, 1) // lane/16 * 8 bytes
	}
	b.VAdd(d, t, d)
	if broken {
		return
	}
	if l == RowXOR8 {
		b.VAnd(t, Imm(15), ln.lane)
		b.VShl(t, t, 3)
	} else {
		b.VAnd(t, Imm(14), ln.lane)
		b.VShl(t, t, 3) // (lane%16)/2 << 4
	}
	b.VXor(d, t, d)
}

// readBase32 is readBase of ST32x32.
func (b *Builder) readBase32(ln lanes, d, t Val, broken bool) {
	b.VAnd(d, Imm(31), ln.lane)
	b.VShl(d, d, 6)
	b.VShr(t, ln.lane, 5)
	b.VShl(t, t, 4) // lane/32 * 16 bytes
	b.VAdd(d, t, d)
	if broken {
		return
	}
	b.VAnd(t, Imm(8), ln.lane) // row bit 3 to byte bit 5
	b.VShl(t, t, 2)
	b.VXor(d, t, d)
	b.VAnd(t, Imm(16), ln.lane) // row bit 4 to byte bit 4
	b.VXor(d, t, d)
}

// fillBase emits the byte offset from a tile's origin in memory that a lane
// fetches for the direct-to-LDS load number 0 of its wave; stride is the row
// stride in bytes in an SGPR. With waves of a workgroup w and load i, the
// 1 KiB block i*waves+w is filled; later loads are whole rows further on.
func (b *Builder) fillBase(l Layout, ln lanes, stride, d, t, s Val) {
	if l == ST32x32 {
		b.fillBase32(ln, stride, d, t, s)
		return
	}
	if l == ST16x32 {
		// Linear byte 16*lane of the subtile, unswizzled.
		b.VShl(d, ln.lane, 4)
		b.VShr(t, ln.lane, 5)
		b.VShl(t, t, 5)
		b.VXor(d, t, d)
		b.VShr(t, d, 6)       // row in the subtile
		b.VAnd(d, Imm(63), d) // byte in the row
		b.VMul(t, t, stride)  //
		b.VAdd(d, t, d)       //
		b.SOP2(isa.S_LSHR_B32, s, ln.wave, Imm(1))
		b.SMul(s, s, stride)
		b.SOP2(isa.S_LSHL_B32, s, s, Imm(4)) // wave/2 * 16 rows
		b.VAdd(d, s, d)
		b.SOP2(isa.S_AND_B32, s, ln.wave, Imm(1))
		b.SOP2(isa.S_LSHL_B32, s, s, Imm(6)) // wave%2 * 64 bytes
		b.VAdd(d, s, d)
		return
	}
	// Rows wave*8 + lane/8; unit lane%8 ^ row/2%8.
	b.SOP2(isa.S_LSHL_B32, s, ln.wave, Imm(3))
	b.VShr(t, ln.lane, 3)
	b.VAdd(t, s, t)
	b.VShr(d, t, 1)
	b.VXor(d, ln.lane, d)
	b.VAnd(d, Imm(7), d)
	b.VShl(d, d, 4)
	b.VMul(t, t, stride)
	b.VAdd(d, t, d)
}

// fillBase32 is fillBase of ST32x32: block i*waves+w is half w%2 of subtile
// column w/2%2, in subtile row i*waves/4 + w/4.
func (b *Builder) fillBase32(ln lanes, stride, d, t, s Val) {
	b.SOP2(isa.S_AND_B32, s, ln.wave, Imm(1))
	b.VShl(d, ln.lane, 4)
	b.VShr(t, ln.lane, 5)
	b.VShl(t, t, 5)
	b.VXor(d, t, d)
	b.VShr(t, d, 6)       // row in the half
	b.VAnd(d, Imm(63), d) // byte in the row
	b.SOP2(isa.S_LSHL_B32, s, s, Imm(4))
	b.VXor(d, s, d) // the second half of a subtile is its rows from 16
	b.VAdd(t, s, t)
	b.SOP2(isa.S_LSHR_B32, s, ln.wave, Imm(2))
	b.SOP2(isa.S_LSHL_B32, s, s, Imm(5)) // wave/4 * 32 rows
	b.VAdd(t, s, t)
	b.VMul(t, t, stride)
	b.VAdd(d, t, d)
	b.SOP2(isa.S_AND_B32, s, ln.wave, Imm(2))
	b.SOP2(isa.S_LSHL_B32, s, s, Imm(5)) // wave/2%2 * 64 bytes
	b.VAdd(d, s, d)
}

// fill is one half tile's stream of direct-to-LDS loads: the same lanes' rows
// of one K tile after the other.
type fill struct {
	srd  Val
	soff Val      // SGPR: byte offset of the next K tile in the matrix row block
	voff []Val    // per load of a wave
	lds  [2][]Val // per buffer and load, SGPR: LDS address of the wave's block
}

// load emits load i of the fill into buffer buf. M0 must hold lds[buf][i].
func (f fill) load(b *Builder, i int) { b.BufferLoadLDS(f.voff[i], f.srd, f.soff) }

// advance moves the stream to the next K tile of step bytes.
func (f fill) advance(b *Builder, step int) { b.SAdd(f.soff, f.soff, Imm(step)) }

// all emits the whole fill of buffer buf and advances the stream.
func (f fill) all(b *Builder, buf, step int) {
	for i := range f.voff {
		b.SetM0(f.lds[buf][i])
		f.load(b, i)
	}
	f.advance(b, step)
}

// srd emits a raw buffer descriptor for bytes at base, which is a 64-bit SGPR
// pair below 2^48: stride 0, no swizzle (semantics of the gfx9 V#; word 3 is
// the value HipKittens and clang use).
func (b *Builder) srd(d, base Val, bytes int) {
	b.SMov(d.At(0, 1), base.At(0, 1))
	b.SOP2(isa.S_AND_B32, d.At(1, 1), base.At(1, 1), Imm(0xffff))
	b.SMov(d.At(2, 1), Imm(bytes))
	b.SMov(d.At(3, 1), Imm(0x00110000))
}

// mma emits c += a * bt^T over the k steps of its operands, k outermost so that
// neighbouring instructions are independent. after, if not nil, runs behind
// every matrix instruction with the number emitted so far.
func (b *Builder) mma(op isa.Op, c, a, bt RegTile, after func(n int)) {
	n := 0
	for k := range a.Cols {
		for j := range bt.Rows {
			for i := range a.Rows {
				b.MFMA(op, c.At(i, j), a.At(i, k), bt.At(j, k))
				n++
				if after != nil {
					after(n)
				}
			}
		}
	}
}
