package workloads

import (
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads/reference"
)

// NormSpec says which fused dropout, residual add and layer normalization to
// build: per row of D elements, r = dropout(x) + residual is stored, and
// (r - mean(r)) / sqrt(var(r) + 1e-5) * weight + bias.
type NormSpec struct {
	Batch, Seq, Dim int
	Dropout         float64 // probability of an element to be dropped
	Seed            uint64  // of the inputs, and the key of the dropout
}

const normEps = 1e-5

// Shape of the kernel: 4 waves, a row each; a load is 16 bytes a lane.
const (
	normWaves   = 4
	normPerLoad = 8 * isa.Lanes // elements
	normMaxDim  = 4096
)

func (s NormSpec) check() error {
	switch {
	case s.Dim%normPerLoad != 0 || s.Dim > normMaxDim || s.Dim <= 0:
		return fmt.Errorf("layernorm: dim %d; a wave holds a row as 16-byte loads of 64 lanes: dim must be a multiple of %d up to %d", s.Dim, normPerLoad, normMaxDim)
	case s.Seq <= 0 || s.Seq%normWaves != 0:
		return fmt.Errorf("layernorm: seq %d; a workgroup takes %d rows: seq must be a positive multiple of %d", s.Seq, normWaves, normWaves)
	case s.Batch <= 0:
		return fmt.Errorf("layernorm: batch %d; it must be positive", s.Batch)
	case !(s.Dropout >= 0 && s.Dropout < 1):
		return fmt.Errorf("layernorm: dropout %g; it must be at least 0 and below 1", s.Dropout)
	case int64(s.Batch)*int64(s.Seq) > 1<<26:
		return fmt.Errorf("layernorm: %d rows; at most %d have dropout counters of their own", int64(s.Batch)*int64(s.Seq), 1<<26)
	}
	return nil
}

// layernorm is the kernel (HipKittens' fused layer norm): no LDS, no barrier,
// bf16 arithmetic that rounds after every operation.
type layernorm struct {
	*vectorKernel
	s              NormSpec
	n              int // loads of a row
	voff           [2]Val
	srd            [6]Val // x, residual, weight, bias, o_resid, o
	lane4, thread  Val
	prob, keep     Val // SGPR: f32 drop probability; 1/(1-p) as a bf16 value
	x, r, w, b     vec
	t              *vecTemps
	rng            *philox
	drop           [4]Val // SGPR pairs: lanes that keep an element
	mean, variance Val
}

// Arguments after the pointers.
const (
	normSeedLo = iota
	normSeedHi
	normProb
	normScale
	normArgs
)

// LayerNorm builds the kernel for cpu.
func LayerNorm(cpu isa.CPU, s NormSpec) (*Built, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	l := &layernorm{vectorKernel: newVectorKernel(cpu, 6, normArgs), s: s, n: s.Dim / normPerLoad}
	l.setup()
	l.dropout()
	l.residual()
	l.normalize()
	l.finishNorm()
	return l.built, l.wrap()
}

// setup computes the wave's row and allocates registers.
func (l *layernorm) setup() {
	row, d := l.SGPR(1), 2*l.s.Dim
	l.SMul(row, l.wg[1], Imm(l.s.Seq))
	t := l.SGPR(1)
	l.SOP2(isa.S_LSHL_B32, t, l.wg[0], Imm(2))
	l.SAdd(row, row, t)
	l.SAdd(row, row, l.ln.wave)
	for i := range l.srd {
		if i == 2 || i == 3 { // weight and bias: one row for all
			l.srd[i] = l.SGPR(4)
			l.srdOf(i, d)
			continue
		}
		l.srd[i] = l.rowSRD(i, row, d, d)
	}
	l.voff = [2]Val{l.VGPR(1), l.VGPR(1)}
	l.VShl(l.voff[0], l.ln.lane, 4)
	l.VAdd(l.voff[1], Imm(4096), l.voff[0])
	l.lane4, l.thread = l.VGPR(1), l.VGPR(1)
	l.VShl(l.lane4, l.ln.lane, 2)
	l.SOP2(isa.S_LSHL_B32, t, row, Imm(6))
	l.VAdd(l.thread, t, l.ln.lane)
	l.prob, l.keep = l.args[normProb], l.args[normScale]
	l.rng = l.newPhilox(l.args[normSeedLo], l.args[normSeedHi])
	for i := range l.drop {
		l.drop[i] = l.SGPR(2)
	}
	l.x, l.r, l.w, l.b = l.vec(4*l.n), l.vec(4*l.n), l.vec(4*l.n), l.vec(4*l.n)
	l.t = l.temps()
	l.divTemp = l.VGPR(1)
	l.mean, l.variance = l.VGPR(1), l.VGPR(1)
}

// srdOf emits the descriptor of bytes at pointer i.
func (l *layernorm) srdOf(i, bytes int) { l.Builder.srd(l.srd[i], l.ptr[i], bytes) }

// load emits the loads of a row into x.
func (l *layernorm) load(x vec, tensor int) {
	for i := range l.n {
		l.BufferLoadAt(x.wide(i), l.voff[i/4], l.srd[tensor], i%4*1024)
	}
}

// store emits the stores of a row.
func (l *layernorm) store(x vec, tensor int) {
	for i := range l.n {
		l.BufferStoreAt(x.wide(i), l.voff[i/4], l.srd[tensor], i%4*1024)
	}
}

// dropout loads x, asks for the residual, and drops elements of x: element e of
// a lane has word e%4 of the block whose counter starts with e/4.
func (l *layernorm) dropout() {
	l.Cluster("load", "memory")
	l.load(l.x, 0)
	l.WaitVM(0)
	l.load(l.r, 1)
	l.Cluster("dropout", "compute")
	for k := range 2 * l.n {
		u := l.rng.block(l.vectorKernel, k, l.thread)
		for i, w := range u { // uniform in [0, 1)
			l.VOP1(isa.V_CVT_F32_U32, l.t.b[i], w)
		}
		for i := range u {
			l.VOP2(isa.V_MUL_F32, l.t.b[i], Imm(0x2f800000), l.t.b[i])
		}
		for i := range u {
			l.VOP3(isa.V_CMP_LE_F32, l.drop[i], l.prob, l.t.b[i])
		}
		d := [2]Val{l.x[2*k], l.x[2*k+1]}
		for i := range d {
			l.unpack(l.t.a[2*i], l.t.a[2*i+1], d[i])
		}
		for i := range u {
			l.VOP3(isa.V_CNDMASK_B32, l.t.a[i], Imm(0), l.t.a[i], l.drop[i])
		}
		for i := range u {
			l.VOP2(isa.V_MUL_F32, l.t.a[i], l.keep, l.t.a[i])
		}
		for i := range d {
			l.pack(d[i], l.t.a[2*i], l.t.a[2*i+1], l.t.t)
		}
	}
}

// residual adds the residual, stores the sum and asks for weight and bias.
func (l *layernorm) residual() {
	l.Cluster("residual", "memory")
	l.WaitVM(0)
	l.load(l.w, 2)
	l.load(l.b, 3)
	l.binary(isa.V_ADD_F32, l.r, l.r, l.x, Val{}, l.t)
	l.store(l.r, 4)
}

// normalize subtracts the mean and divides by the deviation.
func (l *layernorm) normalize() {
	l.Cluster("statistics", "compute")
	for i := range l.x {
		l.VOP1(isa.V_MOV_B32, l.x[i], l.r[i])
	}
	inv := Imm(int(math.Float32bits(1 / float32(l.s.Dim))))
	l.sum(l.mean, l.x, l.lane4, l.t)
	l.VOP2(isa.V_MUL_F32, l.mean, inv, l.mean)
	l.round(l.mean, l.t.t)
	l.binary(isa.V_SUB_F32, l.r, l.r, nil, l.mean, l.t)
	l.binary(isa.V_MUL_F32, l.x, l.r, l.r, Val{}, l.t)
	l.sum(l.variance, l.x, l.lane4, l.t)
	l.VOP2(isa.V_MUL_F32, l.variance, inv, l.variance)
	l.round(l.variance, l.t.t)
	l.VOP2(isa.V_ADD_F32, l.variance, Imm(int(math.Float32bits(normEps))), l.variance)
	l.VOP1(isa.V_SQRT_F32, l.variance, l.variance)
	l.Nop(1) // a transcendental's result needs one wait state (LLVM 22)
	l.round(l.variance, l.t.t)
}

// finishNorm divides by the deviation, applies weight and bias, and stores.
func (l *layernorm) finishNorm() {
	l.Cluster("divide", "compute")
	t := l.t
	for g := range l.r {
		l.unpack(t.a[0], t.a[1], l.r[g])
		l.divide(t.a[0], l.variance, t.b[0], t.b[1], t.b[2], t.b[3])
		l.divide(t.a[1], l.variance, t.b[0], t.b[1], t.b[2], t.b[3])
		l.pack(l.r[g], t.a[0], t.a[1], t.t)
	}
	l.Cluster("scale", "memory")
	l.WaitVM(0)
	l.binary(isa.V_MUL_F32, l.r, l.r, l.w, Val{}, t)
	l.binary(isa.V_ADD_F32, l.r, l.r, l.b, Val{}, t)
	l.store(l.r, 5)
}

// wrap finishes the code and its launch.
func (l *layernorm) wrap() error {
	s := l.s
	n := s.Batch * s.Seq * s.Dim * 2
	tensors := []tensor{{name: "x", bytes: n}, {name: "residual", bytes: n}, {name: "weight", bytes: 2 * s.Dim}, {name: "bias", bytes: 2 * s.Dim},
		{name: "o_resid", bytes: n}, {name: "o", bytes: n}}
	keep := bf16Round(1 / (1 - s.Dropout))
	err := l.launch(fmt.Sprintf("layernorm_%d_%s", s.Dim, l.cpu), [3]int{s.Seq / normWaves, s.Batch, 1}, normWaves, tensors,
		uint32(s.Seed), uint32(s.Seed>>32), math.Float32bits(float32(s.Dropout)), math.Float32bits(float32(keep)))
	if err != nil {
		return err
	}
	d := &normData{NormSpec: s, mem: l.built.Launch.Memory, t: tensors}
	l.built.data(d.fill, d.expect)
	l.built.Outputs = []string{"o_resid", "o"}
	return nil
}

// bf16Round is x rounded to bf16.
func bf16Round(x float64) float64 {
	return float64(math.Float32frombits(uint32(bf16Bits(float32(x))) << 16))
}

// normData is the memory side of the kernel.
type normData struct {
	NormSpec
	mem    *isa.Memory
	t      []tensor
	filled bool
}

func (d *normData) fill() {
	rows := d.Batch * d.Seq
	for i, n := range []int{rows * d.Dim, rows * d.Dim, d.Dim, d.Dim} {
		fillNormal(d.mem, d.t[i].addr, n, d.Seed, uint64(i)+1)
	}
	d.filled = true
}

// Kept reports whether dropout keeps element col of a row.
func (s NormSpec) Kept(row, col int) bool {
	lane, e := col%normPerLoad/8, col/normPerLoad*8+col%8
	thread := uint32(row*isa.Lanes + lane)
	w := Philox([4]uint32{uint32(e / 4), 0, thread, 0}, [2]uint32{uint32(s.Seed), uint32(s.Seed >> 32)})
	return float32(s.Dropout) <= float32(w[e%4])*0x1p-32
}

// expect gives both outputs' float64 reference, all rows or a sample.
func (d *normData) expect(yield func(Expected)) error {
	if !d.filled {
		return errNotFilled("layernorm")
	}
	step := sampleStep(d.Batch*d.Seq, 100*float64(d.Dim), 1<<30)
	buf := make([][]float64, 4)
	for i := range buf {
		buf[i] = make([]float64, d.Dim)
		readBF16(d.mem, d.t[i].addr, buf[i])
	}
	op, err := reference.Find("layernorm")
	if err != nil {
		return err
	}
	want := make([]float64, d.Dim)
	for row := 0; row < d.Batch*d.Seq; row += step {
		for _, i := range []int{0, 1} {
			readBF16(d.mem, d.t[i].addr+uint64(2*d.Dim*row), buf[i])
		}
		for c, x := range buf[0] {
			if buf[0][c] = 0; d.Kept(row, c) {
				buf[0][c] = x / (1 - d.Dropout)
			}
		}
		line := func(i int) reference.Tensor { return reference.Tensor{Shape: []int{1, d.Dim}, Data: buf[i]} }
		flat := func(i int) reference.Tensor { return reference.Tensor{Shape: []int{d.Dim}, Data: buf[i]} }
		ref, err := op.Apply(map[string]reference.Tensor{"x": line(0), "residual": line(1), "weight": flat(2), "bias": flat(3)},
			[]int{1, d.Dim}, map[string]float64{"eps": normEps})
		if err != nil {
			return err
		}
		ref.Row(0, want)
		for c := range buf[0] {
			buf[0][c] += buf[1][c]
		}
		for i, v := range [][]float64{buf[0], want} {
			yield(Expected{Addr: d.t[4+i].addr + uint64(2*d.Dim*row), Type: BF16, Want: v, Scale: rms(v)})
		}
	}
	return nil
}
