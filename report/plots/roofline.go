package plots

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// roof is a machine's limits at a kernel's clock.
type roof struct {
	machine string
	peak    float64 // TFLOPS
	level   []bandwidth
}

// bandwidth is what a level of memory carries at most and what it carried, in TB/s.
type bandwidth struct {
	name    string
	tbs     float64
	carried func(*report.Run) float64
}

// roofOf reads a run's limits from the machine that it carries.
func roofOf(r *report.Run) roof {
	leaf := func(path string) float64 {
		var v any = r.Machine.Resolved
		for key := range strings.SplitSeq(path, ".") {
			switch m := v.(type) {
			case report.Tree:
				v = m[key]
			case map[string]any:
				v = m[key]
			default:
				return 0
			}
		}
		switch n := v.(type) {
		case json.Number:
			f, err := n.Float64()
			if err != nil {
				return 0
			}
			return f
		case float64:
			return n
		}
		return 0
	}
	l2 := leaf("l2.channels") * leaf("l2.read_bytes_per_cycle") * float64(r.Machine.XCDs) * r.ClockMHz / 1e6
	return roof{r.Machine.Name, r.PeakTFLOPSAtClock, []bandwidth{
		{"L2", l2, func(r *report.Run) float64 { return r.L2.BandwidthTBs }},
		{"LLC", leaf("llc.gbs") / 1e3, func(r *report.Run) float64 { return r.LLC.BandwidthTBs }},
		{"HBM", leaf("hbm.gbs") / 1e3, func(r *report.Run) float64 { return r.HBM.BandwidthTBs }},
	}}
}

// roofline draws throughput over arithmetic intensity, a mark a point and level
// of memory, under the limits of the machines.
func roofline(points []Point, _ Options) (*figure, error) {
	var roofs []roof
	for i := range points {
		r := points[i].Run
		if r.FLOPs == 0 || r.PeakTFLOPSAtClock == 0 {
			return nil, fmt.Errorf("%s: a roofline needs a kernel that counts flops and uses the matrix pipe; %s does not", points[i].Label, r.Kernel)
		}
		one := roofOf(r)
		same := func(o roof) bool {
			return o.peak == one.peak && slices.EqualFunc(o.level, one.level, func(a, b bandwidth) bool { return a.tbs == b.tbs })
		}
		if !slices.ContainsFunc(roofs, same) {
			roofs = append(roofs, one)
		}
	}
	p := newPlot("Roofline", "arithmetic intensity (flop/byte)", "TFLOPS")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())
	lo, hi, least, err := addMarks(p, points)
	if err != nil {
		return nil, err
	}
	if err := addRoofs(p, roofs, lo, hi); err != nil {
		return nil, err
	}
	p.X.Min, p.X.Max = lo, hi
	// A decade of room below the points is for the legend.
	p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(least))-1), 1.6*p.Y.Max
	p.Legend.Left, p.Legend.Top = true, false
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(8), vg.Points(6)
	return &figure{p, 8 * vg.Inch, 5.5 * vg.Inch}, nil
}

// addMarks puts the points in and gives the range that they take.
func addMarks(p *plot.Plot, points []Point) (lo, hi, least float64, err error) {
	lo, hi, least = 1, 1000, math.Inf(1)
	shapes := []draw.GlyphDrawer{draw.TriangleGlyph{}, draw.SquareGlyph{}, draw.CircleGlyph{}}
	for level := range 3 {
		var xys plotter.XYs
		name := ""
		for i := range points {
			r := points[i].Run
			b := roofOf(r).level[level]
			name = b.name
			// By rates: the bytes of a sample are not of all FLOPs.
			if tbs := b.carried(r); tbs > 0 {
				at := plotter.XY{X: report.Ratio(r.FLOPs, r.KernelTimeUS) / 1e6 / tbs, Y: r.TFLOPS}
				lo, hi, least = min(lo, at.X/2), max(hi, at.X*2), min(least, at.Y)
				xys = append(xys, at)
			}
		}
		if len(xys) == 0 {
			continue
		}
		marks, err := plotter.NewScatter(xys)
		if err != nil {
			return 0, 0, 0, err
		}
		marks.Color, marks.Shape, marks.Radius = colour(level), shapes[level], vg.Points(3.5)
		p.Add(marks)
		p.Legend.Add(name+" traffic", marks)
	}
	return lo, hi, least, nil
}

// addRoofs draws each machine's roofs between two intensities.
func addRoofs(p *plot.Plot, roofs []roof, lo, hi float64) error {
	for i, r := range roofs {
		for level, b := range r.level {
			if b.tbs == 0 {
				continue
			}
			ridge := r.peak / b.tbs
			xys := plotter.XYs{{X: lo, Y: min(r.peak, lo*b.tbs)}}
			if ridge > lo && ridge < hi {
				xys = append(xys, plotter.XY{X: ridge, Y: r.peak})
			}
			xys = append(xys, plotter.XY{X: hi, Y: min(r.peak, hi*b.tbs)})
			curve, err := plotter.NewLine(xys)
			if err != nil {
				return err
			}
			curve.Color, curve.Width = colour(level), vg.Points(1.2)
			if i > 0 {
				curve.Dashes = []vg.Length{vg.Points(5), vg.Points(float64(1 + i))}
			}
			p.Add(curve)
			name := fmt.Sprintf("%s %.1f TB/s", b.name, b.tbs)
			if len(roofs) > 1 {
				name = r.machine + " " + name
			}
			if len(roofs) <= 4 {
				p.Legend.Add(name, curve)
			}
		}
	}
	return nil
}
