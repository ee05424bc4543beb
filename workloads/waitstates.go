package workloads

import "github.com/whisker-sim/whisker/isa"

// waitStates inserts the s_nop that LLVM 22's hazard recognizer would: gfx942
// and gfx950 leave the distance between a matrix, transcendental or lane
// operation and its consumer to software. One state is one instruction, or one
// count of s_nop. Zero value: nothing is tracked.
type waitStates struct {
	on   bool
	now  int           // states issued
	valu [numVec]int   // state after the last plain VALU write
	tran [numVec]int   // after the last transcendental write
	mfma [numVec]write // the last matrix write
	srcC [numVec]int   // until when a VALU may not overwrite C
	sgpr [128]int      // after the last VALU write of a scalar register
	m0   int
	skip []join // branches over code that is being emitted
}

// numVec covers v0..v255 and a0..a255.
const numVec = 512

// write is a matrix instruction's write of a register.
type write struct {
	at    int
	cpu   isa.CPU
	op    isa.Op
	first isa.Reg
	n     uint8
	pass  int
}

type join struct {
	l  Label
	at int
}

// States after an XDL instruction (LLVM 22, post-RA hazard recognizer; measured
// with llc for both CPUs): before anything but C reads its result, and before a
// matrix instruction takes it as a different C.
func afterMatrix(cpu isa.CPU, passes int) (read, otherC int) {
	read = passes + 3
	if cpu == isa.GFX950 && passes > 2 {
		read++
	}
	return read, read - 2
}

// States of the other rules, from the same source.
const (
	valuToMatrix  = 2
	transToVALU   = 1
	valuToDPP     = 2
	valuToSwap    = 2 // v_permlane*_swap, gfx950
	valuToLane    = 1 // v_readlane, v_readfirstlane
	sgprToVMEM    = 5
	sgprToVALU    = 2 // a mask that v_cmp wrote
	m0ToDirectLDS = 1
)

func (h *waitStates) init() {
	h.on = true
	h.reset()
}

// reset forgets everything, as if it was long ago.
func (h *waitStates) reset() {
	const past = -1000
	h.now = 0
	for i := range h.valu {
		h.valu[i], h.tran[i], h.srcC[i] = past, past, past
		h.mfma[i] = write{at: past}
	}
	for i := range h.sgpr {
		h.sgpr[i] = past
	}
	h.m0 = past
}

// need is how many states must pass before in.
func (h *waitStates) need(cpu isa.CPU, in *isa.Inst, c *isa.Class) int {
	n := 0
	want := func(at, states int) { n = max(n, at+states-h.now) }
	read := func(o isa.Operand, src int) {
		for r := o.Reg; o.Present() && r < o.Reg+isa.Reg(o.N); r++ {
			switch {
			case r.IsVector():
				h.readVector(cpu, in, c, int(r-isa.V0), src, o, want)
			case r < 128 && c.Unit == isa.UnitVMEM:
				want(h.sgpr[r], sgprToVMEM)
			case r < 128 && c.Unit == isa.UnitVALU:
				want(h.sgpr[r], sgprToVALU)
			}
		}
	}
	for i, o := range in.Src {
		read(o, i)
	}
	if isa.ReadsDst(in) {
		read(in.Dst, -1)
	}
	if in.Dst.Present() && in.Dst.Reg.IsVector() {
		for r := in.Dst.Reg; r < in.Dst.Reg+isa.Reg(in.Dst.N); r++ {
			h.writeVector(cpu, c, int(r-isa.V0), in, want)
		}
	}
	if c.LDSDMA {
		want(h.m0, m0ToDirectLDS)
	}
	return n
}

// readVector adds the rules of reading vector register r as source src.
func (h *waitStates) readVector(cpu isa.CPU, in *isa.Inst, c *isa.Class, r, src int, o isa.Operand, want func(at, states int)) {
	w := &h.mfma[r]
	read, otherC := afterMatrix(cpu, w.pass)
	if c.Unit == isa.UnitMFMA && src == 2 {
		if w.op != in.Op || w.first != o.Reg || w.n != o.N {
			want(w.at, otherC)
		}
	} else {
		want(w.at, read)
	}
	switch c.Unit {
	case isa.UnitMFMA:
		want(h.valu[r], valuToMatrix)
		want(h.tran[r], valuToMatrix)
	case isa.UnitVALU:
		want(h.tran[r], transToVALU)
		if in.Sub == isa.SubDPP {
			want(h.valu[r], valuToDPP)
			want(h.tran[r], valuToDPP)
		}
		switch in.Op {
		case isa.V_PERMLANE16_SWAP_B32, isa.V_PERMLANE32_SWAP_B32:
			want(h.valu[r], valuToSwap)
			want(h.tran[r], valuToSwap)
		case isa.V_READFIRSTLANE_B32, isa.V_READLANE_B32:
			want(h.valu[r], valuToLane)
		}
	}
}

// writeVector adds the rules of overwriting vector register r.
func (h *waitStates) writeVector(cpu isa.CPU, c *isa.Class, r int, in *isa.Inst, want func(at, states int)) {
	w := &h.mfma[r]
	read, otherC := afterMatrix(cpu, w.pass)
	if c.Unit == isa.UnitMFMA {
		if w.first != in.Dst.Reg || w.n != in.Dst.N || w.op != in.Op {
			want(w.at, otherC)
		}
		return
	}
	want(w.at, read)
	if c.Unit == isa.UnitVALU {
		want(h.srcC[r], 0)
	}
}

// done records what in leaves behind.
func (h *waitStates) done(cpu isa.CPU, in *isa.Inst, c *isa.Class) {
	h.now++
	if in.Op == isa.S_NOP {
		h.now += int(in.Offset & 15)
	}
	vec := func(o isa.Operand, f func(r int)) {
		if o.Present() && o.Reg.IsVector() {
			for i := range int(o.N) {
				f(int(o.Reg-isa.V0) + i)
			}
		}
	}
	switch c.Unit {
	case isa.UnitMFMA:
		p := int(c.Passes)
		vec(in.Dst, func(r int) { h.mfma[r] = write{h.now, cpu, in.Op, in.Dst.Reg, in.Dst.N, p} })
		vec(in.Src[2], func(r int) { h.srcC[r] = h.now + p - 1 })
	case isa.UnitVALU:
		set := func(r int) {
			if c.Trans {
				h.tran[r] = h.now
			} else {
				h.valu[r] = h.now
			}
		}
		vec(in.Dst, set)
		if in.Op == isa.V_PERMLANE16_SWAP_B32 || in.Op == isa.V_PERMLANE32_SWAP_B32 || in.Op == isa.V_SWAP_B32 {
			vec(in.Src[0], set)
		}
		for _, o := range []isa.Operand{in.Dst, in.SDst} {
			for r := o.Reg; o.Present() && r < 128 && r < o.Reg+isa.Reg(o.N); r++ {
				h.sgpr[r] = h.now
			}
		}
		if in.Enc == isa.VOPC && !in.Dst.Present() {
			h.sgpr[isa.VCCLo], h.sgpr[isa.VCCHi] = h.now, h.now
		}
	}
	if in.Dst.Present() && in.Dst.Reg == isa.M0 {
		h.m0 = h.now
	}
}

// branch notes a jump over what follows, to l.
func (h *waitStates) branch(l Label) { h.skip = append(h.skip, join{l, h.now}) }

// place makes the distances those of the shortest way to l: what lies before the
// branch is as near as the branch, what lies between is as near as it is.
func (h *waitStates) place(l Label) {
	for _, j := range h.skip {
		if j.l != l {
			continue
		}
		d := h.now - j.at // what the jump leaves out
		move := func(t *int) {
			if *t <= j.at {
				*t += d
			}
		}
		for i := range h.valu {
			move(&h.valu[i])
			move(&h.tran[i])
			move(&h.mfma[i].at)
			if h.srcC[i] <= j.at {
				h.srcC[i] += d
			}
		}
		for i := range h.sgpr {
			move(&h.sgpr[i])
		}
		move(&h.m0)
	}
}
