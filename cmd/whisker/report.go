package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
	"golang.org/x/term"
)

type reportCmd struct {
	File   string   `arg:"" placeholder:"RESULTS" help:"Results file of whisker sweep."`
	Format string   `default:"table" help:"table (a line a point), csv or parquet (long form: run, component, metric, unit, value and the axes), or json."`
	Metric []string `placeholder:"KEY" help:"Figures of the table by their JSON keys, such as tflops or l2.hit_rate; separated by commas or repeated."`
	Output string   `short:"o" placeholder:"FILE" help:"Write here instead of standard output."`
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
	f, err := os.CreateTemp(dirOf(path), ".whisker-*.tmp")
	if err != nil {
		return &sim.UsageError{Err: fmt.Errorf("%s cannot be written: %w", path, errors.Unwrap(err))}
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func dirOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i+1]
	}
	return "."
}
