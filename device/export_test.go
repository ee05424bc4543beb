package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// smallMachine is a machine of one XCD with four CUs.
func smallMachine(t testing.TB, cpu isa.CPU) *configs.Resolved {
	t.Helper()
	name := "mi355x"
	if cpu == isa.GFX942 {
		name = "mi300x"
	}
	m, err := configs.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SetAll([]string{"chip.xcds=1", "chip.cus_per_xcd=4", "chip.iods=1"}); err != nil {
		t.Fatal(err)
	}
	return m
}

// leastOptions are the options of a form at the least size that runs it whole.
func leastOptions(i *workloads.Info) map[string]string {
	o := map[string]string{}
	has := map[string]bool{}
	for _, x := range i.Options {
		has[x.Name] = true
	}
	for name, v := range map[string]string{"tile": i.Tile, "schedule": i.Schedule, "dtype": i.DType, "variant": i.Variant, "batch": "1", "heads": "1", "seq": "256"} {
		if has[name] && v != "" {
			o[name] = v
		}
	}
	for _, c := range i.Choose {
		o[c.Name] = c.Value
	}
	var m, n int
	switch i.Name {
	case "gemm":
		fmt.Sscanf(i.Tile, "%dx%d", &m, &n)
		k := map[string]int{"fp8": 512, "fp6": 512, "fp4": 1024}[i.DType]
		o["m"], o["n"], o["k"] = fmt.Sprint(m), fmt.Sprint(n), fmt.Sprint(max(k, 256))
	case "layernorm":
		o["seq"] = "4"
	case "rotary":
		o["seq"] = "32"
	case "micro":
		for k := range o {
			if k != "test" {
				delete(o, k)
			}
		}
		o["trips"], o["workgroups"] = "1", "2"
	case "chase":
		o["footprint"], o["hops"] = "16KiB", "32"
	case "stream":
		o["footprint"], o["workgroups"], o["passes"] = "64KiB", "4", "1"
	case "attention":
		var rows, keys, dim int
		fmt.Sscanf(i.Tile, "%dx%dx%d", &rows, &keys, &dim)
		o["dim"], o["causal"] = fmt.Sprint(dim), fmt.Sprint(strings.Contains(i.Variant, "causal"))
		if strings.Contains(i.Variant, "rescale") {
			o["rescale"] = "always"
		}
		delete(o, "variant")
		delete(o, "schedule")
		delete(o, "tile")
	}
	return o
}

// formName names a form for a subtest.
func formName(i *workloads.Info) string {
	return strings.Join(strings.Fields(strings.Join([]string{i.CPU.String(), i.Name, i.Schedule, i.DType, i.Variant, i.Tile}, " ")), "_")
}

// run runs a launch for cycles, and when full is set for values, which go to the
// launch's own memory.
func run(t *testing.T, m *configs.Machine, l *isa.Launch, full bool) int64 {
	t.Helper()
	g, err := xcd.NewGPU(m, float64(m.Clock.PeakMHz), l, xcd.GPUOptions{Full: full, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res.Timing.Cycles
}

// contents is every region's bytes.
func contents(mem *isa.Memory) map[string][]byte {
	out := map[string][]byte{}
	for _, r := range mem.Regions() {
		b := make([]byte, r.Size)
		mem.Read(r.Base, b)
		out[r.Name] = b
	}
	return out
}

// Every kernel assembles with LLVM without a word, loads back, and gives the same
// values and the same cycles as what is simulated.
func TestExportedRunsTheSame(t *testing.T) {
	if findToolchain() == nil {
		if os.Getenv("REQUIRE_LLVM") != "" {
			t.Fatal("LLVM is required and was not found")
		}
		t.Skip("LLVM is not installed")
	}
	forms := workloads.List()
	for i := range forms {
		f := &forms[i]
		t.Run(formName(f), func(t *testing.T) {
			if testing.Short() && i%8 != 0 {
				t.Skip("short")
			}
			machine := smallMachine(t, f.CPU)
			dir := filepath.Join(t.TempDir(), "out")
			o := ExportOptions{Kernel: f.Name, Options: leastOptions(f), Seed: 3, Machine: machine, Dir: dir, NoReference: true}
			manifest, err := Export(o)
			if err != nil {
				t.Fatal(err)
			}
			build := func() *workloads.Job {
				j, err := workloads.Build(f.Name, workloads.Request{CPU: f.CPU, XCDs: 1, Seed: 3, LDSBytes: machine.Machine().LDS.Bytes, Options: o.Options})
				if err != nil {
					t.Fatal(err)
				}
				j.FillInputs()
				return j
			}
			ours, theirs := build(), build()
			// The values of what is large follow from its instructions, which Export
			// compares one by one.
			full := ours.FLOPs <= 1<<25 && f.Tile != "256x256"
			for i, x := range manifest.Kernels {
				if !strings.Contains(x.Assembler, "LLVM") {
					t.Errorf("%s was made by %q", x.Object, x.Assembler)
				}
				file, err := codeobj.Open(filepath.Join(dir, x.Object))
				if err != nil {
					t.Fatal(err)
				}
				k, _, err := file.Kernel("")
				if err != nil {
					t.Fatal(err)
				}
				theirs.Kernels[i].Launch.Kernel = k
				if a, b := run(t, machine.Machine(), ours.Kernels[i].Launch, full), run(t, machine.Machine(), theirs.Kernels[i].Launch, full); a != b || a == 0 {
					t.Errorf("%s: %d cycles before the export, %d after", x.Symbol, a, b)
				}
			}
			if !full {
				return
			}
			if worst, err := theirs.Verify(); err != nil || worst > theirs.Limit {
				t.Errorf("the exported code's error is %g (limit %g), %v", worst, theirs.Limit, err)
			}
			b := contents(theirs.Kernels[0].Launch.Memory)
			for name, want := range contents(ours.Kernels[0].Launch.Memory) {
				if !bytes.Equal(want, b[name]) {
					t.Errorf("buffer %s differs", name)
				}
			}
		})
	}
}

// Without LLVM, Whisker's own writer makes the code objects, and they hold the same.
func TestExportWithoutLLVM(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("ROCM_PATH", t.TempDir())
	dir := filepath.Join(t.TempDir(), "out")
	m, err := Export(ExportOptions{Kernel: "rotary", Options: map[string]string{"batch": "1", "heads": "1", "seq": "32"}, Machine: smallMachine(t, isa.GFX950), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if m.Kernels[0].Assembler != "whisker" {
		t.Errorf("made by %s", m.Kernels[0].Assembler)
	}
	for _, f := range []string{"export.json", "plan.txt", "host.cpp", "Makefile", "run.sh", "README.md", "counters.txt", "expected.bin", "inputs/x.bin", m.Kernels[0].Object, m.Kernels[0].Assembly} {
		if s, err := os.Stat(filepath.Join(dir, f)); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", f, err)
		}
	}
}

func TestExportRefuses(t *testing.T) {
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, want string
		o          ExportOptions
	}{
		{"kernel", `unknown kernel "gem"`, ExportOptions{Kernel: "gem"}},
		{"option", "no option --causal", ExportOptions{Kernel: "gemm", Options: map[string]string{"causal": "true"}}},
		{"occupied", "is not empty and holds no export.json", ExportOptions{Kernel: "rotary", Options: map[string]string{"batch": "1", "heads": "1", "seq": "32"}, Dir: occupied}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Machine = smallMachine(t, isa.GFX950)
			if c.o.Dir == "" {
				c.o.Dir = filepath.Join(t.TempDir(), "out")
			}
			_, err := Export(c.o)
			if _, input := errors.AsType[*InputError](err); !input || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.o.Dir), ".*partial*"))
			if len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// An earlier export is only replaced when that is asked for, and then whole.
func TestExportForce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	o := ExportOptions{Kernel: "rotary", Options: map[string]string{"batch": "1", "heads": "1", "seq": "32"}, Machine: smallMachine(t, isa.GFX950), Dir: dir}
	if _, err := Export(o); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stale"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Export(o); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("error %v", err)
	}
	o.Force = true
	if _, err := Export(o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "stale")); err == nil {
		t.Error("the earlier export was not replaced")
	}
}
