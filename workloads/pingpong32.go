package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// pingpong32x is the 8-wave schedule on gfx950 with 32x32x16 matrix
// instructions. LDS holds two buffers of undivided tiles of A and B; a wave owns
// 128x64 of C and takes a K tile in two slices of 32. Every K tile drains
// vmcnt.
type pingpong32x struct {
	*gemm
	a, b    RegTile // operands of a slice
	c       RegTile
	addr    [2][2]Val // VGPR: LDS address of the lane per matrix and k step of a slice
	fills   [2]fill   // A, B
	wr, wc  Val
	iterate Val
}

// tile32 is the bytes of a tile of 256 rows of 64 elements.
const tile32 = 256 * kBytes

// pingpong32 emits the kernel.
func (g *gemm) pingpong32() {
	p := &pingpong32x{gemm: g}
	g.resources(8, 4*tile32, ldsRequest950)
	g.built.LoopKTiles, g.built.LoopTrips = 2, (g.K/64-2)/2
	p.setup()
	p.prologue()
	p.loop()
	p.epilogue()
	p.store()
}

func (p *pingpong32x) setup() {
	p.wr, p.wc = p.waveGrid(2)
	s, t0, t1 := p.s.At(0, 1), p.t.At(0, 1), p.t.At(1, 1)
	voff := []Val{p.VGPR(1), p.VGPR(1), p.VGPR(1), p.VGPR(1)}
	p.fillBase(ST32x32, p.ln, p.stride, voff[0], t0, s)
	p.SMul(s, p.stride, Imm(64)) // a load of all eight waves is two rows of subtiles
	for i := 1; i < len(voff); i++ {
		p.VAdd(voff[i], s, voff[i-1])
	}
	p.readBase(ST32x32, p.ln, t0, t1, p.broken)
	p.addr[0][0] = p.ldsAddr(t0, p.wr, 4*4096, 0)
	p.addr[1][0] = p.ldsAddr(t0, p.wc, 2*4096, 2*tile32)
	for m := range p.addr {
		p.addr[m][1] = p.VGPR(1) // the second k step: the swizzle moves it
		p.VXor(p.addr[m][1], Imm(32), p.addr[m][0])
	}
	p.SOP2(isa.S_LSHL_B32, s, p.ln.wave, Imm(10))
	for m, srd := range []Val{p.srdA, p.srdB} {
		f := fill{srd: srd, soff: p.SGPR(1), voff: voff}
		p.SMov(f.soff, Imm(0))
		for buf := range 2 {
			for i := range voff {
				at := p.SGPR(1)
				p.SAdd(at, s, Imm(2*m*tile32+buf*tile32+i*8192))
				f.lds[buf] = append(f.lds[buf], at)
			}
		}
		p.fills[m] = f
	}
	p.iterate = p.SGPR(1)
	p.SMov(p.iterate, Imm(p.built.LoopTrips))
	p.a, p.b, p.c = p.VTile(4, 2, 4), p.VTile(2, 2, 4), p.VTile(4, 2, 16)
	p.Zero(p.c)
}

func (p *pingpong32x) prologue() {
	p.Cluster("prologue", "other")
	p.fills[0].all(p.Builder, 0, kBytes)
	p.fills[1].all(p.Builder, 0, kBytes)
	p.WaitVM(0)
	p.stagger(true)
	p.Barrier()
}

// slice emits the reads of columns 32*k to 32*k+31 of the tile in buffer buf.
func (p *pingpong32x) slice(buf, k int) {
	for m, t := range []RegTile{p.a, p.b} {
		for i := range t.Rows {
			for j := range t.Cols {
				p.DSRead(isa.DS_READ_B128, t.At(i, j), p.addr[m][j], buf*tile32+(2*i+k)*2048)
			}
		}
	}
}

// compute emits the matrix instructions of a slice.
func (p *pingpong32x) compute(name string) {
	p.Cluster(name, "compute")
	p.WaitLGKM(0)
	p.SetPrio(1)
	p.mma(p.mfma, p.c, p.a, p.b, nil)
	p.SetPrio(0)
	p.Barrier()
}

// tile emits the four clusters of the K tile in buffer buf, with the fill of the
// other buffer if more.
func (p *pingpong32x) tile(prefix string, buf int, more bool, last func()) {
	name := func(kind string, k int) string { return fmt.Sprintf("%s%s%d", prefix, kind, 2*buf+k) }
	p.Cluster(name("m", 0), "memory")
	p.slice(buf, 0)
	if more {
		p.fills[0].all(p.Builder, 1-buf, kBytes)
		p.fills[1].all(p.Builder, 1-buf, kBytes)
	}
	p.Barrier()
	p.compute(name("c", 0))
	p.Cluster(name("m", 1), "memory")
	p.slice(buf, 1)
	if last != nil {
		last()
	}
	p.Wait(0, 0)
	p.Barrier()
	p.compute(name("c", 1))
}

// loop emits the body, two K tiles.
func (p *pingpong32x) loop() {
	top := p.Label()
	p.EndCluster()
	p.Place(top)
	p.built.LoopStart = len(p.insts)
	p.tile("", 0, true, nil)
	p.tile("", 1, true, func() {
		p.SOP2(isa.S_SUB_U32, p.iterate, p.iterate, Imm(1))
		p.SOPC(isa.S_CMP_LG_U32, p.iterate, Imm(0))
	})
	p.Branch(isa.S_CBRANCH_SCC1, top)
	p.built.LoopEnd = len(p.insts)
}

func (p *pingpong32x) epilogue() {
	p.tile("e", 0, true, nil)
	p.tile("e", 1, false, nil)
	p.Cluster("rejoin", "other")
	p.stagger(false)
}

// store emits the stores. A lane holds of a 32x32 tile rows 8*g+4*(lane/32) and
// the three after, for g in 0..3, of column lane%32.
func (p *pingpong32x) store() {
	var blocks []rowBlock
	for i := range p.c.Rows {
		for g := range 4 {
			blk := rowBlock{row: i*32 + g*8}
			for j := range p.c.Cols {
				blk.acc = append(blk.acc, p.c.At(i, j).At(4*g, 4))
				blk.cols = append(blk.cols, j*32)
			}
			blocks = append(blocks, blk)
		}
	}
	p.gemm.store(p.wr, p.wc, 128, 64, 32, blocks)
}
