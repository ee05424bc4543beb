package workloads

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// forms are every kernel form, at the least size, with a remap that has work.
func forms() []struct {
	cpu isa.CPU
	s   Spec
} {
	type form = struct {
		cpu isa.CPU
		s   Spec
	}
	var all []form
	for _, i := range gemmForms() {
		for _, dtype := range []string{"bf16", "fp16"} {
			m, n, _ := OneRound(i.Tile, 12)
			all = append(all, form{i.CPU, formSpec(i, Spec{M: m, N: n, K: 256, DType: dtype, W: 2, C: 1, XCDs: 3})})
		}
	}
	for _, i := range lowForms() {
		if i.Tile != "128x128" { // the others have its instructions
			all = append(all, form{i.CPU, lowSpec(i, 12, 5)})
		}
	}
	return all
}

// Every kernel's text assembles with LLVM to code of the size the builder
// counted.
func TestAssembles(t *testing.T) {
	for _, f := range forms() {
		b, err := GEMM(f.cpu, f.s)
		if err != nil {
			t.Fatal(err)
		}
		assembles(t, b.Launch.Kernel)
	}
}

// assembles checks that LLVM makes code of the size that the builder counted.
func assembles(t *testing.T, k *isa.Kernel) {
	t.Helper()
	mc, err := exec.LookPath("llvm-mc-22")
	if err != nil {
		t.Skip("llvm-mc-22 is not installed")
	}
	text, err := isa.Assembly(k)
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(t.TempDir(), k.Name+".s")
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(mc, "-triple=amdgcn-amd-amdhsa", "-mcpu="+k.CPU.String(), "-filetype=obj", "-o", src+".o", src).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%.2000s", k.Name, err, out)
		return
	}
	headers, err := exec.Command("llvm-objdump-22", "-h", src+".o").Output()
	if err != nil {
		t.Fatal(err)
	}
	last := k.Insts[len(k.Insts)-1]
	if got, want := textSize(string(headers)), int(last.PC)+int(last.Size); got != want {
		t.Errorf("%s: LLVM makes %d bytes of code, the builder counted %d", k.Name, got, want)
	}
}
