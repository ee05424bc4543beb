package workloads

import (
	"cmp"
	"math"
	"slices"

	"github.com/whisker-sim/whisker/isa"
)

// Rule 4's allocator of VGPRs, after LLVM's greedy one: values take registers
// widest first, a value that finds none free takes those of values of less
// weight, and what then has none is spilled.

// Constants of LLVM's spill weights (CalcSpillWeights.cpp, CalcSpillWeights.h,
// BranchProbabilityInfo.cpp): a loop's branch is taken 124 times of 128, so that
// its body counts 32 times; a weight is reads and writes over the length of the
// live range and 25 instructions.
const (
	loopFrequency = 32
	weightLength  = 25
)

// liveRange is where a tuple is live: a set of half slots, of which instruction
// i has 2i, where it reads, and 2i+1, where it writes. A value may have holes:
// one that is carried around a loop and not needed in its middle leaves its
// registers to others there, as LLVM's segments do.
type liveRange struct {
	tuple
	index      int // of the tuple
	slots      bitset
	start, end int // first and last half slot
	size       int // half slots
	across     bool
	weight     float64
	at         int // first register, -1: none
}

// meets reports whether two values are live at once.
func (v *liveRange) meets(o *liveRange) bool {
	from, to := max(v.start, o.start)>>6, min(v.end, o.end)>>6
	for w := from; w <= to; w++ {
		if v.slots[w]&o.slots[w] != 0 {
			return true
		}
	}
	return false
}

// liveRanges of the virtual tuples that are used; those in kept cannot be
// spilled.
func (b *Builder) liveRanges(loopStart, loopEnd int, kept map[int]bool) []*liveRange {
	of := b.tupleIndex()
	live, uses := b.liveness(len(of), func(r isa.Reg) int {
		if r < virtual0 || r == isa.RegNone {
			return -1
		}
		return int(r - virtual0)
	})
	all := make([]*liveRange, len(b.tuples))
	words := (2*len(b.insts) + 64) / 64
	at := func(r, slot int) {
		v := all[of[r]]
		if v == nil {
			v = &liveRange{tuple: b.tuples[of[r]], index: of[r], slots: make(bitset, words), start: slot, at: -1}
			all[of[r]] = v
		}
		if !v.slots.has(slot) {
			v.slots.add(slot)
			v.size++
			v.start, v.end = min(v.start, slot), max(v.end, slot)
		}
	}
	for i := range b.insts {
		live[i].each(func(r int) { at(r, 2*i) })
		for _, r := range uses[i].writes {
			at(r, 2*i+1)
		}
		next, target := b.successors(i)
		for _, s := range []int{next, target} {
			if s >= 0 {
				live[s].each(func(r int) { at(r, 2*i+1) })
			}
		}
	}
	b.weigh(all, of, uses, loopStart, loopEnd)
	for i, v := range all {
		if v != nil && kept[i] {
			v.weight = math.Inf(1)
		}
	}
	return slices.DeleteFunc(all, func(v *liveRange) bool { return v == nil })
}

// weigh computes the spill weights. The copies of one tuple are one instruction
// to LLVM, which splits them last.
func (b *Builder) weigh(all []*liveRange, of []int, uses []use, loopStart, loopEnd int) {
	seen := make([]int, len(all)) // last instruction that counted, per tuple
	count := func(regs []int, i int, f float64) {
		for _, r := range regs {
			if t := of[r]; seen[t] != i+1 {
				seen[t] = i + 1
				if op := b.insts[i].Op; op == isa.V_ACCVGPR_READ_B32 || op == isa.V_ACCVGPR_WRITE_B32 {
					all[t].weight += f / float64(all[t].n)
				} else {
					all[t].weight += f
				}
			}
		}
	}
	for i := range b.insts {
		f := 1.0
		if i >= loopStart && i < loopEnd {
			f = loopFrequency
		}
		count(uses[i].reads, i, f)
		for _, r := range uses[i].writes {
			seen[of[r]] = 0
		}
		count(uses[i].writes, i, f)
	}
	for _, v := range all {
		if v == nil {
			continue
		}
		v.weight /= float64(v.size)/2 + weightLength
		v.across = v.slots.has(2*loopStart) && loopEnd > loopStart
	}
}

// greedy places live ranges in registers.
type greedy struct {
	budget int
	free   int // registers below are the kernel's own
	in     [][]*liveRange
	spills []*liveRange
}

// place gives every live range registers or adds it to the spilled ones.
func (g *greedy) place(all []*liveRange) {
	g.in = make([][]*liveRange, g.budget)
	queue := slices.Clone(all)
	for _, v := range queue {
		v.at = -1
	}
	slices.SortStableFunc(queue, before1)
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		r, out := g.find(v)
		if r < 0 {
			g.spills = append(g.spills, v)
			continue
		}
		for _, o := range out {
			g.remove(o)
			i, _ := slices.BinarySearchFunc(queue, o, before1)
			queue = slices.Insert(queue, i, o)
		}
		v.at = r
		for k := r; k < r+v.n; k++ {
			g.in[k] = append(g.in[k], v)
		}
	}
}

// before1 is the order in which values are placed: wide ones, then those that
// the loop carries, the longest first, then by place.
func before1(x, y *liveRange) int {
	flag := func(b bool) int { return map[bool]int{true: 0, false: 1}[b] }
	k := 0
	if x.across && y.across {
		k = cmp.Compare(y.size, x.size)
	}
	return cmp.Or(cmp.Compare(y.n, x.n), cmp.Compare(flag(x.across), flag(y.across)), k, cmp.Compare(x.start, y.start), cmp.Compare(x.index, y.index))
}

func (g *greedy) remove(v *liveRange) {
	for k := v.at; k < v.at+v.n; k++ {
		g.in[k] = slices.DeleteFunc(g.in[k], func(o *liveRange) bool { return o == v })
	}
	v.at = -1
}

// find is the first run of registers that are free for v, or that whose
// heaviest holder is lightest, if it is lighter than v; out are the holders.
func (g *greedy) find(v *liveRange) (r int, out []*liveRange) {
	step := 1
	if v.n > 1 {
		step = 2
	}
	best, cost := -1, v.weight
	for r := (g.free + step - 1) / step * step; r+v.n <= g.budget; r += step {
		most, free := 0.0, true
		for k := r; k < r+v.n && most < cost; k++ {
			for _, o := range g.in[k] {
				if o.meets(v) {
					free = false
					most = max(most, o.weight)
				}
			}
		}
		if free {
			return r, nil
		}
		if most < cost {
			best, cost = r, most
		}
	}
	if best < 0 {
		return -1, nil
	}
	for k := best; k < best+v.n; k++ {
		for _, o := range g.in[k] {
			if o.meets(v) && !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	return best, out
}
