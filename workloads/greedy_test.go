package workloads

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// loopOf emits a loop over the body.
func loopOf(b *Builder, body func()) (start, end int) {
	top := b.Label()
	b.Place(top)
	start = len(b.insts)
	body()
	b.SOPC(isa.S_CMP_LG_U32, reg(isa.S(2), 1), Imm(0))
	b.Branch(isa.S_CBRANCH_SCC1, top)
	return start, len(b.insts)
}

// placed4 is what the allocator makes of code in a budget.
func placed4(b *Builder, start, end, budget int) (*greedy, []*liveRange) {
	g := &greedy{budget: budget, free: b.nextV}
	all := b.liveRanges(start, end, nil)
	g.place(all)
	return g, all
}

// A value that is read ahead at a loop's end and used at its start leaves its
// registers to others in between.
func TestGreedyUsesHoles(t *testing.T) {
	b := NewBuilder(isa.GFX950, 1, 5)
	b.Virtual()
	ahead := b.VGPR(4)
	fill := func(v Val) {
		for k := range int(v.N) {
			b.VOP1(isa.V_MOV_B32, v.At(k, 1), Imm(1))
		}
	}
	sum := b.VGPR(1)
	use := func(v Val) {
		for k := range int(v.N) {
			b.VAdd(sum, v.At(k, 1), sum)
		}
	}
	fill(ahead)
	b.VOP1(isa.V_MOV_B32, sum, Imm(0))
	start, end := loopOf(b, func() {
		use(ahead)
		x := b.VGPR(4)
		fill(x)
		use(x)
		fill(ahead)
	})
	use(ahead)
	b.SOPP(isa.S_ENDPGM, 0)
	g, all := placed4(b, start, end, 8)
	if len(g.spills) > 0 {
		t.Fatalf("%d values spilled: v0, the sum and four registers for both values fit", len(g.spills))
	}
	for i, v := range all {
		for _, o := range all[:i] {
			if v.at < o.at+o.n && o.at < v.at+v.n && v.meets(o) {
				t.Errorf("v%d+%d and v%d+%d are live at once", v.at, v.n, o.at, o.n)
			}
		}
	}
}

// Where registers run out, a value of a loop that is used once and lives through
// all of it goes to scratch, not one that is made and used at once, wherever
// their next uses lie.
func TestGreedySpillsByWeight(t *testing.T) {
	b := NewBuilder(isa.GFX950, 1, 5)
	b.Virtual()
	constant, sum := b.VGPR(4), b.VGPR(1)
	for k := range 4 {
		b.VOP1(isa.V_MOV_B32, constant.At(k, 1), Imm(1))
	}
	b.VOP1(isa.V_MOV_B32, sum, Imm(0))
	start, end := loopOf(b, func() {
		x := b.VGPR(4)
		for k := range 4 {
			b.VOP1(isa.V_MOV_B32, x.At(k, 1), Imm(k))
		}
		b.VAdd(sum, constant.At(0, 1), sum) // nearer than the uses of x
		for k := range 4 {
			b.VAdd(sum, x.At(k, 1), sum)
		}
		for range 20 {
			b.VAdd(sum, sum, sum)
		}
	})
	b.SOPP(isa.S_ENDPGM, 0)
	g, _ := placed4(b, start, end, 8)
	if len(g.spills) != 1 || g.spills[0].first != constant.Reg {
		t.Fatalf("%d values spilled, want the one that the loop only reads", len(g.spills))
	}
}

// A reload waits for itself and what was issued before it: vmcnt is the number of
// operations issued since, around the loop too.
func TestNeededWaits(t *testing.T) {
	b := NewBuilder(isa.GFX950, 40, 20)
	v := func(i, n int) Val { return reg(isa.V(i), n) }
	fill := func() { b.BufferLoadLDS(v(1, 1), reg(isa.S(8), 4), reg(isa.S(3), 1)) }
	want := map[int][2]int{}
	expect := func(vm, lgkm int) { want[len(b.insts)] = [2]int{vm, lgkm} }
	fill() // older: a wait for the reload covers it
	loopOf(b, func() {
		expect(2, -1) // from the loop's end, before the fill and the reload there
		b.VAdd(v(30, 1), v(24, 1), v(24, 1))
		b.scratchOp(v(10, 4), 0, false)
		fill()
		fill()
		expect(2, -1)
		b.VAdd(v(2, 1), v(10, 1), v(10, 1))
		b.VAdd(v(2, 1), v(11, 1), v(11, 1)) // it is there
		b.DSRead(isa.DS_READ_B128, v(20, 4), v(1, 1), 0)
		b.DSRead(isa.DS_READ_B32, v(3, 1), v(1, 1), 0)
		expect(-1, 1)
		b.scratchOp(v(20, 4), 16, true)
		b.WaitLGKM(0)
		b.VAdd(v(2, 1), v(3, 1), v(3, 1)) // the code's own wait
		b.scratchOp(v(24, 4), 32, false)
		fill()
		b.scratchOp(v(12, 1), 48, false)
	})
	expect(2, -1)
	b.VAdd(v(2, 1), v(24, 1), v(24, 1))
	b.SOPP(isa.S_ENDPGM, 0)
	for i, got := range b.neededWaits() {
		w, ok := want[i]
		if !ok {
			w = [2]int{-1, -1}
		}
		if got != w {
			t.Errorf("in front of instruction %d, %s: vmcnt %d, lgkmcnt %d, want %d and %d", i, b.insts[i].Text(isa.GFX950), got[0], got[1], w[0], w[1])
		}
	}
}
