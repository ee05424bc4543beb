package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/trace"
)

// importing is a trace that is made of something else than a run.
type importing struct {
	origin  string
	name    string
	cpu     isa.CPU
	insts   []isa.Inst
	waves   []*trace.Wave
	groups  [3]int
	perWG   int // waves of a workgroup
	lds     int
	vgprs   int // at least; what the instructions name counts too
	agprs   int
	sgprs   int
	memory  *isa.Memory
	notes   []string
	extra   any
	strides map[stride]*trace.Pattern
}

// stride is a pattern of all lanes, or of those of lanes, a step apart.
type stride struct {
	lanes uint64
	bytes uint8
	step  int64
	two   int64 // distance of second addresses; 0: none
}

func newImport(origin string, cpu isa.CPU) *importing {
	return &importing{origin: origin, cpu: cpu, groups: [3]int{1, 1, 1}, perWG: 1, memory: isa.NewMemory(), strides: map[stride]*trace.Pattern{}}
}

// pattern returns the shared pattern of a stride.
func (m *importing) pattern(s stride) *trace.Pattern {
	if p := m.strides[s]; p != nil {
		return p
	}
	p := &trace.Pattern{Lanes: s.lanes, Bytes: s.bytes}
	if s.two != 0 {
		p.Offset2 = new([trace.Lanes]int64)
	}
	first := p.First()
	for lane := range trace.Lanes {
		if s.lanes>>lane&1 == 0 {
			continue
		}
		p.Offset[lane] = s.step * int64(lane-first)
		if s.two != 0 {
			p.Offset2[lane] = p.Offset[lane] + s.two
		}
	}
	m.strides[s] = p
	return p
}

// accessesMemory reports whether the model asks for addresses of an instruction.
func accessesMemory(c *isa.Class) bool {
	return c.Unit == isa.UnitVMEM || c.Unit == isa.UnitLDS || c.Unit == isa.UnitSMEM
}

// defaultRegion is how far the default addresses of two instructions lie apart.
const defaultRegion = 1 << 28

// defaultBase is where the default addresses of vector memory begin, past what an
// import allocates.
const defaultBase = 1 << 44

// defaultAccess is the locality of an instruction whose addresses are not known:
// an LDS access without conflicts; a scalar load of one line that all waves
// share; vector memory that streams, lane after lane, wave after wave, with new
// lines each time.
func (m *importing) defaultAccess(inst int, c *isa.Class, wg, wave int, turn uint64) (*trace.Pattern, uint64) {
	bytes := uint8(min(max(c.Bytes, 1), 64))
	switch c.Unit {
	case isa.UnitSMEM:
		return m.pattern(stride{lanes: 1, bytes: bytes}), defaultBase + uint64(inst)*64
	case isa.UnitLDS:
		s := stride{lanes: ^uint64(0), bytes: bytes, step: int64(bytes)}
		if c.TwoAddr {
			s.two = int64(bytes) * trace.Lanes
		}
		return m.pattern(s), 0
	}
	row := uint64(bytes) * trace.Lanes
	all := uint64(m.groups[0]*m.groups[1]*m.groups[2]) * uint64(m.perWG)
	n := turn*all + uint64(wg*m.perWG+wave)
	return m.pattern(stride{lanes: ^uint64(0), bytes: bytes, step: int64(bytes)}), defaultBase + uint64(inst+1)*defaultRegion + n*row%defaultRegion
}

// noteDefaults says which instructions are timed with the default locality.
func (m *importing) noteDefaults(used map[int]bool) {
	if len(used) == 0 {
		return
	}
	var at []int
	for i := range used {
		at = append(at, i)
	}
	slices.Sort(at)
	var list []string
	for n, i := range at {
		if n == 6 {
			list = append(list, fmt.Sprintf("and %d more", len(at)-n))
			break
		}
		list = append(list, fmt.Sprintf("%s at pc %#x", m.insts[i].Op, m.insts[i].PC))
	}
	are := "memory instructions have no addresses and are"
	if len(at) == 1 {
		are = "memory instruction has no addresses and is"
	}
	m.notes = append(m.notes, fmt.Sprintf("%d %s timed with a default locality (LDS without conflicts, one shared line for scalar loads, new consecutive lines for each vector access): %s",
		len(at), are, strings.Join(list, ", ")))
}

// registers counts what the instructions name.
func (m *importing) registers() {
	for i := range m.insts {
		in := &m.insts[i]
		for _, o := range [...]isa.Operand{in.Dst, in.SDst, in.Src[0], in.Src[1], in.Src[2], in.Src[3], in.Scale[0], in.Scale[1]} {
			if !o.Present() {
				continue
			}
			end := o.Reg.Index() + int(o.N)
			switch {
			case o.Reg.IsAGPR():
				m.agprs = max(m.agprs, end)
			case o.Reg.IsVGPR():
				m.vgprs = max(m.vgprs, end)
			case o.Reg.IsSGPR() && o.Reg < isa.FlatScratchLo:
				m.sgprs = max(m.sgprs, end)
			}
		}
	}
	m.sgprs = min(m.sgprs+6, 102) // VCC, FLAT_SCRATCH and XNACK_MASK
}

// endpgm adds an s_endpgm behind the program and returns its index.
func (m *importing) endpgm() int {
	pc := uint32(0)
	if n := len(m.insts); n > 0 {
		pc = m.insts[n-1].PC + uint32(m.insts[n-1].Size)
	}
	m.insts = append(m.insts, isa.Inst{Op: isa.S_ENDPGM, Enc: isa.SOPP, Size: 4, PC: pc, Target: -1})
	return len(m.insts) - 1
}

// write writes the trace for a machine.
func (m *importing) write(out, arch, machine string, set []string) error {
	if arch == "" {
		arch = suiteMachines[m.cpu.String()]
	}
	r, err := LoadMachine(arch, machine, set)
	if err != nil {
		return err
	}
	if r.Machine().CPU != m.cpu.String() {
		return usagef("the instructions are for %s, and machine %s runs %s", m.cpu, r.Machine().Name, r.Machine().CPU)
	}
	m.registers()
	k := &isa.Kernel{Name: m.name, CPU: m.cpu, Insts: m.insts}
	p, err := programOf(k)
	if err != nil {
		return &UsageError{err}
	}
	l := &trace.Launch{Kernel: m.name, CPU: m.cpu.String(), Origin: m.origin, Writer: "whisker " + Version,
		Workgroups: m.groups, Workgroup: [3]int{64 * m.perWG, 1, 1}, VGPRs: max(m.vgprs, 1), AGPRs: m.agprs, SGPRs: max(m.sgprs, 16), LDS: m.lds,
		Machine: trace.Machine{Name: r.Machine().Name, Hash: r.Hash(), YAML: r.YAML()}, Warm: []trace.Range{}, Regions: []trace.Region{}, Notes: m.notes}
	for _, g := range m.memory.Regions() {
		l.Regions = append(l.Regions, trace.Region{Name: g.Name, Base: g.Base, Bytes: g.Size})
		l.Warm = append(l.Warm, trace.Range{Base: g.Base, Bytes: g.Size})
	}
	if m.extra != nil {
		if l.Extra, err = json.Marshal(m.extra); err != nil {
			return err
		}
	}
	return writeTrace(out, func(w *trace.Writer) error {
		if err := w.Begin(l, p); err != nil {
			return err
		}
		for _, v := range m.waves {
			if err := w.Wave(v); err != nil {
				return err
			}
		}
		return w.End(0)
	})
}

// summary says what was imported.
func (m *importing) summary(w io.Writer, out, format string) error {
	n := uint64(0)
	groups := map[int]bool{}
	for _, v := range m.waves {
		n += v.Instructions
		groups[v.Workgroup] = true
	}
	res := struct {
		File         string   `json:"file"`
		Kernel       string   `json:"kernel"`
		CPU          string   `json:"cpu"`
		Program      int      `json:"program_instructions"`
		Workgroups   int      `json:"workgroups"`
		Waves        int      `json:"waves"`
		Instructions uint64   `json:"instructions"`
		Notes        []string `json:"notes"`
	}{out, m.name, m.cpu.String(), len(m.insts), len(groups), len(m.waves), n, append([]string{}, m.notes...)}
	tab := report.Table{Header: []string{"what", "value"}, Left: []int{1}}
	tab.Add("trace", out)
	tab.Add("kernel", fmt.Sprintf("%s for %s, %d instructions", m.name, m.cpu, len(m.insts)))
	tab.Add("waves", fmt.Sprintf("%d in %d workgroups, %s instructions", len(m.waves), len(groups), report.Thousands(int64(n))))
	for _, s := range m.notes {
		tab.Add("note", s)
	}
	return writeRows(w, format, &tab, res)
}
