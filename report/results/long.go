package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	"github.com/whisker-sim/whisker/report"
)

// Row is one figure of one point: a row of the long form. Axes are the point's
// values on the study's axes, in their order.
type Row struct {
	Run int
	report.Value
	Axes []string
}

// LongColumns are the columns of the long form; a column an axis follows them.
var LongColumns = []string{"run", "component", "metric", "unit", "value"}

// Long hands over every figure of every point in order. A point's first row
// says whether it failed.
func (f *File) Long(row func(Row) error) error {
	points, err := f.Points()
	if err != nil {
		return err
	}
	for _, p := range points {
		r, err := f.Get(p)
		if err != nil {
			return err
		}
		if err := longPoint(r, row); err != nil {
			return err
		}
	}
	return nil
}

func longPoint(r *Record, row func(Row) error) error {
	out := Row{Run: r.Point, Value: report.Value{Component: "point", Metric: "failed"}}
	for _, s := range r.Settings {
		if s.Axis {
			out.Axes = append(out.Axes, s.Value)
		}
	}
	if r.Status != Done {
		out.Value.Value = 1
		return row(out)
	}
	if err := row(out); err != nil {
		return err
	}
	run, err := r.GetRun()
	if err != nil {
		return err
	}
	for _, v := range report.Values(run) {
		out.Value = v
		if err := row(out); err != nil {
			return err
		}
	}
	return nil
}

// WriteCSV writes the long form as CSV.
func (f *File) WriteCSV(w io.Writer) error {
	s, err := f.Study()
	if err != nil {
		return err
	}
	c := csv.NewWriter(w)
	header := slices.Clone(LongColumns)
	for _, a := range s.Axes {
		header = append(header, a.Key)
	}
	if err := c.Write(header); err != nil {
		return err
	}
	err = f.Long(func(r Row) error {
		return c.Write(append([]string{strconv.Itoa(r.Run), r.Component, r.Metric, r.Unit, strconv.FormatFloat(r.Value.Value, 'g', -1, 64)}, r.Axes...))
	})
	if err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}

// longRow is what the fixed columns of the Parquet file look like; the axes'
// columns follow.
type longRow struct {
	Run       int64   `parquet:"run"`
	Component string  `parquet:"component,dict"`
	Metric    string  `parquet:"metric,dict"`
	Unit      string  `parquet:"unit,dict"`
	Value     float64 `parquet:"value"`
}

// axisColumn says how an axis is stored: as whole numbers or numbers when all
// its values are, as text otherwise.
func axisColumn(a Axis) (t reflect.Type, value func(string) parquet.Value) {
	integers, numbers := true, true
	for _, v := range a.Values {
		_, ierr := strconv.ParseInt(v, 10, 64)
		_, ferr := strconv.ParseFloat(v, 64)
		integers, numbers = integers && ierr == nil, numbers && ferr == nil
	}
	switch {
	case integers:
		return reflect.TypeFor[int64](), func(s string) parquet.Value {
			n, _ := strconv.ParseInt(s, 10, 64) // all values were read above
			return parquet.Int64Value(n)
		}
	case numbers:
		return reflect.TypeFor[float64](), func(s string) parquet.Value {
			n, _ := strconv.ParseFloat(s, 64)
			return parquet.DoubleValue(n)
		}
	}
	return reflect.TypeFor[string](), func(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) }
}

// rowsAtOnce is how many rows are handed to the Parquet writer together.
const rowsAtOnce = 1024

// WriteParquet writes the long form as one Parquet file.
func (f *File) WriteParquet(w io.Writer) error {
	s, err := f.Study()
	if err != nil {
		return err
	}
	fields := reflect.VisibleFields(reflect.TypeFor[longRow]())
	var values []func(string) parquet.Value
	for i, a := range s.Axes {
		t, value := axisColumn(a)
		tag := fmt.Sprintf(`parquet:"%s,dict"`, a.Key)
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Axis%d", i), Type: t, Tag: reflect.StructTag(tag)})
		values = append(values, value)
	}
	schema := parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface())
	out := parquet.NewGenericWriter[any](w, schema, parquet.Compression(&parquet.Zstd))
	var rows []parquet.Row
	flush := func() error {
		_, err := out.WriteRows(rows)
		rows = rows[:0]
		return err
	}
	err = f.Long(func(r Row) error {
		row := parquet.Row{parquet.Int64Value(int64(r.Run)), parquet.ByteArrayValue([]byte(r.Component)), parquet.ByteArrayValue([]byte(r.Metric)),
			parquet.ByteArrayValue([]byte(r.Unit)), parquet.DoubleValue(r.Value.Value)}
		for i, v := range r.Axes {
			row = append(row, values[i](v))
		}
		for i := range row {
			row[i] = row[i].Level(0, 0, i)
		}
		rows = append(rows, row)
		if len(rows) == rowsAtOnce {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return fmt.Errorf("%s: Parquet: %w", f.path, err)
	}
	return out.Close()
}
