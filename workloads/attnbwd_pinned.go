package workloads

import "github.com/whisker-sim/whisker/isa"

// bwd4 is the 4-wave form: a wave owns 64 rows of K and V and one SIMD's 512
// registers, and memory operations are interleaved with the matrix instructions
// of a slice. The registers are HipKittens' pinned ranges; K, V and Q are AGPRs
// that feed the matrix instructions directly.
type bwd4 struct {
	*bwdMain
	dsT, p, dp, do, doT, dq, pb Val
	l, delta                    Val
	dv, dk                      Val
	k, v, q, qT                 Val
}

const (
	m16 = isa.V_MFMA_F32_16X16X32_BF16
	m32 = isa.V_MFMA_F32_32X32X16_BF16
)

func newBwd4(m *bwdMain) *bwd4 {
	// Of the registers below v30 four hold addresses; no two of a group are needed
	// at once.
	for _, group := range [][]string{{"O", "OC", "QC", "L", "R0", "Q"}, {"W", "D", "DQ"}, {"K0"}, {"KC0"}} {
		a := m.VGPR(1)
		for _, name := range group {
			m.at[name] = a
		}
	}
	v := func(first, last int) Val { return reg(isa.V(first), last-first+1) }
	a := func(first, last int) Val { return reg(isa.A(first), last-first+1) }
	return &bwd4{bwdMain: m,
		dsT: v(30, 61), p: v(46, 61), dp: v(62, 77), do: v(78, 93), doT: v(94, 109), dq: v(110, 117), pb: v(118, 125),
		l: v(126, 126), delta: v(127, 127), dv: v(128, 255),
		k: a(0, 47), v: a(48, 111), q: a(112, 127), qT: a(112, 127), dk: a(128, 255)}
}

// kTile is the operand of k step c of tile t of K, by rows.
func (p *bwd4) kTile(t, c int) Val {
	if t == 3 {
		return p.dp.At(c*4, 4)
	}
	return p.k.At(t*16+c*4, 4)
}

// kCols is the operand of k step j and column tile n of K, by columns. The last
// two k steps are where dP was.
func (p *bwd4) kCols(j, n int) Val {
	if i := j*2 + n; i >= 12 {
		return p.dp.At((i-12)*4, 4)
	}
	return p.k.At((j*2+n)*4, 4)
}

// build emits the kernel.
func (p *bwd4) build() {
	p.prologue()
	p.eachStep(p.step)
	p.epilogue()
	p.nextV, p.nextA = max(p.nextV, 256), max(p.nextA, 256)
}

// prologue fills K and the first step, loads V, and reads what the first slice
// starts with.
func (p *bwd4) prologue() {
	p.Cluster("prologue", "other")
	p.fillK()
	p.loadV(func(i int) Val { return p.v.At(4*i, 4) })
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
	p.address(p.atL(0), p.atDelta(0))
	p.readL()
	p.readDelta()
	p.address(p.atQ(0), p.atK(0))
	for c := range 4 {
		p.readQ(p.q.At(c*4, 4), c)
	}
	for t := range 2 {
		for c := range 4 {
			p.readK(p.kTile(t, c), t, 0, c)
		}
	}
}

// loadV loads the wave's rows of V as operands of its 16-row tiles; v(4*t+c) is k
// step c of tile t.
func (m *bwdMain) loadV(v func(i int) Val) {
	t0, t1, s0, s1 := m.t.At(0, 1), m.t.At(1, 1), m.s.At(0, 1), m.s.At(1, 1)
	// V by rows: lane%16 is the row of a tile, lane/16 the 8 columns out of 32.
	m.SMov(s1, Imm(m.kvStride()))
	m.VAnd(t0, Imm(15), m.ln.lane)
	m.SMul(s0, m.ln.wave, Imm(m.kv))
	m.VAdd(t0, s0, t0)
	m.VMul(t0, t0, s1)
	m.VAnd(t1, Imm(48), m.ln.lane)
	m.VAdd(t0, t1, t0)
	m.SMov(s0, Imm(0))
	for t := range m.kv / 16 {
		for c := range 4 {
			m.BufferOp(isa.BUFFER_LOAD_DWORDX4, v(t*4+c), t0, m.srdV, s0, c*64, false)
		}
		m.SAdd(s0, s0, Imm(16*m.kvStride()))
	}
}

// fillK fills the workgroup's K: a load is two subtiles of 16x16 side by side.
func (m *bwdMain) fillK() {
	t0, t1, s0, s1 := m.t.At(0, 1), m.t.At(1, 1), m.s.At(0, 1), m.s.At(1, 1)
	m.SMov(s1, Imm(m.kvStride()))
	m.VAnd(t0, Imm(30), m.ln.lane)
	m.VShr(t0, t0, 1)
	m.VMul(t0, t0, s1)
	m.VShr(t1, m.ln.lane, 5)
	m.VShl(t1, t1, 5)
	m.VAdd(t0, t1, t0)
	m.VAnd(t1, Imm(1), m.ln.lane)
	m.VShl(t1, t1, 4)
	m.VAdd(t0, t1, t0)
	m.SOP2(isa.S_AND_B32, s0, m.ln.wave, Imm(3))
	m.SOP2(isa.S_LSHL_B32, s0, s0, Imm(6)) // 32 columns a wave
	m.VAdd(t0, s0, t0)
	m.SOP2(isa.S_LSHR_B32, s0, m.ln.wave, Imm(2))
	m.SMul(s0, s0, Imm(16*m.kvStride()))
	m.SOP2(isa.S_LSHL_B32, s1, m.ln.wave, Imm(10))
	step := m.nw / 4 // blocks of 16 rows of all waves' loads
	for range 16 / step {
		m.SetM0(s1)
		m.BufferLoadLDS(t0, m.srdK, s0)
		m.SAdd(s1, s1, Imm(step*4096))
		m.SAdd(s0, s0, Imm(step*16*m.kvStride()))
	}
}

func (p *bwd4) readL() {
	p.DSRead(isa.DS_READ_B32, p.l, p.at["L"], 0)
	p.issued("L")
}

func (p *bwd4) readDelta() {
	p.DSRead(isa.DS_READ_B32, p.delta, p.at["D"], 0)
	p.issued("D")
}

// step emits 64 rows of queries.
func (p *bwd4) step(prefix string) {
	for s := range 4 {
		p.Cluster(prefix+key("slice ", s), "compute")
		p.cov = 0
		var w weave
		p.matrix(&w, s)
		p.scores(&w, s)
		p.gradient(&w, s)
		p.outgoing(&w, s)
		p.memory(&w, s)
		w.emit()
	}
}

// before is just in front of matrix instruction i.
func before(i int) float64 { return float64(i) - 1e-3 }

// matrix places the 64 matrix instructions of a slice: 16 for the scores, 16 for
// dP, 8 for dV, 8 for dK and 16 for dQ.
func (p *bwd4) matrix(w *weave, s int) {
	zero := p.first && s == 0
	mul := func(op isa.Op, d, a, b Val, start bool) {
		if start {
			p.MFMAZero(op, d, a, b)
		} else {
			p.MFMA(op, d, a, b)
		}
	}
	w.spread(0, 1, 16, func(i int) {
		t, c := i/4, i%4
		mul(m16, p.p.At(t*4, 4), p.q.At(c*4, 4), p.kTile(t, c), c == 0)
	})
	w.spread(16, 1, 16, func(i int) {
		t, c := i/4, i%4
		mul(m16, p.dp.At(t*4, 4), p.do.At(c*4, 4), p.v.At((t*4+c)*4, 4), c == 0)
	})
	w.spread(32, 1, 8, func(i int) {
		mul(m32, p.dv.At(i*16, 16), p.pb.At(i/4*4, 4), p.doT.At(i%4*4, 4), zero)
	})
	w.spread(40, 1, 8, func(i int) {
		mul(m32, p.dk.At(i*16, 16), p.dp.At(i/4*4, 4), p.qT.At(i%4*4, 4), zero)
	})
	w.spread(48, 1, 16, func(i int) {
		j, n := i/2, i%2
		mul(m16, p.dq.At(n*4, 4), p.dsT.At(j*4, 4), p.kCols(j, n), j == 0)
	})
	for t := range 4 {
		w.put(before(t*4), func() { p.need(key("K", t), "Q") })
	}
	w.put(before(16), func() { p.need("O") })
	w.put(before(32), func() { p.need("OC") })
	w.put(before(40), func() { p.need("QC") })
	for j := range 8 {
		w.put(before(48+2*j), func() { p.need(key("DS", j), key("KC", j)) })
	}
}

// scores places the arithmetic from the scores to P in bf16, as an operand of
// 32x32x16.
func (p *bwd4) scores(w *weave, s int) {
	w.put(before(1), func() {
		p.need("L")
		p.VOP2(isa.V_MUL_F32, p.l, p.log2e, p.l)
	})
	// With a mask, all scores come before it and all exponentials after.
	exp, conv, swap := 16.5, 20.2, []float64{25.3, 31.2}
	if p.causal {
		exp, conv, swap = 22.0, 25.4, []float64{29.9, 34.9}
		w.put(21.8, func() { p.mask(p.p, s, 4) })
	}
	for t := range 4 {
		x := func(r int) Val { return p.p.At(t*4+r, 1) }
		w.spread(float64(4*t+6), 0.5, 4, func(r int) { p.VOP2(isa.V_MUL_F32, x(r), p.scale, x(r)) })
		w.spread(float64(4*t+8), 0.5, 4, func(r int) { p.VOP2Row(isa.V_SUBREV_F32, x(r), p.l, x(r), r) })
		w.spread(exp+3*float64(t), 0.75, 4, func(r int) { p.VOP1(isa.V_EXP_F32, x(r), x(r)) })
		w.spread(conv+3*float64(t), 0.4, 2, func(h int) { p.VOP3(isa.V_CVT_PK_BF16_F32, p.pb.At(t*2+h, 1), x(2*h), x(2*h+1)) })
	}
	for i := range 2 {
		w.spread(swap[i], 0.4, 2, func(h int) { p.PermlaneSwap16(p.pb.At(i*4+h, 1), p.pb.At(i*4+2+h, 1)) })
	}
}

// gradient places dS = P * (dP - delta), its exchange and its form as an
// operand.
func (p *bwd4) gradient(w *weave, s int) {
	for t := range 4 {
		x := func(r int) Val { return p.dp.At(t*4+r, 1) }
		at := 32.2 + 1.7*float64(t)
		w.spread(at, 0.2, 4, func(r int) { p.VOP2Row(isa.V_SUBREV_F32, x(r), p.delta, x(r), r) })
		w.spread(at+0.9, 0.2, 4, func(r int) { p.VOP2(isa.V_MUL_F32, x(r), p.p.At(t*4+r, 1), x(r)) })
		w.spread(at+1.7, 0.1, 2, func(h int) { p.VOP3(isa.V_CVT_PK_BF16_F32, p.dp.At(t*2+h, 1), x(2*h), x(2*h+1)) })
		w.put(at+1.9, func() { p.writeDS(p.dp.At(t*2, 2), t) })
	}
	for i := range 2 {
		w.spread([]float64{36.3, 39.6}[i], 0.1, 2, func(h int) { p.PermlaneSwap16(p.dp.At(i*4+h, 1), p.dp.At(i*4+2+h, 1)) })
	}
	w.put(before(42), func() {
		p.need("W")
		p.Barrier()
	})
	w.put(before(54), func() {
		p.need("DS7")
		p.Barrier() // dS may be overwritten
	})
}

// outgoing places the previous slice's dQ: scaled, rounded and added to memory.
func (p *bwd4) outgoing(w *weave, s int) {
	prev := !(p.first && s == 0)
	if prev {
		w.spread(42.1, 0.2, 8, func(i int) { p.VOP2(isa.V_MUL_F32, p.dq.At(i, 1), p.rs, p.dq.At(i, 1)) })
		w.spread(43.9, 0.4, 4, func(i int) { p.VOP3(isa.V_CVT_PK_BF16_F32, p.dq.At(i, 1), p.dq.At(2*i, 1), p.dq.At(2*i+1, 1)) })
		w.put(45.5, p.atDQ)
		w.spread(45.7, 0.4, 4, func(i int) { p.addDQ(p.dq.At(i, 1), i) })
		w.put(before(47), func() { p.nextDQ(s == 0) })
	}
	// The fills of the slice before have landed, for all waves.
	w.put(before(48), func() {
		if prev {
			p.WaitVM(4)
		} else {
			p.WaitVM(0)
		}
		p.Barrier()
	})
}

// addDQ adds register i of the wave's part of dQ: pairs of query rows, tile after
// tile.
func (m *bwdMain) addDQ(v Val, i int) {
	m.BufferOp(isa.BUFFER_ATOMIC_PK_ADD_BF16, v, m.at["DQ"], m.srdDQ, Imm(0), i*256, true)
}

// nextDQ moves the stream of dQ one slice on; step says that the slice was a
// step's last.
func (m *bwdMain) nextDQ(step bool) {
	m.SAdd(m.dqOff, m.dqOff, Imm(4096))
	if step {
		m.nextHeadQ()
	}
}

// memory places the LDS reads of the slice and the next, and the fills.
func (p *bwd4) memory(w *weave, s int) {
	readK := func(i int) { p.readK(p.kTile(i/4, i%4), i/4, 0, i%4) }
	w.spread(0.4, 1, 4, func(i int) { readK(8 + i) })
	w.spread(4.4, 1, 4, func(i int) { readK(12 + i) })
	w.put(8.2, func() { p.address(p.atO(s)) })
	w.spread(8.4, 1, 4, func(c int) { p.readO(p.do.At(c*4, 4), c) })
	w.put(16.1, func() { p.address(p.atOCol(s)) })
	w.spread(16.3, 1, 8, func(i int) { p.readOCol(p.doT.At(i*2, 2), i/2, i%2) })
	w.put(24.1, func() { p.address(p.atQCol(s)) })
	w.spread(24.3, 0.9, 8, func(i int) { p.readQCol(p.qT.At(i*2, 2), i/2, i%2) })
	col := func(i int) { // k step, half and column tile
		j, h, n := i/4, i/2%2, i%2
		p.readKCol(p.kCols(j, n).At(h*2, 2), j*2+h, 0, n)
	}
	w.put(32.2, func() { p.address(p.atKCol(0)) })
	w.spread(32.4, 0.85, 8, col)
	w.spread(40.1, 0.23, 8, func(i int) { col(8 + i) })
	w.put(33, func() { p.address(p.atWrite()) })
	w.put(41.99, func() { p.address(p.atRead(0)) })
	w.spread(42.05, 0.25, 16, func(i int) { p.readDS(p.dsT.At(i*2, 2), i, 0) })
	w.spread(46.05, 0.2, 8, func(i int) { col(16 + i) })
	w.spread(48.3, 0.6, 8, func(i int) { col(24 + i) })
	next := (s + 1) % 4
	if s == 3 {
		w.put(30.9, p.otherBuffers)
	}
	if p.last && s == 3 {
		return
	}
	w.put(41.3, func() { p.address(p.atL(next), p.atDelta(next)) })
	w.put(41.5, func() { p.readL(); p.readDelta() })
	w.put(54.2, func() { p.address(p.atQ(next)) })
	w.spread(54.4, 1, 4, func(c int) { p.readQ(p.q.At(c*4, 4), c) })
	w.put(55.3, func() { p.address(p.atK(0)) })
	w.spread(55.5, 0.9, 4, readK)
	w.spread(59.1, 0.9, 4, func(i int) { readK(4 + i) })
	if p.last {
		return
	}
	w.spread(50.2, 4, 2, func(i int) { p.fillQO(s%2 == 1, s/2, i) })
	if s == 0 {
		w.put(58.2, func() { p.fillL(false) })
		w.put(61.2, func() { p.fillL(true) })
	}
	if s == 3 {
		w.put(62.2, p.nextFill)
	}
}

// epilogue sends out the last dQ and stores dV and dK.
func (p *bwd4) epilogue() {
	p.Cluster("store", "other")
	for i := range 8 {
		p.VOP2(isa.V_MUL_F32, p.dq.At(i, 1), p.rs, p.dq.At(i, 1))
	}
	p.atDQ()
	for i := range 4 {
		p.VOP3(isa.V_CVT_PK_BF16_F32, p.dq.At(i, 1), p.dq.At(2*i, 1), p.dq.At(2*i+1, 1))
		p.addDQ(p.dq.At(i, 1), i)
	}
	tmp := p.dsT
	p.storeGrad(p.srdDV, p.dv, tmp, false)
	p.storeGrad(p.srdDK, p.dk, tmp, true)
}

// storeGrad stores a wave's accumulators of dV or dK, 2 bytes a lane; tmp are
// free VGPRs.
func (m *bwdMain) storeGrad(srd, acc, tmp Val, scale bool) {
	m.storeBase()
	n := 0
	for i := range m.kv / 32 {
		for r := 0; r < 16; r += 2 {
			m.storeRows(32*i + 8*(r/4) + r%4)
			for j := range 4 {
				v := tmp.At(n%16*2, 2)
				n++
				m.storePair(srd, acc.At((i*4+j)*16+r, 2), v, j, scale)
			}
		}
	}
}

// storeBase emits a lane's offset in the wave's rows of dV and dK: register r of
// a 32x32 tile is row 8*(r/4) + 4*(lane/32) + r%4 of column lane%32.
func (m *bwdMain) storeBase() {
	b, voff, t, s0, s1 := m.Builder, m.t.At(0, 1), m.t.At(1, 1), m.s.At(0, 1), m.s.At(1, 1)
	b.SMov(s1, Imm(m.kvStride()))
	b.VShr(voff, m.ln.lane, 5)
	b.VShl(voff, voff, 2)
	b.SMul(s0, m.ln.wave, Imm(m.kv))
	b.VAdd(voff, s0, voff)
	b.VMul(voff, voff, s1)
	b.VAnd(t, Imm(31), m.ln.lane)
	b.VShl(t, t, 1)
	b.VAdd(voff, t, voff)
}

// storeRows emits the scalar offsets of row and of the next one.
func (m *bwdMain) storeRows(row int) {
	m.SMov(m.s.At(0, 1), Imm(row*m.kvStride()))
	m.SMov(m.s.At(1, 1), Imm((row+1)*m.kvStride()))
}

// storePair stores two rows of column tile j.
func (m *bwdMain) storePair(srd, x, v Val, j int, scale bool) {
	if x.Reg.IsAGPR() {
		m.AccRead(v.At(0, 1), x.At(0, 1))
		m.AccRead(v.At(1, 1), x.At(1, 1))
		x = v
	}
	if rs := m.rs.At(0, 1); scale {
		m.VOP2(isa.V_MUL_F32, v.At(0, 1), rs, x.At(0, 1))
		m.VOP2(isa.V_MUL_F32, v.At(1, 1), rs, x.At(1, 1))
		x = v
	}
	m.VOP3(isa.V_CVT_PK_BF16_F32, v.At(0, 1), x.At(0, 1), x.At(1, 1))
	m.BufferOp(isa.BUFFER_STORE_SHORT, v.At(0, 1), m.t.At(0, 1), srd, m.s.At(0, 1), j*64, true)
	m.BufferOp(isa.BUFFER_STORE_SHORT_D16_HI, v.At(0, 1), m.t.At(0, 1), srd, m.s.At(1, 1), j*64, true)
}
