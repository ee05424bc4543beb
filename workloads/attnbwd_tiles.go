package workloads

import "github.com/whisker-sim/whisker/isa"

// bwdTiles is the 4-wave form in the order of HipKittens' unpinned source: a
// slice has five phases, each ended by a barrier, in which a wave computes on the
// tiles that it has and reads those of the next phase, 20 barriers a step. The
// registers are what the compiler makes of the values; within a phase
// instructions stand where LLVM's scheduler leaves them on source of this order:
// reads that nothing in the phase depends on early, a result's arithmetic under
// the matrix instructions after it.
type bwdTiles struct {
	*bwdMain
	v      [16]Val
	dv, dk [8]Val
}

func newBwdTiles(m *bwdMain) *bwdTiles {
	p := &bwdTiles{bwdMain: m}
	for i := range p.v {
		p.v[i] = m.VGPR(4)
	}
	for i := range p.dv {
		p.dv[i], p.dk[i] = m.VGPR(16), m.VGPR(16)
	}
	return p
}

// build emits the kernel.
func (p *bwdTiles) build() {
	p.Cluster("prologue", "other")
	p.fillK()
	p.loadV(func(i int) Val { return p.v[i] })
	for h := range 2 {
		for i := range p.voffQ {
			p.fillQO(false, h, i)
			p.fillQO(true, h, i)
		}
	}
	p.fillL(false)
	p.fillL(true)
	p.nextFill()
	p.WaitVM(0)
	p.Barrier()
	p.eachStep(p.step)
	p.Cluster("store", "other")
	p.storeBase()
	for i, acc := range [2][8]Val{p.dv, p.dk} {
		p.storeTiles([2]Val{p.srdDV, p.srdDK}[i], acc, i == 1)
	}
}

// storeTiles stores the accumulators of dV or dK.
func (p *bwdTiles) storeTiles(srd Val, acc [8]Val, scale bool) {
	for i := range 2 {
		for r := 0; r < 16; r += 2 {
			p.storeRows(32*i + 8*(r/4) + r%4)
			for j := range 4 {
				p.storePair(srd, acc[i*4+j].At(r, 2), p.VGPR(2), j, scale)
			}
		}
	}
}

// tiles4 holds the values of one slice.
type tiles4 struct {
	*bwdTiles
	s          int
	l, delta   Val
	q, do      [4]Val
	k          [16]Val
	p, dp      [4]Val
	pb, ds     [2]Val // P and dS as operands
	doT, qT    [4]Val
	dsT        [8]Val
	kT         [16]Val
	dq         [2]Val
	zeroedHere bool
}

func (p *bwdTiles) step(prefix string) {
	for s := range 4 {
		c := &tiles4{bwdTiles: p, s: s, zeroedHere: p.first && s == 0}
		for i, f := range []func(w *weave){c.load, c.scores, c.gradient, c.accumulate, c.query} {
			p.Cluster(prefix+key("slice ", s)+key(" phase ", i), "compute")
			var w weave
			f(&w)
			w.emit()
			p.WaitLGKM(0)
			p.Barrier()
		}
	}
}

func (m *bwdTiles) tiles(v []Val) {
	for i := range v {
		v[i] = m.VGPR(4)
	}
}

// load reads Q and K by rows, and L.
func (c *tiles4) load(w *weave) {
	c.tiles(c.q[:])
	c.tiles(c.k[:])
	c.l = c.VGPR(4)
	w.put(0, func() {
		if c.s == 0 && !c.first {
			c.otherBuffers()
		}
		c.address(c.atQ(c.s), c.atL(c.s))
		for i := range c.q {
			c.readQ(c.q[i], i)
		}
		for i := range c.k {
			if i%4 == 0 {
				c.address(c.atK(i / 4))
			}
			c.readK(c.k[i], i/4, i/4, i%4)
		}
		c.DSRead(isa.DS_READ_B128, c.l, c.at["L"], 0)
	})
}

// rows multiplies a slice of Q or dO with 64 rows of K or V.
func (c *tiles4) rows(w *weave, d *[4]Val, a [4]Val, b [16]Val) {
	c.tiles(d[:])
	w.spread(0, 1, 16, func(i int) {
		if i%4 == 0 {
			c.MFMAZero(m16, d[i/4], a[0], b[i])
		} else {
			c.MFMA(m16, d[i/4], a[i%4], b[i])
		}
	})
}

// scores computes P and reads dO by rows, and delta.
func (c *tiles4) scores(w *weave) {
	c.rows(w, &c.p, c.q, c.k)
	c.pb = [2]Val{c.VGPR(4), c.VGPR(4)}
	w.spread(0.5, 0.1, 4, func(r int) { c.VOP2(isa.V_MUL_F32, c.l.At(r, 1), c.log2e.At(0, 1), c.l.At(r, 1)) })
	late := 0.0 // with a mask all scores come before it and all exponentials after
	if c.causal {
		late = 18
		w.put(20, func() { c.maskTiles(c.p[:], c.s) })
	}
	for t := range 4 {
		x := func(r int) Val { return c.p[t].At(r, 1) }
		at := 4*float64(t) + 5.2
		w.spread(at, 0.5, 4, func(r int) { c.VOP2(isa.V_MUL_F32, x(r), c.scale.At(0, 1), x(r)) })
		w.spread(at+0.2, 0.5, 4, func(r int) { c.VOP2(isa.V_SUB_F32, x(r), x(r), c.l.At(r, 1)) })
		w.spread(at+0.4+late, 0.5, 4, func(r int) { c.VOP1(isa.V_EXP_F32, x(r), x(r)) })
		w.spread(at+2.4+late, 0.1, 2, func(h int) { c.VOP3(isa.V_CVT_PK_BF16_F32, c.pb[t/2].At(t%2*2+h, 1), x(2*h), x(2*h+1)) })
	}
	c.tiles(c.do[:])
	c.delta = c.VGPR(4)
	w.put(10.1, func() {
		c.address(c.atO(c.s), c.atDelta(c.s))
		for i := range c.do {
			c.readO(c.do[i], i)
		}
		c.DSRead(isa.DS_READ_B128, c.delta, c.at["D"], 0)
	})
}

// swap turns packed tiles into an operand.
func (c *tiles4) swap(x Val) {
	for h := range 2 {
		c.PermlaneSwap16(x.At(h, 1), x.At(2+h, 1))
	}
}

// gradient computes dS, reads dO and Q by columns, fills a half tile of the next
// step, and writes dS; the fill of the slice before has landed.
func (c *tiles4) gradient(w *weave) {
	c.tiles(c.doT[:])
	c.tiles(c.qT[:])
	w.put(-1, func() {
		c.address(c.atOCol(c.s), c.atQCol(c.s))
		for i := range 8 {
			c.readOCol(c.doT[i/2].At(i%2*2, 2), i/2, i%2)
		}
		for i := range 8 {
			c.readQCol(c.qT[i/2].At(i%2*2, 2), i/2, i%2)
		}
		if !c.zeroedHere {
			c.WaitVM(4) // the additions to dQ since
		}
	})
	c.rows(w, &c.dp, c.do, c.v)
	for i := range c.pb {
		w.put(1.5+float64(i), func() { c.swap(c.pb[i]) })
	}
	c.fills(w)
	c.ds = [2]Val{c.VGPR(4), c.VGPR(4)}
	for t := range 4 {
		x := func(r int) Val { return c.dp[t].At(r, 1) }
		at := 4*float64(t) + 5.2
		w.spread(at, 0.5, 4, func(r int) { c.VOP2(isa.V_SUB_F32, x(r), x(r), c.delta.At(r, 1)) })
		w.spread(at+0.2, 0.5, 4, func(r int) { c.VOP2(isa.V_MUL_F32, x(r), c.p[t].At(r, 1), x(r)) })
		w.spread(at+2.2, 0.1, 2, func(h int) { c.VOP3(isa.V_CVT_PK_BF16_F32, c.ds[t/2].At(t%2*2+h, 1), x(2*h), x(2*h+1)) })
	}
	w.put(30, func() {
		c.address(c.atWrite())
		for t := range 4 {
			c.writeDS(c.ds[t/2].At(t%2*2, 2), t)
		}
	})
}

// fills places the fills of the slice.
func (c *tiles4) fills(w *weave) {
	if c.last {
		return
	}
	w.spread(0.5, 2, 2, func(i int) { c.fillQO(c.s%2 == 1, c.s/2, i) })
	if c.s == 0 {
		w.put(4.5, func() { c.fillL(false) })
		w.put(6.5, func() { c.fillL(true) })
	}
	if c.s == 3 {
		w.put(7.5, c.nextFill)
	}
}

// accumulate adds to dV and dK, and reads all of dS and the wave's columns of K.
func (c *tiles4) accumulate(w *weave) {
	mul := c.MFMA
	if c.zeroedHere {
		mul = c.MFMAZero
	}
	w.put(-1, func() { c.swap(c.ds[0]); c.swap(c.ds[1]) })
	w.spread(0, 1, 8, func(i int) { mul(m32, c.dv[i], c.pb[i/4], c.doT[i%4]) })
	w.spread(8, 1, 8, func(i int) { mul(m32, c.dk[i], c.ds[i/4], c.qT[i%4]) })
	c.tiles(c.dsT[:])
	c.tiles(c.kT[:])
	w.spread(1.5, 0.25, 48, func(i int) {
		if i < 16 {
			if i%8 == 0 {
				c.address(c.atRead(i))
			}
			c.readDS(c.dsT[i/2].At(i%2*2, 2), i, i/8*8)
			return
		}
		i -= 16
		j, h, n := i/4, i/2%2, i%2 // k step, half and column tile
		if i%8 == 0 {
			c.address(c.atKCol(2 * j))
		}
		c.readKCol(c.kT[2*j+n].At(h*2, 2), 2*j+h, j/2*4, n)
	})
}

// query computes the wave's columns of dQ and adds them to memory.
func (c *tiles4) query(w *weave) {
	c.dq = [2]Val{c.VGPR(4), c.VGPR(4)}
	w.spread(0, 1, 16, func(i int) {
		j, n := i/2, i%2
		if j == 0 {
			c.MFMAZero(m16, c.dq[n], c.dsT[j], c.kT[n])
		} else {
			c.MFMA(m16, c.dq[n], c.dsT[j], c.kT[i])
		}
	})
	w.put(16, func() {
		c.atDQ()
		for n := range c.dq {
			for r := range 4 {
				c.VOP2(isa.V_MUL_F32, c.dq[n].At(r, 1), c.rs.At(0, 1), c.dq[n].At(r, 1))
			}
		}
		for i := range 4 {
			v := c.VGPR(1)
			c.VOP3(isa.V_CVT_PK_BF16_F32, v, c.dq[i/2].At(i%2*2, 1), c.dq[i/2].At(i%2*2+1, 1))
			c.addDQ(v, i)
		}
		c.nextDQ(c.s == 3)
	})
}
