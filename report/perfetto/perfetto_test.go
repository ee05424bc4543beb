package perfetto_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/whisker-sim/whisker/report/perfetto"
	"github.com/whisker-sim/whisker/report/timeline"
	"github.com/whisker-sim/whisker/sim"
)

func recording(t *testing.T) *timeline.Recording {
	t.Helper()
	o := sim.RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 256, N: 256, K: 256, Mode: "timing", Threads: 1, Seed: 1, Record: &sim.RecordOptions{}}
	if _, err := sim.Run(o); err != nil {
		t.Fatal(err)
	}
	return o.Record.Result
}

// TestTrace: the trace is as its schema says, and read back it has every issue
// and every stall of the run, in slices that nest, and a flow for every wait.
func TestTrace(t *testing.T) {
	r := recording(t)
	var b bytes.Buffer
	if err := perfetto.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(z)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.NewCompiler().Compile("testdata/trace.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(v); err != nil {
		t.Error(err)
	}
	events, err := perfetto.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	check(t, r, events)
	nests(t, events)
}

// TestWindows: slices nest in a window that cuts waves at both ends, and where
// several waves follow each other in a slot.
func TestWindows(t *testing.T) {
	for _, o := range []sim.RunOptions{
		{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 256, N: 256, K: 256, Record: &sim.RecordOptions{Cycles: "3001:9002"}},
		{Kernel: "layernorm", Arch: "teaching", Options: map[string]string{"batch": "1", "seq": "64"}, Record: &sim.RecordOptions{}},
		{Kernel: "layernorm", Arch: "teaching", Options: map[string]string{"batch": "1", "seq": "64"}, Record: &sim.RecordOptions{Cycles: "4003:20001"}},
	} {
		o.Mode, o.Threads, o.Seed = "timing", 1, 1
		if _, err := sim.Run(o); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := perfetto.Write(&b, o.Record.Result); err != nil {
			t.Fatal(err)
		}
		events, err := perfetto.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(o.Kernel, len(events))
		nests(t, events)
	}
}

func check(t *testing.T, r *timeline.Recording, events []perfetto.Event) {
	t.Helper()
	type thread struct{ pid, tid int }
	var stall, issue, matrix int64
	end := map[thread]int64{}
	starts, ends := map[int]perfetto.Event{}, 0
	for _, e := range events {
		at := thread{e.PID, e.TID}
		switch {
		case e.Ph == "s":
			starts[e.ID] = e
		case e.Ph == "f":
			ends++
			if s, ok := starts[e.ID]; !ok || s.TID != e.TID || s.TS >= e.TS {
				t.Fatalf("flow %d leads from %+v to %+v", e.ID, s, e)
			}
		case e.Ph != "X" || e.Cat == "wave":
		case e.TS < end[at]:
			t.Fatalf("%+v begins before the slice before it ends at %d", e, end[at])
		default:
			end[at] = e.TS + e.Dur
			switch {
			case e.Cat == "stall":
				stall += e.Dur
			case e.Cat == "matrix":
				matrix += e.Dur
			case e.TID < perfetto.TIDPipe:
				issue += e.Dur
			}
		}
	}
	if issue != r.Run.Issued.Sum() || stall != r.Run.Stalls.Sum() {
		t.Errorf("%d cycles of issue, %d of stall; the report has %d and %d", issue, stall, r.Run.Issued.Sum(), r.Run.Stalls.Sum())
	}
	if want := r.Run.Counters.Get("SQ_VALU_MFMA_BUSY_CYCLES"); matrix != want {
		t.Errorf("the matrix pipes are busy for %d cycles, the report has %d", matrix, want)
	}
	flows := 0
	for i := range r.CUs[0].Lanes {
		for _, f := range r.CUs[0].Lanes[i].Flows(r) {
			if f.Wait > 0 {
				flows++
			}
		}
	}
	if flows == 0 || ends != flows || len(starts) != flows {
		t.Errorf("%d flows begin and %d end, want %d", len(starts), ends, flows)
	}
}

// nests holds the slices to what Perfetto's importer asks of them: in order of
// time, as they stand in the file at the same time, a slice of a thread lies within
// those that are open, or it is dropped; a flow begins and ends within a slice that
// is open.
func nests(t *testing.T, events []perfetto.Event) {
	t.Helper()
	type thread struct{ pid, tid int }
	open := map[thread][]int64{} // ends
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b perfetto.Event) int { return cmp.Compare(a.TS, b.TS) })
	for i := range sorted {
		e := &sorted[i]
		if e.Ph != "X" {
			continue
		}
		at := thread{e.PID, e.TID}
		stack := open[at]
		for len(stack) > 0 && stack[len(stack)-1] <= e.TS {
			stack = stack[:len(stack)-1]
		}
		if n := len(stack); n > 0 && e.TS+e.Dur > stack[n-1] {
			t.Fatalf("%+v goes past the end of the slice around it, %d", e, stack[n-1])
		}
		if e.TID < perfetto.TIDPipe && e.Cat != "wave" && len(stack) != 1 {
			t.Fatalf("%+v lies within %d slices and not within one wave", e, len(stack))
		}
		open[at] = append(stack, e.TS+e.Dur)
	}
	// A flow is bound after the slices of its time have begun.
	spans := map[thread][][2]int64{}
	for _, e := range events {
		if e.Ph == "X" && e.Cat != "wave" {
			spans[thread{e.PID, e.TID}] = append(spans[thread{e.PID, e.TID}], [2]int64{e.TS, e.TS + e.Dur})
		}
	}
	for _, e := range events {
		if e.Ph != "s" && e.Ph != "f" {
			continue
		}
		s := spans[thread{e.PID, e.TID}]
		i, ok := slices.BinarySearchFunc(s, e.TS, func(x [2]int64, ts int64) int { return cmp.Compare(x[0], ts) })
		if !ok && (i == 0 || s[i-1][1] <= e.TS) {
			t.Fatalf("%+v is bound to no slice", e)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "{}", "\x1f\x8bxx"} {
		if _, err := perfetto.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "perfetto") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
