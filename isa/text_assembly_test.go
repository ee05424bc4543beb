package isa

import (
	"bytes"
	"debug/elf"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// copyKernel adds 1 to 64 dwords in a loop of four; it has a branch each way.
func copyKernel(t *testing.T, cpu CPU) *Kernel {
	t.Helper()
	k := &Kernel{Name: "add_one", CPU: cpu, VGPRs: 3, AGPRs: 4, SGPRs: 8, LDSBytes: 1024, KernargBytes: 20,
		Workgroup: [3]int{64, 1, 1},
		ABI:       ABI{KernargPtr: true, UserSGPRs: 4, WorkgroupID: [3]bool{true, true, false}}}
	branch := map[int]int32{9: 4, 3: 10}
	for i, text := range []string{
		"s_load_dwordx2 s[6:7], s[0:1], 0x0",
		"v_lshlrev_b32_e32 v0, 2, v0",
		"s_mov_b32 s2, 0",
		"s_cbranch_scc1 9",
		"global_load_dword v1, v0, s[6:7]",
		"s_waitcnt vmcnt(0)",
		"v_add_u32_e32 v1, 1, v1",
		"global_store_dword v0, v1, s[6:7]",
		"s_add_u32 s2, s2, 0x12345678",
		"s_cbranch_scc0 65527",
		"s_endpgm",
	} {
		in, err := Parse(cpu, text)
		if err != nil {
			t.Fatal(err)
		}
		if to, ok := branch[i]; ok {
			in.Target = to
		}
		if i > 0 {
			last := k.Insts[i-1]
			in.PC = last.PC + uint32(last.Size)
		}
		k.Insts = append(k.Insts, in)
	}
	return k
}

func TestAssemblyGolden(t *testing.T) {
	got, err := Assembly(copyKernel(t, GFX950))
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/assembly.s"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("assembly changed (-want +got); -update rewrites it:\n%s", d)
	}
}

func TestAssemblyErrors(t *testing.T) {
	outside := copyKernel(t, GFX942)
	outside.Insts[3].Target = 99
	foreign := copyKernel(t, GFX942)
	foreign.Insts[1].Op = V_PRNG_B32
	for name, k := range map[string]*Kernel{
		"outside the kernel": outside, "is not on gfx942": foreign, "no code": {Name: "empty"},
	} {
		if _, err := Assembly(k); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got error %v, want one that says %q", err, name)
		}
	}
}

// TestAssemblyLinks assembles and links the export, and decodes the linked code
// back to the instructions that went in.
func TestAssemblyLinks(t *testing.T) {
	mc, lld := llvmTool(t, "llvm-mc-22"), llvmTool(t, "ld.lld-22")
	for cpu := GFX942; cpu < numCPUs; cpu++ {
		k := copyKernel(t, cpu)
		src, err := Assembly(k)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		obj, co := filepath.Join(dir, "k.o"), filepath.Join(dir, "k.co")
		cmd := exec.Command(mc, "-triple=amdgcn-amd-amdhsa", "-mcpu="+cpu.String(), "-filetype=obj", "-o", obj)
		cmd.Stdin = strings.NewReader(src)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, src)
		}
		if out, err := exec.Command(lld, "-shared", obj, "-o", co).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f, err := elf.Open(co)
		if err != nil {
			t.Fatal(err)
		}
		text, err := f.Section(".text").Data()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		insts, err := DecodeAll(cpu, text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(k.Insts, insts); d != "" {
			t.Errorf("%v: linked code differs (-built +decoded):\n%s", cpu, d)
		}
		var own []byte
		for i := range k.Insts {
			b, err := Encode(cpu, &k.Insts[i])
			if err != nil {
				t.Fatal(err)
			}
			own = append(own, b...)
		}
		if !bytes.Equal(own, text) {
			t.Errorf("%v: own code differs from LLVM's", cpu)
		}
	}
}
