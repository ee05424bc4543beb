package workloads

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/isa"
)

// MBarrierHandshake is how producers and consumers meet on a machine with barrier
// objects: each stage of LDS has one that says it is full and one that says it
// is empty.
const MBarrierHandshake = "mbarrier"

// ParseFeatures reads a list of features: names of the machine file's switches
// without "features.", or all, or none.
func ParseFeatures(list string) (set isa.Features, err error) {
	if list == "" || list == "none" {
		return 0, nil
	}
	for _, name := range strings.Split(list, ",") {
		f, ok := isa.FeatureNamed(strings.TrimSpace(name))
		if !ok {
			return 0, fmt.Errorf("gemm: unknown feature %q; there are %s, and none", name, strings.Join(isa.FeatureNames(), ", "))
		}
		set |= f
	}
	return set, nil
}

// featureNames lists a set as ParseFeatures reads it.
func featureNames(set isa.Features) string {
	names := set.Leaves()
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], "features.")
	}
	return strings.Join(names, ",")
}

func (s *Spec) has(f isa.Features) bool { return s.Features&f != 0 }

// largeTile reports whether a consumer can hold twice the rows: with operands
// straight from LDS it needs no registers for them, and with registers that
// move it gets those of the producers.
func (s *Spec) largeTile() bool {
	return s.has(isa.DynamicRegisters|isa.MFMALDSOperands) && s.Consumers == 8
}

// largeShare reports whether an equal share of a bigger register file is enough
// for a consumer of twice the rows.
func (s *Spec) largeShare() bool {
	return s.Schedule == ProducerConsumer && s.Consumers == 8 && s.registersPerWave(s.Producers+s.Consumers) >= pcRegisters(2*pcRows)
}

// chooseFeatures settles what follows from the features that a kernel uses.
func (p *plan) chooseFeatures() error {
	if p.Features == 0 {
		return nil
	}
	if p.Schedule != ProducerConsumer {
		return fmt.Errorf("gemm: --features is an option of schedule %s; schedule %s uses none", ProducerConsumer, p.Schedule)
	}
	if p.has(isa.MBarrier) {
		switch p.Handshake {
		case "":
			p.Handshake = MBarrierHandshake
		case MBarrierHandshake:
		default:
			return fmt.Errorf("gemm: with the feature mbarrier producers and consumers meet at barrier objects; leave out --handshake %s", p.Handshake)
		}
	} else if p.Handshake == AtomicHandshake {
		return fmt.Errorf("gemm: --handshake %s has no form with --features; leave one of them out", p.Handshake)
	}
	return nil
}

// room is the LDS that a kernel may use: the machine's, and no less than the
// CPU's own, beyond which fitLDS says what fits.
func (p *plan) room() int { return max(p.LDSRoom, ldsBytes(p.cpu)) }

// consumerRows is the rows of C of a consumer.
func (p *plan) consumerRows() int {
	var rows, cols int
	if n, _ := fmt.Sscanf(p.Tile, "%dx%d", &rows, &cols); n == 2 && cols == 256 && rows == p.Consumers/4*2*pcRows && (p.largeTile() || p.largeShare()) {
		return 2 * pcRows
	}
	if p.Tile == "" && p.largeTile() {
		return 2 * pcRows
	}
	return pcRows
}

// The barrier objects of the mbarrier handshake, behind the stages.
func (p *specialist) fullBar(s int) int  { return p.Stages*p.stage + s*isa.MBarBytes }
func (p *specialist) emptyBar(s int) int { return p.fullBar(p.Stages + s) }

// ext emits an extension.
func (b *Builder) ext(in isa.Inst) int {
	in.Enc = isa.EXT
	return b.Emit(in)
}

// setupBars emits wave 0's set-up of the barrier objects. A stage is full when
// all copies have arrived, or all producers whose loads are over.
func (p *specialist) setupBars() {
	p.parity = p.SGPR(1)
	skip := p.Label()
	p.SOPC(isa.S_CMP_LG_U32, p.ln.wave, Imm(0))
	p.Branch(isa.S_CBRANCH_SCC1, skip)
	full := p.Producers
	if p.has(isa.TileCopy) {
		full = 2 * p.Producers // A and B
	}
	for s := range p.Stages {
		p.ext(isa.Inst{Op: isa.X_MBAR_INIT, Offset: int32(p.fullBar(s)), Offset1: uint8(full)})
		p.ext(isa.Inst{Op: isa.X_MBAR_INIT, Offset: int32(p.emptyBar(s)), Offset1: uint8(p.Consumers)})
	}
	p.Place(skip)
	p.Barrier()
}

func (p *specialist) arriveAt(bar int) {
	p.ext(isa.Inst{Op: isa.X_MBAR_ARRIVE, Offset: int32(bar)})
}

func (p *specialist) waitAt(bar int) {
	p.ext(isa.Inst{Op: isa.X_MBAR_WAIT, Offset: int32(bar), Src: [4]isa.Operand{p.parity.Operand}})
}

// nextUse turns the parity when the stages have been gone around.
func (p *specialist) nextUse(s int) {
	if s == p.Stages-1 {
		p.SOP2(isa.S_XOR_B32, p.parity, p.parity, Imm(1))
	}
}

// produceBars emits the producers' side of the mbarrier handshake: a stage is
// filled when it is empty. Without the copy engine a producer arrives once its
// loads are over.
func (p *specialist) produceBars() {
	p.SMov(p.parity, Imm(1)) // the stages are empty at first
	fill := func(name string, s int) {
		p.Cluster(name, "memory")
		p.waitAt(p.emptyBar(s))
		p.fillStage(s)
		p.nextUse(s)
	}
	trips, rest, _ := p.trips()
	if p.has(isa.TileCopy) {
		p.repeat("p", trips, rest, fill)
		return
	}
	p.repeat("p", trips, rest, func(name string, s int) {
		fill(name, s)
		p.WaitVM(0)
		p.arriveAt(p.fullBar(s))
	})
}

func (p *specialist) stageBefore(s int) int { return (s + p.Stages - 1) % p.Stages }

// around is repeat with the first K tile ahead of the loop, so that every tile
// in the loop has one behind.
func (p *specialist) around(prefix string, trips, rest int, body func(name string, stage int, first bool)) (start, end int) {
	body(prefix+"first", 0, true)
	if trips > 1 {
		p.SMov(p.left, Imm(trips-1))
		top := p.Label()
		p.EndCluster()
		p.Place(top)
		start = len(p.insts)
		for i := range p.Stages {
			s := (i + 1) % p.Stages
			body(fmt.Sprintf("%s%d", prefix, s), s, false)
		}
		p.SOP2(isa.S_SUB_U32, p.left, p.left, Imm(1))
		p.SOPC(isa.S_CMP_LG_U32, p.left, Imm(0))
		p.Branch(isa.S_CBRANCH_SCC1, top)
		end = len(p.insts)
	}
	for i := 1; i < p.Stages+rest; i++ {
		body(fmt.Sprintf("%slast%d", prefix, i), i%p.Stages, false)
	}
	return start, end
}

// consumeBars emits the consumers' side of the mbarrier handshake.
func (p *specialist) consumeBars(trips, rest int) (start, end int) {
	p.SMov(p.parity, Imm(0))
	full := func(name string, s int) {
		p.Cluster(name+"full", "memory")
		p.waitAt(p.fullBar(s))
		p.nextUse(s)
	}
	if !p.has(isa.MFMALDSOperands) {
		return p.repeat("", trips, rest, func(name string, s int) {
			full(name, s)
			p.step(name, s, func() { p.arriveAt(p.emptyBar(s)) })
		})
	}
	start, end = p.around("", trips, rest, func(name string, s int, first bool) {
		full(name, s)
		p.blocks(name, s)
		if !first { // with the blocks of the K tile before over, its stage is empty
			p.ext(isa.Inst{Op: isa.X_MMA_WAIT, Offset: 2})
			p.arriveAt(p.emptyBar(p.stageBefore(s)))
		}
	})
	p.ext(isa.Inst{Op: isa.X_MMA_WAIT})
	p.built.LoopTrips = trips - 1
	return start, end
}

// blocks emits the block multiplies of a consumer's K tile, operands straight
// from LDS.
func (p *specialist) blocks(name string, s int) {
	p.Cluster(name+"c", "compute")
	op := isa.X_MMA_F32_16X16X32_BF16
	if p.fp16 {
		op = isa.X_MMA_F32_16X16X32_F16
	}
	c := p.whole
	p.SetPrio(1)
	for k := range 2 {
		p.ext(isa.Inst{Op: op, Dst: c.Base.Operand, Src: [4]isa.Operand{p.addrA[0].addr.Operand, p.addrB[0].addr.Operand, c.Base.Operand},
			Offset: int32(s*p.stage + k*1024), Literal: uint32(s*p.stage + k*1024), Offset1: isa.BlockShape(c.Rows, c.Cols)})
	}
	p.SetPrio(0)
}

// copyStage emits a producer's tile copies of the next K tile into stage s: its
// quarter of the rows of A and of B.
func (p *specialist) copyStage(s int) {
	signal := isa.TileCopyCounted
	if p.has(isa.MBarrier) {
		signal = uint32(p.fullBar(s))
	}
	for i, o := range [2]struct {
		srd, off, lds Val
		rows          int
	}{{p.srdA, p.copyOff[0], p.copyLDS[0], p.tm}, {p.srdB, p.copyOff[1], p.copyLDS[1], p.tn}} {
		at := p.s.At(i, 1)
		p.SAdd(at, o.lds, Imm(s*p.stage))
		p.ext(isa.Inst{Op: isa.X_TILE_COPY, Src: [4]isa.Operand{o.srd.Operand, o.off.Operand, at.Operand, p.stride.Operand},
			Offset: int32(o.rows / p.Producers), Literal: signal})
	}
	for i := range p.copyOff {
		p.SAdd(p.copyOff[i], p.copyOff[i], Imm(kBytes))
	}
}

// setupCopies emits where a producer's quarters begin in memory and in LDS.
func (p *specialist) setupCopies() {
	for i, rows := range [2]int{p.tm / p.Producers, p.tn / p.Producers} {
		p.copyOff[i], p.copyLDS[i] = p.SGPR(1), p.SGPR(1)
		p.SMul(p.copyOff[i], p.quad, Imm(rows))
		p.SMul(p.copyOff[i], p.copyOff[i], p.stride)
		p.SMul(p.copyLDS[i], p.quad, Imm(rows*isa.TileRowBytes))
	}
	p.SAdd(p.copyLDS[1], p.copyLDS[1], Imm(p.tm*isa.TileRowBytes))
}

// holds emits x_set_registers; how many is known when the role's code is.
func (p *specialist) holds() int {
	if !p.has(isa.DynamicRegisters) {
		return -1
	}
	return p.ext(isa.Inst{Op: isa.X_SET_REGISTERS})
}

// settleRegisters fills in what each role holds: producers give up what they do
// not need of an equal share, and consumers take it.
func (p *specialist) settleRegisters(producer, consumer, produced, consumed int) {
	if producer < 0 {
		return
	}
	produced, consumed = roundUp(max(produced, 1), regGranule), roundUp(consumed, regGranule)
	p.insts[producer].Offset, p.insts[consumer].Offset = int32(produced), int32(consumed)
	k := p.built.Launch.Kernel
	k.StartRegisters = min(p.registersPerWave(p.Producers+p.Consumers), consumed)
	k.WaveRegisters = make([]int, p.Producers+p.Consumers)
	for i := range k.WaveRegisters {
		k.WaveRegisters[i] = consumed
		if i < p.Producers {
			k.WaveRegisters[i] = produced
		}
	}
}

// dynamicBudget refuses roles that a SIMD cannot hold together.
func (g *gemm) dynamicBudget() error {
	sum := make([]int, simds)
	for i, n := range g.built.Launch.Kernel.WaveRegisters {
		sum[i%simds] += n
	}
	for _, n := range sum {
		if n > g.registers() {
			return fmt.Errorf("gemm: the %s tile of schedule %s needs %d registers of a SIMD for its producers and consumers together, and there are %d", g.Tile, g.Schedule, n, g.registers())
		}
	}
	return nil
}
