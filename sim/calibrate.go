package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
)

// CalibrateOptions says which machine is fitted to what.
type CalibrateOptions struct {
	Machine string // built-in machine or machine file
	From    string // results of the micro suite, as JSON
	Out     string // machine file to write; "": NAME-calibrated.yaml
}

// CalibratedLeaf is a leaf of the machine file that a microbenchmark determines.
type CalibratedLeaf struct {
	Leaf   string `json:"leaf"`
	Unit   string `json:"unit,omitempty"`
	Before string `json:"before"`
	After  string `json:"after"`
	// Status is fitted, confirmed (the value was right) or left, and why.
	Status string `json:"status"`
	Row    string `json:"row"`
	// What the row says, and what the machine gives before and after.
	Measured  *float64 `json:"measured"`
	RowBefore *float64 `json:"row_before,omitempty"`
	RowAfter  *float64 `json:"row_after,omitempty"`
	// Least and Most are the values that give the same rows: a wave issues every
	// few cycles, so that some latencies are seen in steps. After is the largest
	// of them, or Before.
	Least int `json:"least,omitempty"`
	Most  int `json:"most,omitempty"`
}

// Calibration is the outcome.
type Calibration struct {
	Machine string           `json:"machine"`
	From    string           `json:"from"`
	SHA256  string           `json:"sha256"` // of From
	Out     string           `json:"out"`
	Leaves  []CalibratedLeaf `json:"leaves"`
}

// Statuses of a CalibratedLeaf.
const (
	leafFitted    = "fitted"
	leafConfirmed = "confirmed"
)

// fit is a leaf and the row of the micro suite that it sets. Each row depends on
// leaves that come before it in the list and on its own, so that one pass fits
// them all.
type fit struct {
	leaf  string
	rows  func(cpu string) []string // added up
	minus string                    // a row that is taken off, so that what both contain does not count
	// candidates are the values that are possible; nil: every whole number.
	candidates []int
}

// is rows that both CPUs have.
func is(names ...string) func(string) []string { return func(string) []string { return names } }

// matrixRow is the row of a matrix instruction of eight passes, whose interval is
// the pipe's and not the issue's.
func matrixRow(cpu string) []string {
	if cpu == "gfx950" {
		return []string{"mfma/v_mfma_f32_32x32x16_bf16/interval"}
	}
	return []string{"mfma/v_mfma_f32_32x32x8_bf16/interval"}
}

// leafFits are the leaves that the micro suite determines: a change of one comes back
// from the suite's results, exactly.
var leafFits = []fit{
	{leaf: "valu.dependent_cycles", rows: is("valu/v_fma_f32/latency")},
	{leaf: "valu.trans_cycles", rows: is("valu/v_exp_f32/interval")},
	{leaf: "valu.double_cycles", rows: is("valu/v_fma_f64/interval")},
	{leaf: "mfma.pass_cycles", rows: matrixRow},
	{leaf: "cu.branch_taken_cycles", rows: is("branch/taken")},
	{leaf: "cu.barrier_cycles", rows: is("barrier/waves1")},
	{leaf: "lds.pair_port_bytes_per_cycle", rows: is("lds/ds_read_b128/conflict1/waves1"), candidates: []int{16, 32, 64, 128, 256}},
	// A conflict adds a cycle, once the banks take longer than the port: of four rows
	// one crosses a step of the issue at each value.
	{leaf: "lds.latency_cycles", rows: is("lds/ds_read_b32/latency/conflict5", "lds/ds_read_b32/latency/conflict6", "lds/ds_read_b32/latency/conflict7", "lds/ds_read_b32/latency/conflict8")},
	{leaf: "valu.address_cycles", rows: is("lds/ds_read_b32/latency-after-valu"), minus: "lds/ds_read_b32/latency/conflict1"},
	{leaf: "salu.load_latency_cycles", rows: is("chase/scalar/8KiB")},
	{leaf: "tcp.hit_latency_cycles", rows: is("chase/vector/16KiB")},
	{leaf: "l2.hit_latency_cycles", rows: is("chase/vector/1MiB")},
	{leaf: "hbm.latency_ns", rows: is("chase/vector/1GiB"), minus: "chase/vector/64MiB"},
}

// How far a row may be from its measured value after the fit, as a fraction and in
// the row's unit, for its leaf to be taken.
const (
	fitShare = 0.05
	fitUnits = 0.75
)

// Calibrate fits a machine and writes what differs as a machine file.
func Calibrate(o CalibrateOptions) (*Calibration, error) {
	m, err := LoadMachine("", o.Machine, nil)
	if err != nil {
		return nil, err
	}
	data, err := readBounded(o.From, maxSourceBytes)
	if err != nil {
		return nil, &UsageError{fmt.Errorf("--from: %w", err)}
	}
	cpu := m.Machine().CPU
	rows, err := microResults(data, cpu)
	if err != nil {
		return nil, usagef("%s: %w", o.From, err)
	}
	sum := sha256.Sum256(data)
	if o.Out == "" {
		o.Out = m.Machine().Name + "-calibrated.yaml"
	}
	if same, err := samePath(o.Out, o.Machine); err != nil || same {
		return nil, usagef("--out %s is the machine file itself: choose another name", o.Out)
	}
	c := &calibrator{machine: m.Clone(), measured: rows, cpu: cpu}
	out := &Calibration{Machine: o.Machine, From: o.From, SHA256: hex.EncodeToString(sum[:]), Out: o.Out}
	for i := range leafFits {
		leaf, err := c.fit(&leafFits[i])
		if err != nil {
			return nil, err
		}
		out.Leaves = append(out.Leaves, *leaf)
	}
	if !slices.ContainsFunc(out.Leaves, func(l CalibratedLeaf) bool { return l.taken() }) {
		return nil, usagef("%s: no row of it determines a leaf", o.From)
	}
	text, err := out.machineFile(o.Machine, m.Machine().Name)
	if err != nil {
		return nil, err
	}
	return out, writeWhole(o.Out, []byte(text))
}

func samePath(a, b string) (bool, error) {
	x, err := filepath.Abs(a)
	if err != nil {
		return false, err
	}
	y, err := filepath.Abs(b)
	return x == y, err
}

func (l *CalibratedLeaf) taken() bool { return l.Status == leafFitted || l.Status == leafConfirmed }

// microResults reads the rows of a micro suite's JSON.
func microResults(data []byte, cpu string) (map[string]float64, error) {
	var rows []struct {
		Name  string   `json:"name"`
		Value *float64 `json:"value"`
		CPU   string   `json:"cpu"`
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
			return nil, errors.New("it is no list of rows with name, value and cpu, as whisker run --suite micro --format json and whisker device bench write")
		}
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	out := map[string]float64{}
	for i, r := range rows {
		switch {
		case r.Name == "" || r.Value == nil:
			return nil, fmt.Errorf("row %d has no name or no value", i+1)
		case r.CPU != cpu:
			return nil, fmt.Errorf("row %s was measured on %q, and the machine's CPU is %s", r.Name, r.CPU, cpu)
		case *r.Value <= 0 || *r.Value > 1e12:
			return nil, fmt.Errorf("row %s is %g, which no measurement gives", r.Name, *r.Value)
		}
		if _, twice := out[r.Name]; twice {
			return nil, fmt.Errorf("row %s stands there twice", r.Name)
		}
		out[r.Name] = *r.Value
	}
	if len(out) == 0 {
		return nil, errors.New("it has no rows")
	}
	return out, nil
}

// calibrator is a fit under way.
type calibrator struct {
	machine  *configs.Resolved // with what was fitted so far
	measured map[string]float64
	cpu      string
}

// simulate gives a row with the leaf at a value.
func (c *calibrator) simulate(f *fit, v int) (float64, error) {
	m := c.machine.Clone()
	if err := m.SetAll([]string{f.leaf + "=" + strconv.Itoa(v)}); err != nil {
		return 0, err
	}
	b, err := newMicroBench(MicroOptions{Machine: m, Threads: 1}, false)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, name := range f.rows(c.cpu) {
		x, err := b.row(name)
		if err != nil {
			return 0, err
		}
		sum += x
	}
	if f.minus == "" {
		return sum, nil
	}
	less, err := b.row(f.minus)
	return sum - less, err
}

// row measures one row of the suite.
func (b *microBench) row(name string) (float64, error) {
	for _, p := range workloads.MicroSuite(b.cpu) {
		if p.Name == name {
			r, err := b.point(&p)
			return r.Value, err
		}
	}
	return 0, fmt.Errorf("the micro suite of %s has no row %s", b.cpu, name)
}

// fit finds the value of one leaf and puts it into the machine.
func (c *calibrator) fit(f *fit) (*CalibratedLeaf, error) {
	l := &CalibratedLeaf{Leaf: f.leaf, Row: strings.Join(f.rows(c.cpu), " + ")}
	before, err := leafOf(c.machine, f.leaf)
	if err != nil {
		return nil, err
	}
	l.Unit, l.Before, l.After = before.Unit, before.Value, before.Value
	target, ok := 0.0, true
	for _, name := range f.rows(c.cpu) {
		x, have := c.measured[name]
		target, ok = target+x, ok && have
	}
	if f.minus != "" {
		l.Row += " - " + f.minus
		less, both := c.measured[f.minus]
		target, ok = target-less, ok && both
	}
	if !ok {
		l.Status = "left: not measured"
		return l, nil
	}
	l.Measured = &target
	was, err := strconv.ParseFloat(before.Value, 64)
	if err != nil || was != math.Trunc(was) {
		l.Status = "left: " + before.Value + " is no whole number"
		return l, nil
	}
	s := &search{at: func(v int) (float64, error) { return c.simulate(f, v) }, target: target, known: map[int]float64{}}
	rowBefore, err := s.value(int(was))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.leaf, err)
	}
	l.RowBefore = &rowBefore
	best, least, most, sharp, err := s.best(int(was), f.candidates)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.leaf, err)
	}
	got := s.known[best]
	switch off := math.Abs(got - target); {
	case !sharp:
		l.Status = "left: the row does not tell its values apart"
	case off > max(fitShare*math.Abs(target), fitUnits):
		l.Status = fmt.Sprintf("left: no value gives the row, the nearest is %d with %.4g", best, got)
	default:
		l.After, l.RowAfter, l.Status, l.Least, l.Most = strconv.Itoa(best), &got, leafFitted, least, most
		if best == int(was) {
			l.Status = leafConfirmed
		}
		return l, c.machine.SetAll([]string{f.leaf + "=" + l.After})
	}
	return l, nil
}

func leafOf(m *configs.Resolved, path string) (configs.Leaf, error) {
	for _, l := range m.Leaves() {
		if l.Path == path {
			return l, nil
		}
	}
	return configs.Leaf{}, fmt.Errorf("the machine has no leaf %s", path)
}

// Write prints before and after.
func (c *Calibration) Write(w io.Writer, format string) error {
	t := &report.Table{Header: []string{"leaf", "before", "after", "same rows", "unit", "row", "measured", "simulated before", "after", "status"}, Left: []int{4, 5, 9}}
	number := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return strconv.FormatFloat(*v, 'f', 3, 64)
	}
	for _, l := range c.Leaves {
		t.Add(l.Leaf, l.Before, l.After, l.alike(), l.Unit, l.Row, number(l.Measured), number(l.RowBefore), number(l.RowAfter), l.Status)
	}
	if err := writeRows(w, format, t, c); err != nil || format != "table" {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s inherits %s; %s has sha256 %s\n", c.Out, c.Machine, c.From, c.SHA256)
	return err
}

// alike are the values that give the same rows as After.
func (l *CalibratedLeaf) alike() string {
	if l.Most == l.Least {
		return "-"
	}
	return fmt.Sprintf("%d..%d", l.Least, l.Most)
}

// machineFile is the machine with the leaves that were determined.
func (c *Calibration) machineFile(base, name string) (string, error) {
	if !slices.Contains(configs.Names(), strings.ToLower(base)) {
		from, err := filepath.Abs(filepath.Dir(c.Out))
		if err != nil {
			return "", err
		}
		to, err := filepath.Abs(base)
		if err != nil {
			return "", err
		}
		if base, err = filepath.Rel(from, to); err != nil {
			base = to
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s with what a run of the micro suite determines, written by whisker calibrate.\nname: %s-calibrated\nbase: %q\ndescription: %q\n",
		name, name, base, fmt.Sprintf("%s, calibrated from %s", name, filepath.Base(c.From)))
	groups := map[string][]string{}
	var order []string
	for _, l := range c.Leaves {
		if !l.taken() {
			continue
		}
		group, key, _ := strings.Cut(l.Leaf, ".")
		if groups[group] == nil {
			order = append(order, group)
		}
		source := fmt.Sprintf("%s sha256 %s: %s is %.6g; simulated %.6g", filepath.Base(c.From), c.SHA256, l.Row, *l.Measured, *l.RowAfter)
		if l.Most > l.Least {
			source += fmt.Sprintf(", as with %d to %d", l.Least, l.Most)
		}
		groups[group] = append(groups[group], fmt.Sprintf("  %s: {value: %s, class: measured, source: %q}\n", key, l.After, source))
	}
	for _, g := range order {
		fmt.Fprintf(&b, "\n%s:\n%s", g, strings.Join(groups[g], ""))
	}
	return b.String(), nil
}
