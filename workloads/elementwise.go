package workloads

import (
	"encoding/binary"

	"github.com/whisker-sim/whisker/isa"
)

// vectorKernel is what kernels over plain tensors share: their arguments are
// pointers to tensors of bf16, in order, and a few dwords after them.
type vectorKernel struct {
	*Builder
	built *Built
	ln    lanes
	ptr   []Val // SGPR pairs
	args  []Val // SGPRs with the dwords after the pointers
	wg    [3]Val
	s     Val // scratch SGPR quad

	bias, perm Val // gfx942: constants of the rounding
	divTemp    Val // scratch of divide
}

// newVectorKernel emits the loads of the arguments and the lane numbers.
func newVectorKernel(cpu isa.CPU, pointers, dwords int) *vectorKernel {
	v := &vectorKernel{Builder: NewBuilder(cpu, 1, 5), built: &Built{CPU: cpu, Dropped: -1}} // s[0:1] arguments, s2..s4 workgroup
	v.Cluster("setup", "other")
	kernarg := reg(isa.S(0), 2)
	for i := range v.wg {
		v.wg[i] = reg(isa.S(2+i), 1)
	}
	for i := 0; i < pointers; i += 2 {
		n := min(2, pointers-i)
		p := v.SGPR(2 * n)
		v.SLoad(p, kernarg, 8*i)
		for j := range n {
			v.ptr = append(v.ptr, p.At(2*j, 2))
		}
	}
	for i := range dwords {
		a := v.SGPR(1)
		v.SLoad(a, kernarg, 8*pointers+4*i)
		v.args = append(v.args, a)
	}
	v.ln = v.lanes()
	v.s = v.SGPR(4)
	if cpu == isa.GFX942 {
		v.bias, v.perm = v.SGPR(1), v.SGPR(1)
		v.SMov(v.bias, Imm(0x7fff))
		v.SMov(v.perm, Imm(0x07060302))
	}
	v.WaitLGKM(0)
	return v
}

// rowSRD emits a descriptor of bytes at pointer p + row*stride.
func (v *vectorKernel) rowSRD(p int, row Val, stride, bytes int) Val {
	d, base := v.SGPR(4), v.s.At(0, 2)
	v.SMulAdd64(base, v.ptr[p], row, Imm(stride), v.s.At(2, 2))
	v.srd(d, base, bytes)
	return d
}

// launch finishes the code and lays out memory: bytes of each tensor by name, in
// the order of the pointers.
func (v *vectorKernel) launch(name string, grid [3]int, waves int, tensors []tensor, dwords ...uint32) error {
	v.SOPP(isa.S_ENDPGM, 0)
	v.EndCluster()
	insts, err := v.Finish()
	if err != nil {
		return err
	}
	b := v.built
	b.Waves, b.Clusters = waves, v.clusters
	k := &isa.Kernel{Name: name, CPU: v.cpu, Insts: insts, VGPRs: v.nextV, AGPRs: v.nextA, SGPRs: v.nextS,
		Workgroup: [3]int{waves * isa.Lanes, 1, 1},
		ABI:       isa.ABI{KernargPtr: true, UserSGPRs: 2, WorkgroupID: [3]bool{true, true, true}}}
	b.Launch = &isa.Launch{Kernel: k, Workgroups: grid, Memory: isa.NewMemory()}
	for i := range tensors {
		tensors[i].addr = b.Launch.Memory.Alloc(tensors[i].name, uint64(tensors[i].bytes))
		b.Launch.Kernarg = binary.LittleEndian.AppendUint64(b.Launch.Kernarg, tensors[i].addr)
	}
	for _, d := range dwords {
		b.Launch.Kernarg = binary.LittleEndian.AppendUint32(b.Launch.Kernarg, d)
	}
	k.KernargBytes, b.Pointers = len(b.Launch.Kernarg), len(tensors)
	b.describeArgs()
	return nil
}

// BufferLoadAt emits d = 16 bytes per lane at srd + voff + offset.
func (b *Builder) BufferLoadAt(d, voff, srd Val, offset int) {
	b.Emit(isa.Inst{Op: isa.BUFFER_LOAD_DWORDX4, Enc: isa.MUBUF, Dst: d.Operand, Offset: int32(offset),
		Src: [4]isa.Operand{voff.Operand, srd.Operand, Imm(0).Operand}, Flags: isa.Offen})
}

// BufferStoreAt emits the store of 16 bytes per lane at srd + voff + offset.
func (b *Builder) BufferStoreAt(d, voff, srd Val, offset int) {
	b.Emit(isa.Inst{Op: isa.BUFFER_STORE_DWORDX4, Enc: isa.MUBUF, Offset: int32(offset),
		Src: [4]isa.Operand{voff.Operand, srd.Operand, Imm(0).Operand, d.Operand}, Flags: isa.Offen})
}

// Bf16 vectors: every operation reads and writes packed bf16, as the tile
// operations of HipKittens do on bf16 vectors, so that each result is rounded.
// Two elements a register; group registers go side by side, so that dependent
// instructions are apart.

// group is how many packed registers an operation works on at a time.
const group = 4

// unpack emits the two elements of a packed register as f32.
func (v *vectorKernel) unpack(lo, hi, src Val) {
	v.VShl(lo, src, 16)
	v.VAnd(hi, Imm(-1<<16), src)
}

// pack emits the rounding of lo and hi to bf16 into d. gfx942 has no conversion
// and rounds by integer arithmetic, for finite values; lo and hi are lost there.
func (v *vectorKernel) pack(d, lo, hi, t Val) {
	if v.cpu == isa.GFX950 {
		v.VOP3(isa.V_CVT_PK_BF16_F32, d, lo, hi)
		return
	}
	for _, x := range []Val{lo, hi} {
		v.VOP3(isa.V_BFE_U32, t, x, Imm(16), Imm(1))
		v.VOP3(isa.V_ADD3_U32, x, x, t, v.bias)
	}
	v.VOP3(isa.V_PERM_B32, d, hi, lo, v.perm)
}

// round emits the rounding of an f32 register to a bf16 value, kept as f32.
func (v *vectorKernel) round(x, t Val) {
	if v.cpu == isa.GFX950 {
		v.VOP3(isa.V_CVT_PK_BF16_F32, x, Imm(0), x)
	} else {
		v.VOP3(isa.V_BFE_U32, t, x, Imm(16), Imm(1))
		v.VOP3(isa.V_ADD3_U32, x, x, t, v.bias)
	}
	v.VAnd(x, Imm(-1<<16), x)
}

// vec is a vector of packed bf16 in registers.
type vec []Val

// vec allocates n packed registers, 16 bytes aligned as wide loads want them.
func (v *vectorKernel) vec(n int) vec {
	base := v.VGPR(n)
	x := make(vec, n)
	for i := range x {
		x[i] = base.At(i, 1)
	}
	return x
}

// wide is the four registers of load i.
func (x vec) wide(i int) Val { return x[4*i].At(0, 4) }

// vecTemps are the f32 registers of an operation on a group.
type vecTemps struct {
	a, b [2 * group]Val
	t    Val
}

func (v *vectorKernel) temps() *vecTemps {
	t := &vecTemps{t: v.VGPR(1)}
	for i := range t.a {
		t.a[i], t.b[i] = v.VGPR(1), v.VGPR(1)
	}
	return t
}

// binary emits d = x op y, element by element. With a nil y the second operand
// is the f32 register or constant k.
func (v *vectorKernel) binary(op isa.Op, d, x, y vec, k Val, t *vecTemps) {
	for g := 0; g < len(x); g += group {
		n := min(group, len(x)-g)
		for i := range n {
			v.unpack(t.a[2*i], t.a[2*i+1], x[g+i])
			if y != nil {
				v.unpack(t.b[2*i], t.b[2*i+1], y[g+i])
			}
		}
		for i := range 2 * n {
			switch {
			case y != nil:
				v.VOP2(op, t.a[i], t.a[i], t.b[i])
			case k.Reg.IsVector():
				v.VOP2(op, t.a[i], t.a[i], k)
			default:
				v.VOP2(op, t.a[i], k, t.a[i])
			}
		}
		for i := range n {
			v.pack(d[g+i], t.a[2*i], t.a[2*i+1], t.t)
		}
	}
}

// sum emits the sum of x over the elements and over the lanes of the wave into
// the f32 register d: pairwise within a lane, then by ds_bpermute. x is lost;
// lane4 holds four times the lane number.
func (v *vectorKernel) sum(d Val, x vec, lane4 Val, t *vecTemps) {
	for n := len(x); n > 1; n = (n + 1) / 2 {
		h := n / 2
		v.binary(isa.V_ADD_F32, x[:h], x[:h], x[n-h:n], Val{}, t)
	}
	v.unpack(d, t.b[0], x[0])
	v.VOP2(isa.V_ADD_F32, d, d, t.b[0])
	v.round(d, t.t)
	for k := 1; k < isa.Lanes; k *= 2 {
		v.VXor(t.a[0], Imm(4*k), lane4)
		v.Emit(isa.Inst{Op: isa.DS_BPERMUTE_B32, Enc: isa.DS, Dst: t.b[0].Operand, Src: [4]isa.Operand{t.a[0].Operand, d.Operand}})
		v.WaitLGKM(0)
		v.VOP2(isa.V_ADD_F32, d, d, t.b[0])
		v.round(d, t.t)
	}
}

// divide emits the IEEE quotient x = x / y, as compilers expand it (LLVM 22,
// lowerFDIV32).
func (v *vectorKernel) divide(x, y, den, r, num, e Val) {
	neg := func(o Val) Val { o.Mod |= isa.Neg; return o }
	one := Val{Operand: isa.Operand{Reg: isa.ConstHalf + 2, N: 1}}
	vcc := isa.Operand{Reg: isa.VCCLo, N: 2}
	scale := func(d Val, dst isa.Operand, a, b, c Val) {
		v.Emit(isa.Inst{Op: isa.V_DIV_SCALE_F32, Enc: isa.VOP3, Dst: d.Operand, SDst: dst, Src: [4]isa.Operand{a.Operand, b.Operand, c.Operand}})
	}
	scale(den, v.s.At(2, 2).Operand, y, y, x)
	v.VOP1(isa.V_RCP_F32, r, den)
	scale(num, vcc, x, y, x)
	v.VOP3(isa.V_FMA_F32, e, neg(den), r, one)
	v.VOP2(isa.V_FMAC_F32, r, e, r)
	v.VOP2(isa.V_MUL_F32, e, num, r)
	t := den // last needed in the two steps below
	u := v.divTemp
	v.VOP3(isa.V_FMA_F32, u, neg(den), e, num)
	v.VOP2(isa.V_FMAC_F32, e, u, r)
	v.VOP3(isa.V_FMA_F32, t, neg(den), e, num)
	v.VOP3(isa.V_DIV_FMAS_F32, t, t, r, e)
	v.VOP3(isa.V_DIV_FIXUP_F32, x, t, y, x)
}
