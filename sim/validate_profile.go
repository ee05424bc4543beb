package sim

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
)

// profiled are the counters of a profile of the MI325X GEMM, with their units and how
// they are read off a run.
var profiled = map[string]struct {
	unit, note string
	of         func(*report.Run, *configs.Machine) float64
}{
	"TCC hit rate": {"%", "", func(r *report.Run, _ *configs.Machine) float64 { return 100 * r.L2.HitRate }},
	"TCC requests": {"count", "", func(r *report.Run, _ *configs.Machine) float64 { return float64(r.L2.Requests) }},
	"EA reads": {"count", "", func(r *report.Run, m *configs.Machine) float64 {
		return float64(r.Fabric.BytesRead) / float64(m.L2.LineBytes)
	}},
	"EA read latency": {"cycles", "the clock of the profiled run is not known; here at the run's own", eaLatency},
	"VMEM latency":    {"cycles", "", func(r *report.Run, _ *configs.Machine) float64 { return r.TCP.InstructionLatency.Mean }},
	"LDS latency":     {"cycles", "", func(r *report.Run, _ *configs.Machine) float64 { return r.LDS.Latency.Mean }},
}

// eaLatency is the mean time from an L2's request to memory to its line, in core
// cycles: both ways over the fabric, and the LLC with what lies behind it.
func eaLatency(r *report.Run, _ *configs.Machine) float64 {
	return r.Fabric.ReadLatency.Mean * r.ClockMHz / 1000
}

// noteRowMajor says why half of the profile has no simulated value.
const noteRowMajor = "which order the profile ran is not known: 1.80 M reads are fewer than the 2.36 M lines that the XCDs must fetch in row-major order"

// profileJobs are the profiled counters of one kernel each, from one whole run of it.
func profileJobs(rows []map[string]string) ([]*validationJob, error) {
	var jobs []*validationJob
	byKernel := map[string]*validationJob{}
	counters := map[string][]string{}
	for _, r := range rows {
		kernel, counter := r["kernel"], r["counter"]
		c, ok := profiled[counter]
		if !ok {
			return nil, fmt.Errorf("tables/counters.csv: %s of %s cannot be read off a run", counter, kernel)
		}
		p, err := counterPoint(r, c.unit)
		if err != nil {
			return nil, err
		}
		p.Note = c.note
		j := byKernel[kernel]
		if j == nil {
			j = &validationJob{}
			byKernel[kernel] = j
			jobs = append(jobs, j)
		}
		j.points = append(j.points, p)
		counters[kernel] = append(counters[kernel], counter)
		if strings.HasSuffix(kernel, "row-major") {
			j.points[len(j.points)-1].Note = noteRowMajor
			continue
		}
		j.run = func(v *validation, points []ValidatePoint) error {
			options := map[string]string{"m": "4096", "n": "4096", "k": "4096"}
			run, err := Run(RunOptions{Kernel: "gemm", Arch: "mi325x", Set: v.Set, Options: options, Mode: "timing", Threads: 1, Seed: 1})
			if err != nil {
				return err
			}
			m, err := LoadMachine("mi325x", "", v.Set)
			if err != nil {
				return err
			}
			for i, name := range counters[kernel] {
				points[i].put(profiled[name].of(run, m.Machine()), HowWhole)
			}
			return nil
		}
	}
	return jobs, nil
}
