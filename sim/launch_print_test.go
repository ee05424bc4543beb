package sim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/asm"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/isa/emu"
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

// Buffers in LDS that the host sizes lie behind the kernel's own LDS and each
// other, and the kernel is told where; the printed template gives them.
func TestLaunchBuffersInLDS(t *testing.T) {
	const source = `.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
k:
  s_load_dwordx4 s[4:7], s[0:1], 0x0 // output, the two offsets
  v_lshlrev_b32_e32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  v_add_u32_e32 v2, s7, v1
  ds_write_b32 v2, v0
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  global_store_dword v1, v3, s[4:5]
  s_endpgm
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_group_segment_fixed_size 100
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.kernels:
  - .name: k
    .kernarg_segment_size: 16
    .args:
      - {.name: out, .offset: 0, .size: 8, .value_kind: global_buffer, .type_name: 'int*'}
      - {.name: a, .offset: 8, .size: 4, .value_kind: dynamic_shared_pointer, .type_name: 'short*'}
      - {.name: b, .offset: 12, .size: 4, .value_kind: dynamic_shared_pointer, .type_name: 'int*'}
.end_amdgpu_metadata
`
	units, err := asm.Assemble("k.s", source, asm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := printed(t, units...)
	read := func(text string) (*prepared, error) {
		file := filepath.Join(t.TempDir(), "l.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := ReadLaunch(file)
		if err != nil {
			return nil, err
		}
		return l.prepare()
	}
	p, err := read(strings.Replace(text, `"a", type: i16, shape: [1024]`, `"a", type: i16, shape: [5]`, 1))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := fmt.Sprintf("%x", p.launch.Kernarg[8:]); got != "7000000080000000" || p.launch.Kernel.LDSBytes != 128+4096 {
		t.Errorf("offsets %s, %d bytes of LDS; want 112, 128 and 4224", got, p.launch.Kernel.LDSBytes)
	}
	if _, err := emu.Run(p.launch, emu.Options{Check: true}); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 256)
	p.launch.Memory.Read(p.bases["out"].Base, out)
	for i := range 64 {
		if out[4*i] != byte(i) {
			t.Fatalf("lane %d wrote %d", i, out[4*i])
		}
	}
	if _, _, err := p.find("b"); err == nil || !strings.Contains(err.Error(), "no buffer argument named b") {
		t.Errorf("what lies in LDS has no values in memory to compare: %v", err)
	}
	for change, want := range map[string]string{
		`"b", type: i32, value: 0`:                  "argument 2 (b): the kernel takes a buffer in LDS: give its type and shape",
		`"b", type: i32, shape: [1024], fill: iota`: "leave fill and file out",
		`"b", type: i32, shape: [1000000]`:          "argument 2 (b): 4000000 bytes of LDS behind",
	} {
		if _, err := read(strings.Replace(text, `"b", type: i32, shape: [1024]`, change, 1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", change, err, want)
		}
	}
}
