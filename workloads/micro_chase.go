package workloads

import (
	"fmt"
	"math/bits"

	"github.com/whisker-sim/whisker/isa"
)

// ChaseSpec is a chase of dependent loads by one wave: each address is the
// place that a linear congruential sequence over the lines of the footprint
// gives, plus what the load before it returned, which is zero. So every hop waits
// for the one before, no two go to the same line within a pass over the
// footprint, and no memory of the footprint's size need be written.
type ChaseSpec struct {
	Footprint int // bytes, a power of two
	Hops      int
	Scalar    bool // by s_load_dword; else buffer_load_dword
	Touch     int  // bytes of the footprint read before the chase, to fill caches
}

// The sequence: multiplier 1 mod 4 and an odd increment give it the full period.
const (
	chaseMul = 1664525
	chaseInc = 1013904223
)

// chaseTouch is what a chase reads before it starts, at most: twice an L2. What
// is larger is in no L2 anyway, and in the LLC by the launch before.
const chaseTouch = 8 << 20

func (s ChaseSpec) check() error {
	switch {
	case s.Footprint < minFootprint || s.Footprint > maxFootprint || s.Footprint&(s.Footprint-1) != 0:
		return fmt.Errorf("chase: a footprint of %d bytes; it must be a power of two from 4KiB to 2GiB", s.Footprint)
	case s.Hops < 1 || s.Hops > 1<<24:
		return fmt.Errorf("chase: %d hops; 1 to %d are possible", s.Hops, 1<<24)
	}
	return nil
}

// places returns the last place of the chase on the host.
func (s ChaseSpec) last() uint32 {
	mask := uint32(s.Footprint/microLine - 1)
	var at uint32
	for range s.Hops {
		at = (at*chaseMul + chaseInc) & mask
	}
	return at * microLine
}

// Chase builds the chase for cpu. A K step of its main loop is a hop.
func Chase(cpu isa.CPU, s ChaseSpec) (*Built, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	v := newVectorKernel(cpu, 2, 0)
	srd, out := v.SGPR(4), v.SGPR(4)
	v.srd(srd, v.ptr[0], s.Footprint)
	v.srd(out, v.ptr[1], isa.Lanes*4)
	at, off, n := v.SGPR(1), v.SGPR(2), v.SGPR(1)
	base, got := v.SGPR(2), v.SGPR(1)
	voff, data := v.VGPR(1), v.VGPR(1)
	lines := s.Footprint / microLine
	v.touch(srd, voff, data, at, min(s.Touch, s.Footprint))

	// next leaves the next place's offset in off, 64 bits.
	next := func() {
		v.SMul(at, at, Imm(chaseMul))
		v.SAdd(at, at, Imm(chaseInc))
		v.SOP2(isa.S_AND_B32, at, at, Imm(lines-1))
		v.SOP2(isa.S_LSHL_B32, off.At(0, 1), at, Imm(bits.TrailingZeros(microLine)))
	}
	v.Cluster("chase", "memory")
	v.SMov(at, Imm(0))
	v.SMov(n, Imm(s.Hops))
	v.SMov(got, Imm(0))
	v.VOP1(isa.V_MOV_B32, data, Imm(0))
	loop := v.Label()
	v.Place(loop)
	v.built.LoopStart = len(v.insts)
	next() // in the shadow of the load before
	v.SAdd(base.At(0, 1), v.ptr[0].At(0, 1), off.At(0, 1))
	v.SOP2(isa.S_ADDC_U32, base.At(1, 1), v.ptr[0].At(1, 1), Imm(0))
	v.SOP2(isa.S_SUB_U32, n, n, Imm(1))
	if s.Scalar {
		v.WaitLGKM(0)
		// What was loaded is zero, so no carry is lost.
		v.SAdd(base.At(0, 1), base.At(0, 1), got)
		v.SLoad(got, base, 0)
	} else {
		v.WaitVM(0)
		v.VAdd(voff, off.At(0, 1), data)
		v.BufferOp(isa.BUFFER_LOAD_DWORD, data, voff, srd, Imm(0), 0, false)
	}
	v.SOPC(isa.S_CMP_LG_U32, n, Imm(0))
	v.Branch(isa.S_CBRANCH_SCC1, loop)
	v.built.LoopEnd = len(v.insts)
	v.Cluster("store", "memory")
	v.Wait(0, 0)
	if s.Scalar {
		v.VOP1(isa.V_MOV_B32, data, got)
	}
	v.VAdd(data, off.At(0, 1), data)
	v.VShl(voff, v.ln.lane, 2)
	v.BufferOp(isa.BUFFER_STORE_DWORD, data, voff, out, Imm(0), 0, true)

	kind := "vector"
	if s.Scalar {
		kind = "scalar"
	}
	t := []tensor{{name: "footprint", bytes: s.Footprint}, {name: "out", bytes: isa.Lanes * 4}}
	if err := v.launch(fmt.Sprintf("chase_%s_%s_%s", kind, sizeName(s.Footprint), cpu), [3]int{1, 1, 1}, 1, t); err != nil {
		return nil, err
	}
	b := v.built
	b.LoopKTiles, b.LoopTrips, b.KTile = 1, s.Hops, 1
	b.Outputs = []string{"out"}
	b.FillInputs = func() {} // zeros, as memory is
	last := func() []uint32 {
		want := make([]uint32, isa.Lanes)
		for i := range want {
			want[i] = s.last()
		}
		return want
	}
	b.Verify, b.Expect = microVerify(b.Launch.Memory, t[1].addr, last), words(t[1].addr, last)
	return b, nil
}

// touch emits a read of one word of every line of bytes of a buffer: 64 lines
// an instruction.
func (v *vectorKernel) touch(srd, voff, data, off Val, bytes int) {
	const step = isa.Lanes * microLine
	if bytes < step {
		return
	}
	v.Cluster("touch", "memory")
	v.VShl(voff, v.ln.lane, bits.TrailingZeros(microLine))
	v.SMov(off, Imm(0))
	loop := v.Label()
	v.Place(loop)
	v.BufferOp(isa.BUFFER_LOAD_DWORD, data, voff, srd, off, 0, false)
	v.SAdd(off, off, Imm(step))
	v.SOPC(isa.S_CMP_LT_U32, off, Imm(bytes))
	v.Branch(isa.S_CBRANCH_SCC1, loop)
	v.WaitVM(0)
}

func chaseOptions() []Option {
	return []Option{
		{"footprint", "64MiB", "power of two from 4KiB to 2GiB", "bytes that the chase goes over"},
		{"hops", "4096", "", "dependent loads"},
		{"load", "scalar", "scalar, vector", "s_load_dword or buffer_load_dword"},
	}
}

func buildChase(r Request) (*Job, error) {
	var s ChaseSpec
	var err error
	if s.Footprint, err = r.footprint("chase", "64MiB"); err != nil {
		return nil, err
	}
	if s.Hops, err = r.Positive("chase", "hops", 4096, 1<<24); err != nil {
		return nil, err
	}
	load, err := r.Choice("chase", "load", "scalar", "vector")
	if err != nil {
		return nil, err
	}
	s.Scalar = load == "scalar"
	if s.Footprint <= chaseTouch {
		s.Touch = s.Footprint
	}
	b, err := Chase(r.CPU, s)
	if err != nil {
		return nil, err
	}
	return &Job{Kernel: "chase", DType: "idle", Kernels: []*Built{b}, Values: isa.Lanes,
		Settings:   settings("footprint", sizeName(s.Footprint), "hops", s.Hops, "load", load),
		Notes:      []string{"a K step of the main loop is one hop: a load, the wait for it, and one addition to its result"},
		FillInputs: b.FillInputs, Verify: b.Verify, Expect: b.Expect}, nil
}

func chaseForms() []Info {
	var all []Info
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		b := mustBuild(Chase(cpu, ChaseSpec{Footprint: 1 << 20, Hops: 16}))
		all = append(all, b.form("chase", "dependent loads of one wave", "chase", "-", chaseOptions()))
	}
	return all
}
