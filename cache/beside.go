package cache

// A read that misses the LLC may bring the rest of its block of memory with it
// (LLCConfig.FetchLines): the lines beside it in the slice, which lie in the same row
// of the HBM.

// lineUnasked marks a readable line that was fetched ahead and not read since.
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
		if sl.freeMSHRs <= l.cfg.MSHRsPerSlice/2 {
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

// takeMSHR takes a free register for the line in a way, -1 for none.
func (l *LLC) takeMSHR(sl *llcSlice, row, way int) int {
	n := int(sl.freeMSHR - 1)
	m := &l.mshrs[n]
	sl.freeMSHR = m.next
	sl.freeMSHRs--
	*m = mshr{set: int32(row), way: int32(way)}
	if way >= 0 {
		l.tags.sets[row].fetch(way, n%l.cfg.MSHRsPerSlice, m)
	}
	return n
}

// countHit counts a read that found its line, or one in flight. Of a line that was
// fetched ahead the first read counts as a miss: memory was read for it, and hit
// rates are those of the traffic.
func (l *LLC) countHit(e *event, ahead bool) {
	if ahead {
		l.stats.ReadMisses++
		l.stats.BesideReads++
		return
	}
	l.stats.ReadHits++
	l.sources[e.src].Hits++
}
