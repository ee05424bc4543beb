package sim

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/asm"
	"github.com/whisker-sim/whisker/isa/codeobj"
	"github.com/whisker-sim/whisker/lds"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/output"
)

// openObject opens a code object; what is wrong with it is the user's.
func openObject(path string) (*codeobj.File, error) {
	f, err := codeobj.Open(path)
	if err != nil {
		return nil, &UsageError{err}
	}
	return f, nil
}

// ISADisasm lists a code object as llvm-objdump -d does, or only one kernel's
// part of it; text leaves addresses and encodings out. A cpu that is given must be
// the object's.
func ISADisasm(w io.Writer, path, kernel, cpu string, text bool) error {
	if cpu != "" {
		if _, err := processor(cpu); err != nil {
			return err
		}
	}
	f, err := openObject(path)
	if err != nil {
		return err
	}
	if cpu != "" && cpu != f.CPU.String() {
		return usagef("%s is code for %s, and --cpu is %s", path, f.CPU, cpu)
	}
	if err := asm.Disassemble(w, f, asm.ListOptions{Kernel: kernel, Text: text}); err != nil {
		return &UsageError{err}
	}
	return nil
}

// ISADisasmHex reads one instruction's bytes a line, as hex digits with spaces,
// commas and 0x allowed between bytes, and writes its text, a line each.
func ISADisasmHex(w io.Writer, r io.Reader, cpu string) error {
	c, err := processor(cpu)
	if err != nil {
		return err
	}
	return eachLine(w, r, func(line string) (string, error) {
		b, err := hex.DecodeString(strings.NewReplacer(" ", "", "\t", "", ",", "", "0x", "").Replace(line))
		if err != nil {
			return "", fmt.Errorf("%q is not hex bytes", line)
		}
		in, err := isa.Decode(c, b)
		if err != nil {
			return "", err
		}
		if int(in.Size) != len(b) {
			return "", fmt.Errorf("%q is %d bytes, but %s has %d", line, len(b), in.Text(c), in.Size)
		}
		return in.Listing(c), nil
	})
}

// ISAAsmHex reads one instruction's text a line and writes its bytes as hex.
func ISAAsmHex(w io.Writer, r io.Reader, cpu string) error {
	c, err := processor(cpu)
	if err != nil {
		return err
	}
	return eachLine(w, r, func(line string) (string, error) {
		in, err := isa.Parse(c, line)
		if err != nil {
			return "", err
		}
		b, err := isa.Encode(c, &in)
		return hex.EncodeToString(b), err
	})
}

// eachLine turns each line of input into one of output. An empty line stays
// empty, so that lines correspond. The error names the line.
func eachLine(w io.Writer, r io.Reader, f func(string) (string, error)) error {
	out := bufio.NewWriter(w)
	s := bufio.NewScanner(r)
	n := 1
	for ; s.Scan(); n++ {
		line := strings.TrimSpace(s.Text())
		text := ""
		if line != "" {
			var err error
			if text, err = f(line); err != nil {
				out.Flush()
				return usagef("line %d: %w", n, err)
			}
		}
		fmt.Fprintln(out, text)
	}
	if err := s.Err(); err != nil {
		out.Flush()
		if errors.Is(err, bufio.ErrTooLong) {
			return usagef("line %d has %d characters or more; a line holds one instruction", n, bufio.MaxScanTokenSize)
		}
		return usagef("reading the input: %w", err)
	}
	return out.Flush()
}

func processor(name string) (isa.CPU, error) {
	for _, c := range []isa.CPU{isa.GFX942, isa.GFX950} {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, usagef("unknown --cpu %q: choose gfx942 or gfx950", name)
}

// ISAAsm assembles a source file to a code object. An empty output is the
// source's name with .co; the file appears whole or not at all.
func ISAAsm(source, output, cpu string) error {
	o := asm.Options{}
	if cpu != "" {
		c, err := processor(cpu)
		if err != nil {
			return err
		}
		o = asm.Options{CPU: c, HasCPU: true}
	}
	if output == "" {
		output = strings.TrimSuffix(source, filepath.Ext(source)) + ".co"
	}
	if err := keepInputs(output, source); err != nil {
		return err
	}
	src, err := readBounded(source, maxSourceBytes)
	if err != nil {
		return &UsageError{err}
	}
	units, err := asm.Assemble(source, string(src), o)
	if err != nil {
		return &UsageError{err}
	}
	data, err := codeobj.Write(units...)
	if err != nil {
		return &UsageError{fmt.Errorf("%s: %w", source, err)}
	}
	return writeWhole(output, data)
}

// keepInputs refuses an output that would replace an input.
func keepInputs(path string, inputs ...string) error {
	if err := output.Keep(path, inputs...); err != nil {
		return &UsageError{err}
	}
	return nil
}

// writeWhole writes a file under its final name only when all of it is written.
func writeWhole(path string, data []byte) error {
	if err := output.Check(path); err != nil {
		return &UsageError{err}
	}
	return output.WriteFile(path, data)
}

// CoverageRow is an opcode that decodes but cannot be run one way or the other.
type CoverageRow struct {
	CPU     string `json:"cpu"`
	Opcode  string `json:"opcode"`
	Missing string `json:"missing"` // semantics, timing, or both
	Reason  string `json:"reason"`  // why a compute kernel cannot use it
}

// CoverageSummary counts the opcodes of a processor.
type CoverageSummary struct {
	CPU       string `json:"cpu"`
	Opcodes   int    `json:"opcodes"`
	Semantics int    `json:"semantics"`
	Timing    int    `json:"timing"`
}

// Coverage is what ISACoverage writes as JSON.
type Coverage struct {
	Summary []CoverageSummary `json:"summary"`
	Missing []CoverageRow     `json:"missing"`
}

// ISACoverage lists the opcodes that decode but have no semantics or no timing
// class, after the counts of each processor.
func ISACoverage(w io.Writer, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	c := coverage()
	if format == "json" {
		return report.WriteJSON(w, c)
	}
	rows := report.Table{Header: []string{"cpu", "opcode", "missing", "reason"}, Left: []int{0, 1, 2, 3}}
	for _, r := range c.Missing {
		rows.Add(r.CPU, r.Opcode, r.Missing, r.Reason)
	}
	if format == "table" {
		sum := report.Table{Header: []string{"cpu", "opcodes", "with semantics", "with timing class"}}
		for _, s := range c.Summary {
			sum.Add(s.CPU, s.Opcodes, s.Semantics, s.Timing)
		}
		if _, err := sum.WriteTo(w); err != nil {
			return err
		}
		if len(c.Missing) == 0 {
			_, err := fmt.Fprintln(w, "every opcode has both")
			return err
		}
		fmt.Fprintln(w)
	}
	return writeRows(w, format, &rows, nil)
}

func coverage() Coverage {
	c := Coverage{Missing: []CoverageRow{}}
	for _, cpu := range []isa.CPU{isa.GFX942, isa.GFX950} {
		s := CoverageSummary{CPU: cpu.String()}
		for op := isa.OpInvalid + 1; op.String() != "invalid"; op++ {
			if !isa.Supports(cpu, op) {
				continue
			}
			s.Opcodes++
			var missing []string
			if isa.HasSemantics(op) {
				s.Semantics++
			} else {
				missing = append(missing, "semantics")
			}
			if timed(cpu, op) {
				s.Timing++
			} else {
				missing = append(missing, "timing")
			}
			if len(missing) > 0 {
				c.Missing = append(c.Missing, CoverageRow{s.CPU, op.String(), strings.Join(missing, " and "), isa.Refused(op)})
			}
		}
		c.Summary = append(c.Summary, s)
	}
	return c
}

// timed reports whether the timing model can run an opcode.
func timed(cpu isa.CPU, op isa.Op) bool {
	switch isa.Classify(cpu, &isa.Inst{Op: op}).Unit {
	case isa.UnitUnknown:
		return false
	case isa.UnitLDS:
		_, _, ok := lds.KindOf(op.String())
		return ok
	}
	return true
}
