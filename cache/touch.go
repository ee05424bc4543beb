package cache

// TouchHead reads what Touch finds the rest by; see cu.CU.Touch.
func (t *TCP) TouchHead() uint64 {
	return uint64(t.lineShift) + uint64(t.freeWaiter) + uint64(t.pipeFree) + uint64(t.busFree) + t.Stats.Hits + t.Stats.Latency[0]
}

// Touch reads the hot state of the TCP once.
func (t *TCP) Touch() uint64 {
	x := uint64(0)
	for i := 0; i < len(t.lines); i += 4 {
		x += uint64(t.lines[i].low)
	}
	for i := 0; i < len(t.buckets); i += 32 {
		x += uint64(t.buckets[i])
	}
	for i := 0; i < len(t.waiters); i += 8 {
		x += uint64(t.waiters[i].op)
	}
	for i := 0; i < len(t.inflight); i += 2 {
		x += uint64(t.inflight[i].tag)
	}
	for i := 0; i < len(t.queue); i++ {
		x += uint64(t.queue[i].Tag)
	}
	return x
}

// Touch reads the set of a line that will be asked for.
func (t *TCC) Touch(p Place) uint64 {
	s := &t.tags.sets[p.row]
	return s.order + uint64(s.tag[0])
}

// TouchFills reads what the fills before cycle to will use.
func (t *TCC) TouchFills(to int64) uint64 {
	var x uint64
	fills := t.fills.events[t.fills.head:]
	for i := range fills {
		if fills[i].at >= to {
			fills = fills[:i]
			break
		}
		x += uint64(t.mshrs[fills[i].id].next)
	}
	// A step each of all chains of waiters, so that their misses overlap too.
	t.chains = t.chains[:0]
	for i := range fills {
		m := &t.mshrs[fills[i].id]
		s := &t.tags.sets[m.set]
		x += s.order + uint64(s.state[0])
		t.chains = append(t.chains, m.head)
	}
	for left := t.chains; len(left) > 0; {
		k := 0
		for _, n := range left {
			if n != 0 {
				left[k] = t.waiters[n-1].next
				k++
			}
		}
		left = left[:k]
	}
	return x
}
