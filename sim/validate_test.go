package sim

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The statistics of points with known ones.
func TestSummarize(t *testing.T) {
	point := func(name, unit string, measured, simulated float64, kind string) ValidatePoint {
		p := ValidatePoint{Set: "units", Name: name, Unit: unit, Measured: measured, Kind: kind}
		p.put(simulated, HowUnit)
		return p
	}
	points := []ValidatePoint{
		point("a", "x", 10, 11, KindPredicted), point("b", "x", 20, 20, KindCalibrated), point("c", "x", 30, 24, KindPredicted), point("d", "x", 40, 44, KindPredicted),
		point("zero", "y", 0, 0, KindPredicted), point("not zero", "y", 0, 3, KindPredicted),
		{Set: "units", Name: "left out", Unit: "x", Measured: 1, Kind: KindPredicted, Note: "why"},
	}
	s := Summarize(points)
	if len(s) != 1 {
		t.Fatalf("%d sets, want one", len(s))
	}
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-12 {
			t.Errorf("%s is %v, want %g", what, got, want)
		}
	}
	near("median", s[0].Median, 0.1)
	near("mean", s[0].Mean, (0.1+0+0.2+0.1+0+1)/6)
	near("median of predictions", s[0].PredictedMedian, 0.1)
	near("worst", s[0].Worst, 1)
	near("rank correlation", s[0].Spearman, 1)
	if s[0].Points != 7 || s[0].Covered != 6 || s[0].WorstPoint != "not zero" || !slices.Equal(s[0].Calibrated, []string{"b"}) || len(s[0].Predicted) != 5 {
		t.Errorf("%+v", s[0])
	}
}

func TestSpearman(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
		none bool
	}{
		{"same order", []float64{1, 2, 3, 4}, []float64{10, 20, 25, 90}, 1, false},
		{"reversed", []float64{1, 2, 3}, []float64{3, 2, 1}, -1, false},
		{"ties", []float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}, 0.9486832980505138, false},
		{"two points", []float64{1, 2}, []float64{1, 2}, 0, true},
		{"all equal", []float64{1, 1, 1}, []float64{1, 2, 3}, 0, true},
	} {
		got := spearman(c.a, c.b)
		if (got == nil) != c.none || got != nil && math.Abs(*got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %g", c.name, got, c.want)
		}
	}
}

// Every set has points with names of their own, and every point that is not
// covered says why.
func TestValidationSets(t *testing.T) {
	for _, s := range validationSets {
		jobs, err := s.jobs()
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		names := map[string]bool{}
		for _, j := range jobs {
			for _, p := range j.points {
				if names[p.Name] {
					t.Errorf("%s: two points %q", s.name, p.Name)
				}
				names[p.Name] = true
				if p.Kind != KindCalibrated && p.Kind != KindPredicted {
					t.Errorf("%s: %s is of kind %q", s.name, p.Name, p.Kind)
				}
				if j.run == nil && p.Note == "" {
					t.Errorf("%s: %s is not covered and does not say why", s.name, p.Name)
				}
			}
		}
		if len(names) == 0 {
			t.Errorf("%s has no points", s.name)
		}
	}
}

// One thread and several give the same bytes, and a machine that is made worse is
// found out by the stored points.
func TestValidateRegression(t *testing.T) {
	run := func(threads int, set ...string) (*Validation, string) {
		t.Helper()
		points, _, err := Validate(ValidateOptions{Short: true, Only: []string{"units"}, Threads: threads, Set: set})
		if err != nil {
			t.Fatal(err)
		}
		v := NewValidation(true, points)
		var b strings.Builder
		if err := v.Write(&b, "json"); err != nil {
			t.Fatal(err)
		}
		return v, b.String()
	}
	one, text := run(1)
	if _, again := run(3); again != text {
		t.Error("three threads give other bytes than one")
	}
	file := filepath.Join(t.TempDir(), "points.csv")
	if err := StorePoints(file, one.Points); err != nil {
		t.Fatal(err)
	}
	stored, err := LoadPoints(file)
	if err != nil {
		t.Fatal(err)
	}
	if one.Regress(stored, 0.005, nil); len(one.Regressions) != 0 {
		t.Errorf("the same points are worse than themselves: %v", one.Regressions)
	}
	worse, _ := run(1, "lds.latency_cycles=90")
	if worse.Regress(stored, 0.005, nil); !slices.ContainsFunc(worse.Regressions, func(s string) bool { return strings.Contains(s, "dependent ds_read_b32 is off by +6") }) {
		t.Errorf("an LDS latency of 90 cycles: %v", worse.Regressions)
	}
	gone := NewValidation(true, one.Points[1:])
	if gone.Regress(stored, 0.005, nil); len(gone.Regressions) != 1 || !strings.Contains(gone.Regressions[0], "no longer a point") {
		t.Errorf("a point that is gone: %v", gone.Regressions)
	}
	if gone = NewValidation(true, nil); len(gone.Regressions) != 0 {
		t.Error("no points are regressions")
	}
	if gone.Regress(stored, 0.005, []string{"loops"}); len(gone.Regressions) != 0 {
		t.Errorf("sets that were not run are regressions: %v", gone.Regressions)
	}
}

func TestLoadPointsRefuses(t *testing.T) {
	head := strings.Join(pointHeader, ",") + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the header must be"},
		{"another file", "a,b,c,d,e,f,g,h,i\n", "the header must be"},
		{"no number", head + "s,p,u,ten,1,0,predicted,unit,\n", `line 2: measured: "ten" is no number`},
		{"NaN", head + "s,p,u,1,NaN,0,predicted,unit,\n", `line 2: simulated: "NaN" is no number`},
		{"half", head + "s,p,u,1,2,,predicted,unit,\n", "a simulated value without its error"},
		{"short row", head + "s,p\n", "wrong number of fields"},
	} {
		if _, err := parsePoints([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := LoadPoints(filepath.Join(t.TempDir(), "absent.csv")); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("an absent file: %v", err)
	}
}

// README shows what the stored points say, and nothing else of that file changes.
func TestReadmeShowsStoredPoints(t *testing.T) {
	points, err := LoadPoints("tables/validate.csv")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := replaceBlock(string(data), readmeBlock(Summarize(points)))
	if err != nil {
		t.Fatal(err)
	}
	if want != string(data) {
		t.Error("README's table of agreement is not that of sim/tables/validate.csv: go run ./cmd/whisker validate --from sim/tables/validate.csv --readme README.md")
	}
	if _, err := replaceBlock("no markers", ""); err == nil {
		t.Error("a file without markers is accepted")
	}
}

// What has ended is kept a line a job, and taken from there by the same program
// with the same settings only; a line that a kill has cut is run again.
func TestValidateGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "points.csv.part")
	ran := 0
	o := ValidateOptions{Short: true, Only: []string{"units"}, Threads: 1, Keep: path, Progress: func(int, int, string, time.Duration) { ran++ }}
	first, times, err := Validate(o)
	if err != nil || ran == 0 || len(times) != 1 || times[0].Set != "units" {
		t.Fatalf("%d ran, %v: %v", ran, times, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := ran
	if lines := bytes.Count(data, []byte("\n")); lines != all {
		t.Fatalf("%d lines for %d jobs", lines, all)
	}
	if err := os.WriteFile(path, data[:len(data)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	ran = 0
	again, _, err := Validate(o)
	if err != nil || ran != 1 {
		t.Fatalf("%d jobs ran for the one that was cut: %v", ran, err)
	}
	if d := cmp.Diff(first, again); d != "" {
		t.Errorf("going on gives other points:\n%s", d)
	}
	o.Set, ran = []string{"lds.latency_cycles=60"}, 0
	if _, _, err := Validate(o); err != nil || ran != all {
		t.Errorf("on another machine %d of %d jobs ran: %v", ran, all, err)
	}
}

// Rows that wait for memory in every K tile are run whole, and begin first; the others
// are sampled. The stored points say the same.
func TestRowsRunWhole(t *testing.T) {
	stored, err := LoadPoints("tables/validate.csv")
	if err != nil {
		t.Fatal(err)
	}
	how := map[string]string{}
	for _, p := range stored {
		how[p.Name] = p.How
	}
	long := map[string]bool{}
	for _, rows := range []func() ([]tableRow, error){table1, table2, table3, kernelTargets} {
		all, err := rows()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range all {
			_, long[row.label] = row.job()
		}
	}
	for label, want := range map[string]string{
		"4P/8C 128x256, 3 stages": HowWhole, "4P/12C 192x256, LDS atomics": HowWhole, "MI325X gemm 8192x8192x8192": HowWhole, "MI355X gemm 4096x4096x4096": HowWhole,
		"0P/8C 192x256, v2": HowSampled, "0P/8C 256x256": HowSampled, "MHA bwd 8-wave": HowSampled,
	} {
		if how[label] != want || long[label] != (want == HowWhole) {
			t.Errorf("%s: stored as %s, begins before the others %v; want it %s", label, how[label], long[label], want)
		}
	}
}
