package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// pingpong192 emits the 192x256 tile of the 8-wave schedule on gfx950. A half of
// A is 96 rows, twelve blocks of 1 KiB: one load of each wave and a second one
// of waves 0-3 only. HipKittens has two versions: v1 drains vmcnt in every K
// tile, v2 leaves loads in flight.
func (g *gemm) pingpong192() {
	p := &pingpong{gemm: g, mA: 3, nB: 2, halfA: g.tm * 64, halfB: g.tn * 64}
	g.resources(8, 4*(p.halfA+p.halfB), ldsRequest950)
	g.built.LoopKTiles, g.built.LoopTrips = 2, (g.K/64-2)/2
	p.setup()
	p.low, p.saved = p.SGPR(2), p.SGPR(2)
	p.SOPC(isa.S_CMP_LT_U32, p.ln.wave, Imm(4))
	p.SOP2(isa.S_CSELECT_B64, p.low, Imm(-1), Imm(0))
	p.prologue192()
	p.loop192()
	p.epilogue192()
	p.store()
}

// partial reports a load that only waves 0-3 have: the second of a half of A.
func (p *pingpong) partial(f *fill, i int) bool { return p.tm == 192 && f.srd == p.srdA && i == 1 }

// more emits load i > 0 of a fill. Waves without one branch around it on an
// empty EXEC, as code compiled from a condition on the thread number does.
func (p *pingpong) more(f *fill, buf, i int) {
	if !p.partial(f, i) {
		p.SetM0(f.lds[buf][i])
		f.load(p.Builder, i)
		return
	}
	skip := p.Label()
	p.SOP1(isa.S_AND_SAVEEXEC_B64, p.saved, p.low)
	p.Branch(isa.S_CBRANCH_EXECZ, skip)
	p.SetM0(f.lds[buf][i])
	f.load(p.Builder, i)
	p.Place(skip)
	p.SOP2(isa.S_OR_B64, execReg, execReg, p.saved)
}

// execReg is the mask of active lanes.
var execReg = reg(isa.ExecLo, 2)

// fillHalf emits the whole fill of a half tile.
func (p *pingpong) fillHalf(f *fill, buf int) {
	p.SetM0(f.lds[buf][0])
	f.load(p.Builder, 0)
	for i := 1; i < len(f.voff); i++ {
		p.more(f, buf, i)
	}
	f.advance(p.Builder, kBytes)
}

// pick is v1's or v2's value.
func (p *pingpong) pick(v1, v2 int) int {
	if p.Variant == variant1 {
		return v1
	}
	return v2
}

// prologue192 fills K tile 0 and all but A1 of tile 1. B0 and A0 of tile 0 are
// read by waves 0-3 once waves 4-7 have passed their first wait: of the six loads
// of those waves it leaves three (the original leaves four, to luck).
func (p *pingpong) prologue192() {
	p.Cluster("prologue", "other")
	p.fillHalf(&p.fB[0], 0)
	p.fillHalf(&p.fA[0], 0)
	p.fillHalf(&p.fB[1], 0)
	p.fillHalf(&p.fA[1], 0)
	p.stagger(true)
	p.WaitVM(p.pick(0, 3))
	p.Barrier()
	p.fillHalf(&p.fB[0], 1)
	p.fillHalf(&p.fA[0], 1)
	p.fillHalf(&p.fB[1], 1)
	p.WaitVM(p.pick(0, 6))
	p.Barrier()
}

// tile192 emits the four pairs of clusters of the K tile in buffer buf. fills
// says which of A1 of the next tile, and B0, A0 and B1 of the one after it, are
// still to load; vm0, vm1 and vm3 are the loads that may be outstanding at the
// clusters m0, m1 and m3, -1 for no wait. last runs before the last wait. Before
// m0's barrier the reads of B0 must be over, for waves 0-3 refill it in the next
// cluster: of ten reads that leaves the six of A0 (v2 of the original leaves
// eight, to luck).
func (p *pingpong) tile192(prefix string, buf int, fills [4]bool, vm0, vm1, vm3 int, last func()) {
	fill := func(i int, f *fill) *fill {
		if fills[i] {
			return f
		}
		return nil
	}
	next, name := 1-buf, func(kind string, i int) string { return fmt.Sprintf("%s%s%d", prefix, kind, 4*buf+i) }
	p.memory(name("m", 0), func() { p.readB(buf, 0); p.readA(buf, 0) }, fill(0, &p.fA[1]), next, vm0, p.pick(0, 6), true)
	p.compute(name("c", 0), 0, 0)
	p.memory(name("m", 1), func() { p.readB(buf, 1) }, fill(1, &p.fB[0]), buf, vm1, -1, true)
	p.compute(name("c", 1), 0, 1)
	p.memory(name("m", 2), func() { p.readA(buf, 1) }, fill(2, &p.fA[0]), buf, -1, -1, true)
	p.compute(name("c", 2), 1, 0)
	p.transfers(name("m", 3), nil, fill(3, &p.fB[1]), buf)
	if last != nil {
		last()
	}
	p.meet(vm3, -1, false)
	p.compute(name("c", 3), 1, 1)
}

// loop192 emits the body, two K tiles.
//
// In v2 vmcnt(6) covers A1 of the next tile in waves 0-3, which have eight loads
// a K tile, but not in waves 4-7, which have six. The original leaves that to
// time: those loads are six clusters old when their data is read. To make it
// certain m1 waits for all but eight, which in either group covers A1 and no
// load younger than four clusters; it costs one issue slot.
func (p *pingpong) loop192() {
	top := p.Label()
	p.EndCluster()
	p.Place(top)
	p.built.LoopStart = len(p.insts)
	all := [4]bool{true, true, true, true}
	p.tile192("", 0, all, -1, p.pick(-1, 8), p.pick(0, 6), nil)
	p.tile192("", 1, all, -1, p.pick(-1, 8), p.pick(0, 6), func() {
		p.SOP2(isa.S_SUB_U32, p.iterate, p.iterate, Imm(1))
		p.SOPC(isa.S_CMP_LG_U32, p.iterate, Imm(0))
	})
	p.Branch(isa.S_CBRANCH_SCC1, top)
	p.built.LoopEnd = len(p.insts)
}

// epilogue192 emits the last two K tiles: only A1 of the last is still to load.
// The waits are those that waves 4-7, with fewer loads, need.
func (p *pingpong) epilogue192() {
	p.tile192("e", 0, [4]bool{true}, -1, p.pick(-1, 6), p.pick(0, 3), nil)
	p.tile192("e", 1, [4]bool{}, p.pick(-1, 1), p.pick(-1, 0), -1, nil)
	p.Cluster("rejoin", "other")
	p.stagger(false)
}
