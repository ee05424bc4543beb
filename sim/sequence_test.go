package sim

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/workloads/suite"
	"github.com/whisker-sim/whisker/xcd"
)

// Launches on one GPU: the second finds the first's data in the LLC and nothing
// in the L2; after the LLC is emptied a launch takes as long as the first again, to the
// cycle where memory's open rows, its refresh and the TLB keep nothing of a launch before.
func TestLaunchesInSequence(t *testing.T) {
	machine, err := LoadMachine("mi355x", "", []string{"chip.xcds=2", "chip.iods=1", "chip.cus_per_xcd=4", "hbm.refresh_ns=0", "hbm.row_miss_ns=0", "tlb.miss_ns=0"})
	if err != nil {
		t.Fatal(err)
	}
	spec := workloads.Spec{M: 512, N: 512, K: 512, Tile: "128x128", W: -1, C: -1, XCDs: 2}
	cpu, err := cpuOf("gfx950")
	if err != nil {
		t.Fatal(err)
	}
	launch := func() *workloads.Built {
		b, err := workloads.GEMM(cpu, spec)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	g, err := xcd.NewGPU(machine.Machine(), 1800, launch().Launch, xcd.GPUOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	run := func() *xcd.GPUResult {
		t.Helper()
		r, err := g.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := run()
	if err := g.Load(launch().Launch, xcd.GPUOptions{}); err != nil {
		t.Fatal(err)
	}
	second := run()
	if a, b := first.Memory.L2.ReadMisses, second.Memory.L2.ReadMisses; b < a*9/10 || b > a*11/10 {
		t.Errorf("L2 misses: %d in the first launch, %d in the second: it is invalidated between them", a, b)
	}
	if r := second.Memory.LLC.ReadHitRate(); r != 1 {
		t.Errorf("the second launch hits the LLC at a rate of %.3f, want 1", r)
	}
	if r := first.Memory.LLC.ReadMisses; r < 2*512*512*2/128 {
		t.Errorf("the first launch misses the LLC %d times, with 8192 lines to read", r)
	}
	if second.Timing.Cycles >= first.Timing.Cycles {
		t.Errorf("the second launch takes %d cycles, the first %d", second.Timing.Cycles, first.Timing.Cycles)
	}
	g.EmptyLLC()
	if err := g.Load(launch().Launch, xcd.GPUOptions{}); err != nil {
		t.Fatal(err)
	}
	third := run()
	if a, b := first.Timing.Cycles, third.Timing.Cycles; a != b {
		t.Errorf("the first launch takes %d cycles, one with an empty LLC %d", a, b)
	}
}

// L2s that keep their lines (l2.invalidate=false) serve the next launch, but for
// what another L2 has written: here C, which nobody reads.
func TestKeptL2(t *testing.T) {
	one := 1
	run := func(keep bool) *report.Run {
		t.Helper()
		r, err := Run(RunOptions{Kernel: "gemm", Arch: "mi355x", M: 512, N: 512, K: 512, Mode: "timing", Threads: 1, Seed: 1, Warmup: &one,
			Set: []string{"chip.cus_per_xcd=4", fmt.Sprintf("l2.invalidate=%t", !keep)}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	kept, empty := run(true), run(false)
	if kept.L2.Misses != 0 || empty.L2.Misses == 0 {
		t.Errorf("reads that miss the L2: %d where it keeps its lines, %d where it is invalidated", kept.L2.Misses, empty.L2.Misses)
	}
	if kept.Cycles >= empty.Cycles {
		t.Errorf("%d cycles where it keeps its lines, %d where it is invalidated", kept.Cycles, empty.Cycles)
	}
	if kept.L2.WriteBacks != empty.L2.WriteBacks {
		t.Errorf("%d lines written back where it keeps its lines, %d where it is invalidated", kept.L2.WriteBacks, empty.L2.WriteBacks)
	}
}

// A launch file is launched before the measured time as often as --warmup asks, on a
// cold machine first.
func TestLaunchWarmup(t *testing.T) {
	dir := t.TempDir()
	if err := suite.Extract(dir); err != nil {
		t.Fatal(err)
	}
	run := func(warmup *int) *report.Run {
		t.Helper()
		r, err := RunLaunch(LaunchOptions{File: filepath.Join(dir, "launch", "triton_vadd.yaml"), RunOptions: RunOptions{Arch: "mi355x", Mode: "timing", Threads: 1, Warmup: warmup}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	none, two := 0, 2
	cold, after, warm := run(&none), run(&two), run(nil)
	if cold.LLC.HitRate > 0.5 || after.LLC.HitRate != 1 || warm.LLC.HitRate != 1 {
		t.Errorf("LLC hit rates %.2f of the first launch, %.2f of the third, %.2f of a warm one", cold.LLC.HitRate, after.LLC.HitRate, warm.LLC.HitRate)
	}
	if cold.Cycles <= after.Cycles || after.WaveInstructions != warm.WaveInstructions {
		t.Errorf("%d cycles of the first launch, %d of the third; %d and %d instructions", cold.Cycles, after.Cycles, after.WaveInstructions, warm.WaveInstructions)
	}
}

// --warmup and --rotate-buffers, and what they refuse.
func TestWarmup(t *testing.T) {
	run := func(edit func(*RunOptions)) (int64, float64) {
		t.Helper()
		o := RunOptions{Kernel: "gemm", Arch: "mi355x", M: 512, N: 512, K: 512, Mode: "timing", Threads: 1, Seed: 1, Set: []string{"chip.cus_per_xcd=4"}}
		edit(&o)
		r, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		return r.Cycles, r.LLC.HitRate
	}
	none, one := 0, 1
	coldCycles, coldRate := run(func(o *RunOptions) { o.Warmup = &none })
	warmCycles, warmRate := run(func(o *RunOptions) { o.Warmup = &one })
	_, rotated := run(func(o *RunOptions) { o.Warmup, o.RotateBuffers = &one, true })
	_, guessed := run(func(o *RunOptions) { o.RotateBuffers = true })
	if warmRate < 0.99 || coldRate > 0.9 || warmCycles >= coldCycles {
		t.Errorf("first launch: %d cycles, LLC %.3f; after one: %d, %.3f", coldCycles, coldRate, warmCycles, warmRate)
	}
	if rotated > 0.9 || guessed > 0.9 {
		t.Errorf("rotated buffers: LLC hit rates %.3f and %.3f, cold %.3f", rotated, guessed, coldRate)
	}
	less, more := -1, maxWarmup+1
	for _, o := range []RunOptions{{Warmup: &less}, {Warmup: &more}, {Warmup: &one, ColdLLC: true}, {Warmup: &one, Mode: "functional"}} {
		if err := o.checkWarmup(); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// TestWarmIsNearAnEarlierLaunch: what the LLC is given at the start has the hits
// and the write-backs of a launch that really followed another, on a footprint
// that the LLC does not hold. The L2 is small, so that the LLC sees the sweep.
func TestWarmIsNearAnEarlierLaunch(t *testing.T) {
	run := func(o RunOptions) *report.Run {
		t.Helper()
		o.Kernel, o.Machine, o.M, o.N, o.K, o.Mode, o.Threads, o.Seed = "gemm", "teaching", 512, 768, 512, "timing", 1, 1
		o.Set = []string{"l2.bytes=32768", "chip.cus_per_xcd=4", "llc.bytes=1048576"}
		r, err := Run(o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	one := 1
	real, warm, cold := run(RunOptions{Warmup: &one}), run(RunOptions{}), run(RunOptions{ColdLLC: true})
	near := func(r *report.Run) float64 { return math.Abs(float64(r.HBM.Bytes)/float64(real.HBM.Bytes) - 1) }
	if near(warm) > 0.05 {
		t.Errorf("%d bytes of HBM, after a real launch %d", warm.HBM.Bytes, real.HBM.Bytes)
	}
	if near(cold) <= near(warm) {
		t.Errorf("a cold LLC is as near: %d bytes, after a real launch %d", cold.HBM.Bytes, real.HBM.Bytes)
	}
	if math.Abs(warm.LLC.HitRate-real.LLC.HitRate) > 0.02 {
		t.Errorf("LLC hit rate %.3f, after a real launch %.3f", warm.LLC.HitRate, real.LLC.HitRate)
	}
}
