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

// Effects lists what an instruction reads and writes, implicit registers
// included. Kill holds the writes that overwrite whole registers whatever EXEC
// says; a vector write under EXEC keeps the inactive lanes and kills nothing.
type Effects struct {
	Reads, Writes, Kill RegSet
	Address             RegSet // of the reads: those that form addresses, EXEC included
}

// EffectsOf analyses one instruction. It errs towards more reads and fewer
// kills, which only makes a slice larger. fullExec says that EXEC is all ones
// here, so that a vector write overwrites every lane.
func EffectsOf(cpu CPU, in *Inst, fullExec bool) Effects {
	var e Effects
	c := Classify(cpu, in)
	for _, o := range in.Src {
		e.Reads.addOperand(o)
	}
	for _, o := range in.Scale {
		e.Reads.addOperand(o)
	}
	e.Writes.addOperand(in.Dst)
	e.Writes.addOperand(in.SDst)
	switch c.Unit {
	case UnitSALU:
		e.scalar(in)
	case UnitBranch:
		e.Reads.Add(SCC, 1)
		e.Reads.Add(VCCLo, 2)
		e.Reads.Add(ExecLo, 2)
	case UnitVALU, UnitMFMA:
		e.Reads.Add(ExecLo, 2)
		e.Reads.Add(VCCLo, 2)
		if in.Enc == VOPC || in.Enc == VOP2 || in.Enc == VOP3 {
			if in.Enc == VOPC || in.SDst.Present() {
				e.Writes.Add(VCCLo, 2)
			}
		}
		if in.Enc == VOPC && isCmpx(in.Op) {
			e.Writes.Add(ExecLo, 2)
		}
		if in.Op == V_SWAP_B32 || isPermlaneSwap(in.Op) {
			e.Writes.addOperand(in.Src[0])
		}
	case UnitVMEM, UnitLDS, UnitSMEM:
		e.memory(in, c)
	}
	if c.Unit == UnitMFMA || fullExec {
		e.Kill = e.Writes
	}
	if (c.Unit != UnitMFMA && !fullExec) || ReadsDst(in) {
		e.Reads.addOperand(in.Dst)
	}
	if c.Unit == UnitSALU || c.Unit == UnitSMEM {
		e.Kill = e.Writes
	}
	return e
}

func (e *Effects) scalar(in *Inst) {
	e.Reads.Add(SCC, 1)
	e.Reads.Add(M0, 1)
	e.Reads.Add(ExecLo, 2)
	e.Reads.addOperand(in.Dst) // s_cmov, s_addk, s_bitset read it
	e.Writes.Add(SCC, 1)
	if isSaveExec(in.Op) {
		e.Writes.Add(ExecLo, 2)
	}
}

func (e *Effects) memory(in *Inst, c Class) {
	e.Reads.Add(ExecLo, 2)
	e.Address.Add(ExecLo, 2)
	n := 2 // address operands of MUBUF: vaddr, srsrc, soffset
	switch in.Enc {
	case MUBUF, SMEM:
		n = 3
	case DS:
		n = 1
	}
	for _, o := range in.Src[:n] {
		e.Address.addOperand(o)
	}
	if c.LDSDMA || in.Enc == DS {
		e.Reads.Add(M0, 1)
		e.Address.Add(M0, 1)
	}
	if in.Enc == SMEM && in.Src[2].Present() {
		e.Reads.addOperand(in.Src[2])
	}
}

// ReadsDst reports whether an instruction keeps part of its destination or
// accumulates into it.
func ReadsDst(in *Inst) bool {
	if in.Sub == SubDPP || in.Sub == SubSDWA || in.OpSel&8 != 0 {
		return true
	}
	s := opNames[in.Op]
	for _, part := range [...]string{"fmac", "dot2c", "dot4c", "dot8c", "writelane", "d16", "cvt_pk_fp8", "cvt_pk_bf8",
		"cvt_sr", "scalef32", "mixlo", "mixhi", "swap", "smfmac", "atomic", "cmpst", "mov_b32_dpp"} {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// keepsExec reports whether no instruction of the kernel writes EXEC and every
// wave starts full, so that EXEC is all ones throughout.
func keepsExec(k *Kernel) bool {
	if k.WorkgroupSize()%Lanes != 0 {
		return false
	}
	for i := range k.Insts {
		in := &k.Insts[i]
		if isSaveExec(in.Op) || isCmpx(in.Op) {
			return false
		}
		for _, o := range [...]Operand{in.Dst, in.SDst} {
			if o.Present() && o.Reg <= ExecHi && o.Reg+Reg(o.N) > ExecLo {
				return false
			}
		}
	}
	return true
}

// Slice marks the instructions whose values can steer addresses, branches,
// EXEC or waits: the static backward slice of a kernel. The timing model
// executes these and only charges time for the others. Scalar instructions are
// always in it. A load in the slice needs real memory: its index is in Loads.
type Slice struct {
	Exec  []bool
	Loads []int  // indices of vector loads and LDS reads whose data is in the slice
	Used  []bool // scalar loads: something reads the result
}

// NewSlice computes the slice by a backward data-flow analysis over the
// control-flow graph.
func NewSlice(k *Kernel) Slice {
	n := len(k.Insts)
	full := keepsExec(k)
	indirect := hasIndirect(k)
	eff := make([]Effects, n)
	cls := make([]Class, n)
	for i := range k.Insts {
		eff[i] = EffectsOf(k.CPU, &k.Insts[i], full)
		cls[i] = Classify(k.CPU, &k.Insts[i])
	}
	sl := Slice{Exec: make([]bool, n), Used: make([]bool, n)}
	liveIn := make([]RegSet, n+1)
	for changed := true; changed; {
		changed = false
		for i := n - 1; i >= 0; i-- {
			in := &k.Insts[i]
			var live RegSet
			if !endsFlow(in.Op) && i+1 < n {
				live = liveIn[i+1]
			}
			if in.Target >= 0 && cls[i].Unit == UnitBranch {
				live.Union(&liveIn[in.Target])
			}
			need := indirect || sl.Exec[i] || alwaysExec(cls[i].Unit) || eff[i].Writes.Intersects(&live)
			if cls[i].Unit == UnitSMEM && (indirect || eff[i].Writes.Intersects(&live)) {
				sl.Used[i] = true
			}
			if need && !sl.Exec[i] {
				sl.Exec[i], changed = true, true
			}
			if need {
				live.subtract(&eff[i].Kill)
				live.Union(&eff[i].Reads)
			}
			live.Union(&eff[i].Address)
			if liveIn[i].Union(&live) {
				changed = true
			}
		}
	}
	for i := range k.Insts {
		if sl.Exec[i] && (cls[i].Unit == UnitVMEM || cls[i].Unit == UnitLDS) {
			sl.Loads = append(sl.Loads, i)
		}
	}
	return sl
}

// hasIndirect reports whether control flow or register numbers are computed at
// run time, which the data-flow analysis cannot follow: then every instruction
// is in the slice.
func hasIndirect(k *Kernel) bool {
	for i := range k.Insts {
		s := opNames[k.Insts[i].Op]
		if strings.HasPrefix(s, "s_setpc") || strings.HasPrefix(s, "s_swappc") || strings.HasPrefix(s, "s_call") ||
			strings.HasPrefix(s, "s_movrel") || strings.HasPrefix(s, "s_set_gpr_idx") || strings.HasPrefix(s, "s_rfe") {
			return true
		}
	}
	return false
}

func alwaysExec(u Unit) bool { return u == UnitSALU || u == UnitBranch || u == UnitSMEM }

func endsFlow(op Op) bool { return op == S_ENDPGM || op == S_BRANCH || op == S_SETPC_B64 }

func isPermlaneSwap(op Op) bool {
	return op == V_PERMLANE16_SWAP_B32 || op == V_PERMLANE32_SWAP_B32
}

func isCmpx(op Op) bool {
	s := opNames[op]
	return len(s) > 7 && s[:7] == "v_cmpx_"
}

func isSaveExec(op Op) bool {
	s := opNames[op]
	return len(s) > 13 && (s[len(s)-13:] == "_saveexec_b64" || s[len(s)-11:] == "_wrexec_b64")
}
