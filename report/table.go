package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// Table is rows of text under a header. Columns are aligned left for the
// first and right for the rest unless Left names more.
type Table struct {
	Header []string
	Rows   [][]string
	Left   []int // further columns that are aligned left
}

// Add appends a row of values.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.Rows = append(t.Rows, row)
}

// WriteTo writes the table without borders, indented by two spaces.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	columns := len(t.Header)
	for _, r := range t.Rows {
		columns = max(columns, len(r))
	}
	align := make([]tw.Align, columns)
	for i := range align {
		align[i] = tw.AlignRight
	}
	for _, i := range append([]int{0}, t.Left...) {
		if i < columns {
			align[i] = tw.AlignLeft
		}
	}

	var b strings.Builder
	tbl := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.Lines{ShowHeaderLine: tw.Off},
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithAlignment(align),
		tablewriter.WithPadding(tw.Padding{Left: tw.Empty, Right: "  ", Overwrite: true}),
	)
	if t.Header != nil {
		tbl.Header(t.Header)
	}
	if err := tbl.Bulk(t.Rows); err != nil {
		return 0, fmt.Errorf("report: table: %w", err)
	}
	if err := tbl.Render(); err != nil {
		return 0, fmt.Errorf("report: table: %w", err)
	}
	var out strings.Builder
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimRight(line, " \n"); line != "" {
			out.WriteString("  " + line + "\n")
		}
	}
	n, err := io.WriteString(w, out.String())
	return int64(n), err
}
