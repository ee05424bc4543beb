package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads/suite"
	"github.com/whisker-sim/whisker/xcd"
)

// SuiteMicro is the suite that RunMicro runs.
const SuiteMicro = "micro"

// Suites are the suites by name: those that RunSuite takes, and SuiteMicro.
var Suites = append(suite.Names(), SuiteMicro)

// SuiteOptions is what a run of a suite takes.
type SuiteOptions struct {
	Name    string // one of Suites, SuiteMicro excepted
	Mode    string // functional or full; empty and timing, which computes no values, mean functional
	Threads int

	// Arch or Machine, with Set, run only what is code for that machine's
	// processor; without any of them a suite runs on a machine of each processor.
	Arch, Machine string
	Set           []string

	cpu string // of that machine; empty: every one
}

// choose settles the machine that is asked for.
func (o *SuiteOptions) choose() error {
	if o.Arch == "" && o.Machine == "" {
		return nil
	}
	m, err := LoadMachine(o.Arch, o.Machine, o.Set)
	if err == nil {
		o.cpu = m.Machine().CPU
	}
	return err
}

// run gives the options of a kernel for a processor; ok is false when it is not
// to run.
func (o *SuiteOptions) run(cpu string) (r RunOptions, arch string, ok bool) {
	r = RunOptions{Arch: suiteMachines[cpu], Mode: o.Mode, Threads: o.Threads}
	arch = r.Arch
	if o.cpu != "" {
		r.Arch, r.Machine, r.Set, arch = o.Arch, o.Machine, o.Set, o.Arch
		if o.Machine != "" {
			arch = o.Machine
		}
	}
	return r, arch, o.cpu == "" || o.cpu == cpu
}

// SuiteRow is the outcome of one kernel of a suite.
type SuiteRow struct {
	Kernel           string  `json:"kernel"`
	CPU              string  `json:"cpu"`
	Arch             string  `json:"arch"`
	Mode             string  `json:"mode"`
	Launches         int     `json:"launches"`
	WaveInstructions int64   `json:"wave_instructions"`
	Cycles           int64   `json:"cycles"`
	Values           int64   `json:"values"`
	MaxRelativeError float64 `json:"max_relative_error"`
	Limit            float64 `json:"limit"`
	Passed           bool    `json:"passed"`
	Error            string  `json:"error,omitempty"`
}

// suiteMachines are the machines that a suite runs on, by processor.
var suiteMachines = map[string]string{"gfx942": "mi300x", "gfx950": "mi355x"}

// RunSuite runs the kernels of a suite on every processor that they exist for
// and compares their values with references.
func RunSuite(o SuiteOptions) ([]SuiteRow, error) {
	name := o.Name
	if err := oneOf("--suite", name, Suites); err != nil {
		return nil, err
	}
	if o.Mode == "" || o.Mode == "timing" {
		o.Mode = "functional"
	}
	if err := oneOf("--mode", o.Mode, Modes); err != nil {
		return nil, err
	}
	if err := o.choose(); err != nil {
		return nil, err
	}
	if name == "mgpusim" {
		return runMGPUSim(&o)
	}
	dir, err := os.MkdirTemp("", "whisker-suite-")
	if err != nil {
		return nil, fmt.Errorf("suite %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	if err := suite.Extract(dir); err != nil {
		return nil, fmt.Errorf("suite %s: %w", name, err)
	}
	launches, err := suite.Launches(name)
	if err != nil {
		return nil, err
	}
	rows, err := runLaunches(dir, launches, &o)
	if err != nil || name != "clang" {
		return rows, err
	}
	// The same kernels again from source, where there is a compiler.
	ok, err := suite.Recompile(dir)
	if err != nil || !ok {
		return rows, err
	}
	again, err := runLaunches(dir, launches, &o)
	for i := range again {
		again[i].Kernel += " recompiled"
	}
	return append(rows, again...), err
}

// runLaunches runs launch files of what suite.Extract wrote below dir.
func runLaunches(dir string, launches []suite.Launch, o *SuiteOptions) ([]SuiteRow, error) {
	var rows []SuiteRow
	for _, l := range launches {
		run, arch, ok := o.run(l.CPU)
		if !ok {
			continue
		}
		row := SuiteRow{Kernel: l.Name, CPU: l.CPU, Arch: arch, Mode: o.Mode, Launches: 1}
		file := filepath.Join(dir, "launch", "run.yaml")
		if err := os.WriteFile(file, []byte(l.Text), 0o644); err != nil {
			return nil, fmt.Errorf("launch %s: %w", l.Name, err)
		}
		r, err := RunLaunch(LaunchOptions{File: file, RunOptions: run})
		switch {
		case err != nil:
			row.Error = err.Error()
		case r.Verify == nil:
			row.Error = "the launch expects nothing"
		default:
			row.WaveInstructions, row.Cycles = r.WaveInstructions, r.Cycles
			row.Values, row.MaxRelativeError, row.Limit, row.Passed = r.Verify.Values, r.Verify.MaxRelativeError, r.Verify.Limit, r.Verify.Passed
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// mgpusim is the module whose code objects the suite of that name runs, by
// exact version: version lists are not served for it.
const mgpusim = "github.com/sarchlab/mgpusim/v4@v4.2.0"

// mgpusimDir finds the module's folder, and downloads it with the Go toolchain
// when it is not there.
func mgpusimDir() (string, error) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("suite mgpusim takes its code objects from the Go module " + mgpusim + ", which needs the Go toolchain: there is no go in PATH")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, goTool, "mod", "download", "-json", mgpusim)
	cmd.Dir = os.TempDir() // outside of any module
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var m struct{ Dir, Error string }
	if jerr := json.Unmarshal(out, &m); jerr == nil && m.Error != "" {
		err = errors.New(m.Error)
	}
	if err != nil || m.Dir == "" {
		return "", fmt.Errorf("suite mgpusim: go mod download %s: %w", mgpusim, err)
	}
	return m.Dir, nil
}

// runMGPUSim runs MGPUSim's benchmarks, which are code for one processor.
func runMGPUSim(o *SuiteOptions) ([]SuiteRow, error) {
	const cpu = "gfx942"
	run, arch, ok := o.run(cpu)
	if !ok {
		return nil, usagef("suite mgpusim is code for %s, and %s runs %s: leave --arch out, or choose mi300x, mi300a or mi325x", cpu, arch, o.cpu)
	}
	dir, err := mgpusimDir()
	if err != nil {
		return nil, err
	}
	machine, err := LoadMachine(run.Arch, run.Machine, run.Set)
	if err != nil {
		return nil, err
	}
	var rows []SuiteRow
	for i := range suite.Benchmarks {
		b := &suite.Benchmarks[i]
		row := SuiteRow{Kernel: b.Name, CPU: cpu, Arch: arch, Mode: o.Mode, Limit: b.Limit}
		out, err := b.Run(filepath.Join(dir, "amd", "benchmarks", filepath.FromSlash(b.File)), row.launcher(machine.Machine(), o.Threads))
		row.Values, row.MaxRelativeError = out.Values, out.Worst
		if err != nil {
			row.Error = err.Error()
		}
		row.Passed = err == nil && out.Values > 0 && out.Worst <= b.Limit
		rows = append(rows, row)
	}
	return rows, nil
}

// launcher runs the launches of a benchmark and adds their figures up.
func (row *SuiteRow) launcher(m *configs.Machine, threads int) func(*isa.Launch) error {
	return func(l *isa.Launch) error {
		row.Launches++
		if row.Mode == "functional" {
			st, err := emu.Run(l, emu.Options{})
			row.WaveInstructions += int64(st.Insts)
			return err
		}
		g, err := xcd.NewGPU(m, m.Clock.DefaultMHz, l, xcd.GPUOptions{Full: true, Threads: threads, ColdLLC: true})
		if err != nil {
			return err
		}
		res, err := g.Run(context.Background())
		if err != nil {
			return err
		}
		row.Cycles += res.Timing.Cycles
		for _, n := range res.CU.IssuedCount {
			row.WaveInstructions += int64(n)
		}
		return nil
	}
}

// WriteSuite writes the outcome of a suite. It is an error when a kernel did not
// pass.
func WriteSuite(w io.Writer, name string, rows []SuiteRow, format string) error {
	t := report.Table{Header: []string{"kernel", "cpu", "machine", "mode", "launches", "wave instructions", "cycles", "values", "error", "limit", "outcome"}, Left: []int{1, 2, 3, 10}}
	failed := []string{}
	for _, r := range rows {
		outcome := "passed"
		if !r.Passed {
			failed = append(failed, r.Kernel+" on "+r.CPU)
			if outcome = "failed"; r.Error != "" {
				outcome = "failed: " + r.Error
			}
		}
		t.Add(r.Kernel, r.CPU, r.Arch, r.Mode, r.Launches, report.Thousands(r.WaveInstructions), report.Thousands(r.Cycles), r.Values,
			fmt.Sprintf("%.2g", r.MaxRelativeError), fmt.Sprintf("%g", r.Limit), outcome)
	}
	if err := writeRows(w, format, &t, rows); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("suite %s: %d of %d did not pass: %s", name, len(failed), len(rows), strings.Join(failed, ", "))
	}
	return nil
}
