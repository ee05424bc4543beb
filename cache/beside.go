package cache

// A read that misses the LLC may bring the rest of its block of memory with it
// (LLCConfig.FetchLines): the lines beside it in the slice. Those are neighbours in
// memory within the unit by which slices alternate, and a stride of all slices apart beyond.

// lineUnasked marks a readable line that was fetched beside another and neither read
// nor written since.
const lineUnasked = 1 << 9

// fetchBeside fetches the lines of addr's block that are not there, after a miss on
// addr whose turn was at cycle start.
func (l *LLC) fetchBeside(sl *llcSlice, addr uint64, start int64) {
	slice, line := l.amap.local(addr)
	block := uint64(l.cfg.FetchLines - 1)
	for n := line &^ block; n <= line|block; n++ {
		set, tag := l.amap.place(n)
		row := slice*l.sets + set
		if n == line || l.tags.sets[row].lookup(tag) >= 0 {
			continue
		}
		// The last registers are for reads that somebody waits for.
		if sl.freeCount <= l.cfg.MSHRsPerSlice/2 {
			return
		}
		way := l.allocate(row, tag, start)
		if way < 0 {
			return
		}
		l.stats.Beside++
		m := l.takeMSHR(sl, row, way)
		l.mshrs[m].unasked = true
		l.wheel.push(event{at: start + l.cfg.LatencyCycles, addr: l.amap.join(slice, set, tag), id: uint32(m), bytes: uint16(l.cfg.LineBytes), kind: llcMemoryRead})
	}
}

// takeMSHR takes a free register, of which there must be one. Of a way of -1 the line
// is not kept.
func (l *LLC) takeMSHR(sl *llcSlice, row, way int) int {
	n := int(sl.freeMSHR - 1)
	m := &l.mshrs[n]
	sl.freeMSHR = m.next
	sl.freeCount--
	*m = mshr{set: int32(row), way: int32(way)}
	if way >= 0 {
		l.tags.sets[row].fetch(way, n%l.cfg.MSHRsPerSlice, m)
	}
	return n
}

// countFound counts a read that found its line, or one in flight. The first read of
// a line that was fetched beside another, ahead, counts as a miss: memory was read for
// it. (If it was written first, nobody knows any more.)
func (l *LLC) countFound(e *event, ahead bool) {
	if ahead {
		l.stats.ReadMisses++
		l.stats.BesideReads++
		return
	}
	l.stats.ReadHits++
	l.sources[e.src].Hits++
}
