package main

import (
	"io"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/sim"
)

type calibrateCmd struct {
	Machine string `arg:"" help:"Built-in machine or machine file that is fitted."`
	From    string `required:"" placeholder:"RESULTS" help:"Rows of the micro suite: JSON of whisker device bench or of whisker run --suite micro."`
	Out     string `placeholder:"FILE" help:"Machine file to write; NAME-calibrated.yaml unless given."`
	Format  string `default:"table" help:"table, json or csv."`
}

// Run fits what the rows determine and prints before and after.
func (c *calibrateCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	r, err := sim.Calibrate(sim.CalibrateOptions{Machine: c.Machine, From: c.From, Out: c.Out})
	if err != nil {
		return err
	}
	return r.Write(w, c.Format)
}
