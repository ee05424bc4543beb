package step

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/sim"
)

// Help lists the commands of scripts and of the prompt.
const Help = `cycle [N]        advance a cycle, or N
issue [N]        advance to the next cycle in which an instruction issues
barrier [N]      advance to the next release of a barrier
continue         advance to a breakpoint or to the end
break pc ADDR    stop when an instruction at that address issues
break cycle N    stop at that cycle
break wave N     stop when that wave of a workgroup issues
delete           remove all breakpoints
breaks           list the breakpoints
show             print the state
help             print this list
quit             end`

// errQuit ends a script.
var errQuit = fmt.Errorf("quit")

// Command carries out one command and returns what it says beside the state;
// moved reports whether the machine went on.
func (m *Machine) Command(line string) (said string, moved bool, err error) {
	f := strings.Fields(line)
	if len(f) == 0 {
		return "", false, nil
	}
	switch f[0] {
	case "cycle", "issue", "barrier":
		n := int64(1)
		if len(f) > 2 {
			return "", false, usage("%q has too many words; %s takes a number or nothing", line, f[0])
		}
		if len(f) == 2 {
			if n, err = strconv.ParseInt(f[1], 10, 64); err != nil || n < 1 {
				return "", false, usage("%q: %q is no number from 1", line, f[1])
			}
		}
		return "", true, m.advance(f[0], n)
	case "break":
		b, err := m.breakpoint(f[1:])
		if err != nil {
			return "", false, err
		}
		m.Breaks = append(m.Breaks, b)
		return "break at " + b.String() + "\n", false, nil
	}
	if len(f) > 1 && slices.Contains([]string{"continue", "delete", "breaks", "show", "help", "quit"}, f[0]) {
		return "", false, usage("%q has too many words; %s takes none", line, f[0])
	}
	switch f[0] {
	case "continue":
		return "", true, m.Continue()
	case "delete":
		m.Breaks = nil
		return "", false, nil
	case "breaks":
		var b strings.Builder
		for _, x := range m.Breaks {
			fmt.Fprintln(&b, "break at", x)
		}
		return b.String(), false, nil
	case "show":
		return m.Text(), false, nil
	case "help":
		return Help + "\n", false, nil
	case "quit":
		return "", false, errQuit
	}
	return "", false, usage("unknown command %q; choose cycle, issue, barrier, continue, break, delete, breaks, show, help or quit", f[0])
}

func usage(format string, a ...any) error {
	return &sim.UsageError{Err: fmt.Errorf(format, a...)}
}

// advance repeats a step, and ends early at a breakpoint.
func (m *Machine) advance(what string, n int64) error {
	if what == "cycle" {
		return m.Cycles(n)
	}
	step := m.NextIssue
	if what == "barrier" {
		step = m.NextBarrier
	}
	for range n {
		if err := step(); err != nil {
			return err
		}
		if m.state.Why != "" {
			break
		}
	}
	return nil
}

func (m *Machine) breakpoint(f []string) (Breakpoint, error) {
	b := Breakpoint{PC: -1, Cycle: -1, Wave: -1}
	if len(f) != 2 {
		return b, usage("a breakpoint is break pc ADDRESS, break cycle N or break wave N")
	}
	n, err := strconv.ParseInt(f[1], 0, 64)
	if err != nil || n < 0 {
		return b, usage("break %s: %q is no number from 0", f[0], f[1])
	}
	switch f[0] {
	case "pc":
		for i := range m.Kernel.Insts {
			if int64(m.Kernel.Insts[i].PC) == n {
				b.PC = n
				return b, nil
			}
		}
		last := m.Kernel.Insts[len(m.Kernel.Insts)-1].PC
		return b, usage("break pc %#x: no instruction begins there; the kernel has addresses from 0 to %#x (whisker run --per-instruction lists them)", n, last)
	case "cycle":
		if n <= m.state.Cycle {
			return b, usage("break cycle %d: the machine is at cycle %d already", n, m.state.Cycle)
		}
		b.Cycle = n
	case "wave":
		if n >= int64(m.Kernel.Waves()) {
			return b, usage("break wave %d: a workgroup has waves 0 to %d", n, m.Kernel.Waves()-1)
		}
		b.Wave = int(n)
	default:
		return b, usage("break %s: a breakpoint is on a pc, a cycle or a wave", f[0])
	}
	return b, nil
}

// Script carries out commands, separated by semicolons or line ends, and prints
// the state after each that moves the machine. A # starts a comment.
func (m *Machine) Script(w io.Writer, text string) error {
	n := 0
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		n++
		said, moved, err := m.Command(line)
		if err == errQuit {
			return nil
		}
		if bad, ok := errors.AsType[*sim.UsageError](err); ok {
			return usage("--script, command %d: %w", n, bad.Err)
		}
		if err != nil {
			return err
		}
		if moved {
			said += m.Text()
		}
		if _, err := fmt.Fprintf(w, "> %s\n%s", line, said); err != nil {
			return err
		}
	}
	return nil
}
