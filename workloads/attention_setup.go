package workloads

import (
	"math"
	"math/bits"

	"github.com/whisker-sim/whisker/isa"
)

// setup computes addresses and allocates registers. Grid: x gives the head, such
// that with 8 KV heads each XCD serves one of them; y is the block of queries, z
// the batch.
func (a *attention) setup() {
	s := a.spec
	qRow, kvRow := s.Heads*s.Dim*2, s.KVHeads*s.Dim*2 // bytes of a token
	head, kvHead, row, first := a.SGPR(1), a.SGPR(1), a.SGPR(1), a.SGPR(1)
	a.pending = a.SGPR(1)
	a.divMod(first, kvHead, a.wg[0], s.KVHeads, s.Heads)
	a.SMul(head, kvHead, Imm(s.group()))
	a.SAdd(head, head, first)

	qSRD := a.SGPR(4)
	a.k.srd, a.v.srd = a.SGPR(4), a.SGPR(4)
	a.SMul(row, a.wg[2], Imm(s.Seq)) // first token of the batch
	a.headSRD(a.k.srd, 1, row, kvHead, kvRow, s.Seq*kvRow)
	a.headSRD(a.v.srd, 2, row, kvHead, kvRow, s.Seq*kvRow)
	a.SOP2(isa.S_LSHL_B32, first, a.wg[1], Imm(bits.TrailingZeros(attnRows))) // first query of the wave
	a.SOP2(isa.S_LSHL_B32, a.pending, a.ln.wave, Imm(bits.TrailingZeros(attnWaveRows)))
	a.SAdd(first, first, a.pending)
	a.SAdd(row, row, first)
	a.headSRD(qSRD, 0, row, head, qRow, attnWaveRows*qRow)
	a.out = a.SGPR(2)
	a.headBase(a.out, 3, row, head, qRow)
	if s.Rescale { // L at ((batch*heads + head)*seq + first)*4
		a.lse = a.SGPR(2)
		a.SMul(row, a.wg[2], Imm(s.Heads))
		a.SAdd(row, row, head)
		a.SMulAdd64(a.lse, a.ptr[4], row, Imm(s.Seq*4), a.s)
		a.SOP2(isa.S_LSHL_B32, row, first, Imm(2))
		a.SAdd64(a.lse, row)
	}

	a.trips = a.SGPR(1)
	if s.Causal {
		// 4*(y+1) blocks reach the diagonal of the workgroup's last query; the
		// prologue and the epilogue take 4.
		a.SOP2(isa.S_LSHL_B32, a.trips, a.wg[1], Imm(1))
		a.built.LoopTrips = 2 * (s.Seq/attnRows - 1)
	} else {
		a.built.LoopTrips = (s.Seq/attnKV - 4) / 2
		a.SMov(a.trips, Imm(a.built.LoopTrips))
	}
	a.streams(kvRow)
	a.readAddresses()
	a.registers()
	a.SMov(a.pending, Imm(0))
	if s.Causal {
		a.diagonal(first)
	}
	a.loadQ(qSRD, qRow)
}

// headBase emits the 64-bit address of a head in a token's row of tensor p.
func (a *attention) headBase(d Val, p int, row, head Val, rowBytes int) {
	a.SMulAdd64(d, a.ptr[p], row, Imm(rowBytes), a.s)
	a.SMul(a.s.At(0, 1), head, Imm(a.spec.Dim*2))
	a.SAdd64(d, a.s.At(0, 1))
}

// headSRD emits the descriptor of a head from a token's row of tensor p on.
func (a *attention) headSRD(d Val, p int, row, head Val, rowBytes, bytes int) {
	base := a.out
	if base.N == 0 {
		base = a.SGPR(2)
		a.out = base
	}
	a.headBase(base, p, row, head, rowBytes)
	a.srd(d, base, bytes)
}

// streams emits where the lanes of a wave fetch K and V. Wave v of the workgroup
// fills the 1 KiB block v of 8 KiB, and block v+8 with a second load at D = 128.
//
// K is stored as 32x32 subtiles of 2 KiB in which the byte offset o gets o ^=
// (o>>9&1)<<5 and o ^= (o>>10&1)<<4 (HipKittens st_32x32): a block is half a
// subtile. V is stored as plain 8x32 subtiles of 512 bytes (st_8x32): a block is
// two. The second load is 32 rows on.
func (a *attention) streams(stride int) {
	row, col, t := a.VGPR(1), a.VGPR(1), a.VGPR(1)
	wave, s0, s1 := a.ln.wave, a.s.At(0, 1), a.s.At(1, 1)
	wide := a.spec.Dim == 128
	shift := func(op isa.Op, d, s Val, n int) { a.SOP2(op, d, s, Imm(n)) }
	place := func(st *stream, lds int) {
		st.soff = a.SGPR(1)
		a.SMov(st.soff, Imm(0))
		a.SMov(s0, Imm(stride))
		st.voff = a.VGPR(1)
		a.VMul(st.voff, row, s0)
		a.VAdd(st.voff, col, st.voff)
		shift(isa.S_LSHL_B32, s0, wave, 10)
		for b := range 2 {
			for i := range a.loads {
				st.lds[b][i] = a.SGPR(1)
				a.SAdd(st.lds[b][i], s0, Imm(lds+b*a.bytes+i*8192))
			}
		}
	}
	// K: rows 16*(v%2) + lane/4, at D = 64 also 32*(v/4); subtile column v/2.
	shift(isa.S_AND_B32, s0, wave, 1)
	shift(isa.S_LSHL_B32, s1, s0, 4)
	a.VShr(row, a.ln.lane, 2)
	a.VAdd(row, s1, row)
	a.VAnd(col, Imm(3), a.ln.lane)
	a.VShl(col, col, 4)
	a.VXor(col, s1, col) // 16 bytes for rows from 16
	a.VAnd(t, Imm(32), a.ln.lane)
	a.VXor(col, t, col) // 32 bytes for rows 8 to 15 of 16: lanes from 32
	shift(isa.S_LSHR_B32, s0, wave, 1)
	if !wide {
		shift(isa.S_LSHR_B32, s1, wave, 2)
		shift(isa.S_LSHL_B32, s1, s1, 5)
		a.VAdd(row, s1, row)
		shift(isa.S_AND_B32, s0, s0, 1)
	}
	shift(isa.S_LSHL_B32, s0, s0, 6)
	a.VAdd(col, s0, col)
	place(&a.k, 0)

	// V: rows 8*(v/2) + lane%32/4 and subtile column 2*(v%2) + lane/32; at D = 64
	// rows 8*v + lane%32/4 and column lane/32.
	a.VAnd(row, Imm(31), a.ln.lane)
	a.VShr(row, row, 2)
	a.VAnd(col, Imm(3), a.ln.lane)
	a.VShl(col, col, 4)
	a.VAnd(t, Imm(32), a.ln.lane)
	a.VShl(t, t, 1)
	a.VAdd(col, t, col)
	if wide {
		shift(isa.S_LSHR_B32, s0, wave, 1)
		shift(isa.S_LSHL_B32, s0, s0, 3)
		shift(isa.S_AND_B32, s1, wave, 1)
		shift(isa.S_LSHL_B32, s1, s1, 7)
		a.VAdd(col, s1, col)
	} else {
		shift(isa.S_LSHL_B32, s0, wave, 3)
	}
	a.VAdd(row, s0, row)
	place(&a.v, 2*a.bytes)
	a.tmp, a.scl = [2]Val{row, col}, t
}

// readAddresses emits the lanes' parts of LDS addresses. K is read as rows: lane l
// has row l%32 of a subtile and 16 bytes from column 8*(l/32). V is read through
// the transpose: 16 lanes read 4 rows of 16 columns, so that the two reads of an
// operand give lane l column l%32, and rows 4*(l/32)..+3 and 8 further: the rows
// that the lane has of the scores.
func (a *attention) readAddresses() {
	t := a.tmp[0]
	a.laneK, a.laneV = a.VGPR(1), a.VGPR(1)
	for i := range a.at {
		a.at[i] = a.VGPR(1)
	}
	a.next = a.VGPR(1)
	a.lds, a.tile = a.SGPR(1), a.SGPR(4)
	a.SMov(a.lds, Imm(0))
	k := a.laneK
	a.VAnd(k, Imm(31), a.ln.lane)
	a.VShl(k, k, 6)
	a.VShr(t, a.ln.lane, 5)
	a.VShl(t, t, 4)
	a.VAdd(k, t, k)
	a.VAnd(t, Imm(8), a.ln.lane) // rows 8 to 15 of 16
	a.VShl(t, t, 2)
	a.VXor(k, t, k)
	a.VAnd(t, Imm(16), a.ln.lane) // rows from 16
	a.VXor(k, t, k)

	v := a.laneV
	a.VShr(v, a.ln.lane, 5)
	a.VShl(v, v, 8)
	a.VAnd(t, Imm(12), a.ln.lane)
	a.VShl(t, t, 4)
	a.VAdd(v, t, v)
	a.VAnd(t, Imm(16), a.ln.lane)
	a.VShl(t, t, 1)
	a.VAdd(v, t, v)
	a.VAnd(t, Imm(3), a.ln.lane)
	a.VShl(t, t, 3)
	a.VAdd(v, t, v)
}

// registers allocates the tiles.
func (a *attention) registers() {
	a.max = a.VGPR(1)
	a.sum = [2]Val{a.VGPR(1), a.VGPR(1)}
	a.scl = a.VGPR(2) // even, for packed products
	a.scl.N = 1
	if a.spec.Causal {
		a.row, a.rel, a.hide = a.VGPR(1), a.VGPR(1), a.VGPR(1)
		for i := range a.masks {
			a.masks[i] = a.SGPR(2)
		}
		a.block, a.first = a.SGPR(1), a.SGPR(1)
	}
	a.q = a.VTile(a.kSteps, 1, 4)
	a.kv = a.VGPR(2 * a.kSteps * 4)
	a.score = [2]RegTile{a.VTile(2, 1, 16), a.VTile(2, 1, 16)}
	a.o = a.VTile(a.dTiles, 1, 16)
}

// diagonal emits what the causal mask compares: lane l has keys 32*t + 8*g +
// 4*(l/32) + i of a block, and a key is hidden when it is past the query.
func (a *attention) diagonal(first Val) {
	a.VAnd(a.row, Imm(31), a.ln.lane)
	a.VAdd(a.row, first, a.row)
	a.VShr(a.rel, a.ln.lane, 5)
	a.VShl(a.rel, a.rel, 2)
	a.VOP2(isa.V_SUB_U32, a.row, a.row, a.rel)
	a.VOP1(isa.V_MOV_B32, a.hide, Imm(int(math.Float32bits(float32(math.Inf(-1))))))
	a.SMov(a.block, Imm(0))
	// A block crosses the wave's diagonal when its last key is past the first query.
	a.SOP2(isa.S_SUB_U32, a.first, first, Imm(attnKV-1))
}

// loadQ emits the loads of the wave's queries; convertQ scales them.
func (a *attention) loadQ(srd Val, rowBytes int) {
	off, t := a.rowOffset(rowBytes), a.tmp[1]
	a.VShr(t, a.ln.lane, 5)
	a.VShl(t, t, 4)
	a.VAdd(off, t, off)
	for k := range a.kSteps {
		a.BufferLoadAt(a.q.At(k, 0), off, srd, 32*k)
	}
}

// rowOffset emits lane%32 * rowBytes into the first temporary.
func (a *attention) rowOffset(rowBytes int) Val {
	off, s := a.tmp[0], a.s.At(0, 1)
	a.VAnd(off, Imm(31), a.ln.lane)
	a.SMov(s, Imm(rowBytes))
	a.VMul(off, off, s)
	return off
}

// convertQ multiplies the queries by log2(e)/sqrt(D), so that the scores are
// exponents of 2.
func (a *attention) convertQ() {
	scale := Imm(int(math.Float32bits(float32(math.Log2E / math.Sqrt(float64(a.spec.Dim))))))
	f := a.score[0].Base
	for g := 0; g < 4*a.kSteps; g += 4 {
		for i := range 4 {
			a.unpack(f.At(2*i, 1), f.At(2*i+1, 1), a.q.Base.At(g+i, 1))
		}
		for i := range 8 {
			a.VOP2(isa.V_MUL_F32, f.At(i, 1), scale, f.At(i, 1))
		}
		for i := range 4 {
			a.pack(a.q.Base.At(g+i, 1), f.At(2*i, 1), f.At(2*i+1, 1), a.tmp[0])
		}
	}
}
