package sim

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/report"
)

// Validation is what whisker validate prints as JSON.
type Validation struct {
	Form        string            `json:"form"` // short or whole
	Sets        []ValidateSummary `json:"sets"`
	Points      []ValidatePoint   `json:"points"`
	Regressions []string          `json:"regressions"`
	Times       []SetTime         `json:"host_times,omitempty"` // of the host, point after point
}

// NewValidation summarizes points.
func NewValidation(short bool, points []ValidatePoint) *Validation {
	form := "whole"
	if short {
		form = "short"
	}
	return &Validation{Form: form, Sets: Summarize(points), Points: points, Regressions: []string{}}
}

// percentOf writes a fraction as a percentage, or a dash.
func percentOf(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**f)
}

func decimals(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *f)
}

// howText says how a set's points were simulated.
func howText(how []string) string {
	if len(how) == 0 {
		return "not covered"
	}
	return strings.Join(how, ", ")
}

// Write prints the sets, and after them as text the worst points, what was
// calibrated on what, what is not covered, and regressions. As CSV it is a row a
// point.
func (v *Validation) Write(w io.Writer, format string) error {
	t := &report.Table{Header: []string{"set", "points", "covered", "calibrated", "predicted", "median", "mean", "median of predictions", "rank", "worst", "worst point", "simulated"},
		Left: []int{10, 11}}
	for _, s := range v.Sets {
		t.Add(s.Set, s.Points, s.Covered, len(s.Calibrated), len(s.Predicted), percentOf(s.Median), percentOf(s.Mean), percentOf(s.PredictedMedian), decimals(s.Spearman), signed(s.Worst),
			unless(s.WorstPoint == "", s.WorstPoint), howText(s.How))
	}
	if format == "csv" {
		t = pointTable(v.Points)
	}
	if err := writeRows(w, format, t, v); err != nil || format != "table" {
		return err
	}
	return v.text(w)
}

// text is what follows the table.
func (v *Validation) text(w io.Writer) error {
	var b strings.Builder
	b.WriteString("\nErrors are absolute relative errors over the covered points; rank is Spearman's correlation over the unit that most points of a set have.\n" +
		"whole: every workgroup; sampled: one XCD with its share of LLC and power, and of HBM where XCDs read lines of their own, one round of workgroups, of a causal launch its share of the batch; replay: block orders without time; unit: a micro kernel on one CU.\n")
	for _, s := range v.Sets {
		for _, part := range []struct {
			what  string
			names []string
		}{{"used for calibration", s.Calibrated}, {"predictions", s.Predicted}} {
			switch n := len(part.names); {
			case n > 0 && n == s.Covered:
				fmt.Fprintf(&b, "\n%s, %s: all %d\n", s.Set, part.what, n)
			case n > 0:
				fmt.Fprintf(&b, "\n%s, %s: %s\n", s.Set, part.what, strings.Join(part.names, "; "))
			}
		}
		missing := map[string]int{}
		var why []string
		for _, p := range v.Points {
			if p.Set == s.Set && p.Simulated == nil {
				if missing[p.Note] == 0 {
					why = append(why, p.Note)
				}
				missing[p.Note]++
			}
		}
		for _, n := range why {
			fmt.Fprintf(&b, "\n%s, not covered: %d of %d: %s\n", s.Set, missing[n], s.Points, n)
		}
	}
	for _, r := range v.Regressions {
		fmt.Fprintf(&b, "\nREGRESSION %s\n", r)
	}
	if len(v.Times) > 0 {
		sum := 0.0
		var parts []string
		for _, t := range longestFirst(v.Times) {
			sum += t.Seconds
			parts = append(parts, fmt.Sprintf("%s %.0f", t.Set, t.Seconds))
		}
		fmt.Fprintf(&b, "\nSeconds of this computer for the points, one after the other: %.0f: %s.\n", sum, strings.Join(parts, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pointHeader is the header of stored points.
var pointHeader = []string{"set", "point", "unit", "measured", "simulated", "relative_error", "kind", "how", "note"}

// pointTable is the points with six digits, which is less than what a change of
// the model moves and more than what different hosts' rounding does.
func pointTable(points []ValidatePoint) *report.Table {
	t := &report.Table{Header: pointHeader}
	digits := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', 6, 64)
	}
	for i := range points {
		p := &points[i]
		t.Add(p.Set, p.Name, p.Unit, strconv.FormatFloat(p.Measured, 'g', -1, 64), digits(p.Simulated), digits(p.RelativeError), p.Kind, p.How, p.Note)
	}
	return t
}

// StorePoints writes points as LoadPoints reads them.
func StorePoints(path string, points []ValidatePoint) error {
	var b bytes.Buffer
	if err := writeRows(&b, "csv", pointTable(points), nil); err != nil {
		return err
	}
	return writeWhole(path, b.Bytes())
}

// LoadPoints reads stored points.
func LoadPoints(path string) ([]ValidatePoint, error) {
	data, err := readBounded(path, maxSourceBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("%s does not exist: whisker validate --out writes such a file", path)
	} else if err != nil {
		return nil, &UsageError{err}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	points, err := parsePoints(data)
	if err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return points, nil
}

func parsePoints(data []byte) ([]ValidatePoint, error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = len(pointHeader)
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || !slices.Equal(rows[0], pointHeader) {
		return nil, fmt.Errorf("the header must be %s", strings.Join(pointHeader, ","))
	}
	var points []ValidatePoint
	for n, row := range rows[1:] {
		p := ValidatePoint{Set: row[0], Name: row[1], Unit: row[2], Kind: row[6], How: row[7], Note: row[8]}
		for _, c := range []struct {
			column int
			to     **float64
		}{{4, &p.Simulated}, {5, &p.RelativeError}} {
			if row[c.column] == "" {
				continue
			}
			v, err := finite(row[c.column])
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", n+2, pointHeader[c.column], err)
			}
			*c.to = &v
		}
		if p.Measured, err = finite(row[3]); err != nil {
			return nil, fmt.Errorf("line %d: measured: %w", n+2, err)
		}
		if (p.Simulated == nil) != (p.RelativeError == nil) {
			return nil, fmt.Errorf("line %d: a simulated value without its error, or the other way round", n+2)
		}
		points = append(points, p)
	}
	return points, nil
}

func finite(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return v, nil
}

// Regress fills Regressions: stored points whose error has grown by more than
// tolerance, a fraction of the measured value, or that are no longer simulated.
// Sets that were not run are left out.
func (v *Validation) Regress(stored []ValidatePoint, tolerance float64, only []string) {
	type key struct{ set, name string }
	have := map[key]*ValidatePoint{}
	for i := range v.Points {
		have[key{v.Points[i].Set, v.Points[i].Name}] = &v.Points[i]
	}
	for _, s := range stored {
		if s.RelativeError == nil || len(only) > 0 && !slices.Contains(only, s.Set) {
			continue
		}
		p := have[key{s.Set, s.Name}]
		switch {
		case p == nil:
			v.Regressions = append(v.Regressions, fmt.Sprintf("%s: %s is stored and no longer a point", s.Set, s.Name))
		case p.RelativeError == nil:
			v.Regressions = append(v.Regressions, fmt.Sprintf("%s: %s is stored and no longer simulated: %s", s.Set, s.Name, p.Note))
		case math.Abs(*p.RelativeError) > math.Abs(*s.RelativeError)+tolerance:
			v.Regressions = append(v.Regressions, fmt.Sprintf("%s: %s is off by %s, and was by %s (measured %g, simulated %.6g, was %.6g %s)",
				s.Set, s.Name, signed(p.RelativeError), signed(s.RelativeError), p.Measured, *p.Simulated, *s.Simulated, p.Unit))
		}
	}
}

// The lines between which a README has the table of agreement.
const (
	readmeBegin = "<!-- whisker validate: begin -->"
	readmeEnd   = "<!-- whisker validate: end -->"
)

// readmeBlock is the table in Markdown.
func readmeBlock(sets []ValidateSummary) string {
	var b strings.Builder
	b.WriteString("| measured set | points | simulated | of these calibrated on | median error | mean | worst | rank | how |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range sets {
		worst := "-"
		if s.Worst != nil {
			worst = signed(s.Worst) + ", " + s.WorstPoint
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %s | %s | %s | %s |\n", s.Doc, s.Points, s.Covered, len(s.Calibrated), percentOf(s.Median), percentOf(s.Mean), worst, decimals(s.Spearman), howText(s.How))
	}
	return b.String()
}

// UpdateReadme rewrites the table between the two markers of a file.
func UpdateReadme(path string, sets []ValidateSummary) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return &UsageError{err}
	}
	text, err := replaceBlock(string(data), readmeBlock(sets))
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	if text == string(data) {
		return nil
	}
	return writeWhole(path, []byte(text))
}

// CheckReadme refuses a file without the markers.
func CheckReadme(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return &UsageError{err}
	}
	if _, err := replaceBlock(string(data), ""); err != nil {
		return usagef("%s: %w", path, err)
	}
	return nil
}

// replaceBlock puts a block between the markers.
func replaceBlock(text, block string) (string, error) {
	before, rest, ok := strings.Cut(text, readmeBegin+"\n")
	_, after, closed := strings.Cut(rest, readmeEnd)
	if !ok || !closed {
		return "", fmt.Errorf("it has no line %q followed by a line %q, between which the table stands", readmeBegin, readmeEnd)
	}
	return before + readmeBegin + "\n" + block + readmeEnd + after, nil
}
