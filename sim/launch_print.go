package sim

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/whisker-sim/whisker/isa"
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
		wg, note = [3]int{isa.Lanes, 1, 1}, mostWorkItems(m)
		if m.MaxWorkgroup > 0 {
			wg[0] = m.MaxWorkgroup
		}
	}
	fmt.Fprintf(&b, "workgroup: [%d, %d, %d] # %s\n", wg[0], wg[1], wg[2], note)
	fmt.Fprintf(&b, "dynamic_lds: 0 # bytes, on top of the kernel's own %d\nseed: 1\n", k.LDSBytes)
	b.WriteString(templateHelp)
	explicit := m.Explicit()
	if len(explicit) == 0 {
		b.WriteString(" []")
	}
	b.WriteByte('\n')
	for i := range explicit {
		b.WriteString(templateArg(i, &explicit[i]))
	}
	b.WriteString(templateExpect(explicit))
	_, err = io.WriteString(w, b.String())
	return err
}

// templateHelp is what a template says of arguments. A fill with two numbers has
// a comma, which YAML would take for the end of the entry but for the quotes.
const templateHelp = `# A buffer has a type, a shape and a fill, or a file (.npy or raw) instead of the fill:
#   fill: zeros, fill: iota, fill: "constant(0.5)", fill: "uniform(0, 1)" (low, high) or
#   fill: "normal(0, 1)" (mean, deviation). A scalar has a type and a value.
args:`

// templateExpect is the end of a template, as comments: a reference that binds the
// first three buffers where there are so many, else a file.
func templateExpect(args []codeobj.Arg) string {
	var buffers []string
	for i := range args {
		if args[i].Pointer() {
			buffers = append(buffers, quote(templateName(i, &args[i])))
		}
	}
	const head = "# expect: # compared in functional and full mode\n"
	const tail = "#   tolerance: 0.01 # 0: exact\n"
	if len(buffers) < 3 {
		output := "NAME"
		if len(buffers) > 0 {
			output = buffers[len(buffers)-1]
		}
		return head + "#   output: " + output + "\n#   file: NAME.npy # or reference: NAME with bind\n" + tail
	}
	return head + "#   reference: gemm # or attention, layernorm, rope, vadd; or output: NAME and file: NAME.npy\n" +
		fmt.Sprintf("#   bind: {a: %s, b: %s, c: %s}\n", buffers[0], buffers[1], buffers[2]) + tail
}

// quote writes a YAML string.
func quote(s string) string { return fmt.Sprintf("%q", s) }

// templateName is the name of an argument, or its number.
func templateName(i int, a *codeobj.Arg) string {
	if a.Name != "" {
		return a.Name
	}
	return fmt.Sprintf("arg%d", i)
}

// templateArg is the line of one argument.
func templateArg(i int, a *codeobj.Arg) string {
	name := templateName(i, a)
	what := fmt.Sprintf("%d bytes at offset %d", a.Size, a.Offset)
	if a.TypeName != "" {
		what = a.TypeName + ", " + what
	}
	if a.Access != "" {
		what += ", " + strings.ReplaceAll(a.Access, "_", " ")
	}
	if a.InLDS() {
		return fmt.Sprintf("  - {name: %s, type: %s, shape: [1024]} # in LDS, on top of dynamic_lds; %s\n", quote(name), pointee(a.TypeName), what)
	}
	if a.Pointer() {
		fill := quote("normal(0, 1)")
		if a.Access == "write_only" {
			fill = "zeros"
		}
		return fmt.Sprintf("  - {name: %s, type: %s, shape: [1024], fill: %s} # %s\n", quote(name), pointee(a.TypeName), fill, what)
	}
	typ, value := scalarType(a)
	if a.Size == 8 && a.TypeName == "" {
		what += "; of a buffer whose address this is give type and shape"
	}
	if value == "0" {
		what += "; 0 until you say what the kernel gets"
	}
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
