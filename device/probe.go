package device

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// host is what a machine offers for running kernels on its GPU.
type host struct {
	rocm     string   // where ROCm lives
	gpus     []string // gfx950, one a GPU
	cxx      string
	make     string
	headers  string // folder with hip/hip_runtime_api.h
	library  string // libamdhip64.so
	profiler string // rocprofv3
}

// gfxOf turns the driver's gfx_target_version into LLVM's name: 90402 is gfx942
// (major, minor and stepping in two digits each; the stepping is hexadecimal).
func gfxOf(version string) string {
	for len(version) < 5 {
		version = "0" + version
	}
	n := len(version)
	major, minor, step := strings.TrimLeft(version[:n-4], "0"), strings.TrimPrefix(version[n-4:n-2], "0"), version[n-2:]
	digit := strings.TrimLeft(step, "0")
	switch {
	case digit == "":
		digit = "0"
	case len(digit) == 2 && digit[0] == '1':
		digit = string(rune('a' + digit[1] - '0'))
	}
	return "gfx" + major + minor + digit
}

// probe looks at the machine below root, which is / outside tests.
func probe(root string) *host {
	h := &host{rocm: os.Getenv("ROCM_PATH")}
	if h.rocm == "" {
		h.rocm = filepath.Join(root, "opt/rocm")
	}
	nodes, _ := filepath.Glob(filepath.Join(root, "sys/class/kfd/kfd/topology/nodes/*/properties"))
	slices.Sort(nodes)
	for _, n := range nodes {
		if v := property(n, "gfx_target_version"); v != "" && v != "0" {
			h.gpus = append(h.gpus, gfxOf(v))
		}
	}
	if _, err := os.Stat(filepath.Join(root, "dev/kfd")); err != nil {
		h.gpus = nil // the driver is not there to run anything
	}
	h.cxx = lookPath(os.Getenv("CXX"), "c++", "g++", "clang++", filepath.Join(h.rocm, "bin/amdclang++"), filepath.Join(h.rocm, "llvm/bin/clang++"))
	h.make = lookPath("make", "gmake")
	h.headers = firstWith("hip/hip_runtime_api.h", filepath.Join(h.rocm, "include"), filepath.Join(root, "usr/include"))
	h.library = firstWith("libamdhip64.so", filepath.Join(h.rocm, "lib"), filepath.Join(root, "usr/lib/x86_64-linux-gnu"), filepath.Join(root, "usr/lib64"), filepath.Join(root, "usr/lib"))
	h.profiler = lookPath(os.Getenv("ROCPROFV3"), "rocprofv3", filepath.Join(h.rocm, "bin/rocprofv3"))
	return h
}

// property reads a value of a file of NAME VALUE lines.
func property(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), " "); ok && k == name {
			return v
		}
	}
	return ""
}

// lookPath is the first of the programs that exists.
func lookPath(names ...string) string {
	for _, n := range names {
		if n == "" {
			continue
		}
		if p, err := exec.LookPath(n); err == nil {
			return p
		}
	}
	return ""
}

// firstWith is the first folder that holds a file.
func firstWith(file string, dirs ...string) string {
	for _, d := range dirs {
		if _, err := os.Stat(filepath.Join(d, file)); err == nil {
			return d
		}
	}
	return ""
}

// missing lists what a run of kernels for cpu needs and the machine lacks.
func (h *host) missing(cpu string) []string {
	var out []string
	switch {
	case len(h.gpus) == 0:
		out = append(out, "an AMD GPU with its driver: there is no /dev/kfd, or no GPU in /sys/class/kfd/kfd/topology/nodes")
	case !slices.Contains(h.gpus, cpu):
		out = append(out, "a "+cpu+" GPU: it has "+strings.Join(slices.Compact(slices.Clone(h.gpus)), ", ")+", and the kernels were exported for "+cpu)
	}
	for _, n := range []struct{ have, what string }{
		{h.headers, "HIP's headers: hip/hip_runtime_api.h is neither in " + h.rocm + "/include nor in /usr/include (ROCM_PATH names another place)"},
		{h.library, "HIP's runtime: libamdhip64.so is neither in " + h.rocm + "/lib nor in the system's library folders"},
		{h.cxx, "a C++ compiler: c++, g++ or clang++ (CXX names another)"},
		{h.make, "make"},
		{h.profiler, "rocprofv3: it is neither on the path nor in " + h.rocm + "/bin (ROCPROFV3 names another)"},
	} {
		if n.have == "" {
			out = append(out, n.what)
		}
	}
	return out
}
