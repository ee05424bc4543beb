package workloads

import (
	"slices"

	"github.com/whisker-sim/whisker/isa"
)

// lifted makes a builder of finished code whose vector registers are virtual
// again: one tuple for each set of values that instructions name together. What
// the launch puts into registers stays where it is.
//
// A value is what one write leaves in a register for its readers; writes that
// reach one reader, and the two sides of an operand that is read and written in
// place, are one value. It works on code whose vector writes are with all lanes.
func lifted(k *isa.Kernel, clusters []Cluster) *Builder {
	b := &Builder{cpu: k.CPU, branches: map[int]Label{}, nextS: k.SGPRs, dropWait: -1, dropped: -1, scratch: k.ScratchBytes}
	b.insts, b.clusters = slices.Clone(k.Insts), slices.Clone(clusters)
	byTarget := map[int32]Label{}
	for i, in := range b.insts {
		if in.Target < 0 {
			continue
		}
		l, ok := byTarget[in.Target]
		if !ok {
			l = b.Label()
			b.labels[l] = int(in.Target)
			byTarget[in.Target] = l
		}
		b.branches[i] = l
	}
	w := newWebs(b)
	w.walk()
	w.join()
	w.rename()
	return b
}

// webs finds the values.
type webs struct {
	b      *Builder
	live   []bitset
	uses   []use
	parent []int   // union-find over values
	reg    []int   // register of a value
	cur    []int   // value of each register at the walk's place, -1: none
	reads  [][]int // per instruction, value of each entry of uses[i].reads
	writes [][]int // likewise
	after  [][]int // cur where a branch leaves, by branch
	tuple  []int   // union-find over values that are named together
	lowest []int   // of a tuple: least register
	high   []int
	entry  []bool // the value was there at the start
}

func newWebs(b *Builder) *webs {
	w := &webs{b: b}
	w.live, w.uses = b.liveness(numVec, func(r isa.Reg) int {
		if !r.IsVector() {
			return -1
		}
		return int(r - isa.V0)
	})
	w.cur = make([]int, numVec)
	n := len(b.insts)
	w.reads, w.writes, w.after = make([][]int, n), make([][]int, n), make([][]int, n)
	for r := range w.cur {
		w.cur[r] = -1
	}
	w.live[0].each(func(r int) {
		w.cur[r] = w.value(r)
		w.entry[w.cur[r]] = true
	})
	return w
}

// value makes a new value of register r.
func (w *webs) value(r int) int {
	w.parent = append(w.parent, len(w.parent))
	w.reg = append(w.reg, r)
	w.entry = append(w.entry, false)
	return len(w.parent) - 1
}

func find(p []int, x int) int {
	for p[x] != x {
		p[x] = p[p[x]]
		x = p[x]
	}
	return x
}

// same makes two values one.
func (w *webs) same(x, y int) {
	if x >= 0 && y >= 0 {
		w.parent[find(w.parent, x)] = find(w.parent, y)
	}
}

// walk numbers the values along the code and joins them where ways meet.
func (w *webs) walk() {
	b := w.b
	starts := map[int][]int{} // cur at each label
	fell := true
	for i := range b.insts {
		if slices.Contains(b.labels, i) {
			if !fell {
				for r := range w.cur {
					w.cur[r] = -1
				}
			}
			for j := range i { // jumps ahead to here
				if _, target := b.successors(j); target == i && w.after[j] != nil {
					w.meet(w.after[j], i)
				}
			}
			starts[i] = slices.Clone(w.cur)
		}
		w.step(i)
		next, target := b.successors(i)
		fell = next >= 0
		if target > i {
			w.after[i] = slices.Clone(w.cur)
		} else if target >= 0 { // back to a start that was passed
			w.live[target].each(func(r int) { w.same(w.cur[r], starts[target][r]) })
		}
	}
}

// meet joins the values of another way to instruction i with the current ones.
func (w *webs) meet(other []int, i int) {
	w.live[i].each(func(r int) {
		if w.cur[r] < 0 {
			w.cur[r] = other[r]
		} else {
			w.same(w.cur[r], other[r])
		}
	})
}

// step records what instruction i reads and writes.
func (w *webs) step(i int) {
	in, u := &w.b.insts[i], &w.uses[i]
	for _, r := range u.reads {
		if w.cur[r] < 0 { // read before any write: it has the value of the start
			w.cur[r] = w.value(r)
			w.entry[w.cur[r]] = true
		}
		w.reads[i] = append(w.reads[i], w.cur[r])
	}
	before := make([]int, len(u.writes))
	for k, r := range u.writes {
		before[k] = w.cur[r]
	}
	place := w.inPlace(in)
	for k, r := range u.writes {
		w.cur[r] = w.value(r)
		w.writes[i] = append(w.writes[i], w.cur[r])
		if place {
			w.same(w.cur[r], before[k])
		}
	}
}

// inPlace reports the instructions whose result must be in the registers of an
// operand: those that keep part of it, exchanges, and accumulation onto C.
func (w *webs) inPlace(in *isa.Inst) bool {
	if w.b.isMatrix(in) {
		return in.Src[2] == in.Dst
	}
	whole := in.Sub == isa.SubDPP && in.Flags&isa.BoundCtrl != 0 && in.RowMask == 15 && in.BankMask == 15
	return isa.ReadsDst(in) && !whole || swaps(in.Op)
}

// join groups the values that an operand names together.
func (w *webs) join() {
	w.tuple = make([]int, len(w.parent))
	for i := range w.tuple {
		w.tuple[i] = i
	}
	w.each(func(_ int, _ *isa.Operand, values []int) {
		for _, v := range values[1:] {
			w.tuple[find(w.tuple, find(w.parent, v))] = find(w.tuple, find(w.parent, values[0]))
		}
	})
	w.lowest, w.high = make([]int, len(w.parent)), make([]int, len(w.parent))
	for i := range w.lowest {
		w.lowest[i], w.high[i] = numVec, -1
	}
	for v := range w.parent {
		t := w.of(v)
		w.lowest[t], w.high[t] = min(w.lowest[t], w.reg[v]), max(w.high[t], w.reg[v])
		if w.entry[v] {
			w.entry[t] = true
		}
	}
}

// of is the tuple of value v.
func (w *webs) of(v int) int { return find(w.tuple, find(w.parent, v)) }

// each calls f for every vector operand with the values of its registers. An
// operand that is read and written in place has one set of values.
func (w *webs) each(f func(i int, o *isa.Operand, values []int)) {
	for i := range w.b.insts {
		in := &w.b.insts[i]
		pick := func(o *isa.Operand, from []int, regs []int) {
			if !o.Present() || !o.Reg.IsVector() {
				return
			}
			values := make([]int, o.N)
			for k := range values {
				values[k] = from[slices.Index(regs, int(o.Reg-isa.V0)+k)]
			}
			f(i, o, values)
		}
		for k := range in.Src {
			pick(&in.Src[k], w.reads[i], w.uses[i].reads)
		}
		pick(&in.Dst, w.writes[i], w.uses[i].writes)
	}
}

// rename puts virtual tuples in place of the registers.
func (w *webs) rename() {
	b := w.b
	b.virtual = true
	to := map[int]Val{}
	w.each(func(_ int, o *isa.Operand, values []int) {
		t := w.of(values[0])
		if w.entry[t] {
			b.nextV = max(b.nextV, w.high[t]+1)
			return
		}
		v, ok := to[t]
		if !ok {
			v = b.newVirtual(w.high[t] - w.lowest[t] + 1)
			to[t] = v
		}
		o.Reg = v.Reg + isa.Reg(w.reg[values[0]]-w.lowest[t])
	})
	for i := range b.insts { // C and D are one file again
		if b.isMatrix(&b.insts[i]) {
			b.insts[i].Flags &^= isa.AccCD
		}
	}
}
