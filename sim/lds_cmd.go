package sim

import (
	"io"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/lds"
	"github.com/whisker-sim/whisker/report"
)

// LDSOptions is one access of a wave to explain.
type LDSOptions struct {
	Op      string // mnemonic
	Arch    string // machine or LLVM processor
	Layout  string // layout name, stride=N or addresses=FILE
	Swizzle bool   // show the layout's swizzled addresses
	Access  int    // which access of the layout's register tile
}

// LDSAnalyze writes the phases, banks and conflicts of one LDS access. As CSV
// it is one row a lane.
func LDSAnalyze(w io.Writer, o LDSOptions, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	cpu := strings.ToLower(o.Arch)
	if !strings.HasPrefix(cpu, "gfx") {
		machine, err := configs.Load(o.Arch)
		if err != nil {
			return asUsage(err)
		}
		cpu = machine.Machine().CPU
	}
	r, err := lds.AnalyzeQuery(lds.Query{Op: o.Op, Arch: cpu, Source: o.Layout, Swizzle: o.Swizzle, Access: o.Access})
	if err != nil {
		return &UsageError{err}
	}
	if format == "table" {
		return r.WriteText(w)
	}
	t := report.Table{Header: []string{"lane", "phase", "address", "first_bank", "last_bank"}}
	for _, l := range r.Lanes {
		t.Add(l.Lane, l.Phase, l.Address, l.FirstBank, l.LastBank)
	}
	return writeRows(w, format, &t, r)
}

// layoutNames lists the layouts that LDSAnalyze knows.
func layoutNames() []string {
	var names []string
	for _, l := range lds.Layouts() {
		names = append(names, l.Name)
	}
	return names
}
