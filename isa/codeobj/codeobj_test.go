package codeobj

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whisker-sim/whisker/isa"
)

// objects lists the code objects in testdata, made by Triton 3.6, clang 19 and
// clang 22.
func objects(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../../workloads/suite/objects/*.co", "../../workloads/suite/objects/*.hsaco"} {
		m, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m...)
	}
	if len(files) < 16 {
		t.Fatalf("only %d code objects in testdata", len(files))
	}
	return files
}

func open(t testing.TB, file string) *File {
	t.Helper()
	f, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOpen(t *testing.T) {
	for _, file := range objects(t) {
		f := open(t, file)
		if !strings.Contains(file, f.CPU.String()) {
			t.Errorf("%s is for %v", file, f.CPU)
		}
		for _, name := range f.Kernels() {
			k, m, err := f.Kernel(name)
			if err != nil {
				t.Error(err)
				continue
			}
			if err := isa.CheckRegisters(k); err != nil {
				t.Error(err)
			}
			if m.Name != name || k.Name != name || len(m.Explicit()) == 0 {
				t.Errorf("%s: %s has metadata of %q with %d arguments", file, name, m.Name, len(m.Explicit()))
			}
		}
	}
}

func TestKernelFields(t *testing.T) {
	for _, c := range []struct {
		file string
		want isa.Kernel // Insts and CPU left out
	}{
		{"vadd.gfx942.co", isa.Kernel{Name: "vadd", VGPRs: 8, SGPRs: 14, KernargBytes: 28, Workgroup: [3]int{256, 1, 1},
			ABI: isa.ABI{KernargPtr: true, UserSGPRs: 2, WorkgroupID: [3]bool{true}, Mode: 0x3f0}}},
		{"gemm_agpr.gfx942.co", isa.Kernel{Name: "gemm_agpr", VGPRs: 36, AGPRs: 256, SGPRs: 18, KernargBytes: 28,
			ABI: isa.ABI{KernargPtr: true, UserSGPRs: 2, WorkgroupID: [3]bool{true}, Mode: 0x3f0}}},
		{"hand.gfx950.co", isa.Kernel{Name: "hand", VGPRs: 24, SGPRs: 8, KernargBytes: 16,
			ABI: isa.ABI{KernargPtr: true, UserSGPRs: 2, WorkgroupID: [3]bool{true}, Mode: 0x3c0}}},
		{"rope_d128.gfx950.hsaco", isa.Kernel{Name: "rope", VGPRs: 42, SGPRs: 24, KernargBytes: 56, Entry: 61,
			ABI: isa.ABI{KernargPtr: true, PreloadDwords: 14, UserSGPRs: 16, WorkgroupID: [3]bool{true, true}, Mode: 0x3f0}}},
	} {
		k, _, err := open(t, "../../workloads/suite/objects/"+c.file).Kernel("")
		if err != nil {
			t.Error(err)
			continue
		}
		got := *k
		got.Insts, got.CPU = nil, 0
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.file, d)
		}
		if k.Entry > 0 && k.Insts[k.Entry].PC != 256 {
			t.Errorf("%s starts at pc %#x", c.file, k.Insts[k.Entry].PC)
		}
	}
}

func TestRefuses(t *testing.T) {
	good, err := os.ReadFile("../../workloads/suite/objects/vadd.gfx950.hsaco")
	if err != nil {
		t.Fatal(err)
	}
	patched := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an ELF file"},
		{"text", []byte("kernel: vadd\n"), "not an ELF file"},
		{"header only", good[:40], "cut short"},
		{"half", good[:len(good)/2], "cut short"},
		{"32-bit", patched(4, 1), "32-bit"},
		{"big-endian", patched(5, 2), "big-endian"},
		{"x86", patched(18, 62, 0), "EM_X86_64"},
		{"no HSA", patched(7, 0), "amdgcn-amd-amdhsa"},
		{"version 3", patched(8, 1), "ABI version 1"},
		{"gfx1100", patched(48, 0x41), "code for gfx1100"},
		{"gfx90a", patched(48, 0x3f), "code for gfx90a"},
		{"no such processor", patched(48, 0xee), "processor code 0xee"},
		{"core file", patched(16, 4), "ET_CORE"},
		{"compressed bundle", []byte("CCOB\x02\x00"), "clang-offload-bundler"},
	} {
		_, err := Parse("x.co", c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "x.co: ") {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v does not wrap ErrFormat", c.name, err)
		}
	}
	if _, err := Open("../../workloads/suite/objects"); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a folder: error %v", err)
	}
	branch := bytes.Index(good, []byte{0x82, 0xbf}) // s_branch over the preload prologue
	for _, c := range []struct {
		data []byte
		want string
	}{
		{patched(branch-2, 0x00, 0x70), "s_branch 28672 at pc"},
		{patched(branch-2, 0xff, 0xff, 0xff, 0xff), "pc"},
	} {
		g, err := Parse("x.co", c.data)
		if err == nil {
			_, _, err = g.Kernel("")
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrFormat) {
			t.Errorf("broken code: error %v, want one that says %q", err, c.want)
		}
	}
	f := open(t, "../../workloads/suite/objects/vadd.gfx950.hsaco")
	if _, _, err := f.Kernel("gemm"); err == nil || !strings.Contains(err.Error(), "it has vadd") {
		t.Errorf("a kernel that is not there: error %v", err)
	}
}

// A file cut anywhere is refused, or cut behind all that is read; nothing
// panics.
func TestTruncatedAnywhere(t *testing.T) {
	data, err := os.ReadFile("../../workloads/suite/objects/hand.gfx950.co")
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if f, err := Parse("cut.co", data[:n]); err == nil {
			t.Errorf("%d of %d bytes were accepted: %v", n, len(data), f.Kernels())
		}
	}
}

// A flipped bit gives an error or a kernel, never a panic.
func TestFlippedBits(t *testing.T) {
	for file, step := range map[string]int{"../../workloads/suite/objects/hand.gfx950.co": 1, "../../workloads/suite/objects/vadd.gfx942.hsaco": 19} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < 8*len(data); i += step {
			data[i/8] ^= 1 << (i % 8)
			tryAll(data)
			data[i/8] ^= 1 << (i % 8)
		}
	}
}

func tryAll(data []byte) {
	f, err := Parse("x", data)
	if err != nil {
		return
	}
	for _, name := range f.Kernels() {
		k, m, err := f.Kernel(name)
		if err != nil {
			continue
		}
		if _, err := Write(Unit{k, m}); err != nil {
			continue
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, file := range objects(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 6000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(_ *testing.T, data []byte) { tryAll(data) })
}

func FuzzMetadata(f *testing.F) {
	for _, file := range []string{"../../workloads/suite/objects/hand.gfx950.co", "../../workloads/suite/objects/vadd.gfx942.co"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		at := bytes.Index(data, []byte("AMDGPU\x00\x00"))
		f.Add(data[at+8 : at+700])
	}
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = parseMetadata(data) })
}

func TestUnbundle(t *testing.T) {
	object, err := os.ReadFile("../../workloads/suite/objects/hand.gfx950.co")
	if err != nil {
		t.Fatal(err)
	}
	bundle := func(targets ...string) []byte {
		head := []byte(bundleMagic)
		le := func(v int) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16), 0, 0, 0, 0, 0} }
		head = append(head, le(len(targets))...)
		for _, target := range targets {
			head = append(append(append(append(head, le(1024)...), le(len(object))...), le(len(target))...), target...)
		}
		return append(append(head, make([]byte, 1024-len(head))...), object...)
	}
	f, err := Parse("b", bundle("host-x86_64-unknown-linux", "hipv4-amdgcn-amd-amdhsa--gfx950"))
	if err != nil || f.Kernels()[0] != "hand" {
		t.Errorf("bundle: %v", err)
	}
	for want, data := range map[string][]byte{
		"gfx1100;":  bundle("hipv4-amdgcn-amd-amdhsa--gfx1100"),
		"unpack":    bundle("hipv4-amdgcn-amd-amdhsa--gfx942", "hipv4-amdgcn-amd-amdhsa--gfx950"),
		"cut short": bundle("hipv4-amdgcn-amd-amdhsa--gfx950")[:50],
	} {
		if _, err := Parse("b", data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func TestKernarg(t *testing.T) {
	m := &Meta{Name: "k", KernargBytes: 272, Args: []Arg{
		{Offset: 0, Size: 8, ValueKind: "global_buffer"},
		{Offset: 8, Size: 4, ValueKind: "by_value", Name: "n"},
		{Offset: 16, Size: 4, ValueKind: "hidden_block_count_x"}, {Offset: 20, Size: 4, ValueKind: "hidden_block_count_y"},
		{Offset: 28, Size: 2, ValueKind: "hidden_group_size_x"}, {Offset: 34, Size: 2, ValueKind: "hidden_remainder_x"},
		{Offset: 80, Size: 2, ValueKind: "hidden_grid_dims"}, {Offset: 136, Size: 4, ValueKind: "hidden_dynamic_lds_size"},
		{Offset: 112, Size: 8, ValueKind: "hidden_heap_v1"},
	}}
	g := Grid{Workgroups: [3]int{7, 3, 1}, Workgroup: [3]int{256, 1, 1}, DynamicLDS: 65536}
	got, err := Kernarg(m, [][]byte{{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12}}, g)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, 272)
	copy(want, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	want[16], want[20], want[29], want[80], want[138] = 7, 3, 1, 2, 1
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := Kernarg(m, [][]byte{{1}}, g); err == nil || !strings.Contains(err.Error(), "takes 2 arguments, not 1") {
		t.Errorf("too few: error %v", err)
	}
	if _, err := Kernarg(m, [][]byte{make([]byte, 8), {1}}, g); err == nil || !strings.Contains(err.Error(), "argument 1 (n) has 4 bytes, not 1") {
		t.Errorf("wrong size: error %v", err)
	}
}

// codeOf is the machine code of a function.
func codeOf(f *File, name string) []byte {
	for _, fn := range f.Functions() {
		if fn.Name == name {
			return fn.Code
		}
	}
	return nil
}

// Every kernel written and read again is the same kernel with the same code.
func TestRoundTrip(t *testing.T) {
	units := map[isa.CPU][]Unit{}
	for _, file := range objects(t) {
		f := open(t, file)
		for _, name := range f.Kernels() {
			k, m, err := f.Kernel(name)
			if err != nil {
				t.Fatal(err)
			}
			data, err := Write(Unit{k, m})
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			g, err := Parse(file, data)
			if err != nil {
				t.Error(err)
				continue
			}
			k2, m2, err := g.Kernel(k.Name)
			if err != nil {
				t.Error(err)
				continue
			}
			if d := cmp.Diff(k, k2); d != "" {
				t.Errorf("%s: kernel %s changed (-read +written and read):\n%s", file, name, d)
			}
			if d := cmp.Diff(m.Args, m2.Args); d != "" {
				t.Errorf("%s: arguments of %s changed:\n%s", file, name, d)
			}
			if !bytes.Equal(codeOf(f, name), codeOf(g, name)) {
				t.Errorf("%s: machine code of %s changed", file, name)
			}
			k.Name = strings.NewReplacer(".", "_").Replace(filepath.Base(file)) + "_" + name
			units[k.CPU] = append(units[k.CPU], Unit{k, m})
		}
	}
	for cpu, us := range units {
		data, err := Write(us...)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(cpu.String(), data)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range us {
			k, _, err := f.Kernel(u.Kernel.Name)
			if err != nil {
				t.Error(err)
			} else if d := cmp.Diff(u.Kernel, k); d != "" {
				t.Errorf("%s among %d kernels changed:\n%s", k.Name, len(us), d)
			}
		}
	}
}

// tool finds an LLVM program; without one the test is skipped, or fails where
// REQUIRE_LLVM=1.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
		return path
	case os.Getenv("REQUIRE_LLVM") == "1":
		t.Fatal(err)
	}
	t.Skip(err)
	return ""
}

// LLVM's readers take what Write makes and see the same code and metadata.
func TestLLVMReads(t *testing.T) {
	readelf, objdump := tool(t, "llvm-readelf-22"), tool(t, "llvm-objdump-22")
	for _, file := range []string{"../../workloads/suite/objects/attn_fwd_d128.gfx950.hsaco", "../../workloads/suite/objects/gemm_agpr.gfx942.co"} {
		f := open(t, file)
		k, m, err := f.Kernel("")
		if err != nil {
			t.Fatal(err)
		}
		data, err := Write(Unit{k, m})
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out.co")
		if err := os.WriteFile(out, data, 0o644); err != nil {
			t.Fatal(err)
		}
		text, err := exec.Command(readelf, "-h", "-l", "-S", "-s", "--dynamic", "--hash-table", "--notes", out).CombinedOutput()
		if err != nil || bytes.Contains(text, []byte("warning")) {
			t.Errorf("llvm-readelf: %v\n%s", err, text)
		}
		for _, want := range []string{f.CPU.String() + ", xnack, sramecc", "amdhsa.kernels", ".name:           " + k.Name, "NT_AMDGPU_METADATA", k.Name + ".kd"} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("llvm-readelf does not say %q:\n%s", want, text)
			}
		}
		// The original has padding behind the code.
		a, b := disassembly(t, objdump, file, k.Name), disassembly(t, objdump, out, k.Name)
		if n := len(k.Insts); len(a) < n || len(b) != n || !slices.Equal(a[:n], b) {
			t.Errorf("%s: llvm-objdump prints other code for what was written", file)
		}
		if a, b := directives(t, objdump, file), directives(t, objdump, out); a != b {
			t.Errorf("%s: descriptor changed (-read +written):\n%s", file, cmp.Diff(a, b))
		}
	}
}

func disassembly(t *testing.T, objdump, file, kernel string) []string {
	t.Helper()
	out, err := exec.Command(objdump, "-d", "--no-leading-addr", "--no-show-raw-insn", "--disassemble-symbols="+kernel, file).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(out), ">:")
	var lines []string
	for _, line := range strings.Split(code, "\n") {
		text, _, _ := strings.Cut(line, "//")
		if text = strings.TrimSpace(text); text != "" {
			lines = append(lines, text)
		}
	}
	return lines
}

// directives is the kernel descriptor as assembly, SGPR counts left out: the
// metadata's count already holds VCC and the like.
func directives(t *testing.T, objdump, file string) string {
	t.Helper()
	out, err := exec.Command(objdump, "-D", "-j", ".rodata", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, line := range strings.Split(string(out), "\n") {
		if strings.Contains(line, ".amdhsa_") && !strings.Contains(line, "next_free_sgpr") {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return b.String()
}
