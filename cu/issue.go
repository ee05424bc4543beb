package cu

import (
	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
)

// visit arbitrates one SIMD at cycle now: waves in order of priority, then
// age; at most one instruction per wave and one per category.
func (c *CU) visit(si int, now int64) {
	s := &c.simds[si]
	taken := uint8(0) // bit mask of categories
	if s.run.left > 0 && c.catchUp(s, now) {
		taken = 1 << catVector
	}
	resort, gone := false, false
	next := cache.Never
	c.visitAt[si] = cache.Never
	for _, sl := range s.order {
		at := s.until[sl]
		if at <= now {
			w := s.waves[sl]
			prio := w.prio
			taken = c.consider(w, s, now, taken)
			resort = resort || w.prio != prio
			gone = gone || w.ended
			if c.err != nil {
				return
			}
			at = s.until[sl]
		}
		next = min(next, at)
	}
	if s.run.left > 0 && s.valuFree > s.run.at {
		next = min(next, s.run.at, s.mfmaFree)
		s.endRun() // another wave's VALU holds it
	}
	if gone {
		keep := s.order[:0]
		for _, sl := range s.order {
			if !s.waves[sl].ended {
				keep = append(keep, sl)
			}
		}
		s.order = keep
	}
	if resort {
		s.sort()
	}
	if c.visitAt[si] != cache.Never { // a wave has woken one that was asked before it
		for _, sl := range s.order {
			next = min(next, s.until[sl])
		}
	}
	if next != cache.Never {
		next = c.align(si, max(next, now+1))
	}
	c.visitAt[si] = next
}

// stall books the reason that holds wave w from now on and when to look again.
func (c *CU) stall(w *wave, now int64, r StallReason, until int64) {
	if r != w.reason || w.blame != w.pc {
		c.account(w, now)
		w.reason, w.blame = r, w.pc
	}
	*w.until = until
}

// account books the cycles since the last booking on the current reason.
func (c *CU) account(w *wave, now int64) {
	if d := now - w.last; d > 0 {
		c.st.Stalls[w.reason] += uint64(d)
		c.st.addStall(w.blame, w.reason, uint64(d))
		if c.rec != nil {
			c.rec.Stall(w.last, now, c.index(w), w.reason, w.blame)
		}
		w.last = now
	}
}

// issued books an issue slot at cycle now, moves on, and says why the wave
// could be held until next.
func (c *CU) issued(w *wave, u *uop, now, next int64, gap StallReason) {
	if w.last < now {
		c.account(w, now)
	}
	c.st.addHit(w.pc)
	c.st.IssuedCount[u.unit]++
	w.issues++
	if c.observed {
		c.showIssue(w, now)
	}
	w.last = now + c.interval
	w.reason, w.blame = gap, w.pc
	*w.until = next
	w.pc++
	if c.prog.Source != nil {
		c.follow(w, u)
	}
}

// showIssue tells those who watch that wave w issues.
func (c *CU) showIssue(w *wave, now int64) {
	if c.hook != nil {
		c.hook(now, int(w.simd), int(w.slot), int(w.pc))
	}
	if c.rec != nil {
		c.rec.Issue(now, c.index(w), w.pc)
	}
}

// consider tries to issue wave w's next instruction. It takes and returns the
// categories that are taken in this visit.
func (c *CU) consider(w *wave, s *simd, now int64, taken uint8) uint8 {
	if int(w.pc) >= len(c.uops) {
		w.pc-- // the one that it came from
		c.fail(w, isa.PastEnd(c.prog.Kernel, c.prog.Launch.WorkgroupID(w.wg.id), int(w.inWG)))
		return taken
	}
	u := &c.uops[w.pc]
	if u.line != w.line && !c.fetch(w, u, now) {
		return taken
	}
	if u.inLoop != w.inLoop {
		c.markLoop(w, now, u.inLoop)
	}
	// After a matrix issue the pipe is busy, which says more than "arbitration".
	if taken>>u.category&1 != 0 && (u.kind != kindMFMA || s.mfmaFree <= now) {
		c.stall(w, now, StallArbitration, now+c.interval)
		return taken
	}
	ok := false
	switch u.kind {
	case kindMFMA:
		ok = c.issueMFMA(w, u, s, now)
	case kindVALU:
		ok = c.issueVALU(w, u, s, now)
	case kindLDS:
		ok = c.issueLDS(w, u, s, now)
	case kindVMEM:
		ok = c.issueVMEM(w, u, s, now)
	case kindSALU, kindBranch:
		ok = c.issueScalar(w, u, now)
	case kindSMEM:
		ok = c.issueSMEM(w, u, now)
	case kindBlock:
		ok = c.issueBlock(w, u, s, now)
	default:
		c.issueInternal(w, u, now)
	}
	if ok {
		taken |= 1 << u.category
	}
	return taken
}

// markLoop books that a wave enters or leaves the marked loop.
func (c *CU) markLoop(w *wave, now int64, in bool) {
	w.inLoop = in
	if in {
		w.loopAt = now
		w.fromTop = w.fromTop || int(w.pc) == c.prog.LoopStart
		if c.loopWaves == 0 {
			c.loopSince = now
		}
		c.loopWaves++
		return
	}
	c.st.LoopCycles += uint64(now - w.loopAt)
	if w.fromTop { // not back from code out of line
		w.fromTop = false
		c.st.LoopWaves++
	}
	if c.loopWaves--; c.loopWaves == 0 {
		c.st.LoopSpan += uint64(now - c.loopSince)
	}
}

// exec runs the instruction when its value is in the slice.
func (c *CU) exec(w *wave, u *uop) bool {
	if !u.exec {
		return true
	}
	w.st.PC = int(w.pc)
	if err := isa.Exec(c.prog.Kernel, &c.prog.Kernel.Insts[w.pc], &w.st); err != nil {
		c.fail(w, err)
		return false
	}
	if w.log != nil && u.setsExec {
		w.log.Exec(int(w.pc), w.st.Exec())
	}
	return true
}

// decide sends a wave the way that was recorded for this visit of the branch.
func (c *CU) decide(w *wave, u *uop) {
	visit := &w.visits[u.decided]
	w.st.PC = int(w.pc) + 1
	if c.prog.decisions.Taken(w.wg.id, int(w.inWG), int(u.decided), int(*visit)) {
		w.st.PC = int(c.prog.Kernel.Insts[w.pc].Target)
	}
	*visit++
}

// dependency is the first cycle at which every vector source of u is ready for
// a reader that needs delay cycles after a VALU write.
func (c *CU) dependency(w *wave, u *uop, delay int64) int64 {
	at := int64(-1 << 40)
	for _, r := range c.prog.srcs[u.srcAt : u.srcAt+int32(u.nsrc)] {
		for _, t := range w.vready[r.first : r.first+r.n] {
			at = max(at, t)
		}
	}
	return at + delay
}

func (c *CU) issueMFMA(w *wave, u *uop, s *simd, now int64) bool {
	if s.mfmaFree > now {
		until := s.mfmaFree
		if s.run.left > 0 {
			until = c.behindRun(w, s)
		}
		c.stall(w, now, StallMatrix, until)
		return false
	}
	if s.valuFree > now {
		c.stall(w, now, StallVALU, s.valuFree)
		return false
	}
	if d := c.spec.VALUDependent; now-w.valuAt < d {
		if at := c.dependency(w, u, d); at > now {
			c.stall(w, now, StallDependency, at)
			return false
		}
	}
	s.issuedMFMA(u, now, c.spec)
	c.st.MFMABusy += uint64(u.busy)
	if w.inLoop {
		c.st.LoopMFMA += uint64(u.busy)
	}
	if !c.exec(w, u) {
		return false
	}
	if u.moves {
		w.epoch++
	}
	c.issued(w, u, now, now+c.spec.IssueInterval, StallDependency)
	if u.run > 0 {
		c.startRun(w, u, s, now)
	}
	return true
}

func (c *CU) issueVALU(w *wave, u *uop, s *simd, now int64) bool {
	free := max(s.valuFree, s.valuGap)
	if u.packed {
		free = max(free, s.packGap)
	}
	if free > now {
		c.stall(w, now, StallVALU, free)
		return false
	}
	if d := c.spec.VALUDependent; now-w.valuAt < d {
		if at := c.dependency(w, u, d); at > now {
			c.stall(w, now, StallDependency, at)
			return false
		}
	}
	s.valuFree = now + int64(u.busy)
	c.st.VALUBusy += uint64(u.busy)
	w.valuAt = now
	// A result of a long operation is ready that much later than that of a plain one.
	ready := now + int64(u.busy) - c.spec.VALUCycles
	for i := u.dst.first; i < u.dst.first+u.dst.n; i++ {
		w.vready[i] = ready
	}
	if u.busy > int32(c.spec.VALUCycles) {
		w.valuAt = ready
	}
	if u.sgprW {
		w.salWrAt = now
	}
	if !c.exec(w, u) {
		return false
	}
	if u.moves {
		w.epoch++
	}
	c.issued(w, u, now, now+c.spec.IssueInterval, StallDependency)
	return true
}

func (c *CU) issueScalar(w *wave, u *uop, now int64) bool {
	if at := w.salWrAt + c.spec.ValuToSALU; u.sgprRead && at > now {
		c.stall(w, now, StallDependency, at)
		return false
	}
	pc := w.pc
	if u.decided >= 0 {
		c.decide(w, u)
	} else if !c.exec(w, u) {
		return false
	}
	next := now + c.spec.IssueInterval
	gap := StallDependency
	target := int32(w.st.PC)
	if c.prog.Source != nil {
		if target = pc + 1; w.play.from == pc {
			target = w.play.to
		}
	}
	if u.kind == kindBranch && target != pc+1 {
		next += c.spec.BranchTaken
		gap = StallFetch
	}
	c.issued(w, u, now, next, gap)
	if u.kind == kindBranch {
		if target != pc+1 && int(target) == c.prog.LoopStart && w.inLoop {
			c.st.LoopIterations++
			c.loopTurns++
		}
		w.pc = target
		if target != pc+1 {
			w.line = -1
			if w.log != nil {
				w.log.Jump(int(pc), int(target))
			}
		}
	}
	return true
}

func (c *CU) issueInternal(w *wave, u *uop, now int64) {
	next := now + c.spec.IssueInterval
	switch u.kind {
	case kindWaitcnt:
		if int(u.waitVM) < w.vmCount(now) {
			c.stall(w, now, StallVMCnt, max(w.vmAt(int(u.waitVM)), now+1))
			return
		}
		if int(u.waitLGKM) < w.lgkmCount(now) {
			c.stall(w, now, StallLGKMCnt, max(w.lgkmAt(int(u.waitLGKM)), now+1))
			return
		}
		c.issued(w, u, now, next, StallDependency)
	case kindSetPrio:
		w.prio = u.prio
		c.issued(w, u, now, next, StallDependency)
	case kindBarrier:
		c.issued(w, u, now, cache.Never, StallBarrier)
		w.atBar = true
		w.wg.arrived++
		c.releaseBarrier(w.wg, w, now)
	case kindEnd:
		c.endWave(w, u, now)
	case kindTrap:
		// A trace holds what waves did, so its traps are those that went on.
		if c.prog.Source == nil {
			w.st.PC = int(w.pc)
			if err := isa.Exec(c.prog.Kernel, &c.prog.Kernel.Insts[w.pc], &w.st); err != nil {
				c.fail(w, err)
				return
			}
		}
		c.issued(w, u, now, next, StallSleep)
	case kindSetRegisters, kindMBarInit, kindMBarArrive, kindMBarWait, kindTileCopy, kindBlockWait:
		c.issueExtension(w, u, now)
	default:
		c.issued(w, u, now, next+int64(u.idle), StallSleep)
	}
}

// releaseBarrier lets the waves of a workgroup go when wave last was the one that
// the others waited for.
func (c *CU) releaseBarrier(g *workgroup, last *wave, now int64) {
	if g.arrived < g.alive || g.arrived == 0 {
		return
	}
	g.arrived = 0
	c.st.Barriers++
	for _, w := range g.waves {
		// A wave that ended early may have given its slot to another workgroup.
		if w.wg == g && w.atBar {
			w.atBar = false
			c.wake(w, now+c.spec.BarrierCycles)
			if c.rec != nil {
				c.rec.Barrier(now, now+c.spec.BarrierCycles, c.index(last), c.index(w))
			}
		}
	}
}

// endWave ends a wave once its memory operations are done: its registers and
// LDS are not reused before (the MI325X thread trace shows s_endpgm waiting
// hundreds of cycles after a burst of stores).
func (c *CU) endWave(w *wave, u *uop, now int64) {
	if n := w.vmCount(now); n > 0 {
		c.stall(w, now, StallVMCnt, max(w.vmAt(0), now+1))
		return
	}
	if n := w.lgkmCount(now); n > 0 {
		c.stall(w, now, StallLGKMCnt, max(w.lgkmAt(0), now+1))
		return
	}
	if c.ext != nil {
		if b := &c.ext.waves[c.index(w)]; b.outstanding(now) > 0 {
			c.stall(w, now, StallMatrix, max(b.at(0), now+1))
			return
		}
		c.endExtension(w)
	}
	pc := int(w.pc)
	c.issued(w, u, now, cache.Never, StallDependency)
	if w.log != nil {
		w.log.End(pc)
	}
	end := now + c.spec.IssueInterval
	w.ended = true
	if c.rec != nil {
		c.rec.End(end, c.index(w))
	}
	g := w.wg
	g.alive--
	c.st.WaveCycles += uint64(end - w.start)
	g.issues += w.issues
	c.simds[w.simd].free |= 1 << w.slot
	if g.alive > 0 {
		c.releaseBarrier(g, w, now)
		return
	}
	for i, x := range c.groups {
		if x == g {
			c.groups = append(c.groups[:i], c.groups[i+1:]...)
			break
		}
	}
	c.st.Workgroups++
	c.st.EndedIssues += g.issues
	c.freeWG = append(c.freeWG, g)
	if c.groupEnded != nil {
		c.groupEnded(g.id, g.start, end)
	}
	c.done(end, g.id)
}
