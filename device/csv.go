package device

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine bounds a row of a CSV file. Kernel names of C++ templates reach some
// thousands of characters.
const maxLine = 1 << 20

// rows reads a CSV file a line at a time, in bounded memory whatever the file
// holds: a quote that is never closed ends with its line.
type rows struct {
	in     *bufio.Reader
	line   int64
	fields [][]byte
	buf    []byte
	// cut says that the last row had no line end.
	cut bool
}

func newRows(in io.Reader) *rows { return &rows{in: bufio.NewReaderSize(in, maxLine)} }

var (
	errLine  = errors.New("the row is longer than 1 MiB")
	errQuote = errors.New("a quote is not closed")
)

// next reads a row; the fields are valid until the next call. io.EOF ends.
// errLine and errQuote are of this row alone.
func (r *rows) next() ([][]byte, error) {
	for {
		line, err := r.in.ReadSlice('\n')
		r.line++
		if errors.Is(err, bufio.ErrBufferFull) {
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = r.in.ReadSlice('\n')
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			return nil, errLine
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		r.cut = err != nil && len(line) > 0
		if r.line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(bytes.TrimSpace(line)) == 0 {
			if err != nil {
				return nil, io.EOF
			}
			continue
		}
		return r.split(line)
	}
}

// split cuts a row at its commas; a quoted field may hold commas and doubled quotes.
func (r *rows) split(line []byte) ([][]byte, error) {
	r.fields, r.buf = r.fields[:0], r.buf[:0]
	for {
		if len(line) == 0 || line[0] != '"' {
			end := bytes.IndexByte(line, ',')
			if end < 0 {
				r.fields = append(r.fields, bytes.TrimSpace(line))
				return r.fields, nil
			}
			r.fields = append(r.fields, bytes.TrimSpace(line[:end]))
			line = line[end+1:]
			continue
		}
		line = line[1:]
		begin := len(r.buf)
		for {
			q := bytes.IndexByte(line, '"')
			if q < 0 {
				return nil, errQuote
			}
			r.buf = append(r.buf, line[:q]...)
			line = line[q+1:]
			if len(line) == 0 || line[0] != '"' {
				break
			}
			r.buf = append(r.buf, '"')
			line = line[1:]
		}
		// buf may move while the row is cut, and this field with it: its old place
		// stays as it is.
		r.fields = append(r.fields, r.buf[begin:len(r.buf):len(r.buf)])
		if len(line) == 0 {
			return r.fields, nil
		}
		if line[0] != ',' {
			return nil, errors.New("a quoted field goes on after its quote")
		}
		line = line[1:]
	}
}

// column names a column by what it means: letters and digits alone, lower case.
func columnKey(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		}
		return -1
	}, s)
}

// parseNumber reads a number. Thousands separators are read where they stand at
// every third digit; NaN and infinities are no measurement.
func parseNumber(b []byte) (float64, error) {
	s := string(b)
	if strings.Contains(s, ",") {
		var ok bool
		if s, ok = ungroup(s); !ok {
			return 0, fmt.Errorf("%q is no number", b)
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil && errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%q is too large", b)
	case err != nil:
		return 0, fmt.Errorf("%q is no number", b)
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%q is no measurement", b)
	}
	return v, nil
}

// ungroup takes the commas out of 1,234,567.8.
func ungroup(s string) (string, bool) {
	whole, frac, dot := strings.Cut(s, ".")
	parts := strings.Split(strings.TrimPrefix(whole, "-"), ",")
	for i, p := range parts {
		if strings.Trim(p, "0123456789") != "" || len(p) != 3 && (i > 0 || len(p) == 0 || len(p) > 3) {
			return "", false
		}
	}
	out := strings.ReplaceAll(whole, ",", "")
	if dot {
		out += "." + frac
	}
	return out, true
}

// list names columns for a message, not more than fit.
func list(names []string) string {
	names = slices.Clone(names)
	for i, n := range names { // a file of something else may hold anything
		if strings.ContainsFunc(n, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
			names[i] = strconv.QuoteToASCII(n)
		}
	}
	if len(names) > 12 {
		names = append(names[:12], fmt.Sprintf("and %d more", len(names)-12))
	}
	return strings.Join(names, ", ")
}
