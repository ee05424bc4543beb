package sim

import (
	"encoding/csv"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// readTable reads an embedded table as rows by column name.
func readTable(name string) ([]map[string]string, error) {
	f, err := tableFiles.Open("tables/" + name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("tables/%s: %w", name, err)
	}
	var out []map[string]string
	for _, r := range rows[1:] {
		m := map[string]string{}
		for i, h := range rows[0] {
			m[h] = r[i]
		}
		out = append(out, m)
	}
	return out, nil
}

// bench is a bench of micro kernels on a machine with the run's changes.
func (v *validation) bench(arch string) (*microBench, error) {
	m, err := LoadMachine(arch, "", v.Set)
	if err != nil {
		return nil, err
	}
	return newMicroBench(MicroOptions{Machine: m, Threads: 1}, false)
}

// slopeJob is a point that is the slope of a micro kernel.
func slopeJob(arch string, p ValidatePoint, s workloads.MicroSpec) *validationJob {
	return &validationJob{short: true, points: []ValidatePoint{p}, run: func(v *validation, points []ValidatePoint) error {
		b, err := v.bench(arch)
		if err != nil {
			return err
		}
		c, err := b.slope(s)
		if err != nil {
			return err
		}
		points[0].put(c, HowUnit)
		return nil
	}}
}

// ldsJobs are the intervals of ds_read_b128 by conflict degree and waves. The
// degree is that which the measurement states of its layout.
func ldsJobs() ([]*validationJob, error) {
	rows, err := readTable("microbenchmarks.csv")
	if err != nil {
		return nil, err
	}
	var jobs []*validationJob
	for _, r := range rows {
		layout, ok := strings.CutPrefix(r["test"], "ds_read_b128 pad ")
		if !ok {
			continue
		}
		s := workloads.MicroSpec{Test: workloads.MicroLDS, Op: "ds_read_b128", Waves: 1}
		if strings.Contains(layout, "4 waves") {
			s.Waves = 4
		}
		_, degree, _ := strings.Cut(layout, "(conflict ")
		degree, _, _ = strings.Cut(degree, ")")
		if degree == "unaligned" {
			s.Stride = 20 // 16-byte accesses at multiples of 4
		} else if s.Degree, err = strconv.Atoi(degree); err != nil {
			return nil, fmt.Errorf("tables/microbenchmarks.csv: %q: %w", r["test"], err)
		}
		p, err := measured(r["device"], r["test"], r["metric"])
		if err != nil {
			return nil, err
		}
		p.Unit = "cycles"
		jobs = append(jobs, slopeJob("mi355x", p, s))
		if degree == "unaligned" && s.Waves == 1 {
			c := &jobs[len(jobs)-1].points[0]
			c.Kind, c.Note = KindCalibrated, "lds.unaligned_service_cycles is this measurement"
		}
	}
	return jobs, nil
}

// unitJobs are the microbenchmarks inside a CU.
func unitJobs() ([]*validationJob, error) {
	jobs, err := ldsJobs()
	if err != nil {
		return nil, err
	}
	for _, u := range []struct {
		test, metric, name string
		spec               workloads.MicroSpec
	}{
		{"dependent MFMA 16x16x32 f16", "clk", "dependent v_mfma_f32_16x16x32_f16", workloads.MicroSpec{Test: workloads.MicroMFMA, Op: "v_mfma_f32_16x16x32_f16", Dependent: true}},
		{"4 independent MFMA streams", "clk/MFMA", "independent v_mfma_f32_16x16x32_f16", workloads.MicroSpec{Test: workloads.MicroMFMA, Op: "v_mfma_f32_16x16x32_f16"}},
		{"dependent v_fma_f32", "clk", "dependent v_fma_f32", workloads.MicroSpec{Test: workloads.MicroVALU, Op: "v_fma_f32", Dependent: true}},
		{"dependent ds_read_b32", "clk", "dependent ds_read_b32", workloads.MicroSpec{Test: workloads.MicroLDS, Op: "ds_read_b32", Dependent: true, Fill: 1}},
	} {
		p, err := measured("gfx950", u.test, u.metric)
		if err != nil {
			return nil, err
		}
		p.Name, p.Unit = u.name, "cycles"
		switch u.name {
		case "dependent v_fma_f32":
			p.Kind, p.Note = KindCalibrated, "valu.dependent_cycles is this measurement"
		case "dependent ds_read_b32":
			p.Kind, p.Note = KindCalibrated, "lds.latency_cycles was fitted on it"
		}
		jobs = append(jobs, slopeJob("mi355x", p, u.spec))
	}
	return jobs, nil
}

// strideReads is how many reads the study's threads time.
const strideReads = 64

// strideJobs are the reads of the empirical LDS study: what 64 of one wave take.
func strideJobs() ([]*validationJob, error) {
	rows, err := readTable("microbenchmarks.csv")
	if err != nil {
		return nil, err
	}
	var jobs []*validationJob
	for _, r := range rows {
		var op string
		var stride int
		if n, _ := fmt.Sscanf(r["test"], "64x %s stride %d B", &op, &stride); n != 2 {
			continue
		}
		p, err := measured(r["device"], r["test"], r["metric"])
		if err != nil {
			return nil, err
		}
		p.Name, p.Unit = fmt.Sprintf("%s %s stride %d", r["device"], op, stride), "cycles"
		p.Note = fmt.Sprintf("simulated: %d intervals and a latency; the measured values grow with the stride as these do, by one factor a device, which the study does not explain", strideReads-1)
		arch := map[string]string{"MI350X": "mi350x", "MI300X": "mi300x"}[r["device"]]
		jobs = append(jobs, &validationJob{short: true, points: []ValidatePoint{p}, run: func(v *validation, points []ValidatePoint) error {
			b, err := v.bench(arch)
			if err != nil {
				return err
			}
			c, err := b.slope(workloads.MicroSpec{Test: workloads.MicroLDS, Op: op, Stride: stride})
			if err != nil {
				return err
			}
			one, err := b.slope(workloads.MicroSpec{Test: workloads.MicroLDS, Op: op, Dependent: true})
			if err != nil {
				return err
			}
			points[0].put(c*(strideReads-1)+one, HowUnit)
			return nil
		}})
	}
	return jobs, nil
}

// chaseHops is the length of the simulated chases.
const chaseHops = "2000"

// chaseJobs are pointer chases over a footprint.
func chaseJobs() ([]*validationJob, error) {
	rows, err := readTable("chase.csv")
	if err != nil {
		return nil, err
	}
	var jobs []*validationJob
	for _, r := range rows {
		ns, err := strconv.ParseFloat(r["ns"], 64)
		if err != nil {
			return nil, fmt.Errorf("tables/chase.csv: %w", err)
		}
		p := ValidatePoint{Name: r["load"] + " over " + r["footprint"], Unit: "ns", Measured: ns, Kind: KindPredicted}
		if r["load"] == "scalar" && r["footprint"] == "2MiB" {
			p.Kind, p.Note = KindCalibrated, "salu.load_miss_cycles is this measurement"
		} else {
			p.Kind, p.Note = KindCalibrated, "the latencies of fabric, LLC and HBM are shares of these"
		}
		jobs = append(jobs, &validationJob{short: true, points: []ValidatePoint{p}, run: func(v *validation, points []ValidatePoint) error {
			run, err := Run(RunOptions{Kernel: "chase", Arch: "mi300x", Set: v.Set, Mode: "timing", Threads: 1, Seed: 1, ColdLLC: r["footprint"] == "512MiB",
				Options: kv("load", r["load"], "footprint", r["footprint"], "hops", chaseHops)})
			if err != nil {
				return err
			}
			points[0].put(run.LoopCyclesPerStep/run.ClockMHz*1000, HowWhole)
			return nil
		}})
	}
	return jobs, nil
}

// streamJobs are streaming reads of a whole MI300X, one wave a SIMD and eight loads in flight.
func streamJobs() ([]*validationJob, error) {
	var jobs []*validationJob
	for _, c := range []struct {
		mib   int
		short bool
	}{{4, false}, {16, true}, {32, true}, {64, true}, {128, true}, {256, false}, {512, false}, {1024, false}} {
		p, err := measured("MI300X VF", fmt.Sprintf("stream read BW, working set %d MiB (1 wave/SIMD, N=8)", c.mib), "GB/s")
		if err != nil {
			return nil, err
		}
		p.Name, p.Unit = fmt.Sprintf("%d MiB", c.mib), "GB/s"
		switch {
		case c.mib >= 256:
			p.Kind, p.Note = KindCalibrated, "llc.prefetch_lines was chosen on these, run as an eighth of the chip"
		case c.mib == 32:
			p.Kind, p.Note = KindCalibrated, "l2.set_hash was chosen on this"
		}
		jobs = append(jobs, &validationJob{short: c.short, points: []ValidatePoint{p}, run: func(v *validation, points []ValidatePoint) error {
			gbs, err := streamRate(c.mib, v.Set)
			if err != nil {
				return err
			}
			points[0].put(gbs, HowWhole)
			return nil
		}})
	}
	return jobs, nil
}

// streamRate is what a whole MI300X reads in GB/s, going over so many MiB: after a launch
// of the same kernel, since what XCDs have in their TLBs is what their own waves read.
func streamRate(mib int, set []string) (float64, error) {
	once := 1
	r, err := Run(RunOptions{Kernel: "stream", Arch: "mi300x", Set: set, Mode: "timing", Threads: 1, Seed: 1, Warmup: &once,
		Options: kv("workgroups", "304", "footprint", fmt.Sprintf("%dMiB", mib))})
	if err != nil {
		return 0, err
	}
	return float64(r.TCP.BytesRead) / r.KernelTimeUS / 1e3, nil
}

// phaseJobs are banks and phases of every measured LDS instruction, found again by
// the solvers. The model has these phases from the same measurements.
func phaseJobs() ([]*validationJob, error) {
	rows, err := readTable("lds_phases.csv")
	if err != nil {
		return nil, err
	}
	type instr struct {
		banks  int
		phases []uint64
	}
	all := map[string]*instr{}
	var names []string
	for _, r := range rows {
		name := r["arch"] + " " + r["instr"]
		if all[name] == nil {
			banks, err := strconv.Atoi(r["banks"])
			if err != nil {
				return nil, fmt.Errorf("tables/lds_phases.csv: %w", err)
			}
			all[name] = &instr{banks: banks}
			names = append(names, name)
		}
		var mask uint64
		for _, l := range strings.Fields(r["lanes"]) {
			n, err := strconv.Atoi(l)
			if err != nil || n < 0 || n > 63 {
				return nil, fmt.Errorf("tables/lds_phases.csv: %q is no lane", l)
			}
			mask |= 1 << n
		}
		all[name].phases = append(all[name].phases, mask)
	}
	var jobs []*validationJob
	const note = "the model's phases are this measurement"
	for _, name := range names {
		want := all[name]
		cpu, op, _ := strings.Cut(name, " ")
		lanes := 0
		for _, m := range want.phases {
			lanes += bits.OnesCount64(m)
		}
		points := []ValidatePoint{
			{Name: name + " banks", Unit: "banks", Measured: float64(want.banks), Kind: KindCalibrated, Note: note},
			{Name: name + " lanes in their phase", Unit: "lanes", Measured: float64(lanes), Kind: KindCalibrated, Note: note},
		}
		jobs = append(jobs, &validationJob{short: true, points: points, run: func(v *validation, points []ValidatePoint) error {
			b, err := v.bench(map[string]string{"gfx942": "mi300x", "gfx950": "mi355x"}[cpu])
			if err != nil {
				return err
			}
			s, err := b.solveLDS(op)
			if err != nil {
				return err
			}
			found := 0
			for _, m := range s.Phases {
				if slices.Contains(want.phases, m) {
					found += bits.OnesCount64(m)
				}
			}
			points[0].put(float64(s.Banks), HowUnit)
			points[1].put(float64(found), HowUnit)
			return nil
		}})
	}
	return jobs, nil
}

// counterJobs are counters of real runs.
func counterJobs() ([]*validationJob, error) {
	rows, err := readTable("counters.csv")
	if err != nil {
		return nil, err
	}
	var jobs []*validationJob
	var profile []map[string]string
	for _, r := range rows {
		if r["device"] == "MI325X" {
			profile = append(profile, r)
			continue
		}
		p, err := counterPoint(r, "count")
		if err != nil {
			return nil, err
		}
		j := &validationJob{short: true, points: []ValidatePoint{p}}
		switch kernel := r["kernel"]; {
		case strings.HasPrefix(kernel, "HipKittens"):
			j.run = probeJob(kernel, r["counter"])
		case strings.Contains(kernel, "XCD remap, grouped by 4"):
			j.run = missJob("contiguous", 4)
		case strings.Contains(kernel, "grouped by 16"):
			j.run = missJob("grouped", 16)
		default:
			j.short, j.run = false, requestJob
		}
		jobs = append(jobs, j)
	}
	more, err := profileJobs(profile)
	return append(jobs, more...), err
}

func counterPoint(r map[string]string, unit string) (ValidatePoint, error) {
	n, err := strconv.ParseFloat(r["value"], 64)
	if err != nil {
		return ValidatePoint{}, fmt.Errorf("tables/counters.csv: %w", err)
	}
	return ValidatePoint{Name: r["counter"] + " of " + r["kernel"], Unit: unit, Measured: n, Kind: KindPredicted}, nil
}

// probeJob counts one LDS instruction of HipKittens' solvers: two lanes in bank 0
// of rows of their own, or, in the bank test, side by side.
func probeJob(kernel, counter string) func(*validation, []ValidatePoint) error {
	op := strings.Fields(kernel)[1]
	offset := -1
	if strings.Contains(kernel, "bank test") {
		offset = 2
	}
	return func(v *validation, points []ValidatePoint) error {
		b, err := v.bench("mi355x")
		if err != nil {
			return err
		}
		n, err := b.conflicts(op, 0, 1, offset)
		if err != nil {
			return err
		}
		if counter == "SQ_INSTS_LDS" {
			n = 1 // conflicts has made sure of it
		}
		points[0].put(float64(n), HowUnit)
		return nil
	}
}

// missJob are the lines that the L2s of a replay do not hold.
func missJob(order string, window int) func(*validation, []ValidatePoint) error {
	return func(v *validation, points []ValidatePoint) error {
		o := EstimateOptions{Seed: 1, SwizzleOptions: SwizzleOptions{Machine: "mi355x", Set: v.Set, M: 4096, N: 4096, K: 8192, Tile: "256x256", DType: "fp16",
			Order: order, Window: &window}}
		b, err := o.resolve()
		if err != nil {
			return err
		}
		r, err := o.replay(b)
		if err != nil {
			return err
		}
		tiles, err := b.order.Map(b.grid)
		if err != nil {
			return err
		}
		h, err := r.Run(tiles)
		if err != nil {
			return err
		}
		points[0].put(float64(h.LLCBytes)/float64(b.machine.L2.LineBytes), HowReplay)
		return nil
	}
}

// requestJob counts the reads that reach the L2s.
func requestJob(v *validation, points []ValidatePoint) error {
	r, err := v.cyclesOnly("mi355x", false, kv("m", "4096", "n", "4096", "k", "8192", "schedule", "pingpong8", "dtype", "fp16", "tile", "256x256"))
	if err != nil {
		return err
	}
	m, err := LoadMachine("mi355x", "", v.Set)
	if err != nil {
		return err
	}
	points[0].put(float64(countOf(r.Counters, "TCP_TCC_READ_REQ_sum")*int64(m.Machine().Chip.XCDs)), HowSampled)
	return nil
}

func countOf(c report.Counts, name string) int64 {
	for _, x := range c {
		if x.Name == name {
			return x.Value
		}
	}
	return 0
}
