package emu

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// numRegs covers operand codes of scalar, vector and accumulation registers.
const numRegs = int(isa.A0) + 256

// access is an outstanding memory instruction of a wave.
type access struct {
	pc     int
	left   queue  // counters that have not covered it
	record uint32 // of the LDS bytes it writes, 0 if none
}

// tracker follows the outstanding instructions of a wave. Counters go by issue
// order: an entry leaves vm when vmcnt's limit says that it must have finished.
type tracker struct {
	list    []access // in issue order, entries leave from any place
	base    uint32   // number of the first entry of list
	pending [numRegs]uint32
	vm, lds []uint32 // entry numbers, in issue order
	scalar  []uint32
}

func (t *tracker) reset() {
	t.list, t.vm, t.lds, t.scalar = t.list[:0], t.vm[:0], t.lds[:0], t.scalar[:0]
	t.base = 1 // number 0 means no entry
	t.pending = [numRegs]uint32{}
}

func (t *tracker) entry(n uint32) *access { return &t.list[n-t.base] }

// The counters' maxima: issue stalls rather than pass them, so that an older
// instruction has finished.
const (
	maxVM   = 63
	maxLGKM = 15
)

// issue adds an instruction and returns its number.
func (t *tracker) issue(pc int, q queue, record uint32, done func(a *access)) uint32 {
	t.wait(maxVM-1, maxLGKM-1, done)
	n := t.base + uint32(len(t.list))
	t.list = append(t.list, access{pc, q, record})
	if q&vm != 0 {
		t.vm = append(t.vm, n)
	}
	if q&lds != 0 {
		t.lds = append(t.lds, n)
	}
	if q&scalar != 0 {
		t.scalar = append(t.scalar, n)
	}
	return n
}

// wait applies s_waitcnt's limits and calls done for each entry that they cover.
func (t *tracker) wait(vmcnt, lgkm int, done func(a *access)) {
	finish := func(n uint32, q queue) {
		a := t.entry(n)
		if a.left &^= q; a.left == 0 {
			done(a)
		}
	}
	oldest := func(v []uint32, limit int, q queue) []uint32 {
		n := len(v) - limit
		if n <= 0 {
			return v
		}
		for _, e := range v[:n] {
			finish(e, q)
		}
		return append(v[:0], v[n:]...)
	}
	if vmcnt != noWait {
		t.vm = oldest(t.vm, vmcnt, vm)
	}
	if lgkm != noWait {
		t.lds = oldest(t.lds, lgkm, lds)
		if lgkm == 0 {
			for _, n := range t.scalar {
				finish(n, scalar)
			}
			t.scalar = t.scalar[:0]
		}
	}
	// Drop the finished head of the list, so that it stays short.
	i := 0
	for i < len(t.list) && t.list[i].left == 0 {
		i++
	}
	if i > 64 || i == len(t.list) {
		t.base += uint32(i)
		t.list = append(t.list[:0], t.list[i:]...)
	}
}

// outstanding is the access that still owes register r a value, nil if none.
func (t *tracker) outstanding(r isa.Reg) *access {
	n := t.pending[r]
	if n == 0 {
		return nil
	}
	if n < t.base || t.entry(n).left == 0 {
		t.pending[r] = 0
		return nil
	}
	return t.entry(n)
}

// checkRegisters reports a source or destination that a load still owes.
func (r *runner) checkRegisters(i int, w *wave, pc int, c *code) error {
	if len(w.blocks) > 0 {
		if err := r.checkBlocks(i, w, pc, c); err != nil {
			return err
		}
	}
	t := &w.track
	for _, s := range c.uses {
		for n := range isa.Reg(s.n) {
			if a := t.outstanding(s.reg + n); a != nil {
				return r.hazard(i, pc, a.pc, "reads", (s.reg + n).String())
			}
		}
	}
	for _, s := range c.defs {
		for n := range isa.Reg(s.n) {
			a := t.outstanding(s.reg + n)
			// Loads of one in-order queue write in order.
			if a == nil || c.loadsToReg && c.queues == a.left && c.queues&scalar == 0 {
				continue
			}
			return r.hazard(i, pc, a.pc, "overwrites", (s.reg + n).String())
		}
	}
	return nil
}

func (r *runner) hazard(wave, pc, loadPC int, verb, what string) error {
	return fmt.Errorf("emu: kernel %s: workgroup %v wave %d: %s %s %s, which no s_waitcnt after %s covers: %w",
		r.k.Name, r.wgID, wave, r.at(pc), verb, what, r.at(loadPC), ErrHazard)
}

// afterExec records what the instruction left outstanding and checks its LDS
// bytes.
func (r *runner) afterExec(i int, w *wave, pc int, c *code) error {
	done := func(a *access) {
		if a.record != 0 {
			clock := uint32(0)
			if r.clocks != nil {
				clock = r.clocks.now(i)
			}
			r.shadow.finish(a.record, w.epoch, clock)
		}
	}
	if r.k.Insts[pc].Op.IsExtension() {
		return r.afterExtension(i, w, pc, c, done)
	}
	if c.vmcnt != noWait || c.lgkm != noWait {
		w.track.wait(c.vmcnt, c.lgkm, done)
		return nil
	}
	var record uint32
	if c.readsLDS || c.writesLDS {
		var err error
		if record, err = r.checkLDS(i, w, pc, c); err != nil {
			return err
		}
	}
	if c.queues == 0 {
		return nil
	}
	n := w.track.issue(pc, c.queues, record, done)
	if c.loadsToReg {
		for _, s := range c.defs {
			for k := range isa.Reg(s.n) {
				w.track.pending[s.reg+k] = n
			}
		}
	}
	return nil
}
