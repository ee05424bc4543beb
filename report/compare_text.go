package report

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// WriteComparison writes a comparison in one of Formats; the table shows at
// most rows opcodes and instructions, and the rest in one line each, so that
// every list still sums to the difference.
func WriteComparison(w io.Writer, c *Comparison, format string, rows int) error {
	switch format {
	case "json":
		return WriteJSON(w, c)
	case "csv":
		return c.writeCSV(w)
	}
	return c.writeText(w, rows)
}

func (c *Comparison) writeText(w io.Writer, rows int) error {
	var b strings.Builder
	for _, s := range []struct {
		letter string
		side   Side
	}{{"A", c.A}, {"B", c.B}} {
		o := s.side.Options
		fmt.Fprintf(&b, "%s  %s: %s on %s", s.letter, s.side.Name, s.side.Kernel, s.side.Arch)
		switch {
		case len(o.Other) > 0:
			fmt.Fprintf(&b, ", %s", o.String())
		case o.M > 0:
			fmt.Fprintf(&b, ", %dx%dx%d %s, tile %s, %s, W %d, C %d", o.M, o.N, o.K, o.DType, o.Tile, o.Schedule, o.Window, o.Chunk)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nCYCLES  A %s, B %s: %+d (%+.2f %%)\n", Thousands(int64(c.Cycles.A)), Thousands(int64(c.Cycles.B)), int64(c.Cycles.Change), 100*c.Cycles.Relative)
	b.WriteString("\nWHERE THE DIFFERENCE IS, in cycles: each run's cycles, shared out over its wave-cycles, but for the end, when no wave is there\n")
	if err := attributionTable(&b, "reason", c.Reasons, len(c.Reasons)); err != nil {
		return err
	}
	if len(c.Opcodes) > 0 {
		b.WriteString("\nBY OPCODE, in cycles\n")
		if err := attributionTable(&b, "opcode", c.Opcodes, rows); err != nil {
			return err
		}
		b.WriteString("\nBY INSTRUCTION, in cycles\n")
		if err := attributionTable(&b, "instruction", instructionNames(c.Instructions), rows); err != nil {
			return err
		}
	}
	b.WriteString("\nTHE RUN\n")
	if err := differenceTable(&b, c.Figures); err != nil {
		return err
	}
	b.WriteString("\nLDS AND MEMORY\n")
	if err := differenceTable(&b, c.Levels); err != nil {
		return err
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "\nNote: %s.\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// instructionNames names rows by address and text.
func instructionNames(rows []InstructionRow) []Attribution {
	out := make([]Attribution, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = r.Attribution
		at := func(pc *uint32) string {
			if pc == nil {
				return "-"
			}
			return fmt.Sprintf("%#x", *pc)
		}
		where := at(r.PCA)
		if r.PCA == nil || r.PCB == nil || *r.PCA != *r.PCB {
			where += "/" + at(r.PCB)
		}
		out[i].Name = where + "  " + shorten(r.Text, 56)
	}
	return out
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most-3] + "..."
}

// attributionTable shows the rows with the largest changes, what the others
// add up to, and the sum.
func attributionTable(b *strings.Builder, what string, rows []Attribution, most int) error {
	t := &Table{Header: []string{what, "A", "B", "change"}}
	shown := slices.Clone(rows)
	shown = slices.DeleteFunc(shown, func(r Attribution) bool { return r.WaveA == 0 && r.WaveB == 0 && r.A == 0 && r.B == 0 })
	size := func(r Attribution) int64 { return max(r.Change, -r.Change) }
	slices.SortStableFunc(shown, func(x, y Attribution) int { return cmp.Compare(size(y), size(x)) })
	var rest, sum Attribution
	others := 0
	for i, r := range shown {
		sum.A, sum.B, sum.Change = sum.A+r.A, sum.B+r.B, sum.Change+r.Change
		if i >= most {
			others++
			rest.A, rest.B, rest.Change = rest.A+r.A, rest.B+r.B, rest.Change+r.Change
			continue
		}
		name := r.Name
		if r.Kind != "" {
			name = r.Kind + " " + name
		}
		t.Add(name, Thousands(r.A), Thousands(r.B), signed(r.Change))
	}
	if others > 0 {
		t.Add(fmt.Sprintf("%d others", others), Thousands(rest.A), Thousands(rest.B), signed(rest.Change))
	}
	t.Add("sum", Thousands(sum.A), Thousands(sum.B), signed(sum.Change))
	_, err := t.WriteTo(b)
	return err
}

func signed(n int64) string {
	if n > 0 {
		return "+" + Thousands(n)
	}
	return Thousands(n)
}

func differenceTable(b *strings.Builder, rows []Difference) error {
	t := &Table{Header: []string{"figure", "A", "B", "change", "unit"}, Left: []int{4}}
	for _, d := range rows {
		change := "="
		if d.Change != 0 {
			change = fmt.Sprintf("%+.2f %%", 100*d.Relative)
			if d.A == 0 {
				change = "new"
			}
		}
		t.Add(d.Name, briefly(d.A), briefly(d.B), change, d.Unit)
	}
	_, err := t.WriteTo(b)
	return err
}

// briefly prints whole numbers in full and others to five digits.
func briefly(v float64) string {
	if v == float64(int64(v)) {
		return Thousands(int64(v))
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}

func (c *Comparison) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"section", "name", "unit", "a", "b", "change"}}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, s := range []struct {
		name string
		list []Difference
	}{{"cycles", []Difference{c.Cycles}}, {"figures", c.Figures}, {"levels", c.Levels}} {
		for _, d := range s.list {
			rows = append(rows, []string{s.name, d.Name, d.Unit, number(d.A), number(d.B), number(d.Change)})
		}
	}
	for _, s := range []struct {
		name string
		list []Attribution
	}{{"reasons", c.Reasons}, {"opcodes", c.Opcodes}, {"instructions", instructionNames(c.Instructions)}} {
		for _, r := range s.list {
			name := strings.TrimSpace(r.Kind + " " + r.Name)
			rows = append(rows, []string{s.name, name, "cycles", fmt.Sprint(r.A), fmt.Sprint(r.B), fmt.Sprint(r.Change)})
		}
	}
	return out.WriteAll(rows)
}
