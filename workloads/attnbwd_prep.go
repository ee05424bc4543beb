package workloads

import "github.com/whisker-sim/whisker/isa"

// rowsKernel starts a kernel of a grid (batch, heads, sequence/64) whose four
// waves have 16 rows each: it loads n pointers and returns the base of the
// wave's rows in a (batch, sequence, heads, dim) tensor and in a (batch, heads,
// sequence) one, in elements.
func rowsKernel(s *bwdSpec, n int) (b *Builder, ptr, rows, flat, lane Val, t Val) {
	b = NewBuilder(s.cpu, 1, 5)
	b.states.init()
	b.Cluster("rows", "other")
	ptr = b.SGPR(4)
	b.SGPR(2)
	ptr.N = 6
	for i := range n {
		b.SLoad(ptr.At(2*i, 2), reg(isa.S(0), 2), 8*i)
	}
	ln := b.lanes()
	t = b.VGPR(2)
	q, r0, r1 := b.SGPR(4), b.SGPR(2), b.SGPR(2)
	batch, head, blk := reg(isa.S(2), 1), reg(isa.S(3), 1), reg(isa.S(4), 1)
	row := b.SGPR(1)
	b.SOP2(isa.S_LSHL_B32, row, blk, Imm(6))
	b.SOP2(isa.S_LSHL_B32, q.At(0, 1), ln.wave, Imm(4))
	b.SAdd(row, row, q.At(0, 1))
	zero := reg(isa.S(0), 2)
	b.WaitLGKM(0)
	b.SMov(zero.At(0, 1), Imm(0))
	b.SMov(zero.At(1, 1), Imm(0))
	b.SMulAdd64(r0, zero, batch, Imm(s.seq*s.heads*bwdDim), q)
	b.SMulAdd64(r0, r0, row, Imm(s.heads*bwdDim), q)
	b.SMulAdd64(r0, r0, head, Imm(bwdDim), q)
	b.SMulAdd64(r1, zero, batch, Imm(s.heads*s.seq), q)
	b.SMulAdd64(r1, r1, head, Imm(s.seq), q)
	b.SMulAdd64(r1, r1, row, Imm(1), q)
	return b, ptr, r0, r1, ln.lane, t
}

// at emits the 64-bit address of element off<<shift from a pointer.
func (b *Builder) elementAt(ptr, off Val, shift int) Val {
	d := b.SGPR(2)
	b.SOP2(isa.S_LSHL_B64, d, off, Imm(shift))
	b.SAdd(d.At(0, 1), d.At(0, 1), ptr.At(0, 1))
	b.SOP2(isa.S_ADDC_U32, d.At(1, 1), d.At(1, 1), ptr.At(1, 1))
	return d
}

// bwdPrep is the kernel before the main one: delta, the row sums of O * dO.
func bwdPrep(s *bwdSpec, mem *isa.Memory, o, do, delta uint64) (*Built, error) {
	b, ptr, rows, flat, lane, t := rowsKernel(s, 3)
	bytes := 15*s.qStride() + bwdDim*2
	srdO, srdDO := b.SGPR(4), b.SGPR(4)
	b.srd(srdO, b.elementAt(ptr.At(0, 2), rows, 1), bytes)
	b.srd(srdDO, b.elementAt(ptr.At(2, 2), rows, 1), bytes)
	out := b.elementAt(ptr.At(4, 2), flat, 2)
	voff, stride, t0 := b.VGPR(1), b.SGPR(1), t.At(0, 1)
	b.SMov(stride, Imm(s.qStride()))
	b.VAnd(voff, Imm(15), lane)
	b.VMul(voff, voff, stride)
	b.VAnd(t0, Imm(48), lane)
	b.VAdd(voff, t0, voff)
	x, y := b.VGPR(16), b.VGPR(16)
	for c := range 4 {
		b.BufferOp(isa.BUFFER_LOAD_DWORDX4, x.At(4*c, 4), voff, srdO, Imm(0), c*64, false)
		b.BufferOp(isa.BUFFER_LOAD_DWORDX4, y.At(4*c, 4), voff, srdDO, Imm(0), c*64, false)
	}
	sum, xs, ys := b.VGPR(4), b.VGPR(2), b.VGPR(2)
	hi := b.SGPR(1)
	b.SMov(hi, Imm(-65536))
	for i := range 4 {
		b.VOP1(isa.V_MOV_B32, sum.At(i, 1), Imm(0))
	}
	for i := range 16 {
		if i%4 == 0 {
			b.WaitVM(6 - i/2)
		}
		b.VShl(xs.At(0, 1), x.At(i, 1), 16)
		b.VShl(ys.At(0, 1), y.At(i, 1), 16)
		b.VAnd(xs.At(1, 1), hi, x.At(i, 1))
		b.VAnd(ys.At(1, 1), hi, y.At(i, 1))
		for h := range 2 {
			a := sum.At((2*i+h)%4, 1)
			b.VOP3(isa.V_FMA_F32, a, xs.At(h, 1), ys.At(h, 1), a)
		}
	}
	acc, tmp, addr := sum.At(0, 1), sum.At(1, 1), b.VGPR(1)
	b.VOP2(isa.V_ADD_F32, sum.At(0, 1), sum.At(1, 1), sum.At(0, 1))
	b.VOP2(isa.V_ADD_F32, sum.At(2, 1), sum.At(3, 1), sum.At(2, 1))
	b.VOP2(isa.V_ADD_F32, acc, sum.At(2, 1), acc)
	for _, d := range []int{16, 32} { // over the four lanes of a row
		b.VXor(addr, Imm(d), lane)
		b.VShl(addr, addr, 2)
		b.Emit(isa.Inst{Op: isa.DS_BPERMUTE_B32, Enc: isa.DS, Dst: tmp.Operand, Src: [4]isa.Operand{addr.Operand, acc.Operand}})
		b.WaitLGKM(0)
		b.VOP2(isa.V_ADD_F32, acc, tmp, acc)
	}
	b.VShl(addr, lane, 2)
	b.SMov(reg(isa.ExecLo, 1), Imm(0xffff))
	b.SMov(reg(isa.ExecHi, 1), Imm(0))
	b.GlobalStore(isa.GLOBAL_STORE_DWORD, addr, acc, out, 0)
	b.SOPP(isa.S_ENDPGM, 0)
	b.EndCluster()
	return b.launch("attention_backward_delta", 4, [3]int{s.batch, s.heads, s.seq / bwdQ}, mem, []uint64{o, do, delta}, 0)
}

// bwdShuffle is the kernel after the main one: dQ from the order of the matrix
// results, in which pairs of rows are neighbours, to rows.
func bwdShuffle(s *bwdSpec, mem *isa.Memory, from, to uint64) (*Built, error) {
	b, ptr, rows, flat, lane, t := rowsKernel(s, 2)
	srdIn, srdOut := b.SGPR(4), b.SGPR(4)
	b.srd(srdIn, b.elementAt(ptr.At(0, 2), flat, 8), 4096) // 256 bytes a row
	b.srd(srdOut, b.elementAt(ptr.At(2, 2), rows, 1), 15*s.qStride()+bwdDim*2)
	voff, vin, t0, stride := b.VGPR(1), b.VGPR(1), t.At(0, 1), b.SGPR(1)
	b.VShl(vin, lane, 4)
	x := b.VGPR(16)
	for i := range 4 {
		b.BufferOp(isa.BUFFER_LOAD_DWORDX4, x.At(4*i, 4), vin, srdIn, Imm(0), i*1024, false)
	}
	// A lane has the pair of rows 4*(lane%16/4) + 2*(lane/16%2) of four columns
	// from 16*(lane/32) + 4*(lane%4).
	b.SMov(stride, Imm(s.qStride()))
	b.VAnd(voff, Imm(12), lane)
	b.VShr(t0, lane, 3)
	b.VAnd(t0, Imm(2), t0)
	b.VAdd(voff, t0, voff)
	b.VMul(voff, voff, stride)
	b.VShr(t0, lane, 5)
	b.VShl(t0, t0, 5)
	b.VAdd(voff, t0, voff)
	b.VAnd(t0, Imm(3), lane)
	b.VShl(t0, t0, 3)
	b.VAdd(voff, t0, voff)
	lo, hi, out := b.SGPR(1), b.SGPR(1), b.VGPR(4)
	b.SMov(lo, Imm(0x05040100))
	b.SMov(hi, Imm(0x07060302))
	for i := range 4 {
		b.WaitVM(min(3-i+4*i, 15))
		for r, sel := range []Val{lo, hi} {
			for h := range 2 {
				b.VOP3(isa.V_PERM_B32, out.At(2*r+h, 1), x.At(4*i+2*h+1, 1), x.At(4*i+2*h, 1), sel)
			}
		}
		for r, soff := range []Val{Imm(0), stride} {
			for h := range 2 {
				b.BufferOp(isa.BUFFER_STORE_DWORD, out.At(2*r+h, 1), voff, srdOut, soff, i*64+h*4, true)
			}
		}
	}
	b.SOPP(isa.S_ENDPGM, 0)
	b.EndCluster()
	return b.launch("attention_backward_shuffle", 4, [3]int{s.batch, s.heads, s.seq / bwdQ}, mem, []uint64{from, to}, 0)
}
