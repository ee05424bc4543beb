package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/whisker-sim/whisker/report"
)

// tableJobs is a published table whose rows are runs. The rows that have a published value and
// a public kernel are points; short names those of the short form.
func tableJobs(rows func() ([]tableRow, error), short []string) func() ([]*validationJob, error) {
	return func() ([]*validationJob, error) {
		all, err := rows()
		if err != nil {
			return nil, err
		}
		var jobs []*validationJob
		for _, row := range all {
			if row.kind == KindReference || row.paper == 0 {
				continue
			}
			p := ValidatePoint{Name: row.label, Unit: row.unit, Measured: row.paper, Kind: row.kind, Note: row.note}
			j := &validationJob{short: slices.Contains(short, row.label), points: []ValidatePoint{p}}
			j.run, j.long = row.job()
			jobs = append(jobs, j)
		}
		return jobs, nil
	}
}

// job says how a row is simulated.
func (row *tableRow) job() (run func(*validation, []ValidatePoint) error, long bool) {
	switch {
	case row.kernel == "gemm" && row.options["m"] == "4096": // small enough for all of it
		return row.whole, true
	case row.streams:
		return row.whole, false
	case row.options["producers"] != "" || row.kernel == "gemm" && row.arch == "mi325x" && row.options["dtype"] == "bf16":
		// They wait for memory in every K tile, and what the XCDs do to each other there
		// a sample does not have: it is up to 3.4 % slower.
		return row.whole, true
	case row.unequal():
		return row.sampled, true
	}
	return row.sampled, false
}

func (row *tableRow) sampled(v *validation, points []ValidatePoint) error {
	r, err := v.once(row, true)
	if err != nil {
		return err
	}
	cell := ReproduceRow{Metric: row.metric}
	cell.fill(r)
	points[0].put(*cell.Simulated, HowSampled)
	if row.unequal() {
		points[0].Note = "sampled: an XCD's share of the batch, all of its workgroups"
	}
	return nil
}

func (row *tableRow) whole(v *validation, points []ValidatePoint) error {
	r, err := v.once(row, false)
	if err != nil {
		return err
	}
	cell := ReproduceRow{Metric: row.metric}
	cell.fill(r)
	points[0].put(*cell.Simulated, HowWhole)
	return nil
}

// once runs a row, one time for all rows of one kernel with the same options: the
// tables publish some figures twice.
func (v *validation) once(row *tableRow, sampled bool) (*report.Run, error) {
	var key strings.Builder
	fmt.Fprint(&key, row.arch, " ", row.kernel, " ", sampled)
	for _, name := range slices.Sorted(maps.Keys(row.options)) {
		if value := row.options[name]; value != "" { // as good as absent
			fmt.Fprintf(&key, " %s=%s", name, value)
		}
	}
	run, _ := v.runs.LoadOrStore(key.String(), sync.OnceValues(func() (*report.Run, error) {
		o := v.reproduce()
		o.Quick = sampled
		return row.run(o)
	}))
	return run.(func() (*report.Run, error))()
}

// table4Jobs are the hit rates of the block orders by replay in lockstep. The LLC's
// replacement and indexing were chosen on this table.
func table4Jobs() ([]*validationJob, error) {
	var jobs []*validationJob
	for _, row := range table4Rows {
		points := []ValidatePoint{
			{Name: row.label + " L2", Unit: "%", Measured: row.l2, Kind: KindPredicted},
			{Name: row.label + " LLC", Unit: "%", Measured: row.llc, Kind: KindCalibrated, Note: noteReplacement},
		}
		if row.openL2 {
			points[0].Note = "no single cause is known for the published value"
		}
		jobs = append(jobs, &validationJob{short: true, points: points, run: func(v *validation, points []ValidatePoint) error {
			o := EstimateOptions{SwizzleOptions: row.swizzle(ReproduceOptions{Machine: "mi355x", Set: v.Set}), Seed: 1}
			e, err := o.estimate()
			if err != nil {
				return err
			}
			points[0].put(100*e.Lockstep.L2, HowReplay)
			points[1].put(100*e.Lockstep.LLC, HowReplay)
			return nil
		}})
	}
	return jobs, nil
}

// gemmRun simulates a GEMM as a sampled row of a table does.
func (v *validation) gemmRun(arch string, perInstruction bool, options map[string]string) (*report.Run, error) {
	return Run(RunOptions{Kernel: "gemm", Arch: arch, Set: v.Set, Options: options, Mode: "timing", Threads: 1, Seed: 1, oneXCD: true, PerInstruction: perInstruction})
}

// cyclesOnly is the GEMM's run for figures in cycles, which need no power budget.
func (v *validation) cyclesOnly(arch string, perInstruction bool, options map[string]string) (*report.Run, error) {
	w := &validation{ValidateOptions: v.ValidateOptions}
	w.Set = append(slices.Clone(v.Set), "clock.law=sustained")
	return w.gemmRun(arch, perInstruction, options)
}

// measured finds the value of a test of tables/microbenchmarks.csv.
func measured(device, test, metric string) (ValidatePoint, error) {
	rows, err := readTable("microbenchmarks.csv")
	if err != nil {
		return ValidatePoint{}, err
	}
	for _, r := range rows {
		if r["device"] == device && r["test"] == test && r["metric"] == metric {
			v, err := strconv.ParseFloat(r["value"], 64)
			return ValidatePoint{Name: test, Unit: r["unit"], Measured: v, Kind: KindPredicted}, err
		}
	}
	return ValidatePoint{}, fmt.Errorf("tables/microbenchmarks.csv has no %q of %s", test, device)
}

// loopSteps is the K of the loops that are simulated, of the 8192 that were
// measured: the loop is the same at every step.
const loopSteps = "2048"

// loopJobs are the loops of AMD's 4-wave kernels by tile.
func loopJobs() ([]*validationJob, error) {
	var jobs []*validationJob
	for _, t := range []struct{ tile, mfma, m, n string }{
		{"256x256", "128", "4096", "4096"}, {"256x128", "64", "4096", "2048"}, {"128x128", "32", "2048", "2048"}, {"64x256", "32", "1024", "4096"}, {"128x64", "16", "2048", "1024"},
	} {
		p, err := measured("MI355X", fmt.Sprintf("fp16 4-wave GEMM tile %s BK64 K=8192 256 WGs (%s MFMA/wave/ktile)", t.tile, t.mfma), "in-loop MFMA efficiency")
		if err != nil {
			return nil, err
		}
		p.Name = "4-wave " + t.tile
		j := &validationJob{short: true, points: []ValidatePoint{p}}
		if t.tile == "64x256" {
			j.points[0].Note = "the 4-wave kernel has no tile of 64 rows"
		} else {
			j.run = func(v *validation, points []ValidatePoint) error {
				r, err := v.cyclesOnly("mi355x", false, kv("m", t.m, "n", t.n, "k", loopSteps, "schedule", "interleave4", "dtype", "fp16", "tile", t.tile))
				if err != nil {
					return err
				}
				points[0].put(100*r.LoopMatrixUtilization, HowSampled)
				return nil
			}
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// fp16Jobs are two kernels of one size, with loop and throughput.
func fp16Jobs() ([]*validationJob, error) {
	size := kv("m", "4096", "n", "4096", "k", "8192", "dtype", "fp16", "tile", "256x256")
	var jobs []*validationJob
	for _, k := range []struct{ name, schedule string }{{"8-wave ping-pong", "pingpong8"}, {"4-wave v9", "interleave4"}} {
		j, err := loopAndRate("fp16 GEMM 4096x4096x8192 "+k.name, k.name, with(size, "schedule", k.schedule))
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// fp8Jobs is a kernel whose schedule the source does not state: the 4-wave form has its
// loop.
func fp8Jobs() ([]*validationJob, error) {
	j, err := loopAndRate("fp8 GEMM 4096x4096x16384", "fp8 GEMM", kv("m", "4096", "n", "4096", "k", "16384", "dtype", "fp8", "tile", "256x256", "schedule", "interleave4"))
	if err != nil {
		return nil, err
	}
	for i := range j.points {
		j.points[i].Note = "how many waves it has is not stated; simulated with 4"
	}
	return []*validationJob{j}, nil
}

// loopAndRate compares how busy a GEMM's loop keeps the matrix pipe, and its throughput, with those of
// a measured test.
func loopAndRate(test, name string, options map[string]string) (*validationJob, error) {
	busy, err := measured("MI355X", test, "loop MFMA eff")
	if err != nil {
		return nil, err
	}
	rate, err := measured("MI355X", test, "TFLOPS")
	if err != nil {
		return nil, err
	}
	busy.Name, rate.Name, rate.Unit = name+" loop", name+" throughput", "TFLOPS"
	return &validationJob{points: []ValidatePoint{busy, rate}, run: func(v *validation, points []ValidatePoint) error {
		r, err := v.gemmRun("mi355x", false, options)
		if err != nil {
			return err
		}
		points[0].put(100*r.LoopMatrixUtilization, HowSampled)
		points[1].put(r.TFLOPS, HowSampled)
		return nil
	}}, nil
}

// traceK is the trace's K: how far apart rows are decides which sets of the vector L1
// they take.
const traceK = "8192"

// kStepCycles is the trace's K step: 64 of K.
const kStepCycles = 4335

// traceJobs holds the loop of the MI325X GEMM against its thread trace: its length,
// and what an execution of each kind of instruction takes, waiting included.
func traceJobs() ([]*validationJob, error) {
	rows, err := readTable("thread_trace.csv")
	if err != nil {
		return nil, err
	}
	points := []ValidatePoint{{Name: "K step", Unit: "cycles", Measured: kStepCycles, Kind: KindPredicted}}
	for _, r := range rows {
		latency, err := strconv.ParseFloat(r["latency_per_hit"], 64)
		if err != nil {
			return nil, fmt.Errorf("tables/thread_trace.csv: %w", err)
		}
		p := ValidatePoint{Name: r["opcode"], Unit: "cycles an execution", Measured: latency, Kind: KindPredicted}
		if p.Name == "ds_read_b64" {
			p.Kind, p.Note = KindCalibrated, "lds.queue_cycles was swept against the intervals of a burst of these"
		}
		points = append(points, p)
	}
	return []*validationJob{{short: true, points: points, run: func(v *validation, points []ValidatePoint) error {
		r, err := v.cyclesOnly("mi325x", true, kv("m", "4096", "n", "4096", "k", traceK, "schedule", "pingpong8", "dtype", "bf16"))
		if err != nil {
			return err
		}
		points[0].put(r.LoopCyclesPerStep, HowSampled)
		for i := range points[1:] {
			p := &points[1+i]
			if hits, cycles := loopExecutions(r.Instructions, p.Name); hits > 0 {
				p.put(float64(cycles)/float64(hits), HowSampled)
			} else {
				p.Note = "the simulated kernel's loop has none: another instruction does its work"
			}
		}
		return nil
	}}}, nil
}

// loopExecutions adds up an opcode's executions in the loop: those of the
// instructions that are executed nearly as often as any.
func loopExecutions(insts []report.Instruction, opcode string) (hits, cycles int64) {
	var most int64
	for i := range insts {
		most = max(most, insts[i].Hits)
	}
	for i := range insts {
		in := &insts[i]
		name, _, _ := strings.Cut(in.Text, " ")
		if name == opcode && in.Hits > most/2 {
			hits += in.Hits
			cycles += in.IssueCycles + in.StallCycles
		}
	}
	return hits, cycles
}

// uncoveredJobs are the measured values of other kernels: they are counted as
// points and not covered.
func uncoveredJobs() ([]*validationJob, error) {
	rows, err := readTable("microbenchmarks.csv")
	if err != nil {
		return nil, err
	}
	var jobs []*validationJob
	for _, r := range rows {
		why := ""
		switch test := r["test"]; {
		case strings.HasPrefix(test, "hot-loop ablation"):
			why = "a Triton kernel with parts of its loop removed, whose assembly is not public"
		case r["device"] == "MI300X" && strings.Contains(test, "4096x4864x8256"):
			why = "a Triton kernel of another schedule, whose assembly is not public"
		case strings.HasPrefix(test, "grouped GEMM"):
			why = "a grouped Triton kernel, whose assembly is not public"
		default:
			continue
		}
		v, err := strconv.ParseFloat(r["value"], 64)
		if err != nil { // "4737 / 86.5": two values, the first is the cycles
			first, _, _ := strings.Cut(r["value"], " ")
			if v, err = strconv.ParseFloat(first, 64); err != nil {
				return nil, fmt.Errorf("tables/microbenchmarks.csv: %w", err)
			}
		}
		jobs = append(jobs, &validationJob{points: []ValidatePoint{{Name: r["test"] + " " + r["metric"], Unit: r["unit"], Measured: v, Kind: KindPredicted, Note: why}}})
	}
	return jobs, nil
}
