package workloads

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/whisker-sim/whisker/isa"
)

// A kernel either states its registers or takes virtual ones from VGPR after
// Virtual, which allocate assigns: liveness over the emitted code, loops
// included, then a linear scan over the live intervals.

// virtual0 is the operand code of the first virtual register; they lie above
// every real one.
const virtual0 isa.Reg = 0x1000

// tuple is a virtual value: n registers that follow each other.
type tuple struct {
	first isa.Reg
	n     int
}

// Virtual makes VGPR hand out virtual registers from now on. Wait states are
// left to allocate, which knows the real ones.
func (b *Builder) Virtual() {
	b.virtual = true
	b.states.on = false
}

// newVirtual is the next virtual tuple.
func (b *Builder) newVirtual(n int) Val {
	t := tuple{virtual0, n}
	if k := len(b.tuples); k > 0 {
		t.first = b.tuples[k-1].first + isa.Reg(b.tuples[k-1].n)
	}
	b.tuples = append(b.tuples, t)
	return reg(t.first, n)
}

// bitset is a set of small numbers.
type bitset []uint64

func (s bitset) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s bitset) del(i int)      { s[i>>6] &^= 1 << (i & 63) }
func (s bitset) has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }

// each calls f for every member, in ascending order.
func (s bitset) each(f func(i int)) {
	for w, m := range s {
		for ; m != 0; m &= m - 1 {
			f(w<<6 + bits.TrailingZeros64(m))
		}
	}
}

// use is what an instruction does to the registers that an analysis numbers.
type use struct{ reads, writes []int }

// usesOf numbers the operands of an instruction by num, which gives -1 to what
// the analysis leaves alone. Kernels of the builder write vectors with all lanes
// active, so that a write replaces the register.
func usesOf(in *isa.Inst, num func(isa.Reg) int) use {
	var u use
	add := func(to *[]int, o isa.Operand) {
		for r := o.Reg; o.Present() && r < o.Reg+isa.Reg(o.N); r++ {
			if k := num(r); k >= 0 {
				*to = append(*to, k)
			}
		}
	}
	for _, o := range in.Src {
		add(&u.reads, o)
	}
	add(&u.writes, in.Dst)
	whole := in.Sub == isa.SubDPP && in.Flags&isa.BoundCtrl != 0 && in.RowMask == 15 && in.BankMask == 15
	if isa.ReadsDst(in) && !whole {
		add(&u.reads, in.Dst)
	}
	if swaps(in.Op) {
		add(&u.writes, in.Src[0])
	}
	return u
}

// swaps reports the instructions that write their source too.
func swaps(op isa.Op) bool {
	return op == isa.V_PERMLANE16_SWAP_B32 || op == isa.V_PERMLANE32_SWAP_B32 || op == isa.V_SWAP_B32
}

// successors of instruction i: the next one, and a branch's target.
func (b *Builder) successors(i int) (next, target int) {
	next, target = i+1, -1
	if l, ok := b.branches[i]; ok {
		target = b.labels[l]
	}
	if op := b.insts[i].Op; op == isa.S_ENDPGM || op == isa.S_BRANCH {
		next = -1
	}
	return next, target
}

// liveness returns, per instruction, the numbered registers whose value is
// needed from it on, and what each instruction uses.
func (b *Builder) liveness(count int, num func(isa.Reg) int) ([]bitset, []use) {
	n, words := len(b.insts), (count+63)/64
	store := make([]uint64, (n+1)*words)
	live := make([]bitset, n+1)
	uses := make([]use, n)
	for i := range live {
		live[i] = store[i*words:][:words:words]
		if i < n {
			uses[i] = usesOf(&b.insts[i], num)
		}
	}
	now := make(bitset, words)
	for changed := true; changed; {
		changed = false
		for i := n - 1; i >= 0; i-- {
			clear(now)
			next, target := b.successors(i)
			for _, s := range []int{next, target} {
				if s >= 0 {
					for w := range now {
						now[w] |= live[s][w]
					}
				}
			}
			for _, r := range uses[i].writes {
				now.del(r)
			}
			for _, r := range uses[i].reads {
				now.add(r)
			}
			if !slices.Equal(now, live[i]) {
				copy(live[i], now)
				changed = true
			}
		}
	}
	return live, uses
}

// interval is where a tuple is live: from its first write to its last read.
type interval struct {
	tuple
	start, end int
}

// intervals of the virtual tuples that are used, by start.
func (b *Builder) intervals() []interval {
	var of []int // tuple of each virtual register
	for i, t := range b.tuples {
		for range t.n {
			of = append(of, i)
		}
	}
	live, uses := b.liveness(len(of), func(r isa.Reg) int {
		if r < virtual0 || r == isa.RegNone {
			return -1
		}
		return int(r - virtual0)
	})
	all := make([]interval, len(b.tuples))
	for i, t := range b.tuples {
		all[i] = interval{t, len(b.insts), -1}
	}
	touch := func(r, i int) {
		v := &all[of[r]]
		v.start, v.end = min(v.start, i), max(v.end, i)
	}
	for i := range b.insts {
		live[i].each(func(r int) { touch(r, i) })
		for _, r := range uses[i].writes {
			touch(r, i)
		}
	}
	all = slices.DeleteFunc(all, func(v interval) bool { return v.end < 0 })
	slices.SortStableFunc(all, func(x, y interval) int { return cmp.Compare(x.start, y.start) })
	return all
}

// again emits instruction i of b unchanged.
func (nb *Builder) again(b *Builder, i int, in isa.Inst) {
	if l, ok := b.branches[i]; ok {
		nb.Branch(in.Op, l)
		return
	}
	nb.Emit(in)
}

// full is a failed allocation: what found no place, and where.
type full struct {
	budget int
	interval
}

func (f *full) Error() string {
	return fmt.Sprintf("workloads: %d VGPRs do not hold the kernel's values: no %d registers are free at instruction %d", f.budget, f.n, f.start)
}

// allocate gives every virtual tuple real VGPRs below budget and inserts wait
// states. Tuples of more than one register start at an even one. at maps old
// instruction indices to new ones. It fails with a *full.
func (b *Builder) allocate(budget int) (at []int, err error) {
	b.EndCluster()
	home := map[isa.Reg]isa.Reg{}
	busy := make([]int, 256) // instruction after which a register is free
	for i := range busy {
		busy[i] = -1
		if i < b.nextV { // stated by the kernel
			busy[i] = len(b.insts)
		}
	}
	top := b.nextV
	all := b.intervals()
	for _, v := range all {
		r := freeRun(busy[:budget], v)
		if r < 0 {
			return nil, &full{budget, v}
		}
		for k := range v.n {
			home[v.first+isa.Reg(k)] = isa.V(r + k)
			busy[r+k] = v.end
		}
		top = max(top, r+v.n)
	}
	nb, at := b.replay(true, func(nb *Builder, i int, in isa.Inst) {
		in.Dst = place(in.Dst, home)
		for k := range in.Src {
			in.Src[k] = place(in.Src[k], home)
		}
		nb.again(b, i, in)
	})
	nb.nextV = top
	*b = *nb
	return at, nil
}

// freeRun finds the first run of registers that are free where v starts.
func freeRun(busy []int, v interval) int {
	step := 1
	if v.n > 1 {
		step = 2
	}
	for r := 0; r+v.n <= len(busy); r += step {
		ok := true
		for k := r; k < r+v.n && ok; k++ {
			ok = busy[k] < v.start
		}
		if ok {
			return r
		}
	}
	return -1
}

func place(o isa.Operand, home map[isa.Reg]isa.Reg) isa.Operand {
	if r, ok := home[o.Reg]; ok && o.Present() {
		o.Reg = r
	}
	return o
}

// replay emits the code again into a new builder, with f in place of every
// instruction but s_nop. final says that registers are real now and wait states
// are to be inserted. at has the new index of every old instruction, and of the
// end.
func (b *Builder) replay(final bool, f func(nb *Builder, i int, in isa.Inst)) (nb *Builder, at []int) {
	nb = NewBuilder(b.cpu, b.nextV, b.nextS)
	nb.nextA, nb.scratch = b.nextA, b.scratch
	if final {
		nb.states.init()
	} else {
		nb.virtual, nb.tuples = true, slices.Clone(b.tuples)
	}
	nb.labels = make([]int, len(b.labels))
	at = make([]int, len(b.insts)+1)
	here := func(i int) {
		for l, where := range b.labels {
			if where == i {
				nb.Place(Label(l))
			}
		}
		at[i] = len(nb.insts)
	}
	for i, in := range b.insts {
		here(i)
		if in.Op != isa.S_NOP {
			f(nb, i, in)
		}
	}
	here(len(b.insts))
	for _, c := range b.clusters {
		nb.clusters = append(nb.clusters, Cluster{c.Name, c.Kind, at[c.Start], at[c.End]})
	}
	nb.waits, nb.dropWait, nb.dropped = b.waits, b.dropWait, b.dropped
	return nb, at
}
