package whisker_test

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var longRun = flag.Bool("long", false, "also run README's main command (minutes)")

// hostFigures matches what differs between computers and repetitions.
var hostFigures = regexp.MustCompile(`(?m)^SIMULATED in .*$`)

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
			if strings.TrimSpace(got) != strings.TrimSpace(want) {
				t.Errorf("README says\n%s\nthe program\n%s", want, got)
			}
		})
	}
}

// threads lets the long run use the machine: the output is the same.
func threads(args string) []string {
	if args == "run gemm" {
		return []string{"--threads", "2"}
	}
	return nil
}
