package sim

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/att"
	"github.com/whisker-sim/whisker/trace"
)

// ATTOptions are what an import of a thread trace takes beside its folder.
type ATTOptions struct {
	ImportOptions
	Launch string // launch file that gives the addresses; empty: a default locality
	Waves  int    // of a workgroup; 0: waves that run at the same time are one
}

// attExtra is what a trace of hardware carries for compare.
type attExtra struct {
	Waves []attWave `json:"att_waves"`
}

// attWave is where a wave ran and how it spent its time.
type attWave struct {
	Workgroup int    `json:"workgroup"`
	Wave      int    `json:"wave"`
	File      string `json:"file"`
	SE        int    `json:"se"`
	CU        int    `json:"cu"`
	SIMD      int    `json:"simd"`
	Slot      int    `json:"slot"`
	Begin     int64  `json:"begin"`
	End       int64  `json:"end"`
	Idle      int64  `json:"idle"`
	Exec      int64  `json:"exec"`
	Wait      int64  `json:"wait"`
	Stall     int64  `json:"stall"`
}

// ImportATT makes a trace of a thread trace that rocprofv3 took of hardware. The
// measured issue times stay beside the instructions.
func ImportATT(w io.Writer, dir string, o ATTOptions) error {
	if err := CheckFormat(o.Format, report.Formats); err != nil {
		return err
	}
	if err := keepInputs(o.Out, o.Launch, o.Machine); err != nil {
		return err
	}
	f, err := att.Read(dir)
	if err != nil {
		return &UsageError{err}
	}
	a, err := newATT(f, &o)
	if err != nil {
		return &UsageError{err}
	}
	if o.Launch != "" {
		if err := a.fromLaunch(&o); err != nil {
			return err
		}
	}
	if err := a.waves(o.Waves); err != nil {
		return &UsageError{err}
	}
	if err := a.m.write(o.Out, o.Arch, o.Machine, o.Set); err != nil {
		return err
	}
	return a.m.summary(w, o.Out, o.Format)
}

// attImport turns a thread trace into waves.
type attImport struct {
	f       *att.Folder
	m       *importing
	inst    []int // by row of code.json: instruction, -1 for none
	classes []isa.Class
	end     int // an s_endpgm for waves that were cut off, -1 until there is one
	gaps    int
	taken   *openedTrace // recorded run that gives addresses
}

// newATT decodes the code.
func newATT(f *att.Folder, o *ATTOptions) (*attImport, error) {
	cpu := f.GFX
	if o.CPU != "" {
		cpu = o.CPU
	}
	if cpu == "" && (o.Arch != "" || o.Machine != "") {
		r, err := LoadMachine(o.Arch, o.Machine, nil)
		if err != nil {
			return nil, err
		}
		cpu = r.Machine().CPU
	}
	if cpu == "" {
		return nil, fmt.Errorf("%s does not say the processor; give --cpu gfx942 or --cpu gfx950", f.Dir)
	}
	c, err := cpuOf(cpu)
	if err != nil {
		return nil, fmt.Errorf("%s is of %s; gfx942 and gfx950 are simulated", f.Dir, cpu)
	}
	a := &attImport{f: f, m: newImport("att", c), end: -1}
	a.m.name = "att"
	a.m.notes = append(a.m.notes, f.Notes...)
	return a, a.code()
}

// code decodes the rows that are instructions, in order of address, and resolves
// branches.
func (a *attImport) code() error {
	rows := []int{}
	for i := range a.f.Code {
		// Labels and comments have address 0, and so may the first instruction.
		r := &a.f.Code[i]
		s := strings.TrimSpace(r.ISA)
		if (r.Address != 0 || len(rows) == 0) && s != "" && !strings.HasSuffix(s, ":") && !strings.HasPrefix(s, ";") {
			rows = append(rows, i)
		} else if strings.HasPrefix(s, ";") && a.m.name == "att" {
			if name := strings.Fields(strings.TrimLeft(s, "; ")); len(name) > 0 {
				a.m.name = name[len(name)-1]
			}
		}
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s: code.json has no line with an address", a.f.Dir)
	}
	slices.SortStableFunc(rows, func(x, y int) int {
		if a.f.Code[x].Address < a.f.Code[y].Address {
			return -1
		}
		return 1
	})
	a.inst = make([]int, len(a.f.Code))
	for i := range a.inst {
		a.inst[i] = -1
	}
	first := a.f.Code[rows[0]].Address
	at := map[int64]int{}
	for _, row := range rows {
		r := &a.f.Code[row]
		in, err := a.parse(r.ISA)
		if err != nil {
			return fmt.Errorf("%s: code.json, line %d: %w", a.f.Dir, r.Line, err)
		}
		if r.Address-first > 1<<30 {
			return fmt.Errorf("%s: code.json, line %d: address %#x lies far from the first, %#x: traces of several code objects are not taken", a.f.Dir, r.Line, r.Address, first)
		}
		in.PC = uint32(r.Address - first)
		a.inst[row] = len(a.m.insts)
		at[r.Address] = len(a.m.insts)
		a.m.insts = append(a.m.insts, in)
	}
	for i := range a.m.insts {
		in := &a.m.insts[i]
		c := isa.Classify(a.m.cpu, in)
		if c.Unit == isa.UnitUnknown {
			return fmt.Errorf("%s: code.json: %s has no timing class on %s", a.f.Dir, in.Op, a.m.cpu)
		}
		if c.Unit == isa.UnitBranch {
			if t, ok := at[first+int64(in.PC)+4+int64(int16(in.Offset))*4]; ok {
				in.Target = int32(t)
			}
		}
		a.classes = append(a.classes, c)
	}
	return nil
}

// parse reads an instruction as the profiler prints it, and gives it its length.
func (a *attImport) parse(text string) (isa.Inst, error) {
	text, _, _ = strings.Cut(text, "//")
	text, _, _ = strings.Cut(text, ";")
	in, err := isa.Parse(a.m.cpu, strings.TrimSpace(text))
	if err != nil {
		return in, err
	}
	in.Target = -1
	code, err := isa.Encode(a.m.cpu, &in)
	in.Size = uint8(len(code))
	return in, err
}

// typeFits reports whether the profiler's type of an instruction is that of the
// code line.
func typeFits(t int64, u isa.Unit) bool {
	switch t {
	case att.TypeSMEM:
		return u == isa.UnitSMEM
	case att.TypeSALU:
		return u == isa.UnitSALU || u == isa.UnitBranch // s_setpc and the like
	case att.TypeVMEM, att.TypeFLAT:
		return u == isa.UnitVMEM
	case att.TypeLDS:
		return u == isa.UnitLDS
	case att.TypeVALU:
		return u == isa.UnitVALU || u == isa.UnitMFMA
	case att.TypeJump, att.TypeNext:
		return u == isa.UnitBranch
	case att.TypeImmediate:
		return u == isa.UnitInternal
	}
	return true
}

// waves makes the waves, grouped into workgroups: perWG at a time on a CU in
// order of begin, or those that run at the same time.
func (a *attImport) waves(perWG int) error {
	defer func() {
		if a.taken != nil {
			a.taken.Close()
		}
	}()
	groups := groupWaves(a.f.Waves, perWG)
	extra := &attExtra{}
	a.m.groups[0] = len(groups)
	for _, g := range groups {
		a.m.perWG = max(a.m.perWG, len(g))
	}
	if a.m.perWG > 16 {
		return fmt.Errorf("%s: %d waves run at the same time on a CU, and a workgroup has 16 at most: give --waves", a.f.Dir, a.m.perWG)
	}
	defaults := map[int]bool{}
	for wg, g := range groups {
		for v, w := range g {
			if len(w.Insts) == 0 {
				a.m.notes = append(a.m.notes, fmt.Sprintf("%s has no instruction and is left out", w.File))
				continue
			}
			t, err := a.wave(wg, v, w, defaults)
			if err != nil {
				return err
			}
			a.m.waves = append(a.m.waves, t)
			s := w.Total()
			extra.Waves = append(extra.Waves, attWave{wg, v, w.File, w.SE, w.CU, w.SIMD, w.Slot, w.Begin, w.End,
				s[att.StateIdle], s[att.StateExec], s[att.StateWait], s[att.StateStall]})
		}
	}
	if len(a.m.waves) == 0 {
		return fmt.Errorf("%s: no wave has an instruction", a.f.Dir)
	}
	if perWG == 0 {
		a.m.notes = append(a.m.notes, fmt.Sprintf("the waves of a CU that run at the same time are taken for a workgroup (%d workgroups, up to %d waves); --waves N says otherwise", len(groups), a.m.perWG))
	}
	if a.gaps > 0 {
		a.m.notes = append(a.m.notes, fmt.Sprintf("instructions are missing in %d places, where the thread trace goes on elsewhere without a branch: the replay goes on there at once", a.gaps))
	}
	a.m.extra = extra
	a.m.noteDefaults(defaults)
	return nil
}

// groupWaves splits waves in order of shader engine, CU and begin.
func groupWaves(waves []att.Wave, perWG int) [][]*att.Wave {
	slices.SortStableFunc(waves, func(a, b att.Wave) int {
		return cmp.Or(cmp.Compare(a.SE, b.SE), cmp.Compare(a.CU, b.CU), cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.SIMD, b.SIMD), cmp.Compare(a.Slot, b.Slot))
	})
	var out [][]*att.Wave
	var end int64
	for i := range waves {
		w := &waves[i]
		n := len(out)
		fresh := n == 0
		if !fresh {
			first := out[n-1][0]
			fresh = first.SE != w.SE || first.CU != w.CU
			if perWG > 0 {
				fresh = fresh || len(out[n-1]) == perWG
			} else {
				fresh = fresh || w.Begin >= end
			}
		}
		if fresh {
			out = append(out, nil)
			n++
			end = w.End
		}
		out[n-1] = append(out[n-1], w)
		end = min(end, w.End)
	}
	return out
}

// wave makes one wave.
func (a *attImport) wave(wg, v int, w *att.Wave, defaults map[int]bool) (*trace.Wave, error) {
	b := trace.NewBuilder(wg, v, ^uint64(0))
	turns := map[int]uint64{}
	known, err := a.addresses(wg, v)
	if err != nil {
		return nil, err
	}
	last := -1
	for n, s := range w.Insts {
		row, _ := a.f.Find(s.Line)
		i := a.inst[row]
		if i < 0 {
			return nil, fmt.Errorf("%s: instructions[%d] is line %d of code.json, which is no instruction", filepath.Join(a.f.Dir, w.File), n, s.Line)
		}
		if !typeFits(s.Type, a.classes[i].Unit) {
			return nil, fmt.Errorf("%s: instructions[%d] has type %d, but line %d of code.json is %q", filepath.Join(a.f.Dir, w.File), n, s.Type, s.Line, a.f.Code[row].ISA)
		}
		if last >= 0 && i != last+1 && !a.jumps(last, i) {
			a.gaps++
		}
		b.Step(i)
		b.Issue(trace.Issue{Cycle: s.Time, Stall: s.Stall, Duration: s.Duration})
		if accessesMemory(&a.classes[i]) {
			if p, base, ok := known.next(i); ok {
				b.Access(p, base)
			} else {
				defaults[i] = true
				b.Access(a.m.defaultAccess(i, &a.classes[i], wg, v, turns[i]))
			}
			turns[i]++
		}
		last = i
	}
	if a.m.insts[last].Op != isa.S_ENDPGM {
		if a.end < 0 {
			a.end = a.m.endpgm()
			a.classes = append(a.classes, isa.Classify(a.m.cpu, &a.m.insts[a.end]))
			a.m.notes = append(a.m.notes, "waves that the thread trace does not follow to their end get an s_endpgm behind the last instruction")
		}
		b.Step(a.end)
		at := w.Insts[len(w.Insts)-1]
		b.Issue(trace.Issue{Cycle: at.Time + at.Duration})
	}
	return b.Wave(), nil
}

// jumps reports whether an instruction can go on at another: a branch to there,
// or one to an address that it computes.
func (a *attImport) jumps(from, to int) bool {
	if isBranch(a.m.insts[from].Op.String()) {
		return int(a.m.insts[from].Target) == to
	}
	return a.classes[from].Unit == isa.UnitBranch
}

// knownAccesses are a recorded wave's accesses by instruction of the import, each
// as far as it has been taken.
type knownAccesses map[int]*knownColumn

type knownColumn struct {
	runs []trace.AccessRun
	done uint64
}

func (k knownAccesses) next(inst int) (*trace.Pattern, uint64, bool) {
	c := k[inst]
	if c == nil || len(c.runs) == 0 {
		return nil, 0, false
	}
	r := c.runs[0]
	base := r.Base + c.done*r.Step
	if c.done++; c.done == r.Count {
		c.runs, c.done = c.runs[1:], 0
	}
	return r.Pattern, base, true
}

// addresses are those of the recorded run's wave of the same number.
func (a *attImport) addresses(wg, v int) (knownAccesses, error) {
	if a.taken == nil {
		return nil, nil
	}
	parts, err := a.taken.Wave(0, wg, v)
	if err != nil {
		return nil, err
	}
	pcs := map[uint32]int{}
	for i := range a.m.insts {
		pcs[a.m.insts[i].PC] = i
	}
	k := knownAccesses{}
	for _, p := range parts {
		for _, c := range p.Accesses {
			i, ok := pcs[a.taken.Program(0)[c.Inst].PC]
			if !ok {
				continue
			}
			if k[i] == nil {
				k[i] = &knownColumn{}
			}
			k[i].runs = append(k[i].runs, c.Runs...)
		}
	}
	return k, nil
}

// fromLaunch runs a launch file for its addresses.
func (a *attImport) fromLaunch(o *ATTOptions) error {
	dir, err := os.MkdirTemp("", "whisker-att-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	arch := o.Arch
	if arch == "" {
		arch = suiteMachines[a.m.cpu.String()]
	}
	path := filepath.Join(dir, "launch.trace")
	if _, err := RunLaunch(LaunchOptions{File: o.Launch, RunOptions: RunOptions{Arch: arch, Machine: o.Machine, Set: o.Set, Mode: "timing", Threads: 1, Trace: path}}); err != nil {
		return err
	}
	t, err := openTrace(path, false)
	if err != nil {
		return err
	}
	a.taken = t
	p := t.Program(0)
	for i := range a.m.insts {
		in := &a.m.insts[i]
		j := slices.IndexFunc(p, func(x trace.Inst) bool { return x.PC == in.PC })
		code, err := isa.Encode(a.m.cpu, in)
		if err != nil {
			return &UsageError{err}
		}
		if j < 0 || string(p[j].Code) != string(code) {
			t.Close()
			a.taken = nil
			return usagef("%s is of other code than kernel %s of %s: they differ at pc %#x (%s)", a.f.Dir, t.Launch(0).Kernel, o.Launch, in.PC, in.Text(a.m.cpu))
		}
	}
	l := t.Launch(0)
	a.m.name, a.m.lds = l.Kernel, l.LDS
	a.m.vgprs, a.m.agprs, a.m.sgprs = l.VGPRs, l.AGPRs, l.SGPRs
	for _, r := range l.Regions {
		a.m.memory.Alloc(r.Name, r.Bytes)
	}
	a.m.notes = append(a.m.notes, fmt.Sprintf("addresses are those of %s: which of its workgroups were traced is not in a thread trace, so that they are numbered from 0 in order of begin", o.Launch))
	return nil
}
