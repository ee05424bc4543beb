package whisker_test

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/whisker-sim/whisker"

// allowed says which of our top-level folders the code of a folder may import;
// its own sub-packages are always allowed. Arrows point down only, so that a
// reader can stop at any level. A folder that is not here may import nothing.
var allowed = map[string][]string{
	"cmd":       {"sim", "report", "device", "trace"},
	"sim":       {"trace", "workloads", "xcd", "report", "configs", "cu", "cache", "lds", "isa", "swizzle"},
	"device":    {"report", "workloads", "isa", "configs", "trace"},
	"workloads": {"isa", "lds", "swizzle"},
	"xcd":       {"cu", "cache", "configs", "isa", "lds"},
	"cu":        {"isa", "lds", "cache"},
	"report":    nil, // imports no model
	"trace":     nil,
	"configs":   nil,
	"cache":     nil,
	"lds":       nil,
	"isa":       nil,
	"swizzle":   nil,
	"docs":      {"sim", "report", "workloads", "isa"}, // programs of the lessons
	".":         nil,
}

// goFile is one parsed source file.
type goFile struct {
	path string // slashes, from the repository root
	top  string // top-level folder, "." for the root
	ast  *ast.File
	text []byte
}

// sources parses every Go file of the module, testdata left out.
func sources(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	set := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() {
			if name == "testdata" || name == "out" || len(name) > 1 && (name[0] == '.' || name[0] == '_') {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(set, path, text, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		top, _, nested := strings.Cut(path, "/")
		if !nested {
			top = "."
		}
		files = append(files, goFile{path, top, parsed, text})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found only %d Go files", len(files))
	}
	return files
}

// edge reports whether code below the folder from may import the package.
func edge(from, pkg string) bool {
	rest, ours := strings.CutPrefix(pkg, module)
	if !ours {
		return true
	}
	to, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	return to == from || slices.Contains(allowed[from], to)
}

func TestImportsPointDown(t *testing.T) {
	for _, f := range sources(t) {
		if _, known := allowed[f.top]; !known {
			t.Errorf("%s: folder %s has no line in the import rules", f.path, f.top)
		}
		if strings.HasSuffix(f.path, "_test.go") {
			continue // a test may build what it needs
		}
		for _, spec := range f.ast.Imports {
			pkg, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !edge(f.top, pkg) {
				t.Errorf("%s imports %s; %s may import only %v of ours", f.path, pkg, f.top, allowed[f.top])
			}
		}
	}
}

// TestImportRules holds the rule itself: it must refuse what it is there for.
func TestImportRules(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"cmd", "sim", true},
		{"cmd", "configs", false},
		{"report", "cu", false},
		{"isa", "isa/emu", true},
		{"isa", "lds", false},
		{"cu", "xcd", false},
		{"cu", "report", false},
		{"workloads", "cu", false},
		{"nowhere", "isa", false},
	} {
		if got := edge(c.from, module+"/"+c.to); got != c.want {
			t.Errorf("%s -> %s allowed: %v, want %v", c.from, c.to, got, c.want)
		}
	}
	if !edge("isa", "fmt") {
		t.Error("the standard library is refused")
	}
	for from, tos := range allowed {
		for _, to := range tos {
			if slices.Contains(allowed[to], from) {
				t.Errorf("%s and %s may import each other", from, to)
			}
		}
	}
}

func TestPackagesAreNamedAndDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range sources(t) {
		folder := filepath.ToSlash(filepath.Dir(f.path))
		switch filepath.Base(folder) {
		case "util", "utils", "common", "misc", "helpers":
			t.Errorf("%s: a package's name says what it is about", f.path)
		}
		if !strings.HasSuffix(f.path, "_test.go") {
			documented[folder] = documented[folder] || f.ast.Doc != nil
		}
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s: no file has a package comment", folder)
		}
	}
}

func TestFilesAreFormatted(t *testing.T) {
	for _, f := range sources(t) {
		want, err := format.Source(f.text)
		if err != nil {
			t.Errorf("%s: %v", f.path, err)
		} else if string(want) != string(f.text) {
			t.Errorf("%s: run gofmt -w %s", f.path, f.path)
		}
	}
}
