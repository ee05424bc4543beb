package sim

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/asm"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/workloads/suite"
)

// passed runs a suite in a mode and requires that every kernel passes.
func passed(t *testing.T, name, mode string, atLeast int) {
	t.Helper()
	rows, err := RunSuite(SuiteOptions{Name: name, Mode: mode, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < atLeast {
		t.Errorf("suite %s has %d kernels, want %d", name, len(rows), atLeast)
	}
	var b bytes.Buffer
	if err := WriteSuite(&b, name, rows, "table"); err != nil {
		t.Errorf("%v\n%s", err, &b)
	}
}

func TestSuiteTriton(t *testing.T) { passed(t, "triton", "functional", 10) }

func TestSuiteClang(t *testing.T) {
	kernels := 10
	if _, err := exec.LookPath("clang-22"); err == nil || os.Getenv("REQUIRE_LLVM") == "1" {
		kernels = 20 // the recompiled ones too
	}
	passed(t, "clang", "full", kernels)
}

// MGPUSim's code objects come with its module, which a machine without the
// toolchain or the network lacks.
func TestSuiteMGPUSim(t *testing.T) {
	if _, err := mgpusimDir(); err != nil {
		if os.Getenv("REQUIRE_LLVM") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	passed(t, "mgpusim", "functional", 15)
	passed(t, "mgpusim", "full", 15)
}

// Every kernel of MGPUSim's code objects, printed as assembly and assembled
// again, has the same machine code.
func TestMGPUSimRoundTrip(t *testing.T) {
	dir, err := mgpusimDir()
	if err != nil {
		t.Skip(err)
	}
	kernels := 0
	for _, b := range suite.Benchmarks {
		f, err := codeobj.Open(filepath.Join(dir, "amd", "benchmarks", b.File))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range f.Kernels() {
			k, m, err := f.Kernel(name)
			if err != nil {
				t.Fatal(err)
			}
			src, err := isa.Assembly(k)
			if err != nil {
				t.Fatal(err)
			}
			units, err := asm.Assemble(name, src, asm.Options{})
			if err != nil {
				t.Fatal(err)
			}
			units[0].Meta = m
			data, err := codeobj.Write(units...)
			if err != nil {
				t.Fatal(err)
			}
			g, err := codeobj.Parse(name, data)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(f.Functions(), func(fn codeobj.Function) bool { return fn.Name == name })
			if i < 0 || !bytes.Equal(f.Functions()[i].Code, g.Functions()[0].Code) {
				t.Errorf("%s of %s: machine code changed", name, b.File)
			}
			kernels++
		}
	}
	if kernels < 30 {
		t.Errorf("only %d kernels", kernels)
	}
}

func TestSuiteRefuses(t *testing.T) {
	if _, err := RunSuite(SuiteOptions{Name: "rocm"}); err == nil || !strings.Contains(err.Error(), "clang, mgpusim, triton or micro") {
		t.Errorf("error %v", err)
	}
	rows := []SuiteRow{{Kernel: "a", CPU: "gfx942", Passed: true}, {Kernel: "b", CPU: "gfx950", Error: "broken"}}
	var b bytes.Buffer
	err := WriteSuite(&b, "x", rows, "table")
	if err == nil || !strings.Contains(err.Error(), "1 of 2 did not pass: b on gfx950") || !strings.Contains(b.String(), "failed: broken") {
		t.Errorf("error %v\n%s", err, &b)
	}
}
