package plots

import (
	"fmt"
	"math"

	"github.com/whisker-sim/whisker/report"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// mostBars is how many stacked bars fit beside each other.
const mostBars = 96

// stalls draws a bar a point: its cycles, shared out over what waves did.
func stalls(points []Point, _ Options) (*figure, error) {
	if len(points) > mostBars {
		return nil, fmt.Errorf("the plot would have %d bars; %d are the most: narrow the points with --only", len(points), mostBars)
	}
	wide := vg.Length(max(7, min(18, 3.5+0.45*float64(len(points))))) * vg.Inch
	// Bars take two thirds of their places; the legend takes the place of a third as many bars.
	width := min(vg.Points(40), (wide-1.5*vg.Inch)/vg.Length(1.35*float64(len(points))+1)*0.66)
	p := newPlot("Where the cycles go", "", "cycles")
	var below *plotter.BarChart
	names := make([]string, len(points))
	for i := range points {
		names[i] = points[i].Label
	}
	add := func(name string, share func(*report.Run) int64, at int) error {
		values := make(plotter.Values, len(points))
		sum := 0.0
		for i := range points {
			r := points[i].Run
			values[i] = float64(r.Cycles) * report.Ratio(float64(share(r)), float64(r.WaveCycles))
			sum += values[i]
		}
		if sum == 0 {
			return nil
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = colour(at), 0
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		p.Legend.Add(name, bars)
		return nil
	}
	if err := add("issued", func(r *report.Run) int64 { return r.Issued.Sum() }, 0); err != nil {
		return nil, err
	}
	for i, reason := range report.StallReasons {
		if err := add(reason.Name, func(r *report.Run) int64 { return r.Stalls.Get(reason.Name) }, i+1); err != nil {
			return nil, err
		}
	}
	if below == nil {
		return nil, fmt.Errorf("the points have no wave-cycles: stalls are known of runs in timing or full mode")
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = math.Pi / 4
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = -1, -0.5
	p.X.Tick.Label.Font.Size = vg.Points(8)
	p.Legend.Top, p.Legend.Left = true, false
	p.Legend.XOffs = vg.Points(-4)
	p.X.Min, p.X.Max = -0.7, 1.32*float64(len(points)) // the legend stands beside the bars
	return &figure{p, wide, 6.5 * vg.Inch}, nil
}
