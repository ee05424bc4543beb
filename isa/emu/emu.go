// Package emu runs kernels for their values alone, as fast as it can, and
// checks the waits and barriers that a timing model would take on trust.
package emu

import (
	"errors"
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/isa"
)

// ErrDeadlock is wrapped by the error of a workgroup that stops making progress.
var ErrDeadlock = errors.New("deadlock")

// ErrHazard is wrapped by the error of a read or overwrite that no wait covers.
var ErrHazard = errors.New("missing wait")

// ErrLimit is wrapped by the error of a launch that has not ended after
// Options.Limit instructions.
var ErrLimit = errors.New("it has not ended")

// DefaultMaxInsts is how many instructions a workgroup may run without a store,
// a barrier or a wave's end before it counts as deadlocked.
const DefaultMaxInsts = 50_000_000

// quantum is how many instructions a wave runs before the next one's turn.
const quantum = 4096

// Options say how to run.
type Options struct {
	Check    bool   // report reads and overwrites that no wait or barrier covers
	MaxInsts uint64 // instructions of a workgroup without progress; 0 means DefaultMaxInsts
	Limit    uint64 // instructions of the whole launch, after which ErrLimit ends it; 0: none

	Workgroups []int // the workgroups to run, linear dispatch indices; nil means all
	// Branch, when set, is told of every conditional branch: the workgroup's linear
	// index, the wave in it, the instruction's index, and the outcome.
	Branch func(wg, wave, inst int, taken bool)
}

// Stats count what ran.
type Stats struct {
	Workgroups, Waves uint64
	Insts             uint64 // wave instructions
	ByUnit            [isa.NumUnits]uint64
	Barriers          uint64 // barrier releases
	FLOPs             uint64 // of matrix instructions
}

// Run executes every workgroup of a launch, one after another, with the waves
// of a workgroup taking turns. Workgroups that wait for later ones deadlock
// here. Memory holds the results when it returns.
//
// With Options.Check, an instruction that reads or overwrites a register whose
// load no s_waitcnt covers is an error wrapping ErrHazard, as is LDS data used
// across waves without the writer's wait and, after it, a barrier or an atomic
// on a flag that the user has read, and the result of a matrix instruction
// without the wait states that the CPU leaves to software.
func Run(l *isa.Launch, o Options) (Stats, error) {
	r, err := newRunner(l, o)
	if err != nil {
		return Stats{}, err
	}
	run := func(i int) error {
		r.wg = i
		return r.workgroup(l.WorkgroupID(i))
	}
	if o.Workgroups != nil {
		for _, i := range o.Workgroups {
			if err := run(i); err != nil {
				return r.stats, err
			}
		}
		return r.stats, nil
	}
	for i := range l.NumWorkgroups() {
		if err := run(i); err != nil {
			return r.stats, err
		}
	}
	return r.stats, nil
}

// runner holds what the workgroups of one launch share.
type runner struct {
	l       *isa.Launch
	k       *isa.Kernel
	o       Options
	code    []code
	kernarg uint64
	stats   Stats

	waves   []wave
	lds     []byte
	shadow  shadow
	clocks  *clocks // nil: waves meet at barriers only
	idle    uint64  // instructions since the last progress
	wg      int
	wgID    [3]int
	barrier int // waves at the barrier
	live    int
}

// wave is one wave of the running workgroup.
type wave struct {
	s       isa.State
	waiting bool  // at the barrier
	epoch   int   // barriers passed
	blocks  []int // x_mma under way, by instruction, oldest first
	track   tracker
	matrix  *matrixTrack // nil: the kernel has no matrix instruction of the CPU's own, or nothing is checked
}

func newRunner(l *isa.Launch, o Options) (*runner, error) {
	k := l.Kernel
	if len(k.Insts) == 0 {
		return nil, fmt.Errorf("emu: kernel %s has no instructions", k.Name)
	}
	if err := isa.CheckRegisters(k); err != nil {
		return nil, err
	}
	if o.MaxInsts == 0 {
		o.MaxInsts = DefaultMaxInsts
	}
	r := &runner{l: l, k: k, o: o, code: analyse(k)}
	if err := k.Load(l.Memory); err != nil {
		return nil, err
	}
	r.kernarg = l.PlaceKernarg()
	r.waves = make([]wave, k.Waves())
	r.lds = make([]byte, k.LDSBytes)
	r.shadow.init(k.LDSBytes)
	if o.Check {
		r.clocks = newClocks(k, r.code)
		r.trackMatrix()
	}
	return r, nil
}

func (r *runner) workgroup(id [3]int) error {
	r.wgID, r.idle, r.barrier, r.live = id, 0, 0, len(r.waves)
	clear(r.lds)
	r.shadow.reset()
	if r.clocks != nil {
		r.clocks.reset()
	}
	for i := range r.waves {
		w := &r.waves[i]
		isa.Init(r.k, r.l, id, i, r.kernarg, &w.s)
		w.s.LDS, w.s.Mem = r.lds, r.l.Memory
		w.waiting, w.epoch, w.blocks = false, 0, w.blocks[:0]
		w.track.reset()
		if w.matrix != nil {
			w.matrix.reset()
		}
	}
	r.stats.Workgroups++
	r.stats.Waves += uint64(len(r.waves))
	for r.live > 0 {
		for i := range r.waves {
			if err := r.turn(i); err != nil {
				return err
			}
		}
		if r.o.Limit > 0 && r.stats.Insts >= r.o.Limit && r.live > 0 {
			return fmt.Errorf("emu: kernel %s: workgroup %v: %w after %d wave instructions", r.k.Name, r.wgID, ErrLimit, r.stats.Insts)
		}
		if r.idle > r.o.MaxInsts {
			return r.deadlock()
		}
	}
	return nil
}

// turn runs wave i until it ends, reaches a barrier, sleeps or uses up its
// quantum.
func (r *runner) turn(i int) error {
	w, most := &r.waves[i], quantum
	if r.o.Limit > 0 {
		most = int(min(quantum, r.o.Limit-min(r.stats.Insts, r.o.Limit)))
	}
	for n := 0; n < most && !w.waiting && !w.s.Ended; n++ {
		pc := w.s.PC
		if err := r.step(i, w); err != nil {
			return err
		}
		if r.k.Insts[pc].Op == isa.S_SLEEP || w.s.PC == pc && r.k.Insts[pc].Op == isa.X_MBAR_WAIT {
			break // it waits for another wave
		}
	}
	return nil
}

func (r *runner) step(i int, w *wave) error {
	pc := w.s.PC
	if pc >= len(r.k.Insts) {
		return isa.PastEnd(r.k, r.wgID, i)
	}
	in, c := &r.k.Insts[pc], &r.code[pc]
	if r.o.Check {
		if err := r.checkRegisters(i, w, pc, c); err != nil {
			return err
		}
		if w.matrix != nil {
			if err := r.checkMatrix(i, w, pc, in, c); err != nil {
				return err
			}
		}
	}
	if r.k.StartRegisters != 0 {
		if err := r.checkHeld(i, w, pc, c); err != nil {
			return err
		}
	}
	if err := isa.Exec(r.k, in, &w.s); err != nil {
		return err
	}
	if w.s.PC == pc && in.Op == isa.X_MBAR_WAIT {
		r.idle += uint64(len(r.k.Insts)) // a look, not an instruction
		return nil
	}
	r.stats.Insts++
	r.stats.ByUnit[c.class.Unit]++
	r.stats.FLOPs += uint64(c.class.FLOPs)
	r.idle++
	if r.o.Branch != nil && c.class.Unit == isa.UnitBranch && in.Op != isa.S_BRANCH {
		r.o.Branch(r.wg, i, pc, w.s.PC != pc+1)
	}
	if w.matrix != nil {
		w.afterMatrix(pc, in, c)
	}
	if r.o.Check {
		if err := r.afterExec(i, w, pc, c); err != nil {
			return err
		}
	}
	switch {
	case c.class.Store || c.class.LDSDMA, in.Op == isa.X_MBAR_ARRIVE:
		r.idle = 0
	case in.Op == isa.S_BARRIER:
		w.waiting = true
		r.barrier++
		r.release()
	case w.s.Ended:
		r.live--
		r.idle = 0
		r.release() // an ended wave no longer counts at the barrier
	}
	return nil
}

// release opens the barrier when all waves that have not ended are there.
func (r *runner) release() {
	if r.live == 0 || r.barrier < r.live {
		return
	}
	r.barrier, r.idle = 0, 0
	r.stats.Barriers++
	if r.clocks != nil {
		r.clocks.meet(r.waves)
	}
	for i := range r.waves {
		if w := &r.waves[i]; w.waiting {
			w.waiting = false
			w.epoch++
		}
	}
}

// deadlock says in one line at what the first wave is that has not ended, and
// below it what each of them waits for.
func (r *runner) deadlock() error {
	var b strings.Builder
	first := ""
	for i := range r.waves {
		w := &r.waves[i]
		state, pc := "running", w.s.PC
		switch {
		case w.s.Ended:
			fmt.Fprintf(&b, "\n  wave %d: ended", i)
			continue
		case w.waiting:
			state, pc = fmt.Sprintf("at a barrier with %d of %d waves", r.barrier, r.live), pc-1
		}
		fmt.Fprintf(&b, "\n  wave %d: %s, %s", i, state, r.at(pc))
		if first == "" || !w.waiting && strings.Contains(first, "at a barrier") { // one that runs says more than those that wait for it
			first = fmt.Sprintf("wave %d is %s, %s", i, state, r.at(pc))
		}
	}
	return fmt.Errorf("emu: kernel %s: workgroup %v: %w after %d instructions without a store, a barrier or a wave's end: %s%s",
		r.k.Name, r.wgID, ErrDeadlock, r.idle, first, b.String())
}

// at names an instruction in a message.
func (r *runner) at(pc int) string {
	if pc >= len(r.k.Insts) {
		return "past the last instruction"
	}
	in := &r.k.Insts[pc]
	return fmt.Sprintf("`%s` at pc %#x", in.Text(r.k.CPU), in.PC)
}
