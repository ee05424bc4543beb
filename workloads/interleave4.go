package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// interleave is the 4-wave schedule: one wave a SIMD, 2x2 waves, memory
// operations spread among the matrix instructions of each cluster. LDS holds
// two K tiles of A and B in halves; a wave owns four accumulators in AGPRs. A
// cluster computes on one pair of halves, reads the operand that comes next and
// fills the half of the K tile after the next.
type interleave struct {
	*gemm
	mA, nB  int // 16-row base tiles of a wave in a half of A and of B
	halfA   int // bytes of a half
	halfB   int
	a, b    [2]RegTile
	c       [2][2]RegTile
	addrA   [2]Val // VGPR per 32-deep k step
	addrB   [2]Val
	fA, fB  [2]fill
	wr, wc  Val
	iterate Val
}

// interleave4 emits the kernel.
func (g *gemm) interleave4() {
	p := &interleave{gemm: g, mA: g.tm / 64, nB: g.tn / 64, halfA: g.tm * 64, halfB: g.tn * 64}
	g.resources(4, 4*(p.halfA+p.halfB), ldsRequest950)
	g.built.LoopKTiles, g.built.LoopTrips = 2, (g.K/64-2)/2
	p.setup()
	p.prologue()
	p.loop()
	p.epilogue()
	p.store()
}

func (p *interleave) setup() {
	p.wr, p.wc = p.waveGrid(1)
	voff := []Val{p.VGPR(1)}
	base, t1, s0 := p.t.At(0, 1), p.t.At(1, 1), p.s.At(0, 1)
	p.fillBase(RowXOR16, p.ln, p.stride, voff[0], base, s0)
	p.SMul(s0, p.stride, Imm(32)) // a load of the four waves is 32 rows
	for i := 1; i < max(p.halfA, p.halfB)/4096; i++ {
		voff = append(voff, p.VGPR(1))
		p.VAdd(voff[i], s0, voff[i-1])
	}
	p.readBase(RowXOR16, p.ln, base, t1, p.broken)
	p.addrA[0] = p.ldsAddr(base, p.wr, p.mA*2048, 0)
	p.addrB[0] = p.ldsAddr(base, p.wc, p.nB*2048, 4*p.halfA)
	p.addrA[1], p.addrB[1] = p.VGPR(1), p.VGPR(1)
	p.VXor(p.addrA[1], Imm(64), p.addrA[0])
	p.VXor(p.addrB[1], Imm(64), p.addrB[0])

	p.SOP2(isa.S_LSHL_B32, s0, p.ln.wave, Imm(10))
	for h := range 2 {
		p.fA[h] = p.newFill(p.srdA, voff[:p.halfA/4096], h*p.tm/2, h*p.halfA, 2*p.halfA)
		p.fB[h] = p.newFill(p.srdB, voff[:p.halfB/4096], h*p.tn/2, 4*p.halfA+h*p.halfB, 2*p.halfB)
	}
	p.iterate = p.SGPR(1)
	p.SMov(p.iterate, Imm(p.built.LoopTrips))
	for i := range 2 {
		p.a[i], p.b[i] = p.VTile(p.mA, 2, 4), p.VTile(p.nB, 2, 4)
	}
	for i := range 2 {
		for j := range 2 {
			p.c[i][j] = p.ATile(p.mA, p.nB, 4)
			p.Zero(p.c[i][j])
		}
	}
}

// newFill emits the stream of a half tile that starts at row of the row block;
// s holds wave*1024. Only the first load's LDS address is kept: the others
// follow 4 KiB apart.
func (p *interleave) newFill(srd Val, voff []Val, row, lds, step int) fill {
	f := fill{srd: srd, soff: p.SGPR(1), voff: voff}
	p.SMul(f.soff, p.stride, Imm(row))
	for buf := range 2 {
		m := p.SGPR(1)
		p.SAdd(m, p.s.At(0, 1), Imm(lds+buf*step))
		f.lds[buf] = []Val{m}
	}
	return f
}

// setM0 points M0 at load i of the fill of buffer buf.
func (p *interleave) setM0(f fill, buf, i int) {
	if i == 0 {
		p.SetM0(f.lds[buf][0])
		return
	}
	p.SAdd(m0, m0, Imm(4096))
}

// fillAll emits a whole half tile's fill.
func (p *interleave) fillAll(f fill, buf int) {
	for i := range f.voff {
		p.setM0(f, buf, i)
		f.load(p.Builder, i)
	}
	f.advance(p.Builder, kBytes)
}

// source is a wave's operand of one half tile.
type source struct {
	dst  RegTile
	addr [2]Val
	off  int
}

func (p *interleave) srcA(buf, half int) *source {
	return &source{p.a[half], p.addrA, buf*2*p.halfA + half*p.halfA}
}

func (p *interleave) srcB(buf, half int) *source {
	return &source{p.b[half], p.addrB, buf*2*p.halfB + half*p.halfB}
}

// reads is the number of ds_read_b128 of the operand.
func (s *source) reads() int { return s.dst.Rows * s.dst.Cols }

// read emits read n of the operand, k step outermost as the matrix instructions
// use them.
func (p *interleave) read(s *source, n int) {
	i, k := n%s.dst.Rows, n/s.dst.Rows
	p.DSRead(isa.DS_READ_B128, s.dst.At(i, k), s.addr[k], s.off+i*2048)
}

// prologue fills two K tiles and reads the first operands of tile 0.
func (p *interleave) prologue() {
	p.Cluster("prologue", "other")
	for buf := range 2 {
		p.fillAll(p.fA[0], buf)
		p.fillAll(p.fB[0], buf)
		p.fillAll(p.fB[1], buf)
		p.fillAll(p.fA[1], buf)
	}
	nA, nB := len(p.fA[0].voff), len(p.fB[0].voff)
	p.WaitVM(min(3*nA+4*nB, noVM-1))
	p.Barrier()
	for n := range p.srcA(0, 0).reads() {
		p.read(p.srcA(0, 0), n)
	}
	p.WaitVM(3*nA + 3*nB)
	p.Barrier()
	for n := range p.srcB(0, 0).reads() {
		p.read(p.srcB(0, 0), n)
	}
}

// Places of the memory operations among the 16 base tiles of a 256x256 tile's
// cluster, from HipKittens' FP8 4-wave kernel: a read after each of the first,
// a load before the read at each of the second. Other cluster sizes scale them.
var (
	readPlaces = [8]int{2, 3, 4, 6, 8, 10, 12, 14}
	loadPlaces = [4]int{2, 4, 8, 12}
)

// cluster emits one cluster: c[i][j] += a[i] * b[j]^T with the reads of src and
// the fill f of buffer buf (either nil for none) spread among the matrix
// instructions.
func (p *interleave) cluster(name string, i, j int, src *source, f *fill, buf int) {
	p.Cluster(name, "compute")
	total := 2 * p.mA * p.nB
	read, load, armed := 0, 0, -1
	p.mma(p.mfma, p.c[i][j], p.a[i], p.b[j], func(n int) {
		if f != nil && armed < load && load < len(f.voff) {
			p.setM0(*f, buf, load)
			armed = load
		}
		for f != nil && load < len(f.voff) && n*16 >= loadPlaces[load*4/len(f.voff)]*total {
			if armed < load {
				p.setM0(*f, buf, load)
				armed = load
			}
			f.load(p.Builder, load)
			load++
		}
		for src != nil && read < src.reads() && n*16 >= readPlaces[read*8/src.reads()]*total {
			p.read(src, read)
			read++
		}
	})
	if f != nil {
		f.advance(p.Builder, kBytes)
	}
}

// tile emits the four clusters of the K tile in buffer buf. more says that fills
// go on; vm1 and vm3 are the loads that may be outstanding at the first and the
// third cluster; next says that another tile follows.
func (p *interleave) tile(prefix string, buf, vm1, vm3 int, more, next bool) {
	fill := func(f *fill) *fill {
		if more {
			return f
		}
		return nil
	}
	p.Cluster(prefix+"w0", "memory")
	p.WaitVM(vm1)
	p.WaitLGKM(0)
	p.Barrier()
	p.cluster(prefix+"c0", 0, 0, p.srcB(buf, 1), fill(&p.fA[0]), buf)
	p.Cluster(prefix+"w1", "memory")
	p.WaitLGKM(0)
	p.cluster(prefix+"c1", 0, 1, p.srcA(buf, 1), fill(&p.fB[0]), buf)
	p.Cluster(prefix+"w2", "memory")
	var a, b *source
	if next {
		p.WaitVM(vm3)
	}
	// Before the barrier, for the other waves refill A1 after it (HipKittens'
	// FP8 kernel waits after the barrier, which leaves that to luck).
	p.WaitLGKM(0)
	if next {
		p.Barrier()
		a, b = p.srcA(1-buf, 0), p.srcB(1-buf, 0)
	}
	p.cluster(prefix+"c2", 1, 0, a, fill(&p.fB[1]), buf)
	p.cluster(prefix+"c3", 1, 1, b, fill(&p.fA[1]), buf)
}

// loop emits the body, two K tiles.
func (p *interleave) loop() {
	top := p.Label()
	p.EndCluster()
	p.Place(top)
	p.built.LoopStart = len(p.insts)
	n := 2 * (len(p.fA[0].voff) + len(p.fB[0].voff)) // loads of a K tile
	for t := range 2 {
		p.tile(fmt.Sprintf("t%d", t), t, n, n, true, true)
	}
	p.Cluster("branch", "other")
	p.SOP2(isa.S_SUB_U32, p.iterate, p.iterate, Imm(1))
	p.SOPC(isa.S_CMP_LG_U32, p.iterate, Imm(0))
	p.Branch(isa.S_CBRANCH_SCC1, top)
	p.built.LoopEnd = len(p.insts)
}

// epilogue emits the last two K tiles, which are on their way.
func (p *interleave) epilogue() {
	n := len(p.fA[0].voff) + len(p.fB[0].voff)
	p.tile("e0", 0, 2*n, n, false, true)
	p.tile("e1", 1, 0, 0, false, false)
}

// store emits the stores: a wave's rows are mA base tiles in each half of A.
func (p *interleave) store() {
	var blocks []rowBlock
	for i := range 2 {
		for m := range p.mA {
			blk := rowBlock{row: i*p.tm/2 + m*16}
			for j := range 2 {
				for n := range p.nB {
					blk.acc = append(blk.acc, p.c[i][j].At(m, n))
					blk.cols = append(blk.cols, j*p.tn/2+n*16)
				}
			}
			blocks = append(blocks, blk)
		}
	}
	p.gemm.store(p.wr, p.wc, p.mA*16, p.nB*16, 16, blocks)
}
