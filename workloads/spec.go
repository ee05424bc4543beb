package workloads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/swizzle"
)

// Spec says which GEMM to build: C = A * B^T with A MxK, B NxK and C MxN, all
// row-major; A and B of 16-, 8-, 6- or 4-bit elements, C of 16-bit ones.
type Spec struct {
	M, N, K  int
	DType    string // "bf16" (default), "fp16", "fp8", "fp6" or "fp4"
	Variant  string // of the forms that have two: fp6 "dwordx3" (default) or "dwordx4", others "v1" or "v2" (default)
	Tile     string // "256x256", "128x128", ...; "" chooses by size
	Schedule string // "pingpong8" (default), "interleave4" or "producer-consumer"
	MFMA     string // matrix instruction; "" is the schedule's own
	Order    string // block order, one of swizzle.Names; "" is remap
	W, C     int    // chiplet window and chunk in tiles; -1 is the kernel's default, 0 none
	XCDs     int    // XCDs that workgroups go around; 0 is 8
	LDSBytes int    // LDS to request; 0 is what the original requests
	Seed     uint64 // of the N(0,1) inputs

	// Of the producer-consumer schedule; 0 and "" are its defaults.
	Producers int    // waves that load, 4
	Consumers int    // waves that compute, 8 or 12
	Stages    int    // LDS buffers, 2 or 3
	Handshake string // "barrier" or "lds-atomic"; "mbarrier" with that feature
	// Descriptors is where the loads of a tile find their buffer descriptor: "sgpr",
	// or "vgpr" as clang compiles them, in a loop of v_readfirstlane each.
	Descriptors string

	Features isa.Features // what-ifs that the producer-consumer schedule uses
	LDSRoom  int          // LDS of the CU where it is more than the CPU's own

	Registers int // vector registers of a SIMD where they are more than the CPU's own

	// Break builds a kernel that is wrong or slow on purpose, to show and to test
	// what it costs and what finds it: "wait:N" leaves out the N-th s_waitcnt
	// (from 0), "swizzle" reads LDS without the swizzle, "stagger" leaves out the
	// barriers that hold the two groups of a ping-pong half a step apart.
	Break string
}

// Schedules of the GEMM.
const (
	PingPong8        = "pingpong8"
	Interleave4      = "interleave4"
	ProducerConsumer = "producer-consumer"
)

// maxDim bounds M, N and K, so that offsets within a tile's row block stay
// below 2^32 bytes, the reach of a buffer descriptor and of a 32-bit VGPR.
const maxDim = 1 << 20

// plan is a resolved Spec.
type plan struct {
	Spec
	cpu    isa.CPU
	tm, tn int // tile
	nM, nN int // grid in tiles
	kind   swizzle.Kind
	fp16   bool       // C holds fp16, else bf16; without low A and B too
	low    *lowFormat // of A and B; nil for 16-bit elements
	mfma   isa.Op
	ragged bool // the last row tile reaches beyond M
	broken bool // without the swizzle on the read side
	drop   int  // ordinal of the wait left out, -1
	level  bool // without the stagger of a ping-pong
}

// kStep is the multiple that K must be of, and its least value.
func (p *plan) kStep() (multiple, least int) {
	switch {
	case p.low != nil:
		return p.lowKStep()
	case p.cpu == isa.GFX942:
		return 64, 128
	case p.Schedule == ProducerConsumer:
		return 64, 256
	}
	return 128, 256
}

// resolve fills the defaults of s and refuses what cannot be built.
func resolve(cpu isa.CPU, s Spec) (*plan, error) {
	p := &plan{Spec: s, cpu: cpu, drop: -1}
	if err := p.choose(); err != nil {
		return nil, err
	}
	if err := p.sizes(); err != nil {
		return nil, err
	}
	if err := p.order(); err != nil {
		return nil, err
	}
	return p, p.breakage()
}

// sizes settles the tile and checks M, N and K against it.
func (p *plan) sizes() error {
	for _, d := range []struct {
		name string
		v    int
	}{{"M", p.M}, {"N", p.N}, {"K", p.K}} {
		if d.v <= 0 {
			return fmt.Errorf("gemm: %s = %d; a size must be positive", d.name, d.v)
		}
		if d.v > maxDim {
			return fmt.Errorf("gemm: %s = %d is beyond %d, the largest size whose row block a 32-bit buffer offset reaches", d.name, d.v, maxDim)
		}
	}
	if err := p.chooseTile(); err != nil {
		return err
	}
	step, least := p.kStep()
	if p.low != nil && p.M%p.tm != 0 {
		return fmt.Errorf("gemm: %dx%dx%d does not fit the %s tile of %s: M must be a multiple of %d (16-bit types may have a ragged last row tile)", p.M, p.N, p.K, p.Tile, p.DType, p.tm)
	}
	if p.N%p.tn != 0 || p.K%step != 0 || p.K < least {
		return fmt.Errorf("gemm: %dx%dx%d does not fit the %s tile of schedule %s: N must be a multiple of %d, and K a multiple of %d that is at least %d",
			p.M, p.N, p.K, p.Tile, p.Schedule, p.tn, step, least)
	}
	p.nM, p.nN = (p.M+p.tm-1)/p.tm, p.N/p.tn
	p.ragged = p.M%p.tm != 0
	return nil
}

// order settles the block order: W and C by the table of sizes in HipKittens
// where the caller leaves them at -1, as far as the grid allows. Sizes that the
// caller gives must fit the grid.
func (p *plan) order() error {
	if p.XCDs == 0 {
		p.XCDs = 8
	}
	if p.XCDs < 0 || p.W < -1 || p.C < -1 {
		return fmt.Errorf("gemm: window %d, chunk %d, %d XCDs: none may be negative (-1 is the default of window and chunk)", p.W, p.C, p.XCDs)
	}
	if p.Order == "" {
		p.Order = string(swizzle.Remap)
	}
	p.kind = swizzle.Kind(p.Order)
	tiles := p.nM * p.nN
	switch {
	case !slices.Contains(swizzle.Kinds, p.kind):
		return fmt.Errorf("gemm: unknown block order %q; there are %s", p.Order, strings.Join(swizzle.Names(), ", "))
	case p.W > 0 && !p.kind.Windowed():
		return fmt.Errorf("gemm: block order %s has no window", p.kind)
	case p.C > 0 && p.kind != swizzle.Remap:
		return fmt.Errorf("gemm: block order %s has no chunk", p.kind)
	case p.W > p.nM:
		return fmt.Errorf("gemm: window W is %d, and the grid has %d rows of tiles", p.W, p.nM)
	case p.C > tiles:
		return fmt.Errorf("gemm: chunk C is %d, and the grid has %d tiles", p.C, tiles)
	case p.kind == swizzle.FullRange && tiles%p.XCDs != 0:
		return fmt.Errorf("gemm: the full-range order of %d tiles is no bijection: the %d XCDs do not divide it; use the contiguous order", tiles, p.XCDs)
	case p.kind == swizzle.Hilbert && max(p.nM, p.nN) > 1<<16:
		return fmt.Errorf("gemm: a Hilbert order of %dx%d tiles: at most %d a side", p.nM, p.nN, 1<<16)
	}
	w, c := defaultOrder(p)
	if p.W == -1 {
		p.W = min(w, p.nM)
	}
	if p.C == -1 {
		p.C = min(c, tiles)
	}
	if !p.kind.Windowed() {
		p.W = 0
	}
	if p.kind != swizzle.Remap {
		p.C = 0
	}
	return nil
}

// defaultOrder is the window and chunk that the original kernels use at this
// size.
func defaultOrder(p *plan) (w, c int) {
	n := max(p.M, p.N)
	switch {
	case p.low != nil && p.cpu != isa.GFX942:
		return p.lowOrder()
	case p.Schedule == Interleave4: // full range per XCD, as the FP8 4-wave kernel
		return 4, max(1, p.nM*p.nN/p.XCDs)
	case p.MFMA == "32x32x16": // as the original
		return 8, max(1, p.nM*p.nN/p.XCDs)
	case p.Schedule == ProducerConsumer, p.Variant == "v1":
		return 4, 16
	case p.tm == 192:
		return 8, 64
	case p.cpu == isa.GFX942 && n <= 8192:
		return 4, 16
	case p.cpu == isa.GFX942:
		return 8, 64
	case n <= 1024:
		return 2, 4
	case n <= 2048:
		return 4, 16
	case n <= 8192:
		return 8, 64
	}
	return 8, 256
}

// breakage reads Spec.Break.
func (p *plan) breakage() error {
	kind, arg, _ := strings.Cut(p.Break, ":")
	switch kind {
	case "":
		return nil
	case "swizzle":
		p.broken = true
		return nil
	case "stagger":
		if p.Schedule != PingPong8 {
			return fmt.Errorf("gemm: break stagger: schedule %s has no two groups of waves to hold apart; %s has", p.Schedule, PingPong8)
		}
		p.level = true
		return nil
	case "wait":
		n, err := strconv.Atoi(arg)
		if err == nil && n >= 0 {
			p.drop = n
			return nil
		}
	}
	return fmt.Errorf(`gemm: break %q: "wait:N", "swizzle" and "stagger" exist`, p.Break)
}
