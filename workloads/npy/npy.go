// Package npy reads NumPy's .npy files (NEP 1), versions 1 to 3.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Array is the contents of a file, row-major. Type is one of i8 i16 i32 i64 u8
// u16 u32 u64 f16 f32 f64; booleans read as u8. Data is little-endian.
type Array struct {
	Type  string
	Shape []int
	Data  []byte
}

// Limits that keep a lie in a header from costing memory.
const (
	maxFileBytes   = 16 << 30
	maxHeaderBytes = 1 << 16
	maxDims        = 32
)

var types = map[string]string{"b1": "u8", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64",
	"f2": "f16", "f4": "f32", "f8": "f64"}

// Read reads a file.
func Read(path string) (*Array, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no plain file", path)
	}
	if st.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes; .npy files of up to %d are read", path, st.Size(), int64(maxFileBytes))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1)) // it may grow meanwhile
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > maxFileBytes {
		return nil, fmt.Errorf("%s has more than %d bytes, the most that is read of a .npy file", path, int64(maxFileBytes))
	}
	a, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

var (
	descr   = regexp.MustCompile(`'descr'\s*:\s*'([<>|=])([a-z])([0-9]+)'`)
	fortran = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shape   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9, ]*)\)`)
)

// Parse reads an array from the bytes of a file.
func Parse(b []byte) (*Array, error) {
	if len(b) < 10 || string(b[:6]) != "\x93NUMPY" {
		return nil, errors.New("not a .npy file")
	}
	n, at := int(binary.LittleEndian.Uint16(b[8:])), 10
	if b[6] > 1 {
		if len(b) < 12 || b[6] > 3 {
			return nil, fmt.Errorf("a .npy file of version %d; versions 1 to 3 are read", b[6])
		}
		n, at = int(binary.LittleEndian.Uint32(b[8:])), 12
	}
	if n > maxHeaderBytes || n > len(b)-at {
		return nil, errors.New("the .npy header is cut short")
	}
	a, size, err := parseHeader(string(b[at : at+n]))
	if err != nil {
		return nil, err
	}
	a.Data = b[at+n:]
	if int64(len(a.Data)) != size {
		return nil, fmt.Errorf("the .npy header asks for %d bytes of data; there are %d", size, len(a.Data))
	}
	return a, nil
}

func parseHeader(h string) (*Array, int64, error) {
	d, f, s := descr.FindStringSubmatch(h), fortran.FindStringSubmatch(h), shape.FindStringSubmatch(h)
	if d == nil || f == nil || s == nil {
		return nil, 0, errors.New("the .npy header is no plain array's")
	}
	t, ok := types[d[2]+d[3]]
	if !ok {
		return nil, 0, fmt.Errorf("element type %s%s of the .npy file is not read", d[2], d[3])
	}
	width, _ := strconv.Atoi(d[3])
	if d[1] == ">" && width > 1 {
		return nil, 0, errors.New("the .npy file is big-endian")
	}
	a := &Array{Type: t}
	size := int64(width)
	for _, x := range strings.Split(s[1], ",") {
		if x = strings.TrimSpace(x); x == "" {
			continue
		}
		n, err := strconv.Atoi(x)
		if err != nil || n < 0 || len(a.Shape) == maxDims || n > 0 && size > maxFileBytes/int64(n) {
			return nil, 0, fmt.Errorf("shape (%s) of the .npy file is too large", s[1])
		}
		size *= int64(n)
		a.Shape = append(a.Shape, n)
	}
	if f[1] == "True" && len(a.Shape) > 1 {
		return nil, 0, errors.New("the .npy file is in Fortran order; save it with numpy.ascontiguousarray")
	}
	return a, size, nil
}
