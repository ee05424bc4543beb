package workloads

import "github.com/whisker-sim/whisker/isa"

// everyGEMMForm describes every form of the GEMM, all element types.
func everyGEMMForm() []Info { return append(gemmForms(), lowForms()...) }

// lowSpecs are the low-precision forms without size and tile.
func lowSpecs() []struct {
	cpu     isa.CPU
	spec    Spec
	summary string
} {
	return []struct {
		cpu     isa.CPU
		spec    Spec
		summary string
	}{
		{isa.GFX950, Spec{DType: "fp8", Schedule: PingPong8}, "FP8 (OCP E4M3), 8 waves in two groups; bf16 result"},
		{isa.GFX950, Spec{DType: "fp8", Schedule: Interleave4}, "FP8 (OCP E4M3), 4 waves; bf16 result"},
		{isa.GFX942, Spec{DType: "fp8", Schedule: PingPong8}, "FP8 (E4M3 FNUZ), 8 waves; single LDS buffer, the next K tile held in registers; bf16 result"},
		{isa.GFX950, Spec{DType: "fp6", Variant: DwordX3, Schedule: PingPong8}, "FP6 (E2M3), 8 waves, 12-byte loads; fp16 result"},
		{isa.GFX950, Spec{DType: "fp6", Variant: DwordX4, Schedule: PingPong8}, "FP6 (E2M3), 8 waves, packed rows; fp16 result"},
		{isa.GFX950, Spec{DType: "fp6", Variant: DwordX3, Schedule: Interleave4}, "FP6 (E2M3), 4 waves, 12-byte loads; fp16 result"},
		{isa.GFX950, Spec{DType: "fp6", Variant: DwordX4, Schedule: Interleave4}, "FP6 (E2M3), 4 waves, packed rows; fp16 result"},
		{isa.GFX950, Spec{DType: "fp4", Schedule: PingPong8}, "FP4 (E2M1), 8 waves, K tiles of 256; bf16 result"},
		{isa.GFX950, Spec{DType: "fp4", Schedule: Interleave4}, "FP4 (E2M1), 4 waves, K tiles of 256; bf16 result"},
	}
}

// lowForms describes every low-precision form.
func lowForms() []Info {
	var all []Info
	for _, f := range lowSpecs() {
		p := &plan{Spec: f.spec, cpu: f.cpu, low: lowFormatOf(f.cpu, f.spec.DType)}
		tiles := tilesOf(f.cpu, f.spec.Schedule, "", 0)
		if f.cpu == isa.GFX950 {
			tiles = p.lowTiles()
		}
		for _, t := range tiles {
			s := f.spec
			s.Tile, s.K, s.W, s.C = t, 1024, -1, -1
			s.M, s.N, _ = OneRound(t, 1)
			b, err := GEMM(f.cpu, s)
			if err != nil {
				panic("workloads: " + err.Error()) // a form that does not build at its own size
			}
			k := b.Launch.Kernel
			i := Info{Name: "gemm", Summary: f.summary, CPU: f.cpu, DType: s.DType, Variant: s.Variant, Schedule: s.Schedule, Tile: t,
				Waves: b.Waves, VGPRs: k.VGPRs, AGPRs: k.AGPRs, SGPRs: k.SGPRs,
				LDSBytes: k.LDSBytes, LDSUsed: b.LDSUsed, Options: gemmOptions()}
			i.occupancy()
			all = append(all, i)
		}
	}
	return all
}
