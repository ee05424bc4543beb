package asm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

// Options are what a source file may leave out.
type Options struct {
	CPU    isa.CPU
	HasCPU bool // CPU is given; a .amdgcn_target of another processor is an error
}

// Assemble reads a source file: instructions and labels, the .amdhsa_kernel
// blocks that describe kernels, and the metadata. It takes what isa.Assembly
// writes and hand-written files like it; it is no macro assembler.
func Assemble(name, src string, o Options) ([]codeobj.Unit, error) {
	a := &assembler{cpu: o.CPU, hasCPU: o.HasCPU, labels: map[string]int{}, funcs: map[string]bool{}, sizes: map[string]string{}}
	lines, err := stripComments(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, line := range lines {
		a.lineNo = i + 1
		if err := a.line(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, a.lineNo, err)
		}
	}
	if a.block != "" {
		return nil, fmt.Errorf("%s: %s is never closed", name, a.block)
	}
	units, err := a.units()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return units, nil
}

// fixup is a branch whose label is resolved at the end.
type fixup struct {
	inst   int
	label  string
	lineNo int
}

// assembler holds the state of one file. All code forms one stream; kernels are
// ranges of it.
type assembler struct {
	cpu    isa.CPU
	hasCPU bool
	lineNo int

	text   bool // the current section holds code
	insts  []isa.Inst
	pc     uint32
	labels map[string]int // index of the next instruction
	fixups []fixup
	funcs  map[string]bool
	sizes  map[string]string // function -> its end label

	block   string // the open block, named by what opened it
	desc    *directives
	kernels []*directives
	yaml    strings.Builder
	metas   []codeobj.Meta
}

// stripComments splits a source into lines without comments.
func stripComments(src string) ([]string, error) {
	for {
		i := strings.Index(src, "/*")
		if i < 0 {
			break
		}
		n := strings.Index(src[i:], "*/")
		if n < 0 {
			return nil, fmt.Errorf("line %d: a comment is never closed", 1+strings.Count(src[:i], "\n"))
		}
		src = src[:i] + strings.Repeat("\n", strings.Count(src[i:i+n], "\n")) + " " + src[i+n+2:]
	}
	lines := strings.Split(src, "\n")
	for i, l := range lines {
		if j := strings.Index(l, "//"); j >= 0 {
			l = l[:j]
		}
		if j := strings.IndexByte(l, ';'); j >= 0 {
			l = l[:j]
		}
		if strings.HasPrefix(strings.TrimSpace(l), "#") {
			l = ""
		}
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return lines, nil
}

func (a *assembler) line(line string) error {
	trimmed := strings.TrimSpace(line)
	switch a.block {
	case ".amdgpu_metadata":
		if trimmed != ".end_amdgpu_metadata" {
			a.yaml.WriteString(line + "\n")
			return nil
		}
		a.block = ""
		metas, err := codeobj.ParseYAML([]byte(a.yaml.String()))
		if err != nil {
			return fmt.Errorf("the metadata that ends here: %w", err)
		}
		a.metas = metas
		return nil
	case ".amdhsa_kernel":
		if trimmed == ".end_amdhsa_kernel" {
			a.block = ""
			a.kernels = append(a.kernels, a.desc)
			return nil
		}
		if trimmed == "" {
			return nil
		}
		return a.desc.set(trimmed)
	}
	for {
		label, rest, ok := cutLabel(trimmed)
		if !ok {
			break
		}
		if _, twice := a.labels[label]; twice {
			return fmt.Errorf("label %s is defined twice", label)
		}
		a.labels[label] = len(a.insts)
		trimmed = rest
	}
	switch {
	case trimmed == "":
		return nil
	case trimmed[0] == '.':
		return a.directive(trimmed)
	}
	return a.instruction(trimmed)
}

// cutLabel splits "name: rest".
func cutLabel(s string) (label, rest string, ok bool) {
	i := strings.IndexByte(s, ':')
	if i <= 0 || strings.ContainsAny(s[:i], " \t,[\"(") {
		return "", s, false
	}
	return s[:i], strings.TrimSpace(s[i+1:]), true
}

// directive handles a line that starts with a dot. Directives that only matter
// to a linker are taken and left alone.
func (a *assembler) directive(s string) error {
	name, rest, _ := strings.Cut(strings.ReplaceAll(s, "\t", " "), " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case ".amdgcn_target":
		return a.target(strings.Trim(rest, `"`))
	case ".text":
		a.text = true
	case ".rodata", ".data", ".bss":
		a.text = false
	case ".section":
		a.text = strings.HasPrefix(rest, ".text")
	case ".globl", ".global", ".protected", ".hidden", ".weak", ".ident", ".addrsig", ".amdhsa_code_object_version", ".file":
	case ".p2align", ".align", ".balign":
		return a.align(name, rest)
	case ".type":
		f, kind, _ := strings.Cut(rest, ",")
		if strings.TrimSpace(kind) == "@function" {
			a.funcs[strings.TrimSpace(f)] = true
		}
	case ".size":
		f, expr, _ := strings.Cut(rest, ",")
		end, start, ok := strings.Cut(strings.ReplaceAll(expr, " ", ""), "-")
		if f = strings.TrimSpace(f); !ok || start != f {
			return fmt.Errorf("%s: write .size %s, END-%s", s, f, f)
		}
		a.sizes[f] = end
	case ".long", ".int":
		return a.data(rest)
	case ".amdhsa_kernel":
		if rest == "" {
			return fmt.Errorf(".amdhsa_kernel names no kernel")
		}
		if slices.ContainsFunc(a.kernels, func(d *directives) bool { return d.name == rest }) {
			return fmt.Errorf("kernel %s is described twice", rest)
		}
		a.block, a.desc = name, newDirectives(rest)
	case ".amdgpu_metadata":
		a.block = name
		a.yaml.Reset()
	default:
		return fmt.Errorf("unknown directive %s", name)
	}
	return nil
}

func (a *assembler) target(triple string) error {
	for _, c := range []isa.CPU{isa.GFX942, isa.GFX950} {
		cpu, _, _ := strings.Cut(triple[strings.LastIndexByte(triple, '-')+1:], ":")
		if cpu != c.String() {
			continue
		}
		if a.hasCPU && a.cpu != c {
			return fmt.Errorf("the target is %v, where %v is asked for", c, a.cpu)
		}
		a.cpu, a.hasCPU = c, true
		return nil
	}
	return fmt.Errorf("target %q; gfx942 and gfx950 are simulated", triple)
}

// align pads code with s_nop.
func (a *assembler) align(name, rest string) error {
	arg, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseUint(strings.TrimSpace(arg), 0, 32)
	if err != nil || name == ".p2align" && n > 16 || name != ".p2align" && (n == 0 || n > 1<<16 || n&(n-1) != 0) {
		return fmt.Errorf("%s %s: write a power of two", name, rest)
	}
	if name == ".p2align" {
		n = 1 << n
	}
	for a.text && len(a.insts) > 0 && uint64(a.pc)%n != 0 {
		if err := a.instruction("s_nop 0"); err != nil {
			return err
		}
	}
	return nil
}

// data takes words that spell instructions.
func (a *assembler) data(rest string) error {
	if !a.text {
		return nil
	}
	var b []byte
	for _, w := range strings.Split(rest, ",") {
		v, err := strconv.ParseUint(strings.TrimSpace(w), 0, 32)
		if err != nil {
			return fmt.Errorf(".long %s: %w", rest, err)
		}
		b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	insts, err := isa.DecodeAll(a.cpu, b)
	if err != nil {
		return fmt.Errorf(".long %s is no instruction: %w", rest, err)
	}
	for _, in := range insts {
		in.Target = -1
		a.emit(in)
	}
	return nil
}

func (a *assembler) emit(in isa.Inst) {
	in.PC = a.pc
	a.pc += uint32(in.Size)
	a.insts = append(a.insts, in)
}

func (a *assembler) instruction(text string) error {
	switch {
	case !a.hasCPU:
		return fmt.Errorf("no processor: start the file with .amdgcn_target \"amdgcn-amd-amdhsa--gfx950\", or give --cpu")
	case !a.text:
		return fmt.Errorf("%q lies in a section without code; put .text before it", text)
	}
	text = strings.Join(strings.Fields(text), " ")
	if label, at := branchLabel(text); label != "" {
		a.fixups = append(a.fixups, fixup{len(a.insts), label, a.lineNo})
		text = text[:at] + "0"
	}
	in, err := isa.Parse(a.cpu, text)
	if err != nil {
		return err
	}
	b, err := isa.Encode(a.cpu, &in)
	if err != nil {
		return err
	}
	// Decoding gives the instruction the form that every other source has.
	if in, err = isa.Decode(a.cpu, b); err != nil {
		return err
	}
	a.emit(in)
	return nil
}

// branchLabel finds the label that a branch goes to and where it stands. Two of
// the opcodes called branches go to what registers hold.
func branchLabel(text string) (label string, at int) {
	if strings.HasPrefix(text, "s_cbranch_join ") || strings.HasPrefix(text, "s_cbranch_g_fork ") {
		return "", 0
	}
	if !strings.HasPrefix(text, "s_branch ") && !strings.HasPrefix(text, "s_cbranch_") && !strings.HasPrefix(text, "s_call_b64 ") {
		return "", 0
	}
	at = strings.LastIndexAny(text, " ,") + 1
	label = text[at:]
	if label == "" || label[0] == '-' || label[0] >= '0' && label[0] <= '9' {
		return "", 0
	}
	return label, at
}
