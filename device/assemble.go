package device

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

// toolchain is LLVM's assembler and linker for AMD GPUs.
type toolchain struct{ mc, lld string }

// llvmVersions are tried in this order; 20 is the first that knows gfx950.
var llvmVersions = []string{"-22", "-23", "-21", "-20", ""}

// findToolchain looks for LLVM on the path and in ROCm; nil when there is none.
func findToolchain() *toolchain {
	for _, v := range llvmVersions {
		mc, err := exec.LookPath("llvm-mc" + v)
		if err != nil {
			continue
		}
		if lld, err := exec.LookPath("ld.lld" + v); err == nil {
			return &toolchain{mc, lld}
		}
	}
	rocm := os.Getenv("ROCM_PATH")
	if rocm == "" {
		rocm = "/opt/rocm"
	}
	t := &toolchain{rocm + "/llvm/bin/llvm-mc", rocm + "/llvm/bin/ld.lld"}
	for _, p := range []string{t.mc, t.lld} {
		if _, err := os.Stat(p); err != nil {
			return nil
		}
	}
	return t
}

// assemble makes a code object of an assembly file, and says with what. Without
// LLVM, Whisker's own writer makes it of the instructions.
func (t *toolchain) assemble(source, object string, k *isa.Kernel) (with string, err error) {
	if t == nil {
		data, err := codeobj.Write(codeobj.Unit{Kernel: k})
		if err != nil {
			return "", err
		}
		return "whisker", os.WriteFile(object, data, 0o644)
	}
	relocatable := object + ".o"
	defer os.Remove(relocatable)
	if err := quiet(t.mc, "-triple=amdgcn-amd-amdhsa", "-mcpu="+k.CPU.String(), "-filetype=obj", "-o", relocatable, source); err != nil {
		return "", err
	}
	if err := quiet(t.lld, "-shared", "-o", object, relocatable); err != nil {
		return "", err
	}
	out, _ := exec.Command(t.mc, "--version").Output() // only named in the manifest
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.Contains(line, "LLVM version") {
			return line, nil
		}
	}
	return t.mc, nil
}

// quiet runs a tool that must succeed and have nothing to say.
func quiet(name string, args ...string) error {
	var said bytes.Buffer
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = &said, &said
	err := c.Run()
	text := strings.TrimSpace(said.String())
	if len(text) > 400 {
		text = text[:400] + "..."
	}
	switch {
	case err != nil && text != "":
		return fmt.Errorf("%s: %s", name, text)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case text != "":
		return fmt.Errorf("%s has warnings: %s", name, text)
	}
	return nil
}

// sameKernel checks that a code object holds the kernel, instruction by
// instruction, and launches it as the simulator does.
func sameKernel(f *codeobj.File, k *isa.Kernel) error {
	got, _, err := f.Kernel(k.Name)
	if err != nil {
		return err
	}
	if len(got.Insts) < len(k.Insts) {
		return fmt.Errorf("%d instructions, not %d", len(got.Insts), len(k.Insts))
	}
	for i := range k.Insts {
		want, is := &k.Insts[i], &got.Insts[i]
		if a, b := want.Text(k.CPU), is.Text(k.CPU); a != b || want.PC != is.PC || want.Target != is.Target {
			return fmt.Errorf("instruction %d is %q at %#x, not %q at %#x", i, b, is.PC, a, want.PC)
		}
	}
	vgprs := k.VGPRs
	if k.AGPRs > 0 {
		vgprs = max(vgprs+3, 4) &^ 3 // accumulation registers start at a multiple of 4
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"VGPRs", got.VGPRs, vgprs}, {"AGPRs", got.AGPRs, k.AGPRs}, {"SGPRs", got.SGPRs, k.SGPRs}, {"bytes of LDS", got.LDSBytes, k.LDSBytes},
		{"bytes of scratch", got.ScratchBytes, k.ScratchBytes}, {"bytes of arguments", got.KernargBytes, k.KernargBytes},
		{"work-items of a workgroup", got.WorkgroupSize(), k.WorkgroupSize()},
	} {
		if c.got != c.want {
			return fmt.Errorf("%d %s, not %d", c.got, c.what, c.want)
		}
	}
	if got.ABI.WorkgroupID != k.ABI.WorkgroupID || got.ABI.KernargPtr != k.ABI.KernargPtr || got.ABI.WorkitemIDDims != k.ABI.WorkitemIDDims {
		return errors.New("its initial registers differ")
	}
	return nil
}
