package asm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

// objects lists code objects from Triton and clang.
func objects(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("../../workloads/suite/objects/*.*")
	if err != nil || len(files) < 16 {
		t.Fatalf("%d code objects, %v", len(files), err)
	}
	return files
}

func open(t testing.TB, file string) *codeobj.File {
	t.Helper()
	f, err := codeobj.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Code objects listed as assembly and assembled again have the same code.
func TestRoundTrip(t *testing.T) {
	for _, file := range objects(t) {
		f := open(t, file)
		for _, name := range f.Kernels() {
			roundTrip(t, file, f, name)
		}
	}
}

func roundTrip(t *testing.T, file string, f *codeobj.File, name string) {
	t.Helper()
	k, _, err := f.Kernel(name)
	if err != nil {
		t.Fatal(err)
	}
	src, err := isa.Assembly(k)
	if err != nil {
		t.Fatal(err)
	}
	units, err := Assemble(file, src, Options{})
	if err != nil {
		t.Error(err)
		return
	}
	if d := cmp.Diff(k.Insts, units[0].Kernel.Insts); d != "" {
		t.Errorf("%s: code of %s changed:\n%s", file, name, d)
	}
	if got := units[0].Kernel; got.Entry != k.Entry || got.ABI != k.ABI || got.SGPRs != k.SGPRs || got.KernargBytes != k.KernargBytes {
		t.Errorf("%s: %s: %+v became %+v", file, name, k.ABI, got.ABI)
	}
	data, err := codeobj.Write(units...)
	if err != nil {
		t.Error(err)
		return
	}
	again, err := codeobj.Parse(file, data)
	if err != nil {
		t.Error(err)
		return
	}
	if !bytes.Equal(codeOf(again, name), codeOf(f, name)) {
		t.Errorf("%s: machine code of %s changed", file, name)
	}
}

// codeOf is the machine code of a function.
func codeOf(f *codeobj.File, name string) []byte {
	for _, fn := range f.Functions() {
		if fn.Name == name {
			return fn.Code
		}
	}
	return nil
}

// The hand-written file gives the code, descriptor and arguments that LLVM
// makes of it.
func TestHandWritten(t *testing.T) {
	src, err := os.ReadFile("../../workloads/suite/sources/hand.s")
	if err != nil {
		t.Fatal(err)
	}
	units, err := Assemble("hand.s", string(src), Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := codeobj.Write(units...)
	if err != nil {
		t.Fatal(err)
	}
	f, err := codeobj.Parse("hand.co", data)
	if err != nil {
		t.Fatal(err)
	}
	got, gotMeta, err := f.Kernel("hand")
	if err != nil {
		t.Fatal(err)
	}
	want, wantMeta, err := open(t, "../../workloads/suite/objects/hand.gfx950.co").Kernel("hand")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-LLVM +own):\n%s", d)
	}
	if d := cmp.Diff(wantMeta, gotMeta); d != "" {
		t.Errorf("metadata (-LLVM +own):\n%s", d)
	}
}

const tiny = `.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
k: s_cbranch_scc1 .Lx  // comment
 s_nop 0 ; comment
.Lx:
 s_branch k /* to
 the start */
.Lend:
.size k, .Lend-k
.rodata
.amdhsa_kernel k
 .amdhsa_next_free_vgpr 1
 .amdhsa_next_free_sgpr 8
 .amdhsa_accum_offset 4
.end_amdhsa_kernel
`

func TestLabels(t *testing.T) {
	units, err := Assemble("tiny.s", tiny, Options{})
	if err != nil {
		t.Fatal(err)
	}
	k := units[0].Kernel
	if len(k.Insts) != 3 || k.Insts[0].Target != 2 || k.Insts[2].Target != 0 || k.Insts[2].Offset != -3 {
		t.Errorf("branches go elsewhere: %+v", k.Insts)
	}
}

// Opcodes that are called branches but take a register take no label.
func TestBranchesByRegister(t *testing.T) {
	source := strings.Replace(tiny, "s_nop 0", "s_cbranch_join s4\n s_cbranch_g_fork s[4:5], s[6:7]", 1)
	units, err := Assemble("tiny.s", source, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for i := range units[0].Kernel.Insts {
		text = append(text, units[0].Kernel.Insts[i].Text(isa.GFX942))
	}
	if all := strings.Join(text, "; "); !strings.Contains(all, "s_cbranch_join s4; s_cbranch_g_fork s[4:5], s[6:7]") {
		t.Errorf("assembled to %s", all)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"no target", ".amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"", "", "tiny.s:3: no processor"},
		{"foreign target", "gfx942", "gfx1100", "tiny.s:1: target"},
		{"bad mnemonic", "s_nop 0", "s_fly 0", `tiny.s:4: isa: gfx942: "s_fly 0"`},
		{"unknown directive", ".rodata", ".cfi_startproc", "tiny.s:10: unknown directive .cfi_startproc"},
		{"unknown property", "next_free_sgpr", "next_free_sgprs", "unknown directive .amdhsa_next_free_sgprs"},
		{"huge", "next_free_sgpr 8", "next_free_sgpr 103", "from 0 to 102"},
		{"no number", "accum_offset 4", "accum_offset x", "write a number"},
		{"missing", " .amdhsa_accum_offset 4\n", "", "lacks .amdhsa_accum_offset"},
		{"no label", "s_branch k", "s_branch j", "there is no label j"},
		{"twice", ".Lx:", "k:", "label k is defined twice"},
		{"open block", ".end_amdhsa_kernel", "", ".amdhsa_kernel is never closed"},
		{"open comment", "*/", "", "never closed"},
		{"no kernel", ".amdhsa_kernel k", ".amdhsa_kernel j", "there is no label j for its code"},
		{"register", "s_nop 0", "v_mov_b32 v7, 0", "names VGPR 7"},
		{"not in code", ".text", ".rodata", "without code"},
		{"branch out", "s_branch k", "s_branch 100", "no instruction of the kernel"},
		{"deep yaml", ".rodata", ".amdgpu_metadata\n a: " + strings.Repeat("[", 100_000) + "\n.end_amdgpu_metadata", "nested too deeply"},
		{"bad yaml", ".rodata", ".amdgpu_metadata\n a: [\n.end_amdgpu_metadata", "the metadata"},
	} {
		if !strings.Contains(tiny, c.from) {
			t.Fatalf("%s: nothing to replace", c.name)
		}
		_, err := Assemble("tiny.s", strings.Replace(tiny, c.from, c.to, 1), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line that says %q", c.name, err, c.want)
		}
	}
	if _, err := Assemble("tiny.s", tiny, Options{CPU: isa.GFX950, HasCPU: true}); err == nil || !strings.Contains(err.Error(), "gfx950 is asked for") {
		t.Errorf("another processor: %v", err)
	}
}

func FuzzAssemble(f *testing.F) {
	f.Add(tiny)
	src, err := os.ReadFile("../../workloads/suite/sources/hand.s")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(src))
	f.Fuzz(func(_ *testing.T, src string) {
		units, err := Assemble("f.s", src, Options{CPU: isa.GFX950, HasCPU: true})
		if err == nil {
			_, _ = codeobj.Write(units...)
		}
	})
}

func llvm(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(args[0])
	if err != nil {
		if os.Getenv("REQUIRE_LLVM") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	out, err := exec.Command(path, args[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The listing is llvm-objdump's, byte for byte.
func TestListing(t *testing.T) {
	for _, file := range objects(t) {
		want := llvm(t, "llvm-objdump-22", "-d", file)
		var got bytes.Buffer
		if err := Disassemble(&got, open(t, file), ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if want != got.String() {
			t.Errorf("%s (-llvm-objdump +own):\n%s", file, cmp.Diff(want, got.String()))
		}
	}
}

func TestListingText(t *testing.T) {
	var got bytes.Buffer
	f := open(t, "../../workloads/suite/objects/hand.gfx950.co")
	if err := Disassemble(&got, f, ListOptions{Kernel: "hand", Text: true}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got.String(), "\n")
	if len(lines) < 14 || lines[0] != "s_load_dwordx4 s[4:7], s[0:1], 0x0" || lines[13] != "s_endpgm" {
		t.Errorf("got %q", lines)
	}
	if err := Disassemble(&got, f, ListOptions{Kernel: "foot"}); err == nil || !strings.Contains(err.Error(), "it has hand") {
		t.Errorf("a kernel that is not there: %v", err)
	}
}

// Data among code, zeros and branches between functions print as llvm-objdump's.
func TestListingOddities(t *testing.T) {
	dir := t.TempDir()
	obj, co := filepath.Join(dir, "o.o"), filepath.Join(dir, "o.co")
	src := filepath.Join(dir, "o.s")
	text := `.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.p2align 8
.type a,@function
a:
 s_nop 0
 .long 0xdeadbeef
 s_branch b
 s_branch a
 s_cbranch_scc0 2
 v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[20:23], v24, v25 op_sel:[1,1,0] op_sel_hi:[1,1,0] cbsz:1 blgp:1
 s_endpgm
.La: .size a, .La-a
.p2align 8,0
.type b,@function
b: s_endpgm
 .zero 10
.rodata
.amdhsa_kernel a
 .amdhsa_next_free_vgpr 32
 .amdhsa_next_free_sgpr 8
 .amdhsa_accum_offset 32
.end_amdhsa_kernel
`
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	llvm(t, "llvm-mc-22", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx950", "-filetype=obj", src, "-o", obj)
	llvm(t, "ld.lld-22", "-shared", obj, "-o", co)
	want := llvm(t, "llvm-objdump-22", "-d", co)
	var got bytes.Buffer
	if err := Disassemble(&got, open(t, co), ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if want != got.String() {
		t.Errorf("(-llvm-objdump +own):\n%s", cmp.Diff(want, got.String()))
	}
}
