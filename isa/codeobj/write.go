package codeobj

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/whisker-sim/whisker/isa"
)

// Unit is a kernel to write. Without Meta, the kernel's own Args describe the
// argument segment.
type Unit struct {
	Kernel *isa.Kernel
	Meta   *Meta
}

// What the writer puts into e_flags beside the processor: code that runs
// whatever the XNACK and SRAM ECC settings are, as clang's default.
const anyXNACKAnyECC = 0x500

const (
	codeAlign   = 256
	pageBytes   = 0x1000
	abiVersion5 = 3
	headerBytes = 64
	progBytes   = 56
	sectBytes   = 64
	symBytes    = 24
	snop        = 0xbf800000
	// defaultWorkgroup is what a runtime may launch where nothing else is said, as
	// clang's default.
	defaultWorkgroup = 1024
)

// DefaultMeta describes a kernel by what the kernel itself says.
func DefaultMeta(k *isa.Kernel) *Meta {
	m := &Meta{}
	for _, a := range k.Arguments() {
		arg := Arg{Name: a.Name, Offset: a.Offset, Size: a.Size, ValueKind: "by_value"}
		if a.Pointer {
			arg.ValueKind, arg.AddressSpace = "global_buffer", "global"
		}
		m.Args = append(m.Args, arg)
	}
	if k.WorkgroupSize() == 0 {
		m.MaxWorkgroup = defaultWorkgroup
	}
	m.complete(k)
	return m
}

// complete fills in what the code and the descriptor decide.
func (m *Meta) complete(k *isa.Kernel) {
	total := k.VGPRs
	if k.AGPRs > 0 {
		total = max((k.VGPRs+3)&^3, 4) + k.AGPRs
	}
	m.Name, m.Symbol, m.WavefrontSize = k.Name, k.Name+".kd", isa.Lanes
	m.AGPRs, m.VGPRs, m.SGPRs = k.AGPRs, total, max(k.SGPRs, 1)
	m.GroupBytes, m.PrivateBytes, m.KernargBytes = k.LDSBytes, k.ScratchBytes, k.KernargBytes
	m.KernargAlign = max(m.KernargAlign, 8)
	if n := k.WorkgroupSize(); n > 0 {
		m.MaxWorkgroup, m.ReqdWorkgroup = n, k.Workgroup[:]
	}
}

// Write makes a code object, version 5, that the HSA runtime loads. All kernels
// must be for one processor.
func Write(units ...Unit) ([]byte, error) {
	if len(units) == 0 {
		return nil, errors.New("codeobj: no kernel to write")
	}
	w := writer{cpu: units[0].Kernel.CPU}
	for _, u := range units {
		if err := w.add(u); err != nil {
			return nil, fmt.Errorf("codeobj: kernel %s: %w", u.Kernel.Name, err)
		}
	}
	note, err := w.note()
	if err != nil {
		return nil, err
	}
	return w.file(note), nil
}

// writer collects the parts of a code object.
type writer struct {
	cpu   isa.CPU
	text  []byte
	descs []descriptor
	entry []int // offset in text
	size  []int
	names []string
	metas []Meta
}

func (w *writer) add(u Unit) error {
	k := u.Kernel
	switch {
	case k.Name == "":
		return errors.New("it has no name")
	case k.CPU != w.cpu:
		return fmt.Errorf("it is for %v, the others for %v", k.CPU, w.cpu)
	case k.ABI.PreloadDwords > 0 && (k.Entry == 0 || k.Insts[k.Entry].PC != preloadPrologue):
		return fmt.Errorf("its arguments are preloaded, but its code does not start at byte %d", preloadPrologue)
	}
	code, err := encode(k)
	if err != nil {
		return err
	}
	for len(w.text)%codeAlign != 0 {
		w.text = binary.LittleEndian.AppendUint32(w.text, snop)
	}
	m := Meta{}
	if u.Meta != nil {
		m = *u.Meta
	} else {
		m = *DefaultMeta(k)
	}
	m.complete(k)
	if err := m.check(); err != nil {
		return err
	}
	w.entry, w.size = append(w.entry, len(w.text)), append(w.size, len(code))
	w.names, w.descs, w.metas = append(w.names, k.Name), append(w.descs, describe(k)), append(w.metas, m)
	w.text = append(w.text, code...)
	return nil
}

// encode makes the machine code of a kernel.
func encode(k *isa.Kernel) ([]byte, error) {
	if len(k.Insts) == 0 {
		return nil, errors.New("it has no code")
	}
	pcs := make([]int, len(k.Insts)+1)
	for i := range k.Insts {
		if int(k.Insts[i].PC) != pcs[i] {
			return nil, fmt.Errorf("instruction %d is at pc %#x, but the code before it ends at %#x", i, k.Insts[i].PC, pcs[i])
		}
		pcs[i+1] = pcs[i] + int(k.Insts[i].Size)
	}
	var code []byte
	for i := range k.Insts {
		in := k.Insts[i]
		if in.Target >= 0 {
			if int(in.Target) >= len(k.Insts) {
				return nil, fmt.Errorf("pc %#x branches outside the code", in.PC)
			}
			dist := (pcs[in.Target] - pcs[i] - 4) / 4
			if dist != int(int16(dist)) {
				return nil, fmt.Errorf("pc %#x branches %d dwords away; 16 bits hold the distance", in.PC, dist)
			}
			in.Offset = int32(dist)
		}
		b, err := isa.Encode(k.CPU, &in)
		if err != nil {
			return nil, fmt.Errorf("pc %#x: %w", in.PC, err)
		}
		if len(b) != int(in.Size) {
			return nil, fmt.Errorf("pc %#x: %s has %d bytes, not %d", in.PC, in.Text(k.CPU), len(b), in.Size)
		}
		code = append(code, b...)
	}
	return code, nil
}

// note makes the metadata note.
func (w *writer) note() ([]byte, error) {
	desc, err := msgpack.Marshal(&document{Kernels: w.metas, Target: "amdgcn-amd-amdhsa--" + w.cpu.String(), Version: []int{1, 2}})
	if err != nil {
		return nil, fmt.Errorf("codeobj: metadata: %w", err)
	}
	name := "AMDGPU\x00"
	le := binary.LittleEndian
	var b []byte
	b = le.AppendUint32(b, uint32(len(name)))
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, noteMetadata)
	b = append(b, name...)
	b = append(b, 0) // to a multiple of 4
	b = append(b, desc...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b, nil
}

// section is one part of the file as its header describes it.
type section struct {
	name       string
	kind       elf.SectionType
	flags      elf.SectionFlag
	addr       uint64
	align      uint64
	link, info uint32
	entSize    uint64
	off        uint64
	data       []byte
	shift      uint64 // address less file offset
	nameAt     uint32
}

// Order of the sections.
const (
	secNull = iota
	secNote
	secDynsym
	secHash
	secDynstr
	secRodata
	secText
	secDynamic
	secSymtab
	secStrtab
	secShstrtab
	numSections
)

const (
	numProgs  = 5
	afterProg = headerBytes + numProgs*progBytes
)

// file lays the sections out and writes the headers around them. Addresses are
// file offsets, plus a page for code and two for what is written, so that each
// part has a page of its own.
func (w *writer) file(note []byte) []byte {
	secs := w.sections(note)
	off := uint64(afterProg)
	for i := 1; i < numSections; i++ {
		s := &secs[i]
		off = (off + s.align - 1) &^ (s.align - 1)
		s.off = off
		if s.flags&elf.SHF_ALLOC != 0 {
			s.addr = off + s.shift
		}
		off += uint64(len(s.data))
	}
	w.link(secs)
	shoff := (off + 7) &^ 7
	out := make([]byte, shoff+numSections*sectBytes)
	for i := range secs {
		copy(out[secs[i].off:], secs[i].data)
		secs[i].header(out[shoff+uint64(i)*sectBytes:])
	}
	w.header(out, shoff)
	le := binary.LittleEndian
	last := &secs[secRodata]
	for i, p := range []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R), Filesz: last.off + uint64(len(last.data)), Align: pageBytes},
		secs[secText].prog(elf.PT_LOAD, elf.PF_R|elf.PF_X, pageBytes),
		secs[secDynamic].prog(elf.PT_LOAD, elf.PF_R|elf.PF_W, pageBytes),
		secs[secDynamic].prog(elf.PT_DYNAMIC, elf.PF_R|elf.PF_W, 8),
		secs[secNote].prog(elf.PT_NOTE, elf.PF_R, 4),
	} {
		p.Memsz, p.Paddr = p.Filesz, p.Vaddr
		b := out[headerBytes+i*progBytes:]
		le.PutUint32(b, p.Type)
		le.PutUint32(b[4:], p.Flags)
		for j, v := range []uint64{p.Off, p.Vaddr, p.Paddr, p.Filesz, p.Memsz, p.Align} {
			le.PutUint64(b[8+8*j:], v)
		}
	}
	return out
}

func (s *section) prog(t elf.ProgType, flags elf.ProgFlag, align uint64) elf.Prog64 {
	return elf.Prog64{Type: uint32(t), Flags: uint32(flags), Off: s.off, Vaddr: s.addr, Filesz: uint64(len(s.data)), Align: align}
}

// sections makes the sections with their sizes; link fills in the addresses.
func (w *writer) sections(note []byte) []section {
	n := len(w.names)
	symbols := 2*n + 1
	var strs bytes.Buffer
	strs.WriteByte(0)
	for _, name := range w.names {
		strs.WriteString(name + "\x00" + name + ".kd\x00")
	}
	secs := []section{
		secNull:    {},
		secNote:    {name: ".note", kind: elf.SHT_NOTE, flags: elf.SHF_ALLOC, align: 4, data: note},
		secDynsym:  {name: ".dynsym", kind: elf.SHT_DYNSYM, flags: elf.SHF_ALLOC, align: 8, link: secDynstr, info: 1, entSize: symBytes, data: make([]byte, symbols*symBytes)},
		secHash:    {name: ".hash", kind: elf.SHT_HASH, flags: elf.SHF_ALLOC, align: 4, link: secDynsym, entSize: 4, data: hashTable(symbols)},
		secDynstr:  {name: ".dynstr", kind: elf.SHT_STRTAB, flags: elf.SHF_ALLOC, align: 1, data: strs.Bytes()},
		secRodata:  {name: ".rodata", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC, align: descriptorBytes, data: make([]byte, n*descriptorBytes)},
		secText:    {name: ".text", kind: elf.SHT_PROGBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, align: codeAlign, shift: pageBytes, data: w.text},
		secDynamic: {name: ".dynamic", kind: elf.SHT_DYNAMIC, flags: elf.SHF_ALLOC | elf.SHF_WRITE, align: 8, shift: 2 * pageBytes, link: secDynstr, entSize: 16, data: make([]byte, 6*16)},
		secSymtab:  {name: ".symtab", kind: elf.SHT_SYMTAB, align: 8, link: secStrtab, info: 1, entSize: symBytes, data: make([]byte, symbols*symBytes)},
		secStrtab:  {name: ".strtab", kind: elf.SHT_STRTAB, align: 1, data: strs.Bytes()},
	}
	names := []byte{0}
	secs = append(secs, section{name: ".shstrtab", kind: elf.SHT_STRTAB, align: 1})
	for i := 1; i < numSections; i++ {
		secs[i].nameAt = uint32(len(names))
		names = append(append(names, secs[i].name...), 0)
	}
	secs[secShstrtab].data = names
	return secs
}

// hashTable puts every symbol into one bucket, in order.
func hashTable(symbols int) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, 1)
	b = le.AppendUint32(b, uint32(symbols))
	b = le.AppendUint32(b, 1)
	for i := range symbols {
		next := uint32(i + 1)
		if i == 0 || i == symbols-1 {
			next = 0
		}
		b = le.AppendUint32(b, next)
	}
	return b
}

// link writes what depends on addresses: symbols, descriptors, the dynamic
// table.
func (w *writer) link(secs []section) {
	le := binary.LittleEndian
	rodata, text := &secs[secRodata], &secs[secText]
	str := uint32(1)
	for i, name := range w.names {
		kd, code := rodata.addr+uint64(i)*descriptorBytes, text.addr+uint64(w.entry[i])
		w.descs[i].entry = int64(code) - int64(kd)
		copy(rodata.data[i*descriptorBytes:], w.descs[i].bytes())
		for j, s := range []elf.Sym64{
			{Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), Shndx: secText, Value: code, Size: uint64(w.size[i])},
			{Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_OBJECT), Shndx: secRodata, Value: kd, Size: descriptorBytes},
		} {
			b := secs[secDynsym].data[(1+2*i+j)*symBytes:]
			le.PutUint32(b, str)
			b[4], b[5] = s.Info, byte(elf.STV_PROTECTED)
			le.PutUint16(b[6:], s.Shndx)
			le.PutUint64(b[8:], s.Value)
			le.PutUint64(b[16:], s.Size)
			str += uint32(len(name)) + 1 + uint32(j)*uint32(len(".kd"))
		}
	}
	copy(secs[secSymtab].data, secs[secDynsym].data)
	for i, d := range []elf.Dyn64{
		{Tag: int64(elf.DT_SYMTAB), Val: secs[secDynsym].addr}, {Tag: int64(elf.DT_SYMENT), Val: symBytes},
		{Tag: int64(elf.DT_STRTAB), Val: secs[secDynstr].addr}, {Tag: int64(elf.DT_STRSZ), Val: uint64(len(secs[secDynstr].data))},
		{Tag: int64(elf.DT_HASH), Val: secs[secHash].addr}, {},
	} {
		le.PutUint64(secs[secDynamic].data[16*i:], uint64(d.Tag))
		le.PutUint64(secs[secDynamic].data[16*i+8:], d.Val)
	}
}

// header writes a section header.
func (s *section) header(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b, s.nameAt)
	le.PutUint32(b[4:], uint32(s.kind))
	le.PutUint64(b[8:], uint64(s.flags))
	le.PutUint64(b[16:], s.addr)
	le.PutUint64(b[24:], s.off)
	le.PutUint64(b[32:], uint64(len(s.data)))
	le.PutUint32(b[40:], s.link)
	le.PutUint32(b[44:], s.info)
	le.PutUint64(b[48:], s.align)
	le.PutUint64(b[56:], s.entSize)
}

// header writes the ELF header.
func (w *writer) header(out []byte, shoff uint64) {
	le := binary.LittleEndian
	copy(out, elf.ELFMAG)
	out[elf.EI_CLASS], out[elf.EI_DATA], out[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	out[elf.EI_OSABI], out[elf.EI_ABIVERSION] = osABIHSA, abiVersion5
	flags := uint32(anyXNACKAnyECC)
	for code, cpu := range machines {
		if cpu == w.cpu {
			flags |= code
		}
	}
	le.PutUint16(out[16:], uint16(elf.ET_DYN))
	le.PutUint16(out[18:], emAMDGPU)
	le.PutUint32(out[20:], uint32(elf.EV_CURRENT))
	le.PutUint64(out[32:], headerBytes)
	le.PutUint64(out[40:], shoff)
	le.PutUint32(out[48:], flags)
	for i, v := range []uint16{headerBytes, progBytes, numProgs, sectBytes, numSections, secShstrtab} {
		le.PutUint16(out[52+2*i:], v)
	}
}
