package results

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/whisker-sim/whisker/report"
)

// outcome makes a point with figures, settings and an instruction table.
func outcome(t *testing.T, point int, schedule string, cycles int64) *Record {
	t.Helper()
	r := &Record{Point: point, ConfigHash: "c", Settings: []Setting{{"kernel", "gemm", false}, {"m", "256", true}, {"schedule", schedule, true}}}
	run := &report.Run{Version: "0.1.0", Kernel: "gemm", KernelHash: "k" + schedule, Mode: "timing", Seed: 1<<64 - 1, Cycles: cycles, ClockMHz: 1500.25,
		FLOPs: 1e9, Machine: report.Machine{Name: "mi355x", CPU: "gfx950", Hash: "h", Resolved: report.Tree{"lds": report.Tree{"bytes": 65536}}},
		Issued: report.NewCounts(report.IssueClasses), Stalls: report.NewCounts(report.StallReasons), Counters: report.NewCounts(report.CounterNames),
		Instructions: []report.Instruction{{PC: 4, Text: "s_barrier", Hits: 8, IssueCycles: 32, StallCycles: 5, Stalls: report.Counts{{Name: "barrier", Value: 5}}}},
		Host:         &report.Host{WallSeconds: float64(point)}}
	run.Derive()
	if err := r.SetRun(run); err != nil {
		t.Fatal(err)
	}
	return r
}

// file makes a results file of three points, stored in the given order.
func file(t *testing.T, order ...int) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.sqlite")
	f, err := Create(path, &Study{Name: "s", Fingerprint: "f", Text: "{}", Version: "0.1.0", Points: 3, Axes: []Axis{{"m", []string{"256"}}, {"schedule", []string{"a", "b", "c"}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	records := []*Record{outcome(t, 0, "a", 1000), outcome(t, 1, "b", 1200), {Point: 2, ConfigHash: "c", Status: Failed, Message: "does not fit", Kernel: "gemm", Machine: "mi355x",
		Version: "0.1.0", Seed: 1, Settings: []Setting{{"kernel", "gemm", false}, {"m", "256", true}, {"schedule", "c", true}}}}
	for _, p := range order {
		if err := f.Put(records[p]); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestRoundTrip(t *testing.T) {
	f := file(t, 2, 0, 1, 0)
	for p, want := range []*Record{outcome(t, 0, "a", 1000), outcome(t, 1, "b", 1200)} {
		got, err := f.Get(p)
		if err != nil {
			t.Fatal(err)
		}
		want.Host = nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("point %d: %s", p, d)
		}
		run, err := got.GetRun()
		if err != nil || run.Seed != 1<<64-1 || len(run.Instructions) != 1 || run.Host != nil {
			t.Errorf("point %d: %+v, %v", p, run, err)
		}
	}
	failed, err := f.Get(2)
	if err != nil || failed.Status != Failed || failed.Message != "does not fit" {
		t.Errorf("%+v, %v", failed, err)
	}
	if r, err := f.Get(3); r != nil || err != nil {
		t.Errorf("a point that is not there: %v, %v", r, err)
	}
}

// The finished file's bytes do not depend on the order in which points came.
func TestFinishIsCanonical(t *testing.T) {
	var want []byte
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 1, 2, 0, 1}} {
		f := file(t, order...)
		if err := f.Finish(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f.Path())
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			t.Errorf("order %v gives other bytes", order)
		}
		again, err := Open(f.Path(), false)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := again.Study(); err != nil || !s.Complete || s.Points != 3 || len(s.Axes) != 2 {
			t.Errorf("%+v, %v", s, err)
		}
		again.Close()
	}
}

func TestLongCSV(t *testing.T) {
	var b bytes.Buffer
	if err := file(t, 0, 1, 2).WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rows[0], ","); got != "run,component,metric,unit,value,m,schedule" {
		t.Error(got)
	}
	seen := map[string]bool{}
	for _, r := range rows[1:] {
		seen[strings.Join(r, ",")] = true
	}
	for _, want := range []string{"1,run,cycles,cycles,1200,256,b", "2,point,failed,,1,256,c", "0,point,failed,,0,256,a", "0,run,clock_mhz,MHz,1500.25,256,a",
		"0,stalls,barrier,wave-cycles,0,256,a"} {
		if !seen[want] {
			t.Errorf("no row %s", want)
		}
	}
	for row := range seen {
		if strings.Contains(row, "wall_seconds") || strings.Contains(row, "resolved") {
			t.Errorf("row %s does not belong to the results", row)
		}
	}
}

// The Parquet file has the rows of the CSV, with numbers as numbers.
func TestLongParquet(t *testing.T) {
	f := file(t, 0, 1, 2)
	var b bytes.Buffer
	if err := f.WriteParquet(&b); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Run       int64   `parquet:"run"`
		Component string  `parquet:"component"`
		Metric    string  `parquet:"metric"`
		Unit      string  `parquet:"unit"`
		Value     float64 `parquet:"value"`
		M         int64   `parquet:"m"`
		Schedule  string  `parquet:"schedule"`
	}
	got, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var want []row
	if err := f.Long(func(r Row) error {
		want = append(want, row{int64(r.Run), r.Component, r.Metric, r.Unit, r.Value.Value, 256, r.Axes[1]})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" || len(want) < 100 {
		t.Errorf("%d rows: %s", len(want), d)
	}
}

func TestTable(t *testing.T) {
	f := file(t, 0, 2)
	var b bytes.Buffer
	if err := f.WriteTable(&b, []string{"cycles", "stalls.barrier"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"run    m  schedule  cycles  stalls.barrier  status", "a    1000", "failed: does not fit", "1 of 3 points are not there yet"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table does not say %q:\n%s", want, b.String())
		}
	}
	if err := f.WriteTable(&b, []string{"cycle"}); err == nil {
		t.Error("an unknown figure was shown")
	}
}

// What is no results file, or has no such point, is refused in a sentence.
func TestRefusals(t *testing.T) {
	f := file(t, 0, 2)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other, err := connect(write("other.sqlite", ""), "rwc")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec("CREATE TABLE t (x)"); err != nil {
		t.Fatal(err)
	}
	other.Close()
	for _, c := range []struct{ spec, want string }{
		{f.Path() + "#1", "has not been run yet"},
		{f.Path() + "#2", "failed: does not fit"},
		{f.Path() + "#7", "its points are 0 to 2"},
		{f.Path() + "#-1", "its points are 0 to 2"},
		{f.Path(), "say which of its points"},
		{filepath.Join(dir, "other.sqlite") + "#0", "no results file of whisker sweep"},
		{dir + "/none#0", "no such results file"},
		{dir + "/none.json", "cannot be opened"},
		{write("a.json", "{"), "is no run"},
		{write("b.json", "{}"), "is JSON, but no run"},
		{write("c.json", "[1]"), "is no run"},
	} {
		_, err := LoadRun(c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.spec, err, c.want)
			continue
		}
		if _, ours := errors.AsType[*Error](err); !ours {
			t.Errorf("%s: %v is not the user's to mend", c.spec, err)
		}
	}
	if run, err := LoadRun(f.Path() + "#0"); err != nil || run.Cycles != 1000 {
		t.Error(run, err)
	}
}

// A name with characters that mean something in a URL is a file name.
func TestOddNames(t *testing.T) {
	for _, name := range []string{"a b.sqlite", "a?b.sqlite", "a%20b.sqlite", "a#b.sqlite", "ä.sqlite"} {
		path := filepath.Join(t.TempDir(), name)
		f, err := Create(path, &Study{Points: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.Close()
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}
