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
	for _, i := range List() {
		for _, dtype := range []string{"bf16", "fp16"} {
			m, n, _ := OneRound(i.Tile, 12)
			all = append(all, form{i.CPU, Spec{M: m, N: n, K: 256, DType: dtype, Tile: i.Tile, Schedule: i.Schedule, W: 3, C: 1, XCDs: 3}})
		}
	}
	return all
}

// Every kernel's text assembles with LLVM to code of the size the builder
// counted.
func TestAssembles(t *testing.T) {
	mc, err := exec.LookPath("llvm-mc-22")
	if err != nil {
		t.Skip("llvm-mc-22 is not installed")
	}
	dir := t.TempDir()
	for _, f := range forms() {
		b, err := GEMM(f.cpu, f.s)
		if err != nil {
			t.Fatal(err)
		}
		text, err := isa.Assembly(b.Launch.Kernel)
		if err != nil {
			t.Fatal(err)
		}
		src := filepath.Join(dir, b.Launch.Kernel.Name+".s")
		if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(mc, "-triple=amdgcn-amd-amdhsa", "-mcpu="+f.cpu.String(), "-filetype=obj", "-o", src+".o", src).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%.2000s", b.Launch.Kernel.Name, err, out)
			continue
		}
		text2, err := exec.Command("llvm-objdump-22", "-h", src+".o").Output()
		if err != nil {
			t.Fatal(err)
		}
		last := b.Launch.Kernel.Insts[len(b.Launch.Kernel.Insts)-1]
		if got, want := textSize(string(text2)), int(last.PC)+int(last.Size); got != want {
			t.Errorf("%s: LLVM makes %d bytes of code, the builder counted %d", b.Launch.Kernel.Name, got, want)
		}
	}
}
