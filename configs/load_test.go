package configs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mustLoad loads a built-in machine.
func mustLoad(t testing.TB, name string) *Resolved {
	t.Helper()
	r, err := Load(name)
	if err != nil {
		t.Fatalf("Load(%q): %v", name, err)
	}
	return r
}

// write puts files into a fresh folder and returns the folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wantError checks that err is an *Error whose one-line text holds every part.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted; want an error with %q", parts)
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is a %T; every fault of a machine file is an *Error", err, err)
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error has several lines: %q", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}

func TestFileRefused(t *testing.T) {
	cases := []struct {
		name string
		text string
		want []string
	}{
		{"empty", "", []string{"m.yaml", "is empty"}},
		{"only comments", "# nothing\n", []string{"is empty"}},
		{"only a separator", "---\n", []string{"is empty"}},
		{"a scalar", "42\n", []string{"the file wants keys and values, got 42"}},
		{"a list", "- a\n- b\n", []string{"wants keys and values, got a list"}},
		{"syntax", "base: mi355x\nlds: {bytes: 1\n", []string{"not valid YAML"}},
		{"tab", "base: mi355x\nlds:\n\tbytes: 1\n", []string{"m.yaml:3", "not valid YAML"}},
		{"two documents", "base: mi355x\n---\nbase: mi300x\n", []string{"several YAML documents"}},
		{"not UTF-8", "base: \xff\n", []string{"not a text file"}},
		{"binary", "base: mi355x\x00\n", []string{"not a text file"}},
		{"too large", "base: mi355x\n" + strings.Repeat("#\n", maxFileBytes/2), []string{"larger than 128 KiB"}},
		{"unknown key", "base: mi355x\nlds:\n  byte: 1\n",
			[]string{"m.yaml:3", `unknown key "byte" in lds`, "did you mean lds.bytes?", "The keys of lds are bytes, granule_bytes"}},
		{"swapped letters", "base: mi355x\nlds:\n  bnaks: 1\n", []string{"did you mean lds.banks?"}},
		{"unknown group", "base: mi355x\ntpc:\n  ways: 1\n", []string{`unknown key "tpc"`, "did you mean tcp?", "name, base"}},
		{"key of another group", "base: mi355x\nlds:\n  queue_entries: 1\n",
			[]string{`unknown key "queue_entries" in lds`, "did you mean tcp.queue_entries or l2.queue_entries?"}},
		{"unknown data type", "base: mi355x\nclock: {sustained_mhz: {bf17: 1}}\n", []string{"did you mean clock.sustained_mhz.bf16?"}},
		{"nothing near", "base: mi355x\nzzzzzzzzzzzz: 1\n", []string{`unknown key "zzzzzzzzzzzz".`, "The keys are name, base, description, cpu, chip"}},
		{"unknown part", "base: mi355x\nlds:\n  bytes: {value: 65536, clas: assumed, source: s}\n",
			[]string{"m.yaml:3", `unknown key "clas" in lds.bytes`, "value, class, source and fitted_on"}},
		{"duplicate leaf", "base: mi355x\nlds:\n  bytes: 65536\n  banks: 32\n  bytes: 1024\n",
			[]string{"m.yaml:5", `duplicate key "bytes" in lds`, "first given on line 3"}},
		{"duplicate group", "base: mi355x\nlds: {bytes: 65536}\ntcp: {ways: 64}\nlds: {banks: 32}\n",
			[]string{"m.yaml:4", `duplicate key "lds" in the file`, "line 2"}},
		{"duplicate part", "base: mi355x\nlds:\n  bytes: {value: 65536, value: 1, class: assumed, source: s}\n", []string{`duplicate key "value" in lds.bytes`}},
		{"duplicate base", "base: mi355x\nbase: mi300x\n", []string{"m.yaml:2", `duplicate key "base"`, "line 1"}},
		{"word for a number", "base: mi355x\nlds: {bytes: lots}\n", []string{"m.yaml:2", "lds.bytes is not a number", "an integer from 1024 to 16777216", `"lots"`}},
		{"quoted number", "base: mi355x\nlds: {bytes: \"65536\"}\n", []string{"lds.bytes is quoted; write 65536 without quotes"}},
		{"fraction", "base: mi355x\nlds: {bytes: 65536.5}\n", []string{"counts in whole units", "an integer from"}},
		{"overflow", "base: mi355x\nlds: {bytes: 99999999999999999999}\n", []string{"lds.bytes"}},
		{"bool for a number", "base: mi355x\nlds: {bytes: true}\n", []string{"lds.bytes is not a number", `"true"`}},
		{"list for a number", "base: mi355x\nlds: {bytes: [1]}\n", []string{"lds.bytes wants an integer from", "got a list"}},
		{"nothing for a number", "base: mi355x\nlds:\n  bytes:\n", []string{"lds.bytes wants an integer", "got nothing"}},
		{"infinite", "base: mi355x\nhbm: {gbs: .inf}\n", []string{"hbm.gbs is not a number"}},
		{"not a number", "base: mi355x\nhbm: {gbs: .nan}\n", []string{"hbm.gbs is not a number"}},
		{"number for a switch", "base: mi355x\nl2: {set_hash: 1}\n", []string{"l2.set_hash is a switch: want true or false", `"1"`}},
		{"yes for a switch", "base: mi355x\nl2: {set_hash: yes}\n", []string{"want true or false"}},
		{"unknown word", "base: mi355x\ndispatch: {order: random}\n", []string{"want one of round_robin, contiguous", `"random"`}},
		{"unknown cpu", "base: mi355x\ncpu: gfx90a\n", []string{"cpu", "one of gfx942, gfx950"}},
		{"scalar for a group", "base: mi355x\nlds: 65536\n", []string{"lds wants keys and values, got 65536"}},
		{"empty group", "base: mi355x\nlds:\ntcp: {ways: 64}\n", []string{"lds is empty"}},
		{"zero", "base: mi355x\nchip: {xcds: 0}\n", []string{"chip.xcds is out of range: want an integer from 1 to 64", `"0"`}},
		{"negative", "base: mi355x\nhbm: {gbs: -1}\n", []string{"hbm.gbs is out of range"}},
		{"power of two", "base: mi355x\nl2: {channels: 12}\n", []string{"l2.channels", "a power of two from 1 to 256"}},
		{"no class", "base: mi355x\nlds:\n  bytes: {value: 65536, source: s}\n", []string{"m.yaml:3", "lds.bytes has no class", "published, measured"}},
		{"no source", "base: mi355x\nlds:\n  bytes: {value: 65536, class: assumed}\n", []string{"lds.bytes has no source"}},
		{"empty source", "base: mi355x\nlds:\n  bytes: {value: 65536, class: assumed, source: \" \"}\n", []string{"lds.bytes.source is empty"}},
		{"no value", "base: mi355x\nlds:\n  bytes: {class: assumed, source: s}\n", []string{"lds.bytes has no value"}},
		{"unknown class", "base: mi355x\nlds:\n  bytes: {value: 65536, class: guessed, source: s}\n", []string{`"guessed"`, "the classes are published"}},
		{"calibrated on nothing", "base: mi355x\nlds:\n  bytes: {value: 65536, class: calibrated, source: s}\n", []string{"fitted_on must name the points"}},
		{"fitted but measured", "base: mi355x\nlds:\n  bytes: {value: 65536, class: measured, source: s, fitted_on: [a]}\n", []string{"only calibrated values are fitted"}},
		{"fitted_on a word", "base: mi355x\nlds:\n  bytes: {value: 65536, class: calibrated, source: s, fitted_on: a}\n", []string{"fitted_on wants a list"}},
		{"anchor", "base: mi355x\nlds: &a {bytes: 65536}\n", []string{"anchor, alias"}},
		{"merge key", "base: mi355x\nlds: {<<: 3}\n", []string{"lds"}},
		{"number as key", "base: mi355x\n7: 3\n", []string{"keys are plain words"}},
		{"bad name", "base: mi355x\nname: a/b\n", []string{"name \"a/b\" wants letters"}},
		{"no base", "name: mine\nlds: {bytes: 65536}\n", []string{"gives no value for ", " leaves (cpu, chip.xcds", "base: mi355x"}},
		{"base is a list", "base: [mi355x]\n", []string{"base wants text, got a list"}},
		{"unknown base", "name: x\nbase: mi335x\n", []string{"m.yaml:2", "base: there is no machine \"mi335x\"", "did you mean mi3"}},
		{"missing base file", "base: other.yaml\n", []string{"m.yaml:1", "base: there is no machine file", "other.yaml"}},
		{"base is a directory", "base: ./\n", []string{"m.yaml:1", "is a directory"}},
		{"itself as base", "base: m.yaml\n", []string{"base cycle", "m.yaml -> "}},
		{"deep flow", "base: mi355x\nlds: " + strings.Repeat("[", 5000) + "\n", []string{"nested too deeply"}},
		{"deep flow over lines", "base: mi355x\nlds: " + strings.Repeat("[\n", 5000) + "\n", []string{"nested too deeply"}},
		{"deep block", "base: mi355x\nlds: \n  " + strings.Repeat("- ", 5000) + "\n", []string{"nested too deeply"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := write(t, map[string]string{"m.yaml": c.text})
			_, err := Load(filepath.Join(dir, "m.yaml"))
			wantError(t, err, c.want...)
		})
	}
}

func TestReferenceRefused(t *testing.T) {
	dir := write(t, map[string]string{
		"a.yaml": "base: b.yaml\n", "b.yaml": "base: sub/c.yaml\n", "sub/c.yaml": "base: ../a.yaml\n",
	})
	cases := []struct {
		ref  string
		want []string
	}{
		{"", []string{"no machine is named", "mi355x, mi350x, mi325x, mi300x, mi300a, b200-like, teaching"}},
		{"mi3555x", []string{`there is no machine "mi3555x"`, "did you mean mi355x?"}},
		{"h100", []string{`there is no machine "h100"; built in are mi355x`}},
		{"nowhere.yaml", []string{"there is no machine file nowhere.yaml"}},
		{dir, []string{dir, "is a directory"}},
		{filepath.Join(dir, "a.yaml"), []string{"c.yaml:1", "base cycle", "a.yaml -> ", "b.yaml -> "}},
	}
	for _, c := range cases {
		_, err := Load(c.ref)
		wantError(t, err, c.want...)
	}
}

func TestInheritance(t *testing.T) {
	dir := write(t, map[string]string{
		"fast.yaml":      "name: fast\nbase: sub/big.yaml\ndescription: quick\ntcp:\n  line_cycles: {value: 1, class: assumed, source: what if}\n",
		"sub/big.yaml":   "base: MI355X\nlds:\n  bytes: 262144\nl2: {ways: 32, bytes: 8388608}\n",
		"sub/clock.yaml": "base: mi355x\nclock:\n  sustained_mhz:\n    bf16: {value: 1550, class: calibrated, source: >-\n        fitted on\n        two points, fitted_on: [one, two]}\n",
	})
	r, err := Load(filepath.Join(dir, "fast.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m := r.Machine()
	if m.Name != "fast" || r.Description() != "quick" {
		t.Errorf("name %q, description %q; want the file's own", m.Name, r.Description())
	}
	if m.LDS.Bytes != 262144 || m.L2.Ways != 32 || m.TCP.LineCycles != 1 || m.LDS.Banks != 64 {
		t.Errorf("values do not come from the nearest file that gives them: %+v %+v %+v", m.LDS, m.L2, m.TCP)
	}
	byPath := map[string]Leaf{}
	for _, l := range r.Leaves() {
		byPath[l.Path] = l
	}
	if l := byPath["lds.bytes"]; l.Class != Assumed || l.Source != "set in big.yaml" {
		t.Errorf("short form of lds.bytes has %s, %q", l.Class, l.Source)
	}
	if l := byPath["tcp.line_cycles"]; l.Class != Assumed || l.Source != "what if" {
		t.Errorf("long form of tcp.line_cycles has %s, %q", l.Class, l.Source)
	}
	if l := byPath["lds.banks"]; l.Class != Measured {
		t.Errorf("inherited lds.banks has class %s", l.Class)
	}
	big, err := Load(filepath.Join(dir, "sub/big.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got := big.Machine().Name; got != "big" {
		t.Errorf("a file without a name is called %q, want its file name", got)
	}
}

func TestCalibratedClockNamesItsPoints(t *testing.T) {
	r, err := parseBytes("m.yaml", []byte("base: mi355x\nclock:\n  sustained_mhz:\n    bf16: {value: 1550, class: calibrated, source: fit, fitted_on: [\"a b\", c]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Machine().Clock.FittedOn["bf16"]; strings.Join(got, "|") != "a b|c" {
		t.Errorf("Clock.FittedOn[bf16] = %q", got)
	}
	if err := r.Set("clock.sustained_mhz.bf16=1500"); err != nil {
		t.Fatal(err)
	}
	if got, ok := r.Machine().Clock.FittedOn["bf16"]; ok {
		t.Errorf("a clock set by hand is still said to be fitted on %q", got)
	}
}

// A byte order mark in front of a machine file is no part of it.
func TestByteOrderMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(path, []byte("\ufeffbase: mi355x\nl2: {ways: {value: 8, class: assumed, source: a what-if}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := Load(path); err != nil || r.Machine().L2.Ways != 8 {
		t.Errorf("%v", err)
	}
}
