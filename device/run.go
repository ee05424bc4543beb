package device

import (
	"bufio"
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

	"github.com/whisker-sim/whisker/report"
)

// RunOptions says which exported folder to run.
type RunOptions struct {
	Dir     string
	Timeout time.Duration // of each step
	Warmup  int           // launches; 0: 500
	Timed   int           // launches; 0: 100
	Log     io.Writer     // what goes on
	root    string        // of the machine; / outside tests
}

// Results is what a run on the device gave.
type Results struct {
	Dir         string       `json:"dir"`
	Steps       []Step       `json:"steps"`
	Problems    []string     `json:"problems,omitempty"`
	Measurement *Measurement `json:"measurement"`
}

// Step is one run of the host program or of the profiler.
type Step struct {
	Name    string `json:"step"`
	Status  string `json:"status"` // ok, failed, timeout or skipped
	Exit    int    `json:"exit"`
	Seconds int    `json:"seconds"`
}

// resultsFolder is where a run's results go, below the exported folder.
const resultsFolder = "results"

// LoadManifest reads export.json of an exported folder.
func LoadManifest(dir string) (*Manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, badInput("%s is no exported folder: it has no %s (whisker device export makes one)", dir, manifestFile)
	case err != nil:
		return nil, badInput("%s: %w", filepath.Join(dir, manifestFile), cause(err))
	}
	m := new(Manifest)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, badInput("%s: %w", filepath.Join(dir, manifestFile), err)
	}
	if m.Kernel == "" || m.CPU == "" || len(m.Kernels) == 0 {
		return nil, badInput("%s names no kernel and no CPU: the export is damaged", filepath.Join(dir, manifestFile))
	}
	return m, nil
}

// Run builds and runs an exported folder on this machine's GPU, collects the
// results below it and checks that they are whole. It changes nothing where a GPU
// or ROCm is missing.
func Run(o RunOptions) (*Results, error) {
	m, err := LoadManifest(o.Dir)
	if err != nil {
		return nil, err
	}
	if o.root == "" {
		o.root = "/"
	}
	h := probe(o.root)
	if missing := h.missing(m.CPU); len(missing) > 0 {
		return nil, &MissingError{missing}
	}
	r := &runner{RunOptions: o, host: h, m: m}
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
	runErr := r.script(partial)
	res := r.check(partial, runErr)
	if err := keepOld(filepath.Join(o.Dir, resultsFolder)); err != nil {
		return nil, err
	}
	res.Dir = filepath.Join(o.Dir, resultsFolder)
	if err := os.Rename(partial, res.Dir); err != nil {
		return nil, err
	}
	if len(res.Problems) > 0 {
		return res, &Failure{fmt.Errorf("%s: %s", res.Dir, strings.Join(res.Problems, "; "))}
	}
	return res, nil
}

// keepOld moves earlier results aside: results.1 and so on.
func keepOld(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for i := 1; ; i++ {
		old := dir + "." + strconv.Itoa(i)
		if _, err := os.Stat(old); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(dir, old)
		}
	}
}

// runner is one run.
type runner struct {
	RunOptions
	host *host
	m    *Manifest
}

// build makes the host program.
func (r *runner) build() error {
	c := exec.Command(r.host.make, "host", "CXX="+r.host.cxx, "ROCM="+r.host.rocm)
	c.Dir = r.Dir
	fmt.Fprintln(r.Log, strings.Join(c.Args, " "))
	if out, err := c.CombinedOutput(); err != nil {
		text := strings.TrimSpace(string(out))
		if len(text) > 2000 {
			text = text[len(text)-2000:]
		}
		return &Failure{fmt.Errorf("%s: the host program does not build: %w\n%s", r.Dir, err, text)}
	}
	return nil
}

// script runs run.sh into a folder.
func (r *runner) script(out string) error {
	abs, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	c := exec.Command("./run.sh", abs)
	c.Dir = r.Dir
	c.Env = append(os.Environ(), "ROCM="+r.host.rocm, "ROCPROFV3="+r.host.profiler)
	for _, v := range []struct {
		name string
		n    int
	}{{"STEP_TIMEOUT", int(r.Timeout.Seconds())}, {"WARMUP", r.Warmup}, {"LAUNCHES", r.Timed}} {
		if v.n > 0 {
			c.Env = append(c.Env, v.name+"="+strconv.Itoa(v.n))
		}
	}
	c.Stdout, c.Stderr = r.Log, r.Log
	return c.Run()
}

// check reads the results and says what is wrong with them.
func (r *runner) check(dir string, runErr error) *Results {
	res := &Results{}
	bad := func(format string, args ...any) { res.Problems = append(res.Problems, fmt.Sprintf(format, args...)) }
	var err error
	if res.Steps, err = readSteps(filepath.Join(dir, "steps.tsv")); err != nil {
		bad("%v", err)
	}
	for _, s := range res.Steps {
		switch s.Status {
		case "timeout":
			bad("step %s ran into its time limit", s.Name)
		case "failed":
			bad("step %s failed with exit code %d%s", s.Name, s.Exit, lastLine(filepath.Join(dir, s.Name+".log")))
		}
	}
	if runErr != nil && len(res.Problems) == 0 {
		bad("run.sh: %v", runErr)
	}
	res.Measurement, err = Ingest(dir)
	if err != nil {
		bad("%v", err)
		return res
	}
	for _, p := range res.Measurement.Problems {
		p.File = strings.TrimPrefix(p.File, dir+string(filepath.Separator))
		bad("%s", p)
	}
	r.checkTiming(res, bad)
	r.checkCounters(res, dir, bad)
	return res
}

// checkTiming looks at what the host program printed.
func (r *runner) checkTiming(res *Results, bad func(string, ...any)) {
	if len(res.Measurement.Timing) == 0 {
		return // its step says why
	}
	t := res.Measurement.Timing[0]
	switch {
	case t.Kernel != r.m.Kernel:
		bad("timing.json is of kernel %s, not of %s", t.Kernel, r.m.Kernel)
	case len(t.TimesUS) == 0:
		bad("timing.json has no times")
	case t.Verify != nil && !t.Verify.Passed:
		bad("the values differ from the reference")
	}
}

// checkCounters looks for counters that a pass was asked for and did not give.
func (r *runner) checkCounters(res *Results, dir string, bad func(string, ...any)) {
	for _, g := range r.m.Counter {
		i := slices.IndexFunc(res.Steps, func(s Step) bool { return s.Name == "counters-"+g.Name })
		if i < 0 || res.Steps[i].Status != "ok" {
			continue
		}
		part, err := Ingest(filepath.Join(dir, "counters-"+g.Name))
		if err != nil {
			bad("step counters-%s left nothing that can be read", g.Name)
			continue
		}
		for _, k := range r.m.Kernels {
			measured := part.find(k.Symbol)
			if measured == nil {
				bad("step counters-%s has no dispatch of %s", g.Name, k.Symbol)
				continue
			}
			for _, c := range g.Counters {
				if measured.Counter(c) == nil {
					bad("step counters-%s did not give %s of %s", g.Name, c, k.Symbol)
				}
			}
		}
	}
}

// find is the measured kernel of a symbol; profilers add .kd to some names.
func (m *Measurement) find(symbol string) *Kernel {
	if k := m.byName[symbol]; k != nil {
		return k
	}
	return m.byName[symbol+".kd"]
}

// readSteps reads what run.sh did.
func readSteps(path string) ([]Step, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("there is no steps.tsv, which a run leaves: %w", cause(err))
	}
	defer f.Close()
	var out []Step
	for s, line := bufio.NewScanner(f), 0; s.Scan(); line++ {
		c := strings.Split(s.Text(), "\t")
		if line == 0 {
			continue
		}
		if len(c) != 4 {
			return out, fmt.Errorf("steps.tsv:%d has %d fields, not 4", line+1, len(c))
		}
		exit, _ := strconv.Atoi(c[2]) // - for a step that was skipped
		seconds, _ := strconv.Atoi(c[3])
		out = append(out, Step{c[0], c[1], exit, seconds})
	}
	return out, nil
}

// lastLine is the end of a step's log, to go into a message.
func lastLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	last := lines[len(lines)-1]
	if last == "" {
		return ""
	}
	if len(last) > 300 {
		last = last[:300] + "..."
	}
	return ": " + last
}

// WriteResults says what a run gave.
func WriteResults(w io.Writer, r *Results, format string) error {
	t := &report.Table{Header: []string{"step", "status", "exit", "seconds"}, Left: []int{1}}
	for _, s := range r.Steps {
		t.Add(s.Name, s.Status, s.Exit, s.Seconds)
	}
	if err := writeRows(w, format, t, r); err != nil || format != "table" {
		return err
	}
	if r.Measurement == nil {
		return nil
	}
	for _, x := range r.Measurement.Timing {
		what := ""
		if x.TFLOPS > 0 {
			what = fmt.Sprintf(", %.1f TFLOPS", x.TFLOPS)
		} else if x.TBs > 0 {
			what = fmt.Sprintf(", %.2f TB/s", x.TBs)
		}
		if _, err := fmt.Fprintf(w, "\n%s on %s: median %.2f us (10 %% below %.2f, 10 %% above %.2f) of %d launches%s\n",
			x.Kernel, x.Device.Arch, x.Time.MedianUS, x.Time.P10US, x.Time.P90US, x.Protocol.Launches, what); err != nil {
			return err
		}
	}
	return nil
}
