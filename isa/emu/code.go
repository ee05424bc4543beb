package emu

import (
	"strings"

	"github.com/whisker-sim/whisker/isa"
)

// span is a range of registers by operand code.
type span struct {
	reg isa.Reg
	n   uint16
}

// queue is what makes an instruction's completion visible to the wave.
type queue uint8

const (
	vm     queue = 1 << iota // vmcnt, in order
	lds                      // lgkmcnt, in order among LDS instructions
	scalar                   // lgkmcnt, out of order: only lgkmcnt(0) covers it
)

// noWait means that s_waitcnt leaves a counter alone.
const noWait = -1

// code is what the checks need of an instruction, worked out once.
type code struct {
	class       isa.Class
	uses, defs  []span
	queues      queue
	vmcnt, lgkm int // s_waitcnt's limits, noWait elsewhere
	writesLDS   bool
	readsLDS    bool
	ldsBytes    uint32 // per lane and address
	loadsToReg  bool   // defs arrive later
}

func analyse(k *isa.Kernel) []code {
	out := make([]code, len(k.Insts))
	for i := range k.Insts {
		out[i] = analyseInst(k.CPU, &k.Insts[i])
	}
	return out
}

func analyseInst(cpu isa.CPU, in *isa.Inst) code {
	c := code{class: isa.Classify(cpu, in), vmcnt: noWait, lgkm: noWait}
	for _, o := range append(in.Src[:], in.Scale[:]...) {
		c.uses = addSpan(c.uses, o)
	}
	c.defs = addSpan(addSpan(c.defs, in.Dst), in.SDst)
	name := in.Op.String()
	c.implicit(in, name)
	switch c.class.Unit {
	case isa.UnitVMEM:
		c.queues = vm
		if c.class.Flat {
			c.queues |= scalar // may complete out of order with LDS and scalar loads
		}
	case isa.UnitLDS:
		if in.Op != isa.DS_NOP {
			c.queues = lds
		}
	case isa.UnitSMEM:
		c.queues = scalar
	case isa.UnitInternal:
		if in.Op == isa.S_WAITCNT {
			c.waits(uint32(in.Offset))
		}
	}
	if in.Op == isa.S_SENDMSG {
		c.queues = scalar
	}
	c.loadsToReg = c.queues != 0 && !c.class.LDSDMA && len(c.defs) > 0
	c.ldsEffects(name)
	c.extension(in)
	return c
}

func addSpan(v []span, o isa.Operand) []span {
	if o.Present() && (o.Reg.IsSGPR() || o.Reg.IsVector()) {
		v = append(v, span{o.Reg, uint16(o.N)})
	}
	return v
}

// implicit adds registers that no operand names: VCC, M0, and accumulators.
func (c *code) implicit(in *isa.Inst, name string) {
	vcc := span{isa.VCCLo, 2}
	switch {
	case strings.HasPrefix(name, "s_cbranch_vcc"), strings.HasPrefix(name, "v_div_fmas"):
		c.uses = append(c.uses, vcc)
	case strings.HasPrefix(name, "v_addc"), strings.HasPrefix(name, "v_subb"), in.Op == isa.V_CNDMASK_B32:
		if !in.Src[2].Present() {
			c.uses = append(c.uses, vcc)
		}
	}
	if strings.Contains(name, "_co_") && !in.SDst.Present() || in.Enc == isa.VOPC && !in.Dst.Present() {
		c.defs = append(c.defs, vcc)
	}
	if c.class.LDSDMA && !in.Op.IsExtension() {
		c.uses = append(c.uses, span{isa.M0, 1})
	}
}

// waits decodes s_waitcnt: vmcnt in bits 15:14 and 3:0, lgkmcnt in 11:8, each
// at its maximum meaning no wait.
func (c *code) waits(v uint32) {
	if n := int(v&15 | v>>14&3<<4); n != 63 {
		c.vmcnt = n
	}
	if n := int(v >> 8 & 15); n != 15 {
		c.lgkm = n
	}
}

func (c *code) ldsEffects(name string) {
	switch {
	case c.class.LDSDMA:
		c.writesLDS, c.ldsBytes = true, uint32(max(c.class.Bytes, 4))
	case c.class.Unit == isa.UnitLDS:
		c.ldsBytes = uint32(c.class.Bytes)
		c.readsLDS = c.class.Load || c.class.Atomic
		c.writesLDS = c.class.Store || c.class.Atomic
	}
}

// extension sets what the checks of LDS bytes need of an extension; when they
// run is afterExtension's.
func (c *code) extension(in *isa.Inst) {
	switch in.Op {
	case isa.X_TILE_COPY:
		c.writesLDS, c.ldsBytes = true, isa.TileRowBytes
	case isa.X_MMA_F32_16X16X32_BF16, isa.X_MMA_F32_16X16X32_F16:
		c.readsLDS, c.ldsBytes = true, 16
	}
}
