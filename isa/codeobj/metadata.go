package codeobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/vmihailenco/msgpack/v5"
)

// Meta is what the metadata says of a kernel. Field order is the order of the
// keys in LLVM's own output.
type Meta struct {
	AGPRs         int    `msgpack:".agpr_count" yaml:".agpr_count"`
	Args          []Arg  `msgpack:".args,omitempty" yaml:".args"`
	GroupBytes    int    `msgpack:".group_segment_fixed_size" yaml:".group_segment_fixed_size"`
	KernargAlign  int    `msgpack:".kernarg_segment_align" yaml:".kernarg_segment_align"`
	KernargBytes  int    `msgpack:".kernarg_segment_size" yaml:".kernarg_segment_size"`
	MaxWorkgroup  int    `msgpack:".max_flat_workgroup_size,omitempty" yaml:".max_flat_workgroup_size"`
	Name          string `msgpack:".name" yaml:".name"`
	PrivateBytes  int    `msgpack:".private_segment_fixed_size" yaml:".private_segment_fixed_size"`
	ReqdWorkgroup []int  `msgpack:".reqd_workgroup_size,omitempty" yaml:".reqd_workgroup_size"`
	SGPRs         int    `msgpack:".sgpr_count" yaml:".sgpr_count"`
	Symbol        string `msgpack:".symbol" yaml:".symbol"`
	DynamicStack  bool   `msgpack:".uses_dynamic_stack,omitempty" yaml:".uses_dynamic_stack"`
	VGPRs         int    `msgpack:".vgpr_count" yaml:".vgpr_count"` // all of them, accumulation registers included
	WavefrontSize int    `msgpack:".wavefront_size" yaml:".wavefront_size"`
}

// Arg is one entry of the kernel argument segment.
type Arg struct {
	Access       string `msgpack:".actual_access,omitempty" yaml:".actual_access"` // read_only, write_only, read_write
	AddressSpace string `msgpack:".address_space,omitempty" yaml:".address_space"`
	Name         string `msgpack:".name,omitempty" yaml:".name"`
	Offset       int    `msgpack:".offset" yaml:".offset"`
	PointeeAlign int    `msgpack:".pointee_align,omitempty" yaml:".pointee_align"`
	Size         int    `msgpack:".size" yaml:".size"`
	TypeName     string `msgpack:".type_name,omitempty" yaml:".type_name"`
	ValueKind    string `msgpack:".value_kind" yaml:".value_kind"`
}

// Hidden reports whether the runtime fills the argument, not the caller.
func (a *Arg) Hidden() bool { return strings.HasPrefix(a.ValueKind, "hidden_") }

// Pointer reports whether the argument is the address of a buffer.
func (a *Arg) Pointer() bool { return a.ValueKind == "global_buffer" }

// InLDS reports whether the argument is the offset of a buffer in LDS, which the
// host sizes.
func (a *Arg) InLDS() bool { return a.ValueKind == "dynamic_shared_pointer" }

// Explicit lists the arguments that the caller gives, in order.
func (m *Meta) Explicit() []Arg {
	var out []Arg
	for _, a := range m.Args {
		if !a.Hidden() {
			out = append(out, a)
		}
	}
	return out
}

// document is the whole note.
type document struct {
	Kernels []Meta   `msgpack:"amdhsa.kernels" yaml:"amdhsa.kernels"`
	Printf  []string `msgpack:"amdhsa.printf,omitempty" yaml:"amdhsa.printf"`
	Target  string   `msgpack:"amdhsa.target,omitempty" yaml:"amdhsa.target"`
	Version []int    `msgpack:"amdhsa.version" yaml:"amdhsa.version"`
}

// Limits of a kernel's metadata: far beyond what compilers make, and small
// enough that a lie costs nothing.
const (
	maxKernargBytes = 1 << 16
	maxGroupBytes   = 1 << 20
	maxPrivateBytes = 1 << 22
	maxDepth        = 16 // of nested containers; LLVM's metadata has 4
)

// readNotes finds the metadata among the notes; other notes are skipped.
func (f *File) readNotes(e *elf.File, data []byte) error {
	for _, n := range f.noteParts(e, data) {
		desc, err := metadataNote(n.data, n.align)
		if err != nil {
			return err
		}
		if desc == nil {
			continue
		}
		d, err := parseMetadata(desc)
		if err != nil {
			return fmt.Errorf("the metadata note: %w", err)
		}
		f.metas = d.Kernels
		return nil
	}
	return nil
}

// notePart is a part of the file that holds notes.
type notePart struct {
	data  []byte
	align uint64
}

// noteParts finds the notes by segment, or in a relocatable file by section.
func (f *File) noteParts(e *elf.File, data []byte) []notePart {
	align := func(n uint64) uint64 {
		if n == 8 {
			return 8
		}
		return 4
	}
	var out []notePart
	for _, p := range e.Progs {
		if p.Type == elf.PT_NOTE {
			out = append(out, notePart{data[p.Off : p.Off+p.Filesz], align(p.Align)})
		}
	}
	for _, s := range e.Sections {
		if b, ok := contents(s, data); ok && e.Type == elf.ET_REL && s.Type == elf.SHT_NOTE {
			out = append(out, notePart{b, align(s.Addralign)})
		}
	}
	return out
}

// metadataNote walks the notes of a segment.
func metadataNote(b []byte, align uint64) ([]byte, error) {
	le := binary.LittleEndian
	up := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for len(b) >= 12 {
		nameLen, descLen, kind := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:])), le.Uint32(b[8:])
		b = b[12:]
		// The name is padded so that the descriptor is aligned from the note's start.
		descAt := up(12+nameLen) - 12
		if nameLen > uint64(len(b)) || descAt > uint64(len(b)) || descLen > uint64(len(b))-descAt {
			return nil, errors.New("a note is longer than its segment")
		}
		name := strings.TrimRight(string(b[:nameLen]), "\x00")
		desc := b[descAt:][:descLen]
		if kind == noteMetadata && name == "AMDGPU" {
			return desc, nil
		}
		b = b[min(descAt+up(descLen), uint64(len(b))):]
	}
	return nil, nil
}

func parseMetadata(b []byte) (*document, error) {
	if err := checkMsgpack(b); err != nil {
		return nil, err
	}
	var d document
	if err := msgpack.NewDecoder(bytes.NewReader(b)).Decode(&d); err != nil {
		return nil, err
	}
	return &d, d.check()
}

func (d *document) check() error {
	if len(d.Version) > 0 && d.Version[0] != 1 {
		return fmt.Errorf("version %v; version 1 is read", d.Version)
	}
	for i := range d.Kernels {
		if err := d.Kernels[i].check(); err != nil {
			return fmt.Errorf("kernel %q: %w", d.Kernels[i].Name, err)
		}
	}
	return nil
}

func (m *Meta) check() error {
	if m.Name == "" {
		return errors.New("it has no name")
	}
	for _, c := range []struct {
		key        string
		value, max int
	}{
		{".kernarg_segment_size", m.KernargBytes, maxKernargBytes}, {".group_segment_fixed_size", m.GroupBytes, maxGroupBytes},
		{".private_segment_fixed_size", m.PrivateBytes, maxPrivateBytes}, {".vgpr_count", m.VGPRs, 512}, {".agpr_count", m.AGPRs, 512},
		{".sgpr_count", m.SGPRs, 1024}, {".max_flat_workgroup_size", m.MaxWorkgroup, 1024},
	} {
		if c.value < 0 || c.value > c.max {
			return fmt.Errorf("%s is %d; it must be from 0 to %d", c.key, c.value, c.max)
		}
	}
	if m.WavefrontSize != 0 && m.WavefrontSize != 64 {
		return fmt.Errorf(".wavefront_size is %d; gfx942 and gfx950 have 64", m.WavefrontSize)
	}
	if n := len(m.ReqdWorkgroup); n != 0 && n != 3 {
		return fmt.Errorf(".reqd_workgroup_size has %d numbers, not 3", n)
	}
	for _, n := range m.ReqdWorkgroup {
		if n < 1 || n > 1024 {
			return fmt.Errorf(".reqd_workgroup_size is %v", m.ReqdWorkgroup)
		}
	}
	for i, a := range m.Args {
		if a.Offset < 0 || a.Size < 0 || a.Size > m.KernargBytes || a.Offset > m.KernargBytes-a.Size {
			return fmt.Errorf("argument %d, %d bytes at offset %d, lies outside the %d bytes of the argument segment", i, a.Size, a.Offset, m.KernargBytes)
		}
	}
	return nil
}

// checkMsgpack walks the document without recursion, so that neither lengths
// that lie nor deep nesting reach the decoder.
func checkMsgpack(b []byte) error {
	var stack []uint64 // values still to come at each level
	pos := 0
	for {
		kids, size, err := msgpackHead(b[pos:])
		if err != nil {
			return err
		}
		if size > uint64(len(b)-pos) || kids > uint64(len(b)-pos) {
			return errors.New("cut short")
		}
		pos += int(size)
		if kids > 0 {
			if len(stack) == maxDepth {
				return fmt.Errorf("nested deeper than %d", maxDepth)
			}
			stack = append(stack, kids)
			continue
		}
		for len(stack) > 0 {
			if stack[len(stack)-1]--; stack[len(stack)-1] > 0 {
				break
			}
			stack = stack[:len(stack)-1]
		}
		if len(stack) == 0 {
			return nil
		}
	}
}

// msgpackHead gives the number of values inside the one at the start of b, and
// the bytes before them.
func msgpackHead(b []byte) (kids, size uint64, err error) {
	if len(b) == 0 {
		return 0, 0, errors.New("cut short")
	}
	c := b[0]
	num := func(n int) uint64 { // big-endian length after the code
		if len(b) < 1+n {
			err = errors.New("cut short")
			return 0
		}
		var v uint64
		for _, x := range b[1 : 1+n] {
			v = v<<8 | uint64(x)
		}
		return v
	}
	switch {
	case c < 0x80 || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3: // small integer, nil, boolean
		return 0, 1, nil
	case c < 0x90: // small map
		return 2 * uint64(c&15), 1, nil
	case c < 0xa0: // small array
		return uint64(c & 15), 1, nil
	case c < 0xc0: // short string
		return 0, 1 + uint64(c&31), nil
	case c >= 0xc4 && c <= 0xc6: // binary
		n := 1 << (c - 0xc4)
		return 0, 1 + uint64(n) + num(n), err
	case c >= 0xd9 && c <= 0xdb: // string
		n := 1 << (c - 0xd9)
		return 0, 1 + uint64(n) + num(n), err
	case c == 0xdc || c == 0xdd: // array
		n := 2 << (c - 0xdc)
		return num(n), 1 + uint64(n), err
	case c == 0xde || c == 0xdf: // map
		n := 2 << (c - 0xde)
		return 2 * num(n), 1 + uint64(n), err
	case c == 0xca:
		return 0, 5, nil
	case c == 0xcb:
		return 0, 9, nil
	case c >= 0xcc && c <= 0xcf:
		return 0, 1 + 1<<(c-0xcc), nil
	case c >= 0xd0 && c <= 0xd3:
		return 0, 1 + 1<<(c-0xd0), nil
	}
	return 0, 0, fmt.Errorf("code %#x, which metadata does not use", c)
}

// ParseYAML reads metadata in the form that assembly files carry between
// .amdgpu_metadata and .end_amdgpu_metadata.
func ParseYAML(b []byte) (_ []Meta, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it is no YAML") // the parser gives up on some malformed text
		}
	}()
	if err := CheckYAML(b); err != nil {
		return nil, err
	}
	var d document
	if err := yaml.Unmarshal(b, &d); err != nil {
		// The first line says what and where; the rest is an excerpt.
		line, _, _ := strings.Cut(err.Error(), "\n")
		return nil, errors.New(line)
	}
	return d.Kernels, d.check()
}
