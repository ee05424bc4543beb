package device

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/whisker-sim/whisker/report"
)

// writeRows writes a table as text or CSV, or value as JSON.
func writeRows(w io.Writer, format string, t *report.Table, value any) error {
	switch format {
	case "json":
		return report.WriteJSON(w, value)
	case "csv":
		return csv.NewWriter(w).WriteAll(append([][]string{t.Header}, t.Rows...))
	}
	_, err := t.WriteTo(w)
	return err
}

// WriteManifest says what an export holds.
func WriteManifest(w io.Writer, dir string, m *Manifest, format string) error {
	t := &report.Table{Header: []string{"kernel", "workgroups", "work-items", "VGPRs", "AGPRs", "LDS B", "code B", "object by"}, Left: []int{7}}
	for _, k := range m.Kernels {
		t.Add(k.Symbol, k.Workgroups[0]*k.Workgroups[1]*k.Workgroups[2], k.Workgroup[0], k.VGPRs, k.AGPRs, k.LDSBytes, k.Code, k.Assembler)
	}
	if err := writeRows(w, format, t, m); err != nil || format != "table" {
		return err
	}
	var files uint64
	for _, r := range m.Regions {
		if r.File != "" {
			files += r.Bytes
		}
	}
	_, err := fmt.Fprintf(w, "\n%s: %s for %s with %s of inputs; make there, then ./run.sh, or whisker device run %s\n", dir, m.Kernel, m.CPU, sizeText(files), dir)
	return err
}

// full is a number as it is.
func full(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
