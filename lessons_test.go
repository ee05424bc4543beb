package whisker_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLessons runs every command of every lesson in the order in which a reader
// does, holds the output against the page and the pictures that the commands
// draw against those in docs/lessons/pictures.
func TestLessons(t *testing.T) {
	const lessons = "docs/lessons"
	pages, err := filepath.Glob(lessons + "/[0-9][0-9]-*.md")
	if err != nil || len(pages) != 11 {
		t.Fatalf("%d lessons (%v), want 11", len(pages), err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(lessons)); err != nil {
				t.Fatal(err)
			}
			if n := (document{path: page, dir: dir, args: program}).check(t); n < 2 {
				t.Errorf("%s has %d commands, want at least 2", page, n)
			}
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			if q := strings.Count(string(text), "<details>"); q < 3 || q != strings.Count(string(text), "</details>") {
				t.Errorf("%s has %d questions with answers, want at least 3", page, q)
			}
			comparePictures(t, dir, lessons, text)
		})
	}
}

// TestTraceExample runs the commands of docs/trace-format.md's example.
func TestTraceExample(t *testing.T) {
	if n := (document{path: "docs/trace-format.md", dir: t.TempDir()}).check(t); n < 8 {
		t.Errorf("docs/trace-format.md has %d commands with output, want at least 8", n)
	}
}

// program is a command as the test runs it: the folder is not in a module there.
func program(cmd string) string { return strings.ReplaceAll(cmd, "go run ./own", "own") }

// picture is where a lesson's command writes a drawing.
var picture = regexp.MustCompile(`(?:--picture \w+=|--plot-file |-o |--png )(pictures/[\w.-]+)`)

// shown is a picture of a page.
var shown = regexp.MustCompile(`!\[[^\]]+\]\(([^)]+)\)`)

// comparePictures holds what the commands of a page drew in dir against the
// pictures in the repository.
func comparePictures(t *testing.T, dir, lessons string, page []byte) {
	t.Helper()
	drawn := map[string]bool{}
	for _, m := range picture.FindAllSubmatch(page, -1) {
		name := string(m[1])
		drawn[name] = true
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		want, err := os.ReadFile(filepath.Join(lessons, name))
		switch {
		case err == nil && bytes.Equal(got, want):
		case *update:
			if err := os.WriteFile(filepath.Join(lessons, name), got, 0o644); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s/%s is not what the lesson's command draws (%v); go test . -update draws it anew", lessons, name, fmt.Sprint(err))
		}
	}
	for _, m := range shown.FindAllSubmatch(page, -1) {
		if name := string(m[1]); strings.HasPrefix(name, "pictures/") && !drawn[name] {
			t.Errorf("no command of the page draws %s", name)
		}
	}
}
