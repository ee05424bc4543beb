package workloads

import (
	"fmt"
	"math/bits"

	"github.com/whisker-sim/whisker/isa"
)

// lowPingpong is the 8-wave schedule (HipKittens' FP8_8wave): 2 x 4 waves in
// two groups one cluster apart, a K tile per iteration in four pairs of
// clusters, two K tiles on their way. Buffers take turns by an XOR of the
// addresses.
//
// The original refills A0 in the second memory cluster, B0 in the third. At
// the second the other group may still wait for its reads of A0, so the two
// change places here, as in HipKittens' BF16 kernel, where lgkmcnt before the
// first barrier covers B0. The number of instructions is the same.
type lowPingpong struct {
	*lowp
	a      *lowOperand
	b      [2]*lowOperand
	fA, fB [2]*lowFill

	turnBit int // the bit of an LDS address that tells the buffers apart
	// odd says that a half is half a load too few for all waves: waves 0 to 3
	// make one load more than the others (packed FP6; 12 loads a half).
	odd bool
}

func (p *lowPingpong) emit() {
	p.placeB = 2 * p.halfA
	p.turnBit = 1 << bits.Len(uint(p.bufferBytes()-1))
	p.resources(8, p.turnBit+p.bufferBytes(), ldsRequest950)
	p.built.LoopKTiles, p.built.LoopTrips = 1, p.K/p.kTile()-2
	p.setup()
	p.prologue()
	p.loop()
	p.epilogue()
	p.store()
}

func (p *lowPingpong) setup() {
	p.wr, p.wc = p.waveGrid(2)
	p.addresses()
	nA, nB := (blocks(p.halfA)+7)/8, (blocks(p.halfB)+7)/8
	p.odd = blocks(p.halfA)%8 != 0
	voff := p.fillOffsets(max(nA, nB))
	for h := range 2 {
		p.fA[h] = p.newFill(p.srdA, voff[:nA], h, p.tm/2, h*p.halfA, 0, 1)
		p.fB[h] = p.newFill(p.srdB, voff[:nB], h, p.tn/2, p.placeB+h*p.halfB, 0, 1)
	}
	p.iterate = p.SGPR(1)
	p.SMov(p.iterate, Imm(p.built.LoopTrips))
	p.a = p.operand(p.mA, p.addrA)
	p.b = [2]*lowOperand{p.operand(p.nB, p.addrB), p.operand(p.nB, p.addrB)}
	for i := range 2 {
		for j := range 2 {
			p.c[i][j] = p.VTile(p.mA, p.nB, 4)
			p.Zero(p.c[i][j])
		}
	}
}

// fillAll emits the whole fill and turns it to the other buffer.
func (p *lowPingpong) fillAll(f *lowFill) {
	p.setM0(f, 0, 0)
	p.loads(f)
}

// loads emits the loads of a fill whose first M0 is set, and turns it.
func (p *lowPingpong) loads(f *lowFill) {
	p.load(f, 0)
	for i := 1; i < len(f.voff); i++ {
		last := p.odd && i == len(f.voff)-1
		skip := p.Label()
		if last {
			p.SOPC(isa.S_CMP_LT_U32, p.ln.wave, Imm(4))
			p.Branch(isa.S_CBRANCH_SCC0, skip)
		}
		p.setM0(f, 0, i)
		p.load(f, i)
		p.Place(skip)
	}
	p.turn(f)
}

// waitHalves waits for all loads but those of the youngest a halves of A and b
// of B.
func (p *lowPingpong) waitHalves(a, b int) {
	n := a*len(p.fA[0].voff) + b*len(p.fB[0].voff)
	if p.odd && n > 0 {
		// Waves 4 to 7 made a load less for each half.
		first := p.Label()
		p.SOPC(isa.S_CMP_LT_U32, p.ln.wave, Imm(4))
		p.Branch(isa.S_CBRANCH_SCC1, first)
		p.WaitVM(n - a - b)
		p.Place(first)
	}
	p.WaitVM(n)
}

func (p *lowPingpong) turn(f *lowFill) {
	p.advance(f)
	p.SOP2(isa.S_XOR_B32, f.lds[0], f.lds[0], Imm(p.turnBit))
}

// prologue fills K tile 0 and all but A1 of tile 1.
func (p *lowPingpong) prologue() {
	p.Cluster("prologue", "other")
	for _, f := range []*lowFill{p.fB[0], p.fA[0], p.fB[1], p.fA[1]} {
		p.fillAll(f)
	}
	p.stagger(true)
	p.waitHalves(1, 1)
	p.Barrier()
	for _, f := range []*lowFill{p.fB[0], p.fA[0], p.fB[1]} {
		p.fillAll(f)
	}
	p.waitHalves(1, 2)
	p.Barrier()
}

// transfers emits the first half of a memory cluster: reads and the fill f, nil
// for none.
func (p *lowPingpong) transfers(name string, reads func(), f *lowFill) {
	p.Cluster(name, "memory")
	if f != nil {
		p.setM0(f, 0, 0)
	}
	if reads != nil {
		reads()
	}
	if f != nil {
		p.loads(f)
	}
}

// memory emits a memory cluster whose reads are all awaited behind its barrier,
// and all but early (-1 for none) before it.
func (p *lowPingpong) memory(name string, reads func(), f *lowFill, early int) {
	p.transfers(name, reads, f)
	if early >= 0 {
		p.WaitLGKM(early)
	}
	p.Barrier()
	p.WaitLGKM(0)
}

// compute emits a compute cluster on accumulator (i, j).
func (p *lowPingpong) compute(name string, i, j int, freshA, freshB bool) {
	p.Cluster(name, "compute")
	p.SetPrio(1)
	p.mma(p.c[i][j], p.a, p.b[j], freshA, freshB, nil)
	p.SetPrio(0)
	p.Barrier()
}

// turnReads turns the wave's reads to the other buffer.
func (p *lowPingpong) turnReads() {
	for _, v := range append(append([]Val{}, p.addrA...), p.addrB...) {
		p.VXor(v, Imm(p.turnBit), v)
	}
}

// tile emits the four pairs of clusters of a K tile. fills are those of m0 to
// m3, nil for none. next, if not nil, waits for what the next tile reads; SCC
// that it sets holds until after the tile.
func (p *lowPingpong) tile(prefix string, fills [4]*lowFill, next func()) {
	name := func(kind string, n int) string { return fmt.Sprintf("%s%s%d", prefix, kind, n) }
	p.memory(name("m", 0), func() { p.readAll(p.b[0], 0); p.readAll(p.a, 0) }, fills[0], min(p.reads(p.a), noLGKM-1))
	p.compute(name("c", 0), 0, 0, true, true)
	p.memory(name("m", 1), func() { p.readAll(p.b[1], p.halfB) }, fills[1], -1)
	p.compute(name("c", 1), 0, 1, false, true)
	p.memory(name("m", 2), func() { p.readAll(p.a, p.halfA) }, fills[2], -1)
	p.compute(name("c", 2), 1, 0, true, false)
	p.transfers(name("m", 3), nil, fills[3])
	if next != nil {
		p.turnReads()
		next()
	}
	p.Barrier()
	p.compute(name("c", 3), 1, 1, false, false)
}

// loop emits the body, K tile t; it fills A1 of t+1 and the rest of t+2.
func (p *lowPingpong) loop() {
	top := p.Label()
	p.EndCluster()
	p.Place(top)
	p.built.LoopStart = len(p.insts)
	p.tile("", [4]*lowFill{p.fA[1], p.fB[0], p.fA[0], p.fB[1]}, func() {
		p.waitHalves(1, 2)
		p.countDown()
	})
	p.Branch(isa.S_CBRANCH_SCC1, top)
	p.built.LoopEnd = len(p.insts)
}

// epilogue emits the last two K tiles. Only A1 of the last one is still to
// load, in the first cluster.
func (p *lowPingpong) epilogue() {
	p.tile("e0", [4]*lowFill{p.fA[1]}, func() { p.waitHalves(0, 0) })
	p.tile("e1", [4]*lowFill{}, nil)
	p.Cluster("rejoin", "other")
	p.stagger(false)
}
