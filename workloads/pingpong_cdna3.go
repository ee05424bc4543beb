package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// cdna3 is the 8-wave schedule on gfx942. LDS holds one K tile; the next one
// travels through registers: global to VGPR early in the tile, VGPR to LDS once
// every wave has read its operands. A wave owns two accumulators, tm/4 rows
// apart, and takes the K tile in four slices of 16.
//
// The division of the reads into 12, 24 and 12, and the waits before the
// barriers, are those of the compiled kernel in HipKittens' thread trace of
// MI325X at 8192 (a source-level reading gives 12, 20 and 16, which would leave
// the third slice's B unread when the third cluster starts).
type cdna3 struct {
	*gemm
	nt      int // 16-row base tiles of an accumulator's side
	slices  [6]RegTile
	c       [2]RegTile
	rows    int       // fill: 16-byte loads per thread of each of A and B
	pre     [2][]Val  // registers of the next K tile
	voff    []Val     // per load: offset in the row block
	wAddr   [2]Val    // LDS address of the two 8-byte halves of a load
	rAddr   [2][4]Val // LDS address per matrix and slice
	soff    Val       // offset of the next K tile
	wr, wc  Val
	iterate Val
}

// pingpongCDNA3 emits the kernel.
func (g *gemm) pingpongCDNA3() {
	p := &cdna3{gemm: g, nt: g.tm / 64, rows: g.tm / 64}
	g.resources(8, 2*p.ldsB(), 65536) // all of the CU's LDS, as the original requests
	g.built.LoopKTiles, g.built.LoopTrips = 1, g.K/g.kTile()-1
	p.setup()
	p.prologue()
	p.loop()
	p.epilogue()
	p.store()
}

// ldsB is the LDS address of B: A is tm rows of 128 bytes from 0.
func (p *cdna3) ldsB() int { return p.tm * 128 }

func (p *cdna3) setup() {
	p.wr, p.wc = p.waveGrid(2)
	t0, t1 := p.t.At(0, 1), p.t.At(1, 1)

	// Thread tid moves 16 bytes: row tid/8, unit tid%8; each load 64 rows on.
	p.voff = []Val{p.VGPR(1)}
	p.VShr(t0, p.ln.tid, 3)
	p.VMul(p.voff[0], t0, p.stride)
	p.VAnd(t1, Imm(7), p.ln.tid)
	p.VShl(t1, t1, 4)
	p.VAdd(p.voff[0], t1, p.voff[0])
	p.SMul(p.s.At(0, 1), p.stride, Imm(64))
	for i := 1; i < p.rows; i++ {
		p.voff = append(p.voff, p.VGPR(1))
		p.VAdd(p.voff[i], p.s.At(0, 1), p.voff[i-1])
	}
	// Its LDS address: the swizzle moves 8-byte units, so the second half of
	// the 16 bytes is the neighbour of the first.
	p.wAddr = [2]Val{p.VGPR(1), p.VGPR(1)}
	w := p.wAddr[0]
	p.VShl(w, t0, 7)
	p.VAdd(w, t1, w)
	p.VAnd(t0, Imm(15), t0)
	p.VShl(t0, t0, 3)
	p.VXor(w, t0, w)
	p.VXor(p.wAddr[1], Imm(8), w)

	p.readBase(RowXOR8, p.ln, t0, t1, p.broken)
	p.rAddr[0][0] = p.ldsAddr(t0, p.wr, p.nt*2048, 0)
	p.rAddr[1][0] = p.ldsAddr(t0, p.wc, p.nt*2048, p.ldsB())
	for m := range 2 {
		for k := 1; k < 4; k++ {
			p.rAddr[m][k] = p.VGPR(1)
			p.VXor(p.rAddr[m][k], Imm(k*32), p.rAddr[m][0])
		}
	}
	p.soff, p.iterate = p.SGPR(1), p.SGPR(1)
	p.SMov(p.soff, Imm(0))
	p.SMov(p.iterate, Imm(p.built.LoopTrips))
	for m := range 2 {
		for range p.rows {
			p.pre[m] = append(p.pre[m], p.VGPR(4))
		}
	}
	for i := range p.slices {
		p.slices[i] = p.VTile(p.nt, 1, 2)
	}
	for i := range p.c {
		p.c[i] = p.VTile(p.nt, p.nt, 4)
		p.Zero(p.c[i])
	}
}

// load emits the global loads of a matrix (0 A, 1 B) for the next K tile.
func (p *cdna3) load(m int) {
	srd := []Val{p.srdA, p.srdB}[m]
	for i, v := range p.voff {
		p.BufferLoad(p.pre[m][i], v, srd, p.soff)
	}
}

// write emits the LDS writes of load i of matrix m.
func (p *cdna3) write(m, i int) {
	for h := range 2 {
		p.DSWrite(isa.DS_WRITE_B64, p.wAddr[h], p.pre[m][i].At(2*h, 2), m*p.ldsB()+i*8192)
	}
}

// read emits the wave's reads of slice k: B, then the rows of both accumulators,
// into three register slices from dst.
func (p *cdna3) read(dst, k int) {
	for i := range p.nt {
		p.DSRead(isa.DS_READ_B64, p.slices[dst].At(i, 0), p.rAddr[1][k], i*2048)
	}
	for a := range 2 {
		for i := range p.nt {
			p.DSRead(isa.DS_READ_B64, p.slices[dst+1+a].At(i, 0), p.rAddr[0][k], a*p.tm/2*128+i*2048)
		}
	}
}

// compute emits a compute cluster on the three register slices from src.
func (p *cdna3) compute(name string, src int) {
	p.Cluster(name, "compute")
	p.SetPrio(1)
	for a := range 2 {
		p.mma(p.mfma, p.c[a], p.slices[src+1+a], p.slices[src], nil)
	}
	p.SetPrio(0)
	p.Barrier()
}

// close ends a memory cluster: its LDS operations are done before the barrier.
func (p *cdna3) close() {
	p.WaitLGKM(0)
	p.Barrier()
}

func (p *cdna3) prologue() {
	p.Cluster("prologue", "other")
	p.load(0)
	p.load(1)
	for m := range 2 {
		for i := range p.rows {
			p.WaitVM((1-m)*p.rows + p.rows - 1 - i)
			p.write(m, i)
		}
	}
	p.SAdd(p.soff, p.soff, Imm(kBytes))
	p.close()
	p.stagger(true)
}

func (p *cdna3) loop() {
	top := p.Label()
	p.EndCluster()
	p.Place(top)
	p.built.LoopStart = len(p.insts)
	p.Cluster("m0", "memory")
	p.load(0)
	p.read(0, 0)
	p.close()
	p.compute("c0", 0)
	p.Cluster("m1", "memory")
	p.read(0, 1)
	p.read(3, 2)
	p.close()
	p.compute("c1", 0)
	p.Cluster("m2", "memory")
	p.load(1)
	p.SAdd(p.soff, p.soff, Imm(kBytes))
	p.read(0, 3)
	p.close()
	p.compute("c2", 3)
	p.Cluster("m3", "memory")
	for m := range 2 {
		for i := range p.rows {
			p.WaitVM((1-m)*p.rows + p.rows - 1 - i)
			p.write(m, i)
		}
	}
	p.SOP2(isa.S_SUB_U32, p.iterate, p.iterate, Imm(1))
	p.SOPC(isa.S_CMP_LG_U32, p.iterate, Imm(0))
	p.close()
	p.compute("c3", 0)
	p.Branch(isa.S_CBRANCH_SCC1, top)
	p.built.LoopEnd = len(p.insts)
}

// epilogue emits the last K tile, which is in LDS.
func (p *cdna3) epilogue() {
	for k := range 2 {
		p.Cluster(fmt.Sprintf("em%d", k), "memory")
		p.read(0, k)
		p.close()
		p.compute(fmt.Sprintf("ec%d", k), 0)
	}
	p.Cluster("em2", "memory")
	p.read(0, 2)
	p.read(3, 3)
	p.close()
	p.compute("ec2", 0)
	p.compute("ec3", 3)
	p.Cluster("rejoin", "other")
	p.stagger(false)
}

// store emits the stores: accumulator a covers rows a*tm/2 + wave row * nt*16.
func (p *cdna3) store() {
	var blocks []rowBlock
	for a := range p.c {
		for i := range p.nt {
			blk := rowBlock{row: a*p.tm/2 + i*16}
			for j := range p.nt {
				blk.acc = append(blk.acc, p.c[a].At(i, j))
				blk.cols = append(blk.cols, j*16)
			}
			blocks = append(blocks, blk)
		}
	}
	p.gemm.store(p.wr, p.wc, p.nt*16, p.nt*16, 16, blocks)
}
