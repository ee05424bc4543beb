package workloads

import "github.com/whisker-sim/whisker/isa"

// rowBlock is some rows of a wave's output: four registers of the accumulator
// of each of its matrix tiles, left to right.
type rowBlock struct {
	row  int   // from the wave's origin
	acc  []Val // four registers each: rows 4*(lane/side)+0..3 of column lane%side
	cols []int // column of each from the wave's origin
}

// store converts the accumulators and stores them row-major to C, two bytes a
// store. waveRow and waveCol are SGPRs with the wave's place, worth rowStep rows
// and colStep columns each; side is the rows of the matrix instruction; blocks
// ascend by row. A ragged kernel stores through a buffer descriptor, which drops
// the rows beyond M.
func (g *gemm) store(waveRow, waveCol Val, rowStep, colStep, side int, blocks []rowBlock) {
	g.Cluster("store", "other")
	var base, srd Val
	if g.ragged {
		srd = g.storeBuffer()
	} else {
		base = g.storeBase(waveRow, waveCol, rowStep, colStep)
	}
	rows := g.storeRows(side)
	if g.ragged {
		g.storeOrigin(rows, waveRow, waveCol, rowStep, colStep)
	}
	conv := g.converter()
	// A matrix result may be read by the VALU that many wait states after the
	// last matrix instruction issued (LLVM 22: 7 for 4 passes on gfx942, on
	// gfx950 8 for 4 passes and 12 for 8).
	wait := 8
	if side == 32 {
		wait = 12
	}
	g.Nop(wait)
	at := 0
	for _, blk := range blocks {
		if blk.row != at {
			if g.ragged {
				g.SMov(g.s.At(0, 1), Imm((blk.row-at)*g.N*2))
				for r := range rows {
					g.VAdd(rows[r], g.s.At(0, 1), rows[r])
				}
			} else {
				g.SAdd64(base, Imm((blk.row-at)*g.N*2))
			}
			at = blk.row
		}
		for i, acc := range blk.acc {
			for r := range 4 {
				op, v := conv(acc.At(r, 1))
				if g.ragged {
					g.BufferStore(bufferStore[op], rows[r], v, srd, blk.cols[i]*2)
				} else {
					g.GlobalStore(op, rows[r], v, base, blk.cols[i]*2)
				}
			}
		}
	}
}

// bufferStore is the buffer form of a store.
var bufferStore = map[isa.Op]isa.Op{
	isa.GLOBAL_STORE_SHORT:        isa.BUFFER_STORE_SHORT,
	isa.GLOBAL_STORE_SHORT_D16_HI: isa.BUFFER_STORE_SHORT_D16_HI,
}

// storeBase emits the 64-bit address of the wave's origin in C.
func (g *gemm) storeBase(waveRow, waveCol Val, rowStep, colStep int) Val {
	base, t0, t1 := g.SGPR(2), g.s.At(0, 2), g.s.At(2, 1)
	g.SMul(t1, g.row, Imm(g.tm))
	g.SMul(t0.At(0, 1), waveRow, Imm(rowStep))
	g.SAdd(t1, t1, t0.At(0, 1))
	g.SMulAdd64(base, g.ptr.At(4, 2), t1, Imm(g.N*2), t0)
	g.SMul(t1, g.col, Imm(g.tn*2))
	g.SMul(t0.At(0, 1), waveCol, Imm(colStep*2))
	g.SAdd(t1, t1, t0.At(0, 1))
	g.SAdd64(base, t1)
	return base
}

// storeBuffer emits the descriptor of the rows of C that the row tile has.
func (g *gemm) storeBuffer() Val {
	srd := g.SGPR(4)
	base := g.SGPR(2)
	g.SMulAdd64(base, g.ptr.At(4, 2), g.row, Imm(g.tm*g.N*2), g.s)
	g.srd(srd, base, g.tm*g.N*2)
	g.lastRows(srd, g.N*2)
	return srd
}

// storeOrigin adds the wave's place in the row tile to the offsets of its rows.
func (g *gemm) storeOrigin(rows [4]Val, waveRow, waveCol Val, rowStep, colStep int) {
	t0, t1 := g.s.At(0, 1), g.s.At(2, 1)
	g.SMul(t0, waveRow, Imm(rowStep))
	g.SMul(t0, t0, Imm(g.N*2))
	g.SMul(t1, g.col, Imm(g.tn*2))
	g.SAdd(t0, t0, t1)
	g.SMul(t1, waveCol, Imm(colStep*2))
	g.SAdd(t0, t0, t1)
	for r := range rows {
		g.VAdd(rows[r], t0, rows[r])
	}
}

// storeRows emits the byte offsets of the four rows of a register group that a
// lane holds of a tile of side columns.
func (g *gemm) storeRows(side int) [4]Val {
	var rows [4]Val
	for r := range rows {
		rows[r] = g.VGPR(1)
	}
	stride, t := g.s.At(0, 1), g.t.At(0, 1)
	g.SMov(stride, Imm(g.N*2))
	if side == 32 {
		g.VShr(t, g.ln.lane, 5)
	} else {
		g.VShr(t, g.ln.lane, 4)
	}
	g.VShl(t, t, 2)
	g.VMul(rows[0], t, stride)
	g.VAnd(t, Imm(side-1), g.ln.lane)
	g.VShl(t, t, 1)
	g.VAdd(rows[0], t, rows[0])
	for r := 1; r < 4; r++ {
		g.VAdd(rows[r], stride, rows[r-1])
	}
	return rows
}

// converter returns a function that emits the conversion of one accumulator
// register and says which store takes the result from which register.
func (g *gemm) converter() func(acc Val) (isa.Op, Val) {
	narrow := g.narrow()
	if g.nextA == 0 {
		return func(acc Val) (isa.Op, Val) { return narrow(acc), acc }
	}
	// The VALU cannot read AGPRs: copy through a few VGPRs in turn.
	var tmp [4]Val
	for i := range tmp {
		tmp[i] = g.VGPR(1)
	}
	n := 0
	return func(acc Val) (isa.Op, Val) {
		v := tmp[n%len(tmp)]
		n++
		g.Emit(isa.Inst{Op: isa.V_ACCVGPR_READ_B32, Enc: isa.MAI, Dst: v.Operand, Src: [4]isa.Operand{acc.Operand}})
		return narrow(v), v
	}
}

// narrow returns a function that emits the rounding of an f32 register to 16
// bits in place, and says which store takes it.
func (g *gemm) narrow() func(v Val) isa.Op {
	switch {
	case g.fp16:
		return func(v Val) isa.Op {
			g.VOP1(isa.V_CVT_F16_F32, v, v)
			return isa.GLOBAL_STORE_SHORT
		}
	case g.plan.cpu == isa.GFX950:
		return func(v Val) isa.Op {
			g.VOP3(isa.V_CVT_PK_BF16_F32, v, Imm(0), v)
			return isa.GLOBAL_STORE_SHORT_D16_HI
		}
	}
	// gfx942 rounds by integer arithmetic: x + 0x7fff + bit 16. Accumulators of
	// finite inputs that overflow are infinite, and infinity is kept.
	bias, t := g.s.At(1, 1), g.t.At(0, 1)
	g.SMov(bias, Imm(0x7fff))
	return func(v Val) isa.Op {
		g.VOP3(isa.V_BFE_U32, t, v, Imm(16), Imm(1))
		g.VOP3(isa.V_ADD3_U32, v, v, t, bias)
		return isa.GLOBAL_STORE_SHORT_D16_HI
	}
}
