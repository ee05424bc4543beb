package lds

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
)

// Cost is the bank time and the conflicts of one access.
type Cost struct {
	ServiceCycles int  `json:"service_cycles"`
	Conflicts     int  `json:"conflicts"` // as SQ_LDS_BANK_CONFLICT counts
	Unaligned     bool `json:"unaligned"`
}

func cost(r Result) *Cost {
	return &Cost{ServiceCycles: r.Service, Conflicts: r.Conflicts, Unaligned: r.Unaligned}
}

// PhaseReport is one phase of the access.
type PhaseReport struct {
	Phase     int    `json:"phase"`
	Lanes     string `json:"lanes"` // as in "0-3,12-15"
	Cycles    int    `json:"cycles"`
	Conflicts int    `json:"conflicts"`
	// WorstBank is the first bank of the group that sets Cycles, and
	// WorstLanes the lanes that meet there, when the phase has a conflict.
	WorstBank  int   `json:"worst_bank"`
	WorstLanes []int `json:"worst_lanes,omitempty"`
}

// LaneReport is where one lane's data is.
type LaneReport struct {
	Lane      int    `json:"lane"`
	Phase     int    `json:"phase"`
	Address   uint32 `json:"address"`
	FirstBank int    `json:"first_bank"`
	LastBank  int    `json:"last_bank"`
}

// Report explains one access: which lanes go together, in which banks their
// data is, what collides, and what the layout's swizzle changes.
type Report struct {
	Op          string `json:"op"`
	Arch        string `json:"arch"`
	Kind        string `json:"kind"`
	Source      string `json:"source"`
	Banks       int    `json:"banks"`
	UnitBytes   int    `json:"unit_bytes"` // what the banks arbitrate as one
	PhaseSource string `json:"phase_source"`

	Layout   *Layout `json:"layout,omitempty"`
	Access   int     `json:"access"`   // of the register tile's accesses
	Accesses int     `json:"accesses"` // 1 without a layout
	Swizzle  bool    `json:"swizzle"`  // the figures below are of swizzled addresses

	Cost
	ConflictFreeCycles int           `json:"conflict_free_cycles"`
	Phases             []PhaseReport `json:"phases"`
	Lanes              []LaneReport  `json:"lanes"`

	WithoutSwizzle *Cost `json:"without_swizzle,omitempty"`
	WithSwizzle    *Cost `json:"with_swizzle,omitempty"`
}

func newReport(q Query, t *Table, k Kind) *Report {
	return &Report{
		Op: q.Op, Arch: t.arch, Kind: k.String(), Source: q.Source, Accesses: 1,
		Banks: t.Banks(k), UnitBytes: facts[k].unit, PhaseSource: t.Source(k),
		ConflictFreeCycles: t.plans[k].phases,
	}
}

func (r *Report) fill(t *Table, k Kind, addr *[Lanes]uint32) {
	res := t.Analyze(k, addr, ^uint64(0))
	r.Cost = *cost(res)
	r.Lanes = make([]LaneReport, Lanes)
	for i, mask := range t.Phases(k) {
		p := PhaseReport{Phase: i, Lanes: laneList(mask), Cycles: int(res.PerPhase[i])}
		p.Conflicts = max(0, p.Cycles-1)
		if p.Conflicts > 0 {
			p.WorstBank, p.WorstLanes = t.plans[k].worst(addr, mask)
		}
		r.Phases = append(r.Phases, p)
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			first := int(addr[l] / 4 % uint32(r.Banks))
			words := (int(addr[l]%4) + k.Bytes() + 3) / 4
			r.Lanes[l] = LaneReport{l, i, addr[l], first, (first + words - 1) % r.Banks}
		}
	}
}

// worst finds the bank group with the most distinct units in a phase and the
// lanes that want it.
func (p *plan) worst(addr *[Lanes]uint32, mask uint64) (bank int, lanes []int) {
	most := 0
	for g := uint32(0); g <= p.groupMask; g++ {
		var units []uint32
		var here []int
		for m := mask; m != 0; m &= m - 1 {
			l := bits.TrailingZeros64(m)
			u := addr[l] >> p.shift
			if u&p.groupMask != g {
				continue
			}
			here = append(here, l)
			if p.serial || !slices.Contains(units, u) {
				units = append(units, u)
			}
		}
		if len(units) > most {
			most, lanes, bank = len(units), here, int(g)<<p.shift/4
		}
	}
	return bank, lanes
}

// WriteText prints the report for a person.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s, addresses from %s\n", r.Op, r.Arch, r.Source)
	if l := r.Layout; l != nil {
		fmt.Fprintf(&b, "layout     %d x %d elements of %d bits, rows of %d bytes, subtiles of %d bytes\n",
			l.Rows, l.Cols, l.ElemBits, l.RowBytes, l.SubtileBytes)
		fmt.Fprintf(&b, "swizzle    %s%s\n", l.SwizzleText, map[bool]string{true: " (on)", false: ""}[r.Swizzle])
		fmt.Fprintf(&b, "access     %d of 0 to %d of a register tile\n", r.Access, r.Accesses-1)
	}
	fmt.Fprintf(&b, "banks      %d of 4 bytes; aligned units of %d bytes conflict\n", r.Banks, r.UnitBytes)
	fmt.Fprintf(&b, "phases     %d (%s)\n\n", len(r.Phases), r.PhaseSource)
	r.writePhases(&b)
	r.writeBanks(&b)
	fmt.Fprintf(&b, "\nthis access      %s; conflict-free: %d cycles\n", r.Cost, r.ConflictFreeCycles)
	if r.WithoutSwizzle != nil {
		fmt.Fprintf(&b, "without swizzle  %s\n", *r.WithoutSwizzle)
	}
	switch {
	case r.WithSwizzle != nil:
		fmt.Fprintf(&b, "with swizzle     %s\n", *r.WithSwizzle)
	case r.Layout != nil && r.Layout.Swizzled():
		fmt.Fprintf(&b, "with swizzle     the data of a lane is not contiguous: use a narrower access\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String prints a cost as in "4 cycles, no conflict".
func (c Cost) String() string {
	s := fmt.Sprintf("%d cycles, ", c.ServiceCycles)
	switch {
	case c.Unaligned:
		return s + "unaligned: split lane by lane"
	case c.Conflicts == 0:
		return s + "no conflict"
	case c.Conflicts == 1:
		return s + "1 conflict"
	}
	return s + fmt.Sprintf("%d conflicts", c.Conflicts)
}

func (r *Report) writePhases(b *strings.Builder) {
	width := len("lanes")
	for _, p := range r.Phases {
		width = max(width, len(p.Lanes))
	}
	fmt.Fprintf(b, "phase  %-*s  cycles  conflicts  where\n", width, "lanes")
	for _, p := range r.Phases {
		where := "-"
		if p.Conflicts > 0 {
			where = fmt.Sprintf("bank %d: lanes %s", p.WorstBank, strings.Trim(strings.ReplaceAll(fmt.Sprint(p.WorstLanes), " ", ","), "[]"))
		}
		cycles := fmt.Sprint(p.Cycles)
		if r.Unaligned {
			cycles = "split"
		}
		fmt.Fprintf(b, "%5d  %-*s  %6s  %9d  %s\n", p.Phase, width, p.Lanes, cycles, p.Conflicts, where)
	}
}

// writeBanks prints the first bank of each lane, sixteen lanes a line.
func (r *Report) writeBanks(b *strings.Builder) {
	fmt.Fprintf(b, "\nfirst bank of each lane\n")
	for i, l := range r.Lanes {
		if i%16 == 0 {
			fmt.Fprintf(b, "lanes %2d-%2d ", i, i+15)
		}
		fmt.Fprintf(b, " %2d", l.FirstBank)
		if i%16 == 15 {
			b.WriteByte('\n')
		}
	}
}
