package sim

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/whisker-sim/whisker/isa/codeobj"
)

// PrintLaunch writes a launch file for a kernel of a code object, made from its
// metadata: it can be run as it is, with buffers and scalars to be filled in.
func PrintLaunch(w io.Writer, path, kernel string) error {
	f, err := openObject(path)
	if err != nil {
		return err
	}
	k, m, err := f.Kernel(kernel)
	if err != nil {
		return &UsageError{err}
	}
	// A launch file may lie anywhere, and paths in it are relative to it.
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Launch of kernel %s (%v, code object version %d): whisker run --launch THIS_FILE\n", m.Name, f.CPU, f.Version)
	fmt.Fprintf(&b, "code_object: %s\nkernel: %s\n", quote(path), quote(m.Name))
	b.WriteString("grid: [1, 1, 1] # workgroups\n")
	wg := k.Workgroup
	note := "required by the kernel"
	if k.WorkgroupSize() == 0 {
		wg, note = [3]int{max(m.MaxWorkgroup, 64), 1, 1}, fmt.Sprintf("at most %d work-items", m.MaxWorkgroup)
	}
	fmt.Fprintf(&b, "workgroup: [%d, %d, %d] # %s\n", wg[0], wg[1], wg[2], note)
	fmt.Fprintf(&b, "dynamic_lds: 0 # bytes, on top of the kernel's own %d\nseed: 1\n", k.LDSBytes)
	b.WriteString("# A buffer has a type, a shape and a fill (zeros, iota, constant(v), normal(mean, deviation),\n")
	b.WriteString("# uniform(low, high)) or a file (.npy or raw). A scalar has a type and a value.\nargs:")
	explicit := m.Explicit()
	if len(explicit) == 0 {
		b.WriteString(" []")
	}
	b.WriteByte('\n')
	for i := range explicit {
		b.WriteString(templateArg(i, &explicit[i]))
	}
	b.WriteString("# expect: # compared in functional and full mode\n")
	b.WriteString("#   reference: gemm # or attention, layernorm, rope, vadd; or output: NAME and file: NAME.npy\n")
	b.WriteString("#   bind: {a: arg0, b: arg1, c: arg2}\n#   tolerance: 0.01\n")
	_, err = io.WriteString(w, b.String())
	return err
}

// quote writes a YAML string.
func quote(s string) string { return fmt.Sprintf("%q", s) }

// templateArg is the line of one argument.
func templateArg(i int, a *codeobj.Arg) string {
	name := a.Name
	if name == "" {
		name = fmt.Sprintf("arg%d", i)
	}
	what := fmt.Sprintf("%d bytes at offset %d", a.Size, a.Offset)
	if a.TypeName != "" {
		what = a.TypeName + ", " + what
	}
	if a.Access != "" {
		what += ", " + strings.ReplaceAll(a.Access, "_", " ")
	}
	if a.Pointer() {
		fill := "normal"
		if a.Access == "write_only" {
			fill = "zeros"
		}
		return fmt.Sprintf("  - {name: %s, type: %s, shape: [1024], fill: %s} # %s\n", quote(name), pointee(a.TypeName), fill, what)
	}
	typ, value := scalarType(a)
	return fmt.Sprintf("  - {name: %s, type: %s, value: %s} # %s\n", quote(name), typ, value, what)
}

// cTypes maps the names that metadata uses.
var cTypes = map[string]string{"float": "f32", "double": "f64", "half": "f16", "char": "i8", "uchar": "u8", "short": "i16", "ushort": "u16",
	"int": "i32", "uint": "u32", "long": "i64", "ulong": "u64"}

func pointee(name string) string {
	if t, ok := cTypes[strings.TrimSuffix(name, "*")]; ok {
		return t
	}
	return "f32"
}

// scalarType guesses the type of a value from its name or its size.
func scalarType(a *codeobj.Arg) (typ, value string) {
	if t, ok := cTypes[a.TypeName]; ok && elementBytes[t] == a.Size {
		return t, "0"
	}
	switch a.Size {
	case 1, 2, 4, 8:
		return fmt.Sprintf("i%d", 8*a.Size), "0"
	}
	return "bytes", quote(strings.Repeat("00", a.Size))
}
