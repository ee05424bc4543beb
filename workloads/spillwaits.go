package workloads

import "github.com/whisker-sim/whisker/isa"

// Waits that spilling needs, as LLVM's SIInsertWaitcnts finds them: memory
// operations of a kind complete in order, so that a register is there once no
// more operations of its kind are outstanding than were issued after the one that
// loads it. The wait stands in front of the first instruction that names the
// register, and names that number.

// inFlight is what is outstanding at a place: for every vector register, how
// many operations were issued after the one that loads it; free is none.
type inFlight struct{ vm, lgkm [numVec]int16 }

const free = int16(1<<15 - 1)

func newInFlight() *inFlight {
	f := &inFlight{}
	for i := range numVec {
		f.vm[i], f.lgkm[i] = free, free
	}
	return f
}

// meet joins another way to the same place and reports a change: the operation
// that may be youngest counts.
func (f *inFlight) meet(o *inFlight) bool {
	changed := false
	for i := range numVec {
		if o.vm[i] < f.vm[i] {
			f.vm[i], changed = o.vm[i], true
		}
		if o.lgkm[i] < f.lgkm[i] {
			f.lgkm[i], changed = o.lgkm[i], true
		}
	}
	return changed
}

// issue counts an operation that loads regs.
func issue(q *[numVec]int16, regs []int) {
	for i, n := range q {
		if n != free {
			q[i] = n + 1
		}
	}
	for _, r := range regs {
		q[r] = 0
	}
}

// done takes out what a wait for n covers.
func done(q *[numVec]int16, n int) {
	for i, k := range q {
		if k != free && int(k) >= n {
			q[i] = free
		}
	}
}

// step needs to wait before in, whose registers are u, and what is in flight
// after it: the counts are -1 where there is nothing to wait for.
func (f *inFlight) step(b *Builder, in *isa.Inst, u use) (vm, lgkm int) {
	if in.Op == isa.S_WAITCNT {
		w := int(uint16(in.Offset))
		done(&f.vm, w&15|w>>14&3<<4)
		done(&f.lgkm, w>>8&15)
		return -1, -1
	}
	unit := isa.Classify(b.cpu, in).Unit
	v, l := free, free
	for _, r := range u.reads {
		v, l = min(v, f.vm[r]), min(l, f.lgkm[r])
	}
	for _, r := range u.writes {
		l = min(l, f.lgkm[r])
		if unit != isa.UnitVMEM { // loads of memory write in order
			v = min(v, f.vm[r])
		}
	}
	vm, lgkm = -1, -1
	if int(v) < noVM {
		vm = int(v)
		done(&f.vm, vm)
	}
	if int(l) < noLGKM {
		lgkm = int(l)
		done(&f.lgkm, lgkm)
	}
	switch unit {
	case isa.UnitVMEM:
		issue(&f.vm, u.writes)
	case isa.UnitLDS:
		issue(&f.lgkm, u.writes)
	}
	return vm, lgkm
}

// neededWaits gives the waits to insert in front of each instruction, {-1, -1}
// for none.
func (b *Builder) neededWaits() [][2]int {
	uses := make([]use, len(b.insts))
	for i := range b.insts {
		uses[i] = usesOf(&b.insts[i], func(r isa.Reg) int {
			if !r.IsVector() {
				return -1
			}
			return int(r - isa.V0)
		})
	}
	at := map[int]*inFlight{} // at the labels
	for _, i := range b.labels {
		at[i] = newInFlight()
	}
	waits := make([][2]int, len(b.insts))
	for changed := true; changed; {
		changed = false
		f := newInFlight()
		for i := range b.insts {
			if l, ok := at[i]; ok {
				changed = l.meet(f) || changed
				*f = *l
			}
			vm, lgkm := f.step(b, &b.insts[i], uses[i])
			waits[i] = [2]int{vm, lgkm}
			next, target := b.successors(i)
			if l, ok := at[target]; ok {
				changed = l.meet(f) || changed
			}
			if next < 0 {
				f = newInFlight()
			}
		}
	}
	return waits
}

// settle puts the registers of live ranges in place of the virtual ones and
// inserts waits and wait states. at maps old instruction indices to new ones.
func (b *Builder) settle(all []*liveRange) (at []int) {
	home := map[isa.Reg]isa.Reg{}
	top := b.nextV
	for _, v := range all {
		for k := range v.n {
			home[v.first+isa.Reg(k)] = isa.V(v.at + k)
		}
		top = max(top, v.at+v.n)
	}
	for i := range b.insts {
		in := &b.insts[i]
		in.Dst = place(in.Dst, home)
		for k := range in.Src {
			in.Src[k] = place(in.Src[k], home)
		}
	}
	waits := b.neededWaits()
	nb, at := b.replay(true, func(nb *Builder, i int, in isa.Inst) {
		if w := waits[i]; w[0] >= 0 || w[1] >= 0 {
			vm, lgkm := noVM, noLGKM
			if w[0] >= 0 {
				vm = w[0]
			}
			if w[1] >= 0 {
				lgkm = w[1]
			}
			nb.Wait(vm, lgkm)
		}
		nb.again(b, i, in)
	})
	nb.nextV = top
	*b = *nb
	return at
}
