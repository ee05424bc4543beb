package codeobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/whisker-sim/whisker/isa"
)

// relRELATIVE64 adds the load address (LLVM AMDGPUUsage, "Relocation Records").
const relRELATIVE64 = 13

// loadImage lays the segments out in the simulated memory and applies the dynamic
// relocations, which need the address.
func (f *File) loadImage(e *elf.File, data []byte) error {
	low, high := uint64(math.MaxUint64), uint64(0)
	h := fnv.New64a()
	for _, s := range f.segments {
		if s.size > isa.MaxImage {
			return fmt.Errorf("a segment of %#x bytes; %#x are loaded", s.size, isa.MaxImage)
		}
		low, high = min(low, s.addr&^(pageBytes-1)), max(high, s.addr+s.size)
		h.Write(binary.LittleEndian.AppendUint64(nil, s.addr))
		h.Write(s.data)
	}
	if high-low > isa.MaxImage {
		return fmt.Errorf("its segments span %#x bytes; %#x are loaded", high-low, isa.MaxImage)
	}
	x := &isa.Image{Base: isa.ImageBase(h.Sum64()), Size: high - low}
	for _, s := range f.segments {
		x.Segments = append(x.Segments, isa.Segment{Offset: s.addr - low, Data: s.data})
	}
	f.image, f.low = x, low
	if e.Type == elf.ET_REL {
		return f.rebase(e, data)
	}
	return f.dynamic(e, data)
}

// rebase moves the absolute addresses of a relocatable file, which relocate has
// made for an image at 0, to where the image lies.
func (f *File) rebase(e *elf.File, data []byte) error {
	for i := range f.image.Segments {
		f.image.Segments[i].Data = bytes.Clone(f.image.Segments[i].Data)
	}
	for _, s := range e.Sections {
		if s.Type != elf.SHT_RELA || int(s.Info) >= len(e.Sections) || e.Sections[s.Info].Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		b, _ := contents(s, data)
		for ; len(b) >= relaBytes; b = b[relaBytes:] {
			at := f.bases[s.Info] + binary.LittleEndian.Uint64(b)
			if binary.LittleEndian.Uint64(b[8:])&math.MaxUint32 != relABS64 {
				continue
			}
			v, ok := f.at(at, 8)
			if !ok {
				return fmt.Errorf("a relocation changes 8 bytes at %#x, outside the file", at)
			}
			if err := f.patch(at, binary.LittleEndian.Uint64(v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// dynamic applies the relocations that the linker left.
func (f *File) dynamic(e *elf.File, data []byte) error {
	symbols, err := e.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("the symbol table is damaged (%v)", err)
	}
	cloned := false
	for _, s := range e.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		b, ok := contents(s, data)
		if !ok {
			return fmt.Errorf("cut short: section %s ends behind byte %#x", s.Name, len(data))
		}
		for ; len(b) >= relaBytes; b = b[relaBytes:] {
			if !cloned {
				for i := range f.image.Segments {
					f.image.Segments[i].Data = bytes.Clone(f.image.Segments[i].Data)
				}
				cloned = true
			}
			if err := f.applyDynamic(b, symbols); err != nil {
				return fmt.Errorf("relocation of %s: %w", s.Name, err)
			}
		}
	}
	return nil
}

// applyDynamic does one record of a linked file.
func (f *File) applyDynamic(b []byte, symbols []elf.Symbol) error {
	le := binary.LittleEndian
	at, info, addend := le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	switch kind := info & math.MaxUint32; kind {
	case 0:
		return nil
	case relRELATIVE64:
		return f.patch(at, addend)
	case relABS64:
		i := info >> 32
		if i == 0 || i > uint64(len(symbols)) {
			return fmt.Errorf("there is no symbol %d", i)
		}
		s := &symbols[i-1]
		if s.Section == elf.SHN_UNDEF {
			return fmt.Errorf("%s is not defined; link the file with what defines it", s.Name)
		}
		return f.patch(at, s.Value+addend)
	default:
		return fmt.Errorf("type %d; R_AMDGPU_RELATIVE64 and R_AMDGPU_ABS64 are applied", kind)
	}
}

// patch stores the loaded address of v, an address of the file, at an address of
// the file.
func (f *File) patch(at, v uint64) error {
	for _, s := range f.image.Segments {
		if off := at - f.low - s.Offset; at-f.low >= s.Offset && off < uint64(len(s.Data)) && uint64(len(s.Data))-off >= 8 {
			binary.LittleEndian.PutUint64(s.Data[off:], f.image.Base+v-f.low)
			return nil
		}
	}
	return fmt.Errorf("it changes 8 bytes at %#x, outside the file", at)
}
