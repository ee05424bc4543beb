package sim

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/report/att"
	"github.com/whisker-sim/whisker/report/konata"
	"github.com/whisker-sim/whisker/report/perfetto"
	"github.com/whisker-sim/whisker/report/timeline"
)

// recorded writes a run file.
func recorded(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.whisker")
	if err := timeline.WriteFile(path, record(t, oneCU(), "0.0", "")); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestView: a run file becomes everything that is asked for, cut to the window,
// and each is read back.
func TestView(t *testing.T) {
	run := recorded(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var said bytes.Buffer
	err := View(&said, ViewOptions{Files: []string{run}, Cycles: "6000:8000", Outputs: Outputs{
		Record: in("cut.whisker"), HTML: in("p.html"), Perfetto: in("p.json.gz"), RCV: in("rcv"), Konata: in("k.log"), Akita: in("a.sqlite3"),
		Pictures: map[string]string{"timeline": in("t.svg"), "tile": in("tile.svg"), "chiplets": in("c.svg"), "first256": in("f.svg")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	cut, err := timeline.ReadFile(in("cut.whisker"))
	if err != nil || cut.Window.From != 6000 || cut.End != 8000 {
		t.Errorf("the cut is from %d to %d; %v", cut.Window.From, cut.End, err)
	}
	f, err := os.Open(in("p.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if events, err := perfetto.Read(f); err != nil || len(events) < 1000 {
		t.Errorf("%d trace events; %v", len(events), err)
	}
	k, err := os.ReadFile(in("k.log"))
	if err != nil {
		t.Fatal(err)
	}
	if ops, err := konata.Read(bytes.NewReader(k)); err != nil || len(ops) < 500 {
		t.Errorf("%d instructions; %v", len(ops), err)
	}
	if folder, err := att.Read(in("rcv/ui_output_agent_0_dispatch_1")); err != nil || len(folder.Waves) != 8 {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]string{"t.svg": "matrix pipe 3", "tile.svg": "4 conflicts", "c.svg": "workgroups", "f.svg": "W 8, C 542"} {
		b, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		if d := xml.NewDecoder(bytes.NewReader(b)); !wellFormed(d) || !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s is not well formed or lacks %q", name, want)
		}
	}
	if n := strings.Count(said.String(), "wrote "); n != 10 {
		t.Errorf("%d files are named: %s", n, &said)
	}
}

func wellFormed(d *xml.Decoder) bool {
	for {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// TestViewCompares: two runs make one page, named after the first when no name is
// given.
func TestViewCompares(t *testing.T) {
	run := recorded(t)
	if err := View(io.Discard, ViewOptions{Files: []string{run, run}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(strings.TrimSuffix(run, ".whisker") + ".html"); err != nil {
		t.Error(err)
	}
}

func TestViewRefuses(t *testing.T) {
	run := recorded(t)
	page := filepath.Join(t.TempDir(), "x.html")
	junk := filepath.Join(t.TempDir(), "junk")
	if err := os.WriteFile(junk, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    ViewOptions
		want string
	}{
		{ViewOptions{Files: []string{"nowhere.whisker"}}, "nowhere.whisker"},
		{ViewOptions{Files: []string{junk}}, "not a recorded run"},
		{ViewOptions{Files: []string{t.TempDir()}}, "directory"},
		{ViewOptions{Files: []string{run, run, run}}, "3 runs"},
		{ViewOptions{Files: []string{run}, Cycles: "99999999:"}, "outside"},
		{ViewOptions{Files: []string{run}, Cycles: "x"}, "FROM:TO"},
		{ViewOptions{Files: []string{run}, CUs: "3.3"}, "outside"},
		{ViewOptions{Files: []string{run}, Outputs: Outputs{HTML: "no/such/place.html"}}, "no directory"},
		{ViewOptions{Files: []string{run}, Outputs: Outputs{HTML: t.TempDir()}}, "is a directory"},
		{ViewOptions{Files: []string{run}, Outputs: Outputs{RCV: junk}}, "is a file"},
		{ViewOptions{Files: []string{run}, Outputs: Outputs{RCV: junk + "/below/it"}}, "is a file"},
		{ViewOptions{Files: []string{run}, Outputs: Outputs{Pictures: map[string]string{"cat": "x"}}}, "choose chiplets"},
		{ViewOptions{Files: []string{run}, Outputs: Outputs{Pictures: map[string]string{"tile": ""}}}, "needs a file"},
		{ViewOptions{Files: []string{run, run}, Outputs: Outputs{HTML: page, Konata: "x"}}, "two runs"},
	} {
		err := View(io.Discard, c.o)
		var usage *UsageError
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &usage) {
			t.Errorf("%+v: error %v, want a usage error about %q", c.o, err, c.want)
		}
	}
}
