package workloads

import "github.com/whisker-sim/whisker/isa"

// bwdTiles is the 4-wave form as tile-level source is compiled: every slice has
// five phases with a barrier after each, a phase loads its tiles and then
// computes on them, and registers are whatever the compiler makes of the values.
type bwdTiles struct {
	*bwdMain
	v           Val
	dv, dk      [8]Val
	first, last bool
}

func newBwdTiles(m *bwdMain) *bwdTiles {
	p := &bwdTiles{bwdMain: m, v: m.VGPR(64)}
	for i := range 8 {
		p.dv[i], p.dk[i] = m.VGPR(16), m.VGPR(16)
	}
	return p
}

// build emits the kernel.
func (p *bwdTiles) build() {
	p.Cluster("prologue", "other")
	p.fillK()
	p.loadV(p.v)
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
	p.first = true
	p.step("first ")
	p.nextDiagonal()
	p.first = false
	top := p.Label()
	p.EndCluster()
	p.Place(top)
	p.loopStart = len(p.insts)
	p.step("")
	p.Cluster("branch", "other")
	p.nextDiagonal()
	p.SOP2(isa.S_SUB_U32, p.iter, p.iter, Imm(1))
	p.SOPC(isa.S_CMP_LG_U32, p.iter, Imm(0))
	p.Branch(isa.S_CBRANCH_SCC1, top)
	p.loopEnd = len(p.insts)
	p.last = true
	p.step("last ")
	p.Cluster("store", "other")
	for i := range 8 {
		p.storeTile(p.srdDV, p.dv[i], i, false)
	}
	for i := range 8 {
		p.storeTile(p.srdDK, p.dk[i], i, true)
	}
}

// tiles4 holds the values of one slice.
type tiles4 struct {
	*bwdTiles
	s        int
	l, delta Val
	p, dp    [4]Val
	pB, ds   [2]Val // P and dS as operands
	dsT      [8]Val
	kT       [16]Val
}

func (p *bwdTiles) step(prefix string) {
	for s := range 4 {
		c := &tiles4{bwdTiles: p, s: s}
		for i, f := range []func(){c.scores, c.gradient, c.accumulate, c.load, c.query} {
			p.Cluster(prefix+key("slice ", s)+key(" phase ", i), "compute")
			p.cov = 0
			f()
			p.Barrier()
		}
	}
}

// rows multiplies a slice of Q or dO with 64 rows of K or V: four results of
// 16x16.
func (c *tiles4) rows(d *[4]Val, a [4]Val, b func(t, k int) Val, wait func(t int)) {
	for t := range 4 {
		d[t] = c.VGPR(4)
		wait(t)
		c.MFMAZero(m16, d[t], a[0], b(t, 0))
		for k := 1; k < 4; k++ {
			c.MFMA(m16, d[t], a[k], b(t, k))
		}
	}
}

// scores loads Q and K and computes P.
func (c *tiles4) scores() {
	if c.s == 0 && !c.first {
		c.VXor(c.qRow, Imm(bufStep), c.qRow)
		c.VXor(c.qCol, Imm(bufStep), c.qCol)
		c.VXor(c.lAddr, Imm(lStep), c.lAddr)
	}
	var q [4]Val
	var k [16]Val
	for i := range q {
		q[i] = c.VGPR(4)
		c.readQ(q[i], c.s, i)
	}
	for i := range k {
		k[i] = c.VGPR(4)
		c.readK(k[i], i/4, i%4)
	}
	c.l, c.delta = c.VGPR(4), c.VGPR(4)
	c.DSRead(isa.DS_READ_B128, c.l, c.lAddr, c.s*64)
	c.issued("L")
	c.DSRead(isa.DS_READ_B128, c.delta, c.lAddr, 512+c.s*64)
	c.issued("D")
	c.rows(&c.p, q, func(t, i int) Val { return k[t*4+i] }, func(t int) { c.need("Q", key("K", t)) })
	c.need("L")
	for r := range 4 {
		c.VOP2(isa.V_MUL_F32, c.l.At(r, 1), c.log2e, c.l.At(r, 1))
	}
	each := func(f func(x Val, r int)) {
		for t := range 4 {
			for r := range 4 {
				f(c.p[t].At(r, 1), r)
			}
		}
	}
	each(func(x Val, _ int) { c.VOP2(isa.V_MUL_F32, x, c.scale, x) })
	each(func(x Val, r int) { c.VOP2(isa.V_SUB_F32, x, x, c.l.At(r, 1)) })
	if c.causal {
		c.maskTiles(c.p[:], c.s)
	}
	each(func(x Val, _ int) { c.VOP1(isa.V_EXP_F32, x, x) })
	c.pB = c.operands(&c.p)
}

// operands rounds four tiles to bf16 and returns them as two operands of
// 32x32x16, before the exchange of rows.
func (c *tiles4) operands(p *[4]Val) (out [2]Val) {
	for i := range 2 {
		out[i] = c.VGPR(4)
		for t := range 2 {
			x := p[2*i+t]
			for h := range 2 {
				c.VOP3(isa.V_CVT_PK_BF16_F32, out[i].At(2*t+h, 1), x.At(2*h, 1), x.At(2*h+1, 1))
			}
		}
	}
	return out
}

// swap turns packed tiles into an operand.
func (c *tiles4) swap(x Val) {
	for h := range 2 {
		c.PermlaneSwap16(x.At(h, 1), x.At(2+h, 1))
	}
}

// gradient loads dO, computes dS and writes it for the other waves.
func (c *tiles4) gradient() {
	var do [4]Val
	for i := range do {
		do[i] = c.VGPR(4)
		c.readO(do[i], c.s, i)
	}
	for _, x := range c.pB {
		c.swap(x)
	}
	c.rows(&c.dp, do, func(t, i int) Val { return c.v.At((t*4+i)*4, 4) }, func(int) { c.need("O") })
	c.need("D")
	for t := range 4 {
		for r := range 4 {
			x := c.dp[t].At(r, 1)
			c.VOP2(isa.V_SUB_F32, x, x, c.delta.At(r, 1))
		}
	}
	for t := range 4 {
		for r := range 4 {
			x := c.dp[t].At(r, 1)
			c.VOP2(isa.V_MUL_F32, x, c.p[t].At(r, 1), x)
		}
	}
	ds := c.operands(&c.dp)
	for t := range 4 {
		c.writeDS(ds[t/2].At(t%2*2, 2), t)
	}
	c.ds = ds
	c.need("W")
}

// accumulate loads dO and Q by columns and adds to dV and dK.
func (c *tiles4) accumulate() {
	var o, q [4]Val
	for j := range 4 {
		o[j], q[j] = c.VGPR(4), c.VGPR(4)
		for e := range 2 {
			c.readOCol(o[j].At(2*e, 2), c.s, j, e)
		}
	}
	for j := range 4 {
		for e := range 2 {
			c.readQCol(q[j].At(2*e, 2), c.s, j, e)
		}
	}
	c.swap(c.ds[0])
	c.swap(c.ds[1])
	mul := c.MFMA
	if c.first && c.s == 0 {
		mul = c.MFMAZero
	}
	c.need("OC")
	for i := range 8 {
		mul(m32, c.dv[i], c.pB[i/4], o[i%4])
	}
	c.need("QC")
	for i := range 8 {
		mul(m32, c.dk[i], c.ds[i/4], q[i%4])
	}
}

// load reads all of dS and the wave's columns of K.
func (c *tiles4) load() {
	for j := range 8 {
		c.dsT[j] = c.VGPR(4)
		for h := range 2 {
			c.readDS(c.dsT[j].At(2*h, 2), 2*j+h)
		}
	}
	for j := range 8 {
		for n := range 2 {
			c.kT[2*j+n] = c.VGPR(4)
			for h := range 2 {
				c.readKCol(c.kT[2*j+n].At(2*h, 2), 2*j+h, n)
			}
		}
	}
	c.need("DS7")
}

// query computes the wave's columns of dQ, adds them to memory, and fills a half
// tile of the next step; the fill of the slice before has landed.
func (c *tiles4) query() {
	dq := [2]Val{c.VGPR(4), c.VGPR(4)}
	for j := range 8 {
		c.need(key("DS", j), key("KC", j))
		for n := range 2 {
			if j == 0 {
				c.MFMAZero(m16, dq[n], c.dsT[j], c.kT[n])
			} else {
				c.MFMA(m16, dq[n], c.dsT[j], c.kT[2*j+n])
			}
		}
	}
	for n := range 2 {
		for r := range 4 {
			c.VOP2(isa.V_MUL_F32, dq[n].At(r, 1), c.rs, dq[n].At(r, 1))
		}
	}
	for i := range 4 {
		v := c.VGPR(1)
		x := dq[i/2]
		c.VOP3(isa.V_CVT_PK_BF16_F32, v, x.At(i%2*2, 1), x.At(i%2*2+1, 1))
		c.addDQ(v, i)
	}
	c.nextDQ(c.s == 3)
	c.WaitVM(4)
	if c.last {
		return
	}
	for i := range c.voffQ {
		c.fillQO(c.s%2 == 1, c.s/2, i)
	}
	if c.s == 0 {
		c.fillL(false)
		c.fillL(true)
	}
	if c.s == 3 {
		c.nextFill()
	}
}
