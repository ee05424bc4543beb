package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// ldsRequest950 is the dynamic LDS that HipKittens requests for its gfx950
// kernels whatever they use; it keeps one workgroup on a CU.
const ldsRequest950 = 160000

// pingpong is the 8-wave schedule on gfx950: two groups of four waves, one
// cluster apart, take turns at the matrix pipe and at memory. A and B are held
// in LDS as two buffers of two halves each; a wave owns four accumulators, one
// for each pair of halves.
type pingpong struct {
	*gemm
	mA, nB  int // 16-row base tiles of a wave in a half of A and of B
	halfA   int // bytes of a half
	halfB   int
	a       RegTile
	b       [2]RegTile
	c       [2][2]RegTile
	addrA   Val // VGPR: LDS address of the lane in buffer 0, half 0
	addrB   Val
	fA, fB  [2]fill // per half
	wr, wc  Val
	iterate Val // SGPR: iterations left

	// Of the 192-row tile, whose halves of A take a load and a half per wave.
	low, saved Val // SGPR pairs: the lanes of waves 0-3, and EXEC before it was narrowed to them
}

// pingpongCDNA4 emits the kernel.
func (g *gemm) pingpongCDNA4() {
	p := &pingpong{gemm: g, mA: g.tm / 64, nB: g.tn / 128, halfA: g.tm * 64, halfB: g.tn * 64}
	g.resources(8, 4*(p.halfA+p.halfB), ldsRequest950)
	g.built.LoopKTiles, g.built.LoopTrips = 2, (g.K/64-2)/2
	p.setup()
	p.prologue()
	p.loop()
	p.epilogue()
	p.store()
}

// setup allocates the tiles and computes the addresses.
func (p *pingpong) setup() {
	p.wr, p.wc = p.waveGrid(2)
	voff := []Val{p.VGPR(1)}
	p.fillBase(ST16x32, p.ln, p.stride, voff[0], p.t.At(0, 1), p.s.At(0, 1))
	base := p.t.At(0, 1)
	p.readBase(ST16x32, p.ln, base, p.t.At(1, 1), p.broken)
	p.addrA = p.ldsAddr(base, p.wr, p.mA*2048, 0)
	p.addrB = p.ldsAddr(base, p.wc, p.nB*2048, 4*p.halfA)
	if p.tm > 128 { // the second load of a half is 64 rows on
		voff = append(voff, p.VGPR(1))
		p.SMul(p.s.At(0, 1), p.stride, Imm(64))
		p.VAdd(voff[1], p.s.At(0, 1), voff[0])
	}
	p.SOP2(isa.S_LSHL_B32, p.s.At(0, 1), p.ln.wave, Imm(10))
	for h := range 2 {
		p.fA[h] = p.newFill(p.srdA, voff, h*p.tm/2, 0, h*p.halfA, 2*p.halfA)
		p.fB[h] = p.newFill(p.srdB, voff, h*p.tn/2, 4*p.halfA, h*p.halfB, 2*p.halfB)
	}
	p.iterate = p.SGPR(1)
	p.SMov(p.iterate, Imm(p.built.LoopTrips))
	p.a = p.VTile(p.mA, 2, 4)
	p.b = [2]RegTile{p.VTile(p.nB, 2, 4), p.VTile(p.nB, 2, 4)}
	for i := range 2 {
		for j := range 2 {
			p.c[i][j] = p.VTile(p.mA, p.nB, 4)
			p.Zero(p.c[i][j])
		}
	}
}

// newFill emits the stream of a half tile that starts at row of the row block;
// its LDS place is region + half + buf*step, and s holds wave*1024.
func (p *pingpong) newFill(srd Val, voff []Val, row, region, half, step int) fill {
	f := fill{srd: srd, soff: p.SGPR(1), voff: voff}
	p.SMul(f.soff, p.stride, Imm(row))
	for buf := range 2 {
		for i := range voff {
			m := p.SGPR(1)
			p.SAdd(m, p.s.At(0, 1), Imm(region+half+buf*step+i*8192))
			f.lds[buf] = append(f.lds[buf], m)
		}
	}
	return f
}

// kBytes is a K tile of 64 16-bit elements.
const kBytes = 128

// readA emits the wave's reads of a half of A in a buffer.
func (p *pingpong) readA(buf, half int) {
	p.readTile(p.a, p.addrA, buf*2*p.halfA+half*p.halfA)
}

// readB emits the wave's reads of a half of B in a buffer.
func (p *pingpong) readB(buf, half int) {
	p.readTile(p.b[half], p.addrB, buf*2*p.halfB+half*p.halfB)
}

// readTile emits one ds_read_b128 per 16x32 base tile, which is one subtile of
// the st_16x32 layout.
func (p *pingpong) readTile(t RegTile, addr Val, off int) {
	for i := range t.Rows {
		for k := range t.Cols {
			p.DSRead(isa.DS_READ_B128, t.At(i, k), addr, off+(i*2+k)*1024)
		}
	}
}

// loads is the number of direct-to-LDS loads of a half tile per wave.
func (p *pingpong) loads() int { return len(p.fA[0].voff) }

// prologue fills K tile 0 and all but A1 of tile 1.
func (p *pingpong) prologue() {
	p.Cluster("prologue", "other")
	n := p.loads()
	p.fB[0].all(p.Builder, 0, kBytes)
	p.fA[0].all(p.Builder, 0, kBytes)
	p.fB[1].all(p.Builder, 0, kBytes)
	p.fA[1].all(p.Builder, 0, kBytes)
	p.stagger(true)
	p.WaitVM(2 * n)
	p.Barrier()
	p.fB[0].all(p.Builder, 1, kBytes)
	p.fA[0].all(p.Builder, 1, kBytes)
	p.fB[1].all(p.Builder, 1, kBytes)
	p.WaitVM(3 * n)
	p.Barrier()
}

// memory emits a memory cluster: reads, the fill f of buffer buf (nil for
// none), and vm, the wait for all but vm loads (-1 for none). early is the
// lgkmcnt to reach before the barrier, -1 for none; late says whether all reads
// are awaited after it.
func (p *pingpong) memory(name string, reads func(), f *fill, buf, vm, early int, late bool) {
	p.transfers(name, reads, f, buf)
	p.meet(vm, early, late)
}

// transfers emits the first half of a memory cluster: LDS reads and fills.
func (p *pingpong) transfers(name string, reads func(), f *fill, buf int) {
	p.Cluster(name, "memory")
	if f != nil {
		p.SetM0(f.lds[buf][0])
	}
	if reads != nil {
		reads()
	}
	if f != nil {
		f.load(p.Builder, 0)
		for i := 1; i < len(f.voff); i++ {
			p.more(f, buf, i)
		}
		f.advance(p.Builder, kBytes)
	}
}

// meet emits the second half: waits and the barrier.
func (p *pingpong) meet(vm, early int, late bool) {
	if vm >= 0 {
		p.WaitVM(vm)
	}
	if early >= 0 {
		p.WaitLGKM(early)
	}
	p.Barrier()
	if late {
		p.WaitLGKM(0)
	}
}

// compute emits a compute cluster on accumulator (i, j).
func (p *pingpong) compute(name string, i, j int) {
	p.Cluster(name, "compute")
	p.SetPrio(1)
	p.mma(p.mfma, p.c[i][j], p.a, p.b[j], nil)
	p.SetPrio(0)
	p.Barrier()
}

// loop emits the body, two K tiles: t in buffer 0 and t+1 in buffer 1.
//
// The early read of B0 of t+1 in m3 comes before m3's own vmcnt wait. B0 of t+1
// was issued six fills earlier, so the original never sees it late; to make
// that certain rather than likely, m2 waits for all but the five fills after it
// (a wait that costs one issue slot: those loads are three clusters old).
func (p *pingpong) loop() {
	n, nA := p.loads(), p.mA*2
	top := p.Label()
	p.EndCluster()
	p.Place(top)
	p.built.LoopStart = len(p.insts)
	p.memory("m0", func() { p.readB(0, 0); p.readA(0, 0) }, &p.fA[1], 1, -1, nA, true)
	p.compute("c0", 0, 0)
	p.memory("m1", func() { p.readB(0, 1) }, &p.fB[0], 0, -1, -1, true)
	p.compute("c1", 0, 1)
	p.memory("m2", func() { p.readA(0, 1) }, &p.fA[0], 0, 5*n, -1, true)
	p.compute("c2", 1, 0)
	p.memory("m3", func() { p.readB(1, 0) }, &p.fB[1], 0, 3*n, -1, false)
	p.compute("c3", 1, 1)
	p.memory("m4", func() { p.readA(1, 0) }, &p.fA[1], 0, -1, nA, true)
	p.compute("c4", 0, 0)
	p.memory("m5", func() { p.readB(1, 1) }, &p.fB[0], 1, -1, -1, true)
	p.compute("c5", 0, 1)
	p.memory("m6", func() { p.readA(1, 1) }, &p.fA[0], 1, -1, -1, true)
	p.compute("c6", 1, 0)
	// Count here: SCC survives the matrix instructions, so that the loop ends
	// in one branch.
	p.transfers("m7", nil, &p.fB[1], 1)
	p.SOP2(isa.S_SUB_U32, p.iterate, p.iterate, Imm(1))
	p.SOPC(isa.S_CMP_LG_U32, p.iterate, Imm(0))
	p.meet(3*n, -1, false)
	p.compute("c7", 1, 1)
	p.Branch(isa.S_CBRANCH_SCC1, top)
	p.built.LoopEnd = len(p.insts)
}

// epilogue emits the last two K tiles. Only A1 of the last one is still to
// load, in the first cluster.
func (p *pingpong) epilogue() {
	n, nA := p.loads(), p.mA*2
	type step struct {
		reads     func()
		f         *fill
		vm, early int
		late      bool
		i, j      int
	}
	for k, s := range []step{
		{func() { p.readB(0, 0); p.readA(0, 0) }, &p.fA[1], -1, nA, true, 0, 0},
		{func() { p.readB(0, 1) }, nil, -1, -1, true, 0, 1},
		{func() { p.readA(0, 1) }, nil, 2 * n, -1, true, 1, 0},
		{func() { p.readB(1, 0) }, nil, n, -1, false, 1, 1},
		{func() { p.readA(1, 0) }, nil, 0, nA, true, 0, 0},
		{func() { p.readB(1, 1) }, nil, -1, -1, true, 0, 1},
		{func() { p.readA(1, 1) }, nil, -1, -1, true, 1, 0},
		{nil, nil, -1, -1, false, 1, 1},
	} {
		p.memory(fmt.Sprintf("em%d", k), s.reads, s.f, 1, s.vm, s.early, s.late)
		p.compute(fmt.Sprintf("ec%d", k), s.i, s.j)
	}
	p.Cluster("rejoin", "other")
	p.stagger(false)
}

// store emits the stores: a wave's rows are mA base tiles in each half of A.
func (p *pingpong) store() {
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
