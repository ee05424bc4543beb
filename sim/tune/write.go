package tune

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report"
)

// Write writes the result: the simulated candidates, fastest first, with an
// asterisk on the front.
func Write(w io.Writer, r *Result, format string) error {
	if format == "json" {
		return report.WriteJSON(w, r)
	}
	t := &report.Table{Header: []string{"schedule", "tile", "form", "W", "C", "rank", "estimate us", "bound", "cycles", "time us", "TFLOPS", "L2 read hit", "LLC read hit", "beyond L2 GB", "front"}, Left: []int{1, 2, 7}}
	for _, c := range append(slices.Clone(r.Candidates), r.NotSimulated...) {
		own, s := "", c.Simulated
		if c.Own {
			own = " (own)"
		}
		row := []any{c.Schedule, c.Tile, formText(&c), c.Window, fmt.Sprint(c.Chunk, own), c.Rank, fmt.Sprintf("%.1f", c.Estimate.US), c.Estimate.Bound}
		if format == "csv" {
			row[4] = c.Chunk
		}
		if s == nil {
			row = append(row, "-", "-", "-", "-", "-", "-", "not simulated")
		} else if s.Error != "" {
			row = append(row, "-", "-", "-", "-", "-", "-", s.Error)
		} else {
			front := ""
			if s.Front {
				front = "*"
			}
			row = append(row, s.Cycles, fmt.Sprintf("%.1f", s.TimeUS), fmt.Sprintf("%.1f", s.TFLOPS), fmt.Sprintf("%.3f", s.L2Hit), fmt.Sprintf("%.3f", s.LLCHit),
				fmt.Sprintf("%.2f", float64(s.BeyondL2)/1e9), front)
		}
		t.Add(row...)
	}
	if format == "csv" {
		return csv.NewWriter(w).WriteAll(append([][]string{t.Header}, t.Rows...))
	}
	fmt.Fprintf(w, "gemm %s %s on %s: %d candidates estimated, %d simulated\n\n", r.Size, r.DType, r.Machine, r.Considered, r.Simulated)
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	if b := r.Best; b != nil {
		fmt.Fprintf(w, "\nBest: %s -W %d -C %d\n", b.flags(), b.Window, b.Chunk)
	}
	for _, n := range r.Notes {
		if _, err := fmt.Fprintf(w, "Note: %s.\n", n); err != nil {
			return err
		}
	}
	return nil
}

// formText is what a candidate's form is chosen by beside schedule and tile.
func formText(c *Candidate) string {
	var out []string
	for _, s := range c.Choose {
		out = append(out, s.Name+"="+s.Value)
	}
	return strings.Join(out, " ")
}
