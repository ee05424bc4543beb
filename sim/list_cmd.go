package sim

import (
	"io"
	"strings"

	"github.com/whisker-sim/whisker/report"
)

// Listing is what ListAll writes as JSON.
type Listing struct {
	Kernels  []KernelInfo  `json:"kernels"`
	Machines []MachineInfo `json:"machines"`
	Flags    []FlagValues  `json:"flags"`
}

// FlagValues are the words that a flag takes.
type FlagValues struct {
	Flag   string   `json:"flag"`
	Values []string `json:"values"`
}

// ListAll writes what can be named on the command line: kernels, machines and
// the words that flags take.
func ListAll(w io.Writer, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	machines, err := Machines()
	if err != nil {
		return err
	}
	l := Listing{Kernels, machines, []FlagValues{
		{"--mode", Modes}, {"--schedule", Schedules}, {"--mfma", MFMAShapes}, {"--dtype", DTypes}, {"--format", report.Formats},
		{"--layout", layoutNames()}, {"--suite", Suites},
	}}
	if format == "json" {
		return report.WriteJSON(w, l)
	}
	t := report.Table{Header: []string{"kind", "name", "what it is"}, Left: []int{1, 2}}
	for _, k := range l.Kernels {
		t.Add("kernel", k.Name, k.Doc)
	}
	for _, m := range l.Machines {
		t.Add("machine", m.Name, m.Description)
	}
	for _, f := range l.Flags {
		t.Add("values of", f.Flag, strings.Join(f.Values, ", "))
	}
	return writeRows(w, format, &t, nil)
}
