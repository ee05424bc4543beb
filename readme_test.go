package whisker_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	longRun = flag.Bool("long", false, "also run README's main command (minutes)")
	update  = flag.Bool("update", false, "write the commands' output into README")
)

// hostFigures matches what differs between computers and repetitions, and the
// machine's hash, which any new key of the machine files changes.
var hostFigures = regexp.MustCompile(`(?m)^SIMULATED in .*$|machine [0-9a-f]{12}`)

// TestReadme runs the commands that README shows with their output.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir() + "/whisker"
	if out, err := exec.Command("go", "build", "-o", bin, "./cmd/whisker").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	blocks := regexp.MustCompile("(?s)```console\n\\$ go run ./cmd/whisker ([^\n]*)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 4 {
		t.Fatalf("README shows %d commands with output, want at least 4", len(blocks))
	}
	for _, b := range blocks {
		t.Run(b[1], func(t *testing.T) {
			if b[1] == "run gemm" && !*longRun {
				t.Skip("runs with -long")
			}
			out, err := exec.Command(bin, append(strings.Fields(b[1]), threads(b[1])...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want := hostFigures.ReplaceAllString(b[2], "SIMULATED")
			got := hostFigures.ReplaceAllString(string(out), "SIMULATED")
			if strings.TrimSpace(got) == strings.TrimSpace(want) {
				return
			}
			if *update {
				text = bytes.Replace(text, []byte(b[2]), out, 1)
			} else {
				t.Errorf("README says\n%s\nthe program\n%s", want, got)
			}
		})
	}
	if *update {
		if err := os.WriteFile("README.md", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// threads lets the long run use the machine: the output is the same.
func threads(args string) []string {
	if args == "run gemm" {
		return []string{"--threads", "2"}
	}
	return nil
}
