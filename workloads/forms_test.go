package workloads

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
)

// formSpec is s in the form that i describes.
func formSpec(i Info, s Spec) Spec {
	f := i.spec
	f.M, f.N, f.K, f.DType, f.W, f.C, f.XCDs, f.Seed, f.Break = s.M, s.N, s.K, s.DType, s.W, s.C, s.XCDs, s.Seed, s.Break
	return f
}

// Rows of a last row tile that lie beyond M are neither read nor written, at
// any M.
func TestRaggedRows(t *testing.T) {
	for _, c := range []struct {
		cpu isa.CPU
		s   Spec
	}{
		{isa.GFX950, Spec{M: 320, N: 512, Tile: "192x256"}}, // 192 and 128, as of 8192
		{isa.GFX950, Spec{M: 321, N: 256, Tile: "192x256", DType: "fp16"}},
		{isa.GFX950, Spec{M: 200, N: 256, Tile: "192x256", Variant: "v1"}},
		{isa.GFX950, Spec{M: 300, N: 256, Tile: "256x256", MFMA: "32x32x16"}},
		{isa.GFX950, Spec{M: 333, N: 256, Tile: "256x256"}},
		{isa.GFX950, Spec{M: 77, N: 128}},
		{isa.GFX950, Spec{M: 100, N: 256, Tile: "64x256", Schedule: Interleave4}},
		{isa.GFX942, Spec{M: 257, N: 256, Tile: "256x256"}},
	} {
		s := c.s
		s.K, s.W, s.C, s.XCDs, s.Seed = 256, 1, 1, 2, 3
		limit := bf16Limit
		if s.DType == "fp16" {
			limit = fp16Limit
		}
		if e := check(t, c.cpu, s); e > limit {
			t.Errorf("%s %+v: error %g", c.cpu, s, e)
		}
	}
	b := build(t, isa.GFX950, Spec{M: 8192, N: 8192, K: 8192, Tile: "192x256", W: -1, C: -1})
	if b.GridM != 43 || b.GridN != 32 || b.Spec.W != 8 || b.Spec.C != 64 || b.FLOPs != 2*8192.*8192*8192 {
		t.Errorf("8192 cubed by 192x256: grid %dx%d, W %d C %d, %g FLOPs", b.GridM, b.GridN, b.Spec.W, b.Spec.C, b.FLOPs)
	}
	b = build(t, isa.GFX950, Spec{M: 7680, N: 8192, K: 8192, Tile: "192x256", Variant: "v1", W: -1, C: -1})
	if b.GridM != 40 || b.Spec.W != 4 || b.Spec.C != 16 || strings.Contains(shorthand(b.Launch.Kernel.Insts), "buffer_store") {
		t.Errorf("M = 7680 by 192x256 v1: %d row tiles, W %d C %d, or buffer stores without a ragged tile", b.GridM, b.Spec.W, b.Spec.C)
	}
}

// The loops of the two versions of the 192x256 tile: v1 drains all loads, v2
// leaves six in flight (and waits for A1 of waves 4-7 in m1, see loop192).
func TestPingPong192Loop(t *testing.T) {
	second := "s_cbranch_execz GL16"
	for variant, want := range map[string][]string{
		"v1": {
			"m0: R128x10 GL16 " + second + " lg(0) B lg(0)", "c0: P1 Mx12 P0 B",
			"m1: R128x4 GL16x2 B lg(0)", "c1: P1 Mx12 P0 B",
			"m2: R128x6 GL16 " + second + " B lg(0)", "c2: P1 Mx12 P0 B",
			"m3: GL16x2 vm(0) B", "c3: P1 Mx12 P0 B",
		},
		"v2": {
			"m0: R128x10 GL16 " + second + " lg(6) B lg(0)", "c0: P1 Mx12 P0 B",
			"m1: R128x4 GL16x2 vm(8) B lg(0)", "c1: P1 Mx12 P0 B",
			"m2: R128x6 GL16 " + second + " B lg(0)", "c2: P1 Mx12 P0 B",
			"m3: GL16x2 vm(6) B", "c3: P1 Mx12 P0 B",
		},
	} {
		b := build(t, isa.GFX950, Spec{M: 7680, N: 8192, K: 8192, Tile: "192x256", Variant: variant, W: -1, C: -1})
		if d := cmp.Diff(want, clustersIn(b, b.LoopStart, b.LoopEnd)[:8]); d != "" {
			t.Errorf("%s: %s", variant, d)
		}
		if b.LDSUsed != 114688 || b.Launch.Kernel.VGPRs > 184 {
			t.Errorf("%s: LDS %d, %d VGPRs", variant, b.LDSUsed, b.Launch.Kernel.VGPRs)
		}
	}
}

// The loop with 32x32x16 matrix instructions.
func TestPingPong32Loop(t *testing.T) {
	b := build(t, isa.GFX950, Spec{M: 8192, N: 8192, K: 8192, MFMA: "32x32x16", W: -1, C: -1})
	want := []string{
		"m0: R128x12 GL16x8 B", "c0: lg(0) P1 Mx16 P0 B", "m1: R128x12 vm(0) B", "c1: lg(0) P1 Mx16 P0 B",
		"m2: R128x12 GL16x8 B", "c2: lg(0) P1 Mx16 P0 B", "m3: R128x12 vm(0) B", "c3: lg(0) P1 Mx16 P0 B s_cbranch_scc1",
	}
	if d := cmp.Diff(want, clustersIn(b, b.LoopStart, b.LoopEnd)); d != "" {
		t.Error(d)
	}
	if b.LDSUsed != 131072 || b.Spec.W != 8 || b.Spec.C != 128 || b.Launch.Kernel.VGPRs > 202 {
		t.Errorf("LDS %d W %d C %d VGPRs %d", b.LDSUsed, b.Spec.W, b.Spec.C, b.Launch.Kernel.VGPRs)
	}
}

// The consumers' loops: with barriers three clusters a K tile, with flags two.
func TestProducerConsumerLoops(t *testing.T) {
	barrier := func(s string, end string) []string {
		return []string{s + "m0: R128x8 lg(0)", s + "c0: P1 Mx8 P0", s + "m1: R128x4 lg(0)", s + "c1: P1 Mx8 P0", s + "m2: R128x4 lg(0)", s + "c2: P1 Mx16 P0 " + end}
	}
	flag := func(s string, end string) []string {
		return []string{s + "ready: ds_read_b32 lg(0) v_readfirstlane_b32 s_cbranch_scc1 s_sleep s_branch", s + "m0: R128x12 lg(0)", s + "c0: P1 Mx16 P0",
			s + "m1: R128x4 lg(0)", s + "c1: P1 Mx16 P0", s + "done: ds_add_u32" + end}
	}
	for _, c := range []struct {
		spec         Spec
		loop         []string
		lds, waves   int
		fills, trips int
		most         int // VGPRs
	}{
		{Spec{Tile: "128x256"}, append(barrier("0", "B"), barrier("1", "B s_cbranch_scc1")...), 98304, 12, 12, 63, 150},
		{Spec{Tile: "128x256", Stages: 3}, append(append(barrier("0", "vm(0) B"), barrier("1", "vm(0) B")...), barrier("2", "vm(0) B s_cbranch_scc1")...), 147456, 12, 12, 42, 158},
		{Spec{Tile: "192x256", Consumers: 12}, append(barrier("0", "B"), barrier("1", "B s_cbranch_scc1")...), 114688, 16, 14, 63, 128},
		{Spec{Tile: "192x256", Consumers: 12, Handshake: AtomicHandshake}, append(flag("0", ""), flag("1", " s_cbranch_scc1")...), 114688 + 24, 16, 14, 64, 128},
	} {
		s := c.spec
		s.M, s.N, s.K, s.W, s.C, s.Schedule = 8192, 8192, 8192, -1, -1, ProducerConsumer
		b := build(t, isa.GFX950, s)
		if d := cmp.Diff(c.loop, clustersIn(b, b.LoopStart, b.LoopEnd)); d != "" {
			t.Errorf("%+v: %s", c.spec, d)
		}
		k := b.Launch.Kernel
		if b.LDSUsed != c.lds || b.Waves != c.waves || b.LoopTrips != c.trips || k.VGPRs > c.most || b.Spec.W != 4 || b.Spec.C != 16 {
			t.Errorf("%+v: LDS %d, %d waves, %d trips, %d VGPRs, W %d C %d", c.spec, b.LDSUsed, b.Waves, b.LoopTrips, k.VGPRs, b.Spec.W, b.Spec.C)
		}
		for _, cl := range b.Clusters {
			if cl.Name == "p0" && strings.Count(strings.Join(strings.Fields(shorthand(k.Insts[cl.Start:cl.End])), " "), fmt.Sprintf("GL16x%d", c.fills)) != 1 {
				t.Errorf("%+v: a producer's K tile is %s", c.spec, shorthand(k.Insts[cl.Start:cl.End]))
			}
		}
	}
}

// The original's producers publish a K tile with four loads under way: the
// values come out right when loads are instant, and the check of waits sees that
// nothing makes it so. Each of the later form's waits for loads is needed.
func TestFlagsNeedTheirWaits(t *testing.T) {
	s := Spec{M: 192, N: 256, K: 512, Schedule: ProducerConsumer, Consumers: 12, Handshake: AtomicHandshake, Variant: "v1", Seed: 5}
	b := build(t, isa.GFX950, s)
	if _, err := emu.Run(b.Launch, emu.Options{Check: true}); !errors.Is(err, emu.ErrHazard) || !strings.Contains(err.Error(), "buffer_load_dwordx4") {
		t.Errorf("published early: error %v, want a hazard that names the load", err)
	}
	b = build(t, isa.GFX950, s)
	b.FillInputs()
	if _, err := emu.Run(b.Launch, emu.Options{}); err != nil {
		t.Fatal(err)
	}
	if e, err := b.Verify(); err != nil || e > bf16Limit {
		t.Errorf("published early: error %g, %v", e, err)
	}
	s.Variant = "v2"
	whole := build(t, isa.GFX950, s)
	for _, c := range []struct {
		cluster string
		vm      int
	}{{"p0", 0}, {"p1", 0}, {"0m0", noVM}, {"1m1", noVM}} {
		s.Break = fmt.Sprintf("wait:%d", waitIn(t, whole, c.cluster, c.vm))
		if _, err := emu.Run(build(t, isa.GFX950, s).Launch, emu.Options{Check: true}); !errors.Is(err, emu.ErrHazard) {
			t.Errorf("without the wait of %s: error %v, want a hazard", c.cluster, err)
		}
	}
}

// What does not fit is refused in one sentence that says by how much and what
// does fit.
func TestFormRefusals(t *testing.T) {
	pc := func(s Spec) Spec { s.Schedule = ProducerConsumer; return s }
	for _, c := range []struct {
		cpu  isa.CPU
		s    Spec
		want string
	}{
		{isa.GFX942, pc(Spec{}), "uses 98304 bytes of LDS, 32768 more than the 65536 of gfx942; use --schedule pingpong8"},
		{isa.GFX942, Spec{Tile: "192x256"}, "114688 bytes of LDS, 49152 more than the 65536 of gfx942; --tile 256x256 or 128x128 fits"},
		{isa.GFX950, pc(Spec{Consumers: 12, Stages: 3}), "use 172032 bytes of LDS, 8192 more than the 163840 of gfx950; --stages 2 fits"},
		{isa.GFX950, pc(Spec{Tile: "256x256"}), "needs at least 200 registers a wave, and 12 waves leave 168 of the 512 of a SIMD to each; --tile 128x256 fits"},
		{isa.GFX950, pc(Spec{Tile: "192x256"}), "has no tile"},
		{isa.GFX950, pc(Spec{Consumers: 9}), "--consumers is 9; schedule producer-consumer takes 8 or 12"},
		{isa.GFX950, pc(Spec{Producers: 2}), "--producers is 2; schedule producer-consumer takes 4"},
		{isa.GFX950, pc(Spec{Stages: 4}), "--stages is 4; schedule producer-consumer takes 2 or 3"},
		{isa.GFX950, pc(Spec{Handshake: "mutex"}), `unknown handshake "mutex"; barrier and lds-atomic exist`},
		{isa.GFX950, pc(Spec{DType: "fp8"}), "has 16-bit element types only"},
		{isa.GFX950, pc(Spec{MFMA: "32x32x16"}), `uses MFMA 16x16x32, not "32x32x16"`},
		{isa.GFX950, Spec{Stages: 3}, "--stages is an option of schedule producer-consumer; schedule pingpong8 has none"},
		{isa.GFX950, Spec{DType: "fp8", Consumers: 8}, "--consumers is an option of schedule producer-consumer"},
		{isa.GFX950, Spec{Variant: "v3", Tile: "192x256"}, `unknown variant "v3"; v1 and v2 exist`},
		{isa.GFX950, Spec{Variant: "v1"}, "has no variants"},
		{isa.GFX950, Spec{MFMA: "32x32x16", Tile: "128x128"}, "has no tile"},
	} {
		s := c.s
		s.M, s.N, s.K, s.W, s.C = 768, 512, 512, -1, -1
		if _, err := GEMM(c.cpu, s); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %+v: error %v, want one with %q", c.cpu, c.s, err, c.want)
		}
	}
	if got := (&Spec{}).registersPerWave(16); got != 128 {
		t.Errorf("16 waves leave %d registers each, want 128", got)
	}
	// A kernel that outgrew its share is refused where it is built.
	p, err := resolve(isa.GFX950, Spec{M: 192, N: 256, K: 256, Schedule: ProducerConsumer, Consumers: 12, W: -1, C: -1})
	if err != nil {
		t.Fatal(err)
	}
	g := newGemm(p)
	g.resources(16, 0, 0)
	g.nextV = 129
	if err := g.budget(0); err == nil || !strings.Contains(err.Error(), "needs 136 registers a wave, 8 more than the 128 that 16 waves") {
		t.Errorf("129 registers for 16 waves: %v", err)
	}
}

// vmWaits lists the vmcnt of every wait for loads before the stores, by range of
// instructions.
func vmWaits(b *Built, from, to int) []int {
	var out []int
	for _, in := range b.Launch.Kernel.Insts[from:to] {
		if vm := int(in.Offset&15 | in.Offset>>14<<4); in.Op == isa.S_WAITCNT && vm != noVM {
			out = append(out, vm)
		}
	}
	return out
}

// The vmcnt constants of the forms with loads in flight: those of the original,
// and the waits that make certain what it leaves to time (10, 5 and 8 in the
// loops; 3 and 1 in the 192-row tile, whose waves have six loads a K tile or
// eight).
func TestVMCountConstants(t *testing.T) {
	for _, c := range []struct {
		spec                     Spec
		prologue, loop, epilogue []int
	}{
		{Spec{Tile: "256x256"}, []int{4, 6}, []int{10, 6, 6}, []int{4, 2, 0}},
		{Spec{Tile: "128x128"}, []int{2, 3}, []int{5, 3, 3}, []int{2, 1, 0}},
		{Spec{Tile: "192x256"}, []int{3, 6}, []int{8, 6, 8, 6}, []int{6, 3, 1, 0}},
		{Spec{Tile: "192x256", Variant: "v1"}, []int{0, 0}, []int{0, 0}, []int{0}},
		{Spec{MFMA: "32x32x16", Tile: "256x256"}, []int{0}, []int{0, 0}, []int{0, 0}},
	} {
		s := c.spec
		s.M, s.N, s.K, s.W, s.C = 768, 768, 512, -1, -1
		b := build(t, isa.GFX950, s)
		end := len(b.Launch.Kernel.Insts)
		got := [][]int{vmWaits(b, 0, b.LoopStart), vmWaits(b, b.LoopStart, b.LoopEnd), vmWaits(b, b.LoopEnd, end)}
		if d := cmp.Diff([][]int{c.prologue, c.loop, c.epilogue}, got); d != "" {
			t.Errorf("%+v: %s", c.spec, d)
		}
	}
}
