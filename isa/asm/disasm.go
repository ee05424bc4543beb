// Package asm is the text side of code objects: it lists them as llvm-objdump
// does, and assembles source files of the form that isa.Assembly writes.
package asm

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

// ListOptions choose what Disassemble prints.
type ListOptions struct {
	Kernel string // one kernel or function; empty: all
	Text   bool   // instruction text alone, without addresses and encodings
}

// Disassemble lists the code of a file as llvm-objdump -d of LLVM 22 does,
// padding between functions included. Words that are no instruction are printed
// as data.
func Disassemble(w io.Writer, f *codeobj.File, o ListOptions) error {
	l := lister{w: bufio.NewWriter(w), file: f, regions: f.Regions(), text: o.Text}
	if !o.Text {
		fmt.Fprintf(l.w, "\n%s:\tfile format elf64-amdgpu\n\nDisassembly of section .text:\n", f.Path)
	}
	found := false
	for i := range l.regions {
		r := &l.regions[i]
		if o.Kernel != "" && r.Name != o.Kernel {
			continue
		}
		found = true
		if !o.Text {
			fmt.Fprintf(l.w, "\n%016x <%s>:\n", r.Addr, r.Name)
		}
		l.region(r)
	}
	if !found {
		return fmt.Errorf("%s has no code named %q; it has %s", f.Path, o.Kernel, names(l.regions))
	}
	return l.w.Flush()
}

func names(rs []codeobj.Function) string {
	var s []string
	for _, r := range rs {
		s = append(s, r.Name)
	}
	return strings.Join(s, ", ")
}

// lister prints one file.
type lister struct {
	w       *bufio.Writer
	file    *codeobj.File
	regions []codeobj.Function
	text    bool
}

// textColumns is the width that llvm-objdump pads an instruction to.
const textColumns = 59

func (l *lister) region(r *codeobj.Function) {
	for pos := 0; pos < len(r.Code); {
		b := r.Code[pos:]
		if n := zeros(b); n > 0 {
			if !l.text {
				l.w.WriteString("\t\t...\n")
			}
			pos += n
			continue
		}
		if len(b) < 4 {
			l.bytes(r.Addr+uint64(pos), b)
			return
		}
		in, err := isa.Decode(l.file.CPU, b)
		size, text := int(in.Size), ""
		if err != nil {
			size, text = 4, fmt.Sprintf(".long 0x%08x", binary.LittleEndian.Uint32(b))
		} else if l.text {
			text = in.Text(l.file.CPU)
		} else {
			text = in.Listing(l.file.CPU)
		}
		l.line(r.Addr+uint64(pos), text, b[:size], &in)
		pos += size
	}
}

// zeros is how many zero bytes the listing leaves out: runs of at least 8, in
// whole words.
func zeros(b []byte) int {
	n := 0
	for n < len(b) && b[n] == 0 {
		n++
	}
	if n < 8 {
		return 0
	}
	return n &^ 3
}

func (l *lister) line(addr uint64, text string, b []byte, in *isa.Inst) {
	if l.text {
		fmt.Fprintln(l.w, text)
		return
	}
	fmt.Fprintf(l.w, "\t%-*s// %012X:", textColumns, text, addr)
	for ; len(b) >= 4; b = b[4:] {
		fmt.Fprintf(l.w, " %08X", binary.LittleEndian.Uint32(b))
	}
	if in.Enc != isa.EncInvalid && isa.IsBranch(in.Op) {
		l.target(addr + 4 + uint64(int64(int16(in.Offset))*4))
	}
	l.w.WriteByte('\n')
}

// target names the place that a branch goes to.
func (l *lister) target(addr uint64) {
	var at *codeobj.Function
	for i := range l.regions {
		if r := &l.regions[i]; r.Addr <= addr {
			at = r
		}
	}
	switch {
	case at == nil:
	case addr == at.Addr:
		fmt.Fprintf(l.w, " <%s>", at.Name)
	default:
		fmt.Fprintf(l.w, " <%s+%#x>", at.Name, addr-at.Addr)
	}
}

// bytes prints what is too short for an instruction.
func (l *lister) bytes(addr uint64, b []byte) {
	var text, raw []string
	for _, x := range b {
		text, raw = append(text, fmt.Sprintf("0x%02x", x)), append(raw, fmt.Sprintf("%02X", x))
	}
	s := ".byte " + strings.Join(text, ", ")
	if l.text {
		fmt.Fprintln(l.w, s)
		return
	}
	fmt.Fprintf(l.w, "\t%-*s// %012X: %s\n", textColumns, s, addr, strings.Join(raw, " "))
}
