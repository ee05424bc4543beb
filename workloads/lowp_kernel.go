package workloads

import "github.com/whisker-sim/whisker/isa"

// lowp is what the low-precision schedules of gfx950 share. LDS holds two
// buffers of A and of B, each of two halves.
type lowp struct {
	*gemm
	f         *operandForm
	waves     int
	mA, nB    int // 16-row base tiles of a wave in a half of A and of B
	halfA     int // bytes of a half
	halfB     int
	placeB    int // LDS address of B in buffer 0; A is at 0
	addrA     []Val
	addrB     []Val
	c         [2][2]RegTile
	wr, wc    Val
	iterate   Val // SGPR: iterations left
	moveSlack int // instruction index of the last move to a matrix operand
}

// lowOperand is a wave's registers for its rows of one half tile.
type lowOperand struct {
	RegTile
	temp []Val // where reads go that may not go to their place
	addr []Val
}

// lowFill is one half tile's stream of direct-to-LDS loads.
type lowFill struct {
	srd  Val
	soff Val   // SGPR: offset of the next K tile in the matrix row block
	voff []Val // per load of a wave
	lds  []Val // SGPR per buffer, or one that alternates: LDS address of the wave's first load
}

// lowPrecision emits an FP8, FP6 or FP4 kernel of gfx950.
func (g *gemm) lowPrecision() {
	p := &lowp{gemm: g, f: g.form(), moveSlack: -1}
	if g.Schedule == Interleave4 {
		p.waves, p.mA, p.nB = 4, g.tm/32/2, g.tn/32/2
	} else {
		p.waves, p.mA, p.nB = 8, g.tm/32/2, g.tn/64/2
	}
	p.halfA, p.halfB = g.tm/2/16*p.f.subtile, g.tn/2/16*p.f.subtile
	if g.Schedule == Interleave4 {
		(&lowInterleave{lowp: p}).emit()
	} else {
		(&lowPingpong{lowp: p}).emit()
	}
}

// bufferBytes is what a K tile takes.
func (p *lowp) bufferBytes() int { return 2 * (p.halfA + p.halfB) }

// blocks is the number of 1 KiB loads of a half: one wave's 64 lanes each fill
// 16 bytes.
func blocks(half int) int { return half / (16 * isa.Lanes) }

// addresses emits the LDS addresses that a wave reads its rows of A and B from.
func (p *lowp) addresses() {
	base, t := p.t.At(0, 1), p.t.At(1, 1)
	p.f.readAddr(p.Builder, p.ln, base, t, p.broken)
	p.addrA = []Val{p.ldsAddr(base, p.wr, p.mA*p.f.subtile, 0)}
	p.addrB = []Val{p.ldsAddr(base, p.wc, p.nB*p.f.subtile, p.placeB)}
	if p.f.addresses() > 1 {
		for _, a := range []*[]Val{&p.addrA, &p.addrB} {
			other := p.VGPR(1)
			p.VXor(other, Imm(p.f.otherAddr()), (*a)[0])
			*a = append(*a, other)
		}
	}
}

// fillOffsets emits a lane's offsets in the row block for n loads of its wave.
func (p *lowp) fillOffsets(n int) []Val {
	voff := make([]Val, n)
	for i := range voff {
		voff[i] = p.VGPR(1)
		p.f.fillAddr(p.Builder, p.ln, p.stride, voff[i], i, p.waves, voff[max(i-1, 0)], p.t.At(0, 1), p.t.At(1, 1), p.s)
	}
	return voff
}

// newFill emits the stream of half h of a matrix whose half has rows rows and
// starts at LDS byte place, for as many buffers, step apart.
func (p *lowp) newFill(srd Val, voff []Val, h, rows, place, step, buffers int) *lowFill {
	f := &lowFill{srd: srd, soff: p.SGPR(1), voff: voff}
	p.SMul(f.soff, p.stride, Imm(h*rows))
	wave := p.s.At(0, 1)
	p.SOP2(isa.S_LSHL_B32, wave, p.ln.wave, Imm(10))
	for buf := range buffers {
		m := p.SGPR(1)
		p.SAdd(m, wave, Imm(place+buf*step))
		f.lds = append(f.lds, m)
	}
	return f
}

// setM0 points M0 at load i of the fill of buffer buf. Loads go in order: the
// first sets M0, each later one moves it on by a load of all waves.
func (p *lowp) setM0(f *lowFill, buf, i int) {
	if i == 0 {
		p.SetM0(f.lds[buf])
		return
	}
	p.SAdd(m0, m0, Imm(p.waves*16*isa.Lanes))
}

// load emits load i of the fill; M0 must be set.
func (p *lowp) load(f *lowFill, i int) {
	if p.f.loadUnit == 12 {
		p.BufferLoadLDS12(f.voff[i], f.srd, f.soff)
		return
	}
	p.BufferLoadLDS(f.voff[i], f.srd, f.soff)
}

// advance moves the stream to the next K tile.
func (p *lowp) advance(f *lowFill) { p.SAdd(f.soff, f.soff, Imm(p.f.advance)) }

// operand allocates the registers of rows base tiles read at addr.
func (p *lowp) operand(rows int, addr []Val) *lowOperand {
	o := &lowOperand{RegTile: p.VTile(rows, p.f.kSteps, p.f.width), addr: addr}
	for range rows {
		for _, r := range p.f.reads {
			if r.temp {
				o.temp = append(o.temp, p.VGPR(r.n))
			}
		}
	}
	return o
}

// reads is the number of LDS reads of the operand.
func (p *lowp) reads(o *lowOperand) int { return o.Rows * len(p.f.reads) }

// read emits read n of the operand from LDS byte off of its matrix on.
func (p *lowp) read(o *lowOperand, n, off int) {
	i, r := n/len(p.f.reads), p.f.reads[n%len(p.f.reads)]
	d := o.At(i, 0).At(r.dst, r.n)
	if r.temp {
		d = o.temp[i]
	}
	p.DSRead(r.op, d, o.addr[r.addr], off+i*p.f.subtile+r.off)
}

// readAll emits every read of the operand.
func (p *lowp) readAll(o *lowOperand, off int) {
	for n := range p.reads(o) {
		p.read(o, n, off)
	}
}

// move emits the moves of base tile i of the operand from where its reads went
// to where the matrix instruction takes it.
func (p *lowp) move(o *lowOperand, i int) {
	if o.temp == nil {
		return
	}
	for _, r := range p.f.reads {
		if !r.temp {
			continue
		}
		for d := range r.n {
			p.VOP1(isa.V_MOV_B32, o.At(i, 0).At(r.dst+d, 1), o.temp[i].At(d, 1))
		}
	}
	p.moveSlack = len(p.insts)
}

// moveWait is how many wait states lie between a VALU write and a matrix
// instruction that reads it (LLVM 22: 2 on both CPUs).
const moveWait = 2

// mma emits c += a * b^T, the base tiles of b outermost. freshA and freshB say
// that the operand's moves are to be made: each goes one matrix instruction
// ahead of its first use. after runs behind every matrix instruction with the
// number emitted so far.
func (p *lowp) mma(c RegTile, a, b *lowOperand, freshA, freshB bool, after func(n int)) {
	movedA, movedB := make([]bool, a.Rows), make([]bool, b.Rows)
	ready := func(n int) { // the moves that instruction n needs
		if n >= a.Rows*b.Rows {
			return
		}
		if i := n % a.Rows; freshA && !movedA[i] {
			movedA[i] = true
			p.move(a, i)
		}
		if j := n / a.Rows; freshB && !movedB[j] {
			movedB[j] = true
			p.move(b, j)
		}
	}
	ready(0)
	moved := p.moveSlack // end of the moves that the next instruction needs
	n := 0
	for k := range p.f.kSteps {
		for j := range b.Rows {
			for i := range a.Rows {
				ready(n + 1)
				if gap := len(p.insts) - moved; moved >= 0 && gap < moveWait {
					p.Nop(moveWait - gap)
				}
				moved = p.moveSlack
				p.MFMASmall(p.mfma, p.low.code, c.At(i, j), a.At(i, k), b.At(j, k))
				n++
				if after != nil {
					after(n)
				}
			}
		}
	}
}

// store emits the stores: a wave's rows are mA base tiles in each half of A.
func (p *lowp) store() {
	var blocks []rowBlock
	for i := range 2 {
		for m := range p.mA {
			blk := rowBlock{row: i*p.tm/2 + m*16}
			for j := range 2 {
				for n := range p.nB {
					blk.acc = append(blk.acc, p.c[i][j].At(m, n))
					blk.cols = append(blk.cols, j*p.tn/2+n*16)
				}
			}
			blocks = append(blocks, blk)
		}
	}
	p.gemm.store(p.wr, p.wc, p.mA*16, p.nB*16, 16, blocks)
}

// countDown emits the end of a loop that SCC closes.
func (p *lowp) countDown() {
	p.SOP2(isa.S_SUB_U32, p.iterate, p.iterate, Imm(1))
	p.SOPC(isa.S_CMP_LG_U32, p.iterate, Imm(0))
}

// BufferLoadLDS12 is BufferLoadLDS of 12 bytes per lane, which land 16 apart.
func (b *Builder) BufferLoadLDS12(voff, srd, soff Val) {
	b.BufferLoadLDS(voff, srd, soff)
	b.insts[len(b.insts)-1].Op = isa.BUFFER_LOAD_DWORDX3
}

// MFMASmall is MFMA of an f8f6f4 instruction whose A and B have the format
// code.
func (b *Builder) MFMASmall(op isa.Op, code uint8, d, a, bb Val) {
	b.MFMA(op, d, a, bb)
	in := &b.insts[len(b.insts)-1]
	in.CBSZ, in.BLGP = code, code
}
