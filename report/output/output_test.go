package output_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/whisker-sim/whisker/report/output"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// alone fails when a temporary was left beside the files named.
func alone(t *testing.T, dir string, want int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != want {
		t.Errorf("%d entries, want %d: %v", len(entries), want, entries)
	}
}

func TestLinksStay(t *testing.T) {
	for _, tc := range []struct{ name, file string }{{"to a file", "old"}, {"to nothing yet", ""}} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "sub", "file")
			if tc.file != "" {
				if err := os.WriteFile(file, []byte(tc.file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			link := filepath.Join(dir, "link")
			if err := errors.Join(os.Symlink("sub/second", link), os.Symlink("file", filepath.Join(dir, "sub", "second"))); err != nil {
				t.Fatal(err)
			}
			if err := output.WriteFile(link, []byte("new")); err != nil {
				t.Fatal(err)
			}
			if got := read(t, file); got != "new" {
				t.Errorf("the file holds %q", got)
			}
			if to, err := os.Readlink(link); err != nil || to != "sub/second" {
				t.Errorf("the link leads to %q, %v", to, err)
			}
			alone(t, filepath.Join(dir, "sub"), 2)
		})
	}
}

func TestFIFOIsWritten(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	got := make(chan string)
	go func() {
		b, err := os.ReadFile(fifo)
		if err != nil {
			t.Error(err)
		}
		got <- string(b)
	}()
	want := strings.Repeat("a line of a trace\n", 20000)
	if err := output.WriteFile(fifo, []byte(want)); err != nil {
		t.Fatal(err)
	}
	if g := <-got; g != want {
		t.Errorf("the reader got %d bytes of %d", len(g), len(want))
	}
	if st, err := os.Stat(fifo); err != nil || st.Mode().Type() != os.ModeNamedPipe {
		t.Errorf("the FIFO is now %v, %v", st.Mode(), err)
	}
	alone(t, dir, 1)
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"-":                           "no file name",
		dir:                           "is a directory",
		filepath.Join(dir, "x") + "/": "is a directory",
		filepath.Join(dir, "no", "x"): "there is no directory",
		loop:                          "more than 40 symbolic links",
	} {
		for _, err := range []error{output.Check(path), output.WriteFile(path, nil)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", path, err, want)
			}
		}
	}
	alone(t, dir, 1)
}

func TestNothingPartial(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := output.WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	fault := errors.New("no more")
	err := output.Replace(path, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return fault
	})
	if !errors.Is(err, fault) {
		t.Errorf("error %v", err)
	}
	if got := read(t, path); got != "old" {
		t.Errorf("the file holds %d bytes", len(got))
	}
	alone(t, dir, 1)

	f, err := output.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	alone(t, dir, 2)
	output.RemoveUnfinished()
	alone(t, dir, 1)
	f.Discard()
}
