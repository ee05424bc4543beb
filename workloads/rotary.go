package workloads

import (
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads/reference"
)

// RotarySpec says which rotary embedding to build: over (batch, heads, seq, dim),
// the halves x1, x2 of each row become x1 cos - x2 sin and x2 cos + x1 sin, with
// cos and sin of (seq, dim/2).
type RotarySpec struct {
	Batch, Heads, Seq, Dim int
	Seed                   uint64 // of the inputs
}

// rotaryRows is how many tokens a workgroup, which is one wave, turns.
const rotaryRows = 32

func (s RotarySpec) check() error {
	switch {
	case s.Dim != 64 && s.Dim != 128:
		return fmt.Errorf("rotary: dim %d; a row is held as two halves of 32 or 64 columns: dim is 64 or 128", s.Dim)
	case s.Seq <= 0 || s.Seq%rotaryRows != 0:
		return fmt.Errorf("rotary: seq %d; a workgroup turns %d tokens: seq must be a positive multiple of %d", s.Seq, rotaryRows, rotaryRows)
	case s.Batch <= 0 || s.Heads <= 0:
		return fmt.Errorf("rotary: batch %d, heads %d; both must be positive", s.Batch, s.Heads)
	}
	return nil
}

// Rotary builds the kernel for cpu: HipKittens' rotary embedding, one wave a
// workgroup, tiles of 16x32 elements a load, bf16 arithmetic that rounds after
// every operation.
func Rotary(cpu isa.CPU, s RotarySpec) (*Built, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	v := newVectorKernel(cpu, 4, 0)
	half := s.Dim / 2
	row, t := v.SGPR(1), v.SGPR(1)
	v.SOP2(isa.S_LSHL_B32, t, v.wg[2], Imm(5)) // first token
	csSRD := [2]Val{}
	for i := range csSRD {
		csSRD[i] = v.rowSRD(1+i, t, half*2, rotaryRows*half*2)
	}
	v.SMul(row, v.wg[1], Imm(s.Heads)) // ((batch*heads + head)*seq + token)
	v.SAdd(row, row, v.wg[0])
	v.SMul(row, row, Imm(s.Seq))
	v.SAdd(row, row, t)
	in, out := v.rowSRD(0, row, s.Dim*2, rotaryRows*s.Dim*2), v.rowSRD(3, row, s.Dim*2, rotaryRows*s.Dim*2)

	// A base tile is 16 rows of 32 columns: lane l has row l%16, columns from
	// 8*(l/16). off[r] is its place in the rows from 16*r of a tensor.
	var offX, offC [2]Val
	col, r := v.VGPR(1), v.VGPR(1)
	v.VAnd(col, Imm(48), v.ln.lane)
	v.VAnd(r, Imm(15), v.ln.lane)
	for i, o := range []*[2]Val{&offX, &offC} {
		shift := map[int]int{32: 6, 64: 7, 128: 8}[s.Dim>>i]
		*o = [2]Val{v.VGPR(1), v.VGPR(1)}
		v.VShl(o[0], r, shift)
		v.VAdd(o[0], o[0], col)
		v.VAdd(o[1], Imm(16<<shift), o[0])
	}
	tiles := half / 32 // base tiles across a half
	n := 2 * tiles * 4 // registers of a half
	c, sn := v.vec(n), v.vec(n)
	x1, x2 := v.vec(n), v.vec(n)
	p := v.vec(group)
	tm := v.temps()

	v.Cluster("load", "memory")
	each := func(f func(i, r, j int)) {
		for r := range 2 {
			for j := range tiles {
				f(r*tiles+j, r, j)
			}
		}
	}
	each(func(i, r, j int) { v.BufferLoadAt(c.wide(i), offC[r], csSRD[0], j*64) })
	each(func(i, r, j int) { v.BufferLoadAt(sn.wide(i), offC[r], csSRD[1], j*64) })
	each(func(i, r, j int) { v.BufferLoadAt(x1.wide(i), offX[r], in, j*64) })
	each(func(i, r, j int) { v.BufferLoadAt(x2.wide(i), offX[r], in, half*2+j*64) })
	v.WaitVM(0)
	v.Cluster("rotate", "compute")
	for g := 0; g < n; g += group {
		at := func(x vec) vec { return x[g : g+group] }
		v.binary(isa.V_MUL_F32, p, at(x1), at(c), Val{}, tm)
		v.binary(isa.V_MUL_F32, at(c), at(x2), at(c), Val{}, tm)
		v.binary(isa.V_MUL_F32, at(x2), at(x2), at(sn), Val{}, tm)
		v.binary(isa.V_MUL_F32, at(sn), at(x1), at(sn), Val{}, tm)
		v.binary(isa.V_SUB_F32, at(x1), p, at(x2), Val{}, tm)
		v.binary(isa.V_ADD_F32, at(x2), at(c), at(sn), Val{}, tm)
	}
	v.Cluster("store", "memory")
	each(func(i, r, j int) { v.BufferStoreAt(x1.wide(i), offX[r], out, j*64) })
	each(func(i, r, j int) { v.BufferStoreAt(x2.wide(i), offX[r], out, half*2+j*64) })

	bytes, table := s.Batch*s.Heads*s.Seq*s.Dim*2, s.Seq*half*2
	d := &rotaryData{RotarySpec: s, t: []tensor{{name: "x", bytes: bytes}, {name: "cos", bytes: table}, {name: "sin", bytes: table}, {name: "o", bytes: bytes}}}
	if err := v.launch(fmt.Sprintf("rotary_%d_%s", s.Dim, cpu), [3]int{s.Heads, s.Batch, s.Seq / rotaryRows}, 1, d.t); err != nil {
		return nil, err
	}
	d.mem = v.built.Launch.Memory
	v.built.data(d.fill, d.expect)
	v.built.Outputs = []string{"o"}
	return v.built, nil
}

// rotaryData is the memory side of the kernel.
type rotaryData struct {
	RotarySpec
	mem    *isa.Memory
	t      []tensor
	filled bool
}

// fill writes N(0,1) inputs and the usual angles: token / 10000^(2j/dim).
func (d *rotaryData) fill() {
	fillNormal(d.mem, d.t[0].addr, d.t[0].bytes/2, d.Seed, 1)
	half := d.Dim / 2
	for i, f := range []func(float64) float64{math.Cos, math.Sin} {
		row := make([]byte, 2*half)
		for tok := range d.Seq {
			for j := range half {
				h := bf16Bits(float32(f(float64(tok) * math.Pow(10000, -2*float64(j)/float64(d.Dim)))))
				row[2*j], row[2*j+1] = byte(h), byte(h>>8)
			}
			d.mem.Write(d.t[1+i].addr+uint64(tok*len(row)), row)
		}
	}
	d.filled = true
}

// expect gives the output's float64 reference, a head at a time, all heads or a
// sample.
func (d *rotaryData) expect(yield func(Expected)) error {
	if !d.filled {
		return errNotFilled("rotary")
	}
	op, err := reference.Find("rope")
	if err != nil {
		return err
	}
	half, heads := d.Dim/2, d.Batch*d.Heads
	cos, sin := make([]float64, d.Seq*half), make([]float64, d.Seq*half)
	readBF16(d.mem, d.t[1].addr, cos)
	readBF16(d.mem, d.t[2].addr, sin)
	x := make([]float64, d.Seq*d.Dim)
	table := []int{d.Seq, half}
	shape := []int{1, d.Seq, d.Dim}
	want := make([]float64, len(x))
	for h := 0; h < heads; h += sampleStep(heads, 20*float64(len(x)), 1<<32) {
		at := uint64(2 * len(x) * h)
		readBF16(d.mem, d.t[0].addr+at, x)
		ref, err := op.Apply(map[string]reference.Tensor{"x": {Shape: shape, Data: x}, "cos": {Shape: table, Data: cos}, "sin": {Shape: table, Data: sin}}, shape, nil)
		if err != nil {
			return err
		}
		for i := range d.Seq {
			ref.Row(i, want[d.Dim*i:][:d.Dim])
		}
		yield(Expected{Addr: d.t[3].addr + at, Type: BF16, Want: want, Scale: rms(want)})
	}
	return nil
}
