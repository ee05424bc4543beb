package study

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/results"
	"github.com/whisker-sim/whisker/workloads"
)

// What a point costs the computer that simulates it. Measured on GEMMs of 512
// to 4096 on two cores of a 2.x GHz server; the host log of an earlier sweep
// into the same file replaces the rate.
const (
	instsPerSecond = 0.9e6 // wave instructions on one thread
	setUpSeconds   = 0.15
	baseBytes      = 60 << 20
	bytesPerByte   = 2.6 // of the kernel's buffers: tags and page tables of the memory model
)

// Estimate is what a point is likely to cost.
type Estimate struct {
	Point            int
	Settings         []results.Setting
	WaveInstructions int64
	Seconds          float64
	Bytes            int64
	Note             string // why it will fail, or why there is no estimate
}

// cost is the part of an estimate that the kernel alone decides.
type cost struct {
	insts, bytes int64
	note         string
}

// Estimates prices every point that the results file does not have; out may be
// a file that does not exist.
func (s *Study) Estimates(out string) ([]Estimate, error) {
	rate := instsPerSecond
	if r := pastRate(HostFile(out)); r > 0 {
		rate = r
	}
	known := map[string]cost{}
	var all []Estimate
	for p, err := range s.Points() {
		if err != nil {
			return nil, err
		}
		c, err := s.price(p, known)
		if err != nil {
			return nil, err
		}
		e := Estimate{Point: p.Index, Settings: p.Settings, WaveInstructions: c.insts, Note: c.note}
		if c.note == "" {
			e.Seconds, e.Bytes = setUpSeconds+float64(c.insts)/rate, c.bytes
		}
		all = append(all, e)
	}
	return all, nil
}

// price builds the point's kernel, once for all points that have the same.
func (s *Study) price(p Point, known map[string]cost) (cost, error) {
	o, err := s.runOptions(p)
	if err != nil {
		return cost{}, err
	}
	if p.get("launch", "") != "" {
		return cost{note: "a code object: no estimate"}, nil
	}
	machine, err := s.machine(s.machineRef(p.get("machine", defaultMachine)))
	if err != nil {
		return cost{}, err
	}
	if err := machine.SetAll(o.Set); err != nil {
		return cost{note: err.Error()}, nil
	}
	m := machine.Machine()
	r := workloads.Request{XCDs: m.Chip.XCDs, Seed: o.Seed, LDSBytes: m.LDS.Bytes, Options: s.options(p)}
	for _, c := range []isa.CPU{isa.GFX942, isa.GFX950} {
		if c.String() == m.CPU {
			r.CPU = c
		}
	}
	id := fmt.Sprint(o.Kernel, r)
	c, ok := known[id]
	if !ok {
		c = build(o.Kernel, r)
		known[id] = c
	}
	return c, nil
}

// build counts what a launch will issue, and its buffers.
func build(kernel string, r workloads.Request) cost {
	job, err := workloads.Build(kernel, r)
	if err != nil {
		return cost{note: oneLine(err.Error())}
	}
	c := cost{bytes: baseBytes}
	for _, b := range job.Kernels {
		n := len(b.Launch.Kernel.Insts) + (b.LoopEnd-b.LoopStart)*max(b.LoopTrips-1, 0)
		c.insts += int64(n) * int64(b.Launch.NumWorkgroups()) * int64(b.Waves)
	}
	for _, region := range job.Kernels[0].Launch.Memory.Regions() {
		c.bytes += int64(bytesPerByte * float64(region.Size))
	}
	return c
}

// options are the settings that the point's kernel takes.
func (s *Study) options(p Point) map[string]string {
	kernel := p.get("kernel", "")
	own := map[string]bool{}
	for _, k := range optionKeys(kernel) {
		own[k] = true
	}
	options := map[string]string{}
	for _, set := range p.Settings {
		if own[set.Key] {
			options[strings.ReplaceAll(set.Key, "_", "-")] = set.Value
		}
	}
	spreadSize(options)
	return options
}

// pastRate is the mean wave instructions a second of an earlier sweep, 0 when
// there was none.
func pastRate(path string) float64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	c := csv.NewReader(f)
	c.FieldsPerRecord = -1
	insts, seconds := 0.0, 0.0
	for {
		row, err := c.Read()
		if err != nil {
			break
		}
		if len(row) < len(hostColumns) {
			continue
		}
		s, err1 := strconv.ParseFloat(row[2], 64)
		r, err2 := strconv.ParseFloat(row[3], 64)
		if err1 == nil && err2 == nil {
			insts, seconds = insts+r*s, seconds+s
		}
	}
	return report.Ratio(insts, seconds)
}

// DryRun lists the points with their estimates and what they add up to.
func DryRun(w io.Writer, s *Study, o Options, format string) error {
	all, err := s.Estimates(o.Out)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return usagef("study %s: no point satisfies its conditions", s.path)
	}
	jobs := max(1, min(o.Jobs, len(all)))
	switch format {
	case "json":
		return report.WriteJSON(w, dryRows(all))
	case "csv", "table":
	default:
		return usagef("unknown --format %q: choose table, csv or json", format)
	}
	t := dryTable(s, all)
	if format == "csv" {
		return csv.NewWriter(w).WriteAll(append([][]string{t.Header}, t.Rows...))
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	total, longest, most := 0.0, 0.0, int64(0)
	for _, e := range all {
		total, longest, most = total+e.Seconds, max(longest, e.Seconds), max(most, e.Bytes)
	}
	_, err = fmt.Fprintf(w, "%d points: about %v on %d at once, up to %d MB each\n", len(all),
		time.Duration(max(total/float64(jobs), longest)*float64(time.Second)).Round(time.Second), jobs, most>>20)
	return err
}

func dryRows(all []Estimate) any {
	type row struct {
		Point            int               `json:"point"`
		Settings         map[string]string `json:"settings"`
		WaveInstructions int64             `json:"wave_instructions"`
		Seconds          float64           `json:"seconds"`
		MemoryBytes      int64             `json:"memory_bytes"`
		Note             string            `json:"note,omitempty"`
	}
	rows := make([]row, len(all))
	for i, e := range all {
		rows[i] = row{e.Point, map[string]string{}, e.WaveInstructions, e.Seconds, e.Bytes, e.Note}
		for _, set := range e.Settings {
			rows[i].Settings[set.Key] = set.Value
		}
	}
	return rows
}

func dryTable(s *Study, all []Estimate) *report.Table {
	t := &report.Table{Header: []string{"point"}}
	for _, a := range s.Axes() {
		t.Header = append(t.Header, a.Key)
	}
	t.Header = append(t.Header, "seconds", "MB", "note")
	for _, e := range all {
		row := []string{strconv.Itoa(e.Point)}
		for _, set := range e.Settings {
			if set.Axis {
				row = append(row, set.Value)
			}
		}
		t.Rows = append(t.Rows, append(row, strconv.FormatFloat(e.Seconds, 'f', 1, 64), strconv.FormatInt(e.Bytes>>20, 10), e.Note))
	}
	return t
}

// dimensions are what size sets.
var dimensions = []string{"m", "n", "k"}

// spreadSize puts m, n and k for size, where they are not given.
func spreadSize(options map[string]string) {
	size, ok := options[sizeKey]
	if !ok {
		return
	}
	delete(options, sizeKey)
	for _, d := range dimensions {
		if _, given := options[d]; !given {
			options[d] = size
		}
	}
}
