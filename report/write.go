package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// Formats are the names that Write takes.
var Formats = []string{"table", "json", "csv"}

// Write writes the run in a format of Formats.
func Write(w io.Writer, r *Run, format string) error {
	switch format {
	case "table":
		return WriteText(w, r)
	case "json":
		return WriteJSON(w, r)
	case "csv":
		return WriteCSV(w, r)
	}
	return fmt.Errorf("report: no format %q: choose one of %v", format, Formats)
}

// WriteJSON writes v, a run or any other result, as one indented object and a
// newline.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("report: write JSON: %w", err)
	}
	return nil
}

// WriteCSV writes the run in long form, one row a figure: metric, unit, value.
func WriteCSV(w io.Writer, r *Run) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"metric", "unit", "value"}}
	for _, v := range valuesOf(reflect.ValueOf(*r), "") {
		rows = append(rows, []string{v.path, v.unit, plain(v.v)})
	}
	if err := c.WriteAll(rows); err != nil {
		return fmt.Errorf("report: write CSV: %w", err)
	}
	return nil
}

// plain prints a leaf so that it reads back as the same value.
func plain(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// treeLeaves flattens a tree by sorted path.
func treeLeaves(t Tree, path string) []value {
	var out []value
	for _, k := range slices.Sorted(maps.Keys(t)) {
		switch v := t[k].(type) {
		case Tree:
			out = append(out, treeLeaves(v, path+"."+k)...)
		case map[string]any: // a tree that was read back
			out = append(out, treeLeaves(v, path+"."+k)...)
		default:
			out = append(out, value{path + "." + k, "", v})
		}
	}
	return out
}
