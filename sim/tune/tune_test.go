package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/swizzle"
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
	r, err := Tune(t.Context(), o)
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

// A search that is ended shows what it has, and goes on from what it kept; a form
// is what its further options say; the budget leaves candidates out and says so.
func TestTuneGoesOn(t *testing.T) {
	o := options()
	o.Tiles, o.Best, o.Keep = []string{"192x256"}, 2, filepath.Join(t.TempDir(), "kept.json")
	o.M = 768
	whole, err := Tune(t.Context(), Options{Arch: o.Arch, Set: o.Set, M: o.M, N: o.N, K: o.K, DType: o.DType, Tiles: o.Tiles, Schedules: []string{"pingpong8"}, Best: 4, Jobs: 1, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	variants := map[string]bool{}
	for _, c := range whole.Candidates {
		variants[c.Options["variant"]] = true
	}
	if !variants[""] || !variants["v1"] {
		t.Errorf("the forms of the tile that were run: %v", variants)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Ran = func(*Candidate, time.Duration, int, int) { cancel() }
	part, err := Tune(ctx, o)
	if err == nil || !strings.Contains(err.Error(), "goes on from there") || part == nil || part.Simulated != 1 || part.Best == nil {
		t.Fatalf("%v: %+v", err, part)
	}
	o.Ran = nil
	r, err := Tune(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := openKept(o.Keep, "")
	if err != nil || len(kept.file.Candidates) != r.Simulated {
		t.Errorf("%d candidates are kept of %d: %v", len(kept.file.Candidates), r.Simulated, err)
	}
	o.Keep, o.Ran = "", nil
	again, err := Tune(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(again, r, cmpopts.IgnoreUnexported(Candidate{})); d != "" {
		t.Errorf("going on gives another result:\n%s", d)
	}
	o.Budget = time.Nanosecond
	r, err = Tune(t.Context(), o)
	if err != nil || r.Simulated != 1 || len(r.NotSimulated) == 0 || !strings.Contains(strings.Join(r.Notes, " "), "left out") {
		t.Errorf("with no time: %v, %+v", err, r)
	}
	o.Keep = filepath.Join(t.TempDir(), "none", "kept.json")
	if _, err := Tune(t.Context(), o); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("a place that is not there: %v", err)
	}
	o.Keep = filepath.Join(t.TempDir(), "other.json")
	if err := os.WriteFile(o.Keep, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Tune(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is no file that this whisker tune has kept") {
		t.Errorf("a file of something else: %v", err)
	}
}

// A replay that takes K steps together moves what one of single steps moves.
func TestTogether(t *testing.T) {
	machine, err := sim.LoadMachine("mi355x", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := machine.Machine()
	s := shape{swizzle.Grid{Rows: 48, Cols: 36}, 192, 256, 144, 128}
	for _, o := range []Order{{5, 25}, {8, 64}, {7, 216}, {1, 1}, {16, 108}} {
		fast := s.replay(m, o)
		order := swizzle.Order{Kind: swizzle.Remap, Window: o.Window, Chunk: o.Chunk, XCDs: m.Chip.XCDs}
		tiles, err := order.Map(s.grid)
		if err != nil {
			t.Fatal(err)
		}
		steps := s.together(m, tiles, func(wg int) int { return wg % m.Chip.XCDs })
		slow, err := (&swizzle.Replay{Grid: s.grid, KSteps: 144, ABytes: 192 * 128, BBytes: 256 * 128, CBytes: 192 * 256 * 2, XCDs: 8, CUsPerXCD: 32,
			L2Bytes: int64(m.L2.Bytes), LLCBytes: int64(m.LLC.Bytes)}).Run(tiles)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(fast.hits.L2()-slow.L2()) > 0.005 || math.Abs(fast.hits.LLC()-slow.LLC()) > 0.01 {
			t.Errorf("W%d C%d: %d steps together give %.4f and %.4f, single ones %.4f and %.4f", o.Window, o.Chunk, steps, fast.hits.L2(), fast.hits.LLC(), slow.L2(), slow.LLC())
		}
		if steps < 3 {
			t.Errorf("W%d C%d: %d steps together", o.Window, o.Chunk, steps)
		}
	}
}

// Orders without windows or chunks, as FP8's own, and grids of fewer tiles than XCDs are searched too.
func TestTuneOfPlainOrders(t *testing.T) {
	fp8 := options()
	fp8.M, fp8.N, fp8.K, fp8.DType, fp8.Schedules, fp8.Best = 1024, 1024, 384, "fp8", []string{"pingpong8"}, 1
	small := options()
	small.Set, small.M, small.N, small.Best, small.Also = []string{"chip.xcds=8", "chip.cus_per_xcd=4"}, 256, 512, 1, []Order{{0, 0}}
	for _, o := range []Options{fp8, small} {
		r, err := Tune(t.Context(), o)
		if err != nil {
			t.Errorf("%s %dx%d: %v", o.DType, o.M, o.N, err)
		} else if r.Best.Simulated == nil || r.Best.Simulated.Cycles == 0 {
			t.Errorf("%s %dx%d: %+v", o.DType, o.M, o.N, r.Best)
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
		_, err := Tune(t.Context(), o)
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

// A search that is ended while it estimates says so, and runs nothing.
func TestTuneInterruptedEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options()
	o.Progress = func(string, int64, int64) { cancel() }
	o.Ran = func(c *Candidate, _ time.Duration, _, _ int) { t.Errorf("%s has run", c.Schedule) }
	if r, err := Tune(ctx, o); r != nil || err == nil || !strings.Contains(err.Error(), "interrupted before any candidate") {
		t.Errorf("%v, %+v", err, r)
	}
}
