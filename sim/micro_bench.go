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
type MicroRow = workloads.MicroRow

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
func (b *microBench) run(s workloads.MicroSpec) (*xcd.GPUResult, *workloads.Built, error) {
	s.Waves, s.Trips, s.Workgroups, s.Degree = max(s.Waves, 1), max(s.Trips, 1), max(s.Workgroups, 1), max(s.Degree, 1)
	k, err := workloads.Micro(b.cpu, s)
	if err != nil {
		return nil, nil, &UsageError{err}
	}
	g, err := b.seq.load(k, xcd.GPUOptions{Threads: max(b.o.Threads, 1), Full: k.ValuesDecide != ""})
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
	if b.seq.gpu == nil { // the first launch of all finds every cache cold
		if _, _, err := b.run(s); err != nil {
			return 0, err
		}
	}
	for i, trips := range []int{tripsFew, tripsMany} {
		s.Trips = trips
		res, _, err := b.run(s)
		if err != nil {
			return 0, err
		}
		cycles[i] = res.Timing.Cycles
	}
	return float64(cycles[1]-cycles[0]) / float64((tripsMany-tripsFew)*workloads.MicroUnroll(s.Test)), nil
}

// length runs one of a point's two kernels.
func (b *microBench) length(p *workloads.MicroPoint, n int) (*xcd.GPUResult, *workloads.Built, error) {
	k, err := p.Build(b.cpu, b.seq.machine.Chip.XCDs, n)
	if err != nil {
		return nil, nil, &UsageError{fmt.Errorf("micro %s: %w", p.Name, err)}
	}
	o := xcd.GPUOptions{Threads: max(b.o.Threads, 1), Full: p.Loads}
	if p.Cold {
		b.seq.gpu = nil
		o.ColdLLC = true
	}
	g, err := b.seq.load(k, o)
	if err != nil {
		return nil, nil, fmt.Errorf("micro %s: %w", p.Name, err)
	}
	res, err := g.Run(context.Background())
	if err != nil {
		return nil, nil, fmt.Errorf("micro %s: %w", p.Name, err)
	}
	return res, k, nil
}

// point measures a row of the suite.
func (b *microBench) point(p *workloads.MicroPoint) (MicroRow, error) {
	row := MicroRow{Name: p.Name, Unit: p.Unit, CPU: b.cpu.String()}
	if p.Value == workloads.MicroRegular {
		return b.regular(p, row)
	}
	if !p.Cold { // what the kernels find in the caches is what a launch left there
		if _, _, err := b.length(p, p.Many); err != nil {
			return row, err
		}
	}
	var cycles [2]int64
	for i, n := range []int{p.Few, p.Many} {
		res, _, err := b.length(p, n)
		if err != nil {
			return row, err
		}
		cycles[i] = res.Timing.Cycles
	}
	ops := float64(p.Many-p.Few) * p.Ops
	d := float64(cycles[1] - cycles[0])
	row.Value = p.Value.Of(ops, d, d/b.seq.mhz*1000)
	return row, nil
}

// regular reads where workgroups ran.
func (b *microBench) regular(p *workloads.MicroPoint, row MicroRow) (MicroRow, error) {
	_, k, err := b.length(p, p.Many)
	if err != nil {
		return row, err
	}
	var out []uint32
	for _, r := range k.Launch.Memory.Regions() {
		if r.Name == "out" {
			for wg := range p.Many {
				out = append(out, k.Launch.Memory.Load32(r.Base+uint64(4*wg)))
			}
		}
	}
	share, first := workloads.RegularXCDs(out, b.seq.machine.Chip.XCDs)
	row.Value, row.Note = share, fmt.Sprintf("of %d workgroups, those on XCD (workgroup + %d) mod %d", p.Many, first, b.seq.machine.Chip.XCDs)
	return row, nil
}

// RunMicro runs the micro suite on a machine.
func RunMicro(o MicroOptions) ([]MicroRow, error) {
	part, err := newMicroBench(o, false)
	if err != nil {
		return nil, err
	}
	whole, err := newMicroBench(o, true)
	if err != nil {
		return nil, err
	}
	var rows []MicroRow
	for _, p := range workloads.MicroSuite(part.cpu) {
		if o.Short && (p.Whole || p.Slow || strings.HasPrefix(p.Name, "mfma/") && !strings.Contains(p.Name, "bf16")) {
			continue
		}
		b := part
		if p.Whole {
			b = whole
		}
		row, err := b.point(&p)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// WriteMicro writes the suite's rows.
func WriteMicro(w io.Writer, rows []MicroRow, format string) error {
	t := &report.Table{Header: []string{"name", "value", "unit", "cpu", "note"}, Left: []int{2, 3, 4}}
	for _, r := range rows {
		v := fmt.Sprintf("%.3f", r.Value)
		if format == "csv" {
			v = fmt.Sprint(r.Value)
		}
		t.Add(r.Name, v, r.Unit, r.CPU, r.Note)
	}
	return writeRows(w, format, t, rows)
}
