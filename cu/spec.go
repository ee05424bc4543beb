package cu

import (
	"fmt"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/lds"
)

// Spec sizes a compute unit. Cycles are core clock cycles; see package configs
// for the source of every value.
type Spec struct {
	SIMDs, WaveSlots          int // wave slots are per SIMD
	VGPRsPerSIMD, VGPRGranule int
	SGPRsPerSIMD, SGPRGranule int
	LDSBytes, LDSGranule      int

	IssueInterval int64 // a SIMD is visited once in this many cycles
	BarrierCycles int64
	BranchTaken   int64
	FirstFetch    int64 // launch of a wave to its first issue
	WaveLaunch    int64 // between waves of a workgroup
	VMMax         int   // vmcnt limit
	LGKMMax       int   // lgkmcnt limit

	VALUCycles, VALUDependent    int64
	TransCycles, DoubleCycles    int64
	ValuToAddress, ValuToSALU    int64
	MFMAScale                    float64 // multiplies matrix passes
	PassCycles                   int64
	CoissueBytesPerSlot          int
	PackedExtraSlots             int
	MemFollowsVALU               bool
	ScalarHitCycles              int64
	ICacheBytes, ICacheWays      int
	ICacheLine                   int
	ScalarCacheBytes, ScalarLine int
	ScalarWays                   int
	LDSPortBytes                 int // inbound and return bus of a SIMD pair, bytes per cycle

	Features                            isa.Features // what-ifs that the machine has
	MFMABlocks                          int
	CopyEntries, CopyLines, CopyLineGap int // CopyLineGap: cycles between lines asked for

	LDS lds.Spec
	TCP cache.TCPSpec
}

// Occupancy says how many workgroups of a kernel fit a CU, and what limits it.
type Occupancy struct {
	WorkgroupsPerCU int
	WavesPerSIMD    int
	Limiter         string // vgpr, sgpr, lds, wave_slots
}

func roundUp(n, g int) int { return (n + g - 1) / g * g }

// NewOccupancy computes how many workgroups of a kernel are resident at once.
// It is an error when not even one fits; the error says what is needed and
// what is there.
func NewOccupancy(s *Spec, vgprs, agprs, sgprs, ldsBytes, waves int) (Occupancy, error) {
	perSIMD := (waves + s.SIMDs - 1) / s.SIMDs
	regs := roundUp(max(roundUp(vgprs, 4)+agprs, 1), s.VGPRGranule)
	if agprs == 0 {
		regs = roundUp(max(vgprs, 1), s.VGPRGranule)
	}
	o := Occupancy{WorkgroupsPerCU: 1 << 20}
	limit := func(n int, what string) {
		if n < o.WorkgroupsPerCU {
			o.WorkgroupsPerCU, o.Limiter = n, what
		}
	}
	// Waves go to the SIMD with the most room, so that small workgroups spread
	// evenly over the SIMDs.
	groups := func(wavesPerSIMD int) int {
		if wavesPerSIMD < perSIMD {
			return 0
		}
		return wavesPerSIMD * s.SIMDs / waves
	}
	limit(groups(s.WaveSlots), "wave_slots")
	limit(groups(s.VGPRsPerSIMD/regs), "vgpr")
	limit(groups(s.SGPRsPerSIMD/roundUp(max(sgprs, 1), s.SGPRGranule)), "sgpr")
	if ldsBytes > 0 {
		limit(s.LDSBytes/roundUp(ldsBytes, s.LDSGranule), "lds")
	}
	o.WavesPerSIMD = min((o.WorkgroupsPerCU*waves+s.SIMDs-1)/s.SIMDs, s.WaveSlots)
	if o.WorkgroupsPerCU > 0 {
		return o, nil
	}
	switch o.Limiter {
	case "lds":
		if ldsBytes <= s.LDSBytes {
			return o, fmt.Errorf("a workgroup needs %d bytes of LDS, %d in units of %d, and the CU has %d", ldsBytes, roundUp(ldsBytes, s.LDSGranule), s.LDSGranule, s.LDSBytes)
		}
		return o, fmt.Errorf("a workgroup needs %d bytes of LDS and the CU has %d", ldsBytes, s.LDSBytes)
	case "vgpr":
		return o, fmt.Errorf("a workgroup puts %d waves on a SIMD and each needs %d vector registers (%d in all) of the %d there",
			perSIMD, regs, perSIMD*regs, s.VGPRsPerSIMD)
	case "sgpr":
		return o, fmt.Errorf("a workgroup puts %d waves on a SIMD, which needs %d scalar registers of the %d there",
			perSIMD, perSIMD*roundUp(sgprs, s.SGPRGranule), s.SGPRsPerSIMD)
	}
	return o, fmt.Errorf("a workgroup of %d waves needs %d wave slots on a SIMD and there are %d", waves, perSIMD, s.WaveSlots)
}
