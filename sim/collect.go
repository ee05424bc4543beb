package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// newReport fills in what is known before the run.
func newReport(o *RunOptions, machine *configs.Resolved, job *workloads.Job, b *workloads.Built) *report.Run {
	m, k := machine.Machine(), b.Launch.Kernel
	r := &report.Run{
		Version: Version, Kernel: o.Kernel, KernelHash: kernelHash(b.Launch), Arch: m.Name, Mode: o.Mode, Seed: o.Seed,
		Options: reportOptions(job),
		Machine: report.Machine{Name: m.Name, CPU: m.CPU, Hash: machine.Hash(), XCDs: m.Chip.XCDs, CUs: m.Chip.XCDs * m.Chip.CUsPerXCD,
			Resolved: resolvedTree(machine)},
		Launch:           report.Launch{Workgroups: b.Launch.NumWorkgroups(), WavesPerWorkgroup: k.Waves()},
		FLOPs:            b.FLOPs,
		Issued:           report.NewCounts(report.IssueClasses),
		Stalls:           report.NewCounts(report.StallReasons),
		Counters:         report.NewCounts(report.CounterNames),
		Occupancy:        report.Occupancy{VGPRs: k.VGPRs, AGPRs: k.AGPRs, SGPRs: k.SGPRs, LDSBytes: k.LDSBytes},
		LaunchOverheadUS: m.Dispatch.LaunchOverheadUS,
	}
	if o.LaunchOverheadUS != nil {
		r.LaunchOverheadUS = *o.LaunchOverheadUS
	}
	if o.Mode != "functional" {
		r.LLCStart = o.llcStart(b)
	}
	hostSync(r, o, machine, job)
	return r
}

// llcStart says what the LLC holds when the measured launch begins.
func (o *RunOptions) llcStart(b *workloads.Built) string {
	switch {
	case o.Warmup != nil && *o.Warmup > 0:
		return report.LLCLaunched
	case o.cold() || len(o.warm(b)) == 0 && o.touched(b) == nil:
		return report.LLCCold
	}
	return report.LLCWarm
}

// reportOptions are the job's options as the report holds them.
func reportOptions(job *workloads.Job) report.Options {
	o := report.Options{}
	fields := map[string]any{"m": &o.M, "n": &o.N, "k": &o.K, "tile": &o.Tile, "schedule": &o.Schedule, "mfma": &o.MFMA, "dtype": &o.DType, "window": &o.Window, "chunk": &o.Chunk}
	foreign := false
	var all []report.Setting
	for _, s := range job.Settings {
		var v any = s.Value
		if n, err := strconv.Atoi(s.Value); err == nil {
			v = n
		} else if f, err := strconv.ParseFloat(s.Value, 64); err == nil {
			v = f
		} else if s.Value == "true" || s.Value == "false" {
			v = s.Value == "true"
		}
		switch f := fields[s.Name].(type) {
		case *int:
			*f, _ = v.(int)
		case *string:
			*f = s.Value
		default:
			foreign = true
		}
		all = append(all, report.Setting{Name: s.Name, Value: v})
	}
	if foreign {
		o.Other = all
	}
	return o
}

// resolvedTree carries the machine file in the result.
func resolvedTree(machine *configs.Resolved) report.Tree {
	t := report.Tree{}
	for _, l := range machine.Leaves() {
		t.Set(l.Path, l.Value)
	}
	return t
}

// kernelHash identifies instructions and launch.
func kernelHash(l *isa.Launch) string {
	h := sha256.New()
	for i := range l.Kernel.Insts {
		fmt.Fprintf(h, "%x %s\n", l.Kernel.Insts[i].PC, l.Kernel.Insts[i].Text(l.Kernel.CPU))
	}
	fmt.Fprintf(h, "%v %v %d\n", l.Workgroups, l.Kernel.Workgroup, l.Kernel.LDSBytes)
	return hex.EncodeToString(h.Sum(nil))
}

// collect turns the machine's statistics into the report.
func collect(r *report.Run, res *xcd.GPUResult, m *configs.Machine, b *workloads.Built, law clockLaw, perInst bool) {
	st, mem := &res.CU, &res.Memory
	cus := int64(r.Machine.CUs)
	simds := cus * int64(m.CU.SIMDs)
	r.Cycles, r.ClockMHz = res.Timing.Cycles, law.mhz
	if !res.Timing.Stopped {
		r.WriteBackCycles = res.Timing.Cycles - res.Timing.LastWorkgroup
	}
	r.Clock = report.Clock{Law: law.text, Class: law.class, FittedOn: law.fittedOn,
		Prediction: law.class == "calibrated" && !law.fittedOnThis(r, b.CPU)}
	if r.Clock.FittedOn == nil {
		r.Clock.FittedOn = []string{}
	}
	for u := isa.UnitVALU; u < isa.NumUnits; u++ {
		must(r.Issued.Add(u.String(), int64(st.Issued[u])))
		r.WaveInstructions += int64(st.IssuedCount[u])
	}
	for s := cu.StallReason(0); s < cu.NumStalls; s++ {
		must(r.Stalls.Add(s.String(), int64(st.Stalls[s])))
	}
	waveCycles := st.WaveCycles
	if res.Timing.Stopped { // waves that have not ended have not booked theirs
		waveCycles = st.WaveTime()
	}
	r.WaveCycles = int64(waveCycles)

	simdCycles := float64(simds) * float64(res.Timing.Cycles)
	r.MatrixUtilization = report.Ratio(float64(st.MFMABusy), simdCycles)
	r.VALUUtilization = report.Ratio(float64(st.VALUBusy), simdCycles)
	r.SALUUtilization = report.Ratio(float64(st.Issued[isa.UnitSALU]), simdCycles)
	r.IssueUtilization = report.Ratio(float64(r.WaveInstructions)*float64(m.CU.IssueIntervalCycles), simdCycles)
	// The waves of a workgroup share its SIMDs, so that the loop's matrix work
	// is held against the workgroup's time in the loop on each SIMD.
	r.LoopMatrixUtilization = report.Ratio(float64(st.LoopMFMA), float64(st.LoopSpan)*float64(m.CU.SIMDs))
	if iter := float64(st.LoopIterations+st.LoopWaves) * float64(b.LoopKTiles); iter > 0 {
		r.LoopCyclesPerStep = float64(st.LoopCycles) / iter
	}
	r.PeakTFLOPSAtClock = peakTFLOPS(b.Launch.Kernel, m, cus, law.mhz)

	o := &r.Occupancy
	o.WavesPerSIMD, o.WorkgroupsPerCU, o.Limiter = res.Occupancy.WavesPerSIMD, res.Occupancy.WorkgroupsPerCU, res.Occupancy.Limiter
	o.MeanWavesPerSIMD = report.Ratio(float64(r.WaveCycles), simdCycles)
	o.EmptySlotCycles = simds*int64(m.CU.WaveSlotsPerSIMD)*res.Timing.Cycles - r.WaveCycles

	r.Notes = append(r.Notes, notes(r)...)
	if note := policyNote(b.Launch.Kernel, res.CU.Inst); note != "" {
		r.Notes = append(r.Notes, note)
	}
	collectLDS(r, res, m)
	collectTCP(r, &res.TCP, st, res.Timing.Cycles)
	r.L2 = level(&mem.L2, res.Timing.Cycles, "cycles", 1)
	r.LLC = level(&mem.LLC, res.Timing.Cycles, "ns", 1000/law.mhz)
	cyc := float64(res.Timing.Cycles)
	r.L2.Utilization = report.Ratio(float64(mem.L2.PortCycles), cyc*float64(m.Chip.XCDs*m.L2.Channels))
	us := cyc / law.mhz
	r.LLC.Utilization = report.Ratio(float64(r.LLC.Bytes)/us/1e3, m.LLC.GBs)
	r.Fabric = report.Fabric{BytesRead: int64(mem.Fabric.ReadBytes), BytesWritten: int64(mem.Fabric.WriteBytes),
		TLBLookups: int64(mem.Fabric.TLBLookups), TLBMisses: int64(mem.Fabric.TLBMisses)}
	f := &mem.Fabric
	r.Fabric.Queue = report.NewLatency("ns", scaled(report.PowerBuckets(f.Queue[:]), 1000/law.mhz), report.Ratio(float64(f.QueueCycles)*1000/law.mhz, float64(f.Queue.Count())))
	r.Fabric.ReadLatency = report.NewLatency("ns", scaled(report.PowerBuckets(mem.L2.Fetch[:]), 1000/law.mhz), report.Ratio(float64(mem.L2.FetchCycles)*1000/law.mhz, float64(mem.L2.Fetch.Count())))
	r.Fabric.IODBytes, r.Fabric.IODUtilization = int64(f.Mesh.Bytes), report.Ratio(f.Mesh.BusiestCycles, cyc)
	r.Fabric.IODQueue = report.NewLatency("ns", scaled(report.PowerBuckets(f.Mesh.Queue[:]), 1000/law.mhz), report.Ratio(float64(f.Mesh.QueueCycles)*1000/law.mhz, float64(f.Mesh.Queue.Count())))
	r.Fabric.ReadUtilization = report.Ratio(float64(mem.Fabric.ReadBytes)/us/1e3, m.Fabric.ReadGBs*float64(m.Chip.XCDs))
	r.Fabric.WriteUtilization = report.Ratio(float64(mem.Fabric.WriteBytes)/us/1e3, m.Fabric.WriteGBs*float64(m.Chip.XCDs))
	collectHBM(r, mem, m, us, 1000/law.mhz)
	r.Drift = drift(res.Drift, float64(b.LoopKTiles))
	collectCounters(r, res)
	collectRegisters(&r.Registers, res.CU.Inst, b.Launch.Kernel)
	r.Clusters = clusters(res, b, m)
	if perInst {
		r.Instructions = instructions(res, b.Launch.Kernel)
	}
}

// notes says what a reader must know before using the figures.
func notes(r *report.Run) []string {
	var n []string
	switch {
	case r.Clock.Class != "calibrated":
		n = append(n, fmt.Sprintf("the clock is %s, not fitted: use the cycles, and the time with care", r.Clock.Class))
	case r.Clock.Prediction && r.HostSync != nil && r.HostSync.Class == "calibrated" && !r.HostSync.Prediction:
		n = append(n, "time and TFLOPS are no prediction: dispatch.host_sync_us was fitted on this very run. The clock is one: it was fitted on "+strings.Join(r.Clock.FittedOn, ", "))
	case r.Clock.Prediction:
		n = append(n, "time and TFLOPS are a prediction: the clock was fitted on "+strings.Join(r.Clock.FittedOn, ", ")+" and not on this run")
	default:
		n = append(n, "time and TFLOPS are no prediction: the clock was fitted on this very run, where only clock times utilisation is known")
	}
	return n
}

func must(err error) {
	if err != nil {
		panic(err) // a name that report does not know: broken wiring
	}
}

// peakTFLOPS is the matrix peak of the kernel's fastest matrix instruction.
func peakTFLOPS(k *isa.Kernel, m *configs.Machine, cus int64, mhz float64) float64 {
	best := 0.0
	for i := range k.Insts {
		c := isa.Classify(k.CPU, &k.Insts[i])
		if c.Unit == isa.UnitMFMA && c.Passes > 0 {
			best = max(best, float64(c.FLOPs)/(math.Ceil(float64(c.Passes)*m.MFMA.Scale)*float64(m.MFMA.PassCycles)))
		}
	}
	return best * float64(cus) * float64(m.CU.SIMDs) * mhz / 1e6
}

func collectLDS(r *report.Run, res *xcd.GPUResult, m *configs.Machine) {
	st := &res.CU
	cuCycles := float64(r.Machine.CUs) * float64(res.Timing.Cycles)
	fill := float64(st.LDSFill) / float64(m.LDS.WriteBytesPerCycle)
	r.LDS = report.LDS{
		Instructions: int64(st.IssuedCount[isa.UnitLDS]), BankConflicts: int64(st.Conflicts), FillBytes: int64(st.LDSFill),
		BytesRead: int64(st.LDSReadBytes), BytesWritten: int64(st.LDSWriteBytes),
		BankUtilization: report.Ratio(float64(st.LDSService)+fill, cuCycles),
		FillUtilization: report.Ratio(fill, cuCycles),
		PortUtilization: report.Ratio(float64(st.LDSPort), cuCycles*2),
		Latency: report.NewLatency("cycles", report.PowerBuckets(st.LDSLatency[:]),
			report.Ratio(float64(st.LDSLatencySum), float64(st.LDSLatency.Count()))),
	}
}

func collectTCP(r *report.Run, t *cache.TCPStats, st *cu.Stats, cycles int64) {
	r.TCP = report.TCP{
		Instructions: int64(t.Instructions), Requests: int64(t.Requests), Hits: int64(t.Hits), HitsInFlight: int64(t.HitsInFlight),
		Misses: int64(t.Misses), Stores: int64(t.StoreSegments), BytesRead: int64(t.BytesDelivered), BytesWritten: int64(t.BytesOut),
		Utilization:       report.Ratio(float64(t.BusyCycles), float64(r.Machine.CUs)*float64(cycles)),
		MeanLinesInFlight: report.Ratio(float64(t.LatencySum), float64(r.Machine.CUs)*float64(cycles)),
		Latency:           report.NewLatency("cycles", report.PowerBuckets(t.Latency[:]), report.Ratio(float64(t.LatencySum), float64(t.Misses))),
		SetFullCycles:     int64(t.StallSetFull), StoreQueueCycles: int64(t.StallStore),
	}
	r.TCP.InstructionLatency = report.NewLatency("cycles", report.PowerBuckets(st.VMEMLatency[:]), report.Ratio(float64(st.VMEMLatencySum), float64(st.VMEMLatency.Count())))
	r.Scalar = report.ScalarCache{Requests: int64(st.SMEMHits + st.SMEMMisses), Hits: int64(st.SMEMHits)}
	r.Fetch = report.InstructionCache{Lookups: int64(st.ICacheHits), Fetched: int64(st.ICacheMisses)}
}

// level reports one cache level; scale turns core cycles into the unit.
func level(s *cache.LevelStats, cycles int64, unit string, scale float64) report.Cache {
	return report.Cache{
		Requests: int64(s.Requests()), Reads: int64(s.Reads), Writes: int64(s.Writes),
		Atomics: int64(s.Atomics), AtomicBytes: int64(s.AtomicBytes), AtomicMisses: int64(s.AtomicMisses), AtomicCycles: int64(s.AtomicCycles),
		Hits: int64(s.ReadHits - s.ReadHitsInFlight + s.WriteHits + s.AtomicHits - s.AtomicHitsInFlight), HitsInFlight: int64(s.ReadHitsInFlight + s.AtomicHitsInFlight), ReadHits: int64(s.ReadHits),
		Misses: int64(s.ReadMisses + s.WriteMisses + s.AtomicMisses), Fetched: int64(s.Beside), FetchedReads: int64(s.BesideReads), Fills: int64(s.Fills), WriteBacks: int64(s.WriteBacks),
		Bytes:   int64(s.ReadBytes + s.WriteBytes + s.AtomicBytes),
		Queue:   report.NewLatency(unit, scaled(report.PowerBuckets(s.Queue[:]), scale), report.Ratio(float64(s.QueueCycles)*scale, float64(s.Requests()))),
		Latency: report.NewLatency(unit, scaled(report.PowerBuckets(s.Latency[:]), scale), report.Ratio(float64(s.LatencyCycles)*scale, float64(s.Latency.Count()))),
	}
}

// scaled turns the edges of buckets into another unit; what falls together is put together.
func scaled(b []report.Bucket, scale float64) []report.Bucket {
	if scale == 1 {
		return b
	}
	var out []report.Bucket
	for _, x := range b {
		x.From, x.Below = int64(math.Round(float64(x.From)*scale)), int64(math.Round(float64(x.Below)*scale))
		if x.Below <= x.From {
			x.Below = x.From + 1
		}
		if n := len(out); n > 0 && x.From < out[n-1].Below {
			if x.From = out[n-1].Below; x.Below <= x.From {
				out[n-1].Count += x.Count
				continue
			}
		}
		out = append(out, x)
	}
	return out
}

func collectCounters(r *report.Run, res *xcd.GPUResult) {
	st, t, l2 := &res.CU, &res.TCP, &res.Memory.L2
	for _, c := range []struct {
		name string
		v    uint64
	}{
		{"GRBM_GUI_ACTIVE", uint64(res.Timing.Cycles)},
		{"SQ_WAVES", st.Waves},
		{"SQ_WAVE_CYCLES", uint64(r.WaveCycles) / 4},
		{"SQ_INSTS_VALU", st.IssuedCount[isa.UnitVALU] + st.IssuedCount[isa.UnitMFMA]},
		{"SQ_INSTS_MFMA", st.IssuedCount[isa.UnitMFMA]},
		{"SQ_VALU_MFMA_BUSY_CYCLES", st.MFMABusy},
		{"SQ_INSTS_SALU", st.IssuedCount[isa.UnitSALU]},
		{"SQ_INSTS_SMEM", st.IssuedCount[isa.UnitSMEM]},
		{"SQ_INSTS_VMEM", st.IssuedCount[isa.UnitVMEM]},
		{"SQ_INSTS_LDS", st.IssuedCount[isa.UnitLDS]},
		{"SQ_INSTS_BRANCH", st.IssuedCount[isa.UnitBranch]},
		{"SQ_LDS_BANK_CONFLICT", st.Conflicts},
		{"TCP_TOTAL_CACHE_ACCESSES_sum", t.Requests + t.StoreSegments},
		{"TCP_TCC_READ_REQ_sum", t.Misses},
		{"TCP_TCC_WRITE_REQ_sum", t.StoreSegments - t.Atomics},
		{"TCC_REQ_sum", l2.Requests()},
		{"TCC_READ_sum", l2.Reads},
		{"TCC_WRITE_sum", l2.Writes},
		{"TCC_ATOMIC_sum", l2.Atomics},
		{"TCC_HIT_sum", l2.ReadHits + l2.WriteHits + l2.AtomicHits},
		{"TCC_MISS_sum", l2.ReadMisses + l2.WriteMisses + l2.AtomicMisses},
	} {
		must(r.Counters.Add(c.name, int64(c.v)))
	}
}

func instructions(res *xcd.GPUResult, k *isa.Kernel) []report.Instruction {
	rows := make([]report.Instruction, 0, len(k.Insts))
	for i := range k.Insts {
		s := &res.CU.Inst[i]
		if s.Hits == 0 {
			continue
		}
		stalls := report.NewCounts(report.StallReasons)
		row := report.Instruction{PC: k.Insts[i].PC, Text: k.Insts[i].Text(k.CPU), Hits: int64(s.Hits), IssueCycles: int64(s.Issued),
			BankConflicts: int64(s.Conflicts)}
		for reason, n := range s.Stall {
			must(stalls.Add(cu.StallReason(reason).String(), int64(n)))
			row.StallCycles += int64(n)
		}
		row.Stalls = stalls.NonZero()
		rows = append(rows, row)
	}
	return rows
}

// clusters sums the instructions of each marked cluster, as means a visit of a
// wave.
func clusters(res *xcd.GPUResult, b *workloads.Built, m *configs.Machine) []report.Cluster {
	var out []report.Cluster
	k := b.Launch.Kernel
	for _, c := range b.Clusters {
		visits := res.CU.Inst[c.Start].Hits
		if visits == 0 {
			continue
		}
		n := float64(visits)
		row := report.Cluster{Name: c.Name, InLoop: c.Start >= b.LoopStart && c.End <= b.LoopEnd, Visits: int64(visits)}
		for i := c.Start; i < c.End; i++ {
			s := &res.CU.Inst[i]
			cl := isa.Classify(k.CPU, &k.Insts[i])
			if cl.Unit == isa.UnitMFMA {
				row.MatrixCycles += float64(s.Hits) * math.Ceil(float64(cl.Passes)*m.MFMA.Scale) * float64(m.MFMA.PassCycles) / n
			}
			row.LDSService += float64(s.Service) / n
			row.LDSLatency += float64(s.Stall[cu.StallLGKMCnt]) / n
			row.VMEMWait += float64(s.Stall[cu.StallVMCnt]) / n
			row.Barrier += float64(s.Stall[cu.StallBarrier]) / n
			row.Cycles += float64(s.Issued) / n
			for reason, v := range s.Stall {
				row.Cycles += float64(v) / n
				switch cu.StallReason(reason) {
				case cu.StallLGKMCnt, cu.StallVMCnt, cu.StallBarrier, cu.StallMatrix:
				default:
					row.Other += float64(v) / n
				}
			}
		}
		if row.MatrixCycles > 0 {
			row.ExposedWait = max(0, row.Cycles-row.MatrixCycles)
		}
		out = append(out, row)
	}
	return out
}

// drift sums the samples up, in K steps.
func drift(samples []xcd.DriftSample, kTiles float64) report.Drift {
	d := report.Drift{Samples: len(samples)}
	if len(samples) == 0 {
		return d
	}
	var sum, n [10]float64
	end := samples[len(samples)-1].Cycle + 1
	for _, s := range samples {
		i := int(s.Cycle * 10 / end)
		sum[i] += s.Mean * kTiles
		n[i]++
		d.Mean += s.Mean * kTiles / float64(len(samples))
		d.Max = max(d.Max, s.Max*kTiles)
	}
	for i := range sum {
		d.Tenths = append(d.Tenths, report.Ratio(sum[i], n[i]))
	}
	return d
}

func collectHBM(r *report.Run, mem *xcd.MemoryStats, m *configs.Machine, us, nsPerCycle float64) {
	h := &mem.HBM
	r.HBM = report.Memory{
		Requests: int64(h.Reads + h.Writes), Reads: int64(h.Reads), Writes: int64(h.Writes),
		RowHits: int64(h.RowHits), RowMisses: int64(h.RowMisses), Turnarounds: int64(h.Turnarounds), Bytes: int64(h.ReadBytes + h.WriteBytes),
		Queue:   report.NewLatency("ns", scaled(report.PowerBuckets(h.Queue[:]), nsPerCycle), report.Ratio(float64(h.QueueCycles)*nsPerCycle, float64(h.Reads+h.Writes))),
		Latency: report.NewLatency("ns", scaled(report.PowerBuckets(h.Latency[:]), nsPerCycle), report.Ratio(float64(h.LatencyCycles)*nsPerCycle, float64(h.Latency.Count()))),
	}
	r.HBM.Utilization = report.Ratio(float64(r.HBM.Bytes)/us/1e3, m.HBM.GBs)
}
