package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
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
	Choose   []Setting // further options that choose the form
	Spins    bool      // waves poll LDS: what they execute depends on time
	Waves    int       // per workgroup

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

	spec Spec // of a GEMM
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
