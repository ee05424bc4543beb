package sim

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/whisker-sim/whisker/report"
)

// Equation 1 with its two constants gives the six bandwidths that the paper
// prints, to the rounding of a printed digit and a bit.
func TestEquation1(t *testing.T) {
	for _, r := range table4Rows {
		if got := equation1(r.l2/100, r.llc/100); math.Abs(got-r.bandwidth) > 0.06 {
			t.Errorf("%s: %.2f TB/s, the paper prints %.1f", r.label, got, r.bandwidth)
		}
	}
}

// The rows of Table 4 carry the keys, the metrics and the kinds that a script
// reads; errors follow from the values.
func TestTable4Rows(t *testing.T) {
	old := reproducers
	defer func() { reproducers = old }()
	reproducers = []reproducer{{"table4", "", func(o ReproduceOptions) (*Reproduction, error) {
		p := &Reproduction{Files: map[string][]byte{}}
		done := map[string]*table4Result{}
		for _, row := range table4Rows {
			r := &report.Run{TFLOPS: row.tflops * 1.1}
			r.L2.HitRate, r.LLC.ReadHitRate = row.l2/100, row.llc/100
			res := row.resultOf(o, r)
			done[row.label] = res
			p.Rows = append(p.Rows, row.rows(res)...)
			picture, err := row.picture(o)
			if err != nil {
				return nil, err
			}
			p.Files[row.file()] = picture
		}
		p.Text = table4Findings(done)
		return p, nil
	}}}
	var out bytes.Buffer
	dir := t.TempDir()
	if err := Reproduce(&out, ReproduceOptions{Table: "table4", Machine: "mi355x", Threads: 1, Out: dir}, "json"); err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 24 {
		t.Fatalf("%d rows, want 24", len(rows))
	}
	kinds := map[string]int{}
	for _, r := range rows {
		for _, key := range []string{"table", "row", "metric", "paper", "simulated", "relative_error", "kind"} {
			if _, ok := r[key]; !ok {
				t.Fatalf("no %s in %v", key, r)
			}
		}
		kinds[r["metric"].(string)+" "+r["kind"].(string)]++
		want := 0.0
		switch r["metric"] {
		case "throughput":
			want = 0.1
		case "bandwidth":
			want = r["relative_error"].(float64)
		}
		if got := r["relative_error"].(float64); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: relative error %g, want %g", r["row"], got, want)
		}
	}
	for k, n := range map[string]int{"L2 hit open": 1, "L2 hit predicted": 5, "LLC hit calibrated": 6, "bandwidth derived": 6, "throughput predicted": 6} {
		if kinds[k] != n {
			t.Errorf("%d rows of %s, want %d", kinds[k], k, n)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "table4.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll(); err != nil || len(lines) != 25 {
		t.Errorf("table4.csv: %d lines, %v", len(lines), err)
	}
	f, err := os.Open(filepath.Join(dir, "table4_14592_contiguous_W8.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
}
