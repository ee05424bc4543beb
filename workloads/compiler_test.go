package workloads

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// recompile applies the compiler's rule to a kernel whether it needs it or not.
func recompile(t *testing.T, bt *Built) {
	t.Helper()
	k := bt.Launch.Kernel
	b := lifted(k, bt.Clusters)
	at, err := b.compile(bt.LoopStart, bt.LoopEnd, Compiler)
	if err != nil {
		t.Fatal(err)
	}
	if k.Insts, err = b.Finish(); err != nil {
		t.Fatal(err)
	}
	k.VGPRs, k.AGPRs, k.ScratchBytes = b.nextV, b.nextA, b.scratch
	bt.LoopStart, bt.LoopEnd = at[bt.LoopStart], at[bt.LoopEnd]
}

// A kernel that is taken apart into values and put together again by the
// compiler's rule computes what it did, whatever its own registers were.
func TestRecompiledComputes(t *testing.T) {
	for _, s := range []string{PingPong8, Interleave4} {
		b := build(t, isa.GFX950, Spec{M: 256, N: 256, K: 384, Tile: "256x256", Schedule: s, W: -1, C: -1, Seed: 5})
		recompile(t, b)
		b.FillInputs()
		runGroups(t, b)
		if e, err := b.Verify(); err != nil || e > bf16Limit {
			t.Errorf("%s: error %g, %v", s, e, err)
		}
		if !fitsCompiler(b.Launch.Kernel) {
			t.Errorf("%s: accumulation registers are used as a compiler would not", s)
		}
		for i, in := range b.Launch.Kernel.Insts {
			if isa.Classify(isa.GFX950, &in).Unit == isa.UnitMFMA && (!in.Dst.Reg.IsAGPR() || in.Src[0].Reg.IsAGPR() || in.Src[1].Reg.IsAGPR()) {
				t.Fatalf("%s: instruction %d is %s", s, i, in.Text(isa.GFX950))
			}
		}
	}
}

// straight is a kernel of n virtual values of four registers that are all
// written before the first is read.
func straight(n int) (*Builder, []Val) {
	b := NewBuilder(isa.GFX950, 1, 5)
	b.Virtual()
	var v []Val
	for range n {
		x := b.VGPR(4)
		for k := range 4 {
			b.VOP1(isa.V_MOV_B32, x.At(k, 1), Imm(1))
		}
		v = append(v, x)
	}
	for _, x := range v {
		for k := range 4 {
			b.VOP2(isa.V_ADD_F32, x.At(k, 1), x.At(k, 1), x.At(k, 1))
		}
	}
	b.SOPP(isa.S_ENDPGM, 0)
	return b, v
}

// The allocator fills the budget and refuses one value more; the compiler's rule
// then moves the value that is needed last to scratch.
func TestAllocateBudget(t *testing.T) {
	b, _ := straight(15)
	if _, err := b.allocate(64); err != nil {
		t.Fatal(err)
	}
	if b.nextV > 64 {
		t.Errorf("%d registers of 64", b.nextV)
	}
	b, _ = straight(17)
	_, err := b.allocate(64)
	if _, ok := err.(*full); !ok {
		t.Fatalf("17 values of four in 64 registers: %v", err)
	}
	b, v := straight(66)
	if _, err := b.compile(0, 0, Compiler); err != nil {
		t.Fatal(err)
	}
	stores, loads := 0, 0
	for _, in := range b.insts {
		switch in.Op {
		case isa.SCRATCH_STORE_DWORD, isa.SCRATCH_STORE_DWORDX4:
			stores++
		case isa.SCRATCH_LOAD_DWORD, isa.SCRATCH_LOAD_DWORDX4:
			loads++
		}
	}
	if b.nextV > 256 || stores == 0 || loads == 0 || b.scratch < 16*(len(v)-63) {
		t.Errorf("%d registers, %d scratch stores, %d loads, %d bytes", b.nextV, stores, loads, b.scratch)
	}
}

// Values that a loop carries stay in registers of their own through all of it;
// one that is made and used within it gives its registers back.
func TestAllocateLoop(t *testing.T) {
	b := NewBuilder(isa.GFX950, 1, 5)
	b.Virtual()
	carried, out := b.VGPR(1), b.VGPR(1)
	b.VOP1(isa.V_MOV_B32, carried, Imm(1))
	top := b.Label()
	b.Place(top)
	x := b.VGPR(1)
	b.VOP1(isa.V_MOV_B32, x, Imm(2))
	b.VAdd(out, x, x)
	y := b.VGPR(1)
	b.VAdd(y, carried, out)
	b.VAdd(carried, y, y)
	b.SOPC(isa.S_CMP_LG_U32, reg(isa.S(2), 1), Imm(0))
	b.Branch(isa.S_CBRANCH_SCC1, top)
	b.SOPP(isa.S_ENDPGM, 0)
	if _, err := b.allocate(8); err != nil {
		t.Fatal(err)
	}
	c, tmp, sum := b.insts[0].Dst.Reg, b.insts[1].Dst.Reg, b.insts[2].Dst.Reg
	if c == tmp || c == sum {
		t.Errorf("the carried value is in %s, %s and %s are written while it lives", c, tmp, sum)
	}
	if b.nextV > 5 {
		t.Errorf("%d registers", b.nextV)
	}
}
