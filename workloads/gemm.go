package workloads

import (
	"encoding/binary"
	"fmt"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/swizzle"
)

// Built is a kernel ready to launch, with what a report says about it.
type Built struct {
	Launch *isa.Launch
	Spec   Spec // with every default filled in
	CPU    isa.CPU

	FLOPs      float64 // 2*M*N*K
	LoopStart  int     // instruction indices of the hot loop's body, [LoopStart, LoopEnd)
	LoopEnd    int
	LoopKTiles int // K tiles of KTile elements per iteration
	LoopTrips  int // iterations per wave
	KTile      int

	Clusters []Cluster // in address order
	Waves    int       // per workgroup
	TileM    int
	TileN    int
	GridM    int // tiles
	GridN    int
	LDSUsed  int // bytes; Launch.Kernel.LDSBytes is what the kernel requests

	// Dropped is the instruction index at which Spec.Break left a wait out, -1
	// otherwise.
	Dropped int

	// compiled says that the registers are already a compiler's.
	compiled bool

	// OutDType is the element type of the result.
	OutDType string
	// RotatesInputs says that the benchmark rotates about 500 MiB of inputs, so
	// that a launch finds none of its own in the LLC (HipKittens' FP8 GEMMs).
	RotatesInputs bool

	// ValuesDecide says why the kernel's addresses or branches hang on values that timing
	// mode does not compute; empty when they do not.
	ValuesDecide string

	// Outputs names the memory regions that the kernel writes; the others are
	// its inputs.
	Outputs []string

	// Pointers is how many addresses of regions Launch.Kernarg starts with, 8
	// bytes each; numbers follow.
	Pointers int

	// Blocks is where a GEMM's blocks lie and their order; zero for other kernels.
	Blocks Blocks

	// Work is the size of a workgroup's work relative to the others', such as the
	// blocks of its loop; nil where all do the same.
	Work func(wg int) int

	// FillInputs writes the seeded N(0,1) inputs to memory. Timing runs leave
	// memory untouched.
	FillInputs func()
	// FillFor writes the inputs that some workgroups read, the same values as
	// FillInputs; nil where no branch depends on data.
	FillFor func(workgroups []int)
	// Verify compares C in memory with a float64 reference and returns
	// max |c-ref| / max(|ref|, rms(ref)).
	Verify func() (maxRelErr float64, err error)
	// Expect gives the values that Verify compares with, piece by piece, after
	// FillInputs. A piece is the callee's only until yield returns.
	Expect func(yield func(Expected)) error
}

// data sets what fills the kernel's inputs and what its results should be.
func (b *Built) data(fill func(), expect references) {
	b.FillInputs, b.Expect, b.Verify = fill, expect, expect.verifier(b.Launch.Memory)
}

// GEMM builds the GEMM that s describes for cpu.
func GEMM(cpu isa.CPU, s Spec) (*Built, error) {
	p, err := resolve(cpu, s)
	if err != nil {
		return nil, err
	}
	g := newGemm(p)
	switch {
	case p.low != nil && cpu == isa.GFX950:
		g.lowPrecision()
	case p.Schedule == Interleave4:
		g.interleave4()
	case p.Schedule == ProducerConsumer:
		g.producerConsumer()
	case cpu == isa.GFX942:
		g.pingpongCDNA3()
	case p.MFMA == "32x32x16":
		g.pingpong32()
	case p.tm == 192:
		g.pingpong192()
	default:
		g.pingpongCDNA4()
	}
	return g.finish()
}

// gemm is a kernel under construction.
type gemm struct {
	*Builder
	*plan
	built *Built

	ln       lanes
	t, s     Val // scratch VGPR pair and SGPR quad
	row, col Val // SGPR: the workgroup's tile
	stride   Val // SGPR: bytes of a row of A and of B
	ptr      Val // SGPR sextet: A, B, C
	srdA     Val
	srdB     Val
}

// newGemm emits what every GEMM starts with: arguments, lane and wave numbers,
// the block remap, and buffer descriptors of the workgroup's rows of A and B.
func newGemm(p *plan) *gemm {
	b := NewBuilder(p.cpu, 1, 3) // v0 work-item, s[0:1] arguments, s2 workgroup
	b.dropWait = p.drop
	g := &gemm{Builder: b, plan: p, built: &Built{Spec: p.Spec, CPU: p.cpu, Dropped: -1}}
	b.Cluster("setup", "other")
	kernarg, wg := reg(isa.S(0), 2), reg(isa.S(2), 1)
	g.ptr = b.SGPR(4)
	ptrC := b.SGPR(2)
	b.SLoad(g.ptr, kernarg, 0)
	b.SLoad(ptrC, kernarg, 16)
	g.ptr.N = 6
	g.ln = b.lanes()
	g.t, g.s = b.VGPR(2), b.SGPR(4)
	g.row, g.col, g.stride = b.SGPR(1), b.SGPR(1), b.SGPR(1)
	grid, order := swizzle.Grid{Rows: p.nM, Cols: p.nN}, swizzle.Order{Kind: p.kind, Window: p.W, Chunk: p.C, XCDs: p.XCDs}
	var table Val
	if p.kind == swizzle.Hilbert {
		table = b.SGPR(2)
		b.SLoad(table, kernarg, 24)
		b.WaitLGKM(0)
	}
	b.blockOrder(g.row, g.col, wg, g.s, grid, order, table)
	b.SMov(g.stride, Imm(p.rowBytes()))
	g.srdA, g.srdB = b.SGPR(4), b.SGPR(4)
	b.WaitLGKM(0)
	base := b.SGPR(2)
	b.SMulAdd64(base, g.ptr.At(0, 2), g.row, Imm(p.tm*p.rowBytes()), g.s)
	b.srd(g.srdA, base, p.tm*p.rowBytes())
	g.lastRows(g.srdA, p.rowBytes())
	b.SMulAdd64(base, g.ptr.At(2, 2), g.col, Imm(p.tn*p.rowBytes()), g.s)
	b.srd(g.srdB, base, p.tn*p.rowBytes())
	return g
}

// lastRows shortens the buffer of a row tile whose rows are of so many bytes
// where the tile is the last and reaches beyond M: its loads there return zero
// and its stores are dropped.
func (g *gemm) lastRows(srd Val, bytes int) {
	if !g.ragged {
		return
	}
	n := srd.At(2, 1)
	g.SMov(g.s.At(0, 1), Imm(g.M%g.tm*bytes))
	g.SOPC(isa.S_CMP_EQ_U32, g.row, Imm(g.nM-1))
	g.SOP2(isa.S_CSELECT_B32, n, g.s.At(0, 1), n)
}

// waveGrid emits the wave's place in a grid of 1<<shift columns: row and column
// in SGPRs.
func (g *gemm) waveGrid(shift int) (wr, wc Val) {
	wr, wc = g.SGPR(1), g.SGPR(1)
	g.SOP2(isa.S_LSHR_B32, wr, g.ln.wave, Imm(shift))
	g.SOP2(isa.S_AND_B32, wc, g.ln.wave, Imm(1<<shift-1))
	return wr, wc
}

// ldsAddr emits a VGPR with base + wave*step + off, the LDS address that a wave
// reads.
func (g *gemm) ldsAddr(base, wave Val, step, off int) Val {
	d := g.VGPR(1)
	g.SMul(g.s.At(0, 1), wave, Imm(step))
	if off != 0 {
		g.SAdd(g.s.At(0, 1), g.s.At(0, 1), Imm(off))
	}
	g.VAdd(d, g.s.At(0, 1), base)
	return d
}

// stagger emits an s_barrier that only the waves from 4 (first) or below 4 run:
// once before and once after the loop, it offsets the two groups of waves by
// one cluster.
func (g *gemm) stagger(first bool) {
	if g.level {
		return
	}
	skip := g.Label()
	g.SOPC(isa.S_CMP_LT_U32, g.ln.wave, Imm(4))
	if first {
		g.Branch(isa.S_CBRANCH_SCC1, skip)
	} else {
		g.Branch(isa.S_CBRANCH_SCC0, skip)
	}
	g.Barrier()
	g.Place(skip)
}

// finish resolves the code and wraps it in a launch.
func (g *gemm) finish() (*Built, error) {
	g.SOPP(isa.S_ENDPGM, 0)
	g.EndCluster()
	insts, err := g.Finish()
	if err != nil {
		return nil, err
	}
	if g.drop >= g.waits {
		return nil, fmt.Errorf("gemm: break wait:%d: the kernel has %d waits", g.drop, g.waits)
	}
	p, bt := g.plan, g.built
	request := bt.Launch.Kernel.LDSBytes
	if p.LDSBytes != 0 {
		request = p.LDSBytes
	}
	if request < bt.LDSUsed {
		return nil, fmt.Errorf("gemm: %d bytes of LDS requested, the %s tile of schedule %s uses %d", request, p.Tile, p.Schedule, bt.LDSUsed)
	}
	if err := g.budget(request); err != nil {
		return nil, err
	}
	k := bt.Launch.Kernel
	k.Name = fmt.Sprintf("gemm_%s_%s_%s", p.formName(), p.Tile, p.cpu)
	k.CPU, k.Insts = p.cpu, insts
	k.VGPRs, k.AGPRs, k.SGPRs = g.nextV, g.nextA, g.nextS
	k.LDSBytes = request
	k.Workgroup = [3]int{bt.Waves * isa.Lanes, 1, 1}
	k.ABI = isa.ABI{KernargPtr: true, UserSGPRs: 2, WorkgroupID: [3]bool{true, false, false}}
	bt.Clusters, bt.Dropped = g.clusters, g.dropped
	bt.Spec.LDSBytes = request
	bt.FLOPs = 2 * float64(p.M) * float64(p.N) * float64(p.K)
	bt.KTile = p.kTile()
	bt.TileM, bt.TileN, bt.GridM, bt.GridN = p.tm, p.tn, p.nM, p.nN

	mem := isa.NewMemory()
	d := &gemmData{mem: mem, m: p.M, n: p.N, k: p.K, fp16: p.fp16, low: p.low, rowBytes: p.rowBytes(), seed: p.Seed}
	d.a = mem.Alloc("A", uint64(p.M)*uint64(d.rowBytes))
	d.b = mem.Alloc("B", uint64(p.N)*uint64(d.rowBytes))
	d.c = mem.Alloc("C", uint64(p.M)*uint64(p.N)*2)
	bt.Blocks = Blocks{A: d.a, B: d.b, C: d.c, RowBytes: d.rowBytes, M: p.M, N: p.N, TileM: p.tm, TileN: p.tn,
		Grid: swizzle.Grid{Rows: p.nM, Cols: p.nN}, Order: swizzle.Order{Kind: p.kind, Window: p.W, Chunk: p.C, XCDs: p.XCDs}}
	bt.Launch.Memory = mem
	bt.Launch.Workgroups = [3]int{p.nM * p.nN, 1, 1}
	for _, ptr := range []uint64{d.a, d.b, d.c} {
		bt.Launch.Kernarg = binary.LittleEndian.AppendUint64(bt.Launch.Kernarg, ptr)
	}
	if p.kind == swizzle.Hilbert {
		tiles, err := swizzle.Order{Kind: p.kind, XCDs: 1}.Map(swizzle.Grid{Rows: p.nM, Cols: p.nN})
		if err != nil {
			return nil, fmt.Errorf("gemm: %w", err)
		}
		table := mem.Alloc("order", uint64(4*len(tiles)))
		mem.Write(table, orderTable(tiles))
		bt.Launch.Kernarg = binary.LittleEndian.AppendUint64(bt.Launch.Kernarg, table)
	}
	bt.OutDType, bt.RotatesInputs = p.outDType(), p.low != nil && p.low.bits == 8
	k.KernargBytes, bt.Pointers = len(bt.Launch.Kernarg), len(bt.Launch.Kernarg)/8
	bt.describeArgs()
	bt.Outputs = []string{"C"}
	bt.data(d.fill, d.expect)
	return bt, nil
}

// resources records the kernel's waves and LDS.
func (g *gemm) resources(waves, ldsUsed, ldsRequest int) {
	g.built.Waves, g.built.LDSUsed = waves, ldsUsed
	g.built.Launch = &isa.Launch{Kernel: &isa.Kernel{LDSBytes: ldsRequest}}
}
