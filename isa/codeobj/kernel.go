package codeobj

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/isa"
)

// preloadPrologue is the length of the code at the entry of a kernel whose
// arguments are preloaded. Hardware that preloads starts after it; older
// firmware runs it, and it loads the same SGPRs (LLVM AMDGPUUsage, "Preloaded
// Kernel Arguments").
const preloadPrologue = 256

// Kernel decodes a kernel and what its descriptor says. An empty name stands
// for the only kernel of the file. Kernel.Workgroup is what the metadata
// requires, or zero when any size goes; Kernel.LDSBytes is the static part.
func (f *File) Kernel(name string) (*isa.Kernel, *Meta, error) {
	m, err := f.meta(name)
	if err != nil {
		return nil, nil, err
	}
	k, err := f.kernel(m)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w: kernel %s: %w", f.Path, ErrFormat, m.Name, err)
	}
	return k, m, nil
}

func (f *File) meta(name string) (*Meta, error) {
	if name == "" && len(f.metas) == 1 {
		return &f.metas[0], nil
	}
	for i := range f.metas {
		if f.metas[i].Name == name || f.metas[i].Symbol == name {
			return &f.metas[i], nil
		}
	}
	names := f.Kernels()
	if len(names) > 12 {
		names = append(slices.Clone(names[:12]), fmt.Sprintf("and %d more", len(names)-12))
	}
	list := strings.Join(names, ", ")
	if name == "" {
		return nil, fmt.Errorf("%s has %d kernels; name one of %s", f.Path, len(f.metas), list)
	}
	return nil, fmt.Errorf("%s: %w: it has no kernel %q; it has %s", f.Path, ErrFormat, name, list)
}

func (f *File) kernel(m *Meta) (*isa.Kernel, error) {
	sym, ok := f.symbols[m.Symbol]
	if !ok {
		return nil, fmt.Errorf("there is no symbol %s", m.Symbol)
	}
	raw, ok := f.at(sym.Value, descriptorBytes)
	if !ok {
		return nil, fmt.Errorf("its descriptor at %#x lies outside the file", sym.Value)
	}
	d := parseDescriptor(raw)
	if err := d.check(); err != nil {
		return nil, err
	}
	k := &isa.Kernel{Name: m.Name, CPU: f.CPU, LDSBytes: int(d.group), ScratchBytes: int(d.private), KernargBytes: max(int(d.kernarg), m.KernargBytes), ABI: d.abi()}
	if len(m.ReqdWorkgroup) == 3 {
		k.Workgroup = [3]int(m.ReqdWorkgroup)
		if n := k.WorkgroupSize(); n > 1024 {
			return nil, fmt.Errorf("it requires workgroups of %d work-items; 1024 is the most", n)
		}
	}
	if err := f.decode(k, sym.Value+uint64(d.entry)); err != nil {
		return nil, err
	}
	f.registers(k, &d, m)
	return k, nil
}

// registers takes the counts of the metadata where the descriptor allows them:
// the descriptor only knows multiples of the granule.
func (f *File) registers(k *isa.Kernel, d *descriptor, m *Meta) {
	k.VGPRs, k.AGPRs = d.registers()
	used, usedAcc := usedRegisters(k)
	total := k.VGPRs + k.AGPRs
	if m.AGPRs >= usedAcc && m.AGPRs <= k.AGPRs && (k.VGPRs+m.AGPRs+7)/8*8 == (total+7)/8*8 {
		k.AGPRs = m.AGPRs
	}
	if v := m.VGPRs - m.AGPRs; k.AGPRs == 0 && v >= used && v <= k.VGPRs && (v+3)&^3 == k.VGPRs {
		k.VGPRs = v
	}
	// Some assembled files have a descriptor that allocates fewer registers than
	// their code and their metadata agree on.
	if accum := (int(d.rsrc3&63) + 1) * 4; k.VGPRs < used && used <= accum && used <= m.VGPRs {
		k.VGPRs = m.VGPRs
	}
	k.SGPRs = d.sgprs()
	if m.SGPRs > 0 && m.SGPRs <= isa.NumSGPRs {
		k.SGPRs = m.SGPRs
	}
}

// usedRegisters is the vector registers that the code names.
func usedRegisters(k *isa.Kernel) (vgprs, agprs int) {
	for i := range k.Insts {
		in := &k.Insts[i]
		for _, o := range [...]isa.Operand{in.Dst, in.SDst, in.Src[0], in.Src[1], in.Src[2], in.Src[3], in.Scale[0], in.Scale[1]} {
			switch {
			case !o.Present():
			case o.Reg.IsAGPR():
				agprs = max(agprs, o.Reg.Index()+int(o.N))
			case o.Reg.IsVGPR():
				vgprs = max(vgprs, o.Reg.Index()+int(o.N))
			}
		}
	}
	return vgprs, agprs
}

// decode fills in the code: the kernel's own and, when it calls, that of the
// functions on both sides of it. pc 0 is the kernel's entry, or where functions
// lie before it, the first of them, down to the alignment of code.
func (f *File) decode(k *isa.Kernel, entry uint64) error {
	code, err := f.codeAt(entry)
	if err != nil {
		return err
	}
	own, err := isa.DecodeAll(f.CPU, code)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		return fmt.Errorf("it has no code")
	}
	var before, behind []*Function
	if slices.ContainsFunc(own, calls) {
		before, behind = f.around(entry, entry+uint64(len(code)))
	}
	origin := entry
	if len(before) > 0 {
		origin = before[0].Addr &^ (codeAlign - 1)
	}
	for _, fn := range before {
		if err := f.add(k, fn, origin); err != nil {
			return err
		}
	}
	k.Entry = len(k.Insts)
	appendCode(k, own, entry-origin)
	if k.ABI.PreloadDwords > 0 {
		if k.Entry, err = k.At(uint32(entry-origin) + preloadPrologue); err != nil {
			return fmt.Errorf("its arguments are preloaded, but no code starts %d bytes after its entry", preloadPrologue)
		}
	}
	for _, fn := range behind {
		if err := f.add(k, fn, origin); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(k.Insts, func(in isa.Inst) bool { return in.Op == isa.S_GETPC_B64 }) {
		if f.imageErr != nil {
			return fmt.Errorf("it addresses data or code relative to the pc, but the file cannot be loaded: %w", f.imageErr)
		}
		k.Image, k.CodeBase = f.image, f.image.Base+origin-f.low
	}
	return resolve(k)
}

func calls(in isa.Inst) bool { return in.Op == isa.S_SWAPPC_B64 || in.Op == isa.S_CALL_B64 }

// around lists the functions before and behind a kernel's code that a call may
// reach. Kernels before it are none.
func (f *File) around(entry, end uint64) (before, behind []*Function) {
	last := uint64(0)
	for i := range f.funcs {
		fn := &f.funcs[i]
		_, kernel := f.symbols[fn.Name+".kd"]
		to := fn.Addr + uint64(len(fn.Code))
		switch {
		case fn.Addr < entry && !kernel && len(fn.Code) > 0 && fn.Addr >= last && to <= entry && entry-fn.Addr <= 1<<31:
			before, last = append(before, fn), to
		case fn.Addr >= end && fn.Addr-entry <= 1<<31:
			behind, end = append(behind, fn), to
		}
	}
	return before, behind
}

// add appends a function's code.
func (f *File) add(k *isa.Kernel, fn *Function, origin uint64) error {
	insts, err := isa.DecodeAll(f.CPU, fn.Code)
	if err != nil {
		return fmt.Errorf("function %s: %w", fn.Name, err)
	}
	appendCode(k, insts, fn.Addr-origin)
	return nil
}

func appendCode(k *isa.Kernel, insts []isa.Inst, pc uint64) {
	base := int32(len(k.Insts))
	for _, in := range insts {
		in.PC += uint32(pc)
		if in.Target >= 0 {
			in.Target += base
		}
		k.Insts = append(k.Insts, in)
	}
}

// resolve finds the targets of branches between functions and refuses those that
// leave the code.
func resolve(k *isa.Kernel) error {
	for i := range k.Insts {
		in := &k.Insts[i]
		if in.Target >= 0 || !isa.IsBranch(in.Op) {
			continue
		}
		to, err := k.At(in.PC + 4 + uint32(int32(int16(in.Offset))*4))
		if err != nil {
			return fmt.Errorf("%s at pc %#x goes to no instruction of its code", in.Text(k.CPU), in.PC)
		}
		in.Target = int32(to)
	}
	return nil
}

// codeAt returns the code of the function at an address; code without a symbol
// runs to the next function or the end of its segment.
func (f *File) codeAt(entry uint64) ([]byte, error) {
	if entry%4 != 0 {
		return nil, fmt.Errorf("its entry %#x is not a multiple of 4", entry)
	}
	for _, s := range f.segments {
		if !s.exec || entry < s.addr || entry-s.addr >= uint64(len(s.data)) {
			continue
		}
		code := s.data[entry-s.addr:]
		for i := range f.funcs {
			fn := &f.funcs[i]
			switch {
			case fn.Addr == entry && len(fn.Code) > 0:
				return fn.Code, nil
			case fn.Addr > entry && fn.Addr-entry < uint64(len(code)):
				return code[:fn.Addr-entry], nil
			}
		}
		return code, nil
	}
	return nil, fmt.Errorf("its entry %#x lies outside the code", entry)
}
