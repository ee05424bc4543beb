package timeline

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/whisker-sim/whisker/report"
)

func segments(l *Lane, interval int) (out []Segment) {
	l.EachSegment(interval, func(s Segment) bool { out = append(out, s); return true })
	return out
}

// TestSegmentsRoundTrip: any sequence of issues and stalls, with jumps of
// instruction and gaps of time, is read as it was written.
func TestSegmentsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var e laneEncoder
		var want []Segment
		at, inst := int64(r.IntN(1000)), int32(0)
		for range 300 {
			if r.IntN(20) == 0 {
				at += int64(r.IntN(1 << r.IntN(30)))
			}
			inst += int32(r.IntN(40) - 18)
			if r.IntN(30) == 0 {
				inst = int32(r.IntN(1 << 20))
			}
			inst = max(inst, 0)
			s := Segment{From: at, To: at + 4, Kind: Kind(r.IntN(len(report.StallReasons) + 1)), Inst: inst}
			if s.Kind != Issue {
				s.To = at + 1 + int64(r.IntN(1<<r.IntN(20)))
			}
			e.segment(s.From, s.To, 4, s.Kind, s.Inst)
			want = append(want, s)
			at = s.To
		}
		l := Lane{Segments: e.buf}
		if d := cmp.Diff(want, segments(&l, 4)); d != "" {
			t.Fatal(d)
		}
	}
}

// FuzzSegments: bytes of any kind end without a panic.
func FuzzSegments(f *testing.F) {
	f.Add([]byte{0x80, 0x81, 4, 15, 3, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		l := Lane{Segments: b, Memory: b}
		l.EachSegment(4, func(Segment) bool { return true })
		l.EachMemoryOp(func(MemoryOp) {})
		c := CU{Banks: b, Barriers: b}
		c.EachBankUse(func(BankUse) {})
		c.EachRelease(func(Release) {})
	})
}

// FuzzRead: a file of any bytes is refused or read, never a panic.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, sample()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(fileMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := Read(bytes.NewReader(data), "x", 1<<20); err == nil {
			for i := range r.CUs {
				for j := range r.CUs[i].Lanes {
					r.CUs[i].Lanes[j].Flows(r)
					r.CUs[i].Lanes[j].EachExecution(r.Interval, func(int, *Execution) {})
				}
			}
		}
	})
}

// sample is a wave that loads twice, waits for the first, then for both, and ends
// at a barrier that another wave released.
func sample() *Recording {
	insts := []Inst{
		{PC: 0, Text: "load", Class: "vmem", WaitVM: -1, WaitLGKM: -1, Target: -1},
		{PC: 8, Text: "load", Class: "vmem", WaitVM: -1, WaitLGKM: -1, Target: -1},
		{PC: 16, Text: "wait 1", Class: "internal", WaitVM: 1, WaitLGKM: 15, Target: -1},
		{PC: 20, Text: "wait 0", Class: "internal", WaitVM: 0, WaitLGKM: 15, Target: -1},
		{PC: 24, Text: "s_barrier", Class: "internal", WaitVM: -1, WaitLGKM: -1, Barrier: true, Target: -1},
	}
	w, err := ParseWindow("0.0", "")
	if err != nil {
		panic(err)
	}
	b := NewBuilder(0, 0, 1, 2, 4, w, &Budget{Limit: 1 << 20})
	vm := StallKind(0)
	bar := StallKind(2)
	b.Wave(100, 0, 0, 0)
	b.Wave(100, 1, 0, 1)
	b.Segment(100, 104, 0, Issue, 0)
	b.MemoryIssue(100, 0, false, 0, 0)
	b.Segment(104, 108, 0, Issue, 1)
	b.MemoryIssue(104, 0, false, 1, 1)
	b.Segment(108, 300, 0, vm, 2)
	b.MemoryDone(298, 0, false, 0)
	b.Segment(300, 304, 0, Issue, 2)
	b.Bank(310, 8, 0, true, 1)
	b.MemoryDone(390, 0, false, 1)
	b.Segment(304, 400, 0, vm, 3)
	b.Segment(400, 404, 0, Issue, 3)
	b.Segment(404, 408, 0, Issue, 4)
	b.Segment(408, 500, 0, bar, 4)
	b.Segment(100, 488, 1, vm, 4)
	b.Segment(488, 492, 1, Issue, 4)
	b.Release(488, 496, 1, 0)
	b.Ended(500, 0)
	b.Ended(500, 1)
	return &Recording{Run: &report.Run{Kernel: "sample"}, Window: w, Interval: 4, SIMDs: 1, Slots: 2, End: 500, Insts: insts, CUs: []CU{b.Done()}, Groups: make([]Group, 1)}
}

func TestFlows(t *testing.T) {
	r := sample()
	got := r.CUs[0].Lanes[0].Flows(r)
	want := []Flow{
		{MemoryOp{Issued: 100, Done: 298, Inst: 0}, 300, 2},
		{MemoryOp{Issued: 104, Done: 390, Inst: 1}, 400, 3},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestExecutions(t *testing.T) {
	r := sample()
	type row struct{ From, Issue, To int64 }
	var got []row
	r.CUs[0].Lanes[0].EachExecution(4, func(wave int, e *Execution) {
		if wave != 0 {
			t.Errorf("wave %d", wave)
		}
		got = append(got, row{e.From, e.Issue, e.To})
	})
	want := []row{{100, 100, 104}, {104, 104, 108}, {108, 300, 304}, {304, 400, 404}, {404, 404, 500}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestCUEvents(t *testing.T) {
	c := &sample().CUs[0]
	var uses []BankUse
	c.EachBankUse(func(u BankUse) { uses = append(uses, u) })
	if d := cmp.Diff([]BankUse{{310, 318, 0, true, 1}}, uses); d != "" {
		t.Error(d)
	}
	var rel []Release
	c.EachRelease(func(x Release) { rel = append(rel, x) })
	if d := cmp.Diff([]Release{{488, 496, 1, 0}}, rel); d != "" {
		t.Error(d)
	}
	if c.Lane(0, 1) == nil || c.Lane(0, 2) != nil || c.Name() != "0.0" {
		t.Error("lanes or name are wrong")
	}
}

// TestCut: a cut of a recording is what recording the window would have left.
func TestCut(t *testing.T) {
	r := sample()
	w, err := ParseWindow("all", "200:402")
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Cut(w)
	if err != nil {
		t.Fatal(err)
	}
	want := []Segment{{200, 300, StallKind(0), 2}, {300, 304, Issue, 2}, {304, 400, StallKind(0), 3}, {400, 404, Issue, 3}}
	if d := cmp.Diff(want, segments(&c.CUs[0].Lanes[0], 4)); d != "" {
		t.Error(d)
	}
	if len(c.CUs[0].Memory()) != 0 || c.End != 402 {
		t.Errorf("%d operations, end %d", len(c.CUs[0].Memory()), c.End)
	}
	for _, x := range []struct{ cus, cycles, want string }{{"all", "500:", "outside"}, {"1.0", "", "outside"}, {"0.0", "0:50", ""}} {
		w, err := ParseWindow(x.cus, x.cycles)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Cut(w)
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %s: %v", x.cus, x.cycles, err)
		}
	}
}

// Memory is all operations of a CU.
func (c *CU) Memory() (out []MemoryOp) {
	for i := range c.Lanes {
		c.Lanes[i].EachMemoryOp(func(m MemoryOp) { out = append(out, m) })
	}
	return out
}

func TestParseWindow(t *testing.T) {
	for _, c := range []struct {
		cus, cycles string
		in, out     [2]int
		from, to    int64
	}{
		{"0.0", "", [2]int{0, 0}, [2]int{0, 1}, 0, math.MaxInt64},
		{"0.0-3,1.*", "10:20", [2]int{1, 77}, [2]int{0, 4}, 10, 20},
		{"*.2", "1_000:", [2]int{5, 2}, [2]int{5, 3}, 1000, math.MaxInt64},
		{"all", ":99", [2]int{7, 7}, [2]int{-1, 0}, 0, 99},
	} {
		w, err := ParseWindow(c.cus, c.cycles)
		if err != nil {
			t.Fatal(err)
		}
		if !w.Has(c.in[0], c.in[1]) || w.Has(c.out[0], c.out[1]) || w.From != c.from || w.To != c.to {
			t.Errorf("%s %s: %+v", c.cus, c.cycles, w)
		}
	}
	for _, c := range [][2]string{{"", ""}, {"0", ""}, {"0.x", ""}, {"3-1.0", ""}, {"0.-1", ""}, {"0.0", "1"}, {"0.0", "a:b"}, {"0.0", "5:5"}, {"0.0", "-3:5"}} {
		if _, err := ParseWindow(c[0], c[1]); err == nil {
			t.Errorf("%q %q is a window", c[0], c[1])
		}
	}
}

// TestBudget: a builder that passes the limit says so once and keeps no more.
func TestBudget(t *testing.T) {
	calls := 0
	budget := &Budget{Limit: 100_000, Over: func() { calls++ }}
	w, _ := ParseWindow("0.0", "")
	b := NewBuilder(0, 0, 1, 1, 4, w, budget)
	b.Wave(0, 0, 0, 0)
	for i := range int64(500_000) {
		b.Segment(4*i, 4*i+4, 0, Issue, int32(i%64))
	}
	b.Ended(2_000_000, 0)
	if got := len(b.Done().Lanes[0].Segments); calls != 1 || !budget.Full() || got > 130_000 {
		t.Errorf("%d calls, %d bytes", calls, got)
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := WriteFile(path, sample()); err != nil {
		t.Fatal(err)
	}
	r, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample(), r, cmpopts.IgnoreUnexported(Window{}), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if _, err := ReadFile(dir); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory is read: %v", err)
	}
	if err := WriteFile(filepath.Join(dir, "no", "f"), sample()); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("a place that does not exist is written to: %v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || !slices.Contains([]string{"f"}, files[0].Name()) {
		t.Errorf("left behind: %v", files)
	}
}

// TestCheck: a recording whose parts contradict each other is refused.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(r *Recording){
		"instruction":  func(r *Recording) { r.Insts = r.Insts[:2] },
		"interval":     func(r *Recording) { r.Interval = 0 },
		"workgroup":    func(r *Recording) { r.Groups = nil },
		"slot":         func(r *Recording) { r.Slots = 1 },
		"window":       func(r *Recording) { r.Window.CUs = "x" },
		"cut segments": func(r *Recording) { l := &r.CUs[0].Lanes[0]; l.Segments = append(l.Segments, 1) },
		"cut memory":   func(r *Recording) { l := &r.CUs[0].Lanes[0]; l.Memory = l.Memory[:len(l.Memory)-1] },
		"cut banks":    func(r *Recording) { r.CUs[0].Banks = r.CUs[0].Banks[:1] },
		"access":       func(r *Recording) { r.LDS = []LDSAccess{{Inst: 1}} },
	} {
		r := sample()
		change(r)
		var b bytes.Buffer
		if err := Write(&b, r); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&b, "run", MaxFileBytes); err == nil || !strings.Contains(err.Error(), "run is damaged") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
