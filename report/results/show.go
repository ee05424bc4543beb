package results

import (
	"fmt"
	"io"
	"strconv"

	"github.com/whisker-sim/whisker/report"
)

// DefaultMetrics are the figures of the table unless others are asked for.
var DefaultMetrics = []string{"cycles", "time_us", "tflops", "peak_share", "matrix_utilization", "l2.hit_rate", "llc.hit_rate"}

// WriteTable writes one line a point: its values on the axes and the figures
// asked for, by their JSON keys; a failed point's message stands last.
func (f *File) WriteTable(w io.Writer, metrics []string) error {
	s, err := f.Study()
	if err != nil {
		return err
	}
	t := &report.Table{Header: []string{"run"}}
	for _, a := range s.Axes {
		t.Header = append(t.Header, a.Key)
	}
	t.Header = append(append(t.Header, metrics...), "status")
	t.Left = []int{len(t.Header) - 1}
	if err := f.known(metrics); err != nil {
		return err
	}
	err = f.EachRun(func(r *Record, run *report.Run) error {
		row := []string{strconv.Itoa(r.Point)}
		for _, set := range r.Settings {
			if set.Axis {
				row = append(row, set.Value)
			}
		}
		for _, m := range metrics {
			row = append(row, cell(run, m))
		}
		status := r.Status
		if r.Message != "" {
			status += ": " + r.Message
		}
		t.Rows = append(t.Rows, append(row, status))
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	if missing := s.Points - len(t.Rows); missing > 0 {
		_, err = fmt.Fprintf(w, "%d of %d points are not there yet; the sweep goes on where it stopped\n", missing, s.Points)
	}
	return err
}

// cell prints a figure of a run, "-" when it has none.
func cell(run *report.Run, metric string) string {
	if run == nil {
		return "-"
	}
	for _, v := range report.Values(run) {
		if v.Path() != metric {
			continue
		}
		if v.Value == float64(int64(v.Value)) {
			return strconv.FormatInt(int64(v.Value), 10)
		}
		return strconv.FormatFloat(v.Value, 'g', 5, 64)
	}
	return "-"
}

// known refuses a metric that no run of the file has.
func (f *File) known(metrics []string) error {
	var first *report.Run
	err := f.EachRun(func(_ *Record, run *report.Run) error {
		if first == nil {
			first = run
		}
		return nil
	})
	if err != nil || first == nil {
		return err
	}
	for _, m := range metrics {
		if _, err := report.Figure(first, m); err != nil {
			return &Error{f.path, err.Error()}
		}
	}
	return nil
}

// EachRun hands over the points in order; run is nil for a point without one.
func (f *File) EachRun(do func(*Record, *report.Run) error) error {
	points, err := f.Points()
	if err != nil {
		return err
	}
	for _, p := range points {
		r, err := f.Get(p)
		if err != nil {
			return err
		}
		run, err := r.GetRun()
		if err != nil {
			return err
		}
		if err := do(r, run); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes a list with one object a point.
func (f *File) WriteJSON(w io.Writer) error {
	type row struct {
		Run      int               `json:"run"`
		Status   string            `json:"status"`
		Message  string            `json:"message,omitempty"`
		Settings map[string]string `json:"settings"`
		Result   *report.Run       `json:"result,omitempty"`
	}
	rows := []row{}
	err := f.EachRun(func(r *Record, run *report.Run) error {
		out := row{r.Point, r.Status, r.Message, map[string]string{}, run}
		if run != nil {
			run.Instructions = nil
		}
		for _, set := range r.Settings {
			out.Settings[set.Key] = set.Value
		}
		rows = append(rows, out)
		return nil
	})
	if err != nil {
		return err
	}
	return report.WriteJSON(w, rows)
}
