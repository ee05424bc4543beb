package sim

import (
	"fmt"
	"io"
	"strings"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads"
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

// FormRow is one form of a kernel, as "whisker list kernels" lists it.
type FormRow struct {
	Kernel          string   `json:"kernel"`
	CPU             string   `json:"cpu"`
	DType           string   `json:"dtype,omitempty"`
	Variant         string   `json:"variant,omitempty"`
	Schedule        string   `json:"schedule"`
	ChosenBy        []string `json:"chosen_by,omitempty"` // further flags that choose the form
	Tile            string   `json:"tile"`
	Waves           int      `json:"waves"`
	VGPRs           int      `json:"vgprs"`
	AGPRs           int      `json:"agprs"`
	SGPRs           int      `json:"sgprs"`
	LDSBytes        int      `json:"lds_bytes"`
	LDSUsed         int      `json:"lds_used"`
	ScratchBytes    int      `json:"scratch_bytes"`
	WavesPerSIMD    int      `json:"waves_per_simd"`
	WorkgroupsPerCU int      `json:"workgroups_per_cu"`
	Limiter         string   `json:"limiter"`
	Summary         string   `json:"summary"`
	Options         []string `json:"options"`
}

// ListKernels writes every form of every kernel with its registers, LDS and
// occupancy, and the options that each kernel takes.
func ListKernels(w io.Writer, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	var rows []FormRow
	t := report.Table{Header: []string{"kernel", "cpu", "type", "schedule", "tile", "waves", "VGPRs", "AGPRs", "SGPRs", "LDS used", "waves a SIMD", "limited by", "LDS requested", "what it is", "further chosen by"}, Left: []int{0, 1, 2, 3, 4, 11, 13, 14}}
	for _, f := range workloads.List() {
		r := FormRow{Kernel: f.Name, CPU: f.CPU.String(), DType: f.DType, Variant: f.Variant, Schedule: f.Schedule, Tile: f.Tile, Waves: f.Waves, VGPRs: f.VGPRs, AGPRs: f.AGPRs, SGPRs: f.SGPRs,
			LDSBytes: f.LDSBytes, LDSUsed: f.LDSUsed, ScratchBytes: f.ScratchBytes, WavesPerSIMD: f.WavesPerSIMD, WorkgroupsPerCU: f.WorkgroupsPerCU,
			Limiter: f.Limit, Summary: f.Summary}
		for _, o := range f.Options {
			r.Options = append(r.Options, o.Name)
		}
		for _, c := range f.Choose {
			r.ChosenBy = append(r.ChosenBy, "--"+c.Name+" "+c.Value)
		}
		rows = append(rows, r)
		t.Add(r.Kernel, r.CPU, strings.TrimSpace(r.DType+" "+r.Variant), r.Schedule, r.Tile, fmt.Sprint(r.Waves), fmt.Sprint(r.VGPRs), fmt.Sprint(r.AGPRs), fmt.Sprint(r.SGPRs), fmt.Sprint(r.LDSUsed),
			fmt.Sprint(r.WavesPerSIMD), r.Limiter, fmt.Sprint(r.LDSBytes), r.Summary, strings.Join(r.ChosenBy, " "))
	}
	if format == "json" {
		return report.WriteJSON(w, rows)
	}
	if err := writeRows(w, format, &t, nil); err != nil || format == "csv" {
		return err
	}
	for _, d := range workloads.Definitions {
		o := report.Table{Header: []string{"--" + d.Name + " options", "default", "values", "what it is"}, Left: []int{0, 1, 2, 3}}
		o.Header[0] = d.Name
		for _, opt := range d.Options() {
			o.Add("--"+opt.Name, opt.Default, opt.Values, opt.Help)
		}
		fmt.Fprintln(w)
		if err := writeRows(w, format, &o, nil); err != nil {
			return err
		}
	}
	return nil
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
	l := Listing{Kernels(), machines, []FlagValues{
		{"--mode", Modes}, {"--format", report.Formats},
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
