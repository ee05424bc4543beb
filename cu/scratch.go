package cu

import (
	"fmt"
	"math/bits"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
)

// scratchCUs is how many CUs of an XCD private memory has room for.
const scratchCUs = 64

// scratchXCDs bounds the XCDs likewise.
const scratchXCDs = 64

// allocScratch gives every wave slot of the machine its private memory: dword d
// of lane l is at base + (d*64 + l)*4 (LLVM AMDGPUUsage, private segment). A
// slot's memory is used by one wave after the other, as the hardware's.
func (p *Program) allocScratch(s *Spec) {
	k := p.Kernel
	if k.ScratchBytes == 0 {
		return
	}
	p.scratchWave = (uint64(k.ScratchBytes)*isa.Lanes + 1023) &^ 1023
	slots := uint64(scratchXCDs * scratchCUs * s.SIMDs * s.WaveSlots)
	p.scratchBase = p.Launch.Memory.Alloc("scratch", slots*p.scratchWave)
}

// scratchAccess fills op with the lines of a scratch instruction, whose lane
// addresses are offsets in the lane's private memory. Where they are the same
// for all lanes, as in spills, an access of n bytes a lane covers n*64 bytes that
// follow each other; so it is counted for lanes that differ too.
func (c *CU) scratchAccess(w *wave, u *uop, in *isa.Inst, op *cache.MemOp) bool {
	var err error
	switch {
	case u.exec && !c.prog.Full:
		err = fmt.Errorf("%q at pc %#x keeps a value that steers the kernel in scratch, and %w: use --mode full", in.Text(c.prog.Kernel.CPU), in.PC, ErrNotComputed)
	case u.exec:
		w.st.PC = int(w.pc)
		err = isa.Exec(c.prog.Kernel, in, &w.st)
	default:
		err = isa.Address(c.prog.Kernel, in, &w.st)
	}
	if err != nil {
		c.fail(w, err)
		return false
	}
	place := (c.xcc*scratchCUs+c.id)*c.spec.SIMDs + int(w.simd)
	base := c.prog.scratchBase + uint64(place*c.spec.WaveSlots+int(w.slot))*c.prog.scratchWave
	a := &w.st.Access
	for m := a.Lanes; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros64(m)
		a.Addr[lane] = base + a.Addr[lane]*isa.Lanes + uint64(lane)*uint64(a.Bytes)
	}
	if w.log != nil {
		w.log.Address(int(w.pc), a, false)
	}
	op.Lines = c.coalesce(a, op)
	return true
}
