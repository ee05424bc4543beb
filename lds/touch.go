package lds

// Touch reads the hot state of the unit once; see cu.CU.Touch.
func (u *Unit) Touch() uint64 {
	x := uint64(u.bankFree) + uint64(u.grants) + uint64(u.Stats.Fills)
	for i := range u.pairs {
		p := &u.pairs[i]
		x += uint64(p.portFree) + uint64(p.reservedUntil)
		for j := 0; j < len(p.fifo); j += 2 {
			x += uint64(p.fifo[j].ready)
		}
	}
	for i := 0; i < len(u.fill); i += 4 {
		x += uint64(u.fill[i].ready)
	}
	return x
}
