package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
)

type compareCmd struct {
	A      string   `arg:"" help:"A run: the JSON of whisker run, or a point of a study, such as results.sqlite#3."`
	B      string   `arg:"" help:"The run that is held against it."`
	FailIf []string `sep:"none" placeholder:"COND" help:"Exit with code 1 if this holds, such as 'cycles>+2%' or 'l2.hit_rate<0.6'; may be repeated."`
	Rows   int      `default:"15" help:"Opcodes and instructions that the table shows."`
	Format string   `default:"table" help:"table, json or csv."`
}

// Run compares two runs.
func (c *compareCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	var conditions []report.Condition
	for _, text := range c.FailIf {
		cond, err := report.ParseCondition(text)
		if err != nil {
			return &sim.UsageError{Err: fmt.Errorf("--fail-if: %w", err)}
		}
		conditions = append(conditions, cond)
	}
	a, err := results.LoadRun(c.A)
	if err != nil {
		return usageOfResults(err)
	}
	b, err := results.LoadRun(c.B)
	if err != nil {
		return usageOfResults(err)
	}
	compared, err := report.Compare(c.A, a, c.B, b)
	if err != nil {
		return &sim.UsageError{Err: fmt.Errorf("compare %s with %s: %w", c.A, c.B, err)}
	}
	var failed []string
	for _, cond := range conditions {
		holds, worded, err := cond.Holds(a, b)
		if err != nil {
			return &sim.UsageError{Err: fmt.Errorf("--fail-if %s: %w", cond.Text, err)}
		}
		if holds {
			failed = append(failed, fmt.Sprintf("%s, so that %s holds", worded, cond.Text))
		}
	}
	if err := report.WriteComparison(w, compared, c.Format, max(c.Rows, 0)); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("compare: %s", strings.Join(failed, "; "))
	}
	return nil
}
