package cache

// A read that misses the LLC may bring the rest of its block of memory with it
// (LLCConfig.FetchLines): the lines beside it in the slice. Those are neighbours in
// memory within the unit by which slices alternate, and a stride of all slices apart beyond.
//
// And the LLC fetches ahead (LLCConfig.PrefetchLines), as a tagged sequential prefetcher does:
// a miss brings the line behind it in memory too, and when that is read there is a run of
// reads, which the LLC then keeps ahead of. A miss that is none of a run costs one line more.

// lineUnasked marks a readable line that was fetched beside or ahead of another and
// neither read nor written since.
const lineUnasked = 1 << 9

// lineInRun marks such a line that was fetched because of a run of reads.
const lineInRun = 1 << 10

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
		if !l.fetchUnasked(sl, l.amap.join(slice, set, tag), row, tag, false, start) {
			return
		}
	}
}

// fetchUnasked fetches a line that is not there and that nobody has asked for. It reports
// false if there is no room: the last registers are for reads that somebody waits for.
func (l *LLC) fetchUnasked(sl *llcSlice, addr uint64, row int, tag uint32, inRun bool, start int64) bool {
	if sl.freeCount <= l.cfg.MSHRsPerSlice/2 {
		return false
	}
	way := l.allocate(row, tag, start)
	if way < 0 {
		return false
	}
	l.stats.Beside++
	m := l.takeMSHR(sl, row, way)
	l.mshrs[m].unasked, l.mshrs[m].inRun = true, inRun
	l.wheel.push(event{at: start + l.cfg.LatencyCycles, addr: addr, id: uint32(m), bytes: uint16(l.cfg.LineBytes), kind: llcMemoryRead})
	return true
}

// fetchOn goes on with a run of reads after the first read of a line that was fetched
// ahead of it: as far as PrefetchLines, or by one line if the line had been fetched so.
func (l *LLC) fetchOn(addr uint64, inRun bool, start int64) {
	first := 1
	if inRun {
		first = l.cfg.PrefetchLines
	}
	l.fetchAhead(addr, first, l.cfg.PrefetchLines, true, start)
}

// fetchAhead fetches the lines of memory from the first-th to the last-th behind addr
// that are not there, in the block of memory that addr lies in.
func (l *LLC) fetchAhead(addr uint64, first, last int, inRun bool, start int64) {
	block := uint64(l.cfg.PrefetchBlock - 1)
	for k := first; k <= last; k++ {
		next := addr + uint64(k*l.cfg.LineBytes)
		if next&^block != addr&^block {
			return
		}
		slice, set, tag := l.amap.split(next)
		row := slice*l.sets + set
		if l.tags.sets[row].lookup(tag) < 0 {
			l.fetchUnasked(&l.slices[slice], next, row, tag, inRun, start)
		}
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
