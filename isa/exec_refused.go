package isa

// The opcodes that decode and print but that a compute kernel cannot use: each
// has a reason, which the error of running one and the coverage list give.

const (
	whyGWS   = "global wave sync needs a GWS allocation that only the driver makes for a queue; a launch has none"
	whyTrap  = "only a trap handler may run it"
	whyFork  = "no compiler emits the fork and join stack of gfx9, and LLVM has no code that uses it"
	whyScale = "it only has a meaning as the first half of a 16-byte v_mfma_scale, which decodes as one instruction"
)

var refused = map[Op]string{
	DS_GWS_BARRIER:             whyGWS,
	DS_GWS_INIT:                whyGWS,
	DS_GWS_SEMA_BR:             whyGWS,
	DS_GWS_SEMA_P:              whyGWS,
	DS_GWS_SEMA_RELEASE_ALL:    whyGWS,
	DS_GWS_SEMA_V:              whyGWS,
	S_RFE_B64:                  whyTrap,
	S_RFE_RESTORE_B64:          whyTrap,
	S_SETKILL:                  whyTrap,
	S_CBRANCH_G_FORK:           whyFork,
	S_CBRANCH_I_FORK:           whyFork,
	S_CBRANCH_JOIN:             whyFork,
	S_SETVSKIP:                 "no compiler emits vector skipping; EXEC branches do its work",
	S_ENDPGM_ORDERED_PS_DONE:   "it ends a pixel shader",
	V_SCREEN_PARTITION_4SE_B32: "it maps pixels to the shader engines of a display pipeline, which these chips do not have",
	V_MFMA_LD_SCALE_B32:        whyScale,
}

// Refused says why an opcode without semantics cannot be run in a compute
// kernel; it is empty where nothing speaks against it.
func Refused(op Op) string { return refused[op] }
