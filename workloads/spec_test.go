package workloads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

func TestRefusals(t *testing.T) {
	ok := Spec{M: 512, N: 512, K: 512, W: -1, C: -1}
	for _, c := range []struct {
		name string
		cpu  isa.CPU
		edit func(*Spec)
		want string
	}{
		{"zero", isa.GFX950, func(s *Spec) { s.M = 0 }, "M = 0; a size must be positive"},
		{"negative", isa.GFX950, func(s *Spec) { s.K = -64 }, "K = -64; a size must be positive"},
		{"enormous", isa.GFX950, func(s *Spec) { s.N = 1 << 40 }, "N = 1099511627776 is beyond 1048576"},
		{"N between tiles", isa.GFX950, func(s *Spec) { s.N = 500 }, "N must be a multiple of 128, and K a multiple of 128 that is at least 256"},
		{"ragged N, given tile", isa.GFX950, func(s *Spec) { s.N, s.Tile = 384, "256x256" }, "N must be a multiple of 256"},
		{"K of one tile", isa.GFX950, func(s *Spec) { s.K = 128 }, "at least 256"},
		{"K odd tiles", isa.GFX950, func(s *Spec) { s.K = 320 }, "K a multiple of 128"},
		{"K on gfx942", isa.GFX942, func(s *Spec) { s.K = 64 }, "K a multiple of 64 that is at least 128"},
		{"tile", isa.GFX950, func(s *Spec) { s.Tile = "64x64" }, `has no tile "64x64"; it has 256x256, 192x256, 128x128`},
		{"dtype", isa.GFX950, func(s *Spec) { s.DType = "int8" }, `unknown element type "int8"; bf16, fp16, fp8, fp6 and fp4 exist`},
		{"schedule", isa.GFX950, func(s *Spec) { s.Schedule = "pp" }, `unknown schedule "pp"; pingpong8, interleave4 and producer-consumer exist`},
		{"schedule of another CPU", isa.GFX942, func(s *Spec) { s.Schedule = Interleave4 }, "use pingpong8"},
		{"matrix instruction", isa.GFX950, func(s *Spec) { s.MFMA = "4x4x4" }, `uses MFMA 16x16x32 or 32x32x16, not "4x4x4"`},
		{"window", isa.GFX950, func(s *Spec) { s.W = -2 }, "none may be negative"},
		{"window beyond the grid", isa.GFX950, func(s *Spec) { s.W = 5 }, "window W is 5, and the grid has 4 rows"},
		{"chunk beyond the grid", isa.GFX950, func(s *Spec) { s.C = 17 }, "chunk C is 17, and the grid has 16 tiles"},
		{"order", isa.GFX950, func(s *Spec) { s.Order = "spiral" }, `unknown block order "spiral"`},
		{"no window", isa.GFX950, func(s *Spec) { s.Order, s.W = "hilbert", 2 }, "order hilbert has no window"},
		{"no chunk", isa.GFX950, func(s *Spec) { s.Order, s.C = "grouped", 2 }, "order grouped has no chunk"},
		{"full range", isa.GFX950, func(s *Spec) { s.Order, s.XCDs = "full-range", 7 }, "no bijection"},
		{"LDS", isa.GFX950, func(s *Spec) { s.LDSBytes = 1000 }, "1000 bytes of LDS requested, the 128x128 tile of schedule pingpong8 uses 65536"},
		{"break", isa.GFX950, func(s *Spec) { s.Break = "wait" }, `"wait:N", "swizzle" and "stagger" exist`},
		{"break stagger of 4 waves", isa.GFX950, func(s *Spec) { s.Break, s.Schedule = "stagger", Interleave4 }, "no two groups of waves"},
		{"break too far", isa.GFX950, func(s *Spec) { s.Break = "wait:9999" }, "the kernel has"},
	} {
		s := ok
		c.edit(&s)
		if _, err := GEMM(c.cpu, s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// The window and chunk of each size are those of the original kernels.
func TestDefaultOrder(t *testing.T) {
	for _, c := range []struct {
		cpu  isa.CPU
		n    int
		tile string
		w, c int
	}{
		{isa.GFX950, 1024, "128x128", 2, 4}, {isa.GFX950, 2048, "128x128", 4, 16}, {isa.GFX950, 4096, "256x256", 8, 64},
		{isa.GFX950, 8192, "256x256", 8, 64}, {isa.GFX950, 16384, "256x256", 8, 256},
		{isa.GFX942, 1024, "128x128", 4, 16}, {isa.GFX942, 8192, "256x256", 4, 16}, {isa.GFX942, 16384, "256x256", 8, 64},
	} {
		b := build(t, c.cpu, Spec{M: c.n, N: c.n, K: c.n, W: -1, C: -1})
		if b.Spec.Tile != c.tile || b.Spec.W != c.w || b.Spec.C != c.c {
			t.Errorf("%s %d: tile %s W %d C %d, want %s %d %d", c.cpu, c.n, b.Spec.Tile, b.Spec.W, b.Spec.C, c.tile, c.w, c.c)
		}
	}
}

// One workgroup fits a CU for every form of the GEMM; two 8-wave workgroups
// never do.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, i := range List() {
		id := i.CPU.String() + i.Schedule + i.Tile
		id += i.Name + i.DType + i.Variant + fmt.Sprint(i.Choose)
		if seen[id] || i.Summary == "" || len(i.Options) == 0 || i.WorkgroupsPerCU == 0 {
			t.Errorf("%+v: listed twice or bare", i)
		}
		seen[id] = true
		if i.Name != "gemm" {
			continue
		}
		if i.WorkgroupsPerCU != 1 || i.WavesPerSIMD != i.Waves/4 {
			t.Errorf("%s: %d workgroups a CU, %d waves a SIMD, limit %s", id, i.WorkgroupsPerCU, i.WavesPerSIMD, i.Limit)
		}
	}
}

func TestOneRound(t *testing.T) {
	for _, c := range []struct {
		tile      string
		wgs, m, n int
	}{{"256x256", 256, 4096, 4096}, {"128x64", 256, 2048, 1024}, {"256x128", 304, 256 * 16, 128 * 19}, {"128x128", 1, 128, 128}} {
		if m, n, err := OneRound(c.tile, c.wgs); err != nil || m != c.m || n != c.n {
			t.Errorf("%s on %d: %dx%d, %v; want %dx%d", c.tile, c.wgs, m, n, err, c.m, c.n)
		}
	}
	for _, tile := range []string{"", "256", "axb", "0x4"} {
		if _, _, err := OneRound(tile, 4); err == nil {
			t.Errorf("tile %q accepted", tile)
		}
	}
}
