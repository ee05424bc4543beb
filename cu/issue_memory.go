package cu

import (
	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/lds"
)

func (c *CU) issueSMEM(w *wave, u *uop, now int64) bool {
	if at := w.salWrAt + c.spec.ValuToSALU; u.sgprRead && at > now {
		c.stall(w, now, StallDependency, at)
		return false
	}
	if n := w.lgkmCount(now); n >= c.spec.LGKMMax {
		c.stall(w, now, StallDependency, w.lgkmAt(n-1))
		return false
	}
	// The address first: the load may overwrite its base, and the L2 may refuse.
	addr, any, ok := c.scalarAddress(w, u)
	if !ok {
		return false
	}
	if !any || c.sh.scalar.lookup(addr) {
		c.st.SMEMHits++
		pos := w.pushLGKM()
		w.lgkm[pos%lgkmRing].done = now + c.spec.ScalarHitCycles
		c.memoryIssue(w, now, CounterLGKM, pos)
		if c.rec != nil {
			c.rec.MemoryDone(now+c.spec.ScalarHitCycles, c.index(w), CounterLGKM, pos)
		}
	} else {
		pos := w.lgkmTail % lgkmRing
		tag := tagSMEM | (uint32(w.simd)*uint32(c.spec.WaveSlots)+uint32(w.slot))<<8 | pos
		line := addr &^ uint64(c.spec.TCP.LineBytes-1)
		if retry := c.l2.Read(now, c.id, line, tag); retry != 0 {
			c.stall(w, now, StallVMEMQueue, retry)
			c.refused++
			return false
		}
		c.st.SMEMMisses++
		w.pushLGKM()
		w.scalarLine[pos] = addr
		c.memoryIssue(w, now, CounterLGKM, pos)
	}
	c.accessed(w, 0)
	if !c.exec(w, u) {
		return false
	}
	c.issued(w, u, now, now+c.spec.IssueInterval, StallDependency)
	return true
}

func (c *CU) issueLDS(w *wave, u *uop, s *simd, now int64) bool {
	if s.memGap > now {
		c.stall(w, now, StallVALU, s.memGap)
		return false
	}
	if d := c.spec.ValuToAddress; now-w.valuAt < d {
		if at := c.dependency(w, u, d); at > now {
			c.stall(w, now, StallDependency, at)
			return false
		}
	}
	if n := w.lgkmCount(now); n >= c.spec.LGKMMax {
		c.stall(w, now, StallDependency, max(w.lgkmAt(n-1), now+1))
		return false
	}
	m, ok := c.ldsAccess(w, u)
	if !ok {
		return false
	}
	pos := w.lgkmTail % lgkmRing
	tag := (uint32(w.simd)*uint32(c.spec.WaveSlots)+uint32(w.slot))<<8 | pos
	ok, free := c.lds.Push(now, lds.Request{Service: m.service, In: int32(u.ldsIn), Out: int32(u.ldsOut), Tag: tag, Pair: w.simd / 2, Side: w.simd & 1})
	if !ok {
		if free == lds.Never {
			c.ldsWaiting = append(c.ldsWaiting, int32(c.index(w)))
		}
		c.stall(w, now, StallLDSQueue, max(free, now+1))
		return false
	}
	c.ldsNext = min(c.ldsNext, max(c.lds.Next(), now+1))
	c.accessed(w, 0)
	if !c.exec(w, u) {
		return false
	}
	if u.moves {
		w.epoch++
	}
	w.lgkm[w.pushLGKM()].issued = now
	c.memoryIssue(w, now, CounterLGKM, pos)
	c.st.addLDS(w.pc, uint64(m.conflicts), uint64(m.service))
	c.st.Conflicts += uint64(m.conflicts)
	c.st.LDSService += uint64(m.service)
	c.st.LDSPort += uint64(max(u.ldsIn, u.ldsOut))
	c.st.LDSReadBytes += uint64(u.ldsRead)
	c.st.LDSWriteBytes += uint64(u.ldsWrite)
	// The wave is held while its address and data go in.
	next := max(now+c.spec.IssueInterval, free)
	c.issued(w, u, now, next, StallLDSQueue)
	return true
}

func (c *CU) issueVMEM(w *wave, u *uop, s *simd, now int64) bool {
	if s.memGap > now {
		c.stall(w, now, StallVALU, s.memGap)
		return false
	}
	if d := c.spec.ValuToAddress; now-w.valuAt < d {
		if at := c.dependency(w, u, d); at > now {
			c.stall(w, now, StallDependency, at)
			return false
		}
	}
	if n := w.vmCount(now); n >= c.spec.VMMax {
		c.stall(w, now, StallDependency, max(w.vmAt(n-1), now+1))
		return false
	}
	if u.flat {
		// Nothing behind vmemAccess may refuse the instruction: that executes it.
		if n := w.lgkmCount(now); n >= c.spec.LGKMMax {
			c.stall(w, now, StallDependency, max(w.lgkmAt(n-1), now+1))
			return false
		}
	}
	if !c.turn.mayTake(int(w.simd), c.tcp.Free()) {
		c.stall(w, now, StallVMEMQueue, cache.Never)
		return false
	}
	op := c.tcp.Slot()
	moved, ok := c.vmemAccess(w, u, op)
	if !ok {
		return false
	}
	if u.moves {
		w.epoch++
	}
	pos := w.pushVM()
	w.vmIssued[pos] = now
	w.flatPos[pos] = notFlat
	if u.flat {
		w.flatPos[pos] = uint8(w.pushLGKM())
		c.memoryIssue(w, now, CounterLGKM, uint32(w.flatPos[pos]))
	}
	c.memoryIssue(w, now, CounterVM, pos)
	op.Tag = (uint32(w.simd)*uint32(c.spec.WaveSlots)+uint32(w.slot))<<8 | pos
	op.Kind, op.Bytes = cache.MemKind(u.memKind), int32(u.memBytes)
	c.accessed(w, moved)
	if c.turn.took(int(w.simd)) {
		c.wakeWaiting(s, now+c.spec.IssueInterval) // to stand in line again
	}
	c.tcp.Push(now)
	c.tcpNext = min(c.tcpNext, now+1)
	c.st.addLines(w.pc, uint64(len(op.Lines.Offset)))
	c.st.VMEMLines += uint64(len(op.Lines.Offset))
	if op.Kind == cache.MemLDSDMA {
		c.st.LDSFill += uint64(u.memBytes)
	}
	c.issued(w, u, now, now+c.spec.IssueInterval, StallDependency)
	return true
}
