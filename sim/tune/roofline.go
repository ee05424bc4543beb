package tune

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/swizzle"
	"github.com/whisker-sim/whisker/workloads"
)

// form is a schedule and a tile with what one workgroup asks of its CU.
type form struct {
	schedule, tile string
	size           string
	choose         []workloads.Setting // further options of the kernel that choose the form
	grid           swizzle.Grid
	tileM, tileN   int
	kSteps         int
	stepBytes      float64 // of a row of A or B in one K step
	window, chunk  int     // the kernel's own
	demand         demand
}

// demand is the cycles for which one workgroup needs each unit of its CU, all
// its waves together. It is counted on the kernel's instructions; nothing waits.
type demand struct{ matrix, valu, lds, l1 float64 }

// cycles is the least time that a CU needs for the workgroup.
func (d demand) cycles() float64 { return max(d.matrix+d.valu, d.lds, d.l1) }

// limit names the unit that is needed longest.
func (d demand) limit() string {
	switch d.cycles() {
	case d.lds:
		return "lds"
	case d.l1:
		return "l1"
	}
	return "matrix"
}

// lanes of a wave.
const lanes = 64

// demandOf counts a kernel's instructions: once each, and as often as the main
// loop runs for those in it.
func demandOf(b *workloads.Built, m *configs.Machine) demand {
	var d demand
	k := b.Launch.Kernel
	for i := range k.Insts {
		times := float64(b.Waves)
		if i >= b.LoopStart && i < b.LoopEnd {
			times *= float64(b.LoopTrips)
		}
		c := isa.Classify(k.CPU, &k.Insts[i])
		bytes := float64(lanes * int(c.Bytes))
		if c.TwoAddr {
			bytes *= 2
		}
		switch c.Unit {
		case isa.UnitMFMA:
			d.matrix += times * math.Ceil(float64(c.Passes)*m.MFMA.Scale) * float64(m.MFMA.PassCycles)
		case isa.UnitVALU:
			// The vector ALU works beside the matrix pipe in the loop, and alone
			// outside of it.
			if i < b.LoopStart || i >= b.LoopEnd {
				d.valu += times * float64(m.VALU.CadenceCycles)
			}
		case isa.UnitLDS:
			d.lds += times * bytes / float64(m.LDS.WriteBytesPerCycle)
		case isa.UnitVMEM:
			d.l1 += times * l1Cycles(&m.TCP, &c, bytes)
			if c.LDSDMA {
				d.lds += times * bytes / float64(m.LDS.WriteBytesPerCycle)
			}
		}
	}
	// Four SIMDs share a workgroup's waves; LDS and L1 are the CU's.
	d.matrix /= float64(m.CU.SIMDs)
	d.valu /= float64(m.CU.SIMDs)
	return d
}

// l1Cycles is the least time of a vector memory instruction of all lanes in the L1.
func l1Cycles(l1 *configs.TCP, c *isa.Class, bytes float64) float64 {
	lines := math.Ceil(bytes / float64(l1.LineBytes))
	perCycle := float64(l1.AddressLanesPerCycle)
	if c.Store {
		return max(lanes/perCycle, lines*float64(l1.StoreLineCycles))
	}
	if c.Bytes > 4 {
		perCycle = float64(l1.WideLanesPerCycle)
	}
	return max(lanes/perCycle, bytes/float64(l1.ReturnBytesPerCycle), lines*float64(l1.LineCycles))
}

// Estimate is what the replay and the roofline say of a candidate. Times are in
// us; the longest of them bounds the kernel from below.
type Estimate struct {
	US       float64 `json:"us"`
	Bound    string  `json:"bound"` // matrix, lds, l1, l2, fabric or hbm
	CUUS     float64 `json:"cu_us"` // rounds of workgroups on a CU
	L2US     float64 `json:"l2_us"`
	FabricUS float64 `json:"fabric_us"`
	HBMUS    float64 `json:"hbm_us"`
	L2Hit    float64 `json:"l2_hit"`
	LLCHit   float64 `json:"llc_hit"`
	BeyondL2 int64   `json:"beyond_l2_bytes"`
}

// memory is the time that the levels of memory need together: what ranks
// candidates that the CUs bound alike.
func (e *Estimate) memory() float64 { return e.L2US + e.FabricUS + e.HBMUS }

// estimate holds what a block order moves against the machine.
func (f *form) estimate(m *configs.Machine, mhz float64, t *traffic) *Estimate {
	us := func(bytes int64, gbs float64) float64 { return float64(bytes) / gbs / 1e3 }
	h := &t.hits
	e := &Estimate{
		CUUS:     float64(t.rounds) * f.demand.cycles() / mhz,
		L2US:     us(h.L2Bytes, float64(m.Chip.XCDs*m.L2.Channels*m.L2.ReadBytesPerCycle)*mhz/1e3),
		FabricUS: us(h.LLCBytes, min(m.LLC.GBs, m.Fabric.ReadGBs*float64(m.Chip.XCDs))) + us(h.WrittenBytes, m.Fabric.WriteGBs*float64(m.Chip.XCDs)),
		HBMUS:    us(h.LLCBytes-h.LLCHitBytes, m.HBM.GBs), L2Hit: h.L2(), LLCHit: h.LLC(), BeyondL2: h.LLCBytes + h.WrittenBytes,
	}
	e.US, e.Bound = e.CUUS, f.demand.limit()
	for _, l := range []struct {
		name string
		us   float64
	}{{"l2", e.L2US}, {"fabric", e.FabricUS}, {"hbm", e.HBMUS}} {
		if l.us > e.US {
			e.US, e.Bound = l.us, l.name
		}
	}
	return e
}

// newForm builds the kernel at its full size to count its instructions. An
// error means that the form does not fit the size or the machine.
func newForm(o *Options, info workloads.Info, m *configs.Machine, cpu isa.CPU) (*form, error) {
	choose := slices.Clone(info.Choose)
	if info.Variant != "" {
		choose = append(choose, workloads.Setting{Name: "variant", Value: info.Variant})
	}
	options := o.kernel(info.Schedule, info.Tile, choose)
	job, err := workloads.Build("gemm", workloads.Request{CPU: cpu, XCDs: m.Chip.XCDs, Seed: 1, LDSBytes: m.LDS.Bytes, Options: options})
	if err != nil {
		return nil, err
	}
	b := job.Kernels[0]
	f := &form{size: sizeText(o.M, o.N, o.K), schedule: info.Schedule, tile: info.Tile, choose: choose, tileM: b.TileM, tileN: b.TileN,
		grid: swizzle.Grid{Rows: b.GridM, Cols: b.GridN}, window: b.Spec.W, chunk: b.Spec.C, demand: demandOf(b, m)}
	f.kSteps = max(1, o.K/max(1, b.KTile))
	f.stepBytes = float64(b.KTile) * float64(typeBits[o.DType]) / 8
	return f, nil
}

// typeBits are the bits of an element.
var typeBits = map[string]int{"bf16": 16, "fp16": 16, "fp8": 8, "fp6": 6, "fp4": 4}

// sizeText prints a size as a shape.
func sizeText(m, n, k int) string {
	return strings.Join([]string{strconv.Itoa(m), strconv.Itoa(n), strconv.Itoa(k)}, "x")
}
