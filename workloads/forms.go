package workloads

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/swizzle"
)

// Handshakes of the producer-consumer schedule.
const (
	BarrierHandshake = "barrier"
	AtomicHandshake  = "lds-atomic"
)

// Variants of the forms that have two.
const (
	variant1 = "v1"
	variant2 = "v2"
)

// gemmOptions are the options of the GEMM, all forms.
func gemmOptions() []Option {
	return []Option{
		{"m", "8192", "any; a last row tile may be ragged", "rows of A and of C"},
		{"n", "8192", "multiple of the tile's columns", "rows of B, columns of C"},
		{"k", "8192", "multiple of 128; of 64 on gfx942 and for " + ProducerConsumer + ", of 256 for fp4", "columns of A and of B"},
		{"dtype", "bf16", "bf16, fp16, fp8; gfx950 also fp6, fp4", "element type; accumulation is in f32, the result bf16 or fp16"},
		{"tile", "by size", "256x256, 192x256 (gfx950), 128x128; interleave4 also 256x128, 128x64, 64x256, and 64x64 below 16 bits; producer-consumer 128x256 or 192x256", "rows x columns of C per workgroup"},
		{"schedule", PingPong8, strings.Join([]string{PingPong8, Interleave4 + " (gfx950)", ProducerConsumer + " (gfx950, 16 bits)"}, ", "), "how waves overlap memory and matrix work"},
		{"order", "remap", strings.Join(swizzle.Names(), ", "), "order in which workgroups walk the tiles"},
		{"mfma", "the schedule's own", "16x16x32 or 32x32x16 (gfx950), 16x16x16 (gfx942); fp8 and less 16x16x128 (gfx950), fp8 16x16x32 (gfx942)", "matrix instruction"},
		{"variant", "v2; of fp6 " + DwordX3, "192x256: v1, v2; lds-atomic: v1, v2; fp6: " + DwordX3 + ", " + DwordX4,
			"v1 of the 192x256 tile drains all loads in a K tile, v1 of the lds-atomic handshake publishes a K tile with 4 loads under way as the original does; 12-byte loads in 16-byte LDS slots, or packed rows"},
		{"producers", "4", "4", "waves that load (producer-consumer)"},
		{"consumers", "8", "8, 12", "waves that compute (producer-consumer)"},
		{"stages", "2", "2, 3", "LDS buffers (producer-consumer)"},
		{"handshake", BarrierHandshake, BarrierHandshake + ", " + AtomicHandshake, "how producers and consumers meet"},
		{"descriptors", descriptorSGPR, descriptorSGPR + ", " + descriptorVGPR, "where the producers' loads find their buffer descriptor (producer-consumer): vgpr is as clang compiles the branch that divides the roles, a loop of v_readfirstlane around every load"},
		{"features", "none", strings.Join(isa.FeatureNames(), ", ") + "; several with commas", "what-ifs that the producer-consumer schedule uses, on a machine that has them (features.NAME); with dynamic_registers or mfma_lds_operands and 8 consumers also a 256x256 tile"},
		{"window", "by size", "0 = row by row", "rows of tiles walked together (W)"},
		{"chunk", "by size", "0 = as dispatched", "consecutive tiles per XCD (C)"},
		{"break", "nothing", "wait:N, swizzle, stagger (pingpong8)", "a kernel that is wrong or slow on purpose: without its N-th s_waitcnt (from 0), without the swizzle of its LDS reads, or without the barriers that hold its two groups of waves apart"},
	}
}

// gemmFormTable has the schedules of the GEMM and what chooses each.
var gemmFormTable = []struct {
	cpu     isa.CPU
	summary string
	spec    Spec
}{
	{isa.GFX950, "8 waves in two groups that take turns at the matrix pipe and at memory", Spec{Schedule: PingPong8}},
	{isa.GFX950, "the same, all loads drained in every K tile", Spec{Schedule: PingPong8, Tile: "192x256", Variant: variant1}},
	{isa.GFX950, "8 waves in two groups; undivided tiles, all loads drained in every K tile", Spec{Schedule: PingPong8, MFMA: "32x32x16"}},
	{isa.GFX942, "8 waves in two groups; single LDS buffer, the next K tile held in registers", Spec{Schedule: PingPong8}},
	{isa.GFX950, "4 waves, memory operations interleaved with matrix instructions", Spec{Schedule: Interleave4}},
	{isa.GFX950, "4 waves load for 8 that compute", Spec{Schedule: ProducerConsumer, Consumers: 8, Stages: 2}},
	{isa.GFX950, "4 waves load for 8 that compute", Spec{Schedule: ProducerConsumer, Consumers: 8, Stages: 3}},
	{isa.GFX950, "the same, descriptors of the loads in VGPRs as clang leaves them", Spec{Schedule: ProducerConsumer, Consumers: 8, Stages: 3, Descriptors: descriptorVGPR}},
	{isa.GFX950, "4 waves load for 12 that compute", Spec{Schedule: ProducerConsumer, Consumers: 12}},
	{isa.GFX950, "4 waves load for 12 that compute, at their own pace", Spec{Schedule: ProducerConsumer, Consumers: 12, Handshake: AtomicHandshake}},
	{isa.GFX950, "the same, descriptors of the loads in VGPRs as clang leaves them", Spec{Schedule: ProducerConsumer, Consumers: 12, Handshake: AtomicHandshake, Descriptors: descriptorVGPR}},
	{isa.GFX950, "4 waves load for 8 that compute, at their own pace", Spec{Schedule: ProducerConsumer, Consumers: 8, Stages: 3, Handshake: AtomicHandshake}},
}

// gemmForms describes every form of the GEMM.
func gemmForms() []Info {
	var all []Info
	for _, f := range gemmFormTable {
		tiles := []string{f.spec.Tile}
		if f.spec.Tile == "" {
			mfma := f.spec.MFMA
			if mfma == "" && f.cpu == isa.GFX950 {
				mfma = "16x16x32"
			}
			tiles = tilesOf(f.cpu, f.spec.Schedule, mfma, f.spec.Consumers)
		}
		for _, t := range tiles {
			s := f.spec
			s.Tile, s.K, s.W, s.C = t, 256, -1, -1
			fmt.Sscanf(t, "%dx%d", &s.M, &s.N)
			b, err := GEMM(f.cpu, s)
			if err != nil {
				panic("workloads: " + err.Error()) // a form that does not build at its own size
			}
			k := b.Launch.Kernel
			i := Info{Name: "gemm", Summary: f.summary, CPU: f.cpu, Schedule: s.Schedule, Tile: t,
				Waves: b.Waves, VGPRs: k.VGPRs, AGPRs: k.AGPRs, SGPRs: k.SGPRs,
				LDSBytes: k.LDSBytes, LDSUsed: b.LDSUsed, Options: gemmOptions(), spec: f.spec}
			i.spec.Tile = t
			i.Choose, i.Spins = f.spec.formSettings(), f.spec.Handshake == AtomicHandshake
			if f.spec.MFMA != "" {
				i.Choose = append(i.Choose, Setting{"mfma", f.spec.MFMA})
			}
			i.occupancy()
			all = append(all, i)
		}
	}
	return all
}

// formSettings are the options that only some forms have, where they are set.
func (s *Spec) formSettings() []Setting {
	var out []Setting
	if s.Schedule == ProducerConsumer {
		for _, o := range []struct {
			name string
			v    int
		}{{"producers", s.Producers}, {"consumers", s.Consumers}, {"stages", s.Stages}} {
			if o.v != 0 {
				out = append(out, Setting{o.name, fmt.Sprint(o.v)})
			}
		}
		if s.Handshake != "" {
			out = append(out, Setting{"handshake", s.Handshake})
		}
	}
	if s.Descriptors != "" {
		out = append(out, Setting{"descriptors", s.Descriptors})
	}
	if s.Features != 0 {
		out = append(out, Setting{"features", featureNames(s.Features)})
	}
	if s.Variant != "" {
		out = append(out, Setting{"variant", s.Variant})
	}
	return out
}

// formName is element type, schedule and what else tells a form from another, as a part of
// a symbol.
func (p *plan) formName() string {
	name := p.DType + "_" + p.Schedule
	if p.low != nil {
		return p.DType + p.Variant + "_" + p.Schedule
	}
	if p.Schedule == ProducerConsumer {
		name = fmt.Sprintf("%s_%s_%dp%dc_%dstage", p.DType, p.Schedule, p.Producers, p.Consumers, p.Stages)
		if p.Handshake != BarrierHandshake && p.Features == 0 {
			name += "_" + p.Handshake
		}
		if p.Descriptors == descriptorVGPR {
			name += "_vgpr_descriptors"
		}
		if p.Features != 0 {
			name += "_" + strings.ReplaceAll(featureNames(p.Features), ",", "_")
		}
	}
	if p.MFMA == "32x32x16" {
		name += "_" + p.MFMA
	}
	if p.Variant != "" {
		name += "_" + p.Variant
	}
	return strings.ReplaceAll(name, "-", "_")
}

// ldsBytes is the LDS of a CU (hardware.md: KFD Lds_Size_In_Kb).
func ldsBytes(cpu isa.CPU) int {
	if cpu == isa.GFX942 {
		return ldsCDNA3
	}
	return ldsCDNA4
}

// choose settles schedule, element type, matrix instruction and the options of
// single schedules.
func (p *plan) choose() error {
	switch p.Schedule {
	case "":
		p.Schedule = PingPong8
	case PingPong8, Interleave4, ProducerConsumer:
	default:
		return fmt.Errorf("gemm: unknown schedule %q; %s, %s and %s exist", p.Schedule, PingPong8, Interleave4, ProducerConsumer)
	}
	if p.low = lowFormatOf(p.cpu, p.DType); p.low != nil {
		if p.Schedule == ProducerConsumer {
			return fmt.Errorf("gemm: schedule %s has 16-bit element types only, not %s; use %s or %s", p.Schedule, p.DType, PingPong8, Interleave4)
		}
		if err := p.chooseRoles(); err != nil {
			return err
		}
		if p.cpu == isa.GFX942 && p.Schedule != PingPong8 {
			return p.notOnCDNA3()
		}
		return p.chooseLow()
	}
	switch p.DType {
	case "", "bf16":
		p.DType = "bf16"
	case "fp16", "f16":
		p.DType, p.fp16 = "fp16", true
	default:
		return fmt.Errorf("gemm: unknown element type %q; bf16, fp16, fp8, fp6 and fp4 exist", p.DType)
	}
	if err := p.chooseRoles(); err != nil {
		return err
	}
	if p.cpu == isa.GFX942 && p.Schedule != PingPong8 {
		return p.notOnCDNA3()
	}
	return p.chooseMFMA()
}

// notOnCDNA3 says what a schedule needs that gfx942 lacks: 16 bytes per lane
// straight to LDS, and for producers and consumers the LDS of their stages.
func (p *plan) notOnCDNA3() error {
	if p.Schedule == ProducerConsumer {
		used := p.stageBytes() * p.Stages
		return fmt.Errorf("gemm: schedule %s with %d consumers and %d stages uses %d bytes of LDS, %d more than the %d of %s; use --schedule %s, which fits",
			p.Schedule, p.Consumers, p.Stages, used, used-ldsCDNA3, ldsCDNA3, p.cpu, PingPong8)
	}
	return fmt.Errorf("gemm: schedule %s needs 16-byte direct-to-LDS loads, which %s does not have; use %s", p.Schedule, p.cpu, PingPong8)
}

// chooseMFMA settles the matrix instruction.
func (p *plan) chooseMFMA() error {
	shapes := []string{"16x16x32"}
	switch {
	case p.cpu == isa.GFX942:
		shapes = []string{"16x16x16"}
	case p.Schedule == PingPong8:
		shapes = append(shapes, "32x32x16")
	}
	if p.MFMA == "" {
		p.MFMA = shapes[0]
	}
	op, ok := map[string][2]isa.Op{
		"16x16x16": {isa.V_MFMA_F32_16X16X16_BF16, isa.V_MFMA_F32_16X16X16_F16},
		"16x16x32": {isa.V_MFMA_F32_16X16X32_BF16, isa.V_MFMA_F32_16X16X32_F16},
		"32x32x16": {isa.V_MFMA_F32_32X32X16_BF16, isa.V_MFMA_F32_32X32X16_F16},
	}[p.MFMA]
	if !ok || !strings.Contains(strings.Join(shapes, " "), p.MFMA) {
		return fmt.Errorf("gemm: schedule %s on %s uses MFMA %s, not %q", p.Schedule, p.cpu, strings.Join(shapes, " or "), p.MFMA)
	}
	p.mfma = op[0]
	if p.fp16 {
		p.mfma = op[1]
	}
	return nil
}

// tilesOf lists the tiles that a schedule has on a CPU with a matrix
// instruction and a number of consumers.
func tilesOf(cpu isa.CPU, schedule, mfma string, consumers int) []string {
	switch {
	case schedule == Interleave4:
		return []string{"256x256", "256x128", "128x128", "128x64", "64x256"}
	case schedule == ProducerConsumer:
		return []string{fmt.Sprintf("%dx256", consumers/4*pcRows)}
	case mfma == "32x32x16":
		return []string{"256x256"}
	case cpu == isa.GFX950 && mfma == "16x16x32":
		return []string{"256x256", "192x256", "128x128"}
	}
	return []string{"256x256", "128x128"}
}

// chooseTile settles the tile, and the version of a tile that has two.
func (p *plan) chooseTile() error {
	tiles := tilesOf(p.cpu, p.Schedule, p.MFMA, p.Consumers)
	switch {
	case p.largeTile():
		tiles = append([]string{"256x256"}, tiles...)
	case p.largeShare():
		tiles = append(tiles, "256x256")
	}
	if p.low != nil {
		tiles = p.lowTiles()
		if p.Tile == "" {
			p.Tile = p.lowTile()
		}
	}
	if p.Tile == "" {
		p.Tile = tiles[0]
		// The table of sizes in HipKittens: 128x128 up to 2048, and here also
		// where 256 does not divide.
		if p.Schedule == PingPong8 && p.MFMA != "32x32x16" && (max(p.M, p.N) <= 2048 || p.M%256 != 0 || p.N%256 != 0) {
			p.Tile = "128x128"
		}
	}
	for _, t := range tiles {
		if t == p.Tile {
			fmt.Sscanf(t, "%dx%d", &p.tm, &p.tn)
		}
	}
	if p.tm == 0 {
		return p.noTile(tiles)
	}
	switch {
	case p.low != nil:
	case !p.hasVariants() && p.Variant != "":
		return fmt.Errorf("gemm: the %s tile of schedule %s has no variants, so variant %q is none; pingpong8's 192x256 tile and the %s handshake have v1 and v2, fp6 dwordx3 and dwordx4",
			p.Tile, p.Schedule, p.Variant, AtomicHandshake)
	case p.hasVariants() && p.Variant == "":
		p.Variant = variant2
	case p.hasVariants() && p.Variant != variant1 && p.Variant != variant2:
		return fmt.Errorf("gemm: unknown variant %q; v1 and v2 exist", p.Variant)
	}
	return nil
}

// hasVariants reports the forms of which HipKittens has two.
func (p *plan) hasVariants() bool {
	return p.tm == 192 && p.Schedule == PingPong8 || p.Handshake == AtomicHandshake
}

// noTile refuses a tile, with the reason when a limit of the CU is the reason.
func (p *plan) noTile(tiles []string) error {
	has := strings.Join(tiles, ", ")
	var tm, tn int
	fmt.Sscanf(p.Tile, "%dx%d", &tm, &tn)
	switch {
	case p.Schedule == ProducerConsumer && tn == 256 && tm > p.Consumers/4*pcRows && tm <= 256 && tm%(p.Consumers/4*16) == 0:
		need, most := pcRegisters(tm/(p.Consumers/4)), p.registersPerWave(p.Producers+p.Consumers)
		if need > most {
			return fmt.Errorf("gemm: tile %s with %d consumers needs at least %d registers a wave, and %d waves leave %d of the %d of a SIMD to each; --tile %s fits",
				p.Tile, p.Consumers, need, p.Producers+p.Consumers, most, p.registers(), has)
		}
	case p.cpu == isa.GFX942 && p.Tile == "192x256":
		used := 4 * (192 + 256) * 64
		return fmt.Errorf("gemm: tile %s of schedule %s holds two buffers, %d bytes of LDS, %d more than the %d of %s; --tile %s fits",
			p.Tile, p.Schedule, used, used-ldsCDNA3, ldsCDNA3, p.cpu, strings.Join(tiles, " or "))
	}
	return fmt.Errorf("gemm: schedule %s on %s with MFMA %s has no tile %q; it has %s", p.Schedule, p.cpu, p.MFMA, p.Tile, has)
}

// registers is what a SIMD has: the machine's where that is more than the CPU's.
func (s *Spec) registers() int { return max(s.Registers, simdRegs) }

// registersPerWave is how many registers each of a workgroup's waves can have
// when the workgroup fills a CU.
func (s *Spec) registersPerWave(waves int) int {
	perSIMD := (waves + simds - 1) / simds
	return s.registers() / perSIMD / regGranule * regGranule
}

// budget refuses a kernel that a CU cannot hold.
func (g *gemm) budget(ldsBytesUsed int) error {
	p, waves := g.plan, g.built.Waves
	need := roundUp(roundUp(g.nextV, 4)+g.nextA, regGranule)
	if g.has(isa.DynamicRegisters) {
		if err := g.dynamicBudget(); err != nil {
			return err
		}
	} else if most := p.registersPerWave(waves); need > most {
		return fmt.Errorf("gemm: the %s tile of schedule %s needs %d registers a wave, %d more than the %d that %d waves of a workgroup leave to each on a SIMD of %d",
			p.Tile, p.Schedule, need, need-most, most, waves, p.registers())
	}
	if most := p.room(); ldsBytesUsed > most {
		return fmt.Errorf("gemm: the %s tile of schedule %s uses %d bytes of LDS, %d more than the %d of %s", p.Tile, p.Schedule, ldsBytesUsed, ldsBytesUsed-most, most, p.cpu)
	}
	return nil
}
