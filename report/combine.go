package report

import "fmt"

// Part is one kernel of a measurement that runs several in sequence.
type Part struct {
	Name              string  `json:"name" doc:"kernel"`
	KernelHash        string  `json:"kernel_hash" doc:"hash of the kernel's instructions and launch"`
	Workgroups        int     `json:"workgroups" doc:"workgroups of the grid"`
	WavesPerWorkgroup int     `json:"waves_per_workgroup" doc:"waves of one workgroup"`
	Cycles            int64   `json:"cycles" unit:"cycles" doc:"core clock cycles of this kernel"`
	MatrixUtilization float64 `json:"matrix_utilization" unit:"fraction" doc:"matrix pipe busy cycles over SIMDs times cycles, this kernel alone"`
	WaveInstructions  int64   `json:"wave_instructions" doc:"instructions issued, counted once a wave"`
}

// Combine makes one run of the runs of several kernels that follow each other.
// Counts and bytes add up; shares are means weighted by cycles; what cannot be
// added (occupancy, cluster and instruction tables, latency distributions) is
// that of the longest kernel, whose name the notes give. Bandwidths of sampled kernels, whose counts
// are of different parts of them, are weighted by cycles as well. The runs must be
// of one machine and clock.
func Combine(runs []*Run) *Run {
	if len(runs) == 1 {
		return runs[0]
	}
	longest := 0
	var cycles int64
	for i, r := range runs {
		cycles += r.Cycles
		if r.Cycles > runs[longest].Cycles {
			longest = i
		}
	}
	out := *runs[longest]
	out.Instructions = nil
	out.Cycles, out.WriteBackCycles = 0, 0
	out.WaveInstructions, out.WaveCycles = 0, 0
	out.Issued, out.Stalls, out.Counters = NewCounts(IssueClasses), NewCounts(StallReasons), NewCounts(CounterNames)
	out.Parts = nil
	share := func(of func(*Run) *float64) {
		var sum float64
		for _, r := range runs {
			sum += *of(r) * float64(r.Cycles)
		}
		*of(&out) = Ratio(sum, float64(cycles))
	}
	for _, of := range shares() {
		share(of)
	}
	for _, of := range amounts() {
		var sum int64
		for _, r := range runs {
			sum += *of(r)
		}
		*of(&out) = sum
	}
	for _, r := range runs {
		out.Cycles += r.Cycles
		out.WriteBackCycles += r.WriteBackCycles
		for _, c := range [][2]Counts{{out.Issued, r.Issued}, {out.Stalls, r.Stalls}, {out.Counters, r.Counters}} {
			for _, e := range c[1] {
				if err := c[0].Add(e.Name, e.Value); err != nil {
					panic(err) // both sets are made of the same documented names
				}
			}
		}
		for _, row := range r.Instructions {
			row.Kernel = r.Kernel
			out.Instructions = append(out.Instructions, row)
		}
		out.Parts = append(out.Parts, Part{Name: r.Kernel, KernelHash: r.KernelHash, Workgroups: r.Launch.Workgroups, WavesPerWorkgroup: r.Launch.WavesPerWorkgroup,
			Cycles: r.Cycles, MatrixUtilization: r.MatrixUtilization, WaveInstructions: r.WaveInstructions})
	}
	out.Sample = combineSamples(runs, longest)
	if out.Sample != nil {
		out.Rates = make([]float64, len(traffic))
		for _, r := range runs {
			for i, rate := range r.rates() {
				out.Rates[i] += rate * Ratio(float64(r.Cycles), float64(cycles))
			}
		}
	}
	if cycles > 0 {
		out.Notes = append([]string{fmt.Sprintf("%d kernels in sequence: occupancy, clusters and latencies are those of %s, which takes %s of the cycles",
			len(runs), runs[longest].Kernel, Percent(Ratio(float64(runs[longest].Cycles), float64(cycles))))}, out.Notes...)
	}
	return &out
}

// traffic are the bytes that a run has a bandwidth of.
var traffic = [...]func(*Run) int64{
	func(r *Run) int64 { return r.TCP.BytesRead + r.TCP.BytesWritten }, func(r *Run) int64 { return r.L2.Bytes }, func(r *Run) int64 { return r.LLC.Bytes }, func(r *Run) int64 { return r.Fabric.BytesRead },
	func(r *Run) int64 { return r.Fabric.BytesWritten }, func(r *Run) int64 { return r.HBM.Bytes },
}

// combineSamples adds up what was simulated of every kernel, a kernel that ran whole too; rounds are
// those of the longest kernel. Without a sampled kernel there is no sample.
func combineSamples(runs []*Run, longest int) *Sample {
	var sum Sample
	sampled := false
	for _, r := range runs {
		s := r.Sample
		if s == nil {
			s = &Sample{Workgroups: r.Launch.Workgroups, OfWorkgroups: r.Launch.Workgroups, SimulatedCycles: r.Cycles}
		} else {
			sampled = true
		}
		sum.Workgroups += s.Workgroups
		sum.OfWorkgroups += s.OfWorkgroups
		sum.SimulatedCycles += s.SimulatedCycles
	}
	if !sampled {
		return nil
	}
	if s := runs[longest].Sample; s != nil {
		sum.Rounds, sum.RoundCycles = s.Rounds, s.RoundCycles
	}
	return &sum
}

// shares are the fractions that Combine averages over cycles.
func shares() []func(*Run) *float64 {
	return []func(*Run) *float64{
		func(r *Run) *float64 { return &r.MatrixUtilization }, func(r *Run) *float64 { return &r.VALUUtilization },
		func(r *Run) *float64 { return &r.SALUUtilization }, func(r *Run) *float64 { return &r.IssueUtilization },
		func(r *Run) *float64 { return &r.LDS.BankUtilization }, func(r *Run) *float64 { return &r.LDS.PortUtilization },
		func(r *Run) *float64 { return &r.LDS.FillUtilization }, func(r *Run) *float64 { return &r.TCP.Utilization },
		func(r *Run) *float64 { return &r.TCP.MeanLinesInFlight }, func(r *Run) *float64 { return &r.L2.Utilization },
		func(r *Run) *float64 { return &r.LLC.Utilization }, func(r *Run) *float64 { return &r.Fabric.ReadUtilization },
		func(r *Run) *float64 { return &r.Fabric.WriteUtilization }, func(r *Run) *float64 { return &r.HBM.Utilization },
		func(r *Run) *float64 { return &r.Occupancy.MeanWavesPerSIMD }, func(r *Run) *float64 { return &r.Fabric.IODUtilization },
	}
}

// amounts are the counts that Combine adds up.
func amounts() []func(*Run) *int64 {
	all := []func(*Run) *int64{
		func(r *Run) *int64 { return &r.WaveInstructions }, func(r *Run) *int64 { return &r.WaveCycles },
		func(r *Run) *int64 { return &r.Occupancy.EmptySlotCycles },
		func(r *Run) *int64 { return &r.LDS.Instructions }, func(r *Run) *int64 { return &r.LDS.BankConflicts },
		func(r *Run) *int64 { return &r.LDS.BytesRead }, func(r *Run) *int64 { return &r.LDS.BytesWritten },
		func(r *Run) *int64 { return &r.LDS.FillBytes },
		func(r *Run) *int64 { return &r.TCP.Instructions }, func(r *Run) *int64 { return &r.TCP.Requests },
		func(r *Run) *int64 { return &r.TCP.Hits }, func(r *Run) *int64 { return &r.TCP.HitsInFlight },
		func(r *Run) *int64 { return &r.TCP.Misses }, func(r *Run) *int64 { return &r.TCP.Stores },
		func(r *Run) *int64 { return &r.TCP.BytesRead }, func(r *Run) *int64 { return &r.TCP.BytesWritten },
		func(r *Run) *int64 { return &r.TCP.SetFullCycles }, func(r *Run) *int64 { return &r.TCP.StoreQueueCycles },
		func(r *Run) *int64 { return &r.Scalar.Requests }, func(r *Run) *int64 { return &r.Scalar.Hits },
		func(r *Run) *int64 { return &r.Fetch.Lookups }, func(r *Run) *int64 { return &r.Fetch.Fetched },
		func(r *Run) *int64 { return &r.Fabric.BytesRead }, func(r *Run) *int64 { return &r.Fabric.BytesWritten },
		func(r *Run) *int64 { return &r.Fabric.IODBytes }, func(r *Run) *int64 { return &r.Fabric.TLBLookups }, func(r *Run) *int64 { return &r.Fabric.TLBMisses },
		func(r *Run) *int64 { return &r.HBM.Turnarounds },
		func(r *Run) *int64 { return &r.HBM.Requests }, func(r *Run) *int64 { return &r.HBM.Reads },
		func(r *Run) *int64 { return &r.HBM.Writes }, func(r *Run) *int64 { return &r.HBM.RowHits },
		func(r *Run) *int64 { return &r.HBM.RowMisses }, func(r *Run) *int64 { return &r.HBM.Bytes },
	}
	all = append(all, registerAmounts()...)
	for _, level := range []func(*Run) *Cache{func(r *Run) *Cache { return &r.L2 }, func(r *Run) *Cache { return &r.LLC }} {
		for _, of := range []func(*Cache) *int64{
			func(c *Cache) *int64 { return &c.Requests }, func(c *Cache) *int64 { return &c.Reads }, func(c *Cache) *int64 { return &c.Writes },
			func(c *Cache) *int64 { return &c.Hits }, func(c *Cache) *int64 { return &c.HitsInFlight }, func(c *Cache) *int64 { return &c.Misses }, func(c *Cache) *int64 { return &c.ReadHits },
			func(c *Cache) *int64 { return &c.Atomics }, func(c *Cache) *int64 { return &c.AtomicBytes }, func(c *Cache) *int64 { return &c.AtomicMisses }, func(c *Cache) *int64 { return &c.AtomicCycles },
			func(c *Cache) *int64 { return &c.Fills }, func(c *Cache) *int64 { return &c.WriteBacks }, func(c *Cache) *int64 { return &c.Bytes },
		} {
			all = append(all, func(r *Run) *int64 { return of(level(r)) })
		}
	}
	return all
}
