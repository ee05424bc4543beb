package plots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/report"
)

// made makes points on two axes and two machines' worth of figures.
func made(t *testing.T) []Point {
	t.Helper()
	var points []Point
	for i, lds := range []string{"65536", "131072", "262144"} {
		for k, schedule := range []string{"pingpong8", "interleave4"} {
			r := &report.Run{Kernel: "gemm", Cycles: int64(1000 * (i + 1)), ClockMHz: 1000, FLOPs: 1e9, PeakTFLOPSAtClock: 100, WaveCycles: 100,
				Machine: report.Machine{Name: "m", XCDs: 8}, Issued: report.NewCounts(report.IssueClasses), Stalls: report.NewCounts(report.StallReasons)}
			if err := json.Unmarshal([]byte(`{"l2":{"channels":16,"read_bytes_per_cycle":64},"llc":{"gbs":14000},"hbm":{"gbs":8000}}`), &r.Machine.Resolved); err != nil {
				t.Fatal(err)
			}
			if err := r.Issued.Add("mfma", 60); err != nil {
				t.Fatal(err)
			}
			if err := r.Stalls.Add("barrier", 40); err != nil {
				t.Fatal(err)
			}
			r.L2.Bytes, r.LLC.Bytes, r.HBM.Bytes = 1e8, 1e7, int64(k)*1e6
			r.Derive()
			points = append(points, Point{Label: lds + " " + schedule, Axes: []Setting{{"lds.bytes", lds}, {"schedule", schedule}}, Run: r})
		}
	}
	return points
}

// Every plot is a picture in both formats, the same bytes each time, and its
// SVG shows the words that a reader looks for.
func TestPlots(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{Kind: "roofline"}, []string{"arithmetic intensity", "TFLOPS", "HBM 8.0 TB/s", "LLC 14.0 TB/s", "L2 8.2 TB/s", "HBM traffic"}},
		{Options{Kind: "metric"}, []string{"tflops against lds.bytes", "schedule=pingpong8", "schedule=interleave4", "262144"}},
		{Options{Kind: "metric", X: "schedule", By: "lds.bytes", Metric: "cycles"}, []string{"cycles against schedule", "lds.bytes=65536", "pingpong8"}},
		{Options{Kind: "stalls"}, []string{"issued", "barrier", "262144 interleave4"}},
		{Options{Kind: "heatmap", Metric: "cycles"}, []string{"cycles (cycles)", "pingpong8", "3000"}},
		{Options{Kind: "heatmap", X: "schedule", Metric: "cycles"}, []string{"schedule", "lds.bytes"}},
	} {
		var pictures [2]bytes.Buffer
		for i := range pictures {
			if err := Draw(&pictures[i], made(t), c.o, "svg"); err != nil {
				t.Fatalf("%+v: %v", c.o, err)
			}
		}
		if !bytes.Equal(pictures[0].Bytes(), pictures[1].Bytes()) {
			t.Errorf("%+v: two pictures differ", c.o)
		}
		for _, w := range c.want {
			if !strings.Contains(pictures[0].String(), w) {
				t.Errorf("%+v: the picture does not say %q", c.o, w)
			}
		}
		var raster bytes.Buffer
		if err := Draw(&raster, made(t), c.o, "png"); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&raster)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		b := img.Bounds()
		for y := b.Min.Y; y < b.Max.Y; y += 3 {
			for x := b.Min.X; x < b.Max.X; x += 3 {
				seen[fmt.Sprint(img.At(x, y))] = true
			}
		}
		if b.Dx() < 400 || b.Dy() < 300 || len(seen) < 4 {
			t.Errorf("%+v: a picture of %v with %d colours", c.o, b, len(seen))
		}
	}
}

func TestPlotsRefuse(t *testing.T) {
	points := made(t)
	noFlops := made(t)[:1]
	noFlops[0].Run.FLOPs = 0
	further := append(made(t), made(t)...)
	for _, c := range []struct {
		points []Point
		o      Options
		format string
		want   string
	}{
		{nil, Options{Kind: "stalls"}, "png", "no finished point"},
		{points, Options{Kind: "pie"}, "png", "choose roofline"},
		{points, Options{Kind: "stalls"}, "gif", "png or svg"},
		{points, Options{Kind: "metric", X: "m"}, "png", "no axis \"m\"; it has lds.bytes, schedule"},
		{points, Options{Kind: "metric", By: "m"}, "png", "--by"},
		{points, Options{Kind: "metric", Metric: "cycels"}, "png", "no figure"},
		{points, Options{Kind: "metric", X: "schedule", By: "schedule"}, "png", "share one place"},
		{points, Options{Kind: "heatmap", X: "schedule", Y: "schedule"}, "png", "two axes"},
		{further, Options{Kind: "heatmap"}, "png", "--only"},
		{noFlops, Options{Kind: "roofline"}, "png", "flops"},
	} {
		err := Draw(new(bytes.Buffer), c.points, c.o, c.format)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// The roofs are the machine's: peak, and bandwidth where the kernel is below
// the ridge.
func TestRoof(t *testing.T) {
	r := roofOf(made(t)[0].Run)
	if r.peak != 100 || math.Abs(r.level[0].tbs-8.192) > 1e-9 || r.level[1].tbs != 14 || r.level[2].tbs != 8 {
		t.Errorf("%+v", r)
	}
}

func TestRoundTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{{0, 1, "0 0.2 0.4 0.6 0.8 1"}, {0, 26000, "0 5000 10000 15000 20000 25000"}, {-3, 3, "-3 -2 -1 0 1 2 3"}, {990, 1010, "990 995 1000 1005 1010"}} {
		var got []string
		for _, tick := range (round{}).Ticks(c.lo, c.hi) {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%g to %g: %v, want %s", c.lo, c.hi, got, c.want)
		}
	}
}
