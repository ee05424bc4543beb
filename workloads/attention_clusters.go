package workloads

import (
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/isa"
)

const attnMFMA = isa.V_MFMA_F32_32X32X16_BF16

// matrixToVALU is how many wait states a 32x32x16 result needs before the VALU
// reads it (LLVM 22, gfx950).
const matrixToVALU = 12

// growth is how much a maximum may grow before outputs are rescaled, as a power
// of 2: exponentials stay below 2^8.
const growth = 8

// Addresses are computed where they are used, since the tiles leave a compiler few
// registers to keep them in: the place of a tile by the scalar unit, the lane's part
// by a vector addition.

// A cluster begins with its addresses, as in the vendor's compiler's output.

// fill emits the loads of the next block of K or V into buffer buf.
func (a *attention) fill(st *stream, buf int) {
	row := a.spec.KVHeads * a.spec.Dim * 2
	voff := [2]Val{st.voff, a.next}
	if a.loads > 1 { // 32 rows on
		a.VAdd(a.next, Imm(32*row), st.voff)
	}
	for i := range a.loads {
		a.SetM0(st.lds[buf][i])
		a.BufferLoadLDS(voff[i], st.srd, st.soff)
	}
	a.SAdd(st.soff, st.soff, Imm(attnKV*row))
}

// tileReads are the reads of a block, and their addresses.
type tileReads struct{ address, read func(buf int) }

func (a *attention) keys() tileReads   { return tileReads{a.addressK, a.tilesK} }
func (a *attention) values() tileReads { return tileReads{a.addressV, a.tilesV} }

func (r tileReads) emit(buf int) {
	r.address(buf)
	r.read(buf)
}

// addressK emits the addresses of a block of K: tile t has keys 32*t..32*t+31, and
// odd steps along D flip 32 bytes.
func (a *attention) addressK(buf int) {
	for t := range 2 {
		a.SAdd(a.tile.At(t, 1), a.lds, Imm(buf*a.bytes+t*a.dTiles*2048))
	}
	for t := range 2 {
		a.VAdd(a.at[2*t], a.tile.At(t, 1), a.laneK)
	}
	for t := range 2 {
		a.VXor(a.at[2*t+1], Imm(32), a.at[2*t])
	}
}

// tilesK emits the reads of a block of K.
func (a *attention) tilesK(int) {
	for t := range 2 {
		for k := range a.kSteps {
			a.DSRead(isa.DS_READ_B128, a.kTile(t, k), a.at[2*t+k%2], k/2*2048)
		}
	}
}

func (a *attention) kTile(t, k int) Val { return a.kv.At((t*a.kSteps+k)*4, 4) }

// addressV emits the addresses of a block of V: step s has keys 16*s..+15.
func (a *attention) addressV(buf int) {
	for s := range attnKV / 16 {
		a.SAdd(a.tile.At(s, 1), a.lds, Imm((2+buf)*a.bytes+2*s*a.dTiles*512))
	}
	for s := range attnKV / 16 {
		a.VAdd(a.at[s], a.tile.At(s, 1), a.laneV)
	}
}

// tilesV emits the reads of a block of V, transposed: the low half of an operand is
// the first 8 keys of a step.
func (a *attention) tilesV(int) {
	for s := range attnKV / 16 {
		for d := range a.dTiles {
			for h := range 2 {
				a.DSRead(isa.DS_READ_B64_TR_B16, a.vTile(s, d).At(2*h, 2), a.at[s], (h*a.dTiles+d)*512)
			}
		}
	}
}

func (a *attention) vTile(s, d int) Val { return a.kv.At((s*a.dTiles+d)*4, 4) }

// memory emits a memory cluster: a fill, reads, and the waits for them and for
// all but vm loads.
func (a *attention) memory(name string, st *stream, buf int, reads tileReads, from, vm int, more func()) {
	a.Cluster(name, "memory")
	reads.address(from)
	if st != nil {
		a.fill(st, buf)
	}
	reads.read(from)
	if more != nil {
		more()
	}
	a.WaitLGKM(0)
	a.WaitVM(vm)
	a.Barrier()
}

// weaveOps emits matrix instructions with per[i] others behind number i, and the
// rest of the others at the end.
func weaveOps(matrix, others []func(), per func(i int) int) {
	for i, m := range matrix {
		m()
		n := min(per(i), len(others))
		for _, f := range others[:n] {
			f()
		}
		others = others[n:]
	}
	for _, f := range others {
		f()
	}
}

// scores emits the matrix instructions of a block of scores into buffer b.
func (a *attention) scores(b int) []func() {
	var out []func()
	for k := range a.kSteps {
		for t := range 2 {
			out = append(out, func() {
				in := isa.Inst{Op: attnMFMA, Enc: isa.MAI, Dst: a.score[b].At(t, 0).Operand,
					Src: [4]isa.Operand{a.kTile(t, k).Operand, a.q.At(k, 0).Operand, a.score[b].At(t, 0).Operand}}
				if k == 0 {
					in.Src[2] = Imm(0).Operand
				}
				a.Emit(in)
			})
		}
	}
	return out
}

// outputs emits the matrix instructions of O^T += V^T P^T, with P in the first
// half of buffer b.
func (a *attention) outputs(b int) []func() {
	var out []func()
	for s := range attnKV / 16 {
		for d := range a.dTiles {
			out = append(out, func() { a.MFMA(attnMFMA, a.o.At(d, 0), a.vTile(s, d), a.score[b].Base.At(4*s, 4)) })
		}
	}
	return out
}

// exponents emits the exponentials of half h of a block of scores.
func (a *attention) exponents(b, h int) []func() {
	var out []func()
	for r := range 16 {
		x := a.score[b].Base.At(16*h+r, 1)
		out = append(out, func() { a.VOP1(isa.V_EXP_F32, x, x) })
	}
	return out
}

// probabilities emits the sums and the conversion of a block's exponentials.
// Packed register k takes the place of value k, which has been used by then.
func (a *attention) probabilities(b int) []func() {
	var out []func()
	x := a.score[b].Base
	for k := range 16 {
		lo, hi := x.At(2*k, 1), x.At(2*k+1, 1)
		out = append(out,
			func() { a.VOP2(isa.V_ADD_F32, a.sum[0], a.sum[0], lo) },
			func() { a.VOP2(isa.V_ADD_F32, a.sum[1], a.sum[1], hi) },
			func() { a.VOP3(isa.V_CVT_PK_BF16_F32, x.At(k, 1), lo, hi) })
	}
	return out
}

// maxima emits the greatest of a block's scores and of a.max, over both halves of
// the wave, into the first temporary, and by how much it passes a.max into the
// second. A first block has no a.max.
func (a *attention) maxima(b int, first bool) []func() {
	x, t := a.score[b].Base, a.tmp
	max3 := func(d, p, q, r Val) func() { return func() { a.VOP3(isa.V_MAX3_F32, d, p, q, r) } }
	seed, at := a.max, 0
	if first {
		seed, at = x.At(0, 1), 1
	}
	// Two strands: 17 values in the first (16 without a.max), the rest in the second.
	one := []func(){max3(t[0], seed, x.At(at, 1), x.At(at+1, 1))}
	for at += 2; at+1 < 16; at += 2 {
		one = append(one, max3(t[0], t[0], x.At(at, 1), x.At(at+1, 1)))
	}
	last := x.At(at, 1) // of the first block: a value without a partner
	two := []func(){max3(t[1], x.At(16, 1), x.At(17, 1), x.At(18, 1))}
	for i := 19; i < 31; i += 2 {
		two = append(two, max3(t[1], t[1], x.At(i, 1), x.At(i+1, 1)))
	}
	var out []func()
	for i := range one {
		out = append(out, one[i])
		if i < len(two) {
			out = append(out, two[i])
		}
	}
	if first {
		out = append(out, max3(t[0], t[0], last, last))
	}
	out = append(out, max3(t[0], t[0], t[1], x.At(31, 1)))
	out = append(out, func() { a.VOP1(isa.V_MOV_B32, t[1], t[0]) }, func() {
		a.Nop(valuToSwap)
		a.VOP1(isa.V_PERMLANE32_SWAP_B32, t[0], t[1])
	}, func() { a.VOP2(isa.V_MAX_F32, t[0], t[0], t[1]) })
	if !first {
		out = append(out, func() { a.VOP2(isa.V_SUB_F32, t[1], t[0], a.max) })
	}
	return out
}

// subtract emits the subtraction of the maximum from a block of scores.
func (a *attention) subtract(b int) []func() {
	var out []func()
	for r := range 32 {
		x := a.score[b].Base.At(r, 1)
		out = append(out, func() { a.VOP2(isa.V_SUB_F32, x, x, a.max) })
	}
	return out
}

// vote emits the decision whether the outputs keep their scale. The wave goes
// aside when a lane's maximum has grown by more than the limit; it does the
// scaling before its next cluster of scores, since the products of this one
// still have the old scale. Without lazy rescaling the scale is new each time.
func (a *attention) vote() {
	t := a.tmp
	if a.spec.Rescale {
		a.VOP2(isa.V_SUB_F32, a.scl, a.max, t[0])
		a.VOP1(isa.V_EXP_F32, a.scl, a.scl)
		a.VOP1(isa.V_MOV_B32, a.max, t[0])
		return
	}
	enter, back := a.Label(), a.Label()
	a.Emit(isa.Inst{Op: isa.V_CMP_LT_F32, Enc: isa.VOPC, Dst: isa.Operand{Reg: isa.VCCLo, N: 2}, Src: [4]isa.Operand{{Reg: isa.Literal, N: 1}, t[1].Operand}, Literal: math.Float32bits(growth)})
	a.Branch(isa.S_CBRANCH_VCCNZ, enter)
	a.Place(back)
	a.aside = append(a.aside, func() {
		a.Place(enter)
		a.VOP2(isa.V_SUB_F32, a.scl, a.max, t[0])
		a.VOP1(isa.V_EXP_F32, a.scl, a.scl)
		a.VOP1(isa.V_MOV_B32, a.max, t[0])
		a.SMov(a.pending, Imm(1))
		a.Branch(isa.S_BRANCH, back)
	})
}

// rescale emits, before the sums of a block, the scaling of what went before.
func (a *attention) rescale() {
	if a.spec.Rescale { // the outputs follow in the next cluster
		for _, x := range a.sum {
			a.VOP2(isa.V_MUL_F32, x, a.scl, x)
		}
		return
	}
	enter, back := a.Label(), a.Label()
	a.SOPC(isa.S_CMP_LG_U32, a.pending, Imm(0))
	a.Branch(isa.S_CBRANCH_SCC1, enter)
	a.Place(back)
	a.aside = append(a.aside, func() {
		a.Place(enter)
		for _, x := range a.sum {
			a.VOP2(isa.V_MUL_F32, x, a.scl, x)
		}
		for r := range 16 * a.dTiles {
			x := a.o.Base.At(r, 1)
			a.VOP2(isa.V_MUL_F32, x, a.scl, x)
		}
		a.SMov(a.pending, Imm(0))
		a.Branch(isa.S_BRANCH, back)
	})
}

// scaleOutputs emits the scaling of the outputs, two at a time.
func (a *attention) scaleOutputs() {
	for r := 0; r < 16*a.dTiles; r += 2 {
		x := a.o.Base.At(r, 2)
		// Both results take the low register of the second pair.
		a.Emit(isa.Inst{Op: isa.V_PK_MUL_F32, Enc: isa.VOP3P, Dst: x.Operand, Src: [4]isa.Operand{x.Operand, a.scl.At(0, 2).Operand}, OpSelHi: 1 | 4})
	}
}

// mask emits the causal mask of the scores in buffer b, out of the way: a wave
// goes there when the block crosses its diagonal.
func (a *attention) mask(b int) {
	if !a.spec.Causal {
		return
	}
	enter, back := a.Label(), a.Label()
	a.SOPC(isa.S_CMP_GT_I32, a.block, a.first)
	a.Branch(isa.S_CBRANCH_SCC1, enter)
	a.Place(back)
	a.SAdd(a.block, a.block, Imm(attnKV))
	a.aside = append(a.aside, func() {
		a.Place(enter)
		a.VOP2(isa.V_SUBREV_U32, a.rel, a.block, a.row)
		for r := 0; r < 32; r += len(a.masks) {
			for i, m := range a.masks {
				key := 32*((r+i)/16) + 8*((r+i)%16/4) + (r+i)%4
				a.VOP3(isa.V_CMP_GT_I32, m, Imm(key), a.rel)
			}
			for i, m := range a.masks {
				x := a.score[b].Base.At(r+i, 1)
				a.VOP3(isa.V_CNDMASK_B32, x, x, a.hide, m)
			}
		}
		a.Branch(isa.S_BRANCH, back)
	})
}

// qk emits a compute cluster: scores of the next block into buffer b, under which
// the softmax of the block before is finished. At D = 128: 6 times a matrix
// instruction and 3 exponentials, then 10 times one and 5 others.
func (a *attention) qk(name string, b int) {
	a.Cluster(name, "compute")
	a.rescale()
	m := a.scores(b)
	few := 3 * len(m) / 8
	scale := 16 / len(m)
	weaveOps(m, append(a.exponents(1-b, 1), a.probabilities(1-b)...), func(i int) int {
		if i < few {
			return 3 * scale
		}
		return 5 * scale
	})
	a.Barrier()
}

// av emits a compute cluster: outputs of the block whose probabilities are in
// buffer 1-b, under which the softmax of the block in buffer b begins. At D =
// 128: 4 times a matrix instruction and 5 others for the maximum, the vote, 6
// times one and 5 subtractions, 6 times one and 3 exponentials.
func (a *attention) av(name string, b int) {
	a.Cluster(name, "compute")
	a.mask(b)
	if a.spec.Rescale {
		a.scaleOutputs()
	}
	a.SetPrio(1)
	m := a.outputs(1 - b)
	n, scale := len(m)/4, 16/len(m)
	weaveOps(m[:n], a.maxima(b, false), func(int) int { return 5 * scale })
	a.vote()
	weaveOps(m[n:], append(a.subtract(b), a.exponents(b, 0)...), func(i int) int {
		if i < (len(m)-n)/2 {
			return 5 * scale
		}
		return 3 * scale
	})
	a.SetPrio(0)
	a.Barrier()
}

// stagger emits an s_barrier that only the waves from 4 (first) or below 4 run.
func (a *attention) stagger(first bool) {
	skip := a.Label()
	a.SOPC(isa.S_CMP_LT_U32, a.ln.wave, Imm(4))
	if first {
		a.Branch(isa.S_CBRANCH_SCC1, skip)
	} else {
		a.Branch(isa.S_CBRANCH_SCC0, skip)
	}
	a.Barrier()
	a.Place(skip)
}

// prologue emits the first block's scores and half of its softmax, with three
// blocks of K and two of V asked for.
func (a *attention) prologue() {
	n := a.loads
	a.Cluster("prologue", "other")
	a.fill(&a.k, 0)
	a.WaitVM(0)
	a.Barrier()
	a.convertQ()
	a.fill(&a.k, 1)
	a.fill(&a.v, 0)
	a.keys().emit(0)
	for _, x := range a.sum {
		a.VOP1(isa.V_MOV_B32, x, Imm(0))
	}
	if a.spec.Rescale {
		a.VOP1(isa.V_MOV_B32, a.scl, Val{Operand: isa.Operand{Reg: isa.ConstHalf + 2, N: 1}}) // 1.0
	}
	a.Zero(a.o)
	a.WaitLGKM(0)
	a.WaitVM(n)
	a.Barrier()
	weaveOps(a.scores(0), nil, func(int) int { return 0 })
	a.Nop(matrixToVALU)
	a.mask(0)
	for _, f := range a.maxima(0, true) {
		f()
	}
	a.VOP1(isa.V_MOV_B32, a.max, a.tmp[0])
	for _, f := range append(a.subtract(0), a.exponents(0, 0)...) {
		f()
	}
	a.stagger(true)
	a.keys().emit(1)
	a.fill(&a.k, 0)
	a.fill(&a.v, 1)
	a.WaitLGKM(0)
	a.WaitVM(2 * n)
	a.Barrier()
}

// loop emits the body, two KV blocks. With block j's softmax half done and K of
// j+1 in registers, it takes the scores of j+1 and j+2 and the outputs of j and
// j+1.
func (a *attention) loop() {
	n := a.loads
	top, done := a.Label(), a.Label()
	if a.spec.Causal || a.built.LoopTrips == 0 {
		a.SOPC(isa.S_CMP_EQ_U32, a.trips, Imm(0))
		a.Branch(isa.S_CBRANCH_SCC1, done)
	}
	a.EndCluster()
	a.Place(top)
	a.built.LoopStart, a.built.LoopKTiles = len(a.insts), 2
	a.qk("qk0", 1)
	a.memory("m1", &a.k, 1, a.values(), 0, 2*n, nil)
	a.av("av2", 1)
	a.memory("m3", &a.v, 0, a.keys(), 0, 2*n, nil)
	a.qk("qk4", 0)
	a.memory("m5", &a.k, 0, a.values(), 1, 2*n, nil)
	a.av("av6", 0)
	a.memory("m7", &a.v, 1, a.keys(), 1, 2*n, func() {
		a.SOP2(isa.S_SUB_U32, a.trips, a.trips, Imm(1))
		a.SOPC(isa.S_CMP_LG_U32, a.trips, Imm(0))
	})
	a.Branch(isa.S_CBRANCH_SCC1, top)
	a.built.LoopEnd = len(a.insts)
	a.Cluster("drain", "other")
	a.Place(done)
}

// epilogue emits the last four blocks: one of K and two of V are still to load.
func (a *attention) epilogue() {
	n := a.loads
	a.qk("e0", 1)
	a.memory("em1", &a.k, 1, a.values(), 0, 2*n, nil)
	a.av("e2", 1)
	a.memory("em3", &a.v, 0, a.keys(), 0, 2*n, nil)
	a.qk("e4", 0)
	a.memory("em5", nil, 0, a.values(), 1, n, nil)
	a.av("e6", 0)
	a.memory("em7", &a.v, 1, a.keys(), 1, n, nil)
	a.qk("e8", 1)
	a.memory("em9", nil, 0, a.values(), 0, 0, nil)
	a.av("e10", 1)
	a.Cluster("e11", "compute")
	a.values().emit(1)
	a.rescale()
	for _, f := range append(a.exponents(1, 1), a.probabilities(1)...) {
		f()
	}
	if a.spec.Rescale {
		a.scaleOutputs()
	}
	a.WaitLGKM(0)
	a.Nop(valuToMatrix)
	weaveOps(a.outputs(1), nil, func(int) int { return 0 })
	a.Cluster("rejoin", "other")
	a.stagger(false)
}

// store emits the division by the sums and the stores: lane l has query l%32, and
// of every 8 columns the four from 4*(l/32).
func (a *attention) store() {
	a.Cluster("store", "other")
	t, sum := a.tmp, a.sum
	a.VOP2(isa.V_ADD_F32, sum[0], sum[0], sum[1])
	a.VOP1(isa.V_MOV_B32, sum[1], sum[0])
	a.Nop(valuToSwap)
	a.VOP1(isa.V_PERMLANE32_SWAP_B32, sum[0], sum[1])
	a.VOP2(isa.V_ADD_F32, sum[0], sum[0], sum[1])
	a.VOP1(isa.V_RCP_F32, a.scl, sum[0])
	off := a.rowOffset(a.spec.Heads * a.spec.Dim * 2)
	a.VShr(t[1], a.ln.lane, 5)
	a.VShl(t[1], t[1], 3)
	a.VAdd(off, t[1], off)
	a.Nop(matrixToVALU)
	for d := range a.dTiles {
		for g := range 4 {
			x := a.o.At(d, 0).At(4*g, 4)
			for i := range 4 {
				a.VOP2(isa.V_MUL_F32, x.At(i, 1), a.scl, x.At(i, 1))
			}
			for i := range 2 {
				a.VOP3(isa.V_CVT_PK_BF16_F32, x.At(i, 1), x.At(2*i, 1), x.At(2*i+1, 1))
			}
			a.GlobalStore(isa.GLOBAL_STORE_DWORDX2, off, x.At(0, 2), a.out, 64*d+16*g)
		}
	}
	if a.spec.Rescale {
		// L = (max + log2(sum)) * ln 2, by the lanes below 32.
		a.VOP1(isa.V_LOG_F32, sum[0], sum[0])
		a.VAnd(t[1], Imm(31), a.ln.lane)
		a.VShl(t[1], t[1], 2)
		a.VOP2(isa.V_ADD_F32, sum[0], sum[0], a.max)
		a.VOP2(isa.V_MUL_F32, sum[0], Imm(int(math.Float32bits(float32(math.Ln2)))), sum[0])
		a.SMov(reg(isa.ExecHi, 1), Imm(0))
		a.GlobalStore(isa.GLOBAL_STORE_DWORD, t[1], sum[0], a.lse, 0)
	}
	a.SOPP(isa.S_ENDPGM, 0)
}

// rescues emits the paths that a wave seldom takes.
func (a *attention) rescues() {
	for i, f := range a.aside {
		a.Cluster(fmt.Sprintf("aside%d", i), "other")
		f()
	}
}
