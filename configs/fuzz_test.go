package configs

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// FuzzLoad: any bytes either load to a machine that prints and loads again
// unchanged, or give an *Error of one line.
func FuzzLoad(f *testing.F) {
	for _, n := range Names() {
		data, err := builtin.ReadFile(n + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, s := range []string{
		"", "base: mi355x\n", "base: mi355x\nlds: {bytes: 65536}\n", "base: mi355x\nlds:\n  bytes: {value: 65536, class: assumed, source: >-\n   a\n   b}\n",
		"base: mi355x\nclock:\n  sustained_mhz: {bf16: {value: 1e3, class: calibrated, source: s, fitted_on: [a, b]}}\n",
		"? a\n: b\n", "&a *a", "a: &a\n  <<: *a\n", "!!map {a: b}", "- - - -", "{{{{", "a: |\n b\n", "%YAML 1.2\n---\nbase: mi300x\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Bases by path would read files that the fuzzer happens to name.
		r, err := parseBytes("fuzz.yaml", data)
		if err != nil {
			checkFuzzError(t, err)
			return
		}
		back, err := parseBytes("back.yaml", []byte(r.YAML()))
		if err != nil {
			t.Fatalf("printed machine is refused: %v\n%s", err, r.YAML())
		}
		if back.Hash() != r.Hash() || strings.Join(lines(back), "\n") != strings.Join(lines(r), "\n") {
			t.Fatalf("printed machine loads differently:\n%s\n%s", r.YAML(), back.YAML())
		}
	})
}

func lines(r *Resolved) []string {
	var out []string
	for _, l := range r.Leaves() {
		out = append(out, l.Path+"|"+l.Value+"|"+l.Class+"|"+l.Source+"|"+strings.Join(l.FittedOn, "|"))
	}
	return out
}

func checkFuzzError(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is a %T", err, err)
	}
	if strings.Contains(e.Error(), "\n") {
		t.Fatalf("error of several lines: %q", e.Error())
	}
}

// FuzzSet: any assignment is refused with an *Error and changes nothing, or
// keeps every value in its range and the machine printable.
func FuzzSet(f *testing.F) {
	for _, s := range []string{
		"lds.bytes=262144", "lds.bytes=abc", "hbm.gbs=1e3", "hbm.gbs=-0", "l2.set_hash=true", "x=y", "=", "lds=1", "clock.sustained_mhz.bf16=nan",
		"dispatch.order=contiguous", "lds..bytes=1", "hbm.gbs=0x1p4", "lds.bytes=+65536",
	} {
		f.Add(s)
	}
	base := mustLoad(f, "mi355x")
	before := base.Hash()
	f.Fuzz(func(t *testing.T, assign string) {
		r := base.Clone()
		if err := r.Set(assign); err != nil {
			checkFuzzError(t, err)
			if r.Hash() != before {
				t.Fatalf("refused %q changed the machine", assign)
			}
			return
		}
		for i := range schema {
			s := &schema[i]
			if s.kind != kindInt && s.kind != kindFloat {
				continue
			}
			text, ok := s.text(r.Machine())
			if !ok {
				continue
			}
			if v, err := s.parse(text); err != nil || math.Signbit(v.num) {
				t.Fatalf("after %q, %s is %s: %v", assign, s.path, text, err)
			}
		}
		if r.Validate() != nil {
			return
		}
		back, err := parseBytes("back.yaml", []byte(r.YAML()))
		if err != nil || back.Hash() != r.Hash() {
			t.Fatalf("after %q the printed machine loads differently: %v", assign, err)
		}
	})
}
