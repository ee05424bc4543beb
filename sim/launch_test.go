package sim

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/workloads/suite"
)

// launchFiles gives every launch of the suites, with paths made absolute:
// kernel.cpu -> text.
func launchFiles(t testing.TB) map[string]string {
	t.Helper()
	dir, err := filepath.Abs("../workloads/suite")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range []string{"triton", "clang"} {
		launches, err := suite.Launches(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range launches {
			text := strings.ReplaceAll(l.Text, "code_object: ..", "code_object: "+dir)
			out[s+"_"+l.Name+"."+l.CPU] = strings.ReplaceAll(text, "  file: ", "  file: "+dir+"/launch/")
		}
	}
	return out
}

func launch(t testing.TB, text, mode string) (*report.Run, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "launch.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	arch := suiteMachines["gfx942"]
	if strings.Contains(text, ".gfx950.") {
		arch = suiteMachines["gfx950"]
	}
	return RunLaunch(LaunchOptions{File: file, RunOptions: RunOptions{Arch: arch, Mode: mode, Threads: 1}})
}

// Every kernel that Triton and clang made computes what its reference says, on
// both processors.
func TestLaunchValues(t *testing.T) {
	files := launchFiles(t)
	if len(files) < 15 {
		t.Errorf("only %d launches", len(files))
	}
	for name, text := range files {
		r, err := launch(t, text, "functional")
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case !r.Verify.Passed || r.Verify.Values < 256:
			t.Errorf("%s: %+v", name, r.Verify)
		}
	}
}

// A timed run issues the instructions that a functional run executes, computes
// the same values in full mode, and takes the same cycles either way.
func TestLaunchModesAgree(t *testing.T) {
	for name, text := range launchFiles(t) {
		want, err := launch(t, text, "functional")
		if err != nil {
			t.Fatal(err)
		}
		full, err := launch(t, text, "full")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !full.Verify.Passed || full.WaveInstructions != want.WaveInstructions {
			t.Errorf("%s: full mode issues %d instructions of %d: %+v", name, full.WaveInstructions, want.WaveInstructions, full.Verify)
		}
		timing, err := launch(t, text, "timing")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if timing.Cycles != full.Cycles || timing.Cycles == 0 {
			t.Errorf("%s: %d cycles in timing mode, %d in full", name, timing.Cycles, full.Cycles)
		}
	}
}

func TestLaunchSeesWrongValues(t *testing.T) {
	files := launchFiles(t)
	for name, text := range map[string]string{
		"another sum":   strings.Replace(files["triton_vadd.gfx950"], "reference: vadd", "reference: vadd\n  bind: {x: y}", 1),
		"another array": strings.Replace(files["clang_hand.gfx950"], "constant(1)", "constant(2)", 1),
	} {
		r, err := launch(t, text, "functional")
		if err != nil {
			t.Fatal(err)
		}
		if r.Verify.Passed || r.Verify.MaxRelativeError < 0.1 {
			t.Errorf("%s: %+v", name, r.Verify)
		}
	}
}

// A tolerance of 0 is exact, and not the default of the type: rounding to bf16
// does not pass.
func TestLaunchToleranceZero(t *testing.T) {
	text := regexp.MustCompile(`\n  tolerance: .*`).ReplaceAllString(launchFiles(t)["triton_gemm.gfx950"], "")
	for tolerance, want := range map[string]bool{"": true, "\n  tolerance: 0": false, "\n  tolerance: 0.0": false, "\n  tolerance: 1": true} {
		r, err := launch(t, strings.TrimRight(text, "\n")+tolerance+"\n", "functional")
		if err != nil {
			t.Fatal(err)
		}
		if r.Verify.Passed != want || r.Verify.MaxRelativeError == 0 {
			t.Errorf("with %q: %+v", tolerance, r.Verify)
		}
	}
	for _, bad := range []string{"-1", ".nan", ".inf"} {
		if _, err := launch(t, strings.TrimRight(text, "\n")+"\n  tolerance: "+bad+"\n", "functional"); err == nil || !strings.Contains(err.Error(), "a number from 0") {
			t.Errorf("tolerance %s: %v", bad, err)
		}
	}
}

// A kernel that races is run all the same, and the report says so.
func TestLaunchNotesRaces(t *testing.T) {
	text := strings.ReplaceAll(launchFiles(t)["clang_ldsdma.gfx942"], "gfx942", "gfx950")
	text, _, _ = strings.Cut(text, "expect:")
	r, err := launch(t, text, "functional")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "a race") || !strings.Contains(r.Notes[0], "buffer_load_dwordx4") {
		t.Errorf("notes %q", r.Notes)
	}
}

func TestLaunchRefuses(t *testing.T) {
	base := launchFiles(t)["triton_vadd.gfx950"]
	for _, c := range []struct{ name, from, to, want string }{
		{"no object", "vadd.gfx950.hsaco", "nowhere.hsaco", "nowhere.hsaco"},
		{"no such kernel", "kernel: vadd", "kernel: vsub", "it has vadd"},
		{"other processor", "vadd.gfx950", "vadd.gfx942", ""},
		{"unknown key", "grid:", "grd:", "line 4: unknown field \"grd\""},
		{"no YAML", "grid: [3]", "grid: [3", "line"},
		{"zero grid", "grid: [3]", "grid: [0]", "grid is [0]"},
		{"half a workgroup", "grid: [3]", "grid: [2.5]", "grid holds 2.5; it counts in whole units"},
		{"half a work-item", "workgroup: [256]", "workgroup: [64.5]", "workgroup holds 64.5"},
		{"half a byte", "workgroup: [256]", "workgroup: [256]\ndynamic_lds: 0.5", "dynamic_lds holds 0.5"},
		{"half a seed", "seed: ", "seed: 0.5 # ", "seed holds 0.5"},
		{"half an element", "name: z, type: f32, shape: [3000]", "name: z, type: f32, shape: [3000.5]", "argument 2: shape holds 3000.5"},
		{"no grid", "grid: [3]", "", "grid has 0 numbers"},
		{"huge grid", "grid: [3]", "grid: [70000000]", "at most"},
		{"four dimensions", "grid: [3]", "grid: [1, 1, 1, 1]", "one to three"},
		{"no workgroup", "workgroup: [256]", "", "workgroup is missing"},
		{"too many work-items", "workgroup: [256]", "workgroup: [512]", "takes at most 256"},
		{"negative LDS", "workgroup: [256]", "workgroup: [256]\ndynamic_lds: -1", "dynamic_lds"},
		{"far too much LDS", "workgroup: [256]", "workgroup: [256]\ndynamic_lds: 2000000", "must be from 0 to 1048576"},
		{"negative work", "workgroup: [256]", "workgroup: [256]\nflops: -1", "flops is -1; it must be a number from 0"},
		{"no amount of work", "workgroup: [256]", "workgroup: [256]\nflops: .nan", "flops is NaN"},
		{"too much LDS", "workgroup: [256]", "workgroup: [256]\ndynamic_lds: 200000", "mi355x has 163840"},
		{"too few", "  - {name: n, type: i32, value: 3000}\n", "", "takes 6 arguments, not 5"},
		{"wrong type", "{name: n, type: i32, value: 3000}", "{name: n, type: i64, value: 3000}", "argument 3 (n): a value of 8 bytes (i64)"},
		{"value for a buffer", "{name: y, type: f32, shape: [3000], fill: normal}", "{name: y, type: f64, value: 1}", "argument 1 (y): a value of type f64"},
		{"buffer for a value", "{name: n, type: i32, value: 3000}", "{name: n, type: i32, shape: [3]}", "4 bytes by value"},
		{"unknown type", "type: i32", "type: int", "unknown type \"int\""},
		{"no number", "value: 3000", "value: many", "value many is no i32"},
		{"out of range", "value: 3000", "value: 3000000000", "value 3000000000 is no i32"},
		{"unknown fill", "shape: [3000], fill: normal", "shape: [3000], fill: random", "unknown fill"},
		{"bad fill", "shape: [3000], fill: normal", "shape: [3000], fill: normal(1)", "takes 2 numbers"},
		{"turned round", "shape: [3000], fill: normal", "shape: [3000], fill: \"uniform(1, 0)\"", "uniform takes the lower bound first"},
		{"negative deviation", "shape: [3000], fill: normal", "shape: [3000], fill: \"normal(0, -1)\"", "a deviation is 0 or more"},
		{"huge buffer", "name: z, type: f32, shape: [3000]", "name: z, type: f32, shape: [9999999, 9999999]", "shape"},
		{"empty buffer", "name: z, type: f32, shape: [3000]", "name: z, type: f32, shape: [0]", "shape"},
		{"more than the machine has", "name: z, type: f32, shape: [3000]", "name: z, type: f32, fill: normal, shape: [75000000000]", "its buffers need 300 GB and mi355x has 288 GB"},
		{"deep", "grid: [3]", "grid: " + strings.Repeat("[", 100_000), "nested too deeply"},
		{"deep list", "grid: [3]", "grid:\n  " + strings.Repeat("- ", 100_000), "nested too deeply"},
		{"deep mapping", "grid: [3]", "grid: " + strings.Repeat("{a: ", 100_000), "nested too deeply"},
		{"unquoted fill", "shape: [3000], fill: normal", "shape: [3000], fill: normal(0, 1)", "needs quotes, as in fill: \"normal(0, 1)\""},
		{"unnamed", "{name: n, type: i32, value: 3000}", "{type: i32, value: x}", "l.yaml: argument 3: value x is no i32"},
		{"both", "value: 3000", "value: 3000, shape: [2]", "not both"},
		{"neither", ", value: 3000", "", "give a value"},
		{"twice", "name: y,", "name: x,", "argument x is given twice"},
		{"no file", "shape: [3000], fill: normal", "file: nowhere.npy", "nowhere.npy"},
		{"a device", "shape: [3000], fill: normal", "file: /dev/zero", "/dev/zero is no plain file"},
		{"a folder", "shape: [3000], fill: normal", "file: /", "/ is no plain file"},
		{"a device to compare with", "reference: vadd", "file: /dev/zero\n  output: z", "/dev/zero is no plain file"},
		{"unknown reference", "reference: vadd", "reference: vsub", "there is no reference \"vsub\""},
		{"unknown role", "reference: vadd", "reference: vadd\n  bind: {w: x}", "no role \"w\""},
		{"unknown parameter", "reference: vadd", "reference: vadd\n  params: {eps: 1}", "no parameter \"eps\""},
		{"unbound role", "name: x,", "name: w,", "no buffer argument named x"},
		{"shapes", "name: z, type: f32, shape: [3000]", "name: z, type: f32, shape: [3001]", "z has shape [3001]"},
		{"two expectations", "reference: vadd", "reference: vadd\n  file: z.npy\n  output: z", "not both"},
	} {
		if !strings.Contains(base, c.from) {
			t.Fatalf("%s: nothing to replace", c.name)
		}
		text := strings.Replace(base, c.from, c.to, 1)
		arch := "mi355x"
		file := filepath.Join(t.TempDir(), "l.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			c.want = "choose --arch mi325x, mi300x or mi300a"
		}
		_, err := RunLaunch(LaunchOptions{File: file, RunOptions: RunOptions{Arch: arch, Mode: "functional", Threads: 1}})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line that says %q", c.name, err, c.want)
			continue
		}
		if _, ok := errors.AsType[*UsageError](err); !ok {
			t.Errorf("%s: %v is no usage error", c.name, err)
		}
	}
}

// What goes wrong while the kernel runs names the place; it is no usage error.
func TestLaunchFails(t *testing.T) {
	base := launchFiles(t)["triton_vadd.gfx950"]
	base, _, _ = strings.Cut(base, "expect:")
	for _, mode := range []string{"functional", "timing"} {
		_, err := launch(t, strings.Replace(base, "name: z, type: f32, shape: [3000]", "name: z, type: f32, shape: [2000]", 1), mode)
		if err == nil || !strings.Contains(err.Error(), "store_dword") || !strings.Contains(err.Error(), "pc 0x") {
			t.Errorf("%s: an access outside the buffers: error %v", mode, err)
		}
		if _, ok := errors.AsType[*UsageError](err); ok {
			t.Errorf("%s: %v is a usage error", mode, err)
		}
	}
}

// A code object with a flipped bit runs, fails or is refused; it neither panics
// nor hangs.
func TestLaunchFlippedBits(t *testing.T) {
	text := launchFiles(t)["triton_layernorm.gfx942"]
	_, after, _ := strings.Cut(text, "code_object: ")
	object, _, _ := strings.Cut(after, "\n")
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	flipped, file := filepath.Join(dir, "flipped.gfx942.hsaco"), filepath.Join(dir, "l.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(text, object, flipped, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	refused, failed := 0, 0
	const text0, textEnd = 0x700, 0xc00 // part of the code
	for bit := 8 * text0; bit < 8*textEnd; bit += 151 {
		data[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(flipped, data, 0o644); err != nil {
			t.Fatal(err)
		}
		data[bit/8] ^= 1 << (bit % 8)
		_, err := RunLaunch(LaunchOptions{File: file, MaxCycles: 50_000, RunOptions: RunOptions{Arch: "mi300x", Mode: "full", Threads: 1}})
		if _, usage := errors.AsType[*UsageError](err); usage {
			refused++
		} else if err != nil {
			failed++
		}
	}
	if refused == 0 || failed == 0 {
		t.Errorf("%d refused and %d failed: the flips did not reach the code", refused, failed)
	}
}

func TestLaunchMaxCycles(t *testing.T) {
	text := regexp.MustCompile(`\n  tolerance: .*`).ReplaceAllString(launchFiles(t)["triton_gemm.gfx950"], "")
	file := filepath.Join(t.TempDir(), "l.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	o := LaunchOptions{File: file, MaxCycles: 2000, RunOptions: RunOptions{Arch: "mi355x", Mode: "timing", Threads: 1}}
	if _, err := RunLaunch(o); err == nil || !strings.Contains(err.Error(), "--max-cycles is 2,000") {
		t.Errorf("error %v", err)
	}
	o.MaxCycles = 10_000_000
	if _, err := RunLaunch(o); err != nil {
		t.Error(err)
	}
}

// A printed template is a launch file that can be prepared as it is.
func TestPrintLaunch(t *testing.T) {
	files, err := filepath.Glob(objects + "*.*")
	if err != nil || len(files) < 16 {
		t.Fatalf("%d code objects, %v", len(files), err)
	}
	for _, object := range files {
		f, err := codeobj.Open(object)
		if err != nil {
			t.Fatal(err)
		}
		for _, kernel := range f.Kernels() {
			printLaunch(t, object, kernel)
		}
	}
	if err := PrintLaunch(&bytes.Buffer{}, files[0], "nowhere"); err == nil || !strings.Contains(err.Error(), "no kernel \"nowhere\"") {
		t.Errorf("a kernel that is not there: %v", err)
	}
}

func printLaunch(t *testing.T, object, kernel string) {
	t.Helper()
	var b bytes.Buffer
	if err := PrintLaunch(&b, object, kernel); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "l.yaml")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := ReadLaunch(file)
	if err != nil {
		t.Errorf("%s: %v", object, err)
		return
	}
	if _, err := l.prepare(); err != nil {
		t.Errorf("%s: %v", object, err)
	}
	// So are what its comments say of fills, and its end without the comment signs.
	text := b.String()
	fills := regexp.MustCompile(`fill: ("[^"]+"|[a-z]+)`).FindAllString(text[:strings.Index(text, "args:")], -1)
	if len(fills) != 5 {
		t.Errorf("%s: the comments name the fills %q, want 5", object, fills)
	}
	head, tail, _ := strings.Cut(text, "# expect:")
	pasted := head + "expect:" + strings.ReplaceAll(tail, "\n#", "\n")
	for _, fill := range append(fills, "") {
		if fill != "" {
			pasted = regexp.MustCompile(`fill: ("[^"]+"|[a-z]+)\}`).ReplaceAllString(pasted, fill+"}")
		}
		if err := os.WriteFile(file, []byte(pasted), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLaunch(file); err != nil {
			t.Errorf("%s: with %q from its comments: %v\n%s", object, fill, err, pasted)
		}
	}
}

func TestElements(t *testing.T) {
	for h := range 1 << 16 {
		for _, c := range []struct{ typ string }{{"f16"}, {"bf16"}} {
			b := []byte{byte(h), byte(h >> 8)}
			v := element(b, c.typ)
			got := make([]byte, 2)
			putElement(got, c.typ, v)
			if !math.IsNaN(v) && !bytes.Equal(b, got) {
				t.Fatalf("%s %#x = %g becomes % x", c.typ, h, v, got)
			}
		}
	}
	for _, c := range []struct {
		typ  string
		x    float64
		want string
	}{
		{"f16", 1 + 0x1p-11, "003c"}, {"f16", 1 + 3*0x1p-11, "023c"}, {"f16", 65519, "ff7b"}, {"f16", 65520, "007c"}, {"f16", 0x1p-14 - 0x1p-26, "0004"},
		{"bf16", 1 + 0x1p-8, "803f"}, {"i8", -300, "80"}, {"u8", 300, "ff"}, {"i32", -1, "ffffffff"}, {"u16", -5, "0000"},
	} {
		b := make([]byte, elementBytes[c.typ])
		putElement(b, c.typ, c.x)
		if got := fmt.Sprintf("%x", b); got != c.want {
			t.Errorf("%s %g: %s, want %s", c.typ, c.x, got, c.want)
		}
	}
}

func FuzzLaunch(f *testing.F) {
	for _, text := range launchFiles(f) {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(dir, "l.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = ReadLaunch(file)
	})
}

// A value of the wrong kind is named by its key and by what the key takes, not by Go's types.
func TestLaunchWrongKinds(t *testing.T) {
	for line, want := range map[string]string{
		"grid: [a, 1, 1]": "grid takes a whole number, and this is string",
		"dynamic_lds: x":  "dynamic_lds takes a whole number, and this is string",
		"seed: -1":        "takes a whole number from 0, and this is -1",
	} {
		path := filepath.Join(t.TempDir(), "l.yaml")
		if err := os.WriteFile(path, []byte("code_object: x.co\nworkgroup: [256]\n"+line+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadLaunch(path); err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}
