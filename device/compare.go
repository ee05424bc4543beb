package device

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report"
)

// CompareOptions says what to hold against what.
type CompareOptions struct {
	Run       *report.Run
	Path      string  // of the measured files
	Kernel    string  // of several measured ones; "" where it is clear
	Tolerance float64 // relative error up to which a line is within
}

// The verdicts of a Line.
const (
	VerdictWithin      = "within"
	VerdictBeyond      = "beyond"
	VerdictUnmeasured  = "not measured"
	VerdictUnsimulated = "not simulated"
)

// Line is one quantity, simulated and measured.
type Line struct {
	What          string   `json:"what"`
	Unit          string   `json:"unit,omitempty"`
	Simulated     *float64 `json:"simulated"`
	Measured      *float64 `json:"measured"`
	RelativeError *float64 `json:"relative_error"` // simulated / measured - 1
	Verdict       string   `json:"verdict"`
	Note          string   `json:"note,omitempty"`
}

// Comparison is a run held against measurements.
type Comparison struct {
	Kernels   []string `json:"kernels"` // that were measured
	Tolerance float64  `json:"tolerance"`
	Lines     []Line   `json:"lines"`
	Beyond    int      `json:"beyond"`
	// Instructions are those of a thread trace, matched in order.
	Instructions []InstructionLine `json:"instructions,omitempty"`
	Problems     []Problem         `json:"problems,omitempty"`
	Notes        []string          `json:"notes,omitempty"`
}

// InstructionLine is one instruction of a thread trace: cycles a hit.
type InstructionLine struct {
	PC               uint32  `json:"pc"`
	ISA              string  `json:"isa"`
	SimulatedLatency float64 `json:"simulated_latency"`
	MeasuredLatency  float64 `json:"measured_latency"`
	SimulatedStall   float64 `json:"simulated_stall"`
	MeasuredStall    float64 `json:"measured_stall"`
}

// Compare holds a run against measured files.
func Compare(o CompareOptions) (*Comparison, error) {
	if math.IsNaN(o.Tolerance) || o.Tolerance < 0 {
		return nil, badInput("--tolerance is %g; it must be a fraction from 0, such as 0.1", o.Tolerance)
	}
	m, err := Ingest(o.Path)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Tolerance: o.Tolerance, Problems: m.Problems, Notes: m.Notes}
	manifest, err := manifestNear(o.Path)
	if err != nil {
		return nil, err
	}
	if err := sameThing(o.Run, m, manifest); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Path, err)
	}
	kernels, err := choose(o, m, manifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Path, err)
	}
	for _, k := range kernels {
		c.Kernels = append(c.Kernels, k.Name)
	}
	c.times(o.Run, m, kernels)
	c.counters(o.Run, kernels)
	c.instructions(o.Run, m)
	if !slices.ContainsFunc(c.Lines, func(l Line) bool { return l.RelativeError != nil }) {
		return nil, badInput("%s: nothing that was measured there is in the run too", o.Path)
	}
	for _, l := range c.Lines {
		if l.Verdict == VerdictBeyond {
			c.Beyond++
		}
	}
	return c, nil
}

// manifestNear finds the export.json that results belong to: in their folder or in
// the one above; nil when there is none.
func manifestNear(path string) (*Manifest, error) {
	for range 3 {
		if _, err := os.Stat(filepath.Join(path, manifestFile)); err == nil {
			return LoadManifest(path)
		}
		path = filepath.Join(path, "..")
	}
	return nil, nil
}

// sameThing refuses measurements of another GPU, kernel or size.
func sameThing(r *report.Run, m *Measurement, manifest *Manifest) error {
	for _, t := range m.Timing {
		arch, _, _ := strings.Cut(t.Device.Arch, ":")
		switch {
		case arch != r.Machine.CPU:
			return badInput("it was measured on %s; the run is of %s", arch, r.Machine.CPU)
		case t.Kernel != r.Kernel:
			return badInput("it was measured with %s; the run is of %s", t.Kernel, r.Kernel)
		}
	}
	var gpus []string
	for _, a := range m.Agents {
		if a.Type == "GPU" && !slices.Contains(gpus, a.Name) {
			gpus = append(gpus, a.Name)
		}
	}
	if len(gpus) > 0 && !slices.Contains(gpus, r.Machine.CPU) {
		return badInput("it was measured on %s; the run is of %s", strings.Join(gpus, ", "), r.Machine.CPU)
	}
	if manifest == nil {
		return nil
	}
	if manifest.Kernel != r.Kernel {
		return badInput("it was measured with %s; the run is of %s", manifest.Kernel, r.Kernel)
	}
	data, err := json.Marshal(r.Options)
	if err != nil {
		return err
	}
	var have map[string]any
	if err := json.Unmarshal(data, &have); err != nil {
		return err
	}
	for _, o := range manifest.Options {
		if v, ok := have[o.Name]; ok && optionText(v) != o.Value {
			return badInput("it was measured with --%s %s; the run has %s", o.Name, o.Value, optionText(v))
		}
	}
	return nil
}

// optionText writes a JSON value as an option is written.
func optionText(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// choose finds the measured kernels that the run is of.
func choose(o CompareOptions, m *Measurement, manifest *Manifest) ([]*Kernel, error) {
	if o.Kernel != "" {
		if k := m.find(o.Kernel); k != nil {
			return []*Kernel{k}, nil
		}
		return nil, badInput("no kernel %q was measured; there are %s", o.Kernel, list(m.names()))
	}
	var out []*Kernel
	if manifest != nil {
		for _, x := range manifest.Kernels {
			if k := m.find(x.Symbol); k != nil {
				out = append(out, k)
			}
		}
		if len(out) > 0 && len(out) < len(manifest.Kernels) {
			return nil, badInput("only %d of the %d kernels of %s were measured", len(out), len(manifest.Kernels), manifest.Kernel)
		}
		if len(out) > 0 || len(m.Kernels) == 0 {
			return out, nil
		}
	}
	for _, k := range m.Kernels {
		if !runtimeKernel(k.Name) {
			out = append(out, k)
		}
	}
	if len(out) > 1 {
		return nil, badInput("%d kernels were measured: name the one that the run is of with --kernel: %s", len(out), list(m.names()))
	}
	return out, nil
}

func (m *Measurement) names() []string {
	var names []string
	for _, k := range m.Kernels {
		names = append(names, strconv.Quote(k.Name))
	}
	return names
}

// add appends a line with its error and verdict.
func (c *Comparison) add(what, unit string, simulated, measured *float64, note string) {
	l := Line{What: what, Unit: unit, Simulated: simulated, Measured: measured, Note: note}
	switch {
	case simulated == nil:
		l.Verdict = VerdictUnsimulated
	case measured == nil:
		l.Verdict = VerdictUnmeasured
	case *measured == 0:
		if l.Verdict = VerdictBeyond; *simulated == 0 {
			l.Verdict, l.RelativeError = VerdictWithin, new(float64)
		}
	default:
		e := *simulated/(*measured) - 1
		l.RelativeError = &e
		if l.Verdict = VerdictBeyond; math.Abs(e) <= c.Tolerance {
			l.Verdict = VerdictWithin
		}
	}
	c.Lines = append(c.Lines, l)
}

// sumOf adds a statistic over kernels, nil when one of them lacks it.
func sumOf(kernels []*Kernel, get func(*Kernel) *float64) *float64 {
	if len(kernels) == 0 {
		return nil
	}
	sum := 0.0
	for _, k := range kernels {
		v := get(k)
		if v == nil {
			return nil
		}
		sum += *v
	}
	return &sum
}

// times compares times and cycles.
func (c *Comparison) times(r *report.Run, m *Measurement, kernels []*Kernel) {
	var launch *float64
	if len(m.Timing) > 0 {
		launch = &m.Timing[0].Time.MedianUS
	}
	// The measuring program records the second event before it waits.
	own, note := r.TimeUS-r.HostSyncUS, "median of timed launches, launch overhead inside"
	if r.HostSyncUS > 0 {
		note += "; without the host's wait, which is not inside these"
	}
	c.add("time_us", "us", &own, launch, note)
	trace := sumOf(kernels, func(k *Kernel) *float64 {
		if k.TraceUS == nil {
			return nil
		}
		return &k.TraceUS.Median
	})
	c.add("kernel_time_us", "us", &r.KernelTimeUS, trace, "median of the kernel trace")
	cycles := float64(r.Cycles)
	active := sumOf(kernels, func(k *Kernel) *float64 { return meanOf(k, "GRBM_GUI_ACTIVE") })
	if active != nil {
		v := *active / float64(max(r.Machine.XCDs, 1))
		active = &v
	}
	c.add("cycles", "cycles", &cycles, active, "GRBM_GUI_ACTIVE, which counts in every XCD, over the XCDs")
}

func meanOf(k *Kernel, counter string) *float64 {
	if c := k.Counter(counter); c != nil {
		return &c.Mean
	}
	return nil
}

// counters compares the counters of the same name, which have the same meaning.
func (c *Comparison) counters(r *report.Run, kernels []*Kernel) {
	simulated := map[string]float64{}
	var names []string
	for _, x := range r.Counters {
		if x.Name != "GRBM_GUI_ACTIVE" {
			names = append(names, x.Name)
			simulated[x.Name] = float64(x.Value)
		}
	}
	for _, n := range names {
		v := simulated[n]
		c.add(n, "", &v, sumOf(kernels, func(k *Kernel) *float64 { return meanOf(k, n) }), "")
	}
	for _, k := range kernels {
		for _, x := range k.Counters {
			if _, ok := simulated[x.Name]; !ok && x.Name != "GRBM_GUI_ACTIVE" {
				c.add(x.Name, "", nil, &x.Mean, k.Name)
			}
		}
	}
}

// minHits is how often an instruction must have run to be compared.
const minHits = 1

// instructions compares a thread trace with the run's table of instructions.
func (c *Comparison) instructions(r *report.Run, m *Measurement) {
	if len(m.Traces) == 0 {
		return
	}
	if len(r.Instructions) == 0 {
		c.Notes = append(c.Notes, "there is a thread trace, and the run has no table of instructions to compare with: run it with --per-instruction")
		return
	}
	t := m.Traces[0]
	var ours, theirs []string
	for _, i := range r.Instructions {
		ours = append(ours, opcode(i.Text))
	}
	for _, i := range t.Instructions {
		theirs = append(theirs, opcode(i.ISA))
	}
	sums := [4]float64{}
	pairs := 0
	for _, p := range report.AlignLines(ours, theirs) {
		if p[0] < 0 || p[1] < 0 {
			continue
		}
		a, b := &r.Instructions[p[0]], &t.Instructions[p[1]]
		if a.Hits < minHits || b.Hits < minHits {
			continue
		}
		pairs++
		l := InstructionLine{PC: a.PC, ISA: a.Text,
			SimulatedLatency: float64(a.IssueCycles+a.StallCycles) / float64(a.Hits), MeasuredLatency: float64(b.Latency) / float64(b.Hits),
			SimulatedStall: float64(a.StallCycles) / float64(a.Hits), MeasuredStall: float64(b.Stall) / float64(b.Hits)}
		c.Instructions = append(c.Instructions, l)
		for i, v := range []float64{l.SimulatedLatency, l.MeasuredLatency, l.SimulatedStall, l.MeasuredStall} {
			sums[i] += v
		}
	}
	if pairs == 0 {
		c.Notes = append(c.Notes, "no instruction of the thread trace is one of the run's: they are of different kernels")
		return
	}
	note := fmt.Sprintf("cycles a hit, summed over %d matched instructions of %d traced", pairs, len(t.Instructions))
	c.add("latency", "cycles", &sums[0], &sums[1], note)
	c.add("stall", "cycles", &sums[2], &sums[3], note)
}

// opcode is an instruction's first word: registers differ between compilers, and
// texts between disassemblers.
func opcode(text string) string {
	op, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return op
}

// WriteComparison writes a comparison; rows bounds the instructions of the table.
func WriteComparison(w io.Writer, c *Comparison, format string, rows int) error {
	t := &report.Table{Header: []string{"what", "simulated", "measured", "error", "unit", "verdict", "note"}, Left: []int{4, 5, 6}}
	if format == "csv" {
		t.Header = []string{"what", "unit", "simulated", "measured", "relative_error", "verdict", "note"}
	}
	text := func(v *float64) string {
		switch {
		case v == nil && format == "csv":
			return ""
		case v == nil:
			return "-"
		case format == "csv":
			return full(*v)
		}
		return plain(*v)
	}
	for _, l := range c.Lines {
		if format == "csv" {
			t.Add(l.What, l.Unit, text(l.Simulated), text(l.Measured), text(l.RelativeError), l.Verdict, l.Note)
			continue
		}
		e := "-"
		if l.RelativeError != nil {
			e = fmt.Sprintf("%+.1f %%", 100**l.RelativeError)
		}
		t.Add(l.What, text(l.Simulated), text(l.Measured), e, l.Unit, l.Verdict, l.Note)
	}
	if err := writeRows(w, format, t, c); err != nil || format != "table" {
		return err
	}
	var b strings.Builder
	if n := min(rows, len(c.Instructions)); n > 0 {
		b.WriteString("\n")
		worst := slices.Clone(c.Instructions)
		slices.SortStableFunc(worst, func(x, y InstructionLine) int {
			d := math.Abs(y.SimulatedLatency-y.MeasuredLatency) - math.Abs(x.SimulatedLatency-x.MeasuredLatency)
			return int(math.Copysign(math.Ceil(math.Abs(d)), d))
		})
		it := &report.Table{Header: []string{"instruction", "pc", "latency", "measured", "stall", "measured"}}
		for _, l := range worst[:n] {
			it.Add(l.ISA, fmt.Sprintf("%#x", l.PC), plain(l.SimulatedLatency), plain(l.MeasuredLatency), plain(l.SimulatedStall), plain(l.MeasuredStall))
		}
		if _, err := it.WriteTo(&b); err != nil {
			return err
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, p := range c.Problems {
		fmt.Fprintf(&b, "not understood: %s\n", p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Err is the failure of a comparison beyond its tolerance, nil when all is within.
func (c *Comparison) Err() error {
	if c.Beyond == 0 {
		return nil
	}
	var names []string
	for _, l := range c.Lines {
		if l.Verdict == VerdictBeyond {
			names = append(names, l.What)
		}
	}
	return &Failure{errors.New("beyond the tolerance of " + strconv.FormatFloat(100*c.Tolerance, 'f', -1, 64) + " %: " + list(names))}
}
