package isa

import "strings"

// RegSet is a set of registers: scalar operand codes 0..127, SCC at bit SCC,
// vector registers from V0 and accumulation registers from A0.
type RegSet [12]uint64

// Add puts n registers from r into the set.
func (s *RegSet) Add(r Reg, n int) {
	for i := 0; i < n; i++ {
		x := int(r) + i
		s[x>>6] |= 1 << (x & 63)
	}
}

// Remove takes n registers from r out of the set.
func (s *RegSet) Remove(r Reg, n int) {
	for i := 0; i < n; i++ {
		x := int(r) + i
		s[x>>6] &^= 1 << (x & 63)
	}
}

// Has reports whether any of n registers from r is in the set.
func (s *RegSet) Has(r Reg, n int) bool {
	for i := 0; i < n; i++ {
		x := int(r) + i
		if s[x>>6]>>(x&63)&1 != 0 {
			return true
		}
	}
	return false
}

// Union adds all of o and reports whether the set grew.
func (s *RegSet) Union(o *RegSet) (grew bool) {
	for i := range s {
		if n := s[i] | o[i]; n != s[i] {
			s[i] = n
			grew = true
		}
	}
	return grew
}

// Intersects reports whether the sets share a register.
func (s *RegSet) Intersects(o *RegSet) bool {
	for i := range s {
		if s[i]&o[i] != 0 {
			return true
		}
	}
	return false
}

func (s *RegSet) subtract(o *RegSet) {
	for i := range s {
		s[i] &^= o[i]
	}
}

func (s *RegSet) addOperand(o Operand) {
	if o.Present() && (o.Reg < Const0 || o.Reg.IsVector()) {
		s.Add(o.Reg, int(o.N))
	}
	switch o.Reg {
	case VCCZ:
		s.Add(VCCLo, 2)
	case ExecZ:
		s.Add(ExecLo, 2)
	case SCC:
		s.Add(SCC, 1)
	}
}

// Slice marks the instructions whose values can steer addresses, branches,
// EXEC or waits: the static backward slice of a kernel. The timing model
// executes these and only charges time for the others. When an LDS read is among
// them, as where waves meet through flags in LDS, the LDS atomics are too, and
// the LDS writes whose data is no result of a matrix instruction or a load.
// Scalar instructions are
// always executed, since they cost little; what they read is in the slice only
// if their result is. A load in the slice needs real memory: its index is in
// Loads.
type Slice struct {
	Exec  []bool
	Loads []int  // indices of vector loads and LDS reads whose data is in the slice
	Used  []bool // scalar loads and s_getreg: something in the slice reads the result
}

// NewSlice computes the slice by a backward data-flow analysis over the
// control-flow graph, with what fullExec knows of EXEC.
func NewSlice(k *Kernel) Slice { return NewSliceWithout(k, nil) }

// NewSliceWithout computes the slice with the outcomes of some branches known
// from elsewhere: what they depend on is not in it.
func NewSliceWithout(k *Kernel, known *Decisions) Slice {
	f := newFlow(k)
	wanted := func(i int) bool {
		return f.indirect || steers(&k.Insts[i], &f.class[i]) && known.Index(i) < 0
	}
	sl := f.solve(wanted, true)
	if f.readsFlag(&sl) {
		flags := f.flagWrites()
		sl = f.solve(func(i int) bool { return flags[i] || wanted(i) }, true)
	}
	for i := range k.Insts {
		u := f.class[i].Unit
		sl.Exec[i] = sl.Exec[i] || alwaysExec(u)
		if sl.Exec[i] && (u == UnitVMEM || u == UnitLDS) {
			sl.Loads = append(sl.Loads, i)
		}
	}
	return sl
}

// flow is what the analysis knows of a kernel's instructions.
type flow struct {
	k        *Kernel
	indirect bool
	effects  []Effects
	class    []Class
}

func newFlow(k *Kernel) *flow {
	n := len(k.Insts)
	f := &flow{k: k, indirect: hasIndirect(k), effects: make([]Effects, n), class: make([]Class, n)}
	full := make([]bool, n)
	if !f.indirect {
		full = fullExec(k)
	}
	for i := range k.Insts {
		f.effects[i] = EffectsOf(k.CPU, &k.Insts[i], full[i])
		f.class[i] = Classify(k.CPU, &k.Insts[i])
	}
	return f
}

// solve marks the instructions whose values reach one that is wanted for what it
// does, or an address if addresses says so.
func (f *flow) solve(wanted func(i int) bool, addresses bool) Slice {
	k, n := f.k, len(f.k.Insts)
	sl := Slice{Exec: make([]bool, n), Used: make([]bool, n)}
	want := make([]bool, n)
	for i := range want {
		want[i] = wanted(i)
	}
	liveIn := make([]RegSet, n+1)
	for changed := true; changed; {
		changed = false
		for i := n - 1; i >= 0; i-- {
			in, e, c := &k.Insts[i], &f.effects[i], &f.class[i]
			var live RegSet
			if !endsFlow(in.Op) && i+1 < n {
				live = liveIn[i+1]
			}
			if in.Target >= 0 && c.Unit == UnitBranch {
				live.Union(&liveIn[in.Target])
			}
			need := want[i] || e.Writes.Intersects(&live)
			if need {
				live.subtract(&e.Kill)
				live.Union(&e.Reads)
			}
			if addresses {
				live.Union(&e.Address)
			}
			if liveIn[i].Union(&live) {
				changed = true
			}
			sl.Exec[i] = sl.Exec[i] || need
			sl.Used[i] = sl.Used[i] || need && (c.Unit == UnitSMEM || in.Op == S_GETREG_B32)
		}
	}
	return sl
}

// readsFlag reports whether an LDS read is in the slice.
func (f *flow) readsFlag(sl *Slice) bool {
	for i, x := range sl.Exec {
		if x && f.class[i].Unit == UnitLDS && !crossbar(f.k.Insts[i].Op) {
			return true
		}
	}
	return false
}

// flagWrites marks the LDS atomics, and the LDS writes of data that no matrix
// instruction, load or LDS read has made, anywhere in the kernel: those that may
// write a flag and cost nothing to execute.
func (f *flow) flagWrites() []bool {
	var made RegSet // results of the expensive instructions and what comes of them
	for changed := true; changed; {
		changed = false
		for i := range f.k.Insts {
			u := f.class[i].Unit
			if u == UnitMFMA || u == UnitVMEM || u == UnitLDS || u == UnitVALU && f.effects[i].Reads.Intersects(&made) {
				w := f.effects[i].Writes
				w.Remove(0, int(V0)) // a scalar result, such as a flag's, is executed anyway
				changed = made.Union(&w) || changed
			}
		}
	}
	forced := make([]bool, len(f.k.Insts))
	for i := range f.k.Insts {
		c := &f.class[i]
		if c.Unit != UnitLDS || crossbar(f.k.Insts[i].Op) {
			continue
		}
		var data RegSet
		for _, o := range f.k.Insts[i].Src[1:] {
			data.addOperand(o)
		}
		forced[i] = c.Atomic || c.Store && !data.Intersects(&made)
	}
	return forced
}

// steers reports the instructions that count for what they do and not for a
// register that they write: branches, mode changes, stores by the scalar unit,
// and whatever has no unit of its own.
func steers(in *Inst, c *Class) bool {
	switch c.Unit {
	case UnitBranch:
		return true
	case UnitSALU:
		return strings.HasPrefix(opNames[in.Op], "s_setreg")
	case UnitSMEM:
		return c.Store || c.Atomic
	}
	return false
}

// hasIndirect reports whether control flow or register numbers are computed at
// run time, which the data-flow analysis cannot follow: then every instruction
// is in the slice.
func hasIndirect(k *Kernel) bool {
	for i := range k.Insts {
		s := k.Insts[i].Op.String()
		if strings.HasPrefix(s, "s_setpc") || strings.HasPrefix(s, "s_swappc") || strings.HasPrefix(s, "s_call") ||
			strings.HasSuffix(s, "_fork") || s == "s_cbranch_join" || strings.HasPrefix(s, "s_movrel") || strings.HasPrefix(s, "s_set_gpr_idx") || strings.HasPrefix(s, "s_rfe") {
			return true
		}
	}
	return false
}

func alwaysExec(u Unit) bool { return u == UnitSALU || u == UnitBranch || u == UnitSMEM }

func endsFlow(op Op) bool { return op == S_ENDPGM || op == S_BRANCH || op == S_SETPC_B64 }
