package workloads

import "github.com/whisker-sim/whisker/isa"

// Operations on LDS that both main kernels emit. Each is known by a name, so
// that a later wait can say what it is for: the counter it needs follows from
// how many operations were issued since.

// issued notes that the LDS operation called name has just been emitted.
func (m *bwdMain) issued(name string) {
	m.n++
	m.tok[name] = m.n
}

// need emits the wait after which the LDS operations called names are done. LDS
// completes in order and at most 15 operations are outstanding, so an older one
// needs none.
func (m *bwdMain) need(names ...string) {
	last := 0
	for _, n := range names {
		last = max(last, m.tok[n])
	}
	if k := m.n - last; last > m.cov && k < noLGKM {
		m.WaitLGKM(k)
		m.cov = last
	}
}

// Addresses of tiles. Registers that a compiler owns are few (30 VGPRs in the
// pinned kernel), and the buffer of a step is known at run time only: the code
// keeps a lane's and a wave's parts of the addresses, and computes the address
// of a tile where it uses it. The scalar unit adds up where the tile lies, one
// vector addition adds the lane's part, and of a swizzled tile an XOR follows.

// tileAddress is base, if there is one, + off + lane, XOR flip, if there is one.
type tileAddress struct {
	name       string
	base       Val
	off        int
	lane, flip Val
}

// address emits addresses, independent operations behind each other.
func (m *bwdMain) address(as ...tileAddress) {
	for i, a := range as {
		if a.base.Present() {
			m.SAdd(m.ptr.At(i, 1), a.base, Imm(a.off))
		} else {
			m.SMov(m.ptr.At(i, 1), Imm(a.off))
		}
	}
	for i, a := range as {
		m.VAdd(m.addressReg(a.name), m.ptr.At(i, 1), a.lane)
	}
	for _, a := range as {
		if a.flip.Present() {
			m.VXor(m.at[a.name], a.flip, m.at[a.name])
		}
	}
}

// addressReg is the VGPR of an address: one of few where the registers are stated.
func (m *bwdMain) addressReg(name string) Val {
	if m.virtual {
		m.at[name] = m.VGPR(1)
	}
	return m.at[name]
}

// atK is the wave's rows of K, from 16-row tile t on.
func (m *bwdMain) atK(t int) tileAddress {
	return tileAddress{name: key("K", t), base: m.waveK, off: ldsK + t*4096, lane: m.kRow}
}

// atKCol is the wave's columns of K, from KV row 16*kvb on.
func (m *bwdMain) atKCol(kvb int) tileAddress {
	return tileAddress{name: key("KC", kvb), base: m.waveKC, off: ldsK + kvb*4096, lane: m.kCol}
}

// half is the byte offset of slice s in a buffer of Q or dO.
func half(s int) int { return s/2*halfStep + s%2*4096 }

// atQ, atO, atQCol and atOCol are slice s of Q and dO, by rows and by columns.
func (m *bwdMain) atQ(s int) tileAddress {
	return tileAddress{"Q", m.buf, ldsQ + half(s), m.qRow, m.qRowX}
}

func (m *bwdMain) atO(s int) tileAddress {
	return tileAddress{"O", m.buf, ldsO + half(s), m.qRow, m.qRowX}
}

func (m *bwdMain) atQCol(s int) tileAddress {
	return tileAddress{"QC", m.buf, ldsQ + half(s), m.qCol, m.qColX}
}

func (m *bwdMain) atOCol(s int) tileAddress {
	return tileAddress{"OC", m.buf, ldsO + half(s), m.qCol, m.qColX}
}

// atWrite and atRead are the exchange of dS: the wave's tiles, and all from KV row
// 16*kvb on.
func (m *bwdMain) atWrite() tileAddress {
	return tileAddress{"W", m.waveDS, ldsDS, m.dsW, m.dsWX}
}

func (m *bwdMain) atRead(kvb int) tileAddress {
	return tileAddress{name: key("R", kvb), off: ldsDS + kvb*512, lane: m.dsR, flip: m.dsRX}
}

// atL and atDelta are the rows of slice s.
func (m *bwdMain) atL(s int) tileAddress {
	return tileAddress{name: "L", base: m.lBuf, off: ldsL + s*64, lane: m.lAddr}
}

func (m *bwdMain) atDelta(s int) tileAddress {
	return tileAddress{name: "D", base: m.lBuf, off: ldsL + 512 + s*64, lane: m.lAddr}
}

// atDQ emits the lane's part of the slice of dQ that goes out.
func (m *bwdMain) atDQ() { m.VAdd(m.addressReg("DQ"), m.dqOff, m.voffDQ) }

// otherBuffers goes to the buffers of the next step.
func (m *bwdMain) otherBuffers() {
	m.SOP2(isa.S_XOR_B32, m.buf, m.buf, Imm(bufStep))
	m.SOP2(isa.S_XOR_B32, m.lBuf, m.lBuf, Imm(lStep))
}

// readK reads k step c (32 columns) of the wave's 16-row tile t of K; at is the
// tile of the address.
func (m *bwdMain) readK(d Val, t, at, c int) {
	m.DSRead(isa.DS_READ_B128, d, m.at[key("K", at)], (t-at)*4096+c*1024)
	m.issued(key("K", t))
}

// readKCol reads 16 KV rows by 16 columns of K, transposed: half of k step kvb/2
// of column tile n of the wave's part of dQ; at is the KV row of the address.
func (m *bwdMain) readKCol(d Val, kvb, at, n int) {
	m.DSRead(isa.DS_READ_B64_TR_B16, d, m.at[key("KC", at)], ((kvb-at)*8+n)*512)
	m.issued(key("KC", kvb/2))
}

// readQ reads k step c of a slice of Q.
func (m *bwdMain) readQ(d Val, c int) {
	m.DSRead(isa.DS_READ_B128, d, m.at["Q"], c*1024)
	m.issued("Q")
}

// readO reads k step c of a slice of dO.
func (m *bwdMain) readO(d Val, c int) {
	m.DSRead(isa.DS_READ_B128, d, m.at["O"], c*1024)
	m.issued("O")
}

// readQCol and readOCol read 4 rows of 32 columns j of a slice, transposed: part
// e of a matrix operand of 8 rows.
func (m *bwdMain) readQCol(d Val, j, e int) {
	m.DSRead(isa.DS_READ_B64_TR_B16, d, m.at["QC"], j*1024+e*256)
	m.issued("QC")
}

func (m *bwdMain) readOCol(d Val, j, e int) {
	m.DSRead(isa.DS_READ_B64_TR_B16, d, m.at["OC"], j*1024+e*256)
	m.issued("OC")
}

// writeDS writes the wave's tile t of dS, transposed, for the other waves.
func (m *bwdMain) writeDS(v Val, t int) {
	m.DSWrite(isa.DS_WRITE_B64, m.at["W"], v, t*512)
	m.issued("W")
}

// readDS reads the dS of 16 KV rows, of which the address is at.
func (m *bwdMain) readDS(d Val, kvb, at int) {
	m.DSRead(isa.DS_READ_B64_TR_B16, d, m.at[key("R", at)], (kvb-at)*512)
	m.issued(key("DS", kvb/2))
}

func key(s string, i int) string { return s + string(rune('0'+i)) }

// Fills: one half tile of Q or dO, and the rows of L and delta.

// fillQO emits load i of half h of the next step's Q (dO when o is set).
func (m *bwdMain) fillQO(o bool, h, i int) {
	srd, off := m.srdQ, h*halfStep+i*4096
	if o {
		srd, off = m.srdO, off+ldsO-ldsQ
	}
	m.SAdd(m0, m.fillM0, Imm(off))
	soff := m.fillOff
	if h > 0 {
		soff = m.s.At(3, 1)
		m.SAdd(soff, m.fillOff, Imm(32*m.qStride()))
	}
	m.BufferLoadLDS(m.voffQ[i], srd, soff)
}

// fillL emits the load of the next step's L, or of its delta.
func (m *bwdMain) fillL(delta bool) {
	if delta {
		m.SAdd(m0, m.lM0, Imm(512))
		m.BufferDwordLDS(m.voffL, m.srdD, m.lOff)
		return
	}
	m.SetM0(m.lM0)
	m.BufferDwordLDS(m.voffL, m.srdL, m.lOff)
}

// nextFill moves the fills to the step after, and to the other buffer. At the end
// of a head of a group it goes on with the first step of the next head.
func (m *bwdMain) nextFill() {
	m.SOP2(isa.S_XOR_B32, m.fillM0, m.fillM0, Imm(bufStep))
	m.SOP2(isa.S_XOR_B32, m.lM0, m.lM0, Imm(lStep))
	if m.group() > 1 {
		t := m.s.At(3, 1)
		m.SOP2(isa.S_SUB_U32, m.left, m.left, Imm(1))
		m.SOPC(isa.S_CMP_EQ_U32, m.left, Imm(0))
		m.SOP2(isa.S_CSELECT_B32, t, m.wrap, Imm(0))
		m.SOP2(isa.S_CSELECT_B32, m.left, m.steps, m.left)
		if m.causal {
			m.SOP2(isa.S_CSELECT_B32, m.s.At(2, 1), m.wrapL, Imm(0))
			m.SAdd(m.lOff, m.lOff, m.s.At(2, 1))
		}
		m.SAdd(m.fillOff, m.fillOff, t)
	}
	m.SAdd(m.fillOff, m.fillOff, Imm(bwdQ*m.qStride()))
	m.SAdd(m.lOff, m.lOff, Imm(bwdQ*4))
}

// nextHeadQ moves the stream of dQ over what a causal head leaves out, after the
// last slice of a step.
func (m *bwdMain) nextHeadQ() {
	if m.causal && m.group() > 1 {
		m.SOP2(isa.S_SUB_U32, m.leftQ, m.leftQ, Imm(1))
		m.SOPC(isa.S_CMP_EQ_U32, m.leftQ, Imm(0))
		m.SOP2(isa.S_CSELECT_B32, m.s.At(2, 1), m.wrapQ, Imm(0))
		m.SOP2(isa.S_CSELECT_B32, m.leftQ, m.steps, m.leftQ)
		m.SAdd(m.dqOff, m.dqOff, m.s.At(2, 1))
	}
}

// eachStep emits the steps of all blocks of queries: a loop, with the first and the
// last apart, which have less to do.
func (m *bwdMain) eachStep(step func(prefix string)) {
	m.first = true
	step("first ")
	m.nextDiagonal()
	m.first = false
	top := m.Label()
	m.EndCluster()
	m.Place(top)
	m.loopStart = len(m.insts)
	step("")
	m.Cluster("branch", "other")
	m.nextDiagonal()
	m.SOP2(isa.S_SUB_U32, m.iter, m.iter, Imm(1))
	m.SOPC(isa.S_CMP_LG_U32, m.iter, Imm(0))
	m.Branch(isa.S_CBRANCH_SCC1, top)
	m.loopEnd = len(m.insts)
	m.last = true
	step("last ")
}

// nextDiagonal moves the causal mask to the next step.
func (m *bwdMain) nextDiagonal() {
	if !m.causal {
		return
	}
	m.SAdd(m.qd, m.qd, Imm(bwdQ))
	if m.group() > 1 {
		t := m.s.At(0, 1)
		m.SMul(t, m.ln.wave, Imm(-m.kv))
		m.SOP2(isa.S_SUB_U32, m.leftD, m.leftD, Imm(1))
		m.SOPC(isa.S_CMP_EQ_U32, m.leftD, Imm(0))
		m.SOP2(isa.S_CSELECT_B32, m.qd, t, m.qd)
		m.SOP2(isa.S_CSELECT_B32, m.leftD, m.steps, m.leftD)
	}
}

// mask sets the scores of keys after the query to -inf: tiles of 16 KV rows by
// the 16 queries of slice s, four registers each. Where the whole slice lies
// past the wave's keys it is jumped over: a branch on exec, since a compiler takes
// the wave's place, which it has from the work-item, for a vector.
func (m *bwdMain) mask(x Val, s, tiles int) {
	var all []Val
	for t := range tiles {
		all = append(all, x.At(4*t, 4))
	}
	m.maskTiles(all, s)
}

func (m *bwdMain) maskTiles(x []Val, s int) {
	skip := m.Label()
	m.VOP1(isa.V_MOV_B32, m.t.At(0, 1), m.qd)
	m.VOPC(isa.V_CMP_GE_I32, Imm(m.kv-2-16*s), m.t.At(0, 1))
	m.SOP1(isa.S_AND_SAVEEXEC_B64, m.saved, reg(isa.VCCLo, 2))
	m.Branch(isa.S_CBRANCH_EXECZ, skip)
	for t := range x {
		for r := range 4 {
			m.SAdd(m.s.At(r, 1), m.qd, Imm(16*(s-t)+r))
		}
		for r := range 4 {
			m.Compare(isa.V_CMP_GE_I32, m.masks[r], m.s.At(r, 1), m.diag)
		}
		for r := range 4 {
			m.Select(x[t].At(r, 1), m.negInf, x[t].At(r, 1), m.masks[r])
		}
	}
	m.Place(skip)
	m.SOP2(isa.S_OR_B64, reg(isa.ExecLo, 2), reg(isa.ExecLo, 2), m.saved)
}
