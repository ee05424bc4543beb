package sim

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// MicroRow is one measurement of the micro suite.
type MicroRow struct {
	Name  string  `json:"name"` // stable: what a device's results are matched by
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Note  string  `json:"note,omitempty"`
}

// MicroOptions says where the micro suite runs.
type MicroOptions struct {
	Machine *configs.Resolved
	Threads int
	Short   bool // leave out what takes a whole chip and the full list of matrix instructions
}

// microBench runs micro kernels one after the other on a part of a machine: one XCD
// with few CUs, in which a CU is as in the whole.
type microBench struct {
	cpu isa.CPU
	seq sequence
	o   MicroOptions
}

// fewCUs is the part of a machine that measurements inside a CU need.
func fewCUs(r *configs.Resolved) (*configs.Resolved, error) {
	part := r.Clone()
	m := r.Machine()
	sets := []string{"chip.xcds=1", "chip.iods=1"}
	if n := 2 * m.Chip.ShaderEngines; m.Chip.CUsPerXCD > n {
		sets = append(sets, fmt.Sprintf("chip.cus_per_xcd=%d", n))
	}
	return part, part.SetAll(sets)
}

// newMicroBench prepares a machine, whole or a part of it.
func newMicroBench(o MicroOptions, whole bool) (*microBench, error) {
	r := o.Machine
	if !whole {
		var err error
		if r, err = fewCUs(r); err != nil {
			return nil, err
		}
	}
	m := r.Machine()
	cpu, err := cpuOf(m.CPU)
	if err != nil {
		return nil, err
	}
	return &microBench{cpu: cpu, o: o, seq: sequence{machine: m, mhz: clockFor(r, "idle").mhz}}, nil
}

// run runs one kernel.
func (b *microBench) run(s workloads.MicroSpec, full bool) (*xcd.GPUResult, *workloads.Built, error) {
	s.Waves, s.Trips, s.Workgroups, s.Degree = max(s.Waves, 1), max(s.Trips, 1), max(s.Workgroups, 1), max(s.Degree, 1)
	k, err := workloads.Micro(b.cpu, s)
	if err != nil {
		return nil, nil, &UsageError{err}
	}
	g, err := b.seq.load(k, xcd.GPUOptions{Threads: max(b.o.Threads, 1), Full: full})
	if err != nil {
		return nil, nil, err
	}
	res, err := g.Run(context.Background())
	if err != nil {
		return nil, nil, fmt.Errorf("micro %s %s: %w", s.Test, s.Op, err)
	}
	return res, k, nil
}

// Trips of the two runs whose difference gives the cycles of an operation: what
// comes before and after the loop, and what a cold start costs, is in both.
const (
	tripsFew  = 2
	tripsMany = 6
)

// slope is the cycles of one operation.
func (b *microBench) slope(s workloads.MicroSpec) (float64, error) {
	var cycles [2]int64
	full := s.Test == workloads.MicroLDS && s.Dependent // addresses come from the LDS
	if b.seq.gpu == nil {                               // the first launch of all finds every cache cold
		if _, _, err := b.run(s, full); err != nil {
			return 0, err
		}
	}
	for i, trips := range []int{tripsFew, tripsMany} {
		s.Trips = trips
		res, _, err := b.run(s, full)
		if err != nil {
			return 0, err
		}
		cycles[i] = res.Timing.Cycles
	}
	return float64(cycles[1]-cycles[0]) / float64((tripsMany-tripsFew)*workloads.MicroUnroll(s.Test)), nil
}

// microPoint is a row of the suite that is a slope.
type microPoint struct {
	name, unit string
	spec       workloads.MicroSpec
}

// microPoints lists the rows inside a CU.
func microPoints(cpu isa.CPU, short bool) []microPoint {
	var out []microPoint
	add := func(name, unit string, s workloads.MicroSpec) { out = append(out, microPoint{name, unit, s}) }
	for _, op := range workloads.LDSOps(cpu) {
		for _, waves := range []int{1, 4} {
			for _, degree := range []int{1, 2, 4, 8} {
				if degree > 1 && (short || op != "ds_read_b128" && op != "ds_read_b64") || degree > workloads.LDSPhaseLanes(cpu, op) {
					continue
				}
				name := fmt.Sprintf("lds/%s/conflict%d/waves%d", op, degree, waves)
				add(name, "cycles per instruction and wave", workloads.MicroSpec{Test: workloads.MicroLDS, Op: op, Waves: waves, Degree: degree})
			}
		}
	}
	for _, op := range workloads.FillOps(cpu) {
		for _, waves := range []int{1, 4} {
			add(fmt.Sprintf("lds-fill/%s/waves%d", op, waves), "cycles per instruction and wave", workloads.MicroSpec{Test: workloads.MicroFill, Op: op, Waves: waves})
		}
	}
	for _, op := range workloads.MFMAOps(cpu) {
		if short && !strings.Contains(op, "bf16") {
			continue
		}
		add("mfma/"+op+"/interval", "cycles", workloads.MicroSpec{Test: workloads.MicroMFMA, Op: op})
		add("mfma/"+op+"/latency", "cycles", workloads.MicroSpec{Test: workloads.MicroMFMA, Op: op, Dependent: true})
	}
	for n := range 9 {
		op := workloads.DefaultMicroOp(cpu, workloads.MicroCoissue)
		add(fmt.Sprintf("coissue/%s/valu%d", op, n), "cycles per matrix instruction", workloads.MicroSpec{Test: workloads.MicroCoissue, Op: op, Fill: n})
	}
	for _, op := range workloads.ValuOps {
		add("valu/"+op+"/interval", "cycles", workloads.MicroSpec{Test: workloads.MicroVALU, Op: op})
		add("valu/"+op+"/latency", "cycles", workloads.MicroSpec{Test: workloads.MicroVALU, Op: op, Dependent: true})
	}
	for _, waves := range []int{1, 4, 8, 16} {
		add(fmt.Sprintf("barrier/waves%d", waves), "cycles", workloads.MicroSpec{Test: workloads.MicroBarrier, Waves: waves})
	}
	for p := range 4 {
		op := workloads.DefaultMicroOp(cpu, workloads.MicroSetprio)
		add(fmt.Sprintf("setprio/%d", p), "cycles per operation of the slower kind of wave", workloads.MicroSpec{Test: workloads.MicroSetprio, Op: op, Waves: 8, Priority: p})
	}
	return out
}

// RunMicro runs the micro suite on a machine.
func RunMicro(o MicroOptions) ([]MicroRow, error) {
	b, err := newMicroBench(o, false)
	if err != nil {
		return nil, err
	}
	var rows []MicroRow
	for _, p := range microPoints(b.cpu, o.Short) {
		v, err := b.slope(p.spec)
		if err != nil {
			return nil, err
		}
		rows = append(rows, MicroRow{Name: p.name, Value: v, Unit: p.unit})
	}
	if o.Short {
		return rows, nil
	}
	more, err := wholeChip(o)
	return append(rows, more...), err
}

// wholeChip measures what the dispatcher does.
func wholeChip(o MicroOptions) ([]MicroRow, error) {
	b, err := newMicroBench(o, true)
	if err != nil {
		return nil, err
	}
	if _, _, err := b.run(workloads.MicroSpec{Test: workloads.MicroLaunch}, false); err != nil { // cold
		return nil, err
	}
	var cycles [2]int64
	few, many := 4096, 12288
	for i, n := range []int{few, many} {
		res, _, err := b.run(workloads.MicroSpec{Test: workloads.MicroLaunch, Workgroups: n}, false)
		if err != nil {
			return nil, err
		}
		cycles[i] = res.Timing.Cycles
	}
	rows := []MicroRow{{Name: "launch/waves1", Value: float64(many-few) / float64(cycles[1]-cycles[0]), Unit: "workgroups per cycle, whole chip"}}
	_, k, err := b.run(workloads.MicroSpec{Test: workloads.MicroXCDMap, Workgroups: 64}, true)
	if err != nil {
		return nil, err
	}
	var first uint32
	regular := 0
	xcds := b.seq.machine.Chip.XCDs
	for _, r := range k.Launch.Memory.Regions() {
		if r.Name != "out" {
			continue
		}
		first = k.Launch.Memory.Load32(r.Base)
		for wg := range 64 {
			if int(k.Launch.Memory.Load32(r.Base+uint64(4*wg))) == (wg+int(first))%xcds {
				regular++
			}
		}
	}
	return append(rows, MicroRow{Name: "xcd-map/regular", Value: float64(regular) / 64, Unit: "fraction",
		Note: fmt.Sprintf("of 64 workgroups, those on XCD (workgroup + %d) mod %d", first, xcds)}), nil
}

// WriteMicro writes the suite's rows.
func WriteMicro(w io.Writer, rows []MicroRow, format string) error {
	t := &report.Table{Header: []string{"name", "value", "unit", "note"}, Left: []int{2, 3}}
	for _, r := range rows {
		v := fmt.Sprintf("%.3f", r.Value)
		if format == "csv" {
			v = fmt.Sprint(r.Value)
		}
		t.Add(r.Name, v, r.Unit, r.Note)
	}
	return writeRows(w, format, t, rows)
}
