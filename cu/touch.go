package cu

// TouchSteps is the number of steps of Touch.
const TouchSteps = 4

// Touch reads a part of the CU's state once. There are hundreds of CUs, and their
// state is much larger than the host's caches: when a CU is run, most of it has to
// come from memory. Read in one go the misses overlap. A step follows only pointers
// that the step before has brought, so that those of several CUs overlap when each
// step is done for all of them before the next. The result means nothing.
func (c *CU) Touch(step int) (x uint64) {
	switch step {
	case 0:
		return uint64(c.now) + uint64(c.ldsNext) + uint64(c.fillHead) + uint64(c.interval) + uint64(c.dirtyBase) + uint64(c.loopSince)
	case 1:
		x = c.tcp.TouchHead() + c.lds.TouchHead() + uint64(c.visitAt[0])
		for i := range c.simds {
			x += uint64(c.simds[i].valuFree) + uint64(len(c.simds[i].order))
		}
		for i := 0; i < len(c.waves); i += 8 {
			if c.waves[i] == nil {
				x++
			}
		}
	case 2:
		x = c.tcp.Touch() + c.lds.Touch()
		for i := range c.simds {
			s := &c.simds[i]
			for j := 0; j < len(s.until); j += 8 {
				x += uint64(s.until[j])
			}
			for _, sl := range s.order {
				w := s.waves[sl]
				x += uint64(w.pc) + uint64(w.loopAt) + uint64(w.vmTail)
			}
		}
	case 3:
		for i := range c.simds {
			s := &c.simds[i]
			for _, sl := range s.order {
				x += c.touchWave(s.waves[sl])
			}
		}
	}
	return x
}

// touchWave reads the parts of a wave's rings that are in use and the scalar
// registers that loops use.
func (c *CU) touchWave(w *wave) uint64 {
	x := uint64(w.lgkm[w.lgkmHead%lgkmRing].done+w.lgkm[w.lgkmTail%lgkmRing].done) +
		uint64(w.vmDone[w.vmHead%vmRing]+w.vmDone[w.vmTail%vmRing])
	for _, r := range c.prog.scalars {
		x += uint64(w.st.SGPR[r])
	}
	return x
}
