package whisker_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/whisker-sim/whisker/report"
)

var (
	longRun = flag.Bool("long", false, "also run README's main command (minutes)")
	update  = flag.Bool("update", false, "write what the commands print into the documents, and the pictures that they draw")
)

// hostFigures matches what differs between computers and repetitions, and the
// machine's hash, which any new key of the machine files changes.
var hostFigures = regexp.MustCompile(`(?m)^SIMULATED in .*$|machine [0-9a-f]{12}`)

// binary builds whisker and the program of a lesson once and returns the folder that holds it.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "whisker-docs")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir+"/", "./cmd/whisker", "./docs/lessons/own").CombinedOutput()
	if err != nil {
		return "", &buildError{err, out}
	}
	return dir, nil
})

type buildError struct {
	err error
	out []byte
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + string(e.out) }

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := binary(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// document is a page whose console blocks show commands and what they print.
type document struct {
	path string
	dir  string                  // where the commands run
	skip func(cmd string) bool   // commands that are too long for a test; may be nil
	args func(cmd string) string // what is run for a command; may be nil
}

// consoleBlock is one block; its body begins behind the first line.
var consoleBlock = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// promptLine is a command with its continuation lines.
var promptLine = regexp.MustCompile(`(?m)^\$ ((?:.*\\\n)*.*)\n`)

// check runs the commands of d in turn and compares what they print with what
// the page says; with -update it writes the page anew. It returns how many
// commands there are. A command is a line of sh behind a prompt, and fails the
// test unless it ends with 0.
func (d document) check(t *testing.T) int {
	t.Helper()
	page, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	page = consoleBlock.ReplaceAllFunc(page, func(block []byte) []byte {
		body := string(consoleBlock.FindSubmatch(block)[1])
		at := promptLine.FindAllStringSubmatchIndex(body, -1)
		if len(at) == 0 || at[0][0] != 0 {
			t.Errorf("%s: a console block begins without a command: %.60q", d.path, body)
			return block
		}
		out := "```console\n"
		for i, a := range at {
			end := len(body)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			commands++
			out += body[a[0]:a[1]] + d.run(t, bin, body[a[2]:a[3]], body[a[1]:end])
		}
		return []byte(out + "```")
	})
	if *update && !t.Failed() {
		if err := os.WriteFile(d.path, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return commands
}

// run runs one command and returns what the page should say; it fails the test
// where the page says something else and is not to be updated.
func (d document) run(t *testing.T, bin, cmd, says string) string {
	if d.skip != nil && d.skip(cmd) {
		return says
	}
	t.Run(cmd, func(t *testing.T) {
		line := cmd
		if d.args != nil {
			line = d.args(cmd)
		}
		c := exec.Command("sh", "-c", line)
		c.Dir = d.dir
		c.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "LC_ALL=C")
		got, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", d.path, err, got)
		}
		text := string(got)
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		plain := func(s string) string { return strings.TrimSpace(hostFigures.ReplaceAllString(s, "HOST")) }
		switch {
		case plain(text) == plain(says):
		case *update:
			says = text
		default:
			t.Errorf("%s says\n%s\nthe program\n%s\n(go test . -update writes it anew)", d.path, says, text)
		}
	})
	return says
}

// TestWaveSpecialization runs the study of docs/wave-specialization.md and holds the page's table
// against it: a row is the point of its features and stages.
func TestWaveSpecialization(t *testing.T) {
	if !*longRun {
		t.Skip("a study of 15 points; -long runs it")
	}
	dir, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "ws.sqlite")
	whisker := func(args ...string) []byte {
		out, err := exec.Command(filepath.Join(dir, "whisker"), args...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return out
	}
	whisker("sweep", "studies/wave-specialization.yaml", "--out", db)
	var points []struct {
		Settings map[string]string `json:"settings"`
		Result   struct {
			Cycles int64   `json:"cycles"`
			Loop   float64 `json:"loop_matrix_utilization"`
		} `json:"result"`
	}
	if err := json.Unmarshal(whisker("report", db, "--format", "json"), &points); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, p := range points {
		features := strings.Split(p.Settings["features"], ",")
		slices.Sort(features)
		want[strings.Join(features, ",")+" "+p.Settings["stages"]] = fmt.Sprintf("%s, loop %.0f %%", report.Thousands(p.Result.Cycles), 100*p.Result.Loop)
	}
	page, err := os.ReadFile("docs/wave-specialization.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([a-z_]+)`")
	for _, m := range regexp.MustCompile(`(?m)^\| (.+?) \| \d+x\d+ \| \d+ KiB(?:, (\d))? \| (\S+) \| \S+ \| (.+?) \|$`).FindAllStringSubmatch(string(page), -1) {
		var features []string
		for _, f := range name.FindAllStringSubmatch(m[1], -1) {
			features = append(features, f[1])
		}
		slices.Sort(features)
		key := strings.Join(features, ",")
		switch {
		case strings.Contains(m[1], "all four"):
			key = "all"
		case key == "":
			key = "none"
		}
		if m[2] == "" { // ping-pong has no stages to choose
			m[2] = "0"
		}
		key += " " + m[2]
		if got := strings.Trim(m[3], "*") + ", loop " + strings.Trim(m[4], "*"); got != want[key] {
			t.Errorf("%s: the page says %s, the study %s", m[1], got, want[key])
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("%s: a point that the page lacks", key)
	}
}
