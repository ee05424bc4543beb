package isa

import "strings"

// Effects lists what an instruction reads and writes, implicit registers
// included. Kill holds the writes that overwrite whole registers; a vector write
// under a partial EXEC keeps the inactive lanes and kills nothing. Address holds
// those of the reads that decide where memory is accessed and by which lanes.
type Effects struct {
	Reads, Writes, Kill RegSet
	Address             RegSet
}

// EffectsOf analyses one instruction. It errs towards more reads and fewer
// kills, which only makes a slice larger. fullExec says that EXEC is all ones
// here: then it is not read, and a vector write overwrites every lane.
func EffectsOf(cpu CPU, in *Inst, fullExec bool) Effects {
	if in.Op.IsExtension() {
		return extensionEffects(in)
	}
	var e Effects
	c := Classify(cpu, in)
	name := opNames[in.Op]
	for _, o := range in.Src {
		e.Reads.addOperand(o)
	}
	for _, o := range in.Scale {
		e.Reads.addOperand(o)
	}
	e.Writes.addOperand(in.Dst)
	e.Writes.addOperand(in.SDst)
	switch c.Unit {
	case UnitSALU, UnitBranch:
		e.scalar(in, name)
		e.Kill = e.Writes
	case UnitSMEM:
		e.memory(in, c, name)
		e.Kill = e.Writes
	case UnitVMEM, UnitLDS:
		if !fullExec {
			e.Address.Add(ExecLo, 2)
		}
		e.memory(in, c, name)
	case UnitVALU, UnitMFMA:
		e.vector(in, name)
	}
	if c.Unit == UnitVALU || c.Unit == UnitVMEM || c.Unit == UnitLDS {
		if !fullExec {
			e.Reads.Add(ExecLo, 2)
		}
		e.Kill = e.Writes
		if !fullExec {
			for i := int(V0) >> 6; i < len(e.Kill); i++ {
				e.Kill[i] = 0
			}
		}
	}
	if c.Unit == UnitMFMA { // matrix instructions ignore EXEC
		e.Kill = e.Writes
	}
	if keepsDst(in) {
		e.Reads.addOperand(in.Dst)
	}
	return e
}

// scalar adds what scalar instructions and branches use without naming it.
func (e *Effects) scalar(in *Inst, name string) {
	switch in.Enc {
	case SOPK:
		// The one register field is read by compares, adds, multiplies, conditional
		// moves and s_setreg; s_movk and s_getreg only write it.
		if in.Op != S_MOVK_I32 && in.Op != S_GETREG_B32 && in.Op != S_CALL_B64 {
			e.Reads.addOperand(in.Dst)
		}
		if in.Op == S_SETREG_B32 || strings.HasPrefix(name, "s_cmpk") {
			e.Writes = RegSet{}
		}
	case SOP1:
		if strings.HasPrefix(name, "s_bitset") || strings.HasPrefix(name, "s_cmov") {
			e.Reads.addOperand(in.Dst)
		}
	}
	if readsSCC(in.Op, name) {
		e.Reads.Add(SCC, 1)
	}
	if writesSCC(in, name) {
		e.Writes.Add(SCC, 1)
	}
	switch {
	case in.Op == S_GETREG_B32: // STATUS holds what VCC and EXEC being zero says
		e.Reads.Add(VCCLo, 2)
		e.Reads.Add(ExecLo, 2)
	case strings.HasPrefix(name, "s_cbranch_vcc"):
		e.Reads.Add(VCCLo, 2)
	case strings.HasPrefix(name, "s_cbranch_exec"):
		e.Reads.Add(ExecLo, 2)
	case isSaveExec(in.Op):
		e.Reads.Add(ExecLo, 2)
		e.Writes.Add(ExecLo, 2)
	case strings.HasPrefix(name, "s_movrel"), strings.HasPrefix(name, "s_set_gpr_idx"):
		e.Reads.Add(M0, 1)
	}
}

func readsSCC(op Op, name string) bool {
	for _, p := range [...]string{"s_addc", "s_subb_", "s_cselect", "s_cmov", "s_cbranch_scc", "s_getreg"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// leaveSCC starts the names of the scalar operations without a carry, a
// comparison or a test for zero.
var leaveSCC = [...]string{
	"s_mov", "s_cmov", "s_cselect", "s_mul", "s_bfm", "s_pack", "s_ff0", "s_ff1", "s_flbit", "s_brev", "s_sext",
	"s_bitset", "s_bitreplicate", "s_getpc", "s_getreg", "s_setreg", "s_set", "s_swappc", "s_call", "s_rfe", "s_cbranch", "s_branch",
}

func writesSCC(in *Inst, name string) bool {
	for _, p := range leaveSCC {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	return true
}

// vector adds what vector instructions use without naming it: VCC where the
// short encodings imply it, and EXEC for v_cmpx.
func (e *Effects) vector(in *Inst, name string) {
	switch {
	case strings.HasPrefix(name, "v_div_fmas"):
		e.Reads.Add(VCCLo, 2)
	case strings.HasPrefix(name, "v_addc"), strings.HasPrefix(name, "v_subb"), strings.HasPrefix(name, "v_cndmask"):
		if !in.Src[2].Present() {
			e.Reads.Add(VCCLo, 2)
		}
	}
	if isCompare(in.Op) && !in.Dst.Present() ||
		!in.SDst.Present() && (strings.Contains(name, "_co_") || strings.HasPrefix(name, "v_div_scale") || strings.HasPrefix(name, "v_mad_u64") || strings.HasPrefix(name, "v_mad_i64")) {
		e.Writes.Add(VCCLo, 2)
	}
	if isCmpx(in.Op) {
		e.Writes.Add(ExecLo, 2)
	}
	if in.Op == V_SWAP_B32 || isPermlaneSwap(in.Op) {
		e.Writes.addOperand(in.Src[0])
	}
}

// crossbar reports the DS instructions that move data between lanes and touch
// no LDS: their sources are data, whatever they are called.
func crossbar(op Op) bool {
	return op == DS_SWIZZLE_B32 || op == DS_BPERMUTE_B32 || op == DS_PERMUTE_B32
}

func (e *Effects) memory(in *Inst, c Class, name string) {
	n := 2 // address operands of FLAT: vaddr, saddr
	switch in.Enc {
	case MUBUF, MTBUF: // vaddr, srsrc, soffset
		n = 3
	case DS:
		n = 1
		if crossbar(in.Op) {
			return
		}
		if strings.Contains(name, "addtid") || in.Op == DS_APPEND || in.Op == DS_CONSUME || strings.Contains(name, "gws") {
			e.Reads.Add(M0, 1)
			e.Address.Add(M0, 1)
		}
	}
	for _, o := range in.Src[:n] {
		e.Address.addOperand(o)
	}
	if c.LDSDMA {
		e.Reads.Add(M0, 1)
		e.Address.Add(M0, 1)
	}
	if in.Enc == FLAT && in.Flags&SegGlobal == 0 {
		e.Reads.Add(FlatScratchLo, 2)
		e.Address.Add(FlatScratchLo, 2)
	}
	if c.Atomic && in.Dst.Present() {
		e.Reads.addOperand(in.Dst) // scalar atomics have their data there
	}
}

// keepsDst reports whether the destination after an instruction depends on what
// it held before, with every lane active.
func keepsDst(in *Inst) bool {
	if !ReadsDst(in) {
		return false
	}
	if in.OpSel&8 == 0 && !partial(opNames[in.Op]) {
		switch in.Sub {
		case SubDPP: // with bound_ctrl and all rows and banks every lane is written
			return in.Flags&BoundCtrl == 0 || in.RowMask != 15 || in.BankMask != 15
		case SubSDWA: // 2 is UNUSED_PRESERVE
			return in.DstUnused == 2 && in.DstSel < 6
		}
	}
	return true
}

// ReadsDst reports whether an instruction keeps part of its destination or
// accumulates into it, as a scoreboard sees it.
func ReadsDst(in *Inst) bool {
	return in.Sub == SubDPP || in.Sub == SubSDWA || in.OpSel&8 != 0 || partial(in.Op.String())
}

// partial reports the opcodes that keep part of their destination or accumulate
// into it in every form.
func partial(name string) bool {
	for _, part := range [...]string{"fmac", "v_mac_", "pkaccum", "dot2c", "dot4c", "dot8c", "writelane", "d16", "cvt_pk_fp8", "cvt_pk_bf8",
		"cvt_sr", "scalef32", "mixlo", "mixhi", "swap", "smfmac", "atomic", "cmpst", "mov_b32_dpp"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

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

func isWrExec(op Op) bool { return strings.HasSuffix(opNames[op], "_wrexec_b64") }
