package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/trace"
)

// Hardware registers of s_getreg that say where a wave runs (LLVM AMDGPUUsage).
const (
	hwRegID  = 4
	hwRegXCC = 20
)

// dependence finds what makes the streams of a kernel depend on when or where
// its waves run. It looks at the code alone, so that it may name an instruction
// which in this launch makes no difference.
func dependence(k *isa.Kernel, sl *isa.Slice) []trace.Dependence {
	d := depender{k: k, sl: sl, cls: make([]isa.Class, len(k.Insts)), data: isa.DataBranches(k)}
	for i := range k.Insts {
		c := isa.Classify(k.CPU, &k.Insts[i])
		d.cls[i] = c
		writes := c.Store || c.Atomic
		d.writesLDS = d.writesLDS || c.Unit == isa.UnitLDS && writes || c.LDSDMA
		d.writesMemory = d.writesMemory || c.Unit != isa.UnitLDS && writes
	}
	for i := range k.Insts {
		d.look(i)
	}
	return d.found
}

type depender struct {
	k                       *isa.Kernel
	sl                      *isa.Slice
	cls                     []isa.Class
	writesLDS, writesMemory bool
	data                    []int // branches that depend on matrix results
	found                   []trace.Dependence
}

func (d *depender) add(kind string, i int) {
	in := &d.k.Insts[i]
	d.found = append(d.found, trace.Dependence{Kind: kind, PC: in.PC, Text: in.Text(d.k.CPU)})
}

func (d *depender) look(i int) {
	in, c := &d.k.Insts[i], &d.cls[i]
	switch {
	case (in.Op == isa.S_MEMTIME || in.Op == isa.S_MEMREALTIME) && d.sl.Used[i]:
		d.add("clock", i)
	case in.Op == isa.S_GETREG_B32 && d.sl.Used[i] && (in.Offset&63 == hwRegID || in.Offset&63 == hwRegXCC):
		d.add("place", i)
	case c.Atomic && c.Return && d.sl.Exec[i]:
		d.add("order", i)
	case c.Unit == isa.UnitBranch && in.Target >= 0 && int(in.Target) <= i && d.spins(int(in.Target), i):
		d.add("spin", i)
	}
}

// spins reports whether the branch at the end of a loop depends on what the
// loop loads from memory that the kernel writes.
func (d *depender) spins(from, to int) bool {
	if !d.reaches(from, to) {
		return false // code out of line that goes back to where it came from
	}
	if d.k.Insts[to].Op == isa.S_BRANCH {
		// The loop is left by a branch inside.
		for i := from; i < to; i++ {
			if t := int(d.k.Insts[i].Target); d.cls[i].Unit == isa.UnitBranch && t > to && d.fromLoad(from, i) {
				return true
			}
		}
		return false
	}
	return d.fromLoad(from, to)
}

// reaches reports whether control gets from one instruction to a later one without
// leaving the stretch between them.
func (d *depender) reaches(from, to int) bool {
	seen := make([]bool, to-from+1)
	next := []int{from}
	visit := func(i int) {
		if i >= from && i <= to && !seen[i-from] {
			seen[i-from] = true
			next = append(next, i)
		}
	}
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if i == to {
			return true
		}
		if op := d.k.Insts[i].Op; op != isa.S_BRANCH && op != isa.S_ENDPGM {
			visit(i + 1)
		}
		if t := int(d.k.Insts[i].Target); d.cls[i].Unit == isa.UnitBranch && t >= 0 {
			visit(t)
		}
	}
	return false
}

// fromLoad follows the condition of the branch at instruction to back to loads
// that steer the kernel. A branch that depends on matrix results waits for
// nothing.
func (d *depender) fromLoad(from, to int) bool {
	if slices.Contains(d.data, to) {
		return false
	}
	need := isa.EffectsOf(d.k.CPU, &d.k.Insts[to], false).Reads
	for i := to - 1; i >= from; i-- {
		e := isa.EffectsOf(d.k.CPU, &d.k.Insts[i], false)
		if !e.Writes.Intersects(&need) {
			continue
		}
		switch c := &d.cls[i]; c.Unit {
		case isa.UnitLDS:
			if c.Return && d.sl.Exec[i] && d.writesLDS && !strings.Contains(d.k.Insts[i].Op.String(), "permute") {
				return true
			}
			continue
		case isa.UnitVMEM, isa.UnitSMEM:
			if d.writesMemory && (d.sl.Exec[i] && c.Unit == isa.UnitVMEM || d.sl.Used[i]) {
				return true
			}
			continue
		}
		need.Union(&e.Reads)
	}
	return false
}

// dependenceNote says in a sentence what the streams depend on; it is empty when
// they depend on nothing.
func dependenceNote(found []trace.Dependence) string {
	if len(found) == 0 {
		return ""
	}
	why := map[string]string{"clock": "reads the clock", "place": "reads where it runs", "order": "depends on the order of atomics", "spin": "waits in a loop for what others write"}
	var parts []string
	for i, d := range found {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s at pc %#x (%s)", why[d.Kind], d.PC, d.Text))
	}
	return "the kernel's instruction stream depends on timing: it " + strings.Join(parts, ", ")
}
