package lds

// TouchHead reads what Touch finds the rest by; see cu.CU.Touch.
func (u *Unit) TouchHead() uint64 {
	x := uint64(u.bankFree) + uint64(u.grants) + uint64(u.Stats.Fills)
	for i := range u.pairs {
		x += uint64(u.pairs[i].portFree) + uint64(u.pairs[i].reservedUntil)
	}
	return x
}

// Touch reads the queues of the unit once.
func (u *Unit) Touch() uint64 {
	x := uint64(0)
	for i := range u.pairs {
		p := &u.pairs[i]
		for j := 0; j < len(p.fifo); j += 2 {
			x += uint64(p.fifo[j].ready)
		}
	}
	for i := 0; i < len(u.fill); i += 4 {
		x += uint64(u.fill[i].ready)
	}
	return x
}
