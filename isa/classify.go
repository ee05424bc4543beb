package isa

import "strings"

// Classify returns the timing class of an instruction on a CPU. The class has
// UnitUnknown when the CPU lacks the opcode or nothing is known about its cost.
func Classify(cpu CPU, in *Inst) Class {
	if cpu >= numCPUs || in.Op >= numOps {
		if cpu < numCPUs && in.Op.IsExtension() {
			return classifyExtension(cpu, in)
		}
		return Class{}
	}
	c := classes[cpu][in.Op]
	switch c.Unit {
	case UnitMFMA:
		if byOp[in.Op].flags&fF8F6F4 != 0 {
			c.Passes, c.ABBytes = f8f6f4Cost(c.Passes, in.CBSZ, in.BLGP)
		}
	case UnitVMEM:
		if in.Flags&LDSBit != 0 {
			c.LDSDMA, c.Return = true, false
		}
		if c.Atomic {
			c.Return = in.Flags&SC0 != 0
		}
	case UnitSMEM:
		if c.Atomic {
			c.Return = in.Flags&SC0 != 0
		}
	}
	return c
}

// classes holds the class of every opcode with its modifiers at rest.
var classes = buildClasses()

func buildClasses() (t [numCPUs][numOps]Class) {
	for i := range rows {
		r := &rows[i]
		for c := CPU(0); c < numCPUs; c++ {
			if r.cpus>>c&1 != 0 {
				t[c][r.op] = classOf(c, r)
			}
		}
	}
	return t
}

func classOf(cpu CPU, r *row) Class {
	name := r.op.String()
	slots, _ := parseSig(r.sig)
	switch r.enc {
	case SOP1, SOP2, SOPC, SOPK:
		if branchOps[r.op] {
			return Class{Unit: UnitBranch}
		}
		return Class{Unit: UnitSALU}
	case SOPP:
		switch {
		case strings.Contains(name, "branch"):
			return Class{Unit: UnitBranch}
		case strings.Contains(name, "gpr_idx"):
			return Class{Unit: UnitSALU}
		}
		return Class{Unit: UnitInternal}
	case SMEM:
		return smemClass(name, slots)
	case VOP1, VOP2, VOPC, VOP3, VOP3P:
		return valuClass(name, slots)
	case MAI:
		if strings.HasPrefix(name, "v_accvgpr") {
			return Class{Unit: UnitVALU}
		}
		return matrixClass(cpu, r, name, slots)
	case DS:
		return ldsClass(r, name, slots)
	case MUBUF, MTBUF, FLAT:
		return vmemClass(r, name, slots)
	}
	return Class{}
}

// branchOps are the scalar opcodes outside SOPP that write the PC.
var branchOps = map[Op]bool{
	S_SETPC_B64: true, S_SWAPPC_B64: true, S_CALL_B64: true, S_RFE_B64: true, S_RFE_RESTORE_B64: true,
	S_CBRANCH_G_FORK: true, S_CBRANCH_I_FORK: true, S_CBRANCH_JOIN: true,
}

func slotSize(slots []slot, kind byte) int {
	for _, s := range slots {
		if s.kind == kind {
			return int(s.n)
		}
	}
	return 0
}

func smemClass(name string, slots []slot) Class {
	c := Class{Unit: UnitSMEM}
	switch {
	case strings.Contains(name, "atomic"):
		c.Atomic = true
		c.Bytes = uint8(4 * slotSize(slots, 'r'))
	case strings.Contains(name, "store"):
		c.Store = true
		c.Bytes = uint8(4 * slotSize(slots, 'c'))
	case slotSize(slots, 'D') > 0:
		c.Load, c.Return = strings.Contains(name, "load"), true
		c.Bytes = uint8(4 * slotSize(slots, 'D'))
	}
	return c
}

// transPrefixes start the names of the quarter-rate instructions (CDNA3 ISA,
// transcendental unit; measured 16 clocks against 4).
var transPrefixes = []string{"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"}

// quarterRate are the conversions and sums of differences whose results LLVM 22's
// schedule has four passes after their issue, as those of transcendentals
// (llvm-mca; SISchedule.td, WriteFloatCvt). Conversions to bf16 pairs are not among them.
var quarterRate = map[string]bool{
	"v_cvt_f16_f32": true, "v_cvt_f32_f16": true, "v_cvt_f32_bf16": true, "v_cvt_f32_i32": true, "v_cvt_f32_u32": true,
	"v_cvt_i32_f32": true, "v_cvt_u32_f32": true, "v_cvt_flr_i32_f32": true, "v_cvt_rpi_i32_f32": true, "v_cvt_off_f32_i4": true,
	"v_cvt_f32_bf8": true, "v_cvt_f32_fp8": true, "v_cvt_pk_bf8_f32": true, "v_cvt_pk_fp8_f32": true, "v_cvt_sr_bf8_f32": true,
	"v_cvt_sr_fp8_f32": true, "v_cvt_pk_f32_fp8": true, "v_cvt_pk_f32_bf8": true, "v_qsad_pk_u16_u8": true,
}

func valuClass(name string, slots []slot) Class {
	c := Class{Unit: UnitVALU, Quarter: quarterRate[name]}
	for _, p := range transPrefixes {
		if strings.HasPrefix(name, p) {
			c.Trans = true
		}
	}
	c.Packed = strings.HasPrefix(name, "v_dot") ||
		strings.HasPrefix(name, "v_pk_") && strings.HasSuffix(name, "_f32")
	c.Double = strings.Contains(name, "_f64")
	c.SGPRW = slotSize(slots, 'R') > 0 || slotSize(slots, 'S') > 0
	return c
}

// accessBytes is the size of one lane's access at one address.
func accessBytes(name string, data int, twoAddr bool) uint8 {
	switch {
	case strings.Contains(name, "byte") || strings.Contains(name, "_u8") || strings.Contains(name, "_i8") || strings.Contains(name, "_b8") && !strings.Contains(name, "_tr_"):
		return 1
	case strings.Contains(name, "short") || strings.Contains(name, "_u16") || strings.Contains(name, "_i16") || strings.Contains(name, "_b16") && !strings.Contains(name, "_tr_"):
		return 2
	case twoAddr:
		return uint8(2 * data)
	}
	return uint8(4 * data)
}

func ldsClass(r *row, name string, slots []slot) Class {
	if r.flags&fGDS != 0 {
		return Class{} // global wave sync: nothing is known of its cost
	}
	if r.op == DS_NOP {
		return Class{Unit: UnitInternal} // no address, no data, no counter
	}
	c := Class{Unit: UnitLDS, TwoAddr: r.flags&fTwoAddr != 0}
	dst, data := slotSize(slots, 'D'), slotSize(slots, 'b')
	c.Return = dst > 0
	switch {
	case strings.HasPrefix(name, "ds_read"):
		c.Load = true
		c.Bytes = accessBytes(name, dst, c.TwoAddr)
	case strings.HasPrefix(name, "ds_write"):
		c.Store = true
		c.Bytes = accessBytes(name, data, false)
	case strings.HasPrefix(name, "ds_swizzle"), strings.Contains(name, "permute"):
		// The crossbar moves a dword a lane; nothing is stored.
		c.Load, c.Bytes = true, 4
	default:
		c.Atomic = true
		c.Bytes = uint8(4 * max(data, 1))
	}
	return c
}

func vmemClass(r *row, name string, slots []slot) Class {
	c := Class{Unit: UnitVMEM, Flat: r.enc == FLAT && r.flags&(fGlobal|fScratch) == 0}
	switch {
	case len(slots) == 0: // buffer_inv, buffer_wbl2
	case strings.Contains(name, "atomic"):
		c.Atomic = true
		c.Bytes = uint8(4 * max(slotSize(slots, 'r'), slotSize(slots, 'd')))
		if strings.Contains(name, "cmpswap") {
			c.Bytes /= 2
		}
	case strings.Contains(name, "store"):
		c.Store = true
		c.Bytes = accessBytes(name, slotSize(slots, 'd'), false)
	case strings.Contains(name, "_lds_"):
		c.Load, c.LDSDMA = true, true
		c.Bytes = accessBytes(name, ldsDwords(name), false)
	default:
		c.Load, c.Return = true, true
		c.Bytes = accessBytes(name, slotSize(slots, 'D'), false)
	}
	return c
}

// ldsDwords is the width in a direct-to-LDS load's name.
func ldsDwords(name string) int {
	switch {
	case strings.HasSuffix(name, "x4"):
		return 4
	case strings.HasSuffix(name, "x3"):
		return 3
	}
	return 1
}
