package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/workloads"
)

// little is a machine of eight CUs, on which a search takes seconds.
var little = []string{"chip.xcds=2", "chip.cus_per_xcd=4"}

func options() Options {
	return Options{Arch: "mi355x", Set: little, M: 512, N: 512, K: 256, DType: "bf16", Best: 3, Jobs: 1, Threads: 1}
}

// The search simulates the best few, says which is fastest, and marks the front.
func TestTune(t *testing.T) {
	o := options()
	o.Tiles, o.Schedules = []string{"128x128", "256x256"}, []string{"pingpong8"}
	o.Also = []Order{{2, 3}}
	r, err := Tune(o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Considered < 10 || r.Simulated < 3 || r.Best.Simulated == nil || r.Best.Simulated.Cycles == 0 {
		t.Fatalf("%+v", r)
	}
	own, also := false, false
	for i, c := range r.Candidates {
		own, also = own || c.Own, also || c.Window == 2 && c.Chunk == 3
		if c.Simulated.Error == "" && c.Simulated.Cycles < r.Best.Simulated.Cycles {
			t.Errorf("candidate %d is faster than the best", i)
		}
		beaten := slices.ContainsFunc(r.Candidates, func(d Candidate) bool {
			return d.Simulated.Cycles <= c.Simulated.Cycles && d.Simulated.BeyondL2 <= c.Simulated.BeyondL2 &&
				(d.Simulated.Cycles < c.Simulated.Cycles || d.Simulated.BeyondL2 < c.Simulated.BeyondL2)
		})
		if c.Simulated.Front && beaten {
			t.Errorf("candidate %d is on the front and beaten", i)
		}
		// The estimate is a bound from below.
		if us := float64(c.Simulated.Cycles) / 1806; c.Estimate.US > us*1.02 {
			t.Errorf("candidate %d: an estimate of %.2f us for %.2f us", i, c.Estimate.US, us)
		}
	}
	if !own || !also {
		t.Errorf("the kernel's own order (%v) or the one asked for (%v) was not run", own, also)
	}
	for _, format := range report.Formats {
		var b bytes.Buffer
		if err := Write(&b, r, format); err != nil || !strings.Contains(b.String(), "pingpong8") {
			t.Errorf("%s: %v:\n%s", format, err, b.String())
		}
		if format == "json" && json.Unmarshal(b.Bytes(), new(Result)) != nil {
			t.Error("the JSON does not read")
		}
	}
}

func TestTuneRefuses(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"unknown --dtype":     func(o *Options) { o.DType = "f64" },
		"--m is 0":            func(o *Options) { o.M = 0 },
		"--best is 0":         func(o *Options) { o.Best = 0 },
		"no form of the GEMM": func(o *Options) { o.K = 13 },
		"no form is left":     func(o *Options) { o.Tiles = []string{"1x1"} },
		"does not have":       func(o *Options) { o.Arch, o.Set, o.DType = "mi300x", nil, "fp6" },
		"there is no machine": func(o *Options) { o.Arch = "mi400" },
	} {
		o := options()
		change(&o)
		_, err := Tune(o)
		if _, usage := errors.AsType[*sim.UsageError](err); !usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// The demand is the kernel's own count: the matrix work of a workgroup is its
// share of the flops at the pipe's rate.
func TestDemand(t *testing.T) {
	b, err := workloads.GEMM(isa.GFX950, workloads.Spec{M: 512, N: 512, K: 512, Tile: "256x256", W: -1, C: -1})
	if err != nil {
		t.Fatal(err)
	}
	machine, err := sim.LoadMachine("mi355x", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := demandOf(b, machine.Machine())
	// v_mfma_f32_16x16x32_bf16: 2*16*16*32 flops in 4 passes of 4 cycles.
	if want := 2 * 256 * 256 * 512 / (2 * 16 * 16 * 32 / 16.) / 4; d.matrix != want {
		t.Errorf("matrix %g cycles, want %g", d.matrix, want)
	}
	// Each K step brings two tiles of 256x64 bf16 into LDS at 128 bytes a cycle.
	if fill := 512. * 512 * 2 / 128; d.lds <= fill || d.lds > 6*fill {
		t.Errorf("LDS %g cycles; fills alone are %g", d.lds, fill)
	}
	if d.limit() != "matrix" {
		t.Errorf("%+v is limited by %s", d, d.limit())
	}
}

func TestFront(t *testing.T) {
	make := func(cycles, bytes int64, failed string) *Candidate {
		return &Candidate{Simulated: &Simulated{Cycles: cycles, BeyondL2: bytes, Error: failed}}
	}
	list := []*Candidate{make(10, 50, ""), make(11, 50, ""), make(12, 40, ""), make(13, 45, ""), make(0, 0, "no")}
	front(list)
	for i, want := range []bool{true, false, true, false, false} {
		if list[i].Simulated.Front != want {
			t.Errorf("candidate %d: front %v", i, !want)
		}
	}
}
