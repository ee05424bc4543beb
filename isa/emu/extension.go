package emu

import (
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/isa"
)

// The extensions' part of the checks: registers that a wave has given away,
// accumulators and LDS operands of blocks under way, and what barrier objects
// order.

// checkHeld refuses a register beyond those that the wave holds.
func (r *runner) checkHeld(i int, w *wave, pc int, c *code) error {
	for _, list := range [2][]span{c.uses, c.defs} {
		for _, s := range list {
			if !s.reg.IsVector() {
				continue
			}
			top := s.reg.Index() + int(s.n)
			if s.reg.IsAGPR() {
				top += (r.k.VGPRs + 3) &^ 3
			}
			if top > w.s.Registers {
				return fmt.Errorf("emu: kernel %s: workgroup %v wave %d: %s uses vector register %d, and the wave holds %d: %w",
					r.k.Name, r.wgID, i, r.at(pc), top-1, w.s.Registers, ErrHazard)
			}
		}
	}
	return nil
}

// checkBlocks refuses the use of accumulators that a block may still write. A
// later block accumulates in order.
func (r *runner) checkBlocks(i int, w *wave, pc int, c *code) error {
	block := c.class.Unit == isa.UnitMFMA && r.k.Insts[pc].Op.IsExtension()
	for _, b := range w.blocks {
		d := r.k.Insts[b].Dst
		for _, list := range [2][]span{c.uses, c.defs} {
			for _, s := range list {
				if s.reg < d.Reg+isa.Reg(d.N) && d.Reg < s.reg+isa.Reg(s.n) && !block {
					return fmt.Errorf("emu: kernel %s: workgroup %v wave %d: %s uses %s, which %s may still write, and no x_mma_wait lies between: %w",
						r.k.Name, r.wgID, i, r.at(pc), s.reg, r.at(b), ErrHazard)
				}
			}
		}
	}
	return nil
}

// afterExtension records what an extension has left under way and orders waves
// through barrier objects.
func (r *runner) afterExtension(i int, w *wave, pc int, c *code, done func(*access)) error {
	in, cl := &r.k.Insts[pc], r.clocks
	switch in.Op {
	case isa.X_MBAR_ARRIVE:
		cl.release(i, uint32(in.Offset)/4)
	case isa.X_MBAR_WAIT:
		cl.acquire(i, uint32(in.Offset)/4)
	case isa.X_TILE_COPY:
		return r.tileCopied(i, w, pc, c, done)
	case isa.X_MMA_WAIT:
		for len(w.blocks) > int(in.Offset) {
			r.blockReads(i, w, w.blocks[0], cl.now(i))
			w.blocks = append(w.blocks[:0], w.blocks[1:]...)
		}
	case isa.X_MMA_F32_16X16X32_BF16, isa.X_MMA_F32_16X16X32_F16:
		w.blocks = append(w.blocks, pc)
		return r.blockStarts(i, w, pc, c)
	}
	return nil
}

// tileCopied records the LDS bytes of a copy: over when vmcnt says so, or when
// its barrier object does, which then speaks for the copy.
func (r *runner) tileCopied(i int, w *wave, pc int, c *code, done func(*access)) error {
	in := &r.k.Insts[pc]
	t := w.s.TileCopy(in)
	r.shadow.records = append(r.shadow.records, record{wave: int32(i), pc: int32(pc), done: notDone, dma: true})
	u := ldsUse{r: r, wave: i, w: w, pc: pc, c: c, record: uint32(len(r.shadow.records) - 1)}
	for n := range t.Rows {
		if err := u.touch(0, t.LDS+uint32(n)*isa.TileRowBytes); err != nil {
			return err
		}
	}
	if in.Literal == isa.TileCopyCounted {
		w.track.issue(pc, vm, u.record, done)
		return nil
	}
	r.shadow.finish(u.record, w.epoch, r.clocks.now(i))
	r.clocks.release(i, in.Literal/4)
	return nil
}

// blockStarts checks that a block's operands in LDS have been written, and
// marks them as being read.
func (r *runner) blockStarts(i int, w *wave, pc int, c *code) error {
	in := &r.k.Insts[pc]
	u := ldsUse{r: r, wave: i, w: w, pc: pc, c: c}
	err := eachOperand(in, w, func(addr uint32) error { return u.touch(0, addr) })
	if err == nil {
		r.blockReads(i, w, pc, math.MaxUint32)
	}
	return err
}

// blockReads notes the reads of a block: with the wave's count when they are
// over, and with one that nobody has seen while they are under way.
func (r *runner) blockReads(i int, w *wave, pc int, count uint32) {
	in, cl := &r.k.Insts[pc], r.clocks
	eachOperand(in, w, func(addr uint32) error {
		for d := addr / 4; d < (addr+16)/4; d++ {
			cl.readers[int(d)*cl.waves+i] = count
		}
		return nil
	})
}

// eachOperand visits the 16 bytes of every lane and base tile of a block's LDS
// operands.
func eachOperand(in *isa.Inst, w *wave, visit func(addr uint32) error) error {
	rows, cols := in.Block()
	a, b := in.BlockLDS()
	for src, n := range [2]int{rows, cols} {
		if src == 0 && !a || src == 1 && !b {
			continue
		}
		w.s.BlockAddress(in, src)
		for t := range n {
			for l := range isa.Lanes {
				if err := visit(uint32(w.s.Access.Addr[l]) + uint32(t)*isa.BlockTileStep); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
