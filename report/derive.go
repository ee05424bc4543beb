package report

import "fmt"

// LaunchSweepUS are the launch overheads that every result is shown at:
// published figures run from 1.0 (back to back) over 3.0 (cold) to 4.2 us
// (smallest kernel) on MI300A.
var LaunchSweepUS = []float64{1, 3, 5}

// Ratio is a over b, and 0 when b is 0: a level nothing went through has rate
// 0, and JSON has no NaN.
func Ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// Derive fills in what follows from Cycles, ClockMHz, FLOPs, UsefulBytes, LaunchOverheadUS,
// HostSyncUS and the counts: times, throughput, rates, bandwidths.
func (r *Run) Derive() {
	r.KernelTimeUS = Ratio(float64(r.Cycles), r.ClockMHz)
	here := r.at(r.LaunchOverheadUS / float64(r.launches()))
	r.TimeUS, r.TFLOPS, r.UsefulTBs = here.TimeUS, here.TFLOPS, here.UsefulTBs
	r.PeakShare = Ratio(r.TFLOPS, r.PeakTFLOPSAtClock)
	r.LaunchSensitivity = r.LaunchSensitivity[:0]
	for _, us := range LaunchSweepUS {
		r.LaunchSensitivity = append(r.LaunchSensitivity, r.at(us))
	}

	rates := r.rates()
	for i, to := range []*float64{&r.TCP.BandwidthTBs, &r.L2.BandwidthTBs, &r.LLC.BandwidthTBs, &r.Fabric.ReadTBs, &r.Fabric.WriteTBs, &r.HBM.BandwidthTBs} {
		*to = rates[i] * r.ClockMHz / 1e6
	}
	for _, c := range []*Cache{&r.L2, &r.LLC} {
		c.HitRate = Ratio(float64(c.Hits+c.HitsInFlight), float64(c.Requests))
		c.HitInFlight = Ratio(float64(c.HitsInFlight), float64(c.Requests))
		c.ReadHitRate = Ratio(float64(c.ReadHits), float64(c.Reads))
	}
	t := &r.TCP
	t.HitRate = Ratio(float64(t.Hits+t.HitsInFlight), float64(t.Requests))
	t.HitInFlight = Ratio(float64(t.HitsInFlight), float64(t.Requests))
	r.Scalar.HitRate = Ratio(float64(r.Scalar.Hits), float64(r.Scalar.Requests))
	r.LDS.ConflictsPer = Ratio(float64(r.LDS.BankConflicts), float64(r.LDS.Instructions))
	if h := r.Host; h != nil {
		h.WaveInstructionsPerSecond = Ratio(float64(r.WaveInstructions), h.WallSeconds)
		h.CyclesPerSecond = Ratio(float64(r.countedCycles()), h.WallSeconds)
	}
}

// rates are the bandwidths of traffic in bytes a cycle.
func (r *Run) rates() []float64 {
	if r.Rates != nil {
		return r.Rates
	}
	rates := make([]float64, len(traffic))
	for i, of := range traffic {
		rates[i] = Ratio(float64(of(r)), float64(r.countedCycles()))
	}
	return rates
}

// Busier takes shares of time and bandwidths from a sample to its launch, which is so many times as busy:
// where rounds differ, a sample of them ends raggedly, and a launch whose last round is not full is less busy.
func (r *Run) Busier(times float64) {
	for _, of := range shares() {
		*of(r) *= times
	}
	r.Rates = r.rates()
	for i := range r.Rates {
		r.Rates[i] *= times
	}
}

// countedCycles are the cycles that the counts are of.
func (r *Run) countedCycles() int64 {
	if r.Sample != nil {
		return r.Sample.SimulatedCycles
	}
	return r.Cycles
}

// OutsideUS is what a benchmark that times each launch sees beside the kernel's
// time, in us: the launch overhead and the host's wait.
func (r *Run) OutsideUS() float64 { return r.LaunchOverheadUS + r.HostSyncUS }

// launches is how many kernels the measurement launches.
func (r *Run) launches() int { return max(1, len(r.Parts)) }

// at gives time and rates at one overhead of a launch in us; the host's wait is in all.
// Without cycles, in functional mode, there is neither.
func (r *Run) at(overheadUS float64) LaunchPoint {
	if r.Cycles == 0 {
		return LaunchPoint{OverheadUS: overheadUS}
	}
	us := r.KernelTimeUS + overheadUS*float64(r.launches()) + r.HostSyncUS
	return LaunchPoint{OverheadUS: overheadUS, TimeUS: us, TFLOPS: Ratio(r.FLOPs, us) / 1e6, UsefulTBs: Ratio(r.UsefulBytes, us) / 1e6}
}

// CheckSums holds the run to its own arithmetic: every wave-cycle is issued or
// stalled for one reason, every request hit or missed, and the
// per-instruction rows, when there are any, add up to the totals.
func (r *Run) CheckSums() error {
	if got := r.Issued.Sum() + r.Stalls.Sum(); got != r.WaveCycles {
		return fmt.Errorf("report: issued %d and stalled %d wave-cycles make %d, but waves were resident for %d",
			r.Issued.Sum(), r.Stalls.Sum(), got, r.WaveCycles)
	}
	for _, l := range []struct {
		name                     string
		requests, h, flight, mis int64
	}{
		{"tcp", r.TCP.Requests, r.TCP.Hits, r.TCP.HitsInFlight, r.TCP.Misses},
		{"l2", r.L2.Requests, r.L2.Hits, r.L2.HitsInFlight, r.L2.Misses},
		{"llc", r.LLC.Requests, r.LLC.Hits, r.LLC.HitsInFlight, r.LLC.Misses},
	} {
		// A sampled run stops with requests under way.
		if got := l.h + l.flight + l.mis; got != l.requests && (r.Sample == nil || got > l.requests) {
			return fmt.Errorf("report: %s: %d hits, %d hits in flight and %d misses make %d, but there were %d requests",
				l.name, l.h, l.flight, l.mis, got, l.requests)
		}
	}
	return r.checkRows()
}

// checkRows adds the per-instruction rows up.
func (r *Run) checkRows() error {
	if len(r.Instructions) == 0 {
		return nil
	}
	var hits, issue int64
	stalls := NewCounts(StallReasons)
	for i := range r.Instructions {
		row := &r.Instructions[i]
		hits += row.Hits
		issue += row.IssueCycles
		if got := row.Stalls.Sum(); got != row.StallCycles {
			return fmt.Errorf("report: pc %#x: stalls by reason make %d, the row says %d", row.PC, got, row.StallCycles)
		}
		for _, s := range row.Stalls {
			if err := stalls.Add(s.Name, s.Value); err != nil {
				return fmt.Errorf("pc %#x: %w", row.PC, err)
			}
		}
	}
	if hits != r.WaveInstructions {
		return fmt.Errorf("report: instruction rows issued %d times, the run %d", hits, r.WaveInstructions)
	}
	if issue != r.Issued.Sum() {
		return fmt.Errorf("report: instruction rows issued in %d wave-cycles, the run in %d", issue, r.Issued.Sum())
	}
	for _, s := range stalls {
		if want := r.Stalls.Get(s.Name); s.Value != want {
			return fmt.Errorf("report: instruction rows stalled %d wave-cycles for %s, the run %d", s.Value, s.Name, want)
		}
	}
	return nil
}
