package workloads

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/lds"
)

// lowSpec is the form's spec for tiles K tiles and a grid of wgs workgroups.
func lowSpec(i Info, wgs, tiles int) Spec {
	s := Spec{DType: i.DType, Variant: i.Variant, Schedule: i.Schedule, Tile: i.Tile, W: 3, C: 1, XCDs: 3, Seed: 7}
	s.K = tiles * (&plan{Spec: s, low: lowFormatOf(i.CPU, i.DType)}).kTile()
	s.M, s.N, _ = OneRound(i.Tile, wgs)
	var tm, tn int
	fmt.Sscanf(i.Tile, "%dx%d", &tm, &tn)
	s.W = min(s.W, s.M/tm)
	return s
}

// Every low-precision form computes the product of its quantised inputs to half
// a unit of the last place of its output, with even and odd numbers of K tiles;
// waits and barriers cover every use of a load.
func TestLowFormsCompute(t *testing.T) {
	for _, i := range lowForms() {
		s := lowSpec(i, 1, 5)
		if i.Tile != "256x256" {
			s = lowSpec(i, 2, 4)
		} else if testing.Short() && i.Variant != DwordX4 {
			continue // its smaller tiles are the same code
		}
		b := build(t, i.CPU, s)
		limit := map[string]float64{"bf16": bf16Limit, "fp16": fp16Limit}[b.OutDType]
		if e := check(t, i.CPU, s); !(e <= limit) {
			t.Errorf("%s: error %g, limit %g", b.Launch.Kernel.Name, e, limit)
		}
		if r := traceLDS(t, b).races(b); len(r) > 0 {
			t.Errorf("%s: %s", b.Launch.Kernel.Name, strings.Join(r, "; "))
		}
	}
}

func TestLowBrokenSwizzleIsWrong(t *testing.T) {
	for _, i := range lowForms() {
		if i.Tile == "256x256" && i.Variant != DwordX4 {
			continue // the smaller tiles have the same layout
		}
		s := lowSpec(i, 1, 4)
		s.Break = "swizzle"
		if e := check(t, i.CPU, s); e < 0.1 {
			t.Errorf("%s %s %s %s: error is only %g", i.DType, i.Variant, i.Schedule, i.Tile, e)
		}
	}
}

// Without one of its waits a kernel is refused, by the checker or as a race.
func TestLowDroppedWaits(t *testing.T) {
	base := Spec{M: 128, N: 128, K: 640, DType: "fp8", Tile: "128x128"}
	for _, c := range []struct {
		schedule, cluster string
		vm                int
	}{
		{PingPong8, "m0", noVM}, {PingPong8, "m1", noVM}, {PingPong8, "m2", noVM}, {PingPong8, "m3", 3},
		{Interleave4, "t0w0", 8}, {Interleave4, "t0w1", noVM}, {Interleave4, "t0w2", 8}, {Interleave4, "e1w0", 0},
	} {
		s := base
		s.Schedule = c.schedule
		s.K = 128 * 6
		s.Break = fmt.Sprintf("wait:%d", waitIn(t, build(t, isa.GFX950, s), c.cluster, c.vm))
		b := build(t, isa.GFX950, s)
		_, err := emu.Run(b.Launch, emu.Options{Check: true})
		if races := traceLDS(t, b).races(b); !errors.Is(err, emu.ErrHazard) && len(races) == 0 {
			t.Errorf("%s without the wait of %s: no hazard (%v) and no race", c.schedule, c.cluster, err)
		}
	}
}

// The formats' greatest and least magnitudes are those of their specifications
// (OCP 8-bit and microscaling formats; FNUZ: bias one higher, one zero).
func TestLowFormatRanges(t *testing.T) {
	for _, c := range []struct {
		f           *lowFormat
		n           int
		least, most float64
	}{
		{fp8OCP, 127, 0x1p-9, 448}, {fp8FNUZ, 128, 0x1p-10, 240}, {fp6E2M3, 32, 0.125, 7.5}, {fp4E2M1, 8, 0.5, 6},
	} {
		if v := c.f.values; len(v) != c.n || v[0] != 0 || v[1] != c.least || v[len(v)-1] != c.most {
			t.Errorf("%s: %d magnitudes, %g to %g", c.f.name, len(v), v[1], v[len(v)-1])
		}
	}
	if d := cmp.Diff([]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}, fp4E2M1.values); d != "" {
		t.Error(d)
	}
}

// Rounding is to nearest, ties to even, and saturates.
func TestLowEncode(t *testing.T) {
	for _, c := range []struct {
		f    *lowFormat
		x    float64
		want uint8
	}{
		{fp8OCP, 0, 0}, {fp8OCP, math.Copysign(0, -1), 0x80}, {fp8OCP, 1, 0x38}, {fp8OCP, -1, 0xb8},
		{fp8OCP, 1.0625, 0x38}, {fp8OCP, 1.1875, 0x3a}, {fp8OCP, 1.07, 0x39}, {fp8OCP, 1e9, 0x7e}, {fp8OCP, -464, 0xfe},
		{fp8OCP, 0x1p-10, 0}, {fp8OCP, 0x1.8p-10, 1}, {fp8OCP, 0x1p-6, 8},
		{fp8FNUZ, 1, 0x40}, {fp8FNUZ, -1e-9, 0}, {fp8FNUZ, -1, 0xc0}, {fp8FNUZ, 500, 0x7f}, {fp8FNUZ, 0x1p-10, 1},
		{fp6E2M3, 1, 8}, {fp6E2M3, 0.0625, 0}, {fp6E2M3, 0.1875, 2}, {fp6E2M3, -9, 0x3f},
		{fp4E2M1, 0.25, 0}, {fp4E2M1, 0.75, 2}, {fp4E2M1, 5, 6}, {fp4E2M1, 5.01, 7}, {fp4E2M1, -2.5, 12}, {fp4E2M1, 7, 7},
	} {
		if got := c.f.encode(c.x); got != c.want {
			t.Errorf("%s: %g becomes %#x, want %#x", c.f.name, c.x, got, c.want)
		}
	}
	for _, f := range []*lowFormat{fp8OCP, fp8FNUZ, fp6E2M3, fp4E2M1} {
		row := make([]byte, 96)
		n := len(row) * 8 / f.bits
		for i := range n {
			f.put(row, i, f.encode(f.decode(uint8(i%len(f.values)))))
		}
		for i := range n {
			if got := f.get(row, i); int(got) != i%len(f.values) {
				t.Fatalf("%s: element %d is %#x", f.name, i, got)
			}
		}
	}
}

// Low-precision layouts place every 16-byte unit of a tile once, and operands
// are read without bank conflicts, by the phases that the timing model uses.
func TestLowLayouts(t *testing.T) {
	table, err := lds.NewTable("gfx950")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*plan{
		{low: fp8OCP}, {low: fp4E2M1}, {low: fp6E2M3, Spec: Spec{Variant: DwordX3}}, {low: fp6E2M3, Spec: Spec{Variant: DwordX4}},
	} {
		f := p.form()
		perRow := f.subtile / 256
		seen := map[int]bool{}
		for r := range 32 {
			for u := range perRow {
				o := f.place(r, u)
				if o < 0 || o >= 2*f.subtile || o%16 != 0 || seen[o] {
					t.Fatalf("%s %s puts row %d unit %d at %d, outside or taken", p.low.name, p.Variant, r, u, o)
				}
				seen[o] = true
			}
		}
		for n, rd := range f.reads {
			var addr [lds.Lanes]uint32
			for l := range addr {
				row, g := l%16, l/16
				switch {
				case f.packed:
					addr[l] = uint32(f.place(row, 0)/96*96 + (24*g+rd.off+row/8%2*48)%96)
				case f.slots:
					addr[l] = uint32(f.place(row, 2*g+n))
				default:
					addr[l] = uint32(f.place(row, g+4*n))
				}
			}
			kind := map[isa.Op]lds.Kind{isa.DS_READ_B128: lds.ReadB128, isa.DS_READ_B96: lds.ReadB96, isa.DS_READ_B64: lds.ReadB64}[rd.op]
			if res := table.Analyze(kind, &addr, ^uint64(0)); res.Conflicts != 0 {
				t.Errorf("%s %s: read %d has %d conflicts", p.low.name, p.Variant, n, res.Conflicts)
			}
		}
	}
}

// mfma is the matrix instruction of a low-precision form.
func (i *Info) mfma() isa.Op {
	if i.CPU == isa.GFX942 {
		return isa.V_MFMA_F32_16X16X32_FP8_FP8
	}
	return isa.V_MFMA_F32_16X16X128_F8F6F4
}

// missingStates is the first instruction that comes too soon after another by
// LLVM's hazard rules, -1 if none does.
func missingStates(cpu isa.CPU, insts []isa.Inst) int {
	var h waitStates
	h.on = true
	h.init()
	for n := range insts {
		c := isa.Classify(cpu, &insts[n])
		if h.need(cpu, &insts[n], &c) > 0 {
			return n
		}
		h.done(cpu, &insts[n], &c)
	}
	return -1
}

// Every instruction keeps the distance that LLVM's hazard recognizer wants,
// which the moves of FP6 dwordx3 need s_nop for.
func TestLowWaitStates(t *testing.T) {
	needed := 0
	for _, i := range lowForms() {
		insts := build(t, i.CPU, lowSpec(i, 1, 5)).Launch.Kernel.Insts
		if n := missingStates(i.CPU, insts); n >= 0 {
			t.Errorf("%s %s %s %s: %s at %d comes too soon", i.DType, i.Variant, i.Schedule, i.Tile, insts[n].Op, n)
		}
		var bare []isa.Inst // without the s_nop before a matrix instruction
		for n, in := range insts {
			if in.Op != isa.S_NOP || insts[n+1].Op != i.mfma() {
				bare = append(bare, in)
			}
		}
		if missingStates(i.CPU, bare) >= 0 {
			needed++
		}
	}
	if needed == 0 {
		t.Error("no form needs s_nop before a matrix instruction: the check saw nothing")
	}
}

// The loops are those of the descriptions of HipKittens' kernels.
func TestLowLoops(t *testing.T) {
	interleaved := "Mx2 GL16 R128 M R128 M GL16 R128 Mx2 R128 Mx2 GL16 R128 Mx2 R128 Mx2 GL16 R128 Mx2 R128 Mx2"
	for _, c := range []struct {
		s    Spec
		want []string
	}{
		{Spec{DType: "fp8"}, []string{
			"m0: R128x12 GL16x2 lg(8) B lg(0)", "c0: P1 Mx8 P0 B", "m1: R128x4 GL16x2 B lg(0)", "c1: P1 Mx8 P0 B",
			"m2: R128x8 GL16x2 B lg(0)", "c2: P1 Mx8 P0 B", "m3: GL16x2 v_xor_b32x4 vm(6) B", "c3: P1 Mx8 P0 B s_cbranch_scc1"}},
		{Spec{DType: "fp8", Schedule: Interleave4}, []string{
			"t0w0: vm(16) lg(0) B", "t0c0: " + interleaved, "t0w1: lg(0)", "t0c1: " + interleaved,
			"t0w2: vm(16) lg(0) B", "t0c2: " + interleaved, "t0c3: " + interleaved}},
		{Spec{DType: "fp6", Variant: DwordX4, Schedule: Interleave4}, []string{
			"t0w0: vm(12) lg(0) B",
			"t0c0: Mx2 GL16 R64x2 M R64 M GL16 R64x2 Mx2 R64 Mx2 GL16 R64x2 Mx2 R64 Mx2 R64x2 Mx2 R64 Mx2"}},
		{Spec{DType: "fp6", Schedule: Interleave4}, []string{
			"t0w0: vm(16) lg(0) B",
			"t0c0: MOVx3 Mx2 GL12 R96 M R96 MOVx3 M GL12 R96 Mx2 R96 M MOVx3 M GL12 R96 Mx2 R96 M MOVx3 M GL12 R96 Mx2 R96 Mx2"}},
		{Spec{DType: "fp4"}, []string{"m0: R128x12 GL16x2 lg(8) B lg(0)", "c0: P1 Mx16 P0 B"}},
	} {
		c.s.M, c.s.N, c.s.K, c.s.W, c.s.C = 8192, 8192, 8192, -1, -1
		b := build(t, isa.GFX950, c.s)
		got := clustersIn(b, b.LoopStart, b.LoopEnd)
		if d := cmp.Diff(c.want, got[:len(c.want)]); d != "" {
			t.Errorf("%s: %s", b.Launch.Kernel.Name, d)
		}
	}
}

// The order of blocks and the tiles are those of the original kernels.
func TestLowDefaults(t *testing.T) {
	for _, c := range []struct {
		cpu            isa.CPU
		dtype, sched   string
		n              int
		tile           string
		w, c, wgs, lds int
		rotates        bool
		out            string
	}{
		{isa.GFX950, "fp8", PingPong8, 8192, "256x256", 0, 0, 1024, 131072, true, "bf16"},
		{isa.GFX950, "fp8", PingPong8, 1024, "256x256", 0, 0, 16, 131072, true, "bf16"},
		{isa.GFX950, "fp8", Interleave4, 8192, "256x256", 4, 128, 1024, 131072, true, "bf16"},
		{isa.GFX950, "fp8", Interleave4, 1024, "64x64", 4, 32, 256, 32768, true, "bf16"},
		{isa.GFX950, "fp6", Interleave4, 8192, "256x256", 8, 64, 1024, 131072, false, "fp16"},
		{isa.GFX950, "fp4", PingPong8, 8192, "256x256", 8, 64, 1024, 131072, false, "bf16"},
		{isa.GFX942, "fp8", PingPong8, 8192, "256x256", 4, 16, 1024, 65536, true, "bf16"},
	} {
		b := build(t, c.cpu, Spec{M: c.n, N: c.n, K: c.n, DType: c.dtype, Schedule: c.sched, W: -1, C: -1})
		if b.Spec.Tile != c.tile || b.Spec.W != c.w || b.Spec.C != c.c || b.GridM*b.GridN != c.wgs || b.LDSUsed != c.lds || b.RotatesInputs != c.rotates || b.OutDType != c.out {
			t.Errorf("%s %s %s %d: tile %s W %d C %d, %d workgroups, LDS %d, rotates %v, %s", c.cpu, c.dtype, c.sched, c.n, b.Spec.Tile, b.Spec.W, b.Spec.C,
				b.GridM*b.GridN, b.LDSUsed, b.RotatesInputs, b.OutDType)
		}
	}
}

func TestLowRefusals(t *testing.T) {
	ok := Spec{M: 512, N: 512, K: 1024, W: -1, C: -1, DType: "fp8"}
	for _, c := range []struct {
		name string
		cpu  isa.CPU
		edit func(*Spec)
		want string
	}{
		{"fp6 on gfx942", isa.GFX942, func(s *Spec) { s.DType = "fp6" }, "which gfx942 does not have; it has bf16, fp16 and fp8"},
		{"4 waves on gfx942", isa.GFX942, func(s *Spec) { s.Schedule = Interleave4 }, "use pingpong8"},
		{"variant of fp8", isa.GFX950, func(s *Spec) { s.Variant = DwordX4 }, "only fp6 has variants"},
		{"variant of bf16", isa.GFX950, func(s *Spec) { s.DType, s.Variant = "", DwordX4 }, "has no variants"},
		{"variant", isa.GFX950, func(s *Spec) { s.DType, s.Variant = "fp6", "x5" }, "dwordx3 and dwordx4 exist"},
		{"tile", isa.GFX950, func(s *Spec) { s.Tile = "64x64" }, `has no tile "64x64"; it has 256x256, 128x128`},
		{"tile of packed fp6", isa.GFX950, func(s *Spec) { s.DType, s.Variant, s.Tile = "fp6", DwordX4, "128x128" }, "it has 256x256"},
		{"ragged", isa.GFX950, func(s *Spec) { s.M = 500 }, "M must be a multiple of 256"},
		{"K", isa.GFX950, func(s *Spec) { s.K = 448 }, "K a multiple of 128 that is at least 384"},
		{"K of 4 waves", isa.GFX950, func(s *Spec) { s.K, s.Schedule = 384, Interleave4 }, "at least 512"},
		{"K of fp4", isa.GFX950, func(s *Spec) { s.DType, s.K = "fp4", 128*7 }, "K a multiple of 256"},
		{"K on gfx942", isa.GFX942, func(s *Spec) { s.K = 64 }, "K a multiple of 128 that is at least 256"},
		{"matrix instruction", isa.GFX950, func(s *Spec) { s.MFMA = "16x16x32" }, `fp8 on gfx950 uses MFMA 16x16x128, not "16x16x32"`},
		{"LDS", isa.GFX950, func(s *Spec) { s.LDSBytes = 65536 }, "uses 131072"},
	} {
		s := ok
		c.edit(&s)
		if _, err := GEMM(c.cpu, s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
