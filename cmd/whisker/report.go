package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/output"
	"github.com/whisker-sim/whisker/report/plots"
	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
	"golang.org/x/term"
)

type reportCmd struct {
	File   string   `arg:"" placeholder:"RESULTS" help:"Results file of whisker sweep; for --plot roofline and stalls also the JSON of whisker run."`
	Format string   `default:"table" help:"table (a line a point), csv or parquet (long form: run, component, metric, unit, value and the axes), or json."`
	Metric []string `placeholder:"KEY" help:"Figures of the table by their JSON keys, such as tflops or l2.hit_rate; separated by commas or repeated."`
	Output string   `short:"o" placeholder:"FILE" help:"Write here instead of standard output."`
	Plot   string   `group:"Plot" placeholder:"KIND" help:"Draw roofline, metric (a figure against an axis), stalls (stacked bars) or heatmap (a figure over two axes) into -o FILE.png or FILE.svg."`
	X      string   `group:"Plot" placeholder:"AXIS" help:"Axis to the right; the first unless given."`
	Y      string   `group:"Plot" placeholder:"AXIS" help:"Second axis of a heat map."`
	By     string   `group:"Plot" placeholder:"AXIS" help:"Axis whose values are lines of their own; all other axes unless given."`
	Only   []string `sep:"none" group:"Plot" placeholder:"AXIS=VALUE" help:"Draw only points with this value; may be repeated."`
}

var reportFormats = []string{"table", "csv", "parquet", "json"}

// Run writes what a results file holds.
func (c *reportCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, reportFormats); err != nil {
		return err
	}
	if c.Output == "" && c.Format == "parquet" && term.IsTerminal(int(os.Stdout.Fd())) {
		return &sim.UsageError{Err: errors.New("Parquet is not for a terminal: add -o FILE")}
	}
	if c.Plot != "" {
		return c.draw(w)
	}
	f, err := results.Open(c.File, false)
	if err != nil {
		return usageOfResults(err)
	}
	defer f.Close()
	return writeTo(w, c.Output, func(w io.Writer) error {
		switch c.Format {
		case "csv":
			return f.WriteCSV(w)
		case "parquet":
			return f.WriteParquet(w)
		case "json":
			return f.WriteJSON(w)
		}
		metrics := c.Metric
		if len(metrics) == 0 {
			metrics = results.DefaultMetrics
		}
		return f.WriteTable(w, metrics)
	})
}

// draw draws what --plot names.
func (c *reportCmd) draw(w io.Writer) error {
	if err := sim.CheckOneOf("--plot", c.Plot, plots.Kinds); err != nil {
		return err
	}
	format := strings.TrimPrefix(filepath.Ext(c.Output), ".")
	if !slices.Contains(plots.Formats, format) {
		return &sim.UsageError{Err: errors.New("--plot needs -o FILE.png or -o FILE.svg")}
	}
	points, err := c.points()
	if err != nil {
		return usageOfResults(err)
	}
	o := plots.Options{Kind: c.Plot, X: c.X, Y: c.Y, By: c.By}
	if len(c.Metric) > 0 {
		o.Metric = c.Metric[0]
	}
	var picture bytes.Buffer
	if err := plots.Draw(&picture, points, o, format); err != nil {
		return &sim.UsageError{Err: fmt.Errorf("%s: --plot %s: %w", c.File, c.Plot, err)}
	}
	return writeTo(w, c.Output, func(w io.Writer) error {
		_, err := picture.WriteTo(w)
		return err
	})
}

// points are the finished points that --only leaves.
func (c *reportCmd) points() ([]plots.Point, error) {
	if filepath.Ext(c.File) == ".json" {
		run, err := results.LoadRun(c.File)
		if err != nil {
			return nil, err
		}
		return []plots.Point{{Label: run.Kernel + " on " + run.Arch, Run: run}}, nil
	}
	f, err := results.Open(c.File, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var points []plots.Point
	err = f.EachRun(func(r *results.Record, run *report.Run) error {
		p := plots.Point{Run: run}
		var axes []string
		for _, s := range r.Settings {
			if s.Axis {
				p.Axes = append(p.Axes, plots.Setting{Key: s.Key, Value: s.Value})
				axes = append(axes, s.Value)
			}
		}
		p.Label = strings.Join(axes, " ")
		chosen, err := c.chosen(r)
		if err == nil && chosen && run != nil {
			points = append(points, p)
		}
		return err
	})
	return points, err
}

// chosen reports whether a point is one of --only.
func (c *reportCmd) chosen(r *results.Record) (bool, error) {
	for _, only := range c.Only {
		key, value, ok := strings.Cut(only, "=")
		if !ok {
			return false, &sim.UsageError{Err: fmt.Errorf("--only is %q; write AXIS=VALUE", only)}
		}
		at := slices.IndexFunc(r.Settings, func(s results.Setting) bool { return s.Key == key })
		if at < 0 {
			return false, &sim.UsageError{Err: fmt.Errorf("--only %s: the study has no key %s", only, key)}
		}
		if r.Settings[at].Value != value {
			return false, nil
		}
	}
	return true, nil
}

// usageOfResults marks faults of a results file as the user's.
func usageOfResults(err error) error {
	if _, ours := errors.AsType[*results.Error](err); ours {
		return &sim.UsageError{Err: err}
	}
	return err
}

// writeTo writes to a file that appears only whole, or to w without one.
func writeTo(w io.Writer, path string, write func(io.Writer) error) error {
	if path == "" {
		return write(w)
	}
	if err := output.Check(path); err != nil {
		return &sim.UsageError{Err: err}
	}
	return output.Replace(path, write)
}
