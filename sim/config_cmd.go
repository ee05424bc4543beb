package sim

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
)

// ConfigFormats are the formats of ConfigShow: yaml is a machine file.
var ConfigFormats = []string{"yaml", "table", "csv", "json"}

// inertLeaves describe the machine but no mechanism reads them. Setting one is
// refused, so that a what-if never quietly changes nothing.
var inertLeaves = map[string]string{
	"lds.banks":                    "banks and phases of each instruction are those measured on the CPU",
	"lds.unaligned_service_cycles": "the LDS phase table holds that figure",
	"fetch.bytes_per_cycle":        "sequential fetch is taken to run ahead of issue",
	"salu.cadence_cycles":          "a wave issues at most once a visit, which is cu.issue_interval_cycles",
	"salu.load_miss_cycles":        "a scalar load that misses is served by the simulated L2",
	"cu.max_vgprs":                 "it bounds what a kernel can name, not what a CU holds",
	"cu.max_agprs":                 "it bounds what a kernel can name, not what a CU holds",
	"cu.max_sgprs":                 "it bounds what a kernel can name, not what a CU holds",
}

// LoadMachine resolves a built-in machine or, when file is not empty, a
// machine file, and applies the assignments.
func LoadMachine(arch, file string, set []string) (*configs.Resolved, error) {
	ref := arch
	if file != "" {
		ref = file
	}
	r, err := configs.Load(ref)
	if err != nil {
		return nil, asUsage(err)
	}
	return overrideMachine(r, set)
}

// overrideMachine applies assignments to a machine.
func overrideMachine(r *configs.Resolved, set []string) (*configs.Resolved, error) {
	for _, s := range set {
		key, _, _ := strings.Cut(s, "=")
		if why, inert := inertLeaves[strings.TrimSpace(key)]; inert {
			return nil, usagef("--set %s would change nothing: %s", key, why)
		}
	}
	if err := r.SetAll(set); err != nil {
		return nil, asUsage(err)
	}
	return r, nil
}

// MachineInfo is one row of ConfigList.
type MachineInfo struct {
	Name        string `json:"name"`
	CPU         string `json:"cpu"`
	XCDs        int    `json:"xcds"`
	CUs         int    `json:"cus"`
	PeakMHz     int    `json:"peak_mhz"`
	LDSBytes    int    `json:"lds_bytes"`
	Hash        string `json:"hash"`
	Description string `json:"description"`
}

// Machines describes the built-in machines.
func Machines() ([]MachineInfo, error) {
	var rows []MachineInfo
	for _, name := range configs.Names() {
		r, err := configs.Load(name)
		if err != nil {
			return nil, fmt.Errorf("sim: built-in machine: %w", err)
		}
		m := r.Machine()
		rows = append(rows, MachineInfo{m.Name, m.CPU, m.Chip.XCDs, m.Chip.XCDs * m.Chip.CUsPerXCD, m.Clock.PeakMHz, m.LDS.Bytes, r.Hash(), r.Description()})
	}
	return rows, nil
}

// ConfigList writes the built-in machines.
func ConfigList(w io.Writer, format string) error {
	rows, err := Machines()
	if err != nil {
		return err
	}
	t := report.Table{Header: []string{"machine", "cpu", "XCDs", "CUs", "peak MHz", "LDS bytes", "hash", "description"}, Left: []int{1, 6, 7}}
	for _, m := range rows {
		t.Add(m.Name, m.CPU, m.XCDs, m.CUs, m.PeakMHz, m.LDSBytes, m.Hash, m.Description)
	}
	return writeRows(w, format, &t, rows)
}

// leafRow is one row of ConfigShow in JSON.
type leafRow struct {
	Path     string   `json:"path"`
	Value    string   `json:"value"`
	Unit     string   `json:"unit"`
	Class    string   `json:"class"`
	Source   string   `json:"source"`
	FittedOn []string `json:"fitted_on,omitempty"`
}

// ConfigShow writes a resolved machine: every value with its class and source.
func ConfigShow(w io.Writer, machine string, set []string, format string) error {
	if err := CheckFormat(format, ConfigFormats); err != nil {
		return err
	}
	r, err := LoadMachine(machine, "", set)
	if err != nil {
		return err
	}
	if format == "yaml" {
		_, err := io.WriteString(w, r.YAML())
		return err
	}
	var rows []leafRow
	t := report.Table{Header: []string{"key", "value", "unit", "class", "source"}, Left: []int{2, 3, 4}}
	for _, l := range r.Leaves() {
		rows = append(rows, leafRow(l))
		t.Add(l.Path, l.Value, l.Unit, l.Class, l.Source)
	}
	return writeRows(w, format, &t, rows)
}

// difference is one row of ConfigDiff in JSON.
type difference struct {
	Path string `json:"path"`
	Unit string `json:"unit"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// ConfigDiff writes the values in which two machines differ. Each is a
// built-in name or a machine file; set applies to the second.
func ConfigDiff(w io.Writer, a, b string, set []string, format string) error {
	ra, err := LoadMachine(a, "", nil)
	if err != nil {
		return err
	}
	rb, err := LoadMachine(b, "", set)
	if err != nil {
		return err
	}
	rows := []difference{}
	t := report.Table{Header: []string{"key", "unit", a, b}, Left: []int{1}}
	for _, d := range configs.Diff(ra, rb) {
		rows = append(rows, difference{d.Leaf, d.Unit, d.A, d.B})
		t.Add(d.Leaf, d.Unit, orDash(d.A), orDash(d.B))
	}
	if len(rows) == 0 && format == "table" {
		_, err := fmt.Fprintf(w, "%s and %s have the same values\n", a, b)
		return err
	}
	return writeRows(w, format, &t, rows)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// writeRows writes a table, or the same rows as CSV, or rows as a JSON list.
func writeRows(w io.Writer, format string, t *report.Table, rows any) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	switch format {
	case "json":
		return report.WriteJSON(w, rows)
	case "csv":
		c := csv.NewWriter(w)
		return c.WriteAll(append([][]string{t.Header}, t.Rows...))
	}
	_, err := t.WriteTo(w)
	return err
}
