package device

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// BenchOptions says which microbenchmarks run, and where they go.
type BenchOptions struct {
	Machine *configs.Resolved // gives the CPU and the XCDs
	Dir     string            // folder of the suite
	Only    []string          // rows whose names begin with one of these; all unless given
	Force   bool              // replace an earlier suite
	// ExportOnly writes the folder and runs nothing: it can be carried to where the
	// GPU is, and bench.sh run there.
	ExportOnly bool
	// Collect reads results that bench.sh left in the folder, and runs nothing.
	Collect bool
	Timeout time.Duration // of each step
	Repeats int           // launches of each kernel; 0: 20
	Version string        // of Whisker
	Log     io.Writer
	root    string // of the machine; / outside tests
}

// Suite is bench.json: the points of the suite and the kernels that measure them.
type Suite struct {
	Version string       `json:"version"`
	Machine string       `json:"machine"`
	CPU     string       `json:"cpu"`
	XCDs    int          `json:"xcds"`
	Points  []SuitePoint `json:"points"`
}

// SuitePoint is a row and its two kernels.
type SuitePoint struct {
	Name  string               `json:"name"`
	Unit  string               `json:"unit"`
	Value workloads.MicroValue `json:"value"`
	Ops   float64              `json:"ops"` // that the longer kernel does more
	Few   string               `json:"few"` // symbols
	Many  string               `json:"many"`
	Saved string               `json:"saved,omitempty"` // file of the output, of a point that is read from it
	Words int                  `json:"words,omitempty"`
}

// BenchResults is what a bench gave.
type BenchResults struct {
	Dir      string               `json:"dir"`
	File     string               `json:"file"` // of the rows
	Rows     []workloads.MicroRow `json:"rows"`
	Steps    []Step               `json:"steps"`
	Problems []string             `json:"problems,omitempty"`
}

const (
	suiteFile = "bench.json"
	// RowsFile is the file of the rows below the results, which whisker calibrate
	// takes.
	RowsFile = "micro.json"
	// benchCounter counts core clock cycles of every XCD while a kernel runs.
	benchCounter = "GRBM_GUI_ACTIVE"
)

// Bench exports the micro suite, runs it on this machine's GPU, and collects rows
// as the simulator's. On a machine without a GPU it changes nothing, unless it is
// only to export.
func Bench(o BenchOptions) (*BenchResults, error) {
	cpu, err := cpuOf(o.Machine.Machine().CPU)
	if err != nil {
		return nil, err
	}
	points, err := benchPoints(cpu, o.Only)
	if err != nil {
		return nil, err
	}
	if o.root == "" {
		o.root = "/"
	}
	switch {
	case o.Collect:
		res, err := collect(o.Dir, filepath.Join(o.Dir, resultsFolder))
		if err != nil {
			return nil, err
		}
		return res, res.err()
	case o.ExportOnly:
		if err := exportSuite(o, cpu, points); err != nil {
			return nil, err
		}
		return &BenchResults{Dir: o.Dir}, nil
	}
	h := probe(o.root)
	if missing := h.missing(cpu.String()); len(missing) > 0 {
		return nil, &MissingError{missing}
	}
	if err := exportSuite(o, cpu, points); err != nil {
		return nil, err
	}
	r := &runner{RunOptions: RunOptions{Dir: o.Dir, Timeout: o.Timeout, Log: o.Log}, host: h}
	if err := r.build(); err != nil {
		return nil, err
	}
	partial, err := os.MkdirTemp(o.Dir, ".results.partial-")
	if err != nil {
		return nil, &Failure{fmt.Errorf("%s: %w", o.Dir, cause(err))}
	}
	defer os.RemoveAll(partial)
	if err := os.Chmod(partial, 0o755); err != nil {
		return nil, err
	}
	runErr := r.bench(partial, o.Repeats)
	res, err := collect(o.Dir, partial)
	if err != nil {
		return nil, err
	}
	if runErr != nil && len(res.Problems) == 0 {
		res.Problems = append(res.Problems, "bench.sh: "+runErr.Error())
	}
	final := filepath.Join(o.Dir, resultsFolder)
	if err := keepOld(final); err != nil {
		return nil, err
	}
	if err := os.Rename(partial, final); err != nil {
		return nil, err
	}
	res.File = filepath.Join(final, RowsFile)
	return res, res.err()
}

// err is a failure when a step or a row is missing.
func (r *BenchResults) err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	shown := r.Problems[:min(len(r.Problems), 5)]
	text := strings.Join(shown, "; ")
	if n := len(r.Problems) - len(shown); n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return &Failure{fmt.Errorf("%s: %s", r.Dir, text)}
}

// benchPoints are the points whose names begin with one of only.
func benchPoints(cpu isa.CPU, only []string) ([]workloads.MicroPoint, error) {
	all := workloads.MicroSuite(cpu)
	if len(only) == 0 {
		return all, nil
	}
	for _, prefix := range only {
		if !slices.ContainsFunc(all, func(p workloads.MicroPoint) bool { return strings.HasPrefix(p.Name, prefix) }) {
			return nil, badInput("--only %s: no row of the micro suite of %s begins so; they are those of whisker run --suite micro", prefix, cpu)
		}
	}
	return slices.DeleteFunc(all, func(p workloads.MicroPoint) bool {
		return !slices.ContainsFunc(only, func(prefix string) bool { return strings.HasPrefix(p.Name, prefix) })
	}), nil
}

// maxSuiteInput is the largest buffer with values: addresses of an LDS access.
// Footprints are zeros.
const maxSuiteInput = 1 << 20

// suiteExporter writes a suite's folder: all kernels in one plan.
type suiteExporter struct {
	exporter
	suite   Suite
	regions int // written so far
}

func exportSuite(o BenchOptions, cpu isa.CPU, points []workloads.MicroPoint) error {
	m := o.Machine.Machine()
	partial, done, drop, err := newFolder(o.Dir, suiteFile, o.Force)
	if err != nil {
		return err
	}
	defer drop()
	s := &suiteExporter{exporter: exporter{dir: partial, tool: findToolchain()},
		suite: Suite{Version: o.Version, Machine: m.Name, CPU: cpu.String(), XCDs: m.Chip.XCDs}}
	if err := os.Mkdir(filepath.Join(partial, "inputs"), 0o755); err != nil {
		return cause(err)
	}
	fmt.Fprintf(&s.plan, "whisker-plan 1\nkernel micro\narch %s\ndtype idle\nflops 0\nbytes 0\nlimit 0\n", cpu)
	for i := range points {
		if err := s.point(cpu, &points[i]); err != nil {
			return fmt.Errorf("%s: %s: %w", o.Dir, points[i].Name, err)
		}
	}
	s.plan.WriteString("end\n")
	if err := s.files(); err != nil {
		return fmt.Errorf("%s: %w", o.Dir, err)
	}
	if err := done(); err != nil {
		return fmt.Errorf("%s: %w", o.Dir, cause(err))
	}
	return nil
}

// point writes the kernels of a point.
func (s *suiteExporter) point(cpu isa.CPU, p *workloads.MicroPoint) error {
	x := SuitePoint{Name: p.Name, Unit: p.Unit, Value: p.Value, Ops: float64((p.Many-p.Few)*p.Device) * p.Ops}
	lengths := []int{p.Few * p.Device, p.Many * p.Device}
	if p.Few == p.Many {
		lengths = lengths[:1]
	}
	for i, n := range lengths {
		b, err := p.Build(cpu, s.suite.XCDs, n)
		if err != nil {
			return err
		}
		b.Launch.Kernel.Name = p.Symbol(n)
		if i == 0 {
			x.Few = b.Launch.Kernel.Name
		}
		x.Many = b.Launch.Kernel.Name
		first := s.regions
		if err := s.kernelOf(b); err != nil {
			return err
		}
		if p.Cold {
			s.plan.WriteString("cold\n")
		}
		if p.Value != workloads.MicroRegular {
			continue
		}
		for j, r := range b.Launch.Memory.Regions() {
			if r.Name == "out" {
				x.Saved, x.Words = x.Many+".out", n
				fmt.Fprintf(&s.plan, "save %d %s\n", first+j, x.Saved)
			}
		}
	}
	s.suite.Points = append(s.suite.Points, x)
	return nil
}

// kernelOf writes one kernel with its buffers, which are its own.
func (s *suiteExporter) kernelOf(b *workloads.Built) error {
	s.job = &workloads.Job{Kernels: []*workloads.Built{b}}
	for _, r := range b.Launch.Memory.Regions() {
		file := filepath.Join("inputs", b.Launch.Kernel.Name+"_"+fileName(r.Name)+".bin")
		hash, zero := uint64(0), true
		if r.Size <= maxSuiteInput {
			var err error
			if hash, zero, err = s.dump(file, r); err != nil {
				return fmt.Errorf("%s: %w", file, cause(err))
			}
		}
		name, sum := filepath.ToSlash(file), strconv.FormatUint(hash, 16)
		if zero {
			name, sum = "-", "0"
		}
		fmt.Fprintf(&s.plan, "region %d %s %s %s of %s\n", r.Size, name, sum, r.Name, b.Launch.Kernel.Name)
	}
	s.firstRegion = s.regions
	s.regions += len(b.Launch.Memory.Regions())
	return s.kernel(b)
}

// files writes what is the same for every suite, and the list of its points.
func (s *suiteExporter) files() error {
	list, err := json.MarshalIndent(&s.suite, "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		data []byte
		mode os.FileMode
	}{
		{"plan.txt", s.plan.Bytes(), 0o644}, {suiteFile, append(list, '\n'), 0o644}, {"README.md", templateFile("BENCH.md"), 0o644},
		{"host.cpp", templateFile("host.cpp"), 0o644}, {"Makefile", templateFile("Makefile"), 0o644}, {"bench.sh", templateFile("bench.sh"), 0o755},
	} {
		if err := os.WriteFile(filepath.Join(s.dir, f.name), f.data, f.mode); err != nil {
			return fmt.Errorf("%s: %w", f.name, cause(err))
		}
	}
	return nil
}

// bench runs bench.sh into a folder.
func (r *runner) bench(out string, repeats int) error {
	abs, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	c := exec.Command("./bench.sh", abs)
	c.Dir = r.Dir
	c.Env = append(os.Environ(), "ROCM="+r.host.rocm, "ROCPROFV3="+r.host.profiler)
	if n := int(r.Timeout.Seconds()); n > 0 {
		c.Env = append(c.Env, "STEP_TIMEOUT="+strconv.Itoa(n))
	}
	if repeats > 0 {
		c.Env = append(c.Env, "REPEATS="+strconv.Itoa(repeats))
	}
	c.Stdout, c.Stderr = r.Log, r.Log
	return c.Run()
}

// collect turns what bench.sh left into rows, and writes them.
func collect(dir, results string) (*BenchResults, error) {
	data, err := os.ReadFile(filepath.Join(dir, suiteFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, badInput("%s is no folder of the micro suite: it has no %s (whisker device bench makes one)", dir, suiteFile)
	case err != nil:
		return nil, badInput("%s: %w", filepath.Join(dir, suiteFile), cause(err))
	}
	s := new(Suite)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, badInput("%s: %w", filepath.Join(dir, suiteFile), err)
	}
	if s.XCDs < 1 || len(s.Points) == 0 {
		return nil, badInput("%s names no XCDs or no points: the export is damaged", filepath.Join(dir, suiteFile))
	}
	res := &BenchResults{Dir: dir, Rows: []workloads.MicroRow{}, File: filepath.Join(results, RowsFile)}
	bad := func(format string, args ...any) { res.Problems = append(res.Problems, fmt.Sprintf(format, args...)) }
	if res.Steps, err = readSteps(filepath.Join(results, "steps.tsv")); err != nil {
		return nil, badInput("%s: %w", results, err)
	}
	for _, step := range res.Steps {
		if step.Status == "timeout" {
			bad("step %s ran into its time limit", step.Name)
		} else if step.Status != "ok" {
			bad("step %s %s with exit code %d%s", step.Name, step.Status, step.Exit, lastLine(filepath.Join(results, step.Name+".log")))
		}
	}
	m, err := Ingest(results)
	if err != nil {
		bad("%v", err)
		m = &Measurement{}
	}
	for _, p := range m.Problems {
		bad("%s", p)
	}
	for i := range s.Points {
		row, err := s.Points[i].row(s, m, results)
		if err != nil {
			bad("%s: %v", s.Points[i].Name, err)
			continue
		}
		res.Rows = append(res.Rows, *row)
	}
	var b bytes.Buffer
	if err := report.WriteJSON(&b, res.Rows); err != nil {
		return nil, err
	}
	if err := os.WriteFile(res.File+".partial", b.Bytes(), 0o644); err != nil {
		return nil, &Failure{err}
	}
	return res, os.Rename(res.File+".partial", res.File)
}

// row is a point's value from its kernels' counters and times.
func (p *SuitePoint) row(s *Suite, m *Measurement, results string) (*workloads.MicroRow, error) {
	row := &workloads.MicroRow{Name: p.Name, Unit: p.Unit, CPU: s.CPU}
	if p.Value == workloads.MicroRegular {
		out, err := words(filepath.Join(results, p.Saved), p.Words)
		if err != nil {
			return nil, err
		}
		share, first := workloads.RegularXCDs(out, s.XCDs)
		row.Value, row.Note = share, fmt.Sprintf("of %d workgroups, those on XCD (workgroup + %d) mod %d", p.Words, first, s.XCDs)
		return row, nil
	}
	var cycles, ns [2]float64
	for i, symbol := range []string{p.Few, p.Many} {
		k := m.find(symbol)
		if k == nil {
			return nil, fmt.Errorf("there is no dispatch of %s", symbol)
		}
		switch p.Value {
		case workloads.MicroNS, workloads.MicroGBs:
			if k.TraceUS == nil {
				return nil, fmt.Errorf("there is no time of %s", symbol)
			}
			ns[i] = 1e3 * k.TraceUS.Median
		default:
			c := k.Counter(benchCounter)
			if c == nil {
				return nil, fmt.Errorf("there is no %s of %s", benchCounter, symbol)
			}
			cycles[i] = c.Median / float64(s.XCDs)
		}
	}
	row.Value = p.Value.Of(p.Ops, cycles[1]-cycles[0], ns[1]-ns[0])
	if !(row.Value > 0 && row.Value < 1e12) {
		return nil, fmt.Errorf("the longer kernel, %s, took no longer than the shorter", p.Many)
	}
	return row, nil
}

// words reads a saved output.
func words(path string, n int) ([]uint32, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), cause(err))
	}
	if len(data) < 4*n {
		return nil, fmt.Errorf("%s has %d bytes, want %d", filepath.Base(path), len(data), 4*n)
	}
	out := make([]uint32, n)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	return out, nil
}

// WriteBench prints the rows: as JSON the list that whisker calibrate takes.
func WriteBench(w io.Writer, r *BenchResults, format string) error {
	t := &report.Table{Header: []string{"name", "value", "unit", "cpu", "note"}, Left: []int{2, 3, 4}}
	for _, x := range r.Rows {
		v := strconv.FormatFloat(x.Value, 'f', 3, 64)
		if format == "csv" {
			v = full(x.Value)
		}
		t.Add(x.Name, v, x.Unit, x.CPU, x.Note)
	}
	if err := writeRows(w, format, t, r.Rows); err != nil || format != "table" {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s holds these rows; whisker calibrate MACHINE --from %s fits a machine to them\n", r.File, r.File)
	return err
}
