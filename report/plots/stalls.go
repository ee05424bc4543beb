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
	addBars := func(at int, name string, cycles func(*report.Run) float64) error {
		values := make(plotter.Values, len(points))
		sum := 0.0
		for i := range points {
			values[i] = cycles(points[i].Run)
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
	// Waves share the cycles until the last of them ends.
	share := func(r *report.Run, waveCycles int64) float64 {
		return float64(r.Cycles-r.WriteBackCycles) * report.Ratio(float64(waveCycles), float64(r.WaveCycles))
	}
	if err := addBars(0, "issued", func(r *report.Run) float64 { return share(r, r.Issued.Sum()) }); err != nil {
		return nil, err
	}
	at := 0
	for i, reason := range report.StallReasons {
		at = i + 1
		if err := addBars(at, reason.Name, func(r *report.Run) float64 { return share(r, r.Stalls.Get(reason.Name)) }); err != nil {
			return nil, err
		}
	}
	if err := addBars(at+1, "L2 write-back", func(r *report.Run) float64 { return float64(r.WriteBackCycles) }); err != nil {
		return nil, err
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
