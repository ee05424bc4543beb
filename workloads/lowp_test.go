package workloads

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

func TestLowComputes(t *testing.T) {
	for _, s := range []Spec{
		{DType: "fp8", Schedule: PingPong8, Tile: "128x128"},
		{DType: "fp8", Schedule: PingPong8, Tile: "256x256"},
		{DType: "fp8", Schedule: Interleave4, Tile: "64x64"},
		{DType: "fp8", Schedule: Interleave4, Tile: "128x128"},
		{DType: "fp8", Schedule: Interleave4, Tile: "256x256"},
		{DType: "fp4", Schedule: PingPong8, Tile: "256x256"},
		{DType: "fp4", Schedule: Interleave4, Tile: "256x256"},
		{DType: "fp6", Schedule: Interleave4, Tile: "256x256"},
		{DType: "fp6", Schedule: Interleave4, Tile: "64x64"},
		{DType: "fp6", Schedule: PingPong8, Tile: "256x256"},
		{DType: "fp6", Schedule: Interleave4, Variant: DwordX4, Tile: "256x256"},
	} {
		s.M, s.N, _ = OneRound(s.Tile, 2)
		s.W, s.C, s.Seed = -1, -1, 3
		for _, k := range []int{1024, 1280} {
			s.K = k
			b := build(t, isa.GFX950, s)
			kk := b.Launch.Kernel
			e := check(t, isa.GFX950, s)
			limit := map[string]float64{"bf16": bf16Limit, "fp16": fp16Limit}[b.OutDType]
			t.Logf("%s k %d: V %d A %d S %d lds %d error %g", kk.Name, k, kk.VGPRs, kk.AGPRs, kk.SGPRs, b.LDSUsed, e)
			if e > limit {
				t.Errorf("%s %d: error %g", b.Launch.Kernel.Name, k, e)
			}
			if r := traceLDS(t, b).races(b); len(r) > 0 {
				t.Errorf("%s: %v", b.Launch.Kernel.Name, r)
			}
		}
	}
	s := Spec{DType: "fp8", M: 256, N: 256, K: 512, Tile: "256x256"}
	if e := check(t, isa.GFX942, s); e > bf16Limit {
		t.Errorf("gfx942 %g", e)
	}
}
