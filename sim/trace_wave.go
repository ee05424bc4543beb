package sim

import (
	"math/bits"

	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/trace"
)

// dieLog takes down the waves of one die, on its thread.
type dieLog struct {
	slots   []int16 // by instruction: the column of its accesses, -1 for none
	columns int
	byHash  map[uint64][]*trace.Pattern
	count   int
	hints   []*trace.Pattern // by column: the pattern of its last access
	scratch trace.Pattern    // of the access at hand, until it is known
	second  [trace.Lanes]int64
	ended   []*wavePart
	free    []*wavePart
	idle    []*waveLog
}

// maxDiePatterns bounds the patterns that a die keeps; others are used once.
const maxDiePatterns = 1 << 15

// waveLog takes down one wave, part by part.
type waveLog struct {
	die  *dieLog
	part *wavePart
	at   int // the part's instructions are counted up to here
	long int // what the part has that its length in instructions does not bound
}

// wavePart is what goes into one record.
type wavePart struct {
	wave trace.Wave
	cols []accessLog
}

// accessLog is the accesses of one instruction: the runs that are closed, and
// the open one.
type accessLog struct {
	inst int32
	pat  *trace.Pattern // of the open run
	next *trace.Pattern // of the last Address
	base uint64         // of the last Address
	from uint64         // base of the open run's first access
	last uint64         // and of its last
	step uint64
	n    uint64
	runs []trace.AccessRun
}

// partRuns is how many runs a part of a wave may have before it is written, so
// that a wave of any length takes bounded memory.
const partRuns = 1 << 14

// Wave implements cu.Logger.
func (d *dieLog) Wave(wg, inWG, start int, exec uint64) cu.WaveLog {
	var w *waveLog
	if n := len(d.idle); n > 0 {
		w, d.idle = d.idle[n-1], d.idle[:n-1]
	} else {
		w = &waveLog{die: d}
	}
	w.begin(wg, inWG, 0, start, exec)
	return w
}

// begin starts a part.
func (w *waveLog) begin(wg, inWG, part, start int, exec uint64) {
	d := w.die
	if n := len(d.free); n > 0 {
		w.part, d.free = d.free[n-1], d.free[:n-1]
	} else {
		w.part = &wavePart{cols: make([]accessLog, d.columns)}
	}
	v := &w.part.wave
	*v = trace.Wave{Workgroup: wg, Wave: inWG, Part: part, Start: start, Exec: exec, Jumps: v.Jumps[:0], Execs: v.Execs[:0], Accesses: v.Accesses[:0]}
	w.at, w.long = start, 0
}

// recycle takes back a part that has been written.
func (d *dieLog) recycle(p *wavePart) {
	for i := range p.cols {
		c := &p.cols[i]
		c.runs, c.n, c.pat, c.next = c.runs[:0], 0, nil, nil
	}
	d.free = append(d.free, p)
}

// Jump implements cu.WaveLog.
func (w *waveLog) Jump(from, to int) {
	v := &w.part.wave
	v.Instructions += uint64(from - w.at + 1)
	w.at = to
	if n := len(v.Jumps); n > 0 && v.Jumps[n-1].From == from && v.Jumps[n-1].To == to {
		v.Jumps[n-1].Count++
	} else {
		v.Jumps = append(v.Jumps, trace.Jump{Count: 1, From: from, To: to})
		w.long++
	}
	if w.long > partRuns {
		w.cut(to)
	}
}

// cut ends a part after a jump. Addresses that the wave does not compute again
// carry over.
func (w *waveLog) cut(to int) {
	p, exec := w.part, w.part.wave.Exec
	for _, c := range p.wave.Execs {
		exec = c.Runs[len(c.Runs)-1].Mask
	}
	w.seal()
	w.begin(p.wave.Workgroup, p.wave.Wave, p.wave.Part+1, to, exec)
	for i := range p.cols {
		from, c := &p.cols[i], &w.part.cols[i]
		c.inst, c.next, c.base = from.inst, from.next, from.base
	}
}

// Exec implements cu.WaveLog.
func (w *waveLog) Exec(inst int, mask uint64) {
	v := &w.part.wave
	for i := range v.Execs {
		c := &v.Execs[i]
		if c.Inst != inst {
			continue
		}
		if r := &c.Runs[len(c.Runs)-1]; r.Mask == mask {
			r.Count++
		} else {
			c.Runs = append(c.Runs, trace.ExecRun{Count: 1, Mask: mask})
			w.long++
		}
		return
	}
	v.Execs = append(v.Execs, trace.ExecColumn{Inst: inst, Runs: []trace.ExecRun{{Count: 1, Mask: mask}}})
}

// Address implements cu.WaveLog.
func (w *waveLog) Address(inst int, a *isa.Access, two bool) {
	slot := int(w.die.slots[inst])
	c := &w.part.cols[slot]
	c.inst = int32(inst)
	c.next, c.base = w.die.pattern(slot, a, two)
}

// Access implements cu.WaveLog.
func (w *waveLog) Access(inst int, moved uint64) {
	c := &w.part.cols[w.die.slots[inst]]
	base := c.base + moved
	if c.n > 0 && c.pat == c.next {
		d := base - c.last
		if c.n == 1 {
			c.step = d
		}
		if d == c.step {
			c.n++
			c.last = base
			return
		}
	}
	if c.n > 0 {
		c.close()
		w.long++
	}
	c.pat, c.from, c.last, c.step, c.n = c.next, base, base, 0, 1
}

func (c *accessLog) close() {
	c.runs = append(c.runs, trace.AccessRun{Count: c.n, Pattern: c.pat, Base: c.from, Step: c.step})
	c.n = 0
}

// End implements cu.WaveLog.
func (w *waveLog) End(inst int) {
	w.part.wave.Instructions += uint64(inst - w.at + 1)
	w.part.wave.Last = true
	w.seal()
	w.die.idle = append(w.die.idle, w)
}

// seal hands the part over to be written.
func (w *waveLog) seal() {
	p := w.part
	for i := range p.cols {
		c := &p.cols[i]
		if c.n > 0 {
			c.close()
		}
		if len(c.runs) > 0 {
			p.wave.Accesses = append(p.wave.Accesses, trace.AccessColumn{Inst: int(c.inst), Runs: c.runs})
		}
	}
	w.die.ended = append(w.die.ended, p)
}

// pattern finds the pattern of an access and its base. Most often it is the one
// that the instruction's last access had, of whichever wave.
func (d *dieLog) pattern(slot int, a *isa.Access, two bool) (*trace.Pattern, uint64) {
	if len(d.hints) == 0 {
		d.hints = make([]*trace.Pattern, d.columns)
	}
	base := uint64(0)
	if a.Lanes != 0 {
		base = a.Addr[bits.TrailingZeros64(a.Lanes)]
	}
	if q := d.hints[slot]; q != nil && q.Bytes == a.Bytes && q.Lanes == a.Lanes && (q.Offset2 != nil) == (two && a.Lanes != 0) &&
		lies(a.Lanes, &q.Offset, &a.Addr, base) && (q.Offset2 == nil || lies(a.Lanes, q.Offset2, &a.Addr2, base)) {
		return q, base
	}
	p := &d.scratch
	*p = trace.Pattern{Lanes: a.Lanes, Bytes: a.Bytes}
	if two && a.Lanes != 0 {
		p.Offset2 = &d.second
		d.second = [trace.Lanes]int64{}
	}
	for m := a.Lanes; m != 0; m &= m - 1 {
		i := bits.TrailingZeros64(m)
		p.Offset[i] = int64(a.Addr[i] - base)
		if two {
			d.second[i] = int64(a.Addr2[i] - base)
		}
	}
	d.hints[slot] = d.intern(p)
	return d.hints[slot], base
}

// lies reports whether the addresses of the lanes are those of a pattern.
func lies(lanes uint64, offset *[trace.Lanes]int64, at *[isa.Lanes]uint64, base uint64) bool {
	if lanes == ^uint64(0) {
		for i := range offset {
			if uint64(offset[i]) != at[i]-base {
				return false
			}
		}
		return true
	}
	for m := lanes; m != 0; m &= m - 1 {
		if i := bits.TrailingZeros64(m); uint64(offset[i]) != at[i]-base {
			return false
		}
	}
	return true
}

// intern returns the die's own copy of a pattern.
func (d *dieLog) intern(p *trace.Pattern) *trace.Pattern {
	h := p.Hash()
	for _, q := range d.byHash[h] {
		if p.Equal(q) {
			return q
		}
	}
	q := *p
	if p.Offset2 != nil {
		s := *p.Offset2
		q.Offset2 = &s
	}
	if d.count < maxDiePatterns {
		d.byHash[h] = append(d.byHash[h], &q)
		d.count++
	}
	return &q
}
