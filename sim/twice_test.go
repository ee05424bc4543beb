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

// twice are kernels to build for a CPU; each call makes the same one anew.
var twice = map[string]func(cpu isa.CPU) (*workloads.Built, error){
	"gemm": func(cpu isa.CPU) (*workloads.Built, error) {
		return workloads.GEMM(cpu, workloads.Spec{M: 256, N: 256, K: 256, Tile: "128x128", W: -1, C: -1, Seed: 3})
	},
	"layernorm": func(cpu isa.CPU) (*workloads.Built, error) {
		return workloads.LayerNorm(cpu, workloads.NormSpec{Batch: 1, Seq: 16, Dim: 2048, Dropout: 0.01, Seed: 3})
	},
	"rotary": func(cpu isa.CPU) (*workloads.Built, error) {
		return workloads.Rotary(cpu, workloads.RotarySpec{Batch: 1, Heads: 2, Seq: 64, Dim: 128, Seed: 3})
	},
	"attention": func(cpu isa.CPU) (*workloads.Built, error) {
		if cpu != isa.GFX950 {
			return nil, nil // it has none
		}
		return workloads.Attention(cpu, workloads.AttentionSpec{Batch: 1, Heads: 1, KVHeads: 1, Seq: 256, Dim: 128, Seed: 3})
	},
}

func builtTwice(t *testing.T, name string, cpu isa.CPU) *workloads.Built {
	t.Helper()
	b, err := twice[name](cpu)
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
	// Branches that depend on data need every value.
	full := len(isa.DataBranches(b.Launch.Kernel)) > 0
	g, err := xcd.NewGPU(machine.Machine(), 1600, b.Launch, xcd.GPUOptions{Threads: 1, Full: full})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res.Timing.Cycles, worst
}

// A kernel of ours, printed as assembly, assembled by us or by LLVM and loaded as a
// code object, gives the same values in the same cycles as the one in memory.
func TestSameKernelTwice(t *testing.T) {
	for name := range twice {
		for _, cpu := range []isa.CPU{isa.GFX942, isa.GFX950} {
			if b := builtTwice(t, name, cpu); b != nil {
				t.Run(name+"."+cpu.String(), func(t *testing.T) { sameTwice(t, name, b) })
			}
		}
	}
}

func sameTwice(t *testing.T, name string, b *workloads.Built) {
	src, err := isa.Assembly(b.Launch.Kernel)
	if err != nil {
		t.Fatal(err)
	}
	cycles, worst := cyclesAndError(t, b)
	units, err := asm.Assemble(name+".s", src, asm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	own, err := codeobj.Write(units...)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string][]byte{"our assembler": own}
	if data := llvmObject(t, src, b.CPU); data != nil {
		objects["LLVM"] = data
	}
	for by, data := range objects {
		f, err := codeobj.Parse(by, data)
		if err != nil {
			t.Fatal(err)
		}
		k, _, err := f.Kernel("")
		if err != nil {
			t.Fatal(err)
		}
		again := builtTwice(t, name, b.CPU)
		again.Launch.Kernel = k
		if c, w := cyclesAndError(t, again); c != cycles || w != worst {
			t.Errorf("by %s: %d cycles and error %g, in memory %d and %g", by, c, w, cycles, worst)
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
