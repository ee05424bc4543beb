// Package suite holds kernels from other compilers with launches whose values
// are checked: small code objects that Triton and clang made, and the
// benchmarks whose gfx942 code objects lie in MGPUSim's module.
package suite

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// files are the code objects, their sources and their launch files.
//
//go:embed objects launch sources
var files embed.FS

// Launch is a launch file of a suite for one processor. Paths in it are relative
// to the folder launch of what Extract writes.
type Launch struct {
	Name string
	CPU  string
	Text string
}

// onlyCDNA3 marks a launch file whose other code objects compute something else.
const onlyCDNA3 = "gfx942 only"

// Launches lists the launches of a suite, triton or clang, by name and
// processor: a launch file is for every processor that its code object exists
// for.
func Launches(suite string) ([]Launch, error) {
	entries, err := files.ReadDir("launch")
	if err != nil {
		return nil, err
	}
	var out []Launch
	for _, e := range entries {
		name, isLaunch := strings.CutSuffix(e.Name(), ".yaml")
		if name, ofSuite := strings.CutPrefix(name, suite+"_"); isLaunch && ofSuite {
			b, err := files.ReadFile(path.Join("launch", e.Name()))
			if err != nil {
				return nil, err
			}
			out = append(out, ported(name, string(b))...)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("suite %q has no launches", suite)
	}
	return out, nil
}

// ported makes a launch of every processor that has the code object.
func ported(name, text string) []Launch {
	cpus := []string{"gfx942", "gfx950"}
	own := cpus[0]
	if !strings.Contains(text, own) {
		own = cpus[1]
	}
	var out []Launch
	for _, cpu := range cpus {
		t := text
		if cpu != own {
			if strings.Contains(text, onlyCDNA3) {
				continue
			}
			t = strings.ReplaceAll(text, own, cpu)
		}
		_, after, _ := strings.Cut(t, "code_object: ../")
		object, _, _ := strings.Cut(after, "\n")
		if _, err := fs.Stat(files, object); err == nil {
			out = append(out, Launch{name, cpu, t})
		}
	}
	return out
}

// MI300A is the code object of the kernels that were timed on an MI300A.
func MI300A() ([]byte, error) { return files.ReadFile("objects/mi300a.gfx942.co") }

// Extract writes code objects, launch files and sources below dir.
func Extract(dir string) error {
	return fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(p))
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		}
		b, err := files.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
}

// Names lists the suites.
func Names() []string { return slices.Clone([]string{"clang", "mgpusim", "triton"}) }
