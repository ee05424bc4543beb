package device

import (
	"fmt"
	"io"
	"strings"

	"github.com/whisker-sim/whisker/report"
)

// WriteMeasurement says what was read.
func WriteMeasurement(w io.Writer, m *Measurement, format string) error {
	t := &report.Table{Header: []string{"kernel", "what", "dispatches", "mean", "median", "min", "max"}, Left: []int{1}}
	for _, k := range m.Kernels {
		name := short(k.Name)
		if format == "csv" {
			name = k.Name
		}
		for _, s := range []struct {
			what string
			s    *Stats
		}{{"time us, kernel trace", k.TraceUS}, {"time us, profiled", k.ProfiledUS}} {
			if s.s != nil {
				t.Add(name, s.what, s.s.N, plain(s.s.Mean), plain(s.s.Median), plain(s.s.Min), plain(s.s.Max))
			}
		}
		for _, c := range k.Counters {
			t.Add(name, c.Name, c.N, plain(c.Mean), plain(c.Median), plain(c.Min), plain(c.Max))
		}
	}
	if err := writeRows(w, format, t, m); err != nil || format != "table" {
		return err
	}
	return m.text(w)
}

// text is what follows the table.
func (m *Measurement) text(w io.Writer) error {
	var b strings.Builder
	b.WriteString("\n")
	for _, x := range m.Timing {
		fmt.Fprintf(&b, "host program: %s on %s, median %.2f us of %d launches (%.2f to %.2f)\n", x.Kernel, x.Device.Arch, x.Time.MedianUS, x.Protocol.Launches, x.Time.MinUS, x.Time.MaxUS)
	}
	for _, x := range m.Traces {
		fmt.Fprintf(&b, "thread trace %s: %d instructions, files of %d waves\n", x.Folder, len(x.Instructions), x.Waves)
	}
	gpus := map[string]int{}
	var order []string
	for _, a := range m.Agents {
		if a.Type == "GPU" {
			what := fmt.Sprintf("%s with %d CUs", a.Name, a.CUs)
			if gpus[what]++; gpus[what] == 1 {
				order = append(order, what)
			}
		}
	}
	for _, what := range order {
		fmt.Fprintf(&b, "GPUs: %d x %s\n", gpus[what], what)
	}
	for _, s := range m.Sources {
		fmt.Fprintf(&b, "%s: %s, %d of %d rows understood\n", s.File, s.Kind, s.Understood, s.Rows)
		if len(s.Unknown) > 0 {
			fmt.Fprintf(&b, "  columns that were not understood and left out: %s\n", list(s.Unknown))
		}
	}
	for _, n := range m.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, p := range m.Problems {
		fmt.Fprintf(&b, "not understood: %s\n", p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// plain is a number for the eye.
func plain(v float64) string {
	if v == float64(int64(v)) && v < 1e15 && v > -1e15 {
		return report.Thousands(int64(v))
	}
	return fmt.Sprintf("%.2f", v)
}

// short is a kernel's name without its template arguments where it is long.
func short(name string) string {
	if len(name) <= 48 {
		return name
	}
	return name[:45] + "..."
}
