package sim

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/asm"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// gemmTwice builds the same GEMM for the same machine.
func gemmTwice(t *testing.T, cpu isa.CPU) *workloads.Built {
	t.Helper()
	b, err := workloads.GEMM(cpu, workloads.Spec{M: 256, N: 256, K: 256, Tile: "128x128", W: -1, C: -1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// cyclesAndError times a launch and checks its values.
func cyclesAndError(t *testing.T, b *workloads.Built) (int64, float64) {
	t.Helper()
	b.FillInputs()
	if _, err := emu.Run(b.Launch, emu.Options{Check: true}); err != nil {
		t.Fatal(err)
	}
	worst, err := b.Verify()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := LoadMachine(suiteMachines[b.CPU.String()], "", nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := xcd.NewGPU(machine.Machine(), 1600, b.Launch, xcd.GPUOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res.Timing.Cycles, worst
}

// Our GEMM, printed as assembly, assembled by us or by LLVM and loaded as a
// code object, gives the same values in the same cycles as the one in memory.
func TestSameKernelTwice(t *testing.T) {
	for _, cpu := range []isa.CPU{isa.GFX942, isa.GFX950} {
		b := gemmTwice(t, cpu)
		src, err := isa.Assembly(b.Launch.Kernel)
		if err != nil {
			t.Fatal(err)
		}
		cycles, worst := cyclesAndError(t, b)
		units, err := asm.Assemble("gemm.s", src, asm.Options{})
		if err != nil {
			t.Fatal(err)
		}
		own, err := codeobj.Write(units...)
		if err != nil {
			t.Fatal(err)
		}
		objects := map[string][]byte{"our assembler": own}
		if data := llvmObject(t, src, cpu); data != nil {
			objects["LLVM"] = data
		}
		for name, data := range objects {
			f, err := codeobj.Parse(name, data)
			if err != nil {
				t.Fatal(err)
			}
			k, _, err := f.Kernel("")
			if err != nil {
				t.Fatal(err)
			}
			again := gemmTwice(t, cpu)
			again.Launch.Kernel = k
			c, w := cyclesAndError(t, again)
			if c != cycles || w != worst {
				t.Errorf("%v by %s: %d cycles and error %g, in memory %d and %g", cpu, name, c, w, cycles, worst)
			}
		}
	}
}

// llvmObject assembles and links with LLVM; nil without it.
func llvmObject(t *testing.T, src string, cpu isa.CPU) []byte {
	t.Helper()
	mc, err1 := exec.LookPath("llvm-mc-22")
	lld, err2 := exec.LookPath("ld.lld-22")
	if err1 != nil || err2 != nil {
		if os.Getenv("REQUIRE_LLVM") == "1" {
			t.Fatal(err1, err2)
		}
		return nil
	}
	dir := t.TempDir()
	s, o, co := filepath.Join(dir, "k.s"), filepath.Join(dir, "k.o"), filepath.Join(dir, "k.co")
	if err := os.WriteFile(s, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{
		exec.Command(mc, "-triple=amdgcn-amd-amdhsa", "-mcpu="+cpu.String(), "-filetype=obj", s, "-o", o),
		exec.Command(lld, "-shared", o, "-o", co),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	data, err := os.ReadFile(co)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
