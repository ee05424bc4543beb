// Package codeobj reads and writes AMDGPU code objects: ELF files of version 4
// to 6 that hybrid compilers such as clang, hipcc and Triton make for gfx942
// and gfx950.
//
// The layout is LLVM's (AMDGPUUsage, "Code Object"): kernel descriptors of 64
// bytes named KERNEL.kd, code named KERNEL, and a metadata note in msgpack that
// says what the arguments are.
package codeobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/whisker-sim/whisker/isa"
)

// ErrFormat is wrapped by every error about what a file holds, so that a caller
// can tell bad input from a failure to read.
var ErrFormat = errors.New("bad code object")

const (
	maxFileBytes = 1 << 30
	osABIHSA     = 64 // ELFOSABI_AMDGPU_HSA
	emAMDGPU     = 224
	noteMetadata = 32 // NT_AMDGPU_METADATA
	machMask     = 0xff
)

// machines are the e_flags codes of the processors that are simulated.
var machines = map[uint32]isa.CPU{0x4c: isa.GFX942, 0x4f: isa.GFX950}

// foreign names other processors' codes, for the message that refuses them.
var foreign = map[uint32]string{0x2c: "gfx900", 0x2f: "gfx906", 0x30: "gfx908", 0x3f: "gfx90a", 0x40: "gfx940", 0x4b: "gfx941",
	0x33: "gfx1010", 0x36: "gfx1030", 0x41: "gfx1100", 0x46: "gfx1101", 0x47: "gfx1102", 0x44: "gfx1103", 0x48: "gfx1200",
	0x4e: "gfx1201", 0x51: "gfx9-generic", 0x5f: "gfx9-4-generic"}

// File is an open code object.
type File struct {
	Path    string
	CPU     isa.CPU
	Version int // of the code object: 4, 5 or 6
	Flags   uint32

	segments []segment
	bases    []uint64 // of a relocatable file: address of each section
	symbols  map[string]elf.Symbol
	funcs    []Function
	metas    []Meta

	image    *isa.Image // nil when imageErr says why it cannot be loaded
	imageErr error
	low      uint64 // address in the file of the image's first byte
}

// segment is a loadable part of the file.
type segment struct {
	addr uint64
	data []byte
	exec bool
	size uint64 // in memory: what is behind data is zero
}

// Function is a piece of code with a name.
type Function struct {
	Name string
	Addr uint64
	Code []byte
}

// Open reads a code object, or the one code object for gfx942 or gfx950 in a
// clang offload bundle.
func Open(path string) (*File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, fmt.Errorf("%s is a directory, not a code object: %w", path, ErrFormat)
	}
	if st.Mode()&os.ModeDevice != 0 {
		return nil, fmt.Errorf("%s is a device, not a code object: %w", path, ErrFormat)
	}
	if st.Size() > maxFileBytes {
		return nil, fmt.Errorf("%s has %d bytes; code objects of up to %d are read: %w", path, st.Size(), maxFileBytes, ErrFormat)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// A device has no size to look at.
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s has more than %d bytes, the most that is read of a code object: %w", path, maxFileBytes, ErrFormat)
	}
	return Parse(path, data)
}

// Parse reads a code object from memory; path is for messages.
func Parse(path string, data []byte) (*File, error) {
	f := &File{Path: path}
	if err := f.parse(data); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrFormat, err)
	}
	return f, nil
}

func (f *File) parse(data []byte) error {
	data, err := unbundle(data)
	if err != nil {
		return err
	}
	if err := f.header(data); err != nil {
		return err
	}
	e, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("the ELF headers are damaged or cut short (%v)", err)
	}
	load := f.load
	if e.Type == elf.ET_REL {
		load = f.place
	}
	if err := load(e, data); err != nil {
		return err
	}
	if err := f.readSymbols(e); err != nil {
		return err
	}
	if err := f.relocate(e, data); err != nil {
		return err
	}
	if f.imageErr = f.loadImage(e, data); f.imageErr != nil {
		f.image = nil // kernels that reach nothing of it run
	}
	if err := f.readNotes(e, data); err != nil {
		return err
	}
	return f.completeKernels()
}

// header refuses what is no HSA code object for a simulated processor, before
// the rest is looked at.
func (f *File) header(data []byte) error {
	switch {
	case len(data) < 4 || string(data[:4]) != elf.ELFMAG:
		return errors.New("not an ELF file")
	case len(data) < 64:
		return fmt.Errorf("cut short: %d bytes, less than an ELF header", len(data))
	case data[elf.EI_CLASS] != byte(elf.ELFCLASS64) || data[elf.EI_DATA] != byte(elf.ELFDATA2LSB):
		return errors.New("a 32-bit or big-endian ELF file; code objects are 64-bit little-endian")
	}
	le := binary.LittleEndian
	if m := elf.Machine(le.Uint16(data[18:])); m != emAMDGPU {
		return fmt.Errorf("code for another processor: ELF machine %v, where AMDGPU is %d", m, emAMDGPU)
	}
	if data[elf.EI_OSABI] != osABIHSA {
		return fmt.Errorf("no HSA code object: its OS ABI is %d, not %d; compile for amdgcn-amd-amdhsa", data[elf.EI_OSABI], osABIHSA)
	}
	abi := int(data[elf.EI_ABIVERSION])
	if abi < 2 || abi > 4 {
		return fmt.Errorf("ABI version %d; code object versions 4, 5 and 6 (ABI versions 2 to 4) are read", abi)
	}
	f.Version, f.Flags = abi+2, le.Uint32(data[48:])
	cpu, ok := machines[f.Flags&machMask]
	if !ok {
		name := foreign[f.Flags&machMask]
		if name == "" {
			name = fmt.Sprintf("processor code %#x", f.Flags&machMask)
		}
		return fmt.Errorf("code for %s; gfx942 and gfx950 are simulated", name)
	}
	f.CPU = cpu
	if t := elf.Type(le.Uint16(data[16:])); t != elf.ET_DYN && t != elf.ET_REL {
		return fmt.Errorf("an ELF file of type %v; code objects are shared or relocatable", t)
	}
	return nil
}

// load finds the loadable parts.
func (f *File) load(e *elf.File, data []byte) error {
	for _, p := range e.Progs {
		if p.Filesz > uint64(len(data)) || p.Off > uint64(len(data))-p.Filesz {
			return fmt.Errorf("cut short: a segment ends at byte %#x of %#x", p.Off+p.Filesz, len(data))
		}
		if p.Type != elf.PT_LOAD {
			continue
		}
		if p.Vaddr > 1<<47 || p.Filesz > p.Memsz {
			return fmt.Errorf("a segment at address %#x of %#x bytes in memory and %#x in the file is impossible", p.Vaddr, p.Memsz, p.Filesz)
		}
		f.segments = append(f.segments, segment{p.Vaddr, data[p.Off : p.Off+p.Filesz : p.Off+p.Filesz], p.Flags&elf.PF_X != 0, p.Memsz})
	}
	if len(f.segments) == 0 {
		return errors.New("it has nothing to load: no PT_LOAD segment")
	}
	return nil
}

// at returns n bytes of the loaded file.
func (f *File) at(addr, n uint64) ([]byte, bool) {
	for _, s := range f.segments {
		if addr >= s.addr && addr-s.addr <= uint64(len(s.data)) && n <= uint64(len(s.data))-(addr-s.addr) {
			return s.data[addr-s.addr:][:n:n], true
		}
	}
	return nil, false
}

// readSymbols takes the dynamic symbols and, for what they lack, the others.
func (f *File) readSymbols(e *elf.File) error {
	f.symbols = map[string]elf.Symbol{}
	dyn, err := e.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("the symbol table is damaged (%v)", err)
	}
	static, err := e.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("the symbol table is damaged (%v)", err)
	}
	for _, s := range append(dyn, static...) {
		s.Value += f.base(s.Section)
		if _, known := f.symbols[s.Name]; known || s.Name == "" || s.Section == elf.SHN_UNDEF {
			continue
		}
		f.symbols[s.Name] = s
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		code, ok := f.at(s.Value, s.Size)
		if !ok {
			return fmt.Errorf("function %s, %#x bytes at %#x, lies outside the file", s.Name, s.Size, s.Value)
		}
		f.funcs = append(f.funcs, Function{s.Name, s.Value, code})
	}
	sort.Slice(f.funcs, func(i, j int) bool {
		a, b := &f.funcs[i], &f.funcs[j]
		return a.Addr < b.Addr || a.Addr == b.Addr && a.Name < b.Name
	})
	return nil
}

// completeKernels adds kernels that have a descriptor but no metadata.
func (f *File) completeKernels() error {
	known := map[string]bool{}
	for i := range f.metas {
		m := &f.metas[i]
		if m.Symbol == "" {
			m.Symbol = m.Name + ".kd"
		}
		if known[m.Symbol] {
			return fmt.Errorf("the metadata names kernel %s twice", m.Name)
		}
		known[m.Symbol] = true
	}
	var bare []string
	for name := range f.symbols {
		if strings.HasSuffix(name, ".kd") && !known[name] {
			bare = append(bare, name)
		}
	}
	slices.Sort(bare)
	for _, s := range bare {
		f.metas = append(f.metas, Meta{Name: strings.TrimSuffix(s, ".kd"), Symbol: s})
	}
	if len(f.metas) == 0 {
		return errors.New("it holds no kernel")
	}
	return nil
}

// Kernels lists the kernels by name, in the order of the metadata.
func (f *File) Kernels() []string {
	names := make([]string, len(f.metas))
	for i := range f.metas {
		names[i] = f.metas[i].Name
	}
	return names
}

// Functions lists the code of the file in address order.
func (f *File) Functions() []Function { return f.funcs }

// Regions lists the code as a disassembler walks it: each function with the
// padding behind it, up to the next function or the end of the segment.
func (f *File) Regions() []Function {
	var out []Function
	for _, s := range f.segments {
		if !s.exec {
			continue
		}
		end := s.addr + uint64(len(s.data))
		first := len(out)
		for _, fn := range f.funcs {
			if fn.Addr < s.addr || fn.Addr >= end || len(out) > first && out[len(out)-1].Addr == fn.Addr {
				continue
			}
			out = append(out, Function{Name: fn.Name, Addr: fn.Addr})
		}
		for i := first; i < len(out); i++ {
			to := end
			if i+1 < len(out) {
				to = out[i+1].Addr
			}
			out[i].Code = s.data[out[i].Addr-s.addr : to-s.addr]
		}
	}
	return out
}
