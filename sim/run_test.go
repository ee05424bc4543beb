package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// small is a GEMM that runs in a moment: 16 workgroups.
func small(arch string) RunOptions {
	return RunOptions{Kernel: "gemm", Arch: arch, M: 512, N: 512, K: 256, Mode: "timing", Threads: 1, Seed: 1, PerInstruction: true}
}

func mustRun(t *testing.T, o RunOptions) *report.Run {
	t.Helper()
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// jsonOf is a run's bytes without the host's figures.
func jsonOf(t *testing.T, r *report.Run) string {
	t.Helper()
	c := *r
	c.Host = nil
	var b bytes.Buffer
	if err := report.WriteJSON(&b, &c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRunsRepeat: the same run gives the same bytes, on one thread and on
// several.
func TestRunsRepeat(t *testing.T) {
	for _, arch := range []string{"mi355x", "mi300x"} {
		o := small(arch)
		first := jsonOf(t, mustRun(t, o))
		if again := jsonOf(t, mustRun(t, o)); again != first {
			t.Errorf("%s: a second run differs", arch)
		}
		for _, n := range []int{2, 5} {
			o.Threads = n
			if got := jsonOf(t, mustRun(t, o)); got != first {
				t.Errorf("%s: %d threads differ from one", arch, n)
			}
		}
	}
}

// TestFullModeTakesTheSameCycles: computing every value changes no cycle, and
// the values are right.
func TestFullModeTakesTheSameCycles(t *testing.T) {
	for _, k := range [][2]string{{"mi355x", "pingpong8"}, {"mi325x", "pingpong8"}, {"mi355x", "interleave4"}} {
		arch := k[0]
		o := small(arch)
		o.M, o.N, o.Schedule = 256, 256, k[1]
		timing := mustRun(t, o)
		o.Mode, o.Verify = "full", true
		full := mustRun(t, o)
		if timing.Cycles != full.Cycles {
			t.Errorf("%s: timing mode %d cycles, full mode %d", arch, timing.Cycles, full.Cycles)
		}
		if !full.Verify.Passed {
			t.Errorf("%s: full mode's values are off by %g", arch, full.Verify.MaxRelativeError)
		}
	}
}

// TestFunctional: the kernels compute what they should, on both CPUs, with
// remap, swizzle and transposition in place.
func TestFunctional(t *testing.T) {
	for _, o := range []RunOptions{
		{Arch: "mi355x", M: 512, N: 512, K: 512},
		{Arch: "mi355x", M: 512, N: 256, K: 256, Tile: "256x256"},
		{Arch: "mi325x", M: 512, N: 512, K: 512},
		{Arch: "mi355x", M: 256, N: 256, K: 256, Schedule: "interleave4", DType: "fp16"},
		{Arch: "mi355x", M: 512, N: 512, K: 256, Window: ptr(3), Chunk: ptr(5)},
	} {
		o.Kernel, o.Mode, o.Verify, o.Threads, o.Seed = "gemm", "functional", true, 1, 7
		r := mustRun(t, o)
		if !r.Verify.Passed || r.Verify.MaxRelativeError == 0 {
			t.Errorf("%s %dx%dx%d %s: relative error %g of at most %g", o.Arch, o.M, o.N, o.K, o.Schedule, r.Verify.MaxRelativeError, r.Verify.Limit)
		}
	}
}

func ptr(v int) *int { return &v }

// TestBrokenKernels: a kernel without one of its waits is refused with both
// instructions named, and one without a swizzle term computes wrong values.
func TestBrokenKernels(t *testing.T) {
	spec := workloads.Spec{M: 256, N: 256, K: 256, Tile: "256x256", W: -1, C: -1, Seed: 1}
	named := map[string]int{}
	for i := 0; ; i++ {
		spec.Break = fmt.Sprintf("wait:%d", i)
		b, err := workloads.GEMM(isa.GFX950, spec)
		if err != nil {
			break
		}
		b.FillInputs()
		_, err = emu.Run(b.Launch, emu.Options{Check: true})
		if err == nil {
			continue
		}
		if !errors.Is(err, emu.ErrHazard) {
			t.Errorf("without wait %d: %v", i, err)
			continue
		}
		switch msg := err.Error(); {
		case strings.Contains(msg, "v_mfma") && strings.Contains(msg, "ds_read_b128"):
			named["register read before its LDS load"]++
		case strings.Contains(msg, "ds_read_b128") && strings.Contains(msg, "buffer_load_dwordx4"):
			named["LDS read before its direct-to-LDS load"]++
		}
	}
	for _, want := range []string{"register read before its LDS load", "LDS read before its direct-to-LDS load"} {
		if named[want] == 0 {
			t.Errorf("no dropped wait was reported as: %s (%v)", want, named)
		}
	}
	spec.Break = "swizzle"
	b, err := workloads.GEMM(isa.GFX950, spec)
	if err != nil {
		t.Fatal(err)
	}
	b.FillInputs()
	if _, err := emu.Run(b.Launch, emu.Options{}); err != nil {
		t.Fatal(err)
	}
	if worst, err := b.Verify(); err != nil || worst < 0.1 {
		t.Errorf("without the swizzle the values are off by %g only (%v)", worst, err)
	}
}

// TestWhatIfs: leaves of the machine file reach the mechanisms.
func TestWhatIfs(t *testing.T) {
	base := mustRun(t, small("mi355x"))
	for _, c := range []struct {
		set    string
		slower bool
	}{
		{"mfma.scale=2", true},
		{"mfma.scale=0.5", false},
		{"lds.pair_port_bytes_per_cycle=32", true},
		{"l2.hit_latency_cycles=400", true},
		{"tcp.line_cycles=8", true},
		{"cu.barrier_cycles=200", true},
		{"fabric.latency_ns=200", true},
	} {
		o := small("mi355x")
		o.Set = []string{c.set}
		r := mustRun(t, o)
		if c.slower != (r.Cycles > base.Cycles) || r.Cycles == base.Cycles {
			t.Errorf("%s: %d cycles, without it %d", c.set, r.Cycles, base.Cycles)
		}
	}
}

// TestDoesNotFit: the error says how much is needed and what is there.
func TestDoesNotFit(t *testing.T) {
	for set, want := range map[string][]string{
		"lds.bytes=65536":       {"131072", "65536 more", "LDS", "--tile 128x128 fits"},
		"cu.vgprs_per_simd=256": {"256", "vector registers"},
	} {
		o := small("mi355x")
		o.M, o.N, o.Tile = 512, 512, "256x256"
		o.Set = []string{set}
		_, err := Run(o)
		if err == nil {
			t.Errorf("%s: ran", set)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", set, err, w)
			}
		}
	}
}

// TestSkippingChangesNothing: stepping every CU in every cycle gives the cycles
// and stalls of skipping to the next one that matters.
func TestSkippingChangesNothing(t *testing.T) {
	var res [2]*xcd.GPUResult
	for i := range res {
		b, err := workloads.GEMM(isa.GFX950, workloads.Spec{M: 256, N: 256, K: 256, W: -1, C: -1, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		m, err := LoadMachine("mi355x", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := xcd.NewGPU(m.Machine(), 1600, b.Launch, xcd.GPUOptions{EveryCycle: i == 1, LoopStart: b.LoopStart, LoopEnd: b.LoopEnd})
		if err != nil {
			t.Fatal(err)
		}
		if res[i], err = g.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(res[0].Timing, res[1].Timing) || res[0].CU.Stalls != res[1].CU.Stalls || res[0].CU.Issued != res[1].CU.Issued {
		t.Errorf("skipping: %+v %v\nevery cycle: %+v %v", res[0].Timing, res[0].CU.Stalls, res[1].Timing, res[1].CU.Stalls)
	}
}
