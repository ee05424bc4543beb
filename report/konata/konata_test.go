package konata_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/whisker-sim/whisker/report/konata"
	"github.com/whisker-sim/whisker/sim"
)

// commands is the grammar of a log.
var commands = regexp.MustCompile(`^(C=\t\d+|C\t[1-9]\d*|I\t\d+\t\d+\t\d+|L\t\d+\t[01]\t.+|[SE]\t\d+\t0\t[A-Za-z_]+|R\t\d+\t\d+\t[01]|W\t\d+\t\d+\t[01])$`)

// TestLog: every line is a command, and what is read back is what was written:
// as many instructions as ran, their stages without gaps, producers before
// consumers.
func TestLog(t *testing.T) {
	o := sim.RunOptions{Kernel: "gemm", Arch: "teaching", Tile: "256x256", M: 256, N: 256, K: 256, Mode: "timing", Threads: 1, Seed: 1, Record: &sim.RecordOptions{Cycles: "5000:15000"}}
	if _, err := sim.Run(o); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := konata.Write(&b, o.Record.Result); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if lines[0] != konata.Header || lines[1] != "C=\t5000" {
		t.Errorf("the log begins with %q", lines[:2])
	}
	for i, l := range lines[1:] {
		if !commands.MatchString(l) {
			t.Fatalf("line %d: %q", i+2, l)
		}
	}
	// Whatever a stage's reader does with one that is followed by another, each is
	// ended before the next begins, and all are before the instruction retires.
	open := map[string]string{}
	for i, l := range lines[2:] {
		f := strings.Split(l, "\t")
		switch f[0] {
		case "S":
			if open[f[1]] != "" {
				t.Fatalf("line %d: %s begins in %s", i+3, l, open[f[1]])
			}
			open[f[1]] = f[3]
		case "E":
			if open[f[1]] != f[3] {
				t.Fatalf("line %d: %s ends in %s", i+3, l, open[f[1]])
			}
			open[f[1]] = ""
		case "R":
			if open[f[1]] != "" {
				t.Fatalf("line %d: %s retires in %s", i+3, l, open[f[1]])
			}
		}
	}
	got, err := konata.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	want := konata.From(o.Record.Result)
	if len(got) != len(want) || len(got) < 1000 {
		t.Fatalf("%d instructions, want %d", len(got), len(want))
	}
	needs := 0
	for i := range want {
		if d := cmp.Diff(want[i], got[i], cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		executes := 0
		for k, s := range got[i].Stages {
			if strings.Contains(s.Name, "X") {
				executes++
			}
			if s.To <= s.From {
				t.Fatalf("instruction %d: stage %s takes from %d to %d", i, s.Name, s.From, s.To)
			}
			if k > 0 && s.From != got[i].Stages[k-1].To {
				t.Fatalf("instruction %d: stage %s begins at %d, and the one before it ends at %d", i, s.Name, s.From, got[i].Stages[k-1].To)
			}
		}
		if executes != 1 && got[i].Retire < 15000 {
			t.Fatalf("instruction %d has %d stages of execution: %+v", i, executes, got[i].Stages)
		}
		for _, n := range got[i].Needs {
			needs++
			if p := got[n[0]]; p.Thread != got[i].Thread || p.Stages[0].From >= got[i].Retire {
				t.Fatalf("instruction %d waits for %d", i, n[0])
			}
		}
	}
	if needs == 0 {
		t.Error("nothing waits for anything")
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "first line"}, {"x\n", "first line"}, {"Kanata\t0004\nQ\t1\n", "line 2"}, {"Kanata\t0004\nI\t1\t1\t1\n", "line 2"}, {"Kanata\t0004\nS\t0\t0\tX\n", "no instruction 0"}, {"Kanata\t0004\nI\t0\t0\t0\nE\t0\t0\tX\n", "not open"},
	} {
		if _, err := konata.Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v", c.text, err)
		}
	}
}
