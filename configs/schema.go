package configs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// kind is the type of a leaf's value.
type kind uint8

const (
	kindInt kind = iota
	kindFloat
	kindBool
	kindString
)

func (k kind) String() string {
	return [...]string{"an integer", "a number", "true or false", "a word"}[k]
}

// limits is what a leaf accepts.
type limits struct {
	min, max float64
	pow2     bool     // powers of two only: the value selects address bits
	words    []string // the only words accepted; numbers have none
}

// leafSpec describes one leaf: its path, unit, accepted values, and where it
// lives in a Machine.
type leafSpec struct {
	path     string
	unit     string
	limits   limits
	doc      string
	optional bool // may be absent: a clock of one data type
	kind     kind
	field    func(*Machine) any // pointer to the field; nil for a data type's clock
	dataType string             // of a data type's clock
}

// DataTypes are the names a clock can be given for, in file order. Idle is the
// clock of kernels that leave the matrix pipe nearly unused.
var DataTypes = []string{"bf16", "fp16", "fp8", "fp6", "fp4", "int8", "xf32", "fp32", "fp64", "idle"}

const sustainedPath = "clock.sustained_mhz"

// schema lists every leaf in file order; schemaIndex finds one by path.
var (
	schema      = buildSchema()
	schemaIndex = indexSchema(schema)
)

func buildSchema() []leafSpec {
	specs := leafTable()
	for i := range specs {
		s := &specs[i]
		if s.dataType != "" {
			s.kind, s.optional = kindFloat, true
			continue
		}
		switch s.field(&Machine{}).(type) {
		case *int:
			s.kind = kindInt
		case *float64:
			s.kind = kindFloat
		case *bool:
			s.kind = kindBool
		case *string:
			s.kind = kindString
		default:
			panic("configs: leaf " + s.path + " has a field of a type without a kind")
		}
	}
	return specs
}

func indexSchema(specs []leafSpec) map[string]*leafSpec {
	index := make(map[string]*leafSpec, len(specs))
	for i := range specs {
		index[specs[i].path] = &specs[i]
	}
	return index
}

// childrenOf returns the keys directly inside group, in file order.
func childrenOf(group string) []string {
	var keys []string
	prefix := ""
	if group != "" {
		prefix = group + "."
	}
	for i := range schema {
		rest, ok := strings.CutPrefix(schema[i].path, prefix)
		if !ok {
			continue
		}
		key, _, _ := strings.Cut(rest, ".")
		if len(keys) == 0 || keys[len(keys)-1] != key {
			keys = append(keys, key)
		}
	}
	return keys
}

// isGroup reports whether path names a group of leaves.
func isGroup(path string) bool {
	for i := range schema {
		if strings.HasPrefix(schema[i].path, path+".") {
			return true
		}
	}
	return false
}

// leavesNamed returns the paths whose last key is key.
func leavesNamed(key string) []string {
	var paths []string
	for i := range schema {
		if p := schema[i].path; strings.HasSuffix(p, "."+key) {
			paths = append(paths, p)
		}
	}
	return paths
}

// rangeText words what the leaf accepts: "an integer from 1 to 64".
func (s *leafSpec) rangeText() string {
	switch s.kind {
	case kindBool:
		return s.kind.String()
	case kindString:
		return "one of " + strings.Join(s.limits.words, ", ")
	}
	what := s.kind.String()
	if s.limits.pow2 {
		what = "a power of two"
	}
	return fmt.Sprintf("%s from %s to %s", what, formatFloat(s.limits.min), formatFloat(s.limits.max))
}

// value is a leaf's value before it is stored: the field of its kind is set.
type value struct {
	num  float64
	flag bool
	word string
}

// parse reads text as the leaf's type and range; the error is a sentence
// without the file.
func (s *leafSpec) parse(text string) (value, error) {
	var v value
	bad := func(why string) (value, error) {
		return value{}, fmt.Errorf("%s %s: want %s, got %q", s.path, why, s.rangeText(), clip(text))
	}
	switch s.kind {
	case kindBool:
		if text != "true" && text != "false" {
			return bad("is a switch")
		}
		v.flag = text == "true"
		return v, nil
	case kindString:
		for _, w := range s.limits.words {
			if w == text {
				v.word = text
				return v, nil
			}
		}
		return bad("does not know this word")
	case kindInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			if _, ferr := strconv.ParseFloat(text, 64); ferr == nil {
				return bad("counts in whole units")
			}
			return bad("is not a number")
		}
		v.num = float64(n)
	case kindFloat:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return bad("is not a number")
		}
		v.num = f + 0 // -0 becomes 0, so that equal machines hash alike
	}
	if v.num < s.limits.min || v.num > s.limits.max {
		return bad("is out of range")
	}
	if s.limits.pow2 && !isPowerOfTwo(int(v.num)) {
		return bad("selects address bits")
	}
	return v, nil
}

// store writes v into m.
func (s *leafSpec) store(m *Machine, v value) {
	if s.dataType != "" {
		m.Clock.SustainedMHz[s.dataType] = v.num
		return
	}
	switch p := s.field(m).(type) {
	case *int:
		*p = int(v.num)
	case *float64:
		*p = v.num
	case *bool:
		*p = v.flag
	case *string:
		*p = v.word
	}
}

// text returns the leaf's value in m as it is written in a file; ok is false
// for an optional leaf that m does not have.
func (s *leafSpec) text(m *Machine) (text string, ok bool) {
	if s.dataType != "" {
		f, ok := m.Clock.SustainedMHz[s.dataType]
		return formatFloat(f), ok
	}
	switch p := s.field(m).(type) {
	case *int:
		return strconv.Itoa(*p), true
	case *float64:
		return formatFloat(*p), true
	case *bool:
		return strconv.FormatBool(*p), true
	case *string:
		return *p, true
	}
	return "", false
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func isPowerOfTwo(n int) bool { return n > 0 && n&(n-1) == 0 }

// Key describes a leaf that machine files and assignments may set.
type Key struct {
	Path     string // lds.bytes
	Unit     string // B, cycles, ns, ...; "" for counts, switches and words
	Accepts  string // an integer from 1 to 64
	Doc      string // what it is, one line
	Optional bool   // may be absent: the clock of a data type
}

// Keys lists every leaf in file order.
func Keys() []Key {
	keys := make([]Key, len(schema))
	for i := range schema {
		s := &schema[i]
		keys[i] = Key{Path: s.path, Unit: s.unit, Accepts: s.rangeText(), Doc: s.doc, Optional: s.optional}
	}
	return keys
}
