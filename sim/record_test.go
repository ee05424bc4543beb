package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/timeline"
)

// oneCU is a GEMM of two rounds on the single CU of the teaching machine.
func oneCU() RunOptions {
	return RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 256, N: 512, K: 512, Mode: "timing", Threads: 1, Seed: 1}
}

func record(t *testing.T, o RunOptions, cus, cycles string) *timeline.Recording {
	t.Helper()
	o.Record = &RecordOptions{CUs: cus, Cycles: cycles}
	mustRun(t, o)
	return o.Record.Result
}

// TestRecordingChangesNothing: a recorded run gives the bytes of one that is not,
// and its segments add up to the report, reason by reason.
func TestRecordingChangesNothing(t *testing.T) {
	for _, arch := range []string{"mi355x", "mi300x"} {
		o := small(arch)
		plain := jsonOf(t, mustRun(t, o))
		o.Record = &RecordOptions{CUs: timeline.AllCUs}
		o.Threads = 2
		r := mustRun(t, o)
		if jsonOf(t, r) != plain {
			t.Errorf("%s: the recorded run differs", arch)
		}
		rec := o.Record.Result
		var cycles [16]int64
		issues, resident := int64(0), int64(0)
		for i := range rec.CUs {
			for j := range rec.CUs[i].Lanes {
				l := &rec.CUs[i].Lanes[j]
				at := int64(-1)
				ok := l.EachSegment(rec.Interval, func(s timeline.Segment) bool {
					if at >= 0 && s.From != at && !startsWave(l, s.From) {
						t.Fatalf("%s CU %s: a gap from %d to %d", arch, rec.CUs[i].Name(), at, s.From)
					}
					at = s.To
					cycles[s.Kind] += s.To - s.From
					if s.Kind == timeline.Issue {
						issues++
					}
					return true
				})
				if !ok {
					t.Fatalf("%s: the lane does not decode", arch)
				}
				for _, w := range l.Waves {
					resident += w.End - w.Start
				}
			}
		}
		if issues != r.WaveInstructions || cycles[timeline.Issue] != r.Issued.Sum() || resident != r.WaveCycles {
			t.Errorf("%s: %d issues, %d cycles of issue, %d resident; the report has %d, %d, %d", arch, issues, cycles[0], resident,
				r.WaveInstructions, r.Issued.Sum(), r.WaveCycles)
		}
		for i, s := range report.StallReasons {
			if got := cycles[timeline.StallKind(i)]; got != r.Stalls.Get(s.Name) {
				t.Errorf("%s: %d cycles of %s, the report has %d", arch, got, s.Name, r.Stalls.Get(s.Name))
			}
		}
	}
}

// TestRecordingOfSeveralKernels: any kernel of a measurement can be recorded, which changes nothing
// in the report; the recording is of that kernel, at the clock of all.
func TestRecordingOfSeveralKernels(t *testing.T) {
	o := RunOptions{Kernel: "attention-backward", Arch: "mi355x", Mode: "timing", Threads: 1, Seed: 1, Options: kv("batch", "1", "heads", "2", "seq", "256"),
		Set: []string{"chip.xcds=1", "chip.iods=1", "chip.cus_per_xcd=4", "power.board_w=354"}}
	want := mustRun(t, o)
	plain := jsonOf(t, want)
	if want.ClockMHz >= 2400 {
		t.Fatalf("%g MHz: the clock is not held by the power budget", want.ClockMHz)
	}
	for kernel := range 3 {
		o.Record = &RecordOptions{Kernel: kernel}
		if jsonOf(t, mustRun(t, o)) != plain {
			t.Errorf("kernel %d: the recorded run differs", kernel)
		}
		rec := o.Record.Result
		if r := rec.Run; r.Kernel != want.Parts[kernel].Name || r.Cycles != want.Parts[kernel].Cycles || r.ClockMHz != want.ClockMHz || r.Power == nil || len(r.Instructions) == 0 {
			t.Errorf("kernel %d: the recording is of %s, %d cycles at %g MHz with %d instructions", kernel, r.Kernel, r.Cycles, r.ClockMHz, len(r.Instructions))
		}
		checkWithin(t, rec)
		for _, x := range rec.XCDs {
			if h := rec.Run.L2; x.L2Requests != h.Requests || x.L2Hits != h.Hits+h.HitsInFlight {
				t.Errorf("kernel %d: %d hits of %d in the L2's picture, %d of %d in the report", kernel, x.L2Hits, x.L2Requests, h.Hits+h.HitsInFlight, h.Requests)
			}
		}
	}
}

// checkWithin holds a recording's times to its launch.
func checkWithin(t *testing.T, rec *timeline.Recording) {
	t.Helper()
	for _, g := range rec.Groups {
		if g.Start < 0 || g.End <= g.Start || g.End > rec.Run.Cycles {
			t.Errorf("%s: a workgroup from %d to %d in a launch of %d cycles", rec.Run.Kernel, g.Start, g.End, rec.Run.Cycles)
		}
	}
	issues := 0
	for i := range rec.CUs {
		for j := range rec.CUs[i].Lanes {
			rec.CUs[i].Lanes[j].EachSegment(rec.Interval, func(s timeline.Segment) bool {
				if s.From < 0 || s.To > rec.Run.Cycles {
					t.Errorf("%s: a segment from %d to %d in a launch of %d cycles", rec.Run.Kernel, s.From, s.To, rec.Run.Cycles)
				}
				if s.Kind == timeline.Issue {
					issues++
				}
				return true
			})
		}
	}
	if issues == 0 {
		t.Errorf("%s: no instruction was recorded", rec.Run.Kernel)
	}
}

// TestRecordingAfterAnotherLaunch: times are of the launch, whatever ran before it, in windows too.
func TestRecordingAfterAnotherLaunch(t *testing.T) {
	one := 1
	o := oneCU()
	o.Warmup, o.Record = &one, &RecordOptions{}
	mustRun(t, o)
	checkWithin(t, o.Record.Result)
	o.Record = &RecordOptions{Cycles: "0:2000"}
	mustRun(t, o)
	checkWithin(t, o.Record.Result)
}

// TestEmptyRecording: a window in which no wave runs is told.
func TestEmptyRecording(t *testing.T) {
	o := small("mi355x")
	o.M, o.N = 256, 256
	for cus, empty := range map[string]bool{"all": false, "0.1": true} {
		o.Record = &RecordOptions{CUs: cus}
		if r := mustRun(t, o); strings.Contains(strings.Join(r.Notes, "\n"), "the recording is empty") != empty {
			t.Errorf("CUs %s: notes %q", cus, r.Notes)
		}
	}
}

// TestRecordingMovesNoBoundary: what a run does between its windows, to stop after
// a sample and to look how far apart workgroups are, does not depend on who watches. A
// recorded run issues matrix instructions one by one, any other in runs.
func TestRecordingMovesNoBoundary(t *testing.T) {
	if testing.Short() {
		t.Skip("runs kernels")
	}
	few := []string{"chip.xcds=1", "chip.iods=1", "chip.cus_per_xcd=4"}
	for _, o := range []RunOptions{
		{Kernel: "gemm", M: 1024, N: 1024, K: 256, SampleRounds: 1},
		{Kernel: "attention", Options: kv("batch", "1", "heads", "4", "seq", "1024"), SampleRounds: 1},
		{Kernel: "micro", Options: kv("test", "mfma", "trips", "500", "fill", "0")},
	} {
		o.Arch, o.Mode, o.Threads, o.Seed, o.Set = "mi355x", "timing", 1, 1, few
		plain := jsonOf(t, mustRun(t, o))
		o.Record = &RecordOptions{CUs: timeline.AllCUs}
		if d := cmp.Diff(plain, jsonOf(t, mustRun(t, o))); d != "" {
			t.Errorf("%s: the recorded run (+) differs:\n%s", o.Kernel, d)
		}
	}
}

func startsWave(l *timeline.Lane, at int64) bool {
	for _, w := range l.Waves {
		if w.Start == at {
			return true
		}
	}
	return false
}

// TestStallKindsMatch holds that recordings name stalls as the model does.
func TestStallKindsMatch(t *testing.T) {
	for r := cu.StallReason(0); r < cu.NumStalls; r++ {
		if got := timeline.StallKind(int(r)).Name(); got != r.String() {
			t.Errorf("stall %d is called %s, want %s", r, got, r)
		}
	}
}

// TestRecordingFacts looks at what a recording says about a run that is known.
func TestRecordingFacts(t *testing.T) {
	rec := record(t, oneCU(), "0.0", "")
	c := &rec.CUs[0]
	if len(rec.CUs) != 1 || len(c.Lanes) != 8 || len(rec.Groups) != 2 {
		t.Fatalf("%d CUs, %d lanes, %d workgroups; want 1, 8, 2", len(rec.CUs), len(c.Lanes), len(rec.Groups))
	}
	fills, uses := 0, 0
	c.EachBankUse(func(u timeline.BankUse) {
		uses++
		if u.Fill {
			fills++
		}
		if u.Inst < 0 {
			t.Fatalf("a use of the banks at %d has no instruction", u.From)
		}
		if class := rec.Insts[u.Inst].Class; class != "lds" && class != "vmem" {
			t.Fatalf("a %s instruction uses the LDS banks", class)
		}
	})
	if fills == 0 || uses == fills {
		t.Errorf("%d uses of the banks, %d fills", uses, fills)
	}
	releases := 0
	c.EachRelease(func(timeline.Release) { releases++ })
	if want := int(8 * 2); releases < want || releases%8 != 0 {
		t.Errorf("%d waves released by barriers, want a multiple of 8", releases)
	}
	for i := range c.Lanes {
		ops := 0
		c.Lanes[i].EachMemoryOp(func(m timeline.MemoryOp) {
			ops++
			if m.Done <= m.Issued {
				t.Fatalf("an operation issued at %d is done at %d", m.Issued, m.Done)
			}
		})
		if ops == 0 {
			t.Errorf("lane %d has no memory operation", i)
		}
	}
	if len(rec.LDS) == 0 || rec.LDS[0].Service == 0 {
		t.Error("no LDS access was seen")
	}
	if rec.XCDs[0].L2Requests == 0 || rec.XCDs[0].LLCRequests == 0 {
		t.Errorf("the XCD's caches saw nothing: %+v", rec.XCDs)
	}
	if want := (timeline.Group{XCD: 0, CU: 0, Row: 0, Col: 1}); rec.Groups[1].Col != want.Col && rec.Groups[0].Col != want.Col {
		t.Errorf("the tiles are %+v", rec.Groups)
	}
}

// TestWindow: a window holds what the whole recording has within it.
func TestWindow(t *testing.T) {
	whole := record(t, oneCU(), "0.0", "")
	cut := record(t, oneCU(), "0.*", "6000:9000")
	for i := range cut.CUs[0].Lanes {
		l := &cut.CUs[0].Lanes[i]
		var got, want []timeline.Segment
		l.EachSegment(cut.Interval, func(s timeline.Segment) bool { got = append(got, s); return true })
		whole.CUs[0].Lane(l.SIMD, l.Slot).EachSegment(whole.Interval, func(s timeline.Segment) bool {
			if s.To <= 6000 || s.From >= 9000 || s.Kind == timeline.Issue && s.From < 6000 {
				return true
			}
			if s.Kind != timeline.Issue {
				s.From, s.To = max(s.From, 6000), min(s.To, 9000)
			}
			want = append(want, s)
			return true
		})
		if d := cmp.Diff(want, got); d != "" || len(got) == 0 {
			t.Fatalf("lane %d.%d, %d segments: %s", l.SIMD, l.Slot, len(got), d)
		}
	}
}

// TestRecordRefusals: windows outside the machine or the run, and sizes beyond
// the limit, are refused in one sentence.
func TestRecordRefusals(t *testing.T) {
	for _, c := range []struct {
		ask  RecordOptions
		mode string
		want string
	}{
		{RecordOptions{CUs: "1.0"}, "timing", "XCDs 0 to 0"},
		{RecordOptions{CUs: "0.1"}, "timing", "CUs 0 to 0"},
		{RecordOptions{CUs: "a.b"}, "timing", "XCD.CU"},
		{RecordOptions{Cycles: "9:3"}, "timing", "empty"},
		{RecordOptions{Cycles: "5"}, "timing", "FROM:TO"},
		{RecordOptions{Cycles: "9000000:"}, "timing", "ended at cycle"},
		{RecordOptions{LimitMB: -1}, "timing", "--record-limit-mb"},
		{RecordOptions{Kernel: 1}, "timing", "kernels 0 to 0"},
		{RecordOptions{Kernel: -1}, "timing", "kernels 0 to 0"},
		{RecordOptions{}, "functional", "functional"},
	} {
		o := oneCU()
		o.Mode, o.Record = c.mode, &c.ask
		_, err := Run(o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one about %q", c.ask, err, c.want)
		}
	}
	o := RunOptions{Kernel: "gemm", Arch: "mi355x", M: 8192, N: 8192, K: 8192, Mode: "timing", Threads: 1, Record: &RecordOptions{CUs: "all", LimitMB: 16}}
	begin := time.Now()
	if _, err := Run(o); err == nil || !strings.Contains(err.Error(), "takes about") {
		t.Errorf("a recording of the whole chip in 16 MB: %v", err)
	}
	// The pilots that guess the clock take 8 s; building the job, a tenth of one.
	if d := time.Since(begin); d > 4*time.Second {
		t.Errorf("refused after %v: something has been run", d)
	}
	// A limit that is only met on the way stops the run.
	o = small("mi355x")
	o.Record = &RecordOptions{CUs: "all", Cycles: "0:1000000", LimitMB: 1}
	o.K = 8192
	if _, err := Run(o); err == nil || !strings.Contains(err.Error(), "passed the 1 MB") {
		t.Errorf("a recording beyond its limit: %v", err)
	}
}

// TestRunFile: what is written is read back, and damage is told.
func TestRunFile(t *testing.T) {
	rec := record(t, oneCU(), "0.0", "")
	var file, again bytes.Buffer
	if err := timeline.Write(&file, rec); err != nil {
		t.Fatal(err)
	}
	if err := timeline.Write(&again, record(t, oneCU(), "0.0", "")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Error("the same run gives another file")
	}
	got, err := timeline.Read(bytes.NewReader(file.Bytes()), "x", timeline.MaxFileBytes)
	if err != nil {
		t.Fatal(err)
	}
	var back bytes.Buffer
	if err := timeline.Write(&back, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Bytes(), file.Bytes()) {
		t.Error("what was read is not what was written")
	}
	b := file.Bytes()
	flip := func(i int) []byte { c := bytes.Clone(b); c[i] ^= 0x40; return c }
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "is empty"},
		{"text", []byte("{\"version\": 1}"), "not a recorded run"},
		{"header", b[:12], "truncated"},
		{"magic", b[:5], "truncated"},
		{"half", b[:len(b)/2], "truncated"},
		{"last byte", b[:len(b)-1], "truncated"},
		{"version", flip(len("\x89WHISKRUN\r\n")), "version 65"},
		{"size", flip(len("\x89WHISKRUN\r\n") + 4 + 5), "MB of memory"},
		{"bit", flip(len(b) / 2), "damaged"},
	} {
		if _, err := timeline.Read(bytes.NewReader(c.b), "run.whisker", timeline.MaxFileBytes); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "run.whisker") {
			t.Errorf("%s: error %v, want one about %q", c.name, err, c.want)
		}
	}
}
