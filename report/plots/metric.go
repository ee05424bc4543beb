package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/whisker-sim/whisker/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// line is one series: the points that differ on the x axis alone.
type line struct {
	name string
	xys  plotter.XYs
}

// metric draws a figure against an axis, a line a combination of the others.
func metric(points []Point, o Options) (*figure, error) {
	x, err := axis(points, o.X, "--x", 0)
	if err != nil {
		return nil, err
	}
	if o.By != "" {
		if _, err := axis(points, o.By, "--by", 0); err != nil {
			return nil, err
		}
	}
	first, err := report.Figure(points[0].Run, o.Metric)
	if err != nil {
		return nil, err
	}
	values, numbers := steps(points, x)
	lines, err := series(points, x, o, values, numbers)
	if err != nil {
		return nil, err
	}
	p := newPlot(o.Metric+" against "+x, x, labelled(first))
	p.Add(plotter.NewGrid())
	if numbers == nil {
		p.NominalX(values...)
	} else {
		p.X.Tick.Marker = at(numbers, values)
		if geometric(numbers) {
			p.X.Scale = plot.LogScale{}
		}
	}
	wide := func() { // the marks at the ends keep off the frame
		switch {
		case numbers == nil:
			p.X.Min, p.X.Max = -0.4, float64(len(values))-0.6
		case geometric(numbers):
			p.X.Min, p.X.Max = p.X.Min/1.15, p.X.Max*1.15
		default:
			edge := max(0.05*(p.X.Max-p.X.Min), 1e-9)
			p.X.Min, p.X.Max = p.X.Min-edge, p.X.Max+edge
		}
	}
	shapes := []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}}
	for i, l := range lines {
		curve, marks, err := plotter.NewLinePoints(l.xys)
		if err != nil {
			return nil, err
		}
		curve.Color, marks.Color = colour(i), colour(i)
		curve.Width = vg.Points(1.5)
		marks.Shape, marks.Radius = shapes[i/len(colours)%len(shapes)], vg.Points(3)
		p.Add(curve, marks)
		if l.name != "" {
			p.Legend.Add(l.name, curve, marks)
		}
	}
	wide()
	p.Legend.Top = true
	p.Y.Min = min(0, p.Y.Min)
	height := 5 * vg.Inch
	if len(lines) > 8 {
		height += vg.Length(len(lines)-8) * vg.Points(11)
	}
	roomForLegend(p, len(lines))
	return &figure{p, 8 * vg.Inch, height}, nil
}

// roomForLegend raises the top of the y axis so that the legend covers no data.
func roomForLegend(p *plot.Plot, lines int) {
	if lines > 1 {
		p.Y.Max += (p.Y.Max - p.Y.Min) * min(0.6, 0.05*float64(lines)+0.05)
	}
}

// series sorts the points into lines.
func series(points []Point, x string, o Options, values []string, numbers []float64) ([]line, error) {
	var lines []line
	for i := range points {
		p := &points[i]
		name := p.besides(x)
		if o.By != "" {
			name = o.By + "=" + p.on(o.By)
		}
		v, err := report.Figure(p.Run, o.Metric)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Label, err)
		}
		at := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
		if at < 0 {
			at, lines = len(lines), append(lines, line{name: name})
		}
		step := slices.Index(values, p.on(x))
		xv := float64(step)
		if numbers != nil {
			xv = numbers[step]
		}
		lines[at].xys = append(lines[at].xys, plotter.XY{X: xv, Y: v.Value})
	}
	for i := range lines {
		xys := lines[i].xys
		slices.SortStableFunc(xys, func(a, b plotter.XY) int { return int(sign(a.X - b.X)) })
		for k := 1; k < len(xys); k++ {
			if xys[k].X == xys[k-1].X {
				return nil, fmt.Errorf("%d points share one place on the line %q: choose other axes with --x and --by, or narrow the points with --only", 2, lines[i].name)
			}
		}
	}
	const most = 64
	if len(lines) > most {
		return nil, fmt.Errorf("the plot would have %d lines; %d are the most: narrow the points with --only", len(lines), most)
	}
	return lines, nil
}

// geometric reports whether numbers grow by factors rather than by steps.
func geometric(n []float64) bool {
	return len(n) > 2 && n[0] > 0 && n[len(n)-1]/n[0] >= 4 && n[1]/n[0] >= 1.3 && n[len(n)-1]/n[len(n)-2] >= 1.3
}

// at marks an axis where the values are.
func at(numbers []float64, values []string) plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(numbers))
	for i := range numbers {
		ticks[i] = plot.Tick{Value: numbers[i], Label: values[i]}
	}
	return ticks
}

// grid is the heat map's cells.
type grid struct {
	nx, ny int
	z      []float64 // NaN where there is no point
}

func (g *grid) Dims() (c, r int)   { return g.nx, g.ny }
func (g *grid) X(c int) float64    { return float64(c) }
func (g *grid) Y(r int) float64    { return float64(r) }
func (g *grid) Z(c, r int) float64 { return g.z[r*g.nx+c] }

// heatmap draws a figure over two axes, with its value in each cell.
func heatmap(points []Point, o Options) (*figure, error) {
	x, err := axis(points, o.X, "--x", 0)
	if err != nil {
		return nil, err
	}
	second := 1
	if names := axisNames(points); o.Y == "" && len(names) > 1 && names[1] == x {
		second = 0
	}
	y, err := axis(points, o.Y, "--y", second)
	if err != nil {
		return nil, err
	}
	if x == y {
		return nil, fmt.Errorf("a heat map needs two axes, and --x and --y are both %s", x)
	}
	first, err := report.Figure(points[0].Run, o.Metric)
	if err != nil {
		return nil, err
	}
	xs, _ := steps(points, x)
	ys, _ := steps(points, y)
	g, err := cells(points, x, y, xs, ys, o.Metric)
	if err != nil {
		return nil, err
	}
	p := newPlot(labelled(first), x, y)
	dark := moreland.Kindlmann()
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, z := range g.z {
		if !math.IsNaN(z) {
			lo, hi = min(lo, z), max(hi, z)
		}
	}
	if lo == hi {
		hi = lo + 1
	}
	dark.SetMin(lo)
	dark.SetMax(hi)
	all := dark.Palette(256).Colors()
	h := plotter.NewHeatMap(g, shades(all[40:232])) // neither black nor white
	h.Min, h.Max, h.NaN = lo, hi, color.White
	p.Add(h)
	if err := cellLabels(p, g, lo, hi); err != nil {
		return nil, err
	}
	p.NominalX(xs...)
	p.NominalY(ys...)
	return &figure{p, vg.Length(max(5, 1.5+0.9*float64(len(xs)))) * vg.Inch, vg.Length(max(3.5, 1.5+0.5*float64(len(ys)))) * vg.Inch}, nil
}

// shades is a palette.
type shades []color.Color

// Colors implements palette.Palette.
func (s shades) Colors() []color.Color { return s }

// cells puts the points into the grid.
func cells(points []Point, x, y string, xs, ys []string, metric string) (*grid, error) {
	g := &grid{len(xs), len(ys), make([]float64, len(xs)*len(ys))}
	if len(g.z) > 10_000 {
		return nil, fmt.Errorf("the heat map would have %d cells; 10000 are the most", len(g.z))
	}
	for i := range g.z {
		g.z[i] = math.NaN()
	}
	for i := range points {
		p := &points[i]
		v, err := report.Figure(p.Run, metric)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Label, err)
		}
		cell := &g.z[slices.Index(ys, p.on(y))*g.nx+slices.Index(xs, p.on(x))]
		if !math.IsNaN(*cell) {
			return nil, fmt.Errorf("several points share a cell, since the study has further axes: choose one with --only, such as --only %s", p.besides(x, y))
		}
		*cell = v.Value
	}
	return g, nil
}

// cellLabels writes each cell's value, light on dark.
func cellLabels(p *plot.Plot, g *grid, lo, hi float64) error {
	for _, dark := range []bool{false, true} {
		var l plotter.XYLabels
		for i, z := range g.z {
			if math.IsNaN(z) || (z-lo)/(hi-lo) < 0.55 != dark {
				continue
			}
			l.XYs = append(l.XYs, plotter.XY{X: float64(i % g.nx), Y: float64(i / g.nx)})
			l.Labels = append(l.Labels, brief(z))
		}
		if len(l.XYs) == 0 {
			continue
		}
		labels, err := plotter.NewLabels(l)
		if err != nil {
			return err
		}
		for i := range labels.TextStyle {
			labels.TextStyle[i].XAlign, labels.TextStyle[i].YAlign = draw.XCenter, draw.YCenter
			labels.TextStyle[i].Font.Size, labels.TextStyle[i].Font.Variant = vg.Points(9), "Sans"
			if dark {
				labels.TextStyle[i].Color = color.White
			}
		}
		p.Add(labels)
	}
	return nil
}

// brief prints a value to four digits.
func brief(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e7 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
