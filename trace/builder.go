package trace

import "slices"

// Builder makes a Wave out of single instructions. It folds what repeats.
type Builder struct {
	w       Wave
	at      int // instruction that follows without a jump
	started bool
	columns map[int]int // index of an instruction's accesses
	execs   map[int]int
}

// NewBuilder starts a wave whose lanes of exec are on.
func NewBuilder(workgroup, wave int, exec uint64) *Builder {
	return &Builder{w: Wave{Workgroup: workgroup, Wave: wave, Exec: exec, Last: true}, columns: map[int]int{}, execs: map[int]int{}}
}

// Step adds an execution of an instruction.
func (b *Builder) Step(inst int) {
	w := &b.w
	switch {
	case !b.started:
		w.Start, b.started = inst, true
	case inst != b.at:
		j := Jump{Count: 1, From: b.at - 1, To: inst}
		if n := len(w.Jumps); n > 0 && w.Jumps[n-1].From == j.From && w.Jumps[n-1].To == j.To {
			w.Jumps[n-1].Count++
		} else {
			w.Jumps = append(w.Jumps, j)
		}
	}
	w.Instructions++
	b.at = inst + 1
}

// Access adds the addresses of the instruction of the last Step.
func (b *Builder) Access(p *Pattern, base uint64) {
	inst := b.at - 1
	i, ok := b.columns[inst]
	if !ok {
		i = len(b.w.Accesses)
		b.columns[inst] = i
		b.w.Accesses = append(b.w.Accesses, AccessColumn{Inst: inst})
	}
	c := &b.w.Accesses[i]
	if n := len(c.Runs); n > 0 && c.Runs[n-1].Pattern == p {
		r := &c.Runs[n-1]
		if r.Count == 1 {
			r.Step = base - r.Base
		}
		if base == r.Base+r.Step*r.Count {
			r.Count++
			return
		}
	}
	c.Runs = append(c.Runs, AccessRun{Count: 1, Pattern: p, Base: base})
}

// Exec adds the EXEC mask that the instruction of the last Step left.
func (b *Builder) Exec(mask uint64) {
	inst := b.at - 1
	i, ok := b.execs[inst]
	if !ok {
		i = len(b.w.Execs)
		b.execs[inst] = i
		b.w.Execs = append(b.w.Execs, ExecColumn{Inst: inst})
	}
	c := &b.w.Execs[i]
	if n := len(c.Runs); n > 0 && c.Runs[n-1].Mask == mask {
		c.Runs[n-1].Count++
		return
	}
	c.Runs = append(c.Runs, ExecRun{Count: 1, Mask: mask})
}

// Issue adds the measured issue of the instruction of the last Step. It is given
// for every step of a wave or for none.
func (b *Builder) Issue(s Issue) { b.w.Issues = append(b.w.Issues, s) }

// Len is the number of steps.
func (b *Builder) Len() uint64 { return b.w.Instructions }

// Wave returns the wave. The Builder must not be used after.
func (b *Builder) Wave() *Wave {
	slices.SortFunc(b.w.Accesses, func(x, y AccessColumn) int { return x.Inst - y.Inst })
	return &b.w
}
