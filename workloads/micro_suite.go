package workloads

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/isa"
)

// MicroValue says how the value of a MicroPoint comes from its two kernels.
type MicroValue int

// The values of a point: Cycles and ns are those of one operation, from what the
// longer kernel takes more; the start, the end and a cold cache are in both.
const (
	MicroCycles  MicroValue = iota // cycles of an operation
	MicroRate                      // operations a cycle
	MicroNS                        // nanoseconds of an operation
	MicroGBs                       // bytes, as operations, a nanosecond
	MicroRegular                   // of the workgroups, the share on the XCD that a round robin gives: one kernel, whose output says it
)

// Of is the value of a point from what the longer of its kernels has and takes
// more: operations, cycles, nanoseconds.
func (v MicroValue) Of(ops, cycles, ns float64) float64 {
	switch v {
	case MicroRate:
		return ops / cycles
	case MicroNS:
		return ns / ops
	case MicroGBs:
		return ops / ns
	}
	return cycles / ops
}

// MicroRow is one measurement of the micro suite.
type MicroRow struct {
	Name  string  `json:"name"` // stable: what a device's results are matched by
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	CPU   string  `json:"cpu"` // gfx950
	Note  string  `json:"note,omitempty"`
}

// MicroPoint is a row of the micro suite: a kernel of two lengths. The simulator
// and the device run the same ones; the device's are longer, because its clock
// resolves less.
type MicroPoint struct {
	Name, Unit string
	Value      MicroValue
	Few, Many  int     // lengths in the simulator
	Device     int     // the device's lengths are so many times longer
	Ops        float64 // operations of one unit of length
	// Cold says that the LLC holds nothing of the kernel when it starts; else it
	// holds what the launch before left.
	Cold bool
	// Loads says that addresses come from loads, which timing mode does not
	// compute.
	Loads bool
	Whole bool // takes the whole chip, not a few of its CUs
	Slow  bool // takes seconds in the simulator
	build func(cpu isa.CPU, xcds, length int) (*Built, error)
}

// Build makes the kernel of a length, on a chip of so many XCDs.
func (p *MicroPoint) Build(cpu isa.CPU, xcds, length int) (*Built, error) {
	return p.build(cpu, xcds, length)
}

// Symbol is a name of the kernel of a length that assemblers take.
func (p *MicroPoint) Symbol(length int) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(p.Name))
	return fmt.Sprintf("micro_%s_x%d", clean, length)
}

// Trips of the two kernels of a loop.
const (
	tripsFew  = 2
	tripsMany = 6
)

// deviceTrips makes a loop of 64 operations long enough for a counter that other
// work of the GPU touches too.
const deviceTrips = 200

// unit is a point inside a CU.
func unit(name, what string, s MicroSpec) MicroPoint {
	return MicroPoint{Name: name, Unit: what, Few: tripsFew, Many: tripsMany, Device: deviceTrips, Ops: float64(MicroUnroll(s.Test)),
		Loads: s.Test == MicroLDS && s.Dependent,
		build: func(cpu isa.CPU, _, length int) (*Built, error) {
			s := s
			s.Waves, s.Workgroups, s.Degree, s.Trips = max(s.Waves, 1), max(s.Workgroups, 1), max(s.Degree, 1), length
			return Micro(cpu, s)
		}}
}

// MicroSuite is the suite of a CPU, in the order of its results.
func MicroSuite(cpu isa.CPU) []MicroPoint {
	var out []MicroPoint
	for _, part := range []func(isa.CPU) []MicroPoint{ldsSuite, matrixSuite, vectorSuite, chaseSuite, streamSuite, dispatchSuite} {
		out = append(out, part(cpu)...)
	}
	return out
}

func ldsSuite(cpu isa.CPU) []MicroPoint {
	var out []MicroPoint
	for _, op := range LDSOps(cpu) {
		for _, waves := range []int{1, 4} {
			for _, degree := range []int{1, 2, 4, 8} {
				if degree > 1 && op != "ds_read_b128" && op != "ds_read_b64" || degree > LDSPhaseLanes(cpu, op) {
					continue
				}
				out = append(out, unit(fmt.Sprintf("lds/%s/conflict%d/waves%d", op, degree, waves), "cycles per instruction and wave",
					MicroSpec{Test: MicroLDS, Op: op, Waves: waves, Degree: degree}))
			}
		}
	}
	for _, degree := range []int{1, 5, 6, 7, 8} {
		out = append(out, unit(fmt.Sprintf("lds/ds_read_b32/latency/conflict%d", degree), "cycles", MicroSpec{Test: MicroLDS, Op: "ds_read_b32", Dependent: true, Degree: degree}))
	}
	out = append(out,
		unit("lds/ds_read_b128/unaligned/waves1", "cycles per instruction and wave", MicroSpec{Test: MicroLDS, Op: "ds_read_b128", Stride: 20}),
		unit("lds/ds_read_b32/latency-after-valu", "cycles", MicroSpec{Test: MicroLDS, Op: "ds_read_b32", Dependent: true, Fill: 1}))
	for _, op := range FillOps(cpu) {
		for _, waves := range []int{1, 4} {
			out = append(out, unit(fmt.Sprintf("lds-fill/%s/waves%d", op, waves), "cycles per instruction and wave", MicroSpec{Test: MicroFill, Op: op, Waves: waves}))
		}
	}
	return out
}

func matrixSuite(cpu isa.CPU) []MicroPoint {
	var out []MicroPoint
	for _, op := range MFMAOps(cpu) {
		out = append(out, unit("mfma/"+op+"/interval", "cycles", MicroSpec{Test: MicroMFMA, Op: op}),
			unit("mfma/"+op+"/latency", "cycles", MicroSpec{Test: MicroMFMA, Op: op, Dependent: true}))
	}
	for n := range 9 {
		op := DefaultMicroOp(cpu, MicroCoissue)
		out = append(out, unit(fmt.Sprintf("coissue/%s/valu%d", op, n), "cycles per matrix instruction", MicroSpec{Test: MicroCoissue, Op: op, Fill: n}))
	}
	return out
}

func vectorSuite(isa.CPU) []MicroPoint {
	var out []MicroPoint
	for _, op := range ValuOps {
		out = append(out, unit("valu/"+op+"/interval", "cycles", MicroSpec{Test: MicroVALU, Op: op}),
			unit("valu/"+op+"/latency", "cycles", MicroSpec{Test: MicroVALU, Op: op, Dependent: true}))
	}
	for _, waves := range []int{1, 4, 8, 16} {
		out = append(out, unit(fmt.Sprintf("barrier/waves%d", waves), "cycles", MicroSpec{Test: MicroBarrier, Waves: waves}))
	}
	branch := unit("branch/taken", "cycles", MicroSpec{Test: MicroBranch})
	branch.Device *= 64
	out = append(out, branch)
	for p := range 4 {
		out = append(out, unit(fmt.Sprintf("setprio/%d", p), "cycles per operation of both kinds of wave", MicroSpec{Test: MicroSetprio, Waves: 8, Priority: p}))
	}
	return out
}

// chaseSuite is chases over footprints that fit the scalar or vector L1, the L2,
// the LLC, and none.
func chaseSuite(isa.CPU) []MicroPoint {
	var out []MicroPoint
	for _, c := range []struct {
		size   int
		scalar bool
		cold   bool
	}{{8 << 10, true, false}, {1 << 20, true, false}, {16 << 10, false, false}, {1 << 20, false, false}, {64 << 20, false, false}, {1 << 30, false, true}} {
		load, unit, v := "vector", "cycles", MicroCycles
		if c.scalar {
			load = "scalar"
		}
		if c.size > chaseTouch {
			unit, v = "ns", MicroNS // beyond the L2, time does not follow the core clock
		}
		out = append(out, MicroPoint{Name: fmt.Sprintf("chase/%s/%s", load, sizeName(c.size)), Unit: unit, Value: v, Few: 256, Many: 768, Device: 32, Ops: 1, Cold: c.cold,
			build: func(cpu isa.CPU, _, length int) (*Built, error) {
				s := ChaseSpec{Footprint: c.size, Hops: length, Scalar: c.scalar}
				if c.size <= chaseTouch {
					s.Touch = c.size
				}
				return Chase(cpu, s)
			}})
	}
	return out
}

// streamSuite is streaming reads of a wave a SIMD over what fits the L2s, the LLC,
// and none.
func streamSuite(cpu isa.CPU) []MicroPoint {
	var out []MicroPoint
	cus := map[isa.CPU]int{isa.GFX942: 38, isa.GFX950: 32}[cpu]
	stream := func(mib, passes, xcds int) (*Built, error) {
		return Stream(cpu, StreamSpec{Footprint: mib << 20, Loads: 8, Width: 16, XCDs: xcds, Workgroups: cus * xcds, Passes: passes})
	}
	for _, s := range []struct{ mib, few, many int }{{16, 2, 6}, {64, 1, 2}} {
		out = append(out, MicroPoint{Name: fmt.Sprintf("stream/%dMiB", s.mib), Unit: "GB/s", Value: MicroGBs, Few: s.few, Many: s.many, Device: 8, Whole: true, Slow: true,
			Ops:   float64(s.mib << 20),
			build: func(_ isa.CPU, xcds, passes int) (*Built, error) { return stream(s.mib, passes, xcds) }})
	}
	// Memory is read once: what is read is as long as the kernel, and in no cache.
	return append(out, MicroPoint{Name: "stream/memory", Unit: "GB/s", Value: MicroGBs, Few: 64, Many: 192, Device: 8, Whole: true, Slow: true, Cold: true, Ops: 1 << 20,
		build: func(_ isa.CPU, xcds, mib int) (*Built, error) { return stream(mib, 1, xcds) }})
}

// dispatchSuite is what the dispatcher does.
func dispatchSuite(isa.CPU) []MicroPoint {
	workgroups := func(test string) func(isa.CPU, int, int) (*Built, error) {
		return func(cpu isa.CPU, _, n int) (*Built, error) {
			return Micro(cpu, MicroSpec{Test: test, Waves: 1, Degree: 1, Trips: 1, Workgroups: n})
		}
	}
	return []MicroPoint{
		{Name: "launch/waves1", Unit: "workgroups per cycle, whole chip", Value: MicroRate, Few: 4096, Many: 12288, Device: 16, Ops: 1, Whole: true, build: workgroups(MicroLaunch)},
		{Name: "xcd-map/regular", Unit: "fraction", Value: MicroRegular, Few: 64, Many: 64, Device: 1, Ops: 1, Whole: true, Loads: true, build: workgroups(MicroXCDMap)},
	}
}

// RegularXCDs reads the output of the xcd-map kernel: the share of the workgroups
// that are on XCD (workgroup + first) mod xcds, first being that of workgroup 0.
func RegularXCDs(out []uint32, xcds int) (share float64, first uint32) {
	if len(out) == 0 || xcds < 1 {
		return 0, 0
	}
	regular := 0
	for wg, x := range out {
		if int(x) == (wg+int(out[0]))%xcds {
			regular++
		}
	}
	return float64(regular) / float64(len(out)), out[0]
}
