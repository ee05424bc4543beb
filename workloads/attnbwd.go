package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// bwdSpec says which attention backward to build. Q, K, V, O and their
// gradients are (batch, sequence, heads, dim) of bf16, L and delta are
// (batch, heads, sequence) of f32, L the natural logarithm of the softmax sum.
type bwdSpec struct {
	cpu       isa.CPU
	batch     int
	heads     int
	kvHeads   int
	seq       int
	causal    bool
	schedule  string
	registers string
	seed      uint64
}

// Sizes of HipKittens' backward kernels.
const (
	bwdDim   = 128
	bwdKV    = 256 // rows of K and V of a workgroup
	bwdQ     = 64  // rows of Q of a step
	bwdSlice = 16  // rows of Q of a dot slice
)

// Register models of the kernels.
const (
	Pinned    = "pinned"
	Compiler  = "compiler"
	Permuting = "permuting"
)

// group is the number of query heads that share a KV head.
func (s *bwdSpec) group() int { return s.heads / s.kvHeads }

func (s *bwdSpec) blocks() int { return s.seq / bwdKV }

// qStride and kvStride are the bytes between rows of one head.
func (s *bwdSpec) qStride() int  { return s.heads * bwdDim * 2 }
func (s *bwdSpec) kvStride() int { return s.kvHeads * bwdDim * 2 }

// flops is the benchmark's count, 2.5 times that of the forward pass.
func (s *bwdSpec) flops() float64 {
	f := 2.5 * 4 * float64(s.batch) * float64(s.heads) * float64(s.seq) * float64(s.seq) * bwdDim
	if s.causal {
		f /= 2
	}
	return f
}

// bwdMain is the main kernel under construction: what the 4-wave and the 8-wave
// form share. A workgroup holds 256 rows of K and V and walks over the queries,
// 64 a step in four slices of 16.
type bwdMain struct {
	*Builder
	*bwdSpec
	nw   int  // waves
	wide bool // a lane has L and delta of four rows
	kv   int  // KV rows of a wave

	ln                 lanes
	t                  Val // VGPR pair
	s                  Val // SGPR quad
	srdQ, srdO         Val // O: gradient of the output
	srdK, srdV         Val
	srdL, srdD         Val
	srdDQ, srdDK       Val
	srdDV              Val
	blk                Val // SGPR: block of KV rows
	kRow, kCol         Val // a lane's part of LDS addresses
	qRow, qCol         Val
	dsW, dsR, lAddr    Val
	qRowX, qColX       Val // what the swizzle of Q and dO flips, by rows and by columns
	dsWX, dsRX         Val // that of dS
	waveK, waveKC      Val // SGPR: the wave's part
	waveDS, waveL      Val
	buf, lBuf          Val // SGPR: offset of the current step's buffers
	ptr                Val // SGPRs: places of the tiles that are read or written next
	at                 map[string]Val
	voffQ              []Val // lane offset of a fill
	voffL, voffDQ      Val
	fillM0, lM0        Val // SGPR: LDS address of this wave's part of the next step's buffers
	fillOff, lOff      Val // SGPR: byte offset of the next step
	dqOff              Val // SGPR: byte offset of the slice whose gradient goes out next
	scale, log2e, rs   Val // SGPR constants
	iter               Val // SGPR: loop trips left
	left, steps        Val // SGPR: steps left of the head, steps of a head
	leftQ, leftD       Val
	wrap, wrapL, wrapQ Val
	qd                 Val // SGPR: first query row of the step less the wave's first KV row
	diag, negInf       Val // VGPR
	masks              []Val
	saved              Val // SGPR pair: exec around a mask
	pool               Val // SGPRs that held the pointers, free from streams on
	pooled             int

	n   int // LDS operations issued
	tok map[string]int
	cov int // all LDS operations up to this one are covered by a wait

	loopStart, loopEnd int
	first, last        bool // the step being emitted is the first, the last
}

// LDS map of the main kernels: K, two buffers of Q and of dO (two halves of 32
// rows each), the exchange of dS, and L and delta, of which each wave has its
// own copy so that no barrier is needed for them.
const (
	ldsK     = 0
	ldsQ     = 64 << 10
	ldsO     = 96 << 10
	ldsDS    = 128 << 10
	ldsL     = 136 << 10
	bufStep  = 16 << 10
	halfStep = 8 << 10
	lStep    = 256 // between the buffers of L; delta follows 512 after
)

func (m *bwdMain) ldsUsed() int { return ldsL + m.nw*1024 }

// newBwd emits the arguments, descriptors and addresses.
func newBwd(s *bwdSpec, nw int, virtual bool) *bwdMain {
	b := NewBuilder(s.cpu, 1, 5) // v0 work-item, s[0:1] arguments, s2..s4 workgroup
	b.states.init()
	if virtual {
		b.Virtual()
	}
	m := &bwdMain{Builder: b, bwdSpec: s, wide: virtual, nw: nw, kv: bwdKV / nw, tok: map[string]int{}, at: map[string]Val{}}
	b.Cluster("setup", "other")
	m.descriptors()
	m.addresses()
	m.streams()
	return m
}

// descriptors loads the pointers and builds the descriptors of this workgroup's
// head.
func (m *bwdMain) descriptors() {
	b := m.Builder
	ptr := b.SGPR(20) // Q K V dO L delta dQ dK dV, four-aligned
	for i := range 4 {
		b.SLoad(ptr.At(4*i, 4), reg(isa.S(0), 2), 16*i)
	}
	b.SLoad(ptr.At(16, 2), reg(isa.S(0), 2), 64)
	m.ln = b.lanes()
	m.t, m.s = b.VGPR(2), b.SGPR(4)
	_, place := m.grid()
	head, batch := reg(isa.S(2+place[0]), 1), reg(isa.S(2+place[1]), 1)
	m.blk = reg(isa.S(2+place[2]), 1)
	base, qBase, kvBase, g := b.SGPR(2), b.SGPR(2), b.SGPR(2), m.group()
	b.WaitLGKM(0)
	zero := reg(isa.S(0), 2)
	b.SMov(zero.At(0, 1), Imm(0))
	b.SMov(zero.At(1, 1), Imm(0))
	// Byte offset of the first query head, and of the KV head's block.
	b.SMulAdd64(qBase, zero, batch, Imm(m.seq*m.qStride()), m.s)
	b.SMulAdd64(qBase, qBase, head, Imm(g*bwdDim*2), m.s)
	b.SMulAdd64(kvBase, zero, batch, Imm(m.seq*m.kvStride()), m.s)
	b.SMulAdd64(kvBase, kvBase, head, Imm(bwdDim*2), m.s)
	b.SMulAdd64(kvBase, kvBase, m.blk, Imm(bwdKV*m.kvStride()), m.s)
	at := func(p int, off Val, bytes int) Val {
		d := b.SGPR(4)
		b.SAdd(base.At(0, 1), ptr.At(2*p, 1), off.At(0, 1))
		b.SOP2(isa.S_ADDC_U32, base.At(1, 1), ptr.At(2*p+1, 1), off.At(1, 1))
		b.srd(d, base, bytes)
		return d
	}
	qBytes, kvBytes := (m.seq-1)*m.qStride()+g*bwdDim*2, (bwdKV-1)*m.kvStride()+bwdDim*2
	m.srdQ, m.srdO = at(0, qBase, qBytes), at(3, qBase, qBytes)
	m.srdK, m.srdV = at(1, kvBase, kvBytes), at(2, kvBase, kvBytes)
	m.srdDK, m.srdDV = at(7, kvBase, kvBytes), at(8, kvBase, kvBytes)
	b.SMulAdd64(qBase, zero, batch, Imm(m.heads*m.seq*4), m.s)
	b.SMulAdd64(qBase, qBase, head, Imm(g*m.seq*4), m.s)
	m.srdL, m.srdD = at(4, qBase, g*m.seq*4), at(5, qBase, g*m.seq*4)
	b.SMulAdd64(qBase, zero, batch, Imm(m.heads*m.seq*bwdDim*2), m.s)
	b.SMulAdd64(qBase, qBase, head, Imm(g*m.seq*bwdDim*2), m.s)
	m.srdDQ = at(6, qBase, g*m.seq*bwdDim*2)
	m.pool = ptr
}

// scalar takes n SGPRs from the pointers' while there are any.
func (m *bwdMain) scalar(n int) Val {
	m.pooled = roundUp(m.pooled, n)
	if m.pooled+n > 20 {
		return m.SGPR(n)
	}
	m.pooled += n
	return m.pool.At(m.pooled-n, n)
}

// addresses emits what lanes add to a tile's place.
func (m *bwdMain) addresses() {
	b, lane, t := m.Builder, m.ln.lane, m.t.At(0, 1)
	s0 := m.s.At(0, 1)
	regs := func(p ...*Val) {
		for _, v := range p {
			*v = b.VGPR(1)
		}
	}
	regs(&m.kRow, &m.kCol, &m.qRow, &m.qCol, &m.dsW, &m.dsR, &m.lAddr, &m.voffL, &m.voffDQ, &m.qRowX, &m.qColX, &m.dsWX, &m.dsRX)
	m.waveK, m.waveKC, m.waveDS, m.waveL = b.SGPR(1), b.SGPR(1), b.SGPR(1), b.SGPR(1)
	// K by rows: subtiles of 16x16, 32 bytes a row; lane%16 is the row, lane/16
	// the 8 columns out of 32.
	b.VAnd(m.kRow, Imm(15), lane)
	b.VShl(m.kRow, m.kRow, 5)
	b.VAnd(t, Imm(16), lane)
	b.VAdd(m.kRow, t, m.kRow)
	b.VShr(t, lane, 5)
	b.VShl(t, t, 9)
	b.VAdd(m.kRow, t, m.kRow)
	b.SMul(m.waveK, m.ln.wave, Imm(m.kv/16*4096))
	// K by columns: a subtile a read, and the wave's columns of dQ.
	b.VShl(m.kCol, lane, 3)
	b.SMul(m.waveKC, m.ln.wave, Imm(bwdDim/m.nw/16*512))
	// Q and dO by rows: st_16x32.
	b.readBase(ST16x32, m.ln, m.qRow, t, true)
	b.VAnd(m.qRowX, Imm(8), lane) // rows 8 to 15: swizzled by 32 bytes
	b.VShl(m.qRowX, m.qRowX, 2)
	m.colAddress()
	m.exchangeAddresses()
	// L and delta: lane k of a row of 16 has row 4*(lane/16) + k%4; in wide
	// form a lane reads all four.
	b.VShr(m.lAddr, lane, 4)
	b.VShl(m.lAddr, m.lAddr, 2)
	if !m.wide {
		b.VAnd(t, Imm(3), lane)
		b.VAdd(m.lAddr, t, m.lAddr)
	}
	b.VShl(m.lAddr, m.lAddr, 2)
	b.SOP2(isa.S_LSHL_B32, m.waveL, m.ln.wave, Imm(10))
	b.VShl(m.voffL, lane, 2)
	// dQ: the waves' parts of a slice follow each other.
	b.SMul(s0, m.ln.wave, Imm(4096/m.nw))
	b.VAdd(m.voffDQ, s0, m.voffL)
	// Fills of a half tile of 32 rows: one load is nw subtiles.
	stride := m.s.At(1, 1)
	b.SMov(stride, Imm(m.qStride()))
	m.voffQ = []Val{b.VGPR(1)}
	m.fillRows(m.voffQ[0], stride)
	if m.nw == 4 {
		m.voffQ = append(m.voffQ, b.VGPR(1))
		b.SMul(s0, stride, Imm(16))
		b.VAdd(m.voffQ[1], s0, m.voffQ[0])
	}
}

// colAddress emits a lane's part of Q and dO by columns, for 32x32x16: a row of
// lanes reads rows 8*(lane/32) + lane%16/4 of columns 16*(lane/16%2) on. The upper
// half of the rows is swizzled by 32 bytes.
func (m *bwdMain) colAddress() {
	b, lane, t, d := m.Builder, m.ln.lane, m.t, m.qCol
	t0, t1 := t.At(0, 1), t.At(1, 1)
	b.VAnd(m.qColX, Imm(32), lane)
	b.VShr(d, lane, 4)
	b.VAnd(d, Imm(1), d)
	b.VShl(d, d, 5)
	b.VShl(t0, m.qColX, 4)
	b.VAdd(d, t0, d)
	b.VAnd(t1, Imm(12), lane) // row lane%16/4, 64 bytes each
	b.VShl(t1, t1, 4)
	b.VAdd(d, t1, d)
	b.VAnd(t1, Imm(3), lane)
	b.VShl(t1, t1, 3)
	b.VAdd(d, t1, d)
}

// exchangeAddresses emits those of dS: subtiles of 16 KV rows by 16 queries, of
// which the 8-byte unit is XORed with row/4.
func (m *bwdMain) exchangeAddresses() {
	b, lane, t0 := m.Builder, m.ln.lane, m.t.At(0, 1)
	b.VAnd(m.dsW, Imm(15), lane)
	b.VShr(m.dsWX, m.dsW, 2)
	b.VShl(m.dsWX, m.dsWX, 3)
	b.VShr(t0, lane, 4)
	b.VShl(t0, t0, 3)
	b.VShl(m.dsW, m.dsW, 5)
	b.VAdd(m.dsW, t0, m.dsW)
	b.SMul(m.waveDS, m.ln.wave, Imm(m.kv/16*512))
	b.VShl(m.dsR, lane, 3)
	b.VShr(m.dsRX, lane, 4)
	b.VShl(m.dsRX, m.dsRX, 3)
}

// fillRows emits a lane's byte offset for the wave's subtile of a fill.
func (m *bwdMain) fillRows(d, stride Val) {
	b, t, s0 := m.Builder, m.t.At(0, 1), m.s.At(0, 1)
	b.VShl(d, m.ln.lane, 4)
	b.VShr(t, m.ln.lane, 5)
	b.VShl(t, t, 5)
	b.VXor(d, t, d)
	b.VShr(t, d, 6)
	b.VAnd(d, Imm(63), d)
	b.VMul(t, t, stride)
	b.VAdd(d, t, d)
	b.SOP2(isa.S_AND_B32, s0, m.ln.wave, Imm(3))
	b.SOP2(isa.S_LSHL_B32, s0, s0, Imm(6))
	b.VAdd(d, s0, d)
	if m.nw == 8 { // waves 4 to 7 have the lower 16 rows
		b.SOP2(isa.S_LSHR_B32, s0, m.ln.wave, Imm(2))
		b.SMul(s0, s0, Imm(16*m.qStride()))
		b.VAdd(d, s0, d)
	}
}

// streams emits the scalar state that moves from step to step.
func (m *bwdMain) streams() {
	b := m.Builder
	for _, p := range []*Val{&m.fillM0, &m.lM0, &m.fillOff, &m.lOff, &m.dqOff, &m.iter, &m.steps, &m.buf, &m.lBuf} {
		*p = m.scalar(1)
	}
	m.ptr = m.SGPR(4)
	b.SMov(m.buf, Imm(0))
	b.SMov(m.lBuf, m.waveL)
	b.SOP2(isa.S_LSHL_B32, m.fillM0, m.ln.wave, Imm(10))
	b.SAdd(m.lM0, m.fillM0, Imm(ldsL))
	b.SAdd(m.fillM0, m.fillM0, Imm(ldsQ))
	// log2(e) / sqrt(128), log2(e) and 1 / sqrt(128); pairs for packed products.
	n := map[bool]int{false: 1, true: 2}[m.wide]
	for _, c := range []struct {
		d *Val
		v float64
	}{{&m.scale, 0.08838834764831845 * 1.4426950408889634}, {&m.log2e, 1.4426950408889634}, {&m.rs, 0.08838834764831845}} {
		*c.d = m.scalar(n)
		for i := range n {
			b.SMov(c.d.At(i, 1), f32Imm(c.v))
		}
	}
	start := m.s.At(0, 1) // first step of a head
	if m.causal {
		b.SOP2(isa.S_LSHL_B32, start, m.blk, Imm(2))
		b.SOP2(isa.S_SUB_U32, m.steps, Imm(m.seq/bwdQ), start)
	} else {
		b.SMov(start, Imm(0))
		b.SMov(m.steps, Imm(m.seq/bwdQ))
	}
	b.SMul(m.fillOff, start, Imm(bwdQ*m.qStride()))
	b.SOP2(isa.S_LSHL_B32, m.lOff, start, Imm(8))
	b.SOP2(isa.S_LSHL_B32, m.dqOff, start, Imm(14))
	b.SMul(m.iter, m.steps, Imm(m.group()))
	b.SOP2(isa.S_SUB_U32, m.iter, m.iter, Imm(2))
	if m.group() > 1 {
		m.left, m.leftQ, m.wrap = m.scalar(1), m.scalar(1), m.scalar(1)
		b.SMov(m.left, m.steps)
		b.SMov(m.leftQ, m.steps)
		b.SMul(m.wrap, m.steps, Imm(bwdQ*m.qStride()))
		b.SOP2(isa.S_SUB_U32, m.wrap, Imm(bwdDim*2), m.wrap)
		if m.causal {
			m.wrapL, m.wrapQ, m.leftD = m.scalar(1), m.scalar(1), m.scalar(1)
			b.SMov(m.leftD, m.steps)
			b.SMov(m.wrapL, m.lOff)
			b.SMov(m.wrapQ, m.dqOff)
		}
	}
	if m.causal {
		m.saved = m.SGPR(2)
		m.qd, m.diag, m.negInf = m.scalar(1), b.VGPR(1), b.VGPR(1)
		for range 4 {
			m.masks = append(m.masks, m.SGPR(2))
		}
		b.SMul(m.qd, m.ln.wave, Imm(-m.kv)) // the queries start where the KV block does
		// lane%16 - 4*(lane/16): KV row less query row of a lane's first element.
		b.VShr(m.diag, m.ln.lane, 4)
		b.VShl(m.diag, m.diag, 2)
		b.VAnd(m.t.At(0, 1), Imm(15), m.ln.lane)
		b.VOP2(isa.V_SUB_U32, m.diag, m.t.At(0, 1), m.diag)
		b.VOP1(isa.V_MOV_B32, m.negInf, Val{Operand: isa.Operand{Reg: isa.Literal, N: 1}, Lit: 0xff800000})
	}
}

// grid is the launch's, and where in it head, batch and block of K and V stand:
// HipKittens' kernels whose registers the compiler allocates have neighbouring
// blocks in consecutive workgroups, (N/256, Hkv, B); the pinned ones have the
// workgroups of a head on one XCD where they can, (Hkv, B, N/256) for as many heads
// as KV heads and (Hkv, N/256, B) for groups.
func (s *bwdSpec) grid() (grid, place [3]int) {
	switch {
	case s.schedule == PingPong8 || s.registers != Pinned:
		place = [3]int{1, 2, 0}
	case s.kvHeads < s.heads:
		place = [3]int{0, 2, 1}
	default:
		place = [3]int{0, 1, 2}
	}
	for i, n := range [3]int{s.kvHeads, s.batch, s.blocks()} {
		grid[place[i]] = n
	}
	return grid, place
}

// splitsHeads reports whether the workgroups of a KV head, which read the same
// queries, are dealt to several XCDs.
func (s *bwdSpec) splitsHeads(xcds int) bool {
	_, place := s.grid()
	return place[0] != 0 || s.kvHeads%max(xcds, 1) != 0
}

// finish wraps the code in a launch over mem.
func (m *bwdMain) finish(mem *isa.Memory, args []uint64) (*Built, error) {
	m.EndCluster()
	name := fmt.Sprintf("attention_backward_%s_%s", m.schedule, map[bool]string{true: "causal", false: "full"}[m.causal])
	if m.group() > 1 {
		name += fmt.Sprintf("_gqa%d", m.group())
	}
	if m.schedule == Interleave4 && m.registers != Pinned {
		name += "_" + m.registers
	}
	grid, place := m.grid()
	bt, err := m.launch(name, m.nw, grid, mem, args, ldsRequest950)
	if err != nil {
		return nil, err
	}
	bt.LDSUsed = m.ldsUsed()
	bt.LoopKTiles = 1 // a step of 64 queries
	bt.LoopStart, bt.LoopEnd = m.loopStart, m.loopEnd
	bt.FLOPs = m.flops()
	bt.LoopTrips = m.seq/bwdQ*m.group() - 2
	if m.causal { // the mean over blocks
		bt.LoopTrips = (m.seq/bwdQ+4)/2*m.group() - 2
		bt.Work = func(wg int) int {
			w := [3]int{wg % grid[0], wg / grid[0] % grid[1], wg / (grid[0] * grid[1])}
			return (m.seq/bwdQ - 4*w[place[2]]) * m.group()
		}
	}
	return bt, nil
}

// launch is what every kernel ends with.
func (b *Builder) launch(name string, waves int, grid [3]int, mem *isa.Memory, args []uint64, lds int) (*Built, error) {
	insts, err := b.Finish()
	if err != nil {
		return nil, err
	}
	k := &isa.Kernel{Name: name + "_" + b.cpu.String(), CPU: b.cpu, Insts: insts, VGPRs: b.nextV, AGPRs: b.nextA, SGPRs: b.nextS, LDSBytes: lds, ScratchBytes: b.scratch,
		Workgroup: [3]int{waves * isa.Lanes, 1, 1}, KernargBytes: 8 * len(args),
		ABI: isa.ABI{KernargPtr: true, UserSGPRs: 2, WorkgroupID: [3]bool{true, true, true}}}
	bt := &Built{CPU: b.cpu, Launch: &isa.Launch{Kernel: k, Workgroups: grid, Memory: mem}, Waves: waves, Clusters: b.clusters, Dropped: -1}
	bt.Pointers = len(args)
	for _, p := range args {
		bt.Launch.Kernarg = appendPtr(bt.Launch.Kernarg, p)
	}
	bt.describeArgs()
	return bt, nil
}
