package emu

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// The distance that software must keep behind a matrix instruction. gfx942 and
// gfx950 do not hold back an instruction that reads its result too early; LLVM 22's
// hazard recognizer, whose numbers these are, fills the gap with other instructions
// or s_nop. A wait state is an instruction, or one count of s_nop.

// numVectors covers v0..v255 and a0..a255.
const numVectors = 512

// matrixWrite is the matrix instruction that wrote a vector register last.
type matrixWrite struct {
	at int64 // wait states of the wave behind it, 0: none
	pc int32
}

// matrixTrack follows a wave's matrix results.
type matrixTrack struct {
	states int64 // issued so far
	last   int64 // states when the latest result can be read by anything
	writes [numVectors]matrixWrite
}

// trackMatrix gives every wave a track if the kernel has matrix instructions of
// the CPU's own; the extensions wait by other means.
func (r *runner) trackMatrix() {
	for i := range r.k.Insts {
		if r.code[i].class.Unit == isa.UnitMFMA && !r.k.Insts[i].Op.IsExtension() {
			for w := range r.waves {
				r.waves[w].matrix = new(matrixTrack)
			}
			return
		}
	}
}

func (t *matrixTrack) reset() {
	t.states, t.last = 0, 0
	clear(t.writes[:])
}

// furthest bounds matrixStates.
const furthest = 20

// matrixStates is how many wait states must lie between a matrix instruction and
// one that reads its result.
func matrixStates(cpu isa.CPU, from *isa.Class, reader isa.Unit) int64 {
	p := int64(from.Passes)
	mem := reader == isa.UnitVMEM || reader == isa.UnitLDS
	switch {
	case from.Double && p <= 4: // 4x4x4
		if mem {
			return 9
		}
		return 6
	case from.Double && mem:
		return 18
	case from.Double:
		return p + 3
	case !from.XDL:
		return p + 2
	case cpu == isa.GFX950 && p > 2:
		return p + 4
	}
	return p + 3
}

// checkMatrix reports a source that a matrix instruction has written too short a
// time ago.
func (r *runner) checkMatrix(i int, w *wave, pc int, in *isa.Inst, c *code) error {
	t := w.matrix
	if t.states >= t.last {
		return nil
	}
	switch c.class.Unit {
	case isa.UnitVALU, isa.UnitVMEM, isa.UnitLDS, isa.UnitMFMA:
	default:
		return nil
	}
	for s, o := range in.Src {
		accumulates := c.class.Unit == isa.UnitMFMA && s == 2
		if err := r.checkMatrixSource(i, w, pc, o, accumulates, c); err != nil {
			return err
		}
	}
	if isa.ReadsDst(in) && c.class.Unit != isa.UnitMFMA {
		return r.checkMatrixSource(i, w, pc, in.Dst, false, c)
	}
	return nil
}

func (r *runner) checkMatrixSource(i int, w *wave, pc int, o isa.Operand, accumulates bool, c *code) error {
	if !o.Present() || !o.Reg.IsVector() {
		return nil
	}
	t := w.matrix
	for n := range isa.Reg(o.N) {
		reg := o.Reg + n
		m := &t.writes[reg-isa.V0]
		if m.at == 0 {
			continue
		}
		from := &r.code[m.pc].class
		need := matrixStates(r.k.CPU, from, c.class.Unit)
		if accumulates { // the same registers are forwarded, others two states sooner
			d := r.k.Insts[m.pc].Dst
			if d.Reg == o.Reg && d.N == o.N || from.Double || from.Passes <= 2 {
				continue
			}
			need -= 2
		}
		if passed := t.states - m.at; passed < need {
			return fmt.Errorf("emu: kernel %s: workgroup %v wave %d: %s reads %s after %d of the %d wait states that must follow %s: add instructions or s_nop between them: %w",
				r.k.Name, r.wgID, i, r.at(pc), reg, passed, need, r.at(int(m.pc)), ErrHazard)
		}
	}
	return nil
}

// afterMatrix counts an instruction and notes what it wrote.
func (w *wave) afterMatrix(pc int, in *isa.Inst, c *code) {
	t := w.matrix
	t.states++
	if in.Op == isa.S_NOP {
		t.states += int64(in.Offset & 15)
	}
	if !in.Dst.Present() || !in.Dst.Reg.IsVector() {
		return
	}
	var m matrixWrite
	if c.class.Unit == isa.UnitMFMA && !in.Op.IsExtension() {
		m = matrixWrite{t.states, int32(pc)}
		t.last = t.states + furthest
	} else if t.states >= t.last {
		return // nothing is young enough to matter
	}
	d := t.writes[in.Dst.Reg-isa.V0:]
	for n := range d[:in.Dst.N] {
		d[n] = m
	}
}
