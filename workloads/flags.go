package workloads

import "github.com/whisker-sim/whisker/isa"

// flags are the LDS words of the lds-atomic handshake, one of each per stage:
//
//	ready  K tiles that producers have published in the stage, by number from 1
//	done   consumers that have finished with the stage, over all its tiles
//	count  producers whose loads are over, over all its tiles
//
// A producer waits on done until its stage is free, loads, adds to count, waits
// for the other producers, and wave 0 publishes the tile by exchanging ready. A
// consumer waits on ready, computes and adds to done.
type flags struct {
	addr Val // VGPR: LDS address of the flags
	word Val // VGPR: a flag read
	data Val // VGPR: what to add or publish
	seen Val // SGPR
	tile Val // SGPR: number of the K tile, from 1
	need Val // SGPR: what done or count must reach
}

// Places of the flags of stage s.
func (p *specialist) readyFlag(s int) int { return 4 * s }
func (p *specialist) doneFlag(s int) int  { return 4 * (p.Stages + s) }
func (p *specialist) countFlag(s int) int { return 4 * (2*p.Stages + s) }

// setupFlags clears the flags; a barrier makes that known.
func (p *specialist) setupFlags() {
	f := &p.flags
	f.addr, f.word, f.data = p.VGPR(1), p.VGPR(1), p.VGPR(1)
	f.seen, f.tile, f.need = p.SGPR(1), p.SGPR(1), p.SGPR(1)
	p.SMov(p.s.At(0, 1), Imm(p.Stages*p.stage))
	p.VShl(f.word, p.ln.lane, 2)
	p.VAdd(f.addr, p.s.At(0, 1), f.word)
	p.VOP1(isa.V_MOV_B32, f.data, Imm(0))
	skip := p.Label()
	p.SOPC(isa.S_CMP_LG_U32, p.ln.wave, Imm(0))
	p.Branch(isa.S_CBRANCH_SCC1, skip)
	p.lanesOn(1<<(3*p.Stages) - 1)
	p.DSWrite(isa.DS_WRITE_B32, f.addr, f.data, 0)
	p.WaitLGKM(0)
	p.lanesOn(-1)
	p.Place(skip)
	p.Barrier()
	p.VOP1(isa.V_MOV_B32, f.addr, p.s.At(0, 1)) // the same for all lanes from here
	p.VOP1(isa.V_MOV_B32, f.data, Imm(1))
	p.SMov(f.tile, Imm(0))
	p.SMov(f.need, Imm(0))
}

// lanesOn sets EXEC; of the flags only lane 0's copy is used.
func (p *specialist) lanesOn(mask int) { p.SOP1(isa.S_MOV_B64, execReg, Imm(mask)) }

// spin emits a loop that reads a flag until it has reached want, with one lane
// on.
func (p *specialist) spin(flag int, want Val) {
	f := &p.flags
	again, reached := p.Label(), p.Label()
	p.Place(again)
	p.DSRead(isa.DS_READ_B32, f.word, f.addr, flag)
	p.WaitLGKM(0)
	p.VOP1(isa.V_READFIRSTLANE_B32, f.seen, f.word)
	p.SOPC(isa.S_CMP_GE_U32, f.seen, want)
	p.Branch(isa.S_CBRANCH_SCC1, reached)
	p.SOPP(isa.S_SLEEP, 0)
	p.Branch(isa.S_BRANCH, again)
	p.Place(reached)
}

// produceFlags emits the producers' side. The original publishes a K tile while
// four loads of each producer are still under way, which leaves the consumers'
// last operands to luck; that is v1, and v2 waits for all.
func (p *specialist) produceFlags() {
	f := &p.flags
	left := 0
	if p.Variant == variant1 {
		left = 4
	}
	trips, rest, _ := p.trips()
	count := p.SGPR(1)
	p.SMov(count, Imm(0))
	p.repeat("p", trips, rest, func(name string, s int) {
		p.Cluster(name, "memory")
		p.lanesOn(1)
		p.spin(p.doneFlag(s), f.need)
		p.lanesOn(-1)
		p.fillStage(s)
		p.SAdd(f.tile, f.tile, Imm(1))
		if s == 0 {
			p.SAdd(count, count, Imm(p.Producers))
		}
		p.WaitVM(left)
		p.lanesOn(1)
		p.DSWrite(isa.DS_ADD_U32, f.addr, f.data, p.countFlag(s))
		p.spin(p.countFlag(s), count)
		p.publish(s)
		p.lanesOn(-1)
		if s == p.Stages-1 {
			p.SAdd(f.need, f.need, Imm(p.Consumers))
		}
	})
}

// publish emits wave 0's exchange of the ready flag.
func (p *specialist) publish(s int) {
	f := &p.flags
	skip := p.Label()
	p.SOPC(isa.S_CMP_LG_U32, p.ln.wave, Imm(0))
	p.Branch(isa.S_CBRANCH_SCC1, skip)
	p.VOP1(isa.V_MOV_B32, f.word, f.tile)
	p.Emit(isa.Inst{Op: isa.DS_WRXCHG_RTN_B32, Enc: isa.DS, Dst: f.word.Operand,
		Src: [4]isa.Operand{f.addr.Operand, f.word.Operand}, Offset: int32(p.readyFlag(s))})
	p.WaitLGKM(0)
	p.Place(skip)
}

// consumeFlags emits a consumer's K tile.
func (p *specialist) consumeFlags(name string, s int) {
	f := &p.flags
	p.Cluster(name+"ready", "memory")
	p.SAdd(f.tile, f.tile, Imm(1))
	p.lanesOn(1)
	p.spin(p.readyFlag(s), f.tile)
	p.lanesOn(-1)
	p.Cluster(name+"m0", "memory")
	p.read(p.a, p.addrA[s], 0)
	p.read(p.b[0], p.addrB[s], 0)
	p.read(p.b[1], p.addrB[s], 1)
	p.WaitLGKM(0)
	p.multiply(name+"c0", 0, 0, 1)
	p.Cluster(name+"m1", "memory")
	p.read(p.a, p.addrA[s], 1)
	p.WaitLGKM(0)
	p.multiply(name+"c1", 1, 0, 1)
	p.Cluster(name+"done", "memory")
	p.lanesOn(1)
	p.DSWrite(isa.DS_ADD_U32, f.addr, f.data, p.doneFlag(s))
	p.lanesOn(-1)
}
