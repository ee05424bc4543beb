package sim

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/configs"
)

func TestConfigShowLoadsAgain(t *testing.T) {
	var b bytes.Buffer
	if err := ConfigShow(&b, "mi355x", []string{"lds.bytes=262144"}, "yaml"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := LoadMachine("mi300x", file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Machine().LDS.Bytes; got != 262144 {
		t.Errorf("lds.bytes is %d after the round trip, want 262144", got)
	}
	var diff bytes.Buffer
	if err := ConfigDiff(&diff, "mi355x", file, nil, "csv"); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&diff).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[1][0] != "lds.bytes" || rows[1][3] != "262144" {
		t.Errorf("diff is %q, want lds.bytes alone", rows)
	}
}

func TestConfigDiffOfEqualMachines(t *testing.T) {
	var b bytes.Buffer
	if err := ConfigDiff(&b, "mi355x", "mi355x", nil, "table"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "same values") {
		t.Errorf("table: %q", b.String())
	}
	b.Reset()
	if err := ConfigDiff(&b, "mi355x", "mi355x", nil, "json"); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(b.String()); got != "[]" {
		t.Errorf("json: %q, want an empty list", got)
	}
}

func TestListingsInEveryFormat(t *testing.T) {
	for name, write := range map[string]func(io.Writer, string) error{
		"config list": ConfigList,
		"config show": func(w io.Writer, f string) error { return ConfigShow(w, "teaching", nil, f) },
		"config diff": func(w io.Writer, f string) error { return ConfigDiff(w, "mi355x", "mi300x", nil, f) },
		"list":        ListAll,
	} {
		for _, format := range []string{"table", "csv", "json"} {
			var a, b bytes.Buffer
			if err := errors.Join(write(&a, format), write(&b, format)); err != nil {
				t.Errorf("%s --format %s: %v", name, format, err)
				continue
			}
			if a.Len() == 0 || !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%s --format %s: %d bytes, then %d others", name, format, a.Len(), b.Len())
			}
			if format == "json" && !json.Valid(a.Bytes()) {
				t.Errorf("%s: no JSON: %s", name, a.Bytes())
			}
			if format == "csv" {
				if _, err := csv.NewReader(&a).ReadAll(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if _, ok := errors.AsType[*UsageError](write(io.Discard, "xml")); !ok {
			t.Errorf("%s: format xml was accepted", name)
		}
	}
	var b bytes.Buffer
	if err := ListAll(&b, "table"); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(configs.Names(), "gemm", "functional") {
		if !strings.Contains(b.String(), name) {
			t.Errorf("list does not name %s", name)
		}
	}
}

func TestMachineFaultsAreUsageErrors(t *testing.T) {
	for name, load := range map[string]func() error{
		"unknown machine": func() error { _, err := LoadMachine("mi355", "", nil); return err },
		"a folder":        func() error { _, err := LoadMachine("mi355x", t.TempDir(), nil); return err },
		"a typo":          func() error { _, err := LoadMachine("mi355x", "", []string{"lds.byte=4096"}); return err },
		"a word":          func() error { _, err := LoadMachine("mi355x", "", []string{"lds.bytes=many"}); return err },
		"no value":        func() error { _, err := LoadMachine("mi355x", "", []string{"lds.bytes"}); return err },
	} {
		if _, ok := errors.AsType[*UsageError](load()); !ok {
			t.Errorf("%s: %v is not a usage error", name, load())
		}
	}
}
