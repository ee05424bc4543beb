package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/whisker-sim/whisker/device"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/sim"
)

// deviceCmd is the way to real GPUs and back.
type deviceCmd struct {
	Export   deviceExportCmd   `cmd:"" help:"Write a kernel as a folder that builds and runs where there is an AMD GPU." example:"whisker device export gemm --size 4096 -o gemm-4096"`
	Run      deviceRunCmd      `cmd:"" help:"Build and run an exported folder on this machine's GPU." example:"whisker device run gemm-4096"`
	Ingest   deviceIngestCmd   `cmd:"" help:"Read what a profiler wrote: counters, traces, databases." example:"whisker device ingest results"`
	Compare  deviceCompareCmd  `cmd:"" help:"Hold a simulated run against measured files." example:"whisker device compare run.json gemm-4096/results --tolerance 0.1"`
	Bench    deviceBenchCmd    `cmd:"" help:"Run the micro suite on this machine's GPU." example:"whisker device bench --arch mi300x -o bench"`
	Counters deviceCountersCmd `cmd:"" help:"Write a run's counters as rocprofv3 writes them." example:"whisker device counters run.json"`
}

type deviceCompareCmd struct {
	RunFile   string  `arg:"" name:"run" help:"A run: the JSON of whisker run, or a point of a study, such as results.sqlite#3."`
	Path      string  `arg:"" help:"Measured files: anything that whisker device ingest reads."`
	Kernel    string  `placeholder:"NAME" help:"Measured kernel, where several were measured."`
	Tolerance float64 `default:"0.25" help:"Relative error up to which a line is within; exit code 1 beyond."`
	Rows      int     `default:"15" help:"Instructions that the table shows."`
	Format    string  `default:"table" help:"table, json or csv."`
}

// Run compares, line by line.
func (c *deviceCompareCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	r, err := results.LoadRun(c.RunFile)
	if err != nil {
		return usageOfResults(err)
	}
	compared, err := device.Compare(device.CompareOptions{Run: r, Path: c.Path, Kernel: c.Kernel, Tolerance: c.Tolerance})
	if err != nil {
		return err
	}
	if err := device.WriteComparison(w, compared, c.Format, max(c.Rows, 0)); err != nil {
		return err
	}
	return compared.Err()
}

type deviceCountersCmd struct {
	RunFile string `arg:"" name:"run" help:"A run: the JSON of whisker run, or a point of a study."`
}

// Run writes CSV.
func (c *deviceCountersCmd) Run(w io.Writer) error {
	r, err := results.LoadRun(c.RunFile)
	if err != nil {
		return usageOfResults(err)
	}
	return device.WriteCounterCSV(w, r)
}

type deviceRunCmd struct {
	Dir         string `arg:"" help:"Folder of whisker device export."`
	StepTimeout int    `default:"600" placeholder:"SECONDS" help:"Time limit of each run of the program or the profiler."`
	Warmup      int    `default:"500" help:"Launches before the timed ones."`
	Launches    int    `default:"100" help:"Launches that are timed."`
	Format      string `default:"table" help:"table, json or csv."`
}

// Run runs the folder and says what came out, failures included.
func (c *deviceRunCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	if c.StepTimeout < 1 || c.Warmup < 1 || c.Launches < 1 {
		return &sim.UsageError{Err: errors.New("--step-timeout, --warmup and --launches must be at least 1")}
	}
	r, err := device.Run(device.RunOptions{Dir: c.Dir, Timeout: time.Duration(c.StepTimeout) * time.Second, Warmup: c.Warmup, Timed: c.Launches, Log: os.Stderr})
	if r != nil {
		if werr := device.WriteResults(w, r, c.Format); werr != nil {
			return werr
		}
	}
	return err
}

type deviceIngestCmd struct {
	Path   string `arg:"" help:"File or folder of rocprofv3, rocprof or rocprof-compute, or results of whisker device run."`
	Format string `default:"table" help:"table, json or csv."`
	Strict bool   `help:"Exit with code 1 if a row was not understood."`
}

// Run reads the files and says what they hold and what was not understood.
func (c *deviceIngestCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	m, err := device.Ingest(c.Path)
	if err != nil {
		return err
	}
	if err := device.WriteMeasurement(w, m, c.Format); err != nil {
		return err
	}
	if c.Strict && len(m.Problems) > 0 {
		return fmt.Errorf("%s: %d problems, the first: %s", c.Path, len(m.Problems), m.Problems[0])
	}
	return nil
}

type deviceExportCmd struct {
	Kernel string `arg:"" help:"Kernel to export: ${kernels}."`
	machineFlags
	kernelFlags
	Output      string `short:"o" required:"" placeholder:"DIR" help:"Folder to write."`
	Seed        uint64 `default:"1" help:"Seed of the input values."`
	Force       bool   `help:"Replace an earlier export."`
	NoReference bool   `help:"Leave the expected values out: the host program times without checking."`
	Format      string `default:"table" help:"table, json or csv."`
}

// Run exports the kernel and says what is in the folder.
func (c *deviceExportCmd) Run(w io.Writer) error {
	if err := sim.CheckFormat(c.Format, report.Formats); err != nil {
		return err
	}
	m, err := sim.LoadMachine(c.Arch, c.Machine, c.Set)
	if err != nil {
		return err
	}
	options, err := c.kernelFlags.options(c.Kernel)
	if err != nil {
		return err
	}
	manifest, err := device.Export(device.ExportOptions{Kernel: c.Kernel, Options: options, Seed: c.Seed, Machine: m, Dir: c.Output, Force: c.Force,
		NoReference: c.NoReference, Version: sim.Version})
	if err != nil {
		return err
	}
	return device.WriteManifest(w, c.Output, manifest, c.Format)
}

// exitMissing is for a machine without a GPU or without ROCm.
const exitMissing = 3

// deviceExit is the exit code of an error of package device, 0 for any other.
func deviceExit(err error) int {
	if _, ok := errors.AsType[*device.InputError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*device.MissingError](err); ok {
		return exitMissing
	}
	return 0
}
