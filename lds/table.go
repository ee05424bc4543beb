package lds

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

//go:embed phases.csv
var phasesCSV string

// maxPhases is the most phases that any access kind has.
const maxPhases = 8

// DefaultUnalignedServiceCycles is what a full wave costs when its addresses
// are not naturally aligned: one lane per cycle (64 cycles for one wave and 256
// for four, ROCm gfx950-gluon-tutorials, experiments/lds_throughput_validation,
// row "pad 1024:+4").
const DefaultUnalignedServiceCycles = 64

// plan is one access kind of one architecture, laid out for Analyze.
type plan struct {
	phases int               // 0: the architecture has no such access
	lanes  [maxPhases]uint64 // lane mask of each phase
	order  [Lanes]uint8      // lanes, phase after phase, ascending in each
	end    [maxPhases]uint8  // index in order after the phase's last lane

	banks     int
	shift     uint8  // log2 of the unit
	groupMask uint32 // unit number to bank group
	alignMask uint32 // address bits that must be zero
	serial    bool   // equal addresses do not merge
	crossbar  bool   // no banks at all
	source    string
}

// Table holds the phases and banks of every access kind of one architecture.
// It is read-only after NewTable and may be shared.
type Table struct {
	arch  string
	plans [NumKinds]plan

	// UnalignedServiceCycles is the bank time of a 64-lane access with an
	// address below its natural alignment. With fewer active lanes the time is
	// in proportion, one part per lane.
	UnalignedServiceCycles int
}

// derivation says where the phases of a kind come from when no one measured
// them: those of another row of the table.
type derivation struct {
	kind     Kind
	fromArch string // empty: the same architecture
	from     string // op in phases.csv
	why      string
}

// derivations complete phases.csv, for both architectures unless arch is set.
// They are applied in order to kinds that have no row of their own.
var derivations = []derivation{
	{ReadB8, "", "ds_read_b32", "a narrow read takes the dword that holds it"},
	{ReadB16, "", "ds_read_b32", "a narrow read takes the dword that holds it"},
	{ReadB96, "", "ds_read_b128", "gfx950's measured ds_read_b96 has the lane sets of gfx942's ds_read_b128 on 32 banks"},
	{WriteB64, "", "ds_read_b64", "4 LDS cycles per b64 operation (rocprof-compute, HipKittens MI325X GEMM); equals gfx950's measured ds_write_b64"},
	{WriteB32, "gfx942", "ds_read_b32", "32 banks and 128 B/clk for writes on both: two phases of 32 lanes"},
	{WriteB8, "gfx942", "ds_read_b32", "a narrow write is a masked dword write"},
	{WriteB16, "gfx942", "ds_read_b32", "a narrow write is a masked dword write"},
	{WriteB96, "", "ds_write_b128", "a 16-byte unit with a quarter idle, as ds_read_b96"},
	{AtomicB32, "gfx942", "ds_read_b32", "a read-modify-write holds its bank as a write does: 32 banks"},
	{AtomicB64, "gfx942", "ds_read_b64", "a read-modify-write holds its bank as a write does: 32 banks"},
	{Permute, "", "ds_read_b32", "64 dwords through the read crossbar; no bank is addressed, so nothing conflicts"},
}

// gfx950Only are the kinds whose instructions gfx942 does not have.
var gfx950Only = []derivation{
	{ReadB96Tr, "", "ds_read_b96", "a transposing read moves its data as the plain one (gfx950-gluon-tutorials lds_throughput.md 4.2)"},
}

// csvKinds maps the operations of phases.csv to kinds.
var csvKinds = map[string]Kind{
	"ds_read_b32": ReadB32, "ds_read_b64": ReadB64, "ds_read_b96": ReadB96, "ds_read_b128": ReadB128,
	"ds_read_b64_tr_b16": ReadB64Tr, "ds_write_b64": WriteB64, "ds_write_b128": WriteB128,
}

// Arch returns the architecture (gfx942 or gfx950) of a product name, or of an
// architecture name.
func Arch(name string) (string, error) {
	switch strings.ToLower(name) {
	case "gfx942", "mi300x", "mi300a", "mi325x":
		return "gfx942", nil
	case "gfx950", "mi350x", "mi355x":
		return "gfx950", nil
	}
	return "", fmt.Errorf("no LDS phase table for %q: known are gfx942 (mi300x, mi300a, mi325x) and gfx950 (mi350x, mi355x)", name)
}

// NewTable returns the phase table of an architecture, given by its own name
// or by a product's.
func NewTable(arch string) (*Table, error) {
	arch, err := Arch(arch)
	if err != nil {
		return nil, err
	}
	rows, err := parsePhases(phasesCSV)
	if err != nil {
		return nil, fmt.Errorf("phases.csv: %w", err)
	}
	t := &Table{arch: arch, UnalignedServiceCycles: DefaultUnalignedServiceCycles}
	for _, r := range rows {
		if r.arch == arch {
			t.plans[r.kind] = r.plan
		}
	}
	all := derivations
	if arch == "gfx950" {
		all = append(append([]derivation{}, derivations...), gfx950Only...)
	}
	for _, d := range all {
		if t.plans[d.kind].phases != 0 {
			continue
		}
		from := d.fromArch
		if from == "" {
			from = arch
		}
		for _, r := range rows {
			if r.arch == from && r.op == d.from {
				t.plans[d.kind] = r.plan
				t.plans[d.kind].source = "derived from " + from + " " + d.from + ": " + d.why
			}
		}
	}
	for k := range t.plans {
		if t.plans[k].phases != 0 {
			t.plans[k].finish(Kind(k))
		}
	}
	return t, nil
}

// Arch is the architecture of the table: gfx942 or gfx950.
func (t *Table) Arch() string { return t.arch }

// Supports reports whether the architecture has accesses of kind k.
func (t *Table) Supports(k Kind) bool { return k < NumKinds && t.plans[k].phases != 0 }

// Banks is the number of 4-byte banks that accesses of kind k spread over.
func (t *Table) Banks(k Kind) int { return t.plans[k].banks }

// Phases returns the lane mask of each phase of kind k, in order of service.
func (t *Table) Phases(k Kind) []uint64 {
	p := &t.plans[k]
	return append([]uint64(nil), p.lanes[:p.phases]...)
}

// Source says who measured the phases of kind k, or from what they derive.
func (t *Table) Source(k Kind) string { return t.plans[k].source }

// finish fills the fields that follow from the phases, banks and kind.
func (p *plan) finish(k Kind) {
	f := &facts[k]
	p.shift = uint8(bits.TrailingZeros(uint(f.unit)))
	p.groupMask = uint32(p.banks*4/f.unit - 1)
	p.alignMask = uint32(f.align - 1)
	p.serial = k.Atomic()
	p.crossbar = k == Permute
	n := 0
	for i := range p.phases {
		for m := p.lanes[i]; m != 0; m &= m - 1 {
			p.order[n] = uint8(bits.TrailingZeros64(m))
			n++
		}
		p.end[i] = uint8(n)
	}
}

// phaseRow is one operation of phases.csv.
type phaseRow struct {
	arch, op string
	kind     Kind
	plan     plan
}

// parsePhases reads the phase table and checks that the phases of every
// operation partition the 64 lanes.
func parsePhases(text string) ([]phaseRow, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	var rows []phaseRow
	for i, rec := range records[1:] {
		if len(rows) == 0 || rows[len(rows)-1].arch != rec[0] || rows[len(rows)-1].op != rec[1] {
			kind, ok := csvKinds[rec[1]]
			if !ok {
				return nil, fmt.Errorf("line %d: unknown operation %q", i+2, rec[1])
			}
			rows = append(rows, phaseRow{arch: rec[0], op: rec[1], kind: kind, plan: plan{source: rec[5]}})
		}
		p := &rows[len(rows)-1].plan
		if err := p.addPhase(rec[2], rec[3], rec[4]); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	for _, r := range rows {
		var union uint64
		for _, m := range r.plan.lanes[:r.plan.phases] {
			union |= m
		}
		if union != ^uint64(0) {
			return nil, fmt.Errorf("%s %s: phases leave out lanes %#x", r.arch, r.op, ^union)
		}
	}
	return rows, nil
}

func (p *plan) addPhase(banks, phase, lanes string) error {
	var err error
	if p.banks, err = strconv.Atoi(banks); err != nil {
		return err
	}
	if n, err := strconv.Atoi(phase); err != nil || n != p.phases || n >= maxPhases {
		return fmt.Errorf("phase %q where %d was due", phase, p.phases)
	}
	for _, f := range strings.Fields(lanes) {
		lane, err := strconv.Atoi(f)
		if err != nil || lane < 0 || lane >= Lanes {
			return fmt.Errorf("lane %q", f)
		}
		bit := uint64(1) << lane
		for _, m := range p.lanes {
			if m&bit != 0 {
				return fmt.Errorf("lane %d twice", lane)
			}
		}
		p.lanes[p.phases] |= bit
	}
	p.phases++
	return nil
}
