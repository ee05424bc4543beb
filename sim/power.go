package sim

import (
	"math"
	"sort"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/xcd"
)

// energy is what a run's work takes, in pJ. Core energies are at the voltage
// floor.
type energy struct {
	matrix, cu, valu, lds, l2 float64 // core
	fabric, hbm               float64 // not on the core's voltage
	cycles                    float64 // that it was spread over
	mhz                       float64 // at which they were simulated
}

// add sums the work of kernels that follow each other.
func (e *energy) add(f energy) {
	e.matrix += f.matrix
	e.cu += f.cu
	e.valu += f.valu
	e.lds += f.lds
	e.l2 += f.l2
	e.fabric += f.fabric
	e.hbm += f.hbm
	e.cycles += f.cycles
	e.mhz = f.mhz
}

// stretch makes the energy of a sample that of the launch, which does its work
// times over in so many cycles.
func (e *energy) stretch(times float64, cycles int64) {
	for _, part := range []*float64{&e.matrix, &e.cu, &e.valu, &e.lds, &e.l2, &e.fabric, &e.hbm} {
		*part *= times
	}
	e.cycles = float64(cycles)
}

// lastRound spreads the work of full rounds over a launch whose last one may not be
// full: it takes its time and less energy.
func (e *energy) lastRound(workgroups, capacity int) {
	rounds := float64(workgroups) / float64(capacity)
	e.cycles *= math.Ceil(rounds) / rounds
}

// energyOf counts a kernel's work and prices it.
func energyOf(k *isa.Kernel, res *xcd.GPUResult, m *configs.Machine, mhz float64) energy {
	p, st := &m.Power, &res.CU
	e := energy{cycles: float64(res.Timing.Cycles), mhz: mhz}
	for i := range st.Inst {
		hits := float64(st.Inst[i].Hits)
		if hits == 0 {
			continue
		}
		c := isa.Classify(k.CPU, &k.Insts[i])
		if c.Unit == isa.UnitMFMA {
			e.matrix += hits * float64(c.FLOPs) * matrixPJ(p, instType(&k.Insts[i]))
		}
	}
	e.valu = float64(st.IssuedCount[isa.UnitVALU]) * isa.Lanes * p.VALUPJPerLane
	// A CU without waves is gated, and one that is not full switches less.
	if full := res.Occupancy.WavesPerSIMD * m.CU.SIMDs; full > 0 {
		e.cu = float64(st.WaveTime()) / float64(full) * p.CUPJPerCycle
	}
	e.lds = float64(st.LDSReadBytes+st.LDSWriteBytes+st.LDSFill) * p.LDSPJPerByte
	mem := &res.Memory
	e.l2 = float64(mem.L2.ReadBytes+mem.L2.WriteBytes+mem.L2.AtomicBytes) * p.L2PJPerByte
	e.fabric = float64(mem.Fabric.ReadBytes+mem.Fabric.WriteBytes) * p.FabricPJPerByte
	e.hbm = float64(mem.HBM.ReadBytes+mem.HBM.WriteBytes) * p.HBMPJPerByte
	return e
}

// matrixPJ is the energy of a FLOP by the type of the inputs.
func matrixPJ(p *configs.Power, dtype string) float64 {
	switch dtype {
	case "fp64":
		return p.MatrixPJPerFLOP64Bit
	case "fp32", "xf32":
		return p.MatrixPJPerFLOP32Bit
	case "fp16":
		return p.MatrixPJPerFLOPFP16
	case "fp8", "int8":
		return p.MatrixPJPerFLOP8Bit
	case "fp6":
		return p.MatrixPJPerFLOP6Bit
	case "fp4":
		return p.MatrixPJPerFLOP4Bit
	}
	return p.MatrixPJPerFLOP16Bit
}

// matrixLeaf is the leaf that matrixPJ reads.
func matrixLeaf(dtype string) string {
	name := map[string]string{"fp64": "64bit", "fp32": "32bit", "xf32": "32bit", "fp16": "fp16", "fp8": "8bit", "int8": "8bit", "fp6": "6bit", "fp4": "4bit"}[dtype]
	if name == "" {
		name = "16bit"
	}
	return "power.matrix_pj_per_flop_" + name
}

// instType is the input type of a matrix instruction.
func instType(in *isa.Inst) string {
	name := in.Op.String()
	switch {
	case strings.Contains(name, "bf16"):
		return "bf16"
	case strings.HasSuffix(name, "f8f6f4"):
		return [...]string{"fp8", "fp8", "fp6", "fp6", "fp4"}[min(in.CBSZ, 4)]
	case strings.Contains(name, "fp8"), strings.Contains(name, "bf8"):
		return "fp8"
	case strings.HasSuffix(name, "xf32"):
		return "xf32"
	case strings.HasSuffix(name, "f16"):
		return "fp16"
	case strings.HasSuffix(name, "f64"):
		return "fp64"
	case strings.HasSuffix(name, "f32"):
		return "fp32"
	}
	return "int8"
}

// watts is the board's power when the work runs at mhz: its cycles stay, its
// time does not, and above the floor the core's voltage grows with the clock.
func (e *energy) watts(p *configs.Power, peakMHz int, mhz float64) float64 {
	if e.cycles == 0 {
		return p.StaticW
	}
	core := (e.matrix + e.cu + e.valu + e.lds + e.l2) * coreFactor(p, peakMHz, mhz)
	// pJ over us is uW.
	return p.StaticW + (core+e.fabric+e.hbm)*mhz/e.cycles*1e-6
}

// coreFactor is the square of the core's voltage over the floor's.
func coreFactor(p *configs.Power, peakMHz int, mhz float64) float64 {
	v := 1.0
	if mhz > float64(p.FloorMHz) && peakMHz > p.FloorMHz {
		v += (p.PeakVoltage - 1) * (mhz - float64(p.FloorMHz)) / float64(peakMHz-p.FloorMHz)
	}
	return v * v
}

// clock is the highest whole number of MHz at which the work stays within the
// board's limit.
func (e *energy) clock(p *configs.Power, peakMHz int) float64 {
	n := sort.Search(peakMHz, func(i int) bool { return e.watts(p, peakMHz, float64(i+1)) > p.BoardW })
	return float64(max(n, 1))
}

// Settling the clock: a run at one clock gives the work that gives the next,
// until two agree within clockTolerance, or the run's cycles within
// cycleTolerance as far as is known: see guess.
const (
	clockTolerance = 0.01
	cycleTolerance = 0.005
	clockFar       = 0.05 // from here on a run is always repeated
	clockTries     = 4
)

// powerReport fills the report's power section.
func powerReport(e *energy, m *configs.Machine, mhz float64) report.Power {
	p := &m.Power
	j := func(pj float64) float64 { return pj * 1e-12 }
	w := e.watts(p, m.Clock.PeakMHz, mhz)
	return report.Power{LimitW: p.BoardW, CoreFactor: coreFactor(p, m.Clock.PeakMHz, mhz), Watts: w, StaticW: p.StaticW, SimulatedMHz: e.mhz, Limited: mhz < float64(m.Clock.PeakMHz),
		Energy: report.Energy{Matrix: j(e.matrix), CU: j(e.cu), VALU: j(e.valu), LDS: j(e.lds), L2: j(e.l2), Fabric: j(e.fabric), HBM: j(e.hbm)}}
}
