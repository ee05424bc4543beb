package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// lowInterleave is the 4-wave schedule (HipKittens' FP8_4wave and FP6 kernels):
// 2 x 2 waves, one a SIMD, two K tiles in LDS, memory operations among the
// matrix instructions of four clusters, accumulators in AGPRs. A cluster
// computes on one pair of halves, reads the operand that comes next and refills
// the half of the K tile after the next.
type lowInterleave struct {
	*lowp
	a, b   [2]*lowOperand
	fA, fB [2]*lowFill
}

func (p *lowInterleave) emit() {
	p.placeB = 4 * p.halfA // so that every read's offset fits 16 bits
	p.resources(4, 2*p.bufferBytes(), ldsRequest950)
	tiles := p.K / p.kTile()
	p.built.LoopKTiles, p.built.LoopTrips = 2, (tiles-2)/2
	p.setup()
	p.prologue()
	first := tiles % 2 // an odd tile goes before the loop
	if first == 1 {
		p.tile("p", 0, p.perTile(), p.perTile(), true, true)
	}
	p.loop(first)
	p.tile("e0", first, p.perTile(), p.perTile()/2, false, true)
	p.tile("e1", 1-first, 0, 0, false, false)
	p.store()
}

// perTile is the number of a wave's loads of a K tile.
func (p *lowInterleave) perTile() int { return 2 * (len(p.fA[0].voff) + len(p.fB[0].voff)) }

func (p *lowInterleave) setup() {
	p.wr, p.wc = p.waveGrid(1)
	p.addresses()
	nA, nB := blocks(p.halfA)/4, blocks(p.halfB)/4
	voff := p.fillOffsets(max(nA, nB))
	for h := range 2 {
		p.fA[h] = p.newFill(p.srdA, voff[:nA], h, p.tm/2, h*p.halfA, 2*p.halfA, 2)
		p.fB[h] = p.newFill(p.srdB, voff[:nB], h, p.tn/2, p.placeB+h*p.halfB, 2*p.halfB, 2)
	}
	p.iterate = p.SGPR(1)
	p.SMov(p.iterate, Imm(p.built.LoopTrips))
	for i := range 2 {
		p.a[i], p.b[i] = p.operand(p.mA, p.addrA), p.operand(p.nB, p.addrB)
	}
	for i := range 2 {
		for j := range 2 {
			p.c[i][j] = p.ATile(p.mA, p.nB, 4)
			p.Zero(p.c[i][j])
		}
	}
}

func (p *lowInterleave) fillAll(f *lowFill, buf int) {
	for i := range f.voff {
		p.setM0(f, buf, i)
		p.load(f, i)
	}
	p.advance(f)
}

// lowSource is an operand with the LDS byte it is read from.
type lowSource struct {
	*lowOperand
	off int
}

func (p *lowInterleave) srcA(buf, half int) *lowSource {
	return &lowSource{p.a[half], buf*2*p.halfA + half*p.halfA}
}

func (p *lowInterleave) srcB(buf, half int) *lowSource {
	return &lowSource{p.b[half], buf*2*p.halfB + half*p.halfB}
}

// prologue fills two K tiles and reads the first operands of tile 0.
func (p *lowInterleave) prologue() {
	p.Cluster("prologue", "other")
	for buf := range 2 {
		for _, f := range []*lowFill{p.fA[0], p.fB[0], p.fB[1], p.fA[1]} {
			p.fillAll(f, buf)
		}
	}
	nA, nB := len(p.fA[0].voff), len(p.fB[0].voff)
	p.WaitVM(3*nA + 4*nB)
	p.Barrier()
	p.readAll(p.a[0], p.srcA(0, 0).off)
	p.WaitVM(3*nA + 3*nB)
	p.Barrier()
	p.readAll(p.b[0], p.srcB(0, 0).off)
	p.WaitLGKM(min(p.reads(p.b[0]), noLGKM-1))
	p.moveAll(p.a[0])
}

func (p *lowInterleave) moveAll(o *lowOperand) {
	for i := range o.Rows {
		p.move(o, i)
	}
}

// cluster emits one cluster: c[i][j] += a[i] * b[j]^T with the reads of src and
// the fill f of buffer buf (either nil for none) spread among the matrix
// instructions. late, if not nil, is an operand read a cluster ago whose moves
// go into the second half of this one.
func (p *lowInterleave) cluster(name string, i, j int, src *lowSource, f *lowFill, buf int, late *lowOperand) {
	p.Cluster(name, "compute")
	total := p.f.kSteps * p.mA * p.nB
	read, load, armed, moved := 0, 0, -1, 0
	arm := func() {
		if f != nil && load < len(f.voff) && armed < load {
			p.setM0(f, buf, load)
			armed = load
		}
	}
	freshA, freshB := i == 1 && j == 0, i == 0
	p.mma(p.c[i][j], p.a[i], p.b[j], freshA, freshB, func(n int) {
		arm()
		for f != nil && load < len(f.voff) && n*16 >= loadPlaces[load*4/len(f.voff)]*total {
			arm()
			p.load(f, load)
			load++
		}
		for src != nil && read < p.reads(src.lowOperand) && n*16 >= readPlaces[read*8/p.reads(src.lowOperand)]*total {
			p.read(src.lowOperand, read, src.off)
			read++
		}
		for late != nil && late.temp != nil && moved < late.Rows && (n-1)*8 >= (4+moved)*total || n == total && late != nil && late.temp != nil && moved < late.Rows {
			if moved == 0 {
				p.WaitLGKM(min(read, noLGKM-1))
			}
			p.move(late, moved)
			moved++
		}
	})
	if f != nil {
		p.advance(f)
	}
}

// tile emits the four clusters of the K tile in buffer buf. more says that fills
// go on; vm1 and vm3 are the loads that may be outstanding at the first and the
// third cluster; next says that another tile follows.
func (p *lowInterleave) tile(prefix string, buf, vm1, vm3 int, more, next bool) {
	fill := func(f *lowFill) *lowFill {
		if more {
			return f
		}
		return nil
	}
	p.Cluster(prefix+"w0", "memory")
	p.WaitVM(vm1)
	p.WaitLGKM(0)
	p.Barrier()
	p.cluster(prefix+"c0", 0, 0, p.srcB(buf, 1), fill(p.fA[0]), buf, nil)
	p.Cluster(prefix+"w1", "memory")
	p.WaitLGKM(0)
	p.cluster(prefix+"c1", 0, 1, p.srcA(buf, 1), fill(p.fB[0]), buf, nil)
	p.Cluster(prefix+"w2", "memory")
	if next {
		p.WaitVM(vm3)
	}
	// Before the barrier, for the other waves refill A1 after it (the original
	// waits after the barrier, which leaves that to luck).
	p.WaitLGKM(0)
	var a, b *lowSource
	var late *lowOperand
	if next {
		p.Barrier()
		a, b = p.srcA(1-buf, 0), p.srcB(1-buf, 0)
		late = a.lowOperand
	}
	p.cluster(prefix+"c2", 1, 0, a, fill(p.fB[1]), buf, nil)
	p.cluster(prefix+"c3", 1, 1, b, fill(p.fA[1]), buf, late)
}

// loop emits the body, two K tiles from buffer first on.
func (p *lowInterleave) loop(first int) {
	top := p.Label()
	p.EndCluster()
	p.Place(top)
	p.built.LoopStart = len(p.insts)
	for t := range 2 {
		p.tile(fmt.Sprintf("t%d", t), first^t, p.perTile(), p.perTile(), true, true)
	}
	p.Cluster("branch", "other")
	p.countDown()
	p.Branch(isa.S_CBRANCH_SCC1, top)
	p.built.LoopEnd = len(p.insts)
}
