package study

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/sim"
	"github.com/whisker-sim/whisker/workloads/suite"
)

// labels lists a study's points by their values on the axes.
func labels(t *testing.T, s *Study) []string {
	t.Helper()
	var out []string
	for p, err := range s.Points() {
		if err != nil {
			t.Fatal(err)
		}
		if p.Index != len(out) {
			t.Errorf("point %d is numbered %d", len(out), p.Index)
		}
		again, err := s.Point(p.Index)
		if err != nil || again.Hash() != p.Hash() {
			t.Errorf("Point(%d) is another point: %v", p.Index, err)
		}
		out = append(out, p.Label())
	}
	return out
}

func TestPoints(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"crossed, last axis innermost", "axes: {m: [256, 512], seed: [1, 2]}", "m=256 seed=1, m=256 seed=2, m=512 seed=1, m=512 seed=2"},
		{"range by step", "axes: {seed: {from: 1, to: 7, step: 3}}", "seed=1, seed=4, seed=7"},
		{"range of one step", "axes: {seed: {from: 1, to: 3}}", "seed=1, seed=2, seed=3"},
		{"range by factor", "axes: {m: {from: 256, to: 1024, factor: 2}}", "m=256, m=512, m=1024"},
		{"range by count", "axes: {launch_overhead_us: {from: 0, to: 1, count: 5}}",
			"launch_overhead_us=0, launch_overhead_us=0.25, launch_overhead_us=0.5, launch_overhead_us=0.75, launch_overhead_us=1"},
		{"fractions", "axes: {mfma.scale: {from: 0.1, to: 0.5, step: 0.1}}", "mfma.scale=0.1, mfma.scale=0.2, mfma.scale=0.3, mfma.scale=0.4, mfma.scale=0.5"},
		{"values", "axes: {m: {values: [512, 256]}}", "m=512, m=256"},
		{"zipped", "axes: {m: [256, 512], seed: [1, 2], n: [512, 1024]}\nzip: [m, n]", "m=256 n=512 seed=1, m=256 n=512 seed=2, m=512 n=1024 seed=1, m=512 n=1024 seed=2"},
		{"zipped twice", "axes: {m: [1, 2], n: [3, 4], seed: [5, 6], k: [7, 8]}\nzip: [[m, n], [seed, k]]", "m=1 n=3 seed=5 k=7, m=1 n=3 seed=6 k=8, m=2 n=4 seed=5 k=7, m=2 n=4 seed=6 k=8"},
		{"zipped in a list", "axes: [{m: [256, 512], n: [512, 256]}, {seed: [1, 2]}]", "m=256 n=512 seed=1, m=256 n=512 seed=2, m=512 n=256 seed=1, m=512 n=256 seed=2"},
		{"condition", "axes: {m: [256, 512], n: [256, 512]}\nwhere: m >= n", "m=256 n=256, m=512 n=256, m=512 n=512"},
		{"conditions on leaves and words", "axes: {lds.bytes: [65536, 163840], schedule: [pingpong8, interleave4]}\nwhere: [\"lds.bytes > 65536 || schedule == 'interleave4'\"]",
			"lds.bytes=65536 schedule=interleave4, lds.bytes=163840 schedule=pingpong8, lds.bytes=163840 schedule=interleave4"},
		{"other spellings", "axes: {set.lds.bytes: [65536], W: [4], launch-overhead-us: [1], host-sync: [true]}", "lds.bytes=65536 window=4 launch_overhead_us=1 host_sync=true"},
		{"machines", "axes: {machine: [mi300x, mi355x]}", "machine=mi300x, machine=mi355x"},
		{"no axis", "", "the only point"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(labels(t, parse(t, "kernel: gemm\n"+c.text)), ", "); got != c.want {
				t.Errorf("points\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A study's mistakes are each one sentence that names what is allowed.
func TestStudyMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"kernel: gemm\naxis: {m: [1]}", `unknown key "axis"`},
		{"kernel: gem", `unknown kernel "gem"; there are gemm`},
		{"axes: {m: [256]}", "names no kernel"},
		{"kernel: gemm\naxes: {lds.byte: [65536]}", "did you mean lds.bytes"},
		{"kernel: gemm\naxes: {ldss.bytes: [65536]}", "lds.bytes"},
		{"kernel: gemm\naxes: {schedul: [pingpong8]}", "did you mean schedule"},
		{"kernel: gemm\naxes: {m: []}", "axis m has no values"},
		{"kernel: gemm\naxes: {m: {from: 5, to: 1}}", "axis m has no values"},
		{"kernel: gemm\naxes: {m: 256}", "belongs under fixed"},
		{"kernel: gemm\naxes: {m: {from: 1, to: 2, by: 3}}", `unknown key "by"`},
		{"kernel: gemm\naxes: {m: {from: 1, to: 2, step: 0}}", "step must be more than 0"},
		{"kernel: gemm\naxes: {m: {from: 1, to: 2, step: 1, factor: 2}}", "one of step"},
		{"kernel: gemm\naxes: {m: [256, 256]}", "m=256 twice"},
		{"kernel: gemm\nfixed: {m: 1}\naxes: {m: [256]}", "m is given twice"},
		{"kernel: gemm\naxes: {m: [256, 512], n: [1]}\nzip: [m, n]", "have 2 and 1 values"},
		{"kernel: gemm\naxes: {m: [256, 512]}\nzip: [m, n]", "n is no axis"},
		{"kernel: gemm\naxes: {seed: [1, -5]}", "seed is \"-5\""},
		{"kernel: gemm\naxes: {tile: [256x256, 256]}", "write it as rows x columns"},
		{"kernel: gemm\naxes: {lds.bytes: [65536, 0]}", "lds.bytes"},
		{"kernel: gemm\naxes: {mode: [timing, fast]}", `"fast"`},
		{"kernel: gemm\naxes: {machine: [mi355x, mi400]}", `"mi400"`},
		{"kernel: gemm\naxes: {machine: [no/such.yaml]}", "no machine file"},
		{"kernel: gemm\naxes: {m: [256]}\nwhere: m >= p", "may use this study's keys: kernel, m"},
		{"kernel: gemm\naxes: {m: [256]}\nwhere: m +", "where"},
		{"kernel: gemm\naxes: {m: [256, [1]]}", "must be one value"},
		{"kernel: gemm\naxes: {seed: {from: 1, to: 10000000}}", "10000000 points"},
		{"kernel: gemm\naxes: {seed: {from: 1, to: 10000}, m: {from: 1, to: 1000}}", "10000000 points"},
		{"kernel: gemm\naxes: {seed: {from: 1, to: 10000}, m: {from: 1, to: 1000}}\nwhere: m > 1", "up to 10000000 points"},
		{"kernel: gemm\nkernel: gemm", "already defined"},
		{"[1", "line"},
		{"hello", "must be a mapping"},
		{"", "must be a mapping"},
	} {
		_, err := Parse("x.yaml", []byte(c.text), false)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
			continue
		}
		if _, usage := errors.AsType[*sim.UsageError](err); !usage || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v: not one sentence for the user", c.text, err)
		}
	}
	s, err := Parse("x.yaml", []byte("kernel: gemm\naxes: {seed: {from: 1, to: 10000}, m: {from: 1, to: 1000}}"), true)
	if err != nil || s.Combinations() != 10_000_000 {
		t.Errorf("confirmed: %v", err)
	}
}

// What a point is does not depend on the order of its settings.
func TestHashOfPoints(t *testing.T) {
	a := parse(t, "kernel: gemm\naxes: {m: [256], n: [512]}")
	b := parse(t, "axes: {n: [512], m: [256]}\nkernel: gemm")
	c := parse(t, "kernel: gemm\naxes: {n: [256], m: [512]}")
	hash := func(s *Study) string {
		p, err := s.Point(0)
		if err != nil {
			t.Fatal(err)
		}
		return p.Hash()
	}
	if hash(a) != hash(b) || hash(a) == hash(c) {
		t.Error(hash(a), hash(b), hash(c))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("kernel: gemm\naxes: {m: {from: 1, to: 9, factor: 1.5}}\nzip: [[m, n]]\nwhere: m > 1"))
	f.Add([]byte("kernel: gemm\naxes: [{m: [1, 2], n: [2, 1]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse("fuzz.yaml", data, false)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
			return
		}
		if n, err := s.Count(); err == nil && (n < 0 || n > MostPoints) {
			t.Errorf("%d points", n)
		}
		_ = fmt.Sprint(s.Text())
	})
}

// A study may run a launch file; its fingerprint is of the code object too.
func TestLaunchStudy(t *testing.T) {
	dir := t.TempDir()
	if err := suite.Extract(dir); err != nil {
		t.Fatal(err)
	}
	launches, err := suite.Launches("clang")
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(launches, func(l suite.Launch) bool { return l.CPU == "gfx950" })
	file := filepath.Join(dir, "launch", "run.yaml")
	if err := os.WriteFile(file, []byte(launches[at].Text), 0o644); err != nil {
		t.Fatal(err)
	}
	text := "axes: {launch: [launch/run.yaml]}\nfixed: {machine: mi355x, chip.xcds: 1, chip.iods: 1, chip.cus_per_xcd: 4}"
	read := func(text string) (*Study, error) { return Parse(filepath.Join(dir, "s.yaml"), []byte(text), false) }
	s, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Point(0)
	if err != nil {
		t.Fatal(err)
	}
	rec := s.Simulate(p, 1)
	run, err := rec.GetRun()
	if err != nil || rec.Status != "done" || run.Cycles == 0 {
		t.Fatalf("%s: %s, %v", rec.Status, rec.Message, err)
	}
	before, err := s.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	l, err := sim.ReadLaunch(file)
	if err != nil {
		t.Fatal(err)
	}
	object := filepath.Join(dir, "launch", l.CodeObject)
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(object, append(data, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	if after, err := again.Fingerprint(); err != nil || after == before {
		t.Errorf("another code object has the same fingerprint: %v", err)
	}
	for _, bad := range []string{"kernel: gemm\n", "zip: 3\n"} {
		if _, err := read(bad + text); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
