package isa

import "sort"

// Decisions are outcomes of branches, recorded by computing some workgroups of a
// launch. The timing model follows them where a branch depends on values that it
// does not compute, such as the results of matrix instructions.
//
// A workgroup that was not computed takes the outcomes of one that was: the last
// before it in dispatch order. A wave that passes a branch more often than was
// recorded finds it not taken.
type Decisions struct {
	Branches   []int // instruction indices, ascending
	Workgroups []int // that were computed, ascending
	waves      int
	taken      []outcomes // by computed workgroup, wave and branch
}

// outcomes is a bit a visit.
type outcomes struct {
	bits []uint64
	n    int
}

// NewDecisions prepares to record the branches of k for some workgroups.
func NewDecisions(k *Kernel, branches, workgroups []int) *Decisions {
	d := &Decisions{Branches: branches, Workgroups: workgroups, waves: k.Waves()}
	d.taken = make([]outcomes, len(workgroups)*d.waves*len(branches))
	return d
}

// Index is the place of an instruction in Branches, -1 if it is not there.
func (d *Decisions) Index(inst int) int {
	if d == nil {
		return -1
	}
	i := sort.SearchInts(d.Branches, inst)
	if i < len(d.Branches) && d.Branches[i] == inst {
		return i
	}
	return -1
}

func (d *Decisions) at(sample, wave, branch int) *outcomes {
	return &d.taken[(sample*d.waves+wave)*len(d.Branches)+branch]
}

// Record adds the next outcome of an instruction in a wave of a computed
// workgroup. Other instructions and workgroups are ignored.
func (d *Decisions) Record(wg, wave, inst int, taken bool) {
	b := d.Index(inst)
	s := sort.SearchInts(d.Workgroups, wg)
	if b < 0 || s == len(d.Workgroups) || d.Workgroups[s] != wg {
		return
	}
	o := d.at(s, wave, b)
	if o.n%64 == 0 {
		o.bits = append(o.bits, 0)
	}
	if taken {
		o.bits[o.n/64] |= 1 << (o.n % 64)
	}
	o.n++
}

// Taken is the outcome of visit number visit, from 0, of Branches[branch] in a
// wave of a workgroup.
func (d *Decisions) Taken(wg, wave, branch, visit int) bool {
	if len(d.Workgroups) == 0 {
		return false
	}
	s := max(0, sort.SearchInts(d.Workgroups, wg+1)-1)
	o := d.at(s, wave, branch)
	return visit < o.n && o.bits[visit/64]>>(visit%64)&1 != 0
}

// Count is how many visits were recorded and how many of them took the branch.
func (d *Decisions) Count() (visits, taken int) {
	for i := range d.taken {
		o := &d.taken[i]
		visits += o.n
		for v := range o.n {
			taken += int(o.bits[v/64] >> (v % 64) & 1)
		}
	}
	return visits, taken
}

// DataBranches lists the conditional branches whose outcome depends on the result
// of a matrix instruction: those that have one in their backward slice.
func DataBranches(k *Kernel) []int {
	hasMatrix := false
	for i := range k.Insts {
		hasMatrix = hasMatrix || Classify(k.CPU, &k.Insts[i]).Unit == UnitMFMA
	}
	if !hasMatrix || hasIndirect(k) {
		return nil
	}
	f := newFlow(k)
	var out []int
	for i := range k.Insts {
		if !conditional(&k.Insts[i], &f.class[i]) {
			continue
		}
		need := f.solve(func(j int) bool { return j == i }, false)
		for j := range need.Exec {
			if need.Exec[j] && f.class[j].Unit == UnitMFMA {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// conditional reports a branch with two ways on.
func conditional(in *Inst, c *Class) bool {
	return c.Unit == UnitBranch && in.Op != S_BRANCH && in.Target >= 0
}
