package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/trace"
)

// Selection chooses waves and instructions of a trace: ranges such as "3",
// "0-7" or "0-7,12"; empty means all.
type Selection struct {
	Launch     int // for a dump; -1: all
	Workgroups string
	Waves      string
	Range      string // of a wave's instructions, in order of execution
}

// ranges is a parsed list of ranges.
type ranges [][2]int

func parseRanges(flag, s string) (ranges, error) {
	if s == "" {
		return nil, nil
	}
	var out ranges
	for _, part := range strings.Split(s, ",") {
		a, b, two := strings.Cut(strings.TrimSpace(part), "-")
		lo, err := strconv.Atoi(a)
		hi := lo
		if err == nil && two {
			hi, err = strconv.Atoi(b)
		}
		if err != nil || lo < 0 || hi < lo {
			return nil, usagef("%s is %q; write numbers and ranges, such as 0-7,12", flag, s)
		}
		out = append(out, [2]int{lo, hi})
	}
	return out, nil
}

func (r ranges) has(n int) bool {
	if r == nil {
		return true
	}
	for _, x := range r {
		if n >= x[0] && n <= x[1] {
			return true
		}
	}
	return false
}

// selected is a parsed Selection.
type selected struct {
	groups, waves ranges
	from, to      uint64 // instructions [from, to); to 0 means to the end
}

func (s *Selection) parse() (selected, error) {
	var x selected
	var err error
	if x.groups, err = parseRanges("--workgroups", s.Workgroups); err != nil {
		return x, err
	}
	if x.waves, err = parseRanges("--waves", s.Waves); err != nil {
		return x, err
	}
	r, err := parseRanges("--range", s.Range)
	if err != nil {
		return x, err
	}
	if len(r) > 1 {
		return x, usagef("--range is %q; give one range of instructions", s.Range)
	}
	if r != nil {
		x.from, x.to = uint64(r[0][0]), uint64(r[0][1])+1
	}
	return x, nil
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// TraceDump writes the selected waves of a trace as text, one instruction a
// line.
func TraceDump(w io.Writer, path string, s Selection, allowTruncated bool) error {
	x, err := s.parse()
	if err != nil {
		return err
	}
	t, err := openTrace(path, allowTruncated)
	if err != nil {
		return err
	}
	defer t.Close()
	if s.Launch >= t.Launches() || s.Launch < -1 {
		return usagef("%s has no launch %d; it has %d", path, s.Launch, t.Launches())
	}
	d := dumper{b: bufio.NewWriter(w), t: t, x: x}
	for i := range t.Launches() {
		if s.Launch >= 0 && s.Launch != i {
			continue
		}
		if err := d.launch(i); err != nil {
			return usagef("%s: %w", path, err)
		}
	}
	switch {
	case d.longest == 0:
		return usagef("%s has none of the waves that are asked for", path)
	case d.printed == 0:
		return usagef("--range %s begins past the end of the waves that are asked for: the longest has instructions 0 to %d", s.Range, d.longest-1)
	}
	return d.b.Flush()
}

// dumper writes waves as text. Launches and waves without a selected instruction
// are left out.
type dumper struct {
	b                *bufio.Writer
	t                *openedTrace
	x                selected
	head             string // of the launch, until it is written
	longest, printed uint64 // instructions: of a selected wave, and those that were written
}

func (d *dumper) launch(i int) error {
	k, err := kernelOf(d.t.Launch(i), d.t.Program(i))
	if err != nil {
		return fmt.Errorf("launch %d: %w", i, err)
	}
	d.head = fmt.Sprintf("launch %d: %s for %s\n", i, k.Name, k.CPU)
	for _, g := range d.t.Workgroups(i) {
		for _, v := range d.t.Waves(i, g) {
			if !d.x.groups.has(g) || !d.x.waves.has(v) {
				continue
			}
			if err := d.wave(i, g, v, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// wave writes one wave: number, pc, EXEC, text, and the addresses of its active
// lanes.
func (d *dumper) wave(launch, g, v int, k *isa.Kernel) error {
	parts, err := d.t.Wave(launch, g, v)
	if err != nil {
		return err
	}
	total := uint64(0)
	for _, p := range parts {
		total += p.Instructions
	}
	d.longest = max(d.longest, total)
	head := d.head + fmt.Sprintf("workgroup %d wave %d: %d instructions\n", g, v, total)
	err = trace.Walk(parts, func(s *trace.Step) error {
		if d.x.to > 0 && s.Number >= d.x.to {
			return errStop
		}
		if s.Number < d.x.from {
			return nil
		}
		d.b.WriteString(head)
		d.head, head = "", ""
		d.printed++
		return d.line(s, k)
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return err
}

func (d *dumper) line(s *trace.Step, k *isa.Kernel) error {
	in := &k.Insts[s.Inst]
	fmt.Fprintf(d.b, "%8d  %#06x  %016x  %s", s.Number, in.PC, s.Exec, in.Text(k.CPU))
	if s.Issue != nil {
		fmt.Fprintf(d.b, "  ; cycle %d stall %d duration %d", s.Issue.Cycle, s.Issue.Stall, s.Issue.Duration)
	}
	if s.Pattern != nil {
		fmt.Fprintf(d.b, "  ; %s", accessText(s.Pattern, s.Base))
	}
	if s.Jumps {
		fmt.Fprintf(d.b, "  ; to %#06x", k.Insts[s.Next].PC)
	}
	return d.b.WriteByte('\n')
}

// accessText describes the addresses of an access.
func accessText(p *trace.Pattern, base uint64) string {
	if p.Lanes == 0 {
		return "no lane"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%#x", base)
	if step, ok := p.Affine(); ok {
		if p.Lanes != 1<<uint(p.First()) {
			fmt.Fprintf(&s, " lane%+d", step)
		}
	} else {
		for lane := range trace.Lanes {
			if p.Lanes>>lane&1 != 0 && lane != p.First() {
				fmt.Fprintf(&s, ",%+d", p.Offset[lane])
			}
		}
	}
	if p.Offset2 != nil {
		fmt.Fprintf(&s, " and %#x", base+uint64(p.Offset2[p.First()]))
	}
	if p.Lanes != ^uint64(0) {
		fmt.Fprintf(&s, " lanes %#x", p.Lanes)
	}
	fmt.Fprintf(&s, " x%d", p.Bytes)
	return s.String()
}
