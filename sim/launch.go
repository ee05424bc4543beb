package sim

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"github.com/whisker-sim/whisker/isa/codeobj"
)

// LaunchFile describes one launch of a kernel from a code object. Paths in it
// are relative to the file itself.
type LaunchFile struct {
	CodeObject string        `yaml:"code_object"`
	Kernel     string        `yaml:"kernel"`      // may be left out when the file has one
	Grid       []int         `yaml:"grid"`        // workgroups in x, y, z
	Workgroup  []int         `yaml:"workgroup"`   // work-items in x, y, z
	DynamicLDS int           `yaml:"dynamic_lds"` // bytes
	Seed       uint64        `yaml:"seed"`
	FLOPs      float64       `yaml:"flops"` // the benchmark's own count; a reference's unless given
	Args       []LaunchArg   `yaml:"args"`
	Expect     *LaunchExpect `yaml:"expect"`

	path string
}

// LaunchArg is one argument: a scalar with a value, or a buffer with a shape or
// a file.
type LaunchArg struct {
	Name  string  `yaml:"name"`
	Type  string  `yaml:"type"`  // see LaunchTypes; of a buffer: of its elements
	Value *string `yaml:"value"` // scalar
	Shape []int   `yaml:"shape"` // buffer
	Fill  string  `yaml:"fill"`  // buffer: zeros, iota, normal(mean, deviation), uniform(low, high) or constant(v)
	File  string  `yaml:"file"`  // buffer: .npy, or raw bytes
}

// LaunchExpect says what the output must be: a reference by name or a .npy
// file.
type LaunchExpect struct {
	Reference string             `yaml:"reference"`
	Bind      map[string]string  `yaml:"bind"`   // role of the reference -> argument; a role's own name unless given
	Params    map[string]float64 `yaml:"params"` // scalars of the reference
	Output    string             `yaml:"output"` // with File: the argument to compare
	File      string             `yaml:"file"`
	Tolerance *float64           `yaml:"tolerance"` // of max |value - ref| / max(|ref|, rms(ref)); by element type unless given, and 0 is exact
}

// maxLDSBytes bounds what a launch asks for in LDS, on any machine.
const maxLDSBytes = 1 << 20

// maxLaunchBytes bounds a launch file.
const maxLaunchBytes = 1 << 20

// ReadLaunch reads a launch file; a key that it does not know is an error.
func ReadLaunch(path string) (l *LaunchFile, err error) {
	b, err := readBounded(path, maxLaunchBytes)
	if err != nil {
		return nil, &UsageError{err}
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff")) // a byte order mark
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return nil, usagef("%s is no launch file: it is not text", path)
	}
	if err := codeobj.CheckYAML(b); err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	defer func() {
		if recover() != nil {
			l, err = nil, usagef("%s is no YAML", path) // the parser gives up on some malformed text
		}
	}()
	l = &LaunchFile{path: path}
	if err := yaml.UnmarshalWithOptions(b, l, yaml.Strict()); err != nil {
		return nil, usagef("%s: %w", path, fillHint(oneLine(err), b))
	}
	if err := checkWhole(b); err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	if err := l.check(); err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return l, nil
}

// unquoted finds a fill whose comma YAML has taken for its own.
var unquoted = regexp.MustCompile(`fill: *(normal|uniform)\([^")]*,`)

// fillHint says what an error most likely comes from.
func fillHint(err error, text []byte) error {
	if m := unquoted.Find(text); m != nil {
		return fmt.Errorf("%w; a fill with a comma needs quotes, as in fill: \"normal(0, 1)\"", err)
	}
	return err
}

// oneLine keeps the first line of a YAML error, which says what is wrong, with
// the place in front of it as compilers put it.
func oneLine(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if at, what, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(at, "[") {
		line, _, _ := strings.Cut(at[1:], ":")
		return fmt.Errorf("line %s: %s", line, plainYAML(what))
	}
	return errors.New(plainYAML(text))
}

// goTypes are what the YAML library says of Go's types, which the user has not written.
var goTypes = regexp.MustCompile(`cannot unmarshal (\S+) into Go (?:struct field \S+\.(\S+)|value) of type (\S+)(?: \( overflow \))?`)

// camel is where a Go name has a new word.
var camel = regexp.MustCompile(`([a-z])([A-Z])`)

// plainYAML says of a value of the wrong kind what it is and what its key takes.
func plainYAML(text string) string {
	return goTypes.ReplaceAllStringFunc(text, func(s string) string {
		m := goTypes.FindStringSubmatch(s)
		kind := map[string]string{"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false", "string": "text"}[m[3]]
		if kind == "" {
			kind = "a " + m[3]
		}
		key := ""
		if m[2] != "" {
			key = strings.ToLower(camel.ReplaceAllString(m[2], "${1}_$2")) + " "
		}
		return fmt.Sprintf("%stakes %s, and this is %s", key, kind, m[1])
	})
}

// LaunchInputs lists a launch file and the files that it names; of one that
// cannot be read, the file alone.
func LaunchInputs(path string) []string {
	files := []string{path}
	if path == "" {
		return nil
	}
	l, err := ReadLaunch(path)
	if err != nil {
		return files
	}
	named := []string{l.CodeObject}
	for _, a := range l.Args {
		named = append(named, a.File)
	}
	if l.Expect != nil {
		named = append(named, l.Expect.File)
	}
	for _, f := range named {
		if f != "" {
			files = append(files, l.resolve(f))
		}
	}
	return files
}

// check refuses what no kernel could be launched with.
func (l *LaunchFile) check() error {
	if l.CodeObject == "" {
		return errors.New("code_object is missing")
	}
	if _, err := l.grid(); err != nil {
		return err
	}
	if len(l.Workgroup) > 0 {
		if _, err := dims("workgroup", l.Workgroup, maxWorkgroupItems); err != nil {
			return err
		}
	}
	if l.DynamicLDS < 0 || l.DynamicLDS > maxLDSBytes {
		return fmt.Errorf("dynamic_lds is %d bytes; it must be from 0 to %d", l.DynamicLDS, maxLDSBytes)
	}
	if !(l.FLOPs >= 0 && l.FLOPs <= math.MaxFloat64) {
		return fmt.Errorf("flops is %g; it must be a number from 0", l.FLOPs)
	}
	seen := map[string]bool{}
	for i := range l.Args {
		a := &l.Args[i]
		if a.Name != "" && seen[a.Name] {
			return fmt.Errorf("argument %s is given twice", a.Name)
		}
		seen[a.Name] = true
		if err := a.check(); err != nil {
			return fmt.Errorf("%s: %w", a.place(i), err)
		}
	}
	if e := l.Expect; e != nil {
		switch {
		case (e.Reference == "") == (e.File == ""):
			return errors.New("expect needs a reference or a file, not both")
		case e.File != "" && e.Output == "":
			return errors.New("expect: name the argument to compare with the file as output")
		case e.Tolerance != nil && !(*e.Tolerance >= 0 && *e.Tolerance <= math.MaxFloat64):
			return fmt.Errorf("expect: tolerance is %g; it must be a number from 0", *e.Tolerance)
		}
	}
	return nil
}

// maxWorkgroups bounds a grid; the published kernels stay below 2^20.
const maxWorkgroups = 1 << 26

func (l *LaunchFile) grid() ([3]int, error) { return dims("grid", l.Grid, maxWorkgroups) }

// dims completes one to three numbers with ones and bounds their product.
func dims(name string, v []int, limit int) ([3]int, error) {
	d := [3]int{1, 1, 1}
	if len(v) == 0 || len(v) > 3 {
		return d, fmt.Errorf("%s has %d numbers; give one to three", name, len(v))
	}
	n := 1
	for i, x := range v {
		if x < 1 || x > limit || n*x > limit {
			return d, fmt.Errorf("%s is %v; each number must be at least 1 and the product at most %d", name, v, limit)
		}
		d[i] = x
		n *= x
	}
	return d, nil
}

// elementBytes is the size of the types that arguments have.
var elementBytes = map[string]int{"i8": 1, "u8": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}

// LaunchTypes are the words that type takes: element types, pointer for an
// address, and bytes for anything else by value.
var LaunchTypes = []string{"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64", "pointer", "bytes"}

func (a *LaunchArg) buffer() bool { return a.Shape != nil || a.File != "" }

func (a *LaunchArg) check() error {
	if !slices.Contains(LaunchTypes, a.Type) {
		return fmt.Errorf("unknown type %q: choose %s", a.Type, orList(LaunchTypes))
	}
	switch {
	case a.buffer() && a.Value != nil:
		return errors.New("give a value, or a shape or file, not both")
	case !a.buffer() && a.Value == nil:
		return errors.New("give a value, or a shape or file for a buffer")
	case !a.buffer():
		if a.Fill != "" {
			return errors.New("fill needs a shape")
		}
		_, err := a.bytes()
		return err
	case elementBytes[a.Type] == 0:
		return fmt.Errorf("a buffer has no elements of type %s", a.Type)
	case a.Fill != "" && a.File != "":
		return errors.New("give fill or file, not both")
	}
	if _, err := a.elements(); err != nil {
		return err
	}
	_, err := parseFill(a.Fill)
	return err
}

// maxBufferBytes bounds a buffer: the memory of the largest device.
const maxBufferBytes = 288 << 30

// elements is the number of elements that the shape asks for.
func (a *LaunchArg) elements() (int, error) {
	n := 1
	for _, d := range a.Shape {
		if d < 1 || d > maxBufferBytes/n {
			return 0, fmt.Errorf("shape %v; each number must be at least 1 and the whole fit a device", a.Shape)
		}
		n *= d
	}
	return n, nil
}

// bytes is the value of a scalar.
func (a *LaunchArg) bytes() ([]byte, error) {
	v := strings.TrimSpace(*a.Value)
	bad := func() ([]byte, error) { return nil, fmt.Errorf("value %s is no %s", v, a.Type) }
	b := make([]byte, 8)
	switch a.Type {
	case "bytes":
		b, err := hex.DecodeString(strings.TrimPrefix(v, "0x"))
		if err != nil || len(b) == 0 {
			return nil, fmt.Errorf("value %q is no hex bytes", v)
		}
		return b, nil
	case "f16", "bf16", "f32", "f64":
		x, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return bad()
		}
		putElement(b, a.Type, x)
		return b[:elementBytes[a.Type]], nil
	case "pointer":
		x, err := strconv.ParseUint(v, 0, 64)
		if err != nil {
			return bad()
		}
		binary.LittleEndian.PutUint64(b, x)
		return b, nil
	}
	n := elementBytes[a.Type]
	var x uint64
	if a.Type[0] == 'u' {
		u, err := strconv.ParseUint(v, 0, 8*n)
		if err != nil {
			return bad()
		}
		x = u
	} else {
		i, err := strconv.ParseInt(v, 0, 8*n)
		if err != nil {
			return bad()
		}
		x = uint64(i)
	}
	binary.LittleEndian.PutUint64(b, x)
	return b[:n], nil
}

// resolve makes a path of the launch file one that can be opened.
func (l *LaunchFile) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(l.path), path)
}

// order matches the arguments to the kernel's: by name where the metadata names
// all of them and the launch does too, else in order.
func (l *LaunchFile) order(m *codeobj.Meta) ([]*LaunchArg, error) {
	explicit := m.Explicit()
	byName := len(l.Args) > 0
	for i := range l.Args {
		byName = byName && l.Args[i].Name != "" && slices.ContainsFunc(explicit, func(a codeobj.Arg) bool { return a.Name == l.Args[i].Name })
	}
	if len(l.Args) != len(explicit) {
		return nil, fmt.Errorf("kernel %s takes %d arguments, not %d; --print-launch writes a template with all of them", m.Name, len(explicit), len(l.Args))
	}
	out := make([]*LaunchArg, len(explicit))
	for i := range l.Args {
		at := i
		if byName {
			at = slices.IndexFunc(explicit, func(a codeobj.Arg) bool { return a.Name == l.Args[i].Name })
		}
		out[at] = &l.Args[i]
	}
	for i, a := range out {
		if err := fits(a, &explicit[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", a.place(i), err)
		}
	}
	return out, nil
}

// floating reports whether a type is one of floating-point numbers.
func floating(t string) bool { return strings.HasPrefix(t, "f") || t == "bf16" }

// fits compares an argument with what the metadata says of it.
func fits(a *LaunchArg, m *codeobj.Arg) error {
	size := 8
	if !a.buffer() {
		b, err := a.bytes()
		if err != nil {
			return err
		}
		size = len(b)
	}
	switch {
	case m.InLDS() && !a.buffer():
		return errors.New("the kernel takes a buffer in LDS: give its type and shape")
	case m.InLDS() && (a.Fill != "" || a.File != ""):
		return errors.New("the kernel takes a buffer in LDS, which starts as the kernel fills it: leave fill and file out")
	case m.InLDS():
		return nil
	case a.buffer() && m.Size != 8:
		return fmt.Errorf("a buffer is given, but the kernel takes %d bytes by value", m.Size)
	case size != m.Size:
		return fmt.Errorf("a value of %d bytes (%s) is given, but the kernel takes %d", size, a.Type, m.Size)
	case !a.buffer() && floating(cTypes[m.TypeName]) != floating(a.Type) && cTypes[m.TypeName] != "" && a.Type != "bytes":
		return fmt.Errorf("a value of type %s is given, but the kernel takes %s", a.Type, m.TypeName)
	case m.Pointer() && !a.buffer() && a.Type != "pointer" && a.Type != "i64" && a.Type != "u64":
		return fmt.Errorf("a value of type %s is given, but the kernel takes the address of a buffer: give a shape", a.Type)
	}
	return nil
}
