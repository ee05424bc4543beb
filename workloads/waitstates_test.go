package workloads

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// walkStates runs over a kernel's code, its loop twice, jumps ahead taken or
// not, and returns the first instruction that comes too early and by how much.
func walkStates(b *Built, jump bool) (at, missing int) {
	k := b.Launch.Kernel
	var h waitStates
	h.init()
	again := b.LoopEnd > b.LoopStart
	for i := 0; i < len(k.Insts); i++ {
		in := &k.Insts[i]
		c := isa.Classify(k.CPU, in)
		if n := h.need(k.CPU, in, &c); n > 0 && in.Op != isa.S_NOP {
			return i, n
		}
		h.done(k.CPU, in, &c)
		switch t := int(in.Target); {
		case t > i && jump:
			i = t - 1
		case t >= 0 && t <= i && again:
			again = false
			i = t - 1
		}
	}
	return -1, 0
}

// Every form keeps the distances that software has to, around its loop and over
// its jumps too.
func TestBackwardWaitStates(t *testing.T) {
	for _, o := range []map[string]string{
		bwdForm(1, 1, 512), bwdForm(2, 1, 512, "causal=true"), bwdForm(1, 1, 512, "registers=compiler"),
		bwdForm(1, 1, 512, "schedule=pingpong8"), bwdForm(1, 1, 512, "schedule=pingpong8", "causal=true"),
	} {
		for _, b := range buildBackward(t, o).Kernels {
			for _, jump := range []bool{false, true} {
				if at, n := walkStates(b, jump); at >= 0 {
					k := b.Launch.Kernel
					t.Errorf("%s, jumps %v: %q at pc %#x comes %d states too early", k.Name, jump, k.Insts[at].Text(k.CPU), k.Insts[at].PC, n)
				}
			}
		}
	}
}

// The rules of single pairs, against LLVM 22's hazard recognizer.
func TestWaitStates(t *testing.T) {
	v := func(n, c int) Val { return reg(isa.V(n), c) }
	m := func(d, a int) func(b *Builder) {
		return func(b *Builder) { b.MFMA(m16, v(d, 4), v(a, 4), v(40, 4)) }
	}
	wide := func(b *Builder) { b.MFMA(m32, v(0, 16), v(32, 4), v(36, 4)) }
	add := func(d, s int) func(b *Builder) {
		return func(b *Builder) { b.VAdd(v(d, 1), v(60, 1), v(s, 1)) }
	}
	for _, c := range []struct {
		name        string
		first, then func(b *Builder)
		want        int
	}{
		{"16x16x32 then VALU", m(0, 32), add(61, 2), 8},
		{"32x32x16 then VALU", wide, add(61, 2), 12},
		{"same C", m(0, 32), m(0, 32), 0},
		{"result as A", m(0, 32), m(8, 0), 8},
		{"VALU over C", m(0, 32), add(0, 60), 8},
		{"VALU then matrix", add(32, 60), m(0, 32), 2},
		{"exp then VALU", func(b *Builder) { b.VOP1(isa.V_EXP_F32, v(1, 1), v(2, 1)) }, add(3, 1), 1},
		{"VALU then swap", add(1, 60), func(b *Builder) { b.PermlaneSwap16(v(1, 1), v(2, 1)) }, 2},
		{"VALU then DPP", add(1, 60), func(b *Builder) { b.VOP2Row(isa.V_ADD_F32, v(3, 1), v(1, 1), v(4, 1), 0) }, 2},
		{"mask then select", func(b *Builder) { b.Compare(isa.V_CMP_GE_I32, reg(isa.S(8), 2), v(1, 1), v(2, 1)) },
			func(b *Builder) { b.Select(v(3, 1), v(4, 1), v(5, 1), reg(isa.S(8), 2)) }, 2},
		{"m0 then load to LDS", func(b *Builder) { b.SetM0(Imm(64)) }, func(b *Builder) { b.BufferDwordLDS(v(1, 1), reg(isa.S(8), 4), Imm(0)) }, 1},
	} {
		b := NewBuilder(isa.GFX950, 1, 0)
		b.states.init()
		c.first(b)
		before := b.states.now
		c.then(b)
		if got := b.states.now - before - 1; got != c.want {
			t.Errorf("%s: %d states, want %d", c.name, got, c.want)
		}
	}
}
