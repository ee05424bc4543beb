package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// specialist is the producer-consumer schedule on gfx950: waves 0-3 load, the
// others compute 64x64 of C each. Consumer c takes block c/4 of A and block c%4
// of B, blocks of 64 rows that LDS holds as two halves of 32 rows (4 KiB, one
// load of each producer). A stage of LDS is one K tile.
//
// With the barrier handshake everyone meets after every K tile; with lds-atomic
// the two roles meet through flags in LDS (see flags.go).
type specialist struct {
	*gemm
	groups int // of four consumers
	stage  int // bytes
	tiles  int // K tiles

	quad  Val // SGPR: wave within its group of four
	lds   Val // SGPR: quad*1024
	soff  Val // SGPR: byte offset of the next K tile to load
	voff  []Val
	fall  *waterfall // where the descriptors are in VGPRs
	desc  [2]Val     // VGPR, 4 each: those of A and B
	row   Val        // SGPR: a consumer's block of A
	addrA [3]ldsPlace
	addrB [3]ldsPlace
	a     RegTile
	b     [2]RegTile
	c     [][2]RegTile // by half of the rows
	whole RegTile      // of c, where blocks are multiplied
	left  Val          // SGPR: iterations left
	flags flags

	parity  Val    // SGPR: of the use of a stage, in the mbarrier handshake
	copyOff [2]Val // SGPR: a producer's next tile copies of A and B: in memory,
	copyLDS [2]Val // and in LDS
}

// ldsPlace is an LDS address: a VGPR and what to add to it.
type ldsPlace struct {
	addr Val
	off  int
}

// producerConsumer emits the kernel.
func (g *gemm) producerConsumer() {
	p := &specialist{gemm: g, groups: g.Consumers / 4, stage: g.stageBytes(), tiles: g.K / 64}
	used := p.stage*g.Stages + g.flagBytes()
	g.resources(g.Producers+g.Consumers, used, max(ldsRequest950, used))
	p.setup()
	consume, own := p.Label(), p.nextV
	p.SOPC(isa.S_CMP_LT_U32, p.ln.wave, Imm(g.Producers))
	p.Branch(isa.S_CBRANCH_SCC0, consume)
	producer := p.holds()
	p.fillOffsets()
	p.produce()
	p.SOPP(isa.S_ENDPGM, 0)
	p.Place(consume)
	consumer := p.holds()
	most := p.nextV
	p.nextV = own // the roles do not share registers
	p.operands()
	if p.Handshake == BarrierHandshake && p.Stages == 3 {
		p.firstFill()
	}
	p.consume()
	p.store()
	p.settleRegisters(producer, consumer, most, p.nextV)
	p.nextV = max(p.nextV, most)
	if p.has(isa.DynamicRegisters) {
		p.nextV = roundUp(p.nextV, regGranule)
	}
}

func (p *specialist) setup() {
	p.quad, p.lds, p.soff, p.left = p.SGPR(1), p.SGPR(1), p.SGPR(1), p.SGPR(1)
	p.SOP2(isa.S_AND_B32, p.quad, p.ln.wave, Imm(3))
	p.SOP2(isa.S_LSHL_B32, p.lds, p.quad, Imm(10))
	p.SMov(p.soff, Imm(0))
	trips, _, _ := p.trips()
	p.SMov(p.left, Imm(trips))
	p.built.LoopKTiles, p.built.LoopTrips = p.Stages, trips
	if p.has(isa.TileCopy) {
		p.setupCopies()
	}
	switch p.Handshake {
	case AtomicHandshake:
		p.setupFlags()
	case MBarrierHandshake:
		p.setupBars()
	}
}

// trips divides the K tiles: those of the loop's iterations, one tile per stage,
// the tiles after it that still have a fill, and those that have none.
func (p *specialist) trips() (trips, rest, tail int) {
	n := p.tiles
	if p.Handshake == BarrierHandshake {
		tail = p.Stages - 1 // filled ahead
		n -= tail
	}
	return n / p.Stages, n % p.Stages, tail
}

// fillOffsets emits what a lane fetches of each half block: the blocks of A and
// of B are alike.
func (p *specialist) fillOffsets() {
	if p.has(isa.TileCopy) {
		return
	}
	if p.Descriptors == descriptorVGPR {
		if p.fall == nil {
			p.fall = p.newWaterfall()
		}
		p.desc = [2]Val{p.toVGPRs(p.srdA), p.toVGPRs(p.srdB)}
	}
	ln := p.ln
	ln.wave = p.quad
	p.voff = []Val{p.VGPR(1)}
	p.fillBase(ST16x32, ln, p.stride, p.voff[0], p.t.At(0, 1), p.s.At(0, 1))
	p.SMul(p.s.At(0, 1), p.stride, Imm(32))
	for i := 1; i < max(p.tm/32, 8); i++ {
		p.voff = append(p.voff, p.VGPR(1))
		p.VAdd(p.voff[i], p.s.At(0, 1), p.voff[i-1])
	}
}

// fillStage emits the loads of the next K tile into stage s.
func (p *specialist) fillStage(s int) {
	if p.has(isa.TileCopy) {
		p.copyStage(s)
		return
	}
	halves := p.tm / 32
	for i := range halves + 8 {
		p.SAdd(m0, p.lds, Imm(s*p.stage+i*pcTileBytes))
		voff, srd, of := p.voff[i%halves], p.srdA, 0
		if i >= halves {
			voff, srd, of = p.voff[i-halves], p.srdB, 1
		}
		if p.fall == nil {
			p.BufferLoadLDS(voff, srd, p.soff)
			continue
		}
		p.Waterfall(p.fall, p.desc[of], func() { p.BufferLoadLDS(voff, p.fall.srd, p.soff) })
	}
	p.SAdd(p.soff, p.soff, Imm(kBytes))
}

// repeat emits a loop of trips iterations over the stages and then the rest of
// the tiles. body gets a name and the stage; it may not keep SCC. It returns the
// instructions of the loop.
func (p *specialist) repeat(prefix string, trips, rest int, body func(name string, stage int)) (start, end int) {
	if trips > 0 {
		top := p.Label()
		p.EndCluster()
		p.Place(top)
		start = len(p.insts)
		for s := range p.Stages {
			body(fmt.Sprintf("%s%d", prefix, s), s)
		}
		p.SOP2(isa.S_SUB_U32, p.left, p.left, Imm(1))
		p.SOPC(isa.S_CMP_LG_U32, p.left, Imm(0))
		p.Branch(isa.S_CBRANCH_SCC1, top)
		end = len(p.insts)
	}
	for s := range rest {
		body(fmt.Sprintf("%srest%d", prefix, s), s)
	}
	return start, end
}

// produce emits the producers' side.
func (p *specialist) produce() {
	switch p.Handshake {
	case AtomicHandshake:
		p.produceFlags()
		return
	case MBarrierHandshake:
		p.produceBars()
		return
	}
	p.Cluster("first fill", "memory")
	ahead := p.Stages - 1
	if ahead == 2 { // consumers fill tile 0
		p.SMov(p.soff, Imm(kBytes))
		if p.has(isa.TileCopy) {
			for i := range p.copyOff {
				p.SAdd(p.copyOff[i], p.copyOff[i], Imm(kBytes))
			}
		}
	}
	p.fillStage(ahead - 1)
	p.Wait(0, 0)
	p.Barrier()
	trips, rest, _ := p.trips()
	p.repeat("p", trips, rest, func(name string, s int) {
		p.Cluster(name, "memory")
		p.fillStage((s + ahead) % p.Stages)
		p.Wait(0, 0)
		p.Barrier()
	})
}

// firstFill emits the fill of K tile 0 by the first four consumers, while the
// producers fill tile 1.
func (p *specialist) firstFill() {
	skip := p.Label()
	p.Cluster("consumers fill", "memory")
	p.SOPC(isa.S_CMP_LT_U32, p.ln.wave, Imm(8))
	p.Branch(isa.S_CBRANCH_SCC0, skip)
	keep := p.nextV
	p.nextV = p.nextV - 16*4 // offsets in the accumulators, which are cleared later
	p.fillOffsets()
	p.nextV = keep
	p.fillStage(0)
	p.WaitVM(0)
	p.Place(skip)
}

// operands places a consumer's tiles and addresses.
func (p *specialist) operands() {
	p.Cluster("operands", "other")
	base := p.t.At(0, 1)
	p.row = p.SGPR(1)
	p.SOP2(isa.S_LSHR_B32, p.row, p.ln.wave, Imm(2))
	p.SOP2(isa.S_SUB_U32, p.row, p.row, Imm(1))
	p.readBase(ST16x32, p.ln, base, p.t.At(1, 1), p.broken)
	addrA := p.ldsAddr(base, p.row, p.tm/p.groups*kBytes, 0)
	addrB := p.ldsAddr(base, p.quad, 2*pcTileBytes, p.tm*kBytes)
	p.c = make([][2]RegTile, p.tm/p.groups/32)
	if p.has(isa.MFMALDSOperands) {
		p.addrA[0], p.addrB[0] = ldsPlace{addr: addrA}, ldsPlace{addr: addrB}
		p.whole = p.VTile(2*len(p.c), 4, 4)
		return
	}
	p.addrA, p.addrB = p.places(addrA), p.places(addrB)
	p.a = p.VTile(2, 2, 4)
	for i := range 2 {
		p.b[i] = p.VTile(2, 2, 4)
	}
	for i := range p.c {
		for j := range 2 {
			p.c[i][j] = p.VTile(2, 2, 4)
		}
	}
}

// places are the addresses of the stages: offsets from the first where 16 bits
// reach.
func (p *specialist) places(addr Val) (pl [3]ldsPlace) {
	for s := range p.Stages {
		pl[s] = ldsPlace{addr, s * p.stage}
		if s*p.stage+p.tm/p.groups/32*pcTileBytes > 1<<16 {
			pl[s] = ldsPlace{p.VGPR(1), 0}
			p.SMov(p.s.At(0, 1), Imm(s*p.stage))
			p.VAdd(pl[s].addr, p.s.At(0, 1), addr)
		}
	}
	return pl
}

// read emits the four reads of half h of a block.
func (p *specialist) read(t RegTile, at ldsPlace, h int) {
	for i := range 2 {
		for k := range 2 {
			p.DSRead(isa.DS_READ_B128, t.At(i, k), at.addr, at.off+h*pcTileBytes+(i*2+k)*1024)
		}
	}
}

// multiply emits the matrix instructions of half h of A with halves of B, under
// raised priority.
func (p *specialist) multiply(name string, h int, halves ...int) {
	p.Cluster(name, "compute")
	p.SetPrio(1)
	for _, j := range halves {
		p.mma(p.mfma, p.c[h][j], p.a, p.b[j], nil)
	}
	p.SetPrio(0)
}

// consume emits the consumers' side up to the last K tile.
func (p *specialist) consume() {
	p.Zero(p.whole)
	for i := range p.c {
		for j := range p.c[i] {
			p.Zero(p.c[i][j])
		}
	}
	trips, rest, tail := p.trips()
	switch p.Handshake {
	case AtomicHandshake:
		p.built.LoopStart, p.built.LoopEnd = p.repeat("", trips, rest, p.consumeFlags)
		return
	case MBarrierHandshake:
		p.built.LoopStart, p.built.LoopEnd = p.consumeBars(trips, rest)
		return
	}
	p.Barrier()
	p.built.LoopStart, p.built.LoopEnd = p.repeat("", trips, rest, func(name string, s int) {
		p.step(name, s, nil)
		if p.Stages == 3 {
			p.WaitVM(0)
		}
		p.Barrier()
	})
	for i := range tail {
		p.step(fmt.Sprintf("tail%d", i), (rest+i)%p.Stages, nil)
	}
}

// step emits a consumer's K tile; read, if not nil, runs when all of it has been
// read. The reads of A go half by half of its 32 rows, the next one after the
// multiplies of the one before.
func (p *specialist) step(name string, s int, read func()) {
	if p.has(isa.MFMALDSOperands) {
		p.blocks(name, s)
		p.ext(isa.Inst{Op: isa.X_MMA_WAIT})
		return
	}
	p.Cluster(name+"m0", "memory")
	p.read(p.b[0], p.addrB[s], 0)
	p.read(p.a, p.addrA[s], 0)
	p.WaitLGKM(0)
	p.multiply(name+"c0", 0, 0)
	p.Cluster(name+"m1", "memory")
	p.read(p.b[1], p.addrB[s], 1)
	p.WaitLGKM(0)
	p.multiply(name+"c1", 0, 1)
	for h := 1; h < len(p.c); h++ {
		p.Cluster(fmt.Sprintf("%sm%d", name, h+1), "memory")
		p.read(p.a, p.addrA[s], h)
		p.WaitLGKM(0)
		if read != nil && h == len(p.c)-1 {
			read()
		}
		p.multiply(fmt.Sprintf("%sc%d", name, h+1), h, 0, 1)
	}
}

// store emits the stores of a consumer.
func (p *specialist) store() {
	var blocks []rowBlock
	for h := range p.c {
		for i := range 2 {
			blk := rowBlock{row: h*32 + i*16}
			for j := range 2 {
				for n := range 2 {
					acc := p.c[h][j].At(i, n)
					if p.has(isa.MFMALDSOperands) {
						acc = p.whole.At(2*h+i, 2*j+n)
					}
					blk.acc = append(blk.acc, acc)
					blk.cols = append(blk.cols, j*32+n*16)
				}
			}
			blocks = append(blocks, blk)
		}
	}
	p.gemm.store(p.row, p.quad, p.tm/p.groups, pcRows, 16, blocks)
}
