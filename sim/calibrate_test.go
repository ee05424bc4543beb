package sim

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/configs"
)

// microFile runs the micro suite's short form and writes it as --format json does.
func microFile(t *testing.T, machine string, set ...string) string {
	t.Helper()
	m, err := LoadMachine("", machine, set)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := RunMicro(MicroOptions{Machine: m, Short: true})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteMicro(&b, rows, "json"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "micro.json")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// A machine is changed in every leaf that the suite determines, its suite is run,
// and the unchanged machine calibrated from that: the changed leaves come back
// exactly, with where they come from, and no other leaf changes.
func TestCalibrateFindsWhatWasChanged(t *testing.T) {
	for machine, set := range map[string][]string{
		"mi355x": {"valu.dependent_cycles=12", "valu.trans_cycles=24", "valu.double_cycles=16", "mfma.pass_cycles=5", "cu.branch_taken_cycles=24", "cu.barrier_cycles=20",
			"lds.pair_port_bytes_per_cycle=64", "lds.latency_cycles=61", "valu.address_cycles=20",
			"salu.load_latency_cycles=76", "tcp.hit_latency_cycles=132", "l2.hit_latency_cycles=141", "hbm.latency_ns=91"},
	} {
		if testing.Short() {
			t.Skip("short")
		}
		from := microFile(t, machine, set...)
		out := filepath.Join(t.TempDir(), "fitted.yaml")
		c, err := Calibrate(CalibrateOptions{Machine: machine, From: from, Out: out})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range c.Leaves {
			t.Logf("%s %s: %s -> %s, %s", machine, l.Leaf, l.Before, l.After, l.Status+" "+l.alike())
		}
		got, err := configs.Load(out)
		if err != nil {
			t.Fatal(err)
		}
		old, err := configs.Load(machine)
		if err != nil {
			t.Fatal(err)
		}
		want := old.Clone()
		if err := want.SetAll(set); err != nil {
			t.Fatal(err)
		}
		for _, d := range configs.Diff(want, got) {
			t.Errorf("%s: %s is %s, want %s", machine, d.Leaf, d.B, d.A)
		}
		for i, l := range got.Leaves() {
			fitted := strings.Contains(l.Source, c.SHA256)
			switch was := old.Leaves()[i]; {
			case fitted && l.Class != "measured":
				t.Errorf("%s: %s is of class %s", machine, l.Path, l.Class)
			case !fitted && (l.Class != was.Class || l.Source != was.Source):
				t.Errorf("%s: the provenance of %s has changed to %q", machine, l.Path, l.Source)
			case !fitted && was.Value != l.Value:
				t.Errorf("%s: %s has changed without a source", machine, l.Path)
			}
		}
	}
}

// What was not measured, or what no value gives, is left as it was.
func TestCalibrateLeavesTheRest(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "rows.json")
	text := `[{"name":"valu/v_exp_f32/interval","value":16.06,"unit":"cycles","cpu":"gfx950"},
{"name":"lds/ds_read_b128/conflict1/waves1","value":45,"unit":"cycles","cpu":"gfx950"}]`
	if err := os.WriteFile(from, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Calibrate(CalibrateOptions{Machine: "mi355x", From: from, Out: filepath.Join(dir, "m.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range c.Leaves {
		want := "left: not measured"
		switch l.Leaf {
		case "valu.trans_cycles":
			want = leafConfirmed
		case "lds.pair_port_bytes_per_cycle":
			want = "left: no value gives the row"
		}
		if !strings.HasPrefix(l.Status, want) {
			t.Errorf("%s: %s, want %s", l.Leaf, l.Status, want)
		}
		if l.After != l.Before {
			t.Errorf("%s has changed", l.Leaf)
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	dir := t.TempDir()
	row := func(name, value, cpu string) string {
		return `{"name":"` + name + `","value":` + value + `,"cpu":"` + cpu + `"}`
	}
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", "name,value\n", "it is no JSON"},
		{"cut short", `[{"name":"a"`, "it is no JSON"},
		{"an object", `{"name":"a"}`, "it is no list of rows"},
		{"empty", `[]`, "it has no rows"},
		{"no value", `[{"name":"a","cpu":"gfx950"}]`, "row 1 has no name or no value"},
		{"another CPU", "[" + row("a", "1", "gfx942") + "]", `row a was measured on "gfx942", and the machine's CPU is gfx950`},
		{"twice", "[" + row("a", "1", "gfx950") + "," + row("a", "2", "gfx950") + "]", "row a stands there twice"},
		{"negative", "[" + row("a", "-1", "gfx950") + "]", "which no measurement gives"},
		{"unknown rows", "[" + row("a", "1", "gfx950") + "]", "no row of it determines a leaf"},
	} {
		from := filepath.Join(dir, "rows.json")
		if err := os.WriteFile(from, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "out.yaml")
		_, err := Calibrate(CalibrateOptions{Machine: "mi355x", From: from, Out: out})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a machine file was written", c.name)
		}
	}
}
