package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// What an ended validation has kept beside --out goes when one has simulated all
// points, and not when stored points are written there.
func TestValidateKept(t *testing.T) {
	out := filepath.Join(t.TempDir(), "points.csv")
	if err := os.WriteFile(out+partSuffix, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		left bool
	}{
		{[]string{"validate", "--from", "../../sim/tables/validate_short.csv", "--out", out}, true},
		{[]string{"validate", "--short", "--only", "units", "--out", out}, false},
	} {
		var stderr bytes.Buffer
		if code := run(c.args, io.Discard, &stderr); code != exitDone {
			t.Fatalf("%q: exit code %d: %s", c.args, code, &stderr)
		}
		if _, err := os.Stat(out + partSuffix); (err == nil) != c.left {
			t.Errorf("%q: the file of what has ended: %v", c.args, err)
		}
	}
}
