package workloads

import "github.com/whisker-sim/whisker/isa"

// bwd8 is the 8-wave form: a wave owns 32 rows of K and V; two groups of four
// waves, one cluster apart, take turns at the matrix pipe and at memory. A slice
// has four pairs of a memory and a compute cluster. Its registers are the
// builder's: two waves share a SIMD, so that 256 are there.
type bwd8 struct {
	*bwdMain
	v, dv, dk Val
}

func newBwd8(m *bwdMain) *bwd8 {
	return &bwd8{bwdMain: m, v: m.VGPR(32), dv: m.VGPR(64), dk: m.VGPR(64)}
}

// build emits the kernel.
func (p *bwd8) build() {
	p.prologue()
	p.eachStep(p.step)
	p.Cluster("rejoin", "other")
	p.stagger(false)
	p.Cluster("store", "other")
	tmp := p.VGPR(32)
	p.storeGrad(p.srdDV, p.dv, tmp, false)
	p.storeGrad(p.srdDK, p.dk, tmp, true)
}

// stagger emits the barrier that only waves 4 to 7 run before the first step,
// and only waves 0 to 3 after the last.
func (p *bwd8) stagger(first bool) {
	skip := p.Label()
	p.SOPC(isa.S_CMP_LT_U32, p.ln.wave, Imm(4))
	op := isa.S_CBRANCH_SCC0
	if first {
		op = isa.S_CBRANCH_SCC1
	}
	p.Branch(op, skip)
	p.Barrier()
	p.Place(skip)
}

// prologue fills K and the first step and loads V.
func (p *bwd8) prologue() {
	p.Cluster("prologue", "other")
	p.fillK()
	p.loadV(func(i int) Val { return p.v.At(4*i, 4) })
	for h := range 2 {
		p.fillQO(false, h, 0)
		p.fillQO(true, h, 0)
	}
	p.fillL(false)
	p.fillL(true)
	p.nextFill()
	p.WaitVM(0)
	p.Barrier()
	p.stagger(true)
}

// memory emits a memory cluster.
func (p *bwd8) memory(name string, f func()) {
	p.Cluster(name, "memory")
	f()
	p.WaitLGKM(0)
	p.Barrier()
}

// compute emits a compute cluster.
func (p *bwd8) compute(name string, f func(w *weave)) {
	p.Cluster(name, "compute")
	p.SetPrio(1)
	var w weave
	f(&w)
	w.emit()
	p.SetPrio(0)
	p.Barrier()
}

// slice holds the values of one dot slice.
type slice8 struct {
	*bwd8
	s                    int
	k, q, do, l, delta   Val
	p, dp, pb, ds        Val
	qT, doT, dsT, kT, dq Val
}

func (p *bwd8) step(prefix string) {
	for s := range 4 {
		c := &slice8{bwd8: p, s: s}
		at := prefix + key("slice ", s)
		p.memory(at+" m0", c.loadScores)
		p.compute(at+" c0", c.scores)
		p.memory(at+" m1", c.loadGradient)
		p.compute(at+" c1", c.gradient)
		p.memory(at+" m2", c.exchange)
		p.compute(at+" c2", c.accumulate)
		p.memory(at+" m3", c.loadQuery)
		p.compute(at+" c3", c.query)
	}
}

// loadScores reads the wave's K and the slice's Q, and L.
func (c *slice8) loadScores() {
	c.k, c.q, c.l = c.VGPR(32), c.VGPR(16), c.VGPR(4)
	if c.s == 0 && !c.first {
		c.otherBuffers()
	}
	c.address(c.atQ(c.s), c.atK(0), c.atK(1), c.atL(c.s))
	for i := range 4 {
		c.readQ(c.q.At(4*i, 4), i)
	}
	for i := range 8 {
		c.readK(c.k.At(4*i, 4), i/4, i/4, i%4)
	}
	c.DSRead(isa.DS_READ_B128, c.l, c.at["L"], 0)
}

// scores computes P and rounds it.
func (c *slice8) scores(w *weave) {
	c.p, c.pb = c.VGPR(8), c.VGPR(4)
	w.spread(0, 1, 8, func(i int) {
		d, a, b := c.p.At(i/4*4, 4), c.q.At(i%4*4, 4), c.k.At(i*4, 4)
		if i%4 == 0 {
			c.MFMAZero(m16, d, a, b)
		} else {
			c.MFMA(m16, d, a, b)
		}
	})
	w.spread(0.5, 1, 2, func(i int) { c.PkMul(c.l.At(2*i, 2), c.log2e, c.l.At(2*i, 2)) })
	late := 10.0
	for t := range 2 {
		x := func(r int) Val { return c.p.At(4*t+r, 1) }
		at := 6.2 + 3*float64(t)
		w.spread(at, 0.1, 2, func(h int) { c.PkMul(c.p.At(4*t+2*h, 2), c.scale, c.p.At(4*t+2*h, 2)) })
		w.spread(at+1, 0.1, 4, func(r int) { c.VOP2(isa.V_SUB_F32, x(r), x(r), c.l.At(r, 1)) })
		e := at + 2
		if c.causal {
			e = late + 1 + float64(t)
		}
		w.spread(e, 0.1, 4, func(r int) { c.VOP1(isa.V_EXP_F32, x(r), x(r)) })
		w.spread(late+5+float64(t), 0.1, 2, func(h int) { c.VOP3(isa.V_CVT_PK_BF16_F32, c.pb.At(2*t+h, 1), x(2*h), x(2*h+1)) })
	}
	if c.causal {
		w.put(late+0.5, func() { c.mask(c.p, c.s, 2) })
	}
	w.spread(late+8, 0.1, 2, func(h int) { c.PermlaneSwap16(c.pb.At(h, 1), c.pb.At(2+h, 1)) })
}

// loadGradient reads the slice's dO, and delta.
func (c *slice8) loadGradient() {
	c.do, c.delta = c.VGPR(16), c.VGPR(4)
	c.address(c.atO(c.s), c.atDelta(c.s))
	for i := range 4 {
		c.readO(c.do.At(4*i, 4), i)
	}
	c.DSRead(isa.DS_READ_B128, c.delta, c.at["D"], 0)
}

// gradient computes dS = P * (dP - delta) and rounds it.
func (c *slice8) gradient(w *weave) {
	c.dp, c.ds = c.VGPR(8), c.VGPR(4)
	w.spread(0, 1, 8, func(i int) {
		d, a, b := c.dp.At(i/4*4, 4), c.do.At(i%4*4, 4), c.v.At(i*4, 4)
		if i%4 == 0 {
			c.MFMAZero(m16, d, a, b)
		} else {
			c.MFMA(m16, d, a, b)
		}
	})
	for t := range 2 {
		x := func(r int) Val { return c.dp.At(4*t+r, 1) }
		at := 6.2 + 4*float64(t)
		w.spread(at, 0.1, 4, func(r int) { c.VOP2(isa.V_SUB_F32, x(r), x(r), c.delta.At(r, 1)) })
		w.spread(at+1, 0.1, 2, func(h int) { c.PkMul(c.dp.At(4*t+2*h, 2), c.p.At(4*t+2*h, 2), c.dp.At(4*t+2*h, 2)) })
		w.spread(at+2, 0.1, 2, func(h int) { c.VOP3(isa.V_CVT_PK_BF16_F32, c.ds.At(2*t+h, 1), x(2*h), x(2*h+1)) })
	}
}

// exchange writes dS, reads Q and dO by columns, and fills a half tile of the
// next step; the fill of the slice before has landed.
func (c *slice8) exchange() {
	c.address(c.atWrite(), c.atOCol(c.s), c.atQCol(c.s))
	if !c.first || c.s > 0 {
		c.WaitVM(2) // the two additions to dQ since
	}
	if !c.last {
		c.fillQO(c.s%2 == 1, c.s/2, 0)
		if c.s == 0 {
			c.fillL(false)
			c.fillL(true)
		}
		if c.s == 3 {
			c.nextFill()
		}
	}
	for t := range 2 {
		c.writeDS(c.ds.At(2*t, 2), t)
	}
	c.qT, c.doT = c.VGPR(16), c.VGPR(16)
	for i := range 8 {
		c.readOCol(c.doT.At(2*i, 2), i/2, i%2)
	}
	for i := range 8 {
		c.readQCol(c.qT.At(2*i, 2), i/2, i%2)
	}
}

// accumulate adds to dV and dK.
func (c *slice8) accumulate(w *weave) {
	mul := c.MFMA
	if c.first && c.s == 0 {
		mul = c.MFMAZero
	}
	w.spread(0, 1, 4, func(i int) { mul(m32, c.dv.At(16*i, 16), c.pb, c.doT.At(4*i, 4)) })
	w.spread(4, 1, 4, func(i int) { mul(m32, c.dk.At(16*i, 16), c.ds, c.qT.At(4*i, 4)) })
	w.spread(0.5, 1, 2, func(h int) { c.PermlaneSwap16(c.ds.At(h, 1), c.ds.At(2+h, 1)) })
}

// loadQuery reads all of dS and the wave's columns of K.
func (c *slice8) loadQuery() {
	c.dsT, c.kT = c.VGPR(32), c.VGPR(32)
	c.address(c.atRead(0), c.atKCol(0), c.atRead(8), c.atKCol(8))
	for i := range 16 {
		c.readDS(c.dsT.At(2*i, 2), i, i/8*8)
		c.readKCol(c.kT.At(2*i, 2), i, i/8*8, 0)
	}
}

// query computes the wave's columns of dQ and adds them to memory.
func (c *slice8) query(w *weave) {
	c.dq = c.VGPR(4)
	w.spread(0, 1, 8, func(j int) {
		a, b := c.dsT.At(4*j, 4), c.kT.At(4*j, 4)
		if j == 0 {
			c.MFMAZero(m16, c.dq, a, b)
		} else {
			c.MFMA(m16, c.dq, a, b)
		}
	})
	w.put(8, func() {
		for i := range 2 {
			c.PkMul(c.dq.At(2*i, 2), c.rs, c.dq.At(2*i, 2))
		}
		c.atDQ()
		for i := range 2 {
			c.VOP3(isa.V_CVT_PK_BF16_F32, c.dq.At(i, 1), c.dq.At(2*i, 1), c.dq.At(2*i+1, 1))
		}
		for i := range 2 {
			c.addDQ(c.dq.At(i, 1), i)
		}
		c.nextDQ(c.s == 3)
	})
}
