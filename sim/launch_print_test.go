package sim

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/asm"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/workloads"
)

// printed is the template of a code object of units.
func printed(t *testing.T, units ...codeobj.Unit) string {
	t.Helper()
	data, err := codeobj.Write(units...)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "k.co")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := PrintLaunch(&b, file, ""); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The kernels of our own say in their metadata which arguments are buffers and
// what they are called, through the object writer and through assembly.
func TestPrintLaunchOfOwnKernels(t *testing.T) {
	for _, c := range []struct {
		kernel  string
		options map[string]string
		args    []string // of the first kernel
	}{
		{"gemm", map[string]string{"m": "256", "n": "256", "k": "256"}, []string{`"A", type: f32, shape`, `"B", type: f32, shape`, `"C", type: f32, shape`}},
		{"layernorm", nil, []string{`, shape`, `, shape`, `, shape`, `"arg7", type: i32, value`}},
		{"rotary", nil, []string{`"x", type: f32, shape`}},
		{"attention-backward", map[string]string{"seq": "256"}, []string{`"O", type: f32, shape`, `"dO", type: f32, shape`, `"delta", type: f32, shape`}},
	} {
		job, err := workloads.Build(c.kernel, workloads.Request{CPU: isa.GFX950, XCDs: 8, Seed: 1, LDSBytes: 160 << 10, Registers: 512, Options: c.options})
		if err != nil {
			t.Fatal(err)
		}
		k := job.Kernels[0].Launch.Kernel
		text, err := isa.Assembly(k)
		if err != nil {
			t.Fatal(err)
		}
		units, err := asm.Assemble(c.kernel+".s", text, asm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		direct, assembled := printed(t, codeobj.Unit{Kernel: k}), printed(t, units...)
		_, a, _ := strings.Cut(direct, "kernel:")
		if _, b, _ := strings.Cut(assembled, "kernel:"); a != b {
			t.Errorf("%s: the written object's template\n%sdiffers from the assembled one's\n%s", c.kernel, a, b)
		}
		for _, want := range c.args {
			if !strings.Contains(a, want) {
				t.Errorf("%s: the template does not say %q:\n%s", c.kernel, want, a)
			}
		}
		if n := strings.Count(a, "shape: ["); n != job.Kernels[0].Pointers {
			t.Errorf("%s: %d buffers in the template, want %d:\n%s", c.kernel, n, job.Kernels[0].Pointers, a)
		}
	}
}

// An object that does not say how many work-items it takes is not said to take 0.
func TestPrintLaunchWithoutSize(t *testing.T) {
	const object = `.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
k:
  s_endpgm
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 3
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
`
	const meta = ".amdgpu_metadata\namdhsa.kernels:\n  - .name: k\n.end_amdgpu_metadata\n"
	for source, want := range map[string]string{
		object:        "[1024, 1, 1] # at most 1024 work-items\n",
		object + meta: "[64, 1, 1] # at most 1024 work-items, the hardware's limit",
	} {
		units, err := asm.Assemble("k.s", source, asm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := printed(t, units...); !strings.Contains(got, want) {
			t.Errorf("the template does not say %q:\n%s", want, got)
		}
	}
}

// A value of the other kind of number is refused where the metadata says which it
// is; the bits of one are not those of the other.
func TestLaunchKindOfNumber(t *testing.T) {
	for _, c := range []struct {
		typ, name string
		want      bool
	}{
		{"i32", "int", true}, {"u32", "int", true}, {"f32", "int", false}, {"f32", "float", true}, {"i32", "float", false}, {"f32", "", true},
		{"bytes", "float", true}, {"i32", "myint", true},
	} {
		value := "3"
		if c.typ == "bytes" {
			value = "03000000"
		}
		err := fits(&LaunchArg{Type: c.typ, Value: &value}, &codeobj.Arg{Size: 4, ValueKind: "by_value", TypeName: c.name})
		if (err == nil) != c.want {
			t.Errorf("%s for %q: %v", c.typ, c.name, err)
		}
	}
}
