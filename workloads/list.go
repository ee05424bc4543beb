package workloads

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/swizzle"
)

// Option is one parameter of a kernel, as its help shows it.
type Option struct {
	Name, Default, Values, Help string
}

// Info describes one kernel form.
type Info struct {
	Name     string // "gemm"
	Summary  string
	CPU      isa.CPU
	DType    string // of the data; "" when the form takes several
	Variant  string
	Schedule string
	Tile     string
	Waves    int // per workgroup

	VGPRs, AGPRs, SGPRs int
	LDSBytes            int // requested
	LDSUsed             int
	ScratchBytes        int

	// WavesPerSIMD and WorkgroupsPerCU are the occupancy that registers and
	// LDS allow; Limit names what stops one more workgroup.
	WavesPerSIMD    int
	WorkgroupsPerCU int
	Limit           string

	Options []Option
}

// Per-CU resources of CDNA3 and CDNA4: 4 SIMDs with 512 registers of 64 lanes
// and 8 wave slots each, allocated in granules of 8 registers (LLVM
// AMDGPUUsage; KFD Max_Waves_Per_Simd).
const (
	simds        = 4
	simdRegs     = 512
	regGranule   = 8
	simdSlots    = 8
	ldsCDNA3     = 64 << 10
	ldsCDNA4     = 160 << 10
	granuleCDNA3 = 512  // bytes of LDS
	granuleCDNA4 = 1280 // bytes of LDS
)

// occupancy fills the occupancy of a kernel whose workgroup has waves waves.
func (i *Info) occupancy() {
	lds, granule := ldsCDNA3, granuleCDNA3
	if i.CPU == isa.GFX950 {
		lds, granule = ldsCDNA4, granuleCDNA4
	}
	regs := roundUp(roundUp(i.VGPRs, 4)+i.AGPRs, regGranule)
	perWG := (i.Waves + simds - 1) / simds // waves of a workgroup on one SIMD
	// Waves go to the SIMD with the most room: small workgroups spread evenly.
	groups := func(perSIMD int) int {
		if perSIMD < perWG {
			return 0
		}
		return perSIMD * simds / i.Waves
	}
	byRegs, bySlots := groups(simdRegs/regs), groups(simdSlots)
	byLDS := lds / roundUp(max(i.LDSBytes, 1), granule)
	i.WorkgroupsPerCU, i.Limit = byRegs, "registers"
	if bySlots < i.WorkgroupsPerCU {
		i.WorkgroupsPerCU, i.Limit = bySlots, "wave slots"
	}
	if i.LDSBytes > 0 && byLDS <= i.WorkgroupsPerCU {
		i.WorkgroupsPerCU, i.Limit = byLDS, "LDS"
	}
	i.WavesPerSIMD = min((i.WorkgroupsPerCU*i.Waves+simds-1)/simds, simdSlots)
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// gemmOptions are the options of the GEMM, all forms.
func gemmOptions() []Option {
	return []Option{
		{"m", "8192", "multiple of the tile's rows", "rows of A and of C"},
		{"n", "8192", "multiple of the tile's columns", "rows of B, columns of C"},
		{"k", "8192", "multiple of 128 (64 on gfx942; fp4: 256)", "columns of A and of B"},
		{"dtype", "bf16", "bf16, fp16, fp8; gfx950 also fp6, fp4", "element type; accumulation is in f32, the result bf16 or fp16"},
		{"variant", "fp6: " + DwordX3, "fp6: " + DwordX3 + ", " + DwordX4, "12-byte loads in 16-byte LDS slots, or packed rows"},
		{"tile", "by size", "256x256, 128x128; interleave4 also 256x128, 128x64, 64x256, and 64x64 below 16 bits", "rows x columns of C per workgroup"},
		{"schedule", PingPong8, PingPong8 + ", " + Interleave4 + " (gfx950)", "how waves overlap memory and matrix work"},
		{"order", "remap", strings.Join(swizzle.Names(), ", "), "order in which workgroups walk the tiles"},
		{"mfma", "the schedule's own", "16x16x32 (gfx950), 16x16x16 (gfx942); fp8 and less 16x16x128 (gfx950), fp8 16x16x32 (gfx942)", "matrix instruction"},
		{"window", "by size", "0 = row by row", "rows of tiles walked together (W)"},
		{"chunk", "by size", "0 = as dispatched", "consecutive tiles per XCD (C)"},
	}
}

// gemmForms describes every form of the GEMM.
func gemmForms() []Info {
	var all []Info
	for _, f := range []struct {
		cpu               isa.CPU
		schedule, summary string
	}{
		{isa.GFX950, PingPong8, "8 waves in two groups that take turns at the matrix pipe and at memory"},
		{isa.GFX942, PingPong8, "8 waves in two groups; single LDS buffer, the next K tile held in registers"},
		{isa.GFX950, Interleave4, "4 waves, memory operations interleaved with matrix instructions"},
	} {
		for _, t := range tilesOf(f.cpu, f.schedule) {
			var m, n int
			fmt.Sscanf(t, "%dx%d", &m, &n)
			b, err := GEMM(f.cpu, Spec{M: m, N: n, K: 256, Tile: t, Schedule: f.schedule, W: -1, C: -1})
			if err != nil {
				panic("workloads: " + err.Error()) // a form that does not build at its own size
			}
			k := b.Launch.Kernel
			i := Info{Name: "gemm", Summary: f.summary, CPU: f.cpu, Schedule: f.schedule, Tile: t,
				Waves: b.Waves, VGPRs: k.VGPRs, AGPRs: k.AGPRs, SGPRs: k.SGPRs,
				LDSBytes: k.LDSBytes, LDSUsed: b.LDSUsed, Options: gemmOptions()}
			i.occupancy()
			all = append(all, i)
		}
	}
	return all
}

// OneRound is the shape of a GEMM that gives each of wgs CUs one workgroup of
// the tile, in a grid as square as powers of two allow.
func OneRound(tile string, wgs int) (m, n int, err error) {
	var tm, tn int
	if _, err := fmt.Sscanf(tile, "%dx%d", &tm, &tn); err != nil || tm <= 0 || tn <= 0 {
		return 0, 0, fmt.Errorf("gemm: tile %q is not ROWSxCOLUMNS", tile)
	}
	if wgs <= 0 {
		return 0, 0, fmt.Errorf("gemm: %d workgroups; there must be at least one", wgs)
	}
	rows := 1
	for rows*2*rows*2 <= wgs && wgs%(rows*2) == 0 {
		rows *= 2
	}
	return rows * tm, wgs / rows * tn, nil
}
