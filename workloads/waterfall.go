package workloads

import "github.com/whisker-sim/whisker/isa"

// Where a load finds its buffer descriptor.
const (
	descriptorSGPR = "sgpr"
	descriptorVGPR = "vgpr"
)

// waterfall is what a loop over the lanes' descriptors needs: clang emits one
// around every buffer operation in a branch that it takes for divergent, as a
// branch on the wave's number within the workgroup is to it, because it keeps the
// descriptor in VGPRs there. All lanes have the same descriptor, so the loop turns
// once; what it costs is its instructions and their waits.
type waterfall struct {
	srd  Val // SGPR, 4: the first active lane's descriptor
	hit  Val // SGPR, 2: the lanes that have it, then EXEC before they alone were left in it
	lows Val // SGPR, 2: the lanes whose lower half is the same
	was  Val // SGPR, 2: EXEC before the loop
}

func (b *Builder) newWaterfall() *waterfall {
	return &waterfall{b.SGPR(4), b.SGPR(2), b.SGPR(2), b.SGPR(2)}
}

// toVGPRs copies a descriptor into VGPRs, the same for all lanes.
func (b *Builder) toVGPRs(srd Val) Val {
	v := b.VGPR(4)
	for i := range 4 {
		b.VOP1(isa.V_MOV_B32, v.At(i, 1), srd.At(i, 1))
	}
	return v
}

// Waterfall emits the loop of LLVM 22 (clang -O3 for gfx950) around op, which uses
// w.srd in place of the descriptor in the VGPRs desc.
func (b *Builder) Waterfall(w *waterfall, desc Val, op func()) {
	b.SOP1(isa.S_MOV_B64, w.was, execReg)
	again := b.Label()
	b.Place(again)
	for i := range 4 {
		b.VOP1(isa.V_READFIRSTLANE_B32, w.srd.At(i, 1), desc.At(i, 1))
	}
	b.Compare(isa.V_CMP_EQ_U64, w.lows, w.srd.At(0, 2), desc.At(0, 2))
	b.Nop(1) // a VALU reads an SGPR two wait states after a VALU wrote it
	b.Compare(isa.V_CMP_EQ_U64, w.hit, w.srd.At(2, 2), desc.At(2, 2))
	b.SOP2(isa.S_AND_B64, w.hit, w.lows, w.hit)
	b.SOP1(isa.S_AND_SAVEEXEC_B64, w.hit, w.hit)
	op()
	b.SOP2(isa.S_XOR_B64, execReg, execReg, w.hit)
	b.Branch(isa.S_CBRANCH_EXECNZ, again)
	b.SOP1(isa.S_MOV_B64, execReg, w.was)
}
