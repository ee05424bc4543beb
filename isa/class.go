package isa

// Unit is the hardware unit that an instruction issues to. At most one
// instruction per category and visit issues; UnitInternal uses no unit
// (rocprofiler-compute, pipeline descriptions).
type Unit uint8

// Issue units.
const (
	UnitUnknown  Unit = iota // no timing class: running one is an error
	UnitVALU                 // vector ALU, transcendental and conversions included
	UnitMFMA                 // matrix pipe; shares the VALU's issue category
	UnitSALU                 // scalar ALU
	UnitSMEM                 // scalar memory; shares the SALU's issue category
	UnitVMEM                 // vector memory: MUBUF, FLAT, GLOBAL, SCRATCH
	UnitLDS                  // DS
	UnitBranch               // s_branch, s_cbranch_*, s_setpc, s_call
	UnitInternal             // s_nop, s_waitcnt, s_barrier, s_setprio, s_sleep, s_endpgm
	NumUnits
)

var unitNames = [NumUnits]string{"unknown", "valu", "mfma", "salu", "smem", "vmem", "lds", "branch", "internal"}

// String returns the unit's name as reports print it.
func (u Unit) String() string { return unitNames[u] }

// Class is the timing class of an instruction: everything cu needs to know
// about an opcode's cost that is not a property of the machine.
type Class struct {
	Unit Unit

	// VALU
	Trans bool // quarter rate: exp, log, rcp, rsq, sqrt, sin, cos
	// Quarter is set of other instructions at a quarter of the rate: conversions, in
	// LLVM's schedule of gfx942 and gfx950.
	Quarter bool
	Packed  bool // v_pk_*_f32 and v_dot*: never co-issue under a matrix instruction
	Double  bool // f64 arithmetic
	SGPRW   bool // writes an SGPR (v_cmp, v_readlane, carry out)

	// MFMA
	Passes  uint8 // 4 clocks each
	XDL     bool  // false for f32 and f64 matrix instructions
	ABBytes uint8 // max bytes per lane of A and B
	FLOPs   uint32

	// memory
	Load, Store, Atomic bool
	Return              bool  // writes a register
	LDSDMA              bool  // direct-to-LDS
	Bytes               uint8 // per lane and address
	TwoAddr             bool  // ds_read2, ds_write2
	Flat                bool  // counts on vmcnt and lgkmcnt
}
