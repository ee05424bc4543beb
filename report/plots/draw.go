package plots

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Kinds are the plots that Draw makes.
var Kinds = []string{"roofline", "metric", "stalls", "heatmap"}

// Formats are the files that Draw writes.
var Formats = []string{"png", "svg"}

// Setting is a key of a point with its value.
type Setting struct{ Key, Value string }

// Point is a run with where it stands on the axes of its study.
type Point struct {
	Label string
	Axes  []Setting
	Run   *report.Run
}

// Options is what to draw.
type Options struct {
	Kind   string // one of Kinds
	X, Y   string // axes; "" for the first and the second
	By     string // axis whose values are lines of their own; "" for all other axes together
	Metric string // figure by its JSON key; "" for tflops, or time_us where a kernel has no flops
}

// figure is a plot that is ready to be written.
type figure struct {
	p             *plot.Plot
	width, height vg.Length
}

// Draw draws the points and writes the picture.
func Draw(w io.Writer, points []Point, o Options, format string) error {
	if len(points) == 0 {
		return fmt.Errorf("there is no finished point to draw")
	}
	if o.Metric == "" {
		o.Metric = "tflops"
		if points[0].Run.FLOPs == 0 {
			o.Metric = "time_us"
		}
	}
	make := map[string]func([]Point, Options) (*figure, error){"roofline": roofline, "metric": metric, "stalls": stalls, "heatmap": heatmap}[o.Kind]
	if make == nil {
		return fmt.Errorf("there is no plot %q: choose %s", o.Kind, strings.Join(Kinds, ", "))
	}
	f, err := make(points, o)
	if err != nil {
		return err
	}
	return f.write(w, format)
}

// dotsPerInch of a PNG.
const dotsPerInch = 144

func (f *figure) write(w io.Writer, format string) error {
	var c interface {
		vg.CanvasSizer
		io.WriterTo
	}
	switch format {
	case "png":
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dotsPerInch), vgimg.UseBackgroundColor(color.White))}
	case "svg":
		c = vgsvg.New(f.width, f.height)
	default:
		return fmt.Errorf("there is no picture format %q: choose %s", format, strings.Join(Formats, " or "))
	}
	const margin = 12
	f.p.Draw(draw.Crop(draw.New(c), vg.Points(margin), -vg.Points(margin), vg.Points(margin), -vg.Points(margin)))
	_, err := c.WriteTo(w)
	return err
}

// newPlot makes an empty plot with room around its labels.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(8)
	p.X.Padding, p.Y.Padding = vg.Points(4), vg.Points(4)
	p.Y.Tick.Marker = round{}
	for _, s := range []struct {
		font *font.Font
		size float64
	}{{&p.Title.TextStyle.Font, 13}, {&p.X.Label.TextStyle.Font, 11}, {&p.Y.Label.TextStyle.Font, 11}, {&p.X.Tick.Label.Font, 9},
		{&p.Y.Tick.Label.Font, 9}, {&p.Legend.TextStyle.Font, 9}} {
		s.font.Variant, s.font.Size = "Sans", font.Points(s.size)
	}
	p.Legend.ThumbnailWidth, p.Legend.Padding = vg.Points(16), vg.Points(2)
	return p
}

// round marks an axis at multiples of 1, 2 or 5 times a power of ten.
type round struct{}

// Ticks implements plot.Ticker.
func (round) Ticks(lo, hi float64) []plot.Tick {
	const about = 6
	power := math.Pow(10, math.Floor(math.Log10((hi-lo)/about)))
	step := power
	for _, f := range []float64{2, 5, 10} {
		if (hi-lo)/step > about {
			step = f * power
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi && len(ticks) < 100; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks
}

// colours are told apart by readers who see no red or no green (Okabe and Ito's
// set, and darker and lighter forms of it for long lists).
var colours = []color.Color{
	rgb(0x0072b2), rgb(0xe69f00), rgb(0x009e73), rgb(0xd55e00), rgb(0xcc79a7), rgb(0x56b4e9), rgb(0xf0e442), rgb(0x555555),
	rgb(0x003f63), rgb(0x8a5f00), rgb(0x00543d), rgb(0x7d3700), rgb(0xa8d5f2), rgb(0xf7d794), rgb(0x8fd9c0), rgb(0xbbbbbb),
}

func rgb(v uint32) color.Color {
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// colour is the i-th colour, over again when there are more.
func colour(i int) color.Color { return colours[i%len(colours)] }

// axisNames lists the axes of the points.
func axisNames(points []Point) []string {
	var names []string
	for _, p := range points {
		for _, a := range p.Axes {
			if !slices.Contains(names, a.Key) {
				names = append(names, a.Key)
			}
		}
	}
	return names
}

// axis resolves an axis name; "" is the n-th axis.
func axis(points []Point, name, flag string, n int) (string, error) {
	names := axisNames(points)
	if name == "" {
		if n >= len(names) {
			return "", fmt.Errorf("the study has %d axes, and the plot needs %d", len(names), n+1)
		}
		return names[n], nil
	}
	if !slices.Contains(names, name) {
		return "", fmt.Errorf("%s: the study has no axis %q; it has %s", flag, name, strings.Join(names, ", "))
	}
	return name, nil
}

// on is the point's value on an axis.
func (p *Point) on(axis string) string {
	for _, a := range p.Axes {
		if a.Key == axis {
			return a.Value
		}
	}
	return ""
}

// besides names the point by its axes but for some.
func (p *Point) besides(axes ...string) string {
	var parts []string
	for _, a := range p.Axes {
		if !slices.Contains(axes, a.Key) {
			parts = append(parts, a.Key+"="+a.Value)
		}
	}
	return strings.Join(parts, " ")
}

// steps lists the values that the points have on an axis: in the order of the
// numbers when all are, as they come otherwise.
func steps(points []Point, axis string) (values []string, numbers []float64) {
	for i := range points {
		if v := points[i].on(axis); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	for _, v := range values {
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return values, nil
		}
		numbers = append(numbers, n)
	}
	slices.SortStableFunc(values, func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64) // read above
		y, _ := strconv.ParseFloat(b, 64)
		return int(sign(x - y))
	})
	slices.Sort(numbers)
	return values, numbers
}

func sign(v float64) float64 {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

// labelled names a figure with its unit.
func labelled(v report.Value) string {
	if v.Unit == "" {
		return v.Path()
	}
	return v.Path() + " (" + v.Unit + ")"
}
