package cu

import "math/bits"

// A wave in a cluster of matrix instructions issues one whenever the pipe is free,
// and nothing but another wave's use of the SIMD's VALU or matrix pipe changes
// that. So it is not asked for each: while it is in such a run its SIMD is visited
// for the others alone, and what it has issued by then is booked in one go. The
// result is that of asking every time. The first of a run, and those that another
// wave may come before, are issued one by one.

// mfmaRun is the matrix instructions that a SIMD will issue for one wave without
// being visited.
type mfmaRun struct {
	at   int64 // issue of the next
	step int64 // between two
	left int32
	slot uint8
}

// maxRun is what the byte uop.run holds; a longer run starts anew behind it.
const maxRun = 255

// markRuns finds the matrix instructions that follow each other alike: of the same
// times, in one line of code, and on one side of the marked loop's ends.
func (p *Program) markRuns() {
	for i := len(p.uops) - 2; i >= 0; i-- {
		u, next := &p.uops[i], &p.uops[i+1]
		alike := u.kind == kindMFMA && next.kind == kindMFMA && !u.exec && !next.exec && u.line == next.line &&
			u.busy == next.busy && u.gap == next.gap && u.packGap == next.packGap && i+1 != p.LoopStart && i+1 != p.LoopEnd
		if alike {
			u.run = min(next.run+1, maxRun)
		}
	}
}

// startRun lets wave w, which has just issued matrix instruction u, go on without
// being asked.
func (c *CU) startRun(w *wave, u *uop, s *simd, now int64) {
	step := c.matrixStep(u)
	switch {
	case step <= c.spec.IssueInterval || now+step-w.valuAt < c.spec.VALUDependent:
		return // it is not the pipe that holds the next
	case c.hook != nil || c.rec != nil || c.watch != nil || c.ext != nil:
		return // they see each one
	case c.prog.Source != nil && (u != &c.prog.uops[w.pc-1] || w.play.from >= w.pc && w.play.from < w.pc+int32(u.run)):
		return // the trace goes elsewhere
	}
	w.reason, w.blame = StallMatrix, w.pc
	s.run = mfmaRun{at: now + step, step: step, left: int32(u.run), slot: w.slot}
	s.until[w.slot] = now + int64(u.run)*step + c.spec.IssueInterval
	if c.prog.Source != nil { // the last may be followed by a jump
		s.run.left--
		s.until[w.slot] = now + int64(u.run)*step
	}
}

// matrixStep is the cycles from one matrix instruction to the next of its kind.
func (c *CU) matrixStep(u *uop) int64 {
	n := c.spec.IssueInterval
	return (int64(u.busy) + n - 1) / n * n
}

// catchUp books what a SIMD's run has issued before cycle now, and what it issues
// in now if its wave is the first to be asked; it reports whether that was so.
// Otherwise the visit asks it in its turn.
func (c *CU) catchUp(s *simd, now int64) (issued bool) {
	r := &s.run
	if s.order[0] == r.slot {
		issued = c.bookRun(s, now+1) == now
	} else {
		c.bookRun(s, now)
	}
	if r.left > 0 && r.at == now {
		s.endRun()
	}
	return issued
}

// bookRun books what a SIMD's run issues before cycle end and returns when it
// issued the last of that, or -1. The instructions' rows are left to settleRuns.
func (c *CU) bookRun(s *simd, end int64) (last int64) {
	r := &s.run
	if r.at >= end {
		return -1
	}
	n := min(int64(r.left), (end-1-r.at)/r.step+1)
	last = r.at + (n-1)*r.step
	r.at, r.left = last+r.step, r.left-int32(n)
	w := s.waves[r.slot]
	u := &c.prog.uops[w.pc]
	s.issuedMFMA(u, last, c.spec)
	st, slot, k := c.st, c.spec.IssueInterval, uint64(n)
	st.Stalls[StallMatrix] += k * uint64(r.step-slot)
	st.IssuedCount[u.unit] += k
	w.issues += k
	st.MFMABusy += k * uint64(u.busy)
	if w.inLoop {
		st.LoopMFMA += k * uint64(u.busy)
	}
	st.runs[w.pc]++
	w.pc += int32(n)
	st.runs[w.pc]--
	st.unsettled = true
	w.blame, w.last = w.pc, last+slot
	if r.left == 0 {
		s.held = 0
		if c.prog.Source == nil {
			w.reason, w.blame = StallDependency, w.pc-1
		}
	}
	return last
}

// behindRun is until when a run under way keeps wave w from the matrix pipe. A
// wave that comes after the run's in the order finds the pipe taken at each issue
// until the run's last is through, or the run ends before.
func (c *CU) behindRun(w *wave, s *simd) int64 {
	r := &s.run
	first := s.waves[r.slot]
	if first == w || first.prio < w.prio || first.prio == w.prio && first.age > w.age {
		return s.mfmaFree
	}
	s.held |= 1 << w.slot
	return r.at + int64(r.left-1)*r.step + int64(c.uops[first.pc].busy)
}

// endRun has the wave of a run asked for its next instruction, and those that wait
// for the pipe behind it asked too.
func (s *simd) endRun() {
	s.until[s.run.slot] = s.run.at
	s.run.left = 0
	for ; s.held != 0; s.held &= s.held - 1 {
		s.until[bits.TrailingZeros64(s.held)] = s.mfmaFree
	}
}

// issuedMFMA holds the units of a SIMD for a matrix instruction that issued at now.
// It serves single instructions and runs, so that the two cannot differ.
func (s *simd) issuedMFMA(u *uop, now int64, spec *Spec) {
	s.mfmaFree = now + int64(u.busy)
	s.valuFree = now + spec.IssueInterval
	s.valuGap = now + int64(u.gap)
	s.packGap = now + int64(u.packGap)
	if spec.MemFollowsVALU {
		s.memGap = s.valuGap
	}
}

// Settle books all that runs have issued before cycle end. Statistics of
// instructions, and wave-cycles by unit, are complete after it.
func (c *CU) Settle(end int64) {
	c.bookRuns(end)
	c.settleRuns()
	c.st.settle(uint64(c.spec.IssueInterval))
}

// bookRuns books what all runs issue before cycle end.
func (c *CU) bookRuns(end int64) {
	for i := range c.simds {
		if s := &c.simds[i]; s.run.left > 0 {
			c.bookRun(s, end)
		}
	}
}

// settleRuns spreads what bookRun noted over the instructions.
func (c *CU) settleRuns() {
	st := c.st
	if !st.unsettled {
		return
	}
	st.unsettled = false
	slot, n := uint64(c.spec.IssueInterval), int64(0)
	for i, d := range st.runs {
		st.runs[i] = 0
		if n += d; n == 0 {
			continue
		}
		r := &st.Inst[i]
		r.Hits += uint64(n)
		r.Stall[StallMatrix] += uint64(n) * (uint64(c.matrixStep(&c.prog.uops[i])) - slot)
	}
}
