package suite

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// llvm is the version whose compiler knows both processors.
const llvm = "22"

// recipe makes one code object from source.
type recipe struct {
	object, source, cpu string
	flags               []string
}

var recipes = []recipe{
	{"abi.gfx942.co", "abi.hip", "gfx942", []string{"-mcode-object-version=4", "-mllvm", "-disable-promote-alloca-to-lds"}},
	{"abi.gfx950.co", "abi.hip", "gfx950", []string{"-mcode-object-version=6", "-DV5", "-mllvm", "-disable-promote-alloca-to-lds"}},
	{"gemm.gfx942.co", "gemm.hip", "gfx942", nil},
	{"gemm.gfx950.co", "gemm.hip", "gfx950", nil},
	{"gemm_agpr.gfx942.co", "gemm_agpr.hip", "gfx942", nil},
	{"indexed.gfx942.co", "indexed.hip", "gfx942", nil},
	{"indexed.gfx950.co", "indexed.hip", "gfx950", nil},
	{"ldsdma.gfx942.co", "ldsdma.hip", "gfx942", []string{"-DDMA=4"}},
	{"ldsdma.gfx950.co", "ldsdma.hip", "gfx950", []string{"-DDMA=16"}},
	{"mi300a.gfx942.co", "mi300a.hip", "gfx942", []string{"-O2"}}, // as the measured kernels were
	{"vadd.gfx942.co", "vadd2.cl", "gfx942", nil},
	{"hand.gfx950.co", "hand.s", "gfx950", nil},
}

// command is the compiler's command line; none of the kernels needs a header or
// a device library.
func (r *recipe) command(dir string) []string {
	out, src := filepath.Join(dir, "objects", r.object), filepath.Join(dir, "sources", r.source)
	cmd := []string{"clang-" + llvm}
	switch filepath.Ext(r.source) {
	case ".hip":
		cmd = append(cmd, "-x", "hip", "--offload-device-only", "--no-gpu-bundle-output", "--offload-arch="+r.cpu, "-nogpuinc", "-nogpulib", "-std=c++20")
	case ".cl":
		cmd = append(cmd, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-mcpu="+r.cpu, "-nogpulib")
	default:
		cmd = append(cmd, "-target", "amdgcn-amd-amdhsa", "-mcpu="+r.cpu, "-nogpulib")
	}
	cmd = append(append(cmd, "-O3"), r.flags...) // the last level counts
	return append(cmd, src, "-o", out)
}

// Recompile makes the clang suite's code objects anew below dir, where Extract
// has been. It reports false where there is no such compiler.
func Recompile(dir string) (bool, error) {
	for _, tool := range []string{"clang-" + llvm, "ld.lld-" + llvm} {
		if _, err := exec.LookPath(tool); err != nil {
			return false, nil
		}
	}
	for i := range recipes {
		args := recipes[i].command(dir)
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
			return false, fmt.Errorf("compiling %s for %s: %w: %s", recipes[i].source, recipes[i].cpu, err, first)
		}
	}
	return true, nil
}
