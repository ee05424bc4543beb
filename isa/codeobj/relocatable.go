package codeobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// Relocation types of AMDGPU (LLVM AMDGPUUsage, "Relocation Records").
const (
	relABS32Lo = 1
	relABS32Hi = 2
	relABS64   = 3
	relREL32   = 4
	relREL64   = 5
	relABS32   = 6
	relREL32Lo = 10
	relREL32Hi = 11
	relREL16   = 14
)

const relaBytes = 24

// contents gives the bytes of a section in the file.
func contents(s *elf.Section, data []byte) ([]byte, bool) {
	if s.Type == elf.SHT_NOBITS || s.Offset > uint64(len(data)) || s.FileSize > uint64(len(data))-s.Offset {
		return nil, false
	}
	return data[s.Offset:][:s.FileSize], true
}

// place lays the sections of a relocatable file out, as a linker does: code
// first, each section on pages of its own. Compilers' -c output and the code
// objects that some suites carry are such files.
func (f *File) place(e *elf.File, data []byte) error {
	f.bases = make([]uint64, len(e.Sections))
	next := uint64(0)
	for _, exec := range []bool{true, false} {
		for i, s := range e.Sections {
			if s.Flags&elf.SHF_ALLOC == 0 || (s.Flags&elf.SHF_EXECINSTR != 0) != exec || s.Type == elf.SHT_NOTE {
				continue
			}
			b, ok := contents(s, data)
			if !ok && s.Type != elf.SHT_NOBITS {
				return fmt.Errorf("cut short: section %s ends behind byte %#x", s.Name, len(data))
			}
			f.bases[i] = next
			f.segments = append(f.segments, segment{next, bytes.Clone(b), exec, s.Size}) // relocations change it
			next = (next + max(uint64(len(b)), min(s.Size, 2*isa.MaxImage)) + 2*pageBytes - 1) &^ (pageBytes - 1)
		}
	}
	if len(f.segments) == 0 {
		return errors.New("it has nothing to load: no section with code or data")
	}
	return nil
}

// base is where a section of a relocatable file was placed.
func (f *File) base(i elf.SectionIndex) uint64 {
	if int(i) < len(f.bases) {
		return f.bases[i]
	}
	return 0
}

// relocate applies the relocations of a relocatable file. Linked kernels have
// none that code or descriptors need.
func (f *File) relocate(e *elf.File, data []byte) error {
	if e.Type != elf.ET_REL {
		return nil
	}
	symbols, err := e.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return fmt.Errorf("the symbol table is damaged (%v)", err)
	}
	for _, s := range e.Sections {
		if s.Type != elf.SHT_RELA || int(s.Info) >= len(e.Sections) || e.Sections[s.Info].Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		b, ok := contents(s, data)
		if !ok {
			return fmt.Errorf("cut short: section %s ends behind byte %#x", s.Name, len(data))
		}
		for ; len(b) >= relaBytes; b = b[relaBytes:] {
			if err := f.apply(b, f.bases[s.Info], symbols); err != nil {
				return fmt.Errorf("relocation of %s: %w", e.Sections[s.Info].Name, err)
			}
		}
	}
	return nil
}

// apply does one relocation record of the section at base.
func (f *File) apply(b []byte, base uint64, symbols []elf.Symbol) error {
	le := binary.LittleEndian
	at, info, addend := base+le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
	var sym uint64
	if i := info >> 32; i > 0 {
		if i > uint64(len(symbols)) {
			return fmt.Errorf("there is no symbol %d", i)
		}
		s := &symbols[i-1]
		if s.Section == elf.SHN_UNDEF {
			return fmt.Errorf("%s is not defined; link the file with what defines it", s.Name)
		}
		sym = s.Value + f.base(s.Section)
	}
	v, size := sym+addend, uint64(4)
	switch info & 0xffffffff {
	case relABS64:
		size = 8
	case relREL64:
		v, size = v-at, 8
	case relABS32, relABS32Lo:
	case relABS32Hi:
		v >>= 32
	case relREL32, relREL32Lo:
		v -= at
	case relREL32Hi:
		v = (v - at) >> 32
	case relREL16:
		v, size = (v-at-4)/4, 2
	default:
		return fmt.Errorf("type %d, which only a linker resolves", info&0xffffffff)
	}
	to, ok := f.at(at, size)
	if !ok {
		return fmt.Errorf("it changes %d bytes at %#x, outside the file", size, at)
	}
	var raw [8]byte
	le.PutUint64(raw[:], v)
	copy(to, raw[:size])
	return nil
}
