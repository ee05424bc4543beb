// Package sim builds a machine, runs a kernel on it and collects what it did.
package sim

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// verifyLimit is the largest max |c - ref| / max(|ref|, rms(ref)) that passes,
// by input type: a 16-bit result has 8 (bf16) or 11 (fp16) significant bits.
var verifyLimit = map[string]float64{"bf16": 1e-2, "fp16": 2e-3}

// Run simulates one kernel launch: load the machine, build the kernel, run it,
// collect, check.
func Run(o RunOptions) (*report.Run, error) {
	begin := time.Now()
	if err := o.Check(); err != nil {
		return nil, err
	}
	machine, err := LoadMachine(o.Arch, o.Machine, o.Set)
	if err != nil {
		return nil, err
	}
	built, err := build(o, machine.Machine())
	if err != nil {
		return nil, &UsageError{err}
	}
	r := newReport(o, machine, built)
	if o.Mode != "timing" {
		built.FillInputs()
	}
	if o.Mode == "functional" {
		err = runFunctional(r, built)
	} else {
		err = runTiming(o, r, machine, built)
	}
	if err != nil {
		return nil, err
	}
	if o.Verify {
		if err := verify(r, built, o); err != nil {
			return nil, err
		}
	}
	r.Host = hostFigures(begin, o.Threads)
	r.Derive()
	if err := r.CheckSums(); err != nil {
		return nil, fmt.Errorf("sim: the run does not add up, which is a fault of Whisker: %w", err)
	}
	return r, nil
}

func hostFigures(begin time.Time, threads int) *report.Host {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return &report.Host{WallSeconds: time.Since(begin).Seconds(), Threads: threads, PeakMemoryBytes: int64(ms.Sys)}
}

// build makes the kernel for the machine's CPU and XCD count.
func build(o RunOptions, m *configs.Machine) (*workloads.Built, error) {
	cpu, err := cpuOf(m.CPU)
	if err != nil {
		return nil, err
	}
	s := workloads.Spec{M: o.M, N: o.N, K: o.K, DType: o.DType, Tile: o.Tile, Schedule: o.Schedule, MFMA: o.MFMA,
		W: orDefault(o.Window), C: orDefault(o.Chunk), XCDs: m.Chip.XCDs, Seed: o.Seed}
	need := 2 * (float64(o.M)*float64(o.K) + float64(o.N)*float64(o.K) + float64(o.M)*float64(o.N))
	if room := float64(m.HBM.CapacityGB) * 1e9; need > room {
		return nil, fmt.Errorf("gemm: the matrices of %dx%dx%d need %.0f GB and the machine has %d GB (hbm.capacity_gb)", o.M, o.N, o.K, need/1e9, m.HBM.CapacityGB)
	}
	return workloads.GEMM(cpu, s)
}

// orDefault turns an absent flag into the builder's "your choice".
func orDefault(v *int) int {
	if v == nil {
		return -1
	}
	return *v
}

func cpuOf(name string) (isa.CPU, error) {
	for _, c := range []isa.CPU{isa.GFX942, isa.GFX950} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("sim: the machine's cpu is %q; gfx942 and gfx950 are simulated", name)
}

func verify(r *report.Run, b *workloads.Built, o RunOptions) error {
	worst, err := b.Verify()
	if err != nil {
		return err
	}
	limit := verifyLimit[b.Spec.DType]
	r.Verify = &report.Verify{Reference: "float64 on the host", Values: int64(b.Spec.M) * int64(b.Spec.N), MaxRelativeError: worst,
		Limit: limit, Passed: worst <= limit}
	return nil
}

// runTiming advances the machine cycle by cycle.
func runTiming(o RunOptions, r *report.Run, machine *configs.Resolved, b *workloads.Built) error {
	m := machine.Machine()
	law := clockFor(machine, b.Spec.DType)
	g, err := xcd.NewGPU(m, law.mhz, b.Launch, xcd.GPUOptions{
		Full: o.Mode == "full", LoopStart: b.LoopStart, LoopEnd: b.LoopEnd,
		Threads: o.Threads, ColdLLC: o.ColdLLC, Warm: warmRanges(b.Launch.Memory), Monitor: o.Monitor, Progress: o.Progress, Expected: expectedInsts(b),
	})
	if err != nil {
		return &UsageError{err} // it does not fit, or an instruction has no timing class
	}
	res, err := g.Run(context.Background())
	if err != nil {
		return err
	}
	collect(r, res, m, b, law, o.PerInstruction)
	return nil
}

// warmRanges is what an earlier launch of the same kernel leaves in the LLC:
// its buffers, the output last and dirty.
func warmRanges(m *isa.Memory) []xcd.Range {
	var in, out []xcd.Range
	for _, r := range m.Regions() {
		switch r.Name {
		case "C":
			out = append(out, xcd.Range{Base: r.Base, Bytes: r.Size, Written: true})
		case "A", "B":
			in = append(in, xcd.Range{Base: r.Base, Bytes: r.Size})
		}
	}
	return append(in, out...)
}

// expectedInsts is how many wave instructions a launch will issue, but for what
// differs between waves.
func expectedInsts(b *workloads.Built) int64 {
	n := len(b.Launch.Kernel.Insts) + (b.LoopEnd-b.LoopStart)*max(b.LoopTrips-1, 0)
	return int64(n) * int64(b.Launch.NumWorkgroups()) * int64(b.Waves)
}
