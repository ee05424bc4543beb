package sim

import (
	"embed"
	"encoding/csv"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
)

//go:embed tables/*.csv
var tableFiles embed.FS

// published is one cell of a published table.
type published struct {
	table, row, device, kernel, schedule, tile, shape, metric, unit, note string
	value                                                                 float64
}

// readPublished reads an embedded table by its column names.
func readPublished(name string) ([]published, error) {
	f, err := tableFiles.Open("tables/" + name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("tables/%s: %w", name, err)
	}
	col := map[string]int{}
	for i, h := range rows[0] {
		col[h] = i
	}
	var out []published
	for n, r := range rows[1:] {
		get := func(h string) string {
			if i, ok := col[h]; ok {
				return r[i]
			}
			return ""
		}
		v, err := strconv.ParseFloat(get("value"), 64)
		if err != nil {
			return nil, fmt.Errorf("tables/%s: line %d: %w", name, n+2, err)
		}
		out = append(out, published{get("table"), get("row"), get("device"), get("kernel"), get("schedule"), get("tile"), get("shape"), get("metric"), get("unit"), get("note"), v})
	}
	return out, nil
}

// tableRow is a row of a published table and the run that stands for it.
type tableRow struct {
	table, label string
	paper        float64 // 0: a form that was not published by itself
	metric, unit string
	kind         string
	arch         string
	kernel       string
	options      map[string]string
	note         string
	// streams says that the row is bound by memory and soon run. A sample would
	// be wrong: what one XCD's workgroups read lies on an eighth of the channels.
	streams bool
}

// kv is a map of options, written as a list.
func kv(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// with is a copy of m with further options.
func with(m map[string]string, pairs ...string) map[string]string {
	out := kv(pairs...)
	for k, v := range m {
		if _, ok := out[k]; !ok {
			out[k] = v
		}
	}
	return out
}

// unequal says that the workgroups do unequal work, so that a round of them says
// little.
func (row *tableRow) unequal() bool { return row.options["causal"] == "true" }

// run simulates the row.
func (row *tableRow) run(o ReproduceOptions) (*report.Run, error) {
	if o.Quick && row.unequal() {
		if r, err := row.share(o); r != nil || err != nil {
			return r, err
		}
	}
	run := RunOptions{Kernel: row.kernel, Arch: row.arch, Machine: o.Machine, Set: o.Set, Options: row.options, Mode: "timing", Threads: o.Threads, Seed: 1,
		SampleRounds: o.Rounds, oneXCD: o.Quick && !row.streams}
	if o.Progress != nil {
		run.Progress = func(done, total, cycle int64) { o.Progress(row.label, done, total, cycle) }
	}
	return Run(run)
}

// share runs an XCD's share of the batch, all of its workgroups, on one XCD, and
// counts what all XCDs do. It returns no run where the XCDs' shares are not equal.
func (row *tableRow) share(o ReproduceOptions) (*report.Run, error) {
	machine, err := LoadMachine(row.arch, o.Machine, o.Set)
	if err != nil {
		return nil, err
	}
	set, n := oneXCD(machine.Machine(), false, 0)
	batch, err := strconv.Atoi(row.options["batch"])
	if err != nil {
		return nil, fmt.Errorf("the row's batch: %w", err)
	}
	if batch%n != 0 {
		return nil, nil
	}
	run := RunOptions{Kernel: row.kernel, Arch: row.arch, Machine: o.Machine, Set: append(slices.Clone(o.Set), set...),
		Options: with(row.options, "batch", strconv.Itoa(batch/n)), Mode: "timing", Threads: o.Threads, Seed: 1}
	if o.Progress != nil {
		run.Progress = func(done, total, cycle int64) { o.Progress(row.label, done, total, cycle) }
	}
	r, err := Run(run)
	if err != nil {
		return nil, err
	}
	r.FLOPs, r.UsefulBytes = r.FLOPs*float64(n), r.UsefulBytes*float64(n)
	r.PeakTFLOPSAtClock *= float64(n)
	r.Derive()
	return r, nil
}

// oneXCD are the settings that cut a machine down to one of its XCDs with that
// XCD's share of what all of them use, and how many such shares there are. LLC
// bandwidth and power are shared out. The LLC keeps its size. HBM is whole where XCDs
// read the same lines, since it then reads a line once for all of them, and shared out
// where they do not. What the LLC would fetch ahead beyond rowBytes (0: no limit) is read
// by XCDs that are not there, so that it does not. A round of workgroups on it takes about as long as one on the
// whole machine.
func oneXCD(m *configs.Machine, sharedReads bool, rowBytes int) (settings []string, xcds int) {
	n := m.Chip.XCDs
	if n == 1 {
		return nil, 1
	}
	share := func(key string, v float64) {
		settings = append(settings, key+"="+strconv.FormatFloat(v/float64(n), 'g', -1, 64))
	}
	settings = []string{"chip.xcds=1"}
	share("llc.gbs", m.LLC.GBs)
	// Its share of the links between IODs by what reads need: they come along their row, which
	// the XCDs of all IODs of its column share, and then the column, which those of the IOD do.
	// Writes are shared the other way round, and with more than two rows inner links by more.
	link := func(key string, gbs, sharers float64) {
		settings = append(settings, key+"="+strconv.FormatFloat(gbs/max(1, sharers), 'g', -1, 64))
	}
	link("fabric.east_west_gbs", m.Fabric.EastWestGBs, float64(n)/float64(configs.IODColumns(m.Chip.IODs)))
	link("fabric.north_south_gbs", m.Fabric.NorthSouthGBs, float64(n)/float64(m.Chip.IODs))
	if !sharedReads {
		settings = append(settings, "hbm.stacks="+strconv.Itoa(max(1, m.HBM.Stacks/n)))
		share("hbm.gbs", m.HBM.GBs)
	}
	if rowBytes > 0 && rowBytes < m.LLC.PrefetchBlockBytes {
		block := max(m.LLC.LineBytes, 1<<(bits.Len(uint(rowBytes))-1))
		settings = append(settings, "llc.prefetch_block_bytes="+strconv.Itoa(block))
	}
	share("power.board_w", m.Power.BoardW)
	share("power.static_w", m.Power.StaticW)
	return settings, n
}

// reproduceRows runs a table's rows, or those that o.Row names, and sets them
// beside the published values. What a row gave is kept in the output folder, as
// Table 4's are.
func reproduceRows(o ReproduceOptions, all []tableRow) (*Reproduction, error) {
	rows, err := chosen(o.Table, o.Row, all, func(r tableRow) string { return r.label })
	if err != nil {
		return nil, err
	}
	p := &Reproduction{}
	c := rowCache{out: o.Out, table: o.Table}
	cells := make([]*ReproduceRow, len(rows))
	err = o.eachRow(len(rows), func(int) float64 { return 0 }, func(o ReproduceOptions, i int) (err error) {
		row := &rows[i]
		if row.kind == KindReference {
			cells[i] = &ReproduceRow{Table: row.table, Row: row.label, Kind: row.kind}
		} else if cells[i], err = row.result(o, &c); err != nil {
			return fmt.Errorf("%s: %w", row.label, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, cell := range cells {
		row := &rows[i]
		cell.Metric, cell.Unit, cell.Note = row.metric, row.unit, row.note
		if row.paper != 0 {
			cell.Paper = value(row.paper)
		}
		p.Rows = append(p.Rows, *cell)
	}
	if err := o.sampleErrors(p.Rows); err != nil {
		return nil, err
	}
	p.Text = c.text()
	if o.Quick {
		p.Text = append(p.Text, quickText(p.Rows))
	}
	return p, nil
}

// result is the row's: kept from an earlier run, or simulated and kept.
func (row *tableRow) result(o ReproduceOptions, c *rowCache) (*ReproduceRow, error) {
	key, err := rowKey(row.arch, o.Machine, o.Set, row.label, row.options, o.Quick, o.Rounds) // a map is printed in order of its keys
	if err != nil {
		return nil, err
	}
	if cell := readRow[ReproduceRow](c, row.label, key); cell != nil && cell.Simulated != nil {
		o.say("%s: kept from an earlier run in %s", row.label, c.path(row.label))
		return cell, nil
	}
	began := time.Now()
	r, err := row.run(o)
	o.ended(row.label)
	if err != nil {
		return nil, err
	}
	cell := &ReproduceRow{Table: row.table, Row: row.label, Metric: row.metric, Kind: row.kind, Unit: row.unit, Sampled: r.Sample != nil || o.Quick && !row.streams}
	cell.fill(r)
	o.say("%s: %s %s in %.0f s", row.label, number(cell.Simulated), row.unit, time.Since(began).Seconds())
	return cell, writeRow(c, row.label, key, *cell)
}

// fill takes the row's figures from its run.
func (c *ReproduceRow) fill(r *report.Run) {
	switch c.Metric {
	case "time":
		c.Simulated = value(r.TimeUS / 1000)
	default:
		c.Simulated = value(r.TFLOPS)
	}
	c.Cycles, c.ClockMHz, c.MatrixUtilization = r.Cycles, r.ClockMHz, r.MatrixUtilization
	c.Limiter = Limiter(r)
	c.Why = Why(r)
}

// fullRun is what a sample is held against.
type fullRun struct {
	value float64
	of    string // fullWhole or fullRound
}

// What a fullRun simulated: every workgroup, or the first round of workgroups of
// the whole chip where all of them would take hours.
const (
	fullWhole = "whole run"
	fullRound = "first round of the whole chip"
)

// fullKey is a row's name among the fullRuns. Table 4's rows have several figures.
func (r *ReproduceRow) fullKey() string {
	if r.Table == "4" {
		return r.Table + "/" + r.Row + " " + r.Metric
	}
	return r.Table + "/" + r.Row
}

// sampleErrors holds sampled rows against full runs, which are of the tables' own
// machines and forms.
func (o ReproduceOptions) sampleErrors(rows []ReproduceRow) error {
	known, err := fullRuns()
	if err != nil || !o.Quick || !o.own() {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if full, ok := known[r.fullKey()]; ok && r.Sampled && r.Simulated != nil {
			r.SampleError, r.SampleOf = value(*r.Simulated/full.value-1), full.of
		}
	}
	return nil
}

// own reports whether nothing but the published tables' machines and forms is asked for.
func (o ReproduceOptions) own() bool {
	return len(o.Set) == 0 && (o.Table == "table4" && o.Machine == table4Machine && o.Variant == table4Form || o.Table != "table4" && o.Machine == "")
}

// fullRuns are the values that full runs gave, by table and row.
func fullRuns() (map[string]fullRun, error) {
	f, err := tableFiles.Open("tables/quick.csv")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("tables/quick.csv: %w", err)
	}
	out := map[string]fullRun{}
	for _, r := range rows[1:] {
		v, err := strconv.ParseFloat(r[2], 64)
		if err != nil || v <= 0 {
			return nil, fmt.Errorf("tables/quick.csv: %s: %q is no value", r[1], r[2])
		}
		out[r[0]+"/"+r[1]] = fullRun{v, r[3]}
	}
	return out, nil
}

// quickText says how good the sample is.
func quickText(rows []ReproduceRow) string {
	return "sampled: one XCD with its share of LLC and power, and of HBM where XCDs read lines of their own, ran one round of workgroups of each row, " +
		"of a causal one its share of the batch" + againstFull(rows)
}

// againstFull lists the errors of the sample.
func againstFull(rows []ReproduceRow) string {
	var s strings.Builder
	for _, of := range []string{fullWhole, fullRound} {
		var parts []string
		for _, r := range rows {
			if r.SampleError != nil && r.SampleOf == of {
				name := r.Row
				if r.Table == "4" {
					name += " " + r.Metric
				}
				parts = append(parts, fmt.Sprintf("%s %+.1f %%", name, 100**r.SampleError))
			}
		}
		if len(parts) > 0 {
			s.WriteString("; against the " + of + ": " + strings.Join(parts, ", "))
		}
	}
	return s.String()
}
