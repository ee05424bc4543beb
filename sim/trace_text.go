package sim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/trace"
)

// ImportOptions are what the imports have in common.
type ImportOptions struct {
	Out           string
	CPU           string // for text and folders that do not say it
	Arch, Machine string
	Set           []string
	Format        string
}

// Limits of a text.
const (
	maxTextBytes = 64 << 20
	maxTextSteps = 1 << 26 // instructions of a wave
	maxTextTotal = 1 << 30 // and of all waves
	maxTextWaves = 1 << 20
)

// ImportText makes a trace of an instruction stream that somebody has written:
// docs/trace-format.md describes the form.
func ImportText(w io.Writer, path string, o ImportOptions) error {
	if err := CheckFormat(o.Format, report.Formats); err != nil {
		return err
	}
	if err := keepInputs(o.Out, path, o.Machine); err != nil {
		return err
	}
	var in io.Reader = os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return &UsageError{err}
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxTextBytes+1))
	if err != nil {
		return usagef("%s: %w", path, err)
	}
	if len(b) > maxTextBytes {
		return usagef("%s is longer than %d bytes; write loops with a label and @ taken N", path, maxTextBytes)
	}
	m, err := parseTraceText(path, string(b), o.CPU)
	if err != nil {
		return &UsageError{err}
	}
	if err := m.write(o.Out, o.Arch, o.Machine, o.Set); err != nil {
		return err
	}
	return m.summary(w, o.Out, o.Format)
}

// textError is a fault at a place of a text.
type textError struct {
	name      string
	line, col int
	err       error
}

func (e *textError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", e.name, e.line, e.col, e.err)
}

// textParser reads a text.
type textParser struct {
	name string
	line int
	m    *importing
	cpu  bool // known

	lines    []textLine // by instruction
	labels   map[string]int
	sections []textSection
	regions  map[string]uint64
	ldsSaid  bool // there is a .lds
	reach    int  // LDS bytes that are reached, where there is none
	steps    int  // instructions of all waves
}

// textLine is what a line says beside its instruction.
type textLine struct {
	line, col int
	label     string // of a branch
	labelCol  int
	taken     uint64
	hasTaken  bool
	access    *textAccess
}

// textSection is instructions of some waves.
type textSection struct {
	waves ranges // nil: all
	start int
	line  int
}

// parseTraceText reads a text and runs its waves.
func parseTraceText(name, text, cpu string) (*importing, error) {
	p := &textParser{name: name, m: newImport("text", 0), labels: map[string]int{}, regions: map[string]uint64{}}
	p.m.name = "text"
	if cpu != "" {
		if err := p.setCPU(cpu); err != nil {
			return nil, err
		}
	}
	for i, line := range strings.Split(text, "\n") {
		p.line = i + 1
		if err := p.parse(line); err != nil {
			return nil, err
		}
	}
	if len(p.m.insts) == 0 {
		return nil, p.at(1, "there is no instruction")
	}
	if err := p.resolve(); err != nil {
		return nil, err
	}
	return p.m, p.run()
}

func (p *textParser) at(col int, format string, args ...any) error {
	return &textError{p.name, p.line, col, fmt.Errorf(format, args...)}
}

func (p *textParser) setCPU(s string) error {
	c, err := cpuOf(s)
	if err != nil {
		return fmt.Errorf("unknown processor %q: choose gfx942 or gfx950", s)
	}
	p.m.cpu, p.cpu = c, true
	return nil
}

// parse reads one line: directive, label or instruction.
func (p *textParser) parse(line string) error {
	for _, mark := range []string{";", "#", "//"} {
		if i := strings.Index(line, mark); i >= 0 {
			line = line[:i]
		}
	}
	text := strings.TrimSpace(line)
	col := 1 + len(line) - len(strings.TrimLeft(line, " \t"))
	switch {
	case text == "":
		return nil
	case text[0] == '.':
		return p.directive(text, col)
	}
	if label, ok := strings.CutSuffix(text, ":"); ok && !strings.ContainsAny(label, " \t@") {
		if _, twice := p.labels[label]; twice {
			return p.at(col, "label %s stands twice", label)
		}
		p.labels[label] = len(p.m.insts)
		return nil
	}
	return p.instruction(text, col)
}

// directive reads a line that begins with a dot.
func (p *textParser) directive(text string, col int) error {
	f := strings.Fields(text)
	arg := func(i int) int { return col + strings.Index(text, f[i]) }
	need := func(n int) error {
		if len(f) != n+1 {
			return p.at(col, "%s takes %d values, not %d", f[0], n, len(f)-1)
		}
		return nil
	}
	number := func(to *int, lo, hi int) error {
		if err := need(1); err != nil {
			return err
		}
		v, err := strconv.Atoi(f[1])
		if err != nil || v < lo || v > hi {
			return p.at(arg(1), "%s is %q; it must be from %d to %d", f[0], f[1], lo, hi)
		}
		*to = v
		return nil
	}
	m := p.m
	switch f[0] {
	case ".cpu":
		if err := need(1); err != nil {
			return err
		}
		if len(m.insts) > 0 {
			return p.at(col, ".cpu comes after instructions")
		}
		if err := p.setCPU(f[1]); err != nil {
			return p.at(arg(1), "%w", err)
		}
	case ".kernel":
		if err := need(1); err != nil {
			return err
		}
		m.name = f[1]
	case ".workgroups":
		return number(&m.groups[0], 1, maxTextWaves)
	case ".waves":
		return number(&m.perWG, 1, 16)
	case ".lds":
		p.ldsSaid = true
		return number(&m.lds, 0, 1<<20)
	case ".vgprs":
		return number(&m.vgprs, 1, 256)
	case ".agprs":
		return number(&m.agprs, 0, 256)
	case ".sgprs":
		return number(&m.sgprs, 0, 102)
	case ".region":
		return p.region(f, arg, need)
	case ".wave":
		if err := need(1); err != nil {
			return err
		}
		r, err := parseRanges(".wave", f[1])
		if err != nil {
			return p.at(arg(1), "%w", err)
		}
		p.sections = append(p.sections, textSection{r, len(m.insts), p.line})
	default:
		return p.at(col, "unknown directive %s: there are .cpu, .kernel, .workgroups, .waves, .lds, .vgprs, .agprs, .sgprs, .region and .wave", f[0])
	}
	return nil
}

func (p *textParser) region(f []string, arg func(int) int, need func(int) error) error {
	if err := need(2); err != nil {
		return err
	}
	if _, twice := p.regions[f[1]]; twice || f[1] == "lane" || f[1] == "wave" || f[1] == "wg" || f[1] == "iter" {
		return p.at(arg(1), "region %s has a name that is taken", f[1])
	}
	size, err := strconv.ParseUint(f[2], 0, 64)
	if err != nil || size == 0 || size > maxBufferBytes {
		return p.at(arg(2), "a region of %q bytes; write a number up to %d", f[2], int64(maxBufferBytes))
	}
	p.regions[f[1]] = p.m.memory.Alloc(f[1], size)
	return nil
}

// instruction reads an instruction and what follows it behind an @.
func (p *textParser) instruction(text string, col int) error {
	if !p.cpu {
		return p.at(col, "the processor is not known: begin with .cpu gfx950 or .cpu gfx942, or give --cpu")
	}
	if len(p.m.insts) == 1<<20 {
		return p.at(col, "there are more than %d instructions; write loops with a label and @ taken N", 1<<20)
	}
	body, note, noted := strings.Cut(text, "@")
	l := textLine{line: p.line, col: col}
	source := strings.TrimSpace(body)
	name, rest, _ := strings.Cut(source, " ")
	if operand := strings.TrimSpace(rest); isBranch(name) && operand != "" {
		if _, err := strconv.ParseInt(operand, 0, 64); err != nil {
			l.label, l.labelCol = operand, col+strings.Index(body, operand)
			source = name + " 0"
		}
	}
	in, err := isa.Parse(p.m.cpu, source)
	if err != nil {
		return p.badInstruction(err, body, name, col)
	}
	in.Target = -1
	code, err := isa.Encode(p.m.cpu, &in)
	if err != nil {
		return p.badInstruction(err, body, name, col)
	}
	in.Size = uint8(len(code))
	if n := len(p.m.insts); n > 0 {
		in.PC = p.m.insts[n-1].PC + uint32(p.m.insts[n-1].Size)
	}
	c := isa.Classify(p.m.cpu, &in)
	if c.Unit == isa.UnitUnknown {
		return p.at(col, "%s has no timing class on %s", name, p.m.cpu)
	}
	if noted {
		noteCol := col + len(body) + 1
		if err := p.annotation(&l, note, noteCol, &in, &c); err != nil {
			return err
		}
	}
	p.m.insts = append(p.m.insts, in)
	p.lines = append(p.lines, l)
	return nil
}

func isBranch(name string) bool { return name == "s_branch" || strings.HasPrefix(name, "s_cbranch_") }

// badInstruction places a fault: at the mnemonic when it is unknown, else at the
// word that the fault quotes, else at the operands.
func (p *textParser) badInstruction(err error, body, name string, col int) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	at := col
	if !strings.Contains(err.Error(), "mnemonic") && len(body) > len(name) {
		operands := body[len(name):]
		at = col + len(name) + len(operands) - len(strings.TrimLeft(operands, " \t"))
		if _, q, ok := strings.Cut(err.Error(), `"`); ok {
			if word, _, ok := strings.Cut(q, `"`); ok && word != "" && strings.Contains(operands, word) {
				at = col + len(name) + strings.Index(operands, word)
			}
		}
	}
	return p.at(at, "%w", err)
}

// resolve settles labels and branch offsets, and the sections.
func (p *textParser) resolve() error {
	m := p.m
	if len(p.sections) == 0 || p.sections[0].start > 0 {
		p.sections = append([]textSection{{nil, 0, 1}}, p.sections...)
	}
	// A section runs into an s_endpgm of its own or into the one at the end.
	if m.insts[len(m.insts)-1].Op != isa.S_ENDPGM {
		m.endpgm()
		p.lines = append(p.lines, textLine{line: p.line, col: 1})
	}
	for i := range m.insts {
		l, in := &p.lines[i], &m.insts[i]
		p.line = l.line
		if isa.Classify(m.cpu, in).Unit != isa.UnitBranch {
			continue
		}
		if l.label == "" {
			return p.at(l.col, "%s needs a label", in.Op)
		}
		t, ok := p.labels[l.label]
		if !ok || t >= len(m.insts) {
			return p.at(l.labelCol, "there is no label %s before an instruction", l.label)
		}
		if in.Op != isa.S_BRANCH && !l.hasTaken {
			return p.at(l.col, "say how often %s is taken before it falls through: @ taken N", in.Op)
		}
		d := (int64(m.insts[t].PC) - int64(in.PC) - 4) / 4
		if d < math.MinInt16 || d > math.MaxInt16 {
			return p.at(l.labelCol, "label %s is %d bytes away, which a branch cannot reach", l.label, 4*d)
		}
		in.Target, in.Offset = int32(t), int32(d)
	}
	return nil
}

// section finds the instructions of a wave: the last section that names it, or
// one for all.
func (p *textParser) section(wave int) (textSection, bool) {
	for i := len(p.sections) - 1; i >= 0; i-- {
		if s := p.sections[i]; s.waves.has(wave) {
			return s, true
		}
	}
	return textSection{}, false
}

// run makes the waves.
func (p *textParser) run() error {
	m := p.m
	classes := make([]isa.Class, len(m.insts))
	for i := range m.insts {
		classes[i] = isa.Classify(m.cpu, &m.insts[i])
	}
	if n := m.groups[0] * m.perWG; n > maxTextWaves {
		return fmt.Errorf("%s: %d waves; %d are the most", p.name, n, maxTextWaves)
	}
	defaults := map[int]bool{}
	for wg := range m.groups[0] {
		for v := range m.perWG {
			s, ok := p.section(v)
			if !ok {
				return fmt.Errorf("%s: no .wave section has wave %d", p.name, v)
			}
			w, err := p.wave(wg, v, s, classes, defaults)
			if err != nil {
				return err
			}
			m.waves = append(m.waves, w)
		}
	}
	m.lds = max(m.lds, p.reach)
	m.noteDefaults(defaults)
	return nil
}

// wave follows the instructions of one wave to its end.
func (p *textParser) wave(wg, v int, s textSection, classes []isa.Class, defaults map[int]bool) (*trace.Wave, error) {
	m := p.m
	b := trace.NewBuilder(wg, v, ^uint64(0))
	turns := make([]uint64, len(m.insts))
	taken := make([]uint64, len(m.insts))
	for i := s.start; ; {
		if p.steps++; p.steps > maxTextTotal {
			p.line = p.lines[i].line
			return nil, p.at(p.lines[i].col, "the waves up to wave %d of workgroup %d run more than %d instructions", v, wg, maxTextTotal)
		}
		if b.Len() == maxTextSteps {
			p.line = p.lines[i].line
			return nil, p.at(p.lines[i].col, "wave %d of workgroup %d runs more than %d instructions", v, wg, maxTextSteps)
		}
		b.Step(i)
		in, l := &m.insts[i], &p.lines[i]
		if accessesMemory(&classes[i]) {
			if l.access == nil {
				defaults[i] = true
				b.Access(m.defaultAccess(i, &classes[i], wg, v, turns[i]))
			} else {
				pat, base := m.access(l.access, &classes[i], wg, v, turns[i])
				if classes[i].Unit == isa.UnitLDS {
					if err := p.reachLDS(i, pat, base); err != nil {
						return nil, err
					}
				}
				b.Access(pat, base)
			}
			turns[i]++
		}
		next := i + 1
		switch {
		case in.Op == isa.S_ENDPGM:
			return b.Wave(), nil
		case in.Op == isa.S_BRANCH && !l.hasTaken:
			next = int(in.Target)
		case classes[i].Unit == isa.UnitBranch && taken[i] < l.taken:
			taken[i]++
			next = int(in.Target)
		default:
			taken[i] = 0
		}
		i = next
	}
}
