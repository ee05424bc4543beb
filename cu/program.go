package cu

import (
	"fmt"
	"math"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
)

type uopKind uint8

const (
	kindSALU uopKind = iota
	kindBranch
	kindVALU
	kindMFMA
	kindLDS
	kindVMEM
	kindSMEM
	kindWaitcnt
	kindBarrier
	kindSetPrio
	kindNop
	kindSleep
	kindEnd
	kindTrap
	kindBlock // x_mma; the rest too are extensions
	kindSetRegisters
	kindMBarInit
	kindMBarArrive
	kindMBarWait
	kindTileCopy
	kindBlockWait
)

// regRange is a run of vector registers in scoreboard numbering: V0 is 0, A0
// is 256.
type regRange struct{ first, n uint16 }

// uop is a predecoded instruction: everything the issue logic asks, in one line
// of the host's cache (TestUopSize).
type uop struct {
	kind     uopKind
	category uint8
	unit     isa.Unit
	exec     bool // in the slice: executed at issue
	inLoop   bool // in the marked loop
	moves    bool // executed, and writes a vector register that addresses come from
	packed   bool
	run      uint8 // matrix instructions like this one that follow it
	line     int32 // instruction cache line, from the kernel entry

	busy    int32 // VALU or matrix occupancy, cycles
	gap     int32 // MFMA: cycles until the next plain VALU
	packGap int32 // MFMA: cycles until the next packed VALU
	idle    int32 // s_nop, s_sleep: cycles; extensions: their number

	waitVM   int8
	waitLGKM int8
	prio     uint8
	setsExec bool // may change EXEC
	sgprRead bool // reads an SGPR (for VALU to SALU latency)
	sgprW    bool // VALU that writes an SGPR

	flat     bool
	twoAddr  bool
	memKind  uint8 // cache.MemKind
	ldsKind  lds.Kind
	memIdx   int16 // index of the per-wave address cache, -1 if none: of ldsCache for DS
	memBytes int16 // all lanes
	ldsIn    int16 // inbound bus cycles
	ldsOut   int16 // return bus cycles
	ldsRead  int16 // bytes, all lanes
	ldsWrite int16
	decided  int16 // branch: index in the recorded decisions, -1 for one that is computed
	bar      int16 // extensions: barrier object, -1 for none

	dst   regRange
	nsrc  uint8
	srcAt int32 // vector sources: Program.srcs[srcAt:][:nsrc]
}

// categories of issue: at most one instruction of each per visit.
const (
	catVector = iota // VALU and MFMA
	catScalar        // SALU and SMEM
	catLDS
	catVMEM
	catBranch
	catNone // internal: no unit
)

// Program is a launch prepared for timing: shared by all CUs, read-only.
type Program struct {
	Launch  *isa.Launch
	Kernel  *isa.Kernel
	uops    []uop
	srcs    []regRange // vector sources of all instructions
	memOps  int
	ldsOps  int
	scalars []uint8 // first registers of the lines of scalar registers that loops use
	Kernarg uint64  // address of the kernel argument block
	Code    uint64  // address of the kernel entry, for instruction fetch
	Waves   int
	Regs    int // vector registers of a wave after the granule
	SRegs   int
	LDS     int // LDS bytes of a workgroup after the granule
	Occ     Occupancy
	Full    bool // execute everything
	// Shares says that the order among all waves of what they do to memory counts:
	// atomics on memory are executed, or values of it, which stores may have
	// written, steer branches.
	Shares   bool
	Slice    isa.Slice
	features isa.Features
	bars     []uint32 // LDS addresses of barrier objects
	wideRead lds.Kind // of the operands of x_mma
	Source   Source   // replay these streams and execute nothing; nil to execute

	slots       []int16 // by instruction: which cursor of a replayed wave, -1 for none
	replaySlots int

	decisions *isa.Decisions // outcomes of branches whose values are not computed; nil in full mode

	LoopStart, LoopEnd int // marked hot loop, [start, end); equal: none
	table              *lds.Table
	dirty              dirtyRanges
	masked             bool // EXEC changes

	scratchBase, scratchWave uint64 // private memory: its start, and the bytes of a wave
}

// ProgramOptions chooses how a launch is prepared.
type ProgramOptions struct {
	Full               bool // execute every instruction, not only the slice
	LoopStart, LoopEnd int
	Decisions          *isa.Decisions // outcomes of branches that depend on computed data; not followed when Full
	Source             Source         // replay these streams instead of executing
}

// NewProgram predecodes a launch for a CU of spec s. Errors name the kernel and
// the instruction: no timing class, does not fit the machine.
func NewProgram(s *Spec, l *isa.Launch, o ProgramOptions) (*Program, error) {
	k := l.Kernel
	p := &Program{Launch: l, Kernel: k, Waves: k.Waves(), Full: o.Full, Source: o.Source, LoopStart: o.LoopStart, LoopEnd: o.LoopEnd}
	if err := p.checkFeatures(s); err != nil {
		return nil, err
	}
	occ, err := NewOccupancy(s, k.VGPRs, k.AGPRs, k.SGPRs, k.LDSBytes, p.Waves)
	if p.features&isa.DynamicRegisters != 0 {
		occ, err = dynamicOccupancy(s, k)
	}
	if err != nil {
		return nil, fmt.Errorf("kernel %s does not fit: %w", k.Name, err)
	}
	p.Occ = occ
	p.Regs = roundUp(max(k.VGPRs+k.AGPRs, 1), s.VGPRGranule)
	p.SRegs = roundUp(max(k.SGPRs, 1), s.SGPRGranule)
	if k.LDSBytes > 0 {
		p.LDS = roundUp(k.LDSBytes, s.LDSGranule)
	}
	if p.table, err = lds.NewTable(k.CPU.String()); err != nil {
		return nil, err
	}
	p.wideRead, _, _ = lds.KindOf("ds_read_b128")
	if !o.Full && o.Source == nil {
		p.decisions = o.Decisions
	}
	p.Slice = isa.NewSliceWithout(k, p.decisions)
	p.uops = make([]uop, len(k.Insts))
	line := uint32(s.ICacheLine)
	for i := range k.Insts {
		in := &k.Insts[i]
		c := isa.Classify(k.CPU, in)
		if why := isa.Refused(in.Op); why != "" {
			return nil, fmt.Errorf("kernel %s, pc %#x: %s cannot run on %s: %s", k.Name, in.PC, in.Text(k.CPU), k.CPU, why)
		}
		if c.Unit == isa.UnitUnknown {
			return nil, fmt.Errorf("kernel %s, pc %#x: %s has no timing class on %s", k.Name, in.PC, in.Text(k.CPU), k.CPU)
		}
		u, err := p.decode(s, in, c)
		if err != nil {
			return nil, fmt.Errorf("kernel %s, pc %#x: %w", k.Name, in.PC, err)
		}
		u.exec = o.Source == nil && (o.Full || p.Slice.Exec[i])
		p.Shares = p.Shares || u.exec && c.Atomic && c.Unit != isa.UnitLDS
		u.line = int32(in.PC / line)
		u.decided = int16(p.decisions.Index(i))
		u.inLoop = i >= p.LoopStart && i < p.LoopEnd
		u.setsExec = writesExec(in) || strings.HasPrefix(in.Op.String(), "v_cmpx")
		p.masked = p.masked || u.setsExec
		p.uops[i] = u
	}
	if o.Full && o.Source == nil { // stores are executed
		for _, i := range p.Slice.Loads {
			p.Shares = p.Shares || isa.Classify(k.CPU, &k.Insts[i]).Unit != isa.UnitLDS
		}
	}
	p.markMoves()
	p.markLoops()
	p.markRuns()
	p.markSlots()
	if n := max(p.ldsOps, p.memOps, p.replaySlots); n > maxMemoryOps {
		return nil, fmt.Errorf("kernel %s has %d memory instructions; at most %d are possible", k.Name, n, maxMemoryOps)
	}
	if err := k.Load(l.Memory); err != nil {
		return nil, err
	}
	p.Kernarg = l.PlaceKernarg()
	last := k.Insts[len(k.Insts)-1]
	p.allocScratch(s)
	p.Code = l.Memory.Alloc("code", uint64(last.PC)+uint64(last.Size))
	return p, nil
}

func vrange(o isa.Operand) (regRange, bool) {
	if !o.Present() || !o.Reg.IsVector() {
		return regRange{}, false
	}
	return regRange{uint16(o.Reg - isa.V0), uint16(o.N)}, true
}

func (p *Program) decode(s *Spec, in *isa.Inst, c isa.Class) (uop, error) {
	u := uop{unit: c.Unit, memIdx: -1, packed: c.Packed, flat: c.Flat, twoAddr: c.TwoAddr, sgprW: c.SGPRW, srcAt: int32(len(p.srcs))}
	for _, o := range in.Src {
		if r, ok := vrange(o); ok {
			p.srcs = append(p.srcs, r)
			u.nsrc++
		}
		if o.Present() && o.Reg.IsSGPR() {
			u.sgprRead = true
		}
	}
	u.dst, _ = vrange(in.Dst)
	if u.dst.n > 0 && isa.ReadsDst(in) {
		p.srcs = append(p.srcs, u.dst)
		u.nsrc++
	}
	if in.Op.IsExtension() {
		p.decodeExtension(s, &u, in, c)
		return u, nil
	}
	switch c.Unit {
	case isa.UnitSALU:
		u.kind, u.category = kindSALU, catScalar
	case isa.UnitSMEM:
		u.kind, u.category = kindSMEM, catScalar
	case isa.UnitBranch:
		u.kind, u.category, u.sgprRead = kindBranch, catBranch, true
	case isa.UnitVALU:
		u.kind, u.category = kindVALU, catVector
		u.busy = int32(s.VALUCycles)
		if c.Trans || c.Quarter {
			u.busy = int32(s.TransCycles)
		} else if c.Double {
			u.busy = int32(s.DoubleCycles)
		}
	case isa.UnitMFMA:
		p.decodeMFMA(s, &u, c)
	case isa.UnitLDS:
		return u, p.decodeLDS(s, &u, in, c)
	case isa.UnitVMEM:
		p.decodeVMEM(&u, in, c)
	case isa.UnitInternal:
		return u, decodeInternal(&u, in)
	}
	return u, nil
}

func (p *Program) decodeMFMA(s *Spec, u *uop, c isa.Class) {
	u.kind, u.category = kindMFMA, catVector
	passes := int64(math.Ceil(float64(c.Passes) * s.MFMAScale))
	u.busy = int32(max(passes, 1) * s.PassCycles)
	slot := s.PassCycles
	if c.XDL {
		u.gap = int32(slot * int64(1+int(c.ABBytes)/s.CoissueBytesPerSlot))
	} else {
		u.gap = u.busy + int32(slot*int64(s.PackedExtraSlots))
	}
	extra := s.PackedExtraSlots
	if c.ABBytes >= 16 {
		extra++
	}
	u.packGap = u.busy + int32(slot*int64(extra))
}

func (p *Program) decodeLDS(s *Spec, u *uop, in *isa.Inst, c isa.Class) error {
	u.kind, u.category = kindLDS, catLDS
	k, _, ok := lds.KindOf(in.Op.String())
	if !ok {
		return fmt.Errorf("%s has no LDS phase table", in.Op)
	}
	u.ldsKind = k
	port := s.LDSPortBytes
	words := int(c.Bytes) * isa.Lanes // 2048 at most, with what follows
	if c.TwoAddr {
		words *= 2
	}
	up := func(n int) int16 { return int16((n + port - 1) / port) }
	u.ldsIn = up(4 * isa.Lanes)
	if c.Store || c.Atomic {
		u.ldsIn += up(words)
		u.ldsWrite = int16(words)
	}
	if c.Return {
		u.ldsOut = up(words)
		u.ldsRead = int16(words)
	}
	u.memIdx = int16(p.ldsOps)
	p.ldsOps++
	return nil
}

func (p *Program) decodeVMEM(u *uop, in *isa.Inst, c isa.Class) {
	u.kind, u.category = kindVMEM, catVMEM
	u.memBytes = int16(int(c.Bytes) * isa.Lanes)
	u.memKind = memKindOf(c)
	u.memIdx = -1
}

// markMoves finds the instructions after which a memory instruction's addresses
// may be other ones.
func (p *Program) markMoves() {
	var from isa.RegSet
	eff := make([]isa.Effects, len(p.uops))
	for i := range p.uops {
		eff[i] = isa.EffectsOf(p.Kernel.CPU, &p.Kernel.Insts[i], true)
		from.Union(&eff[i].Address)
	}
	from.Remove(0, int(isa.V0)) // scalar parts are compared
	for i := range p.uops {
		p.uops[i].moves = p.uops[i].exec && eff[i].Writes.Intersects(&from)
	}
}

// markLoops gives every vector memory instruction inside a loop a place to
// remember its pattern; outside it is run once and not remembered.
func (p *Program) markLoops() {
	in := make([]bool, len(p.uops))
	for i := range p.Kernel.Insts {
		if t := p.Kernel.Insts[i].Target; p.uops[i].kind == kindBranch && t >= 0 && int(t) <= i {
			for j := int(t); j <= i; j++ {
				in[j] = true
			}
		}
	}
	p.markScalars(in)
	for i := range p.uops {
		if p.uops[i].kind == kindVMEM && in[i] {
			p.uops[i].memIdx = int16(p.memOps)
			p.memOps++
		}
	}
}

// maxMemoryOps is how many memory instructions of one kernel have numbers.
const maxMemoryOps = 1<<15 - 1

// markSlots numbers the memory instructions for replay.
func (p *Program) markSlots() {
	p.slots = make([]int16, len(p.uops))
	for i := range p.uops {
		p.slots[i] = -1
		switch p.uops[i].kind {
		case kindVMEM, kindLDS, kindSMEM:
			p.slots[i] = int16(p.replaySlots)
			p.replaySlots++
		}
	}
}

// scalarLine is the scalar registers in one line of the host's cache.
const scalarLine = 16

// markScalars lists what the executed instructions and the memory instructions
// of loops read and write.
func (p *Program) markScalars(in []bool) {
	var used [isa.NumSGPRs / scalarLine]bool
	for i := range p.Kernel.Insts {
		if !in[i] || !p.uops[i].exec && p.uops[i].kind != kindVMEM {
			continue
		}
		k := &p.Kernel.Insts[i]
		for _, o := range append([]isa.Operand{k.Dst}, k.Src[:]...) {
			for r := o.Reg; o.Present() && r < min(o.Reg+isa.Reg(o.N), isa.NumSGPRs); r++ {
				used[r/scalarLine] = true
			}
		}
	}
	for i, u := range used {
		if u {
			p.scalars = append(p.scalars, uint8(i*scalarLine))
		}
	}
}

func decodeInternal(u *uop, in *isa.Inst) error {
	u.category = catNone
	imm := int(uint16(in.Offset))
	switch in.Op {
	case isa.S_WAITCNT:
		u.kind = kindWaitcnt
		u.waitVM = int8(imm&15 | imm>>14&3<<4)
		u.waitLGKM = int8(imm >> 8 & 15)
	case isa.S_BARRIER:
		u.kind = kindBarrier
	case isa.S_SETPRIO:
		u.kind, u.prio = kindSetPrio, uint8(imm&3)
	case isa.S_NOP:
		u.kind, u.idle = kindNop, int32(imm&15)*4
	case isa.S_SLEEP:
		u.kind, u.idle = kindSleep, int32(imm&127)*64
	case isa.S_ENDPGM:
		u.kind = kindEnd
	case isa.S_TRAP:
		u.kind = kindTrap
	default:
		u.kind = kindNop // s_sethalt, s_icache_inv, ...: an issue slot and no effect
	}
	return nil
}

func writesExec(in *isa.Inst) bool {
	return strings.Contains(in.Op.String(), "exec") || in.Dst.Present() && in.Dst.Reg <= isa.ExecHi && in.Dst.Reg+isa.Reg(in.Dst.N) > isa.ExecLo
}
