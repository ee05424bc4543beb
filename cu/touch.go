package cu

// Touch reads the state that the CU's next cycles will use, one word of each
// line of the host's cache. Nothing depends on the values: the reads overlap,
// where the model's own would miss one after the other. It changes nothing.
func (c *CU) Touch() uint64 {
	x := c.tcp.Touch() + c.lds.Touch()
	x += uint64(c.visitAt[0])
	for i := range c.simds {
		s := &c.simds[i]
		x += uint64(s.valuFree)
		for j := 0; j < len(s.until); j += 8 {
			x += uint64(s.until[j])
		}
		for _, sl := range s.order {
			w := s.waves[sl]
			x += uint64(w.pc) + uint64(w.loopAt) + uint64(w.vmTail)
			x += uint64(w.lgkm[w.lgkmHead%lgkmRing].done+w.lgkm[w.lgkmTail%lgkmRing].done) +
				uint64(w.vmDone[w.vmHead%vmRing]+w.vmDone[w.vmTail%vmRing])
			for _, r := range c.prog.scalars {
				x += uint64(w.st.SGPR[r])
			}
		}
	}
	return x
}
