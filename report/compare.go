package report

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Comparison is two runs side by side: B against A.
type Comparison struct {
	A Side `json:"a" doc:"the run compared with"`
	B Side `json:"b" doc:"the run compared"`

	Cycles       Difference       `json:"cycles" doc:"the difference that the lists below take apart"`
	Figures      []Difference     `json:"figures" doc:"times, throughput and utilisations"`
	Reasons      []Attribution    `json:"reasons" doc:"cycles by what waves did: issued by class, stalled by reason; their differences sum to the difference in cycles"`
	Opcodes      []Attribution    `json:"opcodes,omitempty" doc:"cycles by opcode, issue and stalls before it; their differences sum to the difference in cycles"`
	Instructions []InstructionRow `json:"instructions,omitempty" doc:"cycles by instruction; their differences sum to the difference in cycles"`
	Levels       []Difference     `json:"levels" doc:"LDS and the levels of memory"`
	Notes        []string         `json:"notes,omitempty" doc:"what the reader must know before using the figures"`
}

// Side names one of the two runs.
type Side struct {
	Name        string  `json:"name"`
	Kernel      string  `json:"kernel"`
	KernelHash  string  `json:"kernel_hash"`
	Arch        string  `json:"arch"`
	MachineHash string  `json:"machine_hash"`
	Version     string  `json:"version"`
	Mode        string  `json:"mode"`
	Options     Options `json:"options"`
}

// Difference is a figure of both runs.
type Difference struct {
	Name     string  `json:"name"`
	Unit     string  `json:"unit,omitempty"`
	A        float64 `json:"a"`
	B        float64 `json:"b"`
	Change   float64 `json:"change" doc:"B - A"`
	Relative float64 `json:"relative" doc:"(B - A) / A, 0 when A is 0"`
}

// Attribution is one share of the difference in cycles. A run's cycles are
// divided over its wave-cycles evenly, so that a reason that held a tenth of the
// wave-cycles has a tenth of the cycles; fractions are rounded so that the
// shares sum to the cycles exactly.
type Attribution struct {
	Kind       string `json:"kind,omitempty"` // issued, stalled or end
	Name       string `json:"name"`
	A          int64  `json:"a" doc:"cycles of A"`
	B          int64  `json:"b" doc:"cycles of B"`
	Change     int64  `json:"change" doc:"B - A"`
	WaveA      int64  `json:"a_wave_cycles"`
	WaveB      int64  `json:"b_wave_cycles"`
	WaveChange int64  `json:"wave_cycles_change"`
}

// InstructionRow is an instruction of one or of both kernels. An instruction
// that only one kernel has has no PC in the other.
type InstructionRow struct {
	PCA  *uint32 `json:"a_pc,omitempty"`
	PCB  *uint32 `json:"b_pc,omitempty"`
	Text string  `json:"text"`
	Attribution
}

// Compare sets two runs side by side.
func Compare(nameA string, a *Run, nameB string, b *Run) (*Comparison, error) {
	if a.Cycles == 0 || b.Cycles == 0 || a.WaveCycles == 0 || b.WaveCycles == 0 {
		return nil, errors.New("only runs with cycles can be compared: use --mode timing or full")
	}
	c := &Comparison{A: side(nameA, a), B: side(nameB, b), Cycles: difference("cycles", "cycles", float64(a.Cycles), float64(b.Cycles))}
	c.figures(a, b)
	c.reasons(a, b)
	c.Levels = levels(a, b)
	if len(a.Instructions) > 0 && len(b.Instructions) > 0 {
		c.instructions(a, b)
	} else {
		c.Notes = append(c.Notes, "the cycles are not attributed to instructions: that takes runs with --per-instruction, or points of a study, of one kernel each")
	}
	if idle := func(r *Run) bool { return r.Launch.Workgroups < r.Machine.CUs }; a.Launch.Workgroups != b.Launch.Workgroups && (idle(a) || idle(b)) {
		c.Notes = append(c.Notes, fmt.Sprintf("A has %s on %s, B %s on %s: CUs without work have no share in the table of reasons",
			counted(a.Launch.Workgroups, "workgroup"), counted(a.Machine.CUs, "CU"), counted(b.Launch.Workgroups, "workgroup"), counted(b.Machine.CUs, "CU")))
	}
	if a.Sample != nil || b.Sample != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("A was simulated %s, B %s: cycles and rates are of the whole launches, counts of what was simulated", part(a), part(b)))
	}
	if a.Version != b.Version {
		c.Notes = append(c.Notes, "the runs are of different versions of Whisker, which may explain a difference")
	}
	if a.Mode != b.Mode {
		c.Notes = append(c.Notes, "the runs are of different modes")
	}
	return c, nil
}

func side(name string, r *Run) Side {
	return Side{name, r.Kernel, r.KernelHash, r.Arch, r.Machine.Hash, r.Version, r.Mode, r.Options}
}

func difference(name, unit string, a, b float64) Difference {
	return Difference{name, unit, a, b, b - a, Ratio(b-a, a)}
}

// compared are the figures of the whole run that a comparison shows.
var compared = []string{"kernel_time_us", "time_us", "clock_mhz", "tflops", "peak_share", "matrix_utilization", "loop_matrix_utilization", "valu_utilization",
	"issue_utilization", "wave_instructions", "wave_cycles", "occupancy.waves_per_simd", "occupancy.mean_waves_per_simd"}

// comparedLevels are the figures of LDS and memory.
var comparedLevels = []string{"lds.instructions", "lds.bank_conflicts", "lds.bank_utilization", "lds.latency.mean",
	"tcp.requests", "tcp.hit_rate", "tcp.latency.mean", "l2.requests", "l2.hit_rate", "l2.bytes", "l2.bandwidth_tbs", "l2.latency.mean",
	"fabric.bytes_read", "fabric.bytes_written", "llc.requests", "llc.hit_rate", "llc.bytes", "llc.bandwidth_tbs", "llc.latency.mean",
	"hbm.requests", "hbm.bytes", "hbm.bandwidth_tbs", "hbm.latency.mean"}

func (c *Comparison) figures(a, b *Run) { c.Figures = pick(a, b, compared) }

// part says how much of a launch a run simulated.
func part(r *Run) string {
	if r.Sample == nil {
		return "whole"
	}
	return fmt.Sprintf("in part (%s of %s)", Thousands(int64(r.Sample.Workgroups)), counted(r.Sample.OfWorkgroups, "workgroup"))
}

func levels(a, b *Run) []Difference { return pick(a, b, comparedLevels) }

func pick(a, b *Run, paths []string) []Difference {
	of := func(r *Run) map[string]Value {
		m := map[string]Value{}
		for _, v := range Values(r) {
			m[v.Path()] = v
		}
		return m
	}
	va, vb := of(a), of(b)
	var out []Difference
	for _, p := range paths {
		out = append(out, difference(p, va[p].Unit, va[p].Value, vb[p].Value))
	}
	return out
}

// reasons takes the difference apart by what waves did.
func (c *Comparison) reasons(a, b *Run) {
	for _, part := range []struct {
		kind string
		a, b Counts
		name []Name
	}{{"issued", a.Issued, b.Issued, IssueClasses}, {"stalled", a.Stalls, b.Stalls, StallReasons}} {
		for _, n := range part.name {
			c.Reasons = append(c.Reasons, Attribution{Kind: part.kind, Name: n.Name, WaveA: part.a.Get(n.Name), WaveB: part.b.Get(n.Name)})
		}
	}
	attribute(c.Reasons, a.Cycles-a.WriteBackCycles, b.Cycles-b.WriteBackCycles, func(x *Attribution) *Attribution { return x })
	if rest := writeBack(a, b); rest.A != 0 || rest.B != 0 {
		c.Reasons = append(c.Reasons, rest)
	}
}

// writeBack is what no wave is there for: the end, in which the L2s write back.
func writeBack(a, b *Run) Attribution {
	return Attribution{Kind: "end", Name: "L2 write-back", A: a.WriteBackCycles, B: b.WriteBackCycles, Change: b.WriteBackCycles - a.WriteBackCycles}
}

// attribute fills in the cycles of rows whose wave-cycles are known.
func attribute[T any](rows []T, cyclesA, cyclesB int64, of func(*T) *Attribution) {
	wa, wb := make([]int64, len(rows)), make([]int64, len(rows))
	for i := range rows {
		wa[i], wb[i] = of(&rows[i]).WaveA, of(&rows[i]).WaveB
	}
	ca, cb := apportion(cyclesA, wa), apportion(cyclesB, wb)
	for i := range rows {
		r := of(&rows[i])
		r.A, r.B = ca[i], cb[i]
		r.Change, r.WaveChange = r.B-r.A, r.WaveB-r.WaveA
	}
}

// apportion divides total over the weights so that the parts are whole numbers
// that sum to it: each part is rounded down, and what is left goes to the
// largest remainders, the earlier first.
func apportion(total int64, weights []int64) []int64 {
	var sum uint64
	for _, w := range weights {
		sum += uint64(w)
	}
	parts := make([]int64, len(weights))
	if sum == 0 {
		return parts
	}
	type rest struct {
		i int
		r uint64
	}
	rests := make([]rest, len(weights))
	left := total
	for i, w := range weights {
		hi, lo := bits.Mul64(uint64(total), uint64(w))
		q, r := bits.Div64(hi, lo, sum) // w <= sum, so that the quotient fits
		parts[i], rests[i] = int64(q), rest{i, r}
		left -= int64(q)
	}
	slices.SortStableFunc(rests, func(x, y rest) int { return cmp.Compare(y.r, x.r) })
	for i := range left {
		parts[rests[i].i]++
	}
	return parts
}

// instructions takes the difference apart by instruction and by opcode.
func (c *Comparison) instructions(a, b *Run) {
	text := func(rows []Instruction) []string {
		out := make([]string, len(rows))
		for i := range rows {
			out[i] = rows[i].Text
		}
		return out
	}
	for _, p := range alignText(text(a.Instructions), text(b.Instructions)) {
		row := InstructionRow{}
		if p.a >= 0 {
			x := &a.Instructions[p.a]
			row.PCA, row.Text, row.WaveA = &x.PC, x.Text, x.IssueCycles+x.StallCycles
		}
		if p.b >= 0 {
			x := &b.Instructions[p.b]
			row.PCB, row.Text, row.WaveB = &x.PC, x.Text, x.IssueCycles+x.StallCycles
		}
		c.Instructions = append(c.Instructions, row)
	}
	attribute(c.Instructions, a.Cycles-a.WriteBackCycles, b.Cycles-b.WriteBackCycles, func(r *InstructionRow) *Attribution { return &r.Attribution })
	if rest := writeBack(a, b); rest.A != 0 || rest.B != 0 {
		c.Instructions = append(c.Instructions, InstructionRow{Text: rest.Name, Attribution: rest})
	}
	for i := range c.Instructions {
		r := &c.Instructions[i]
		if r.Kind == "" {
			r.Name, _, _ = strings.Cut(r.Text, " ")
		}
		at := slices.IndexFunc(c.Opcodes, func(o Attribution) bool { return o.Name == r.Name })
		if at < 0 {
			at = len(c.Opcodes)
			c.Opcodes = append(c.Opcodes, Attribution{Name: r.Name})
		}
		o := &c.Opcodes[at]
		o.A, o.B, o.Change = o.A+r.A, o.B+r.B, o.Change+r.Change
		o.WaveA, o.WaveB, o.WaveChange = o.WaveA+r.WaveA, o.WaveB+r.WaveB, o.WaveChange+r.WaveChange
	}
}
