package cu

// lineCache is a small set-associative tag store with true LRU: the
// instruction and the scalar data cache.
type lineCache struct {
	tags  []uint64 // line number + 1; 0 empty
	used  []uint64
	ways  int
	sets  uint64
	shift uint
	clock uint64
}

func newLineCache(bytes, ways, line int) *lineCache {
	c := &lineCache{ways: ways, sets: uint64(max(bytes/line/ways, 1))}
	for 1<<c.shift < line {
		c.shift++
	}
	c.tags = make([]uint64, int(c.sets)*ways)
	c.used = make([]uint64, int(c.sets)*ways)
	return c
}

func (c *lineCache) set(addr uint64) (lo int, tag uint64) {
	n := addr >> c.shift
	return int(n%c.sets) * c.ways, n + 1
}

// lookup reports a hit and renews the line's age.
func (c *lineCache) lookup(addr uint64) bool {
	lo, tag := c.set(addr)
	for i := lo; i < lo+c.ways; i++ {
		if c.tags[i] == tag {
			c.clock++
			c.used[i] = c.clock
			return true
		}
	}
	return false
}

// insert puts a line in place of the least recently used one of its set.
func (c *lineCache) insert(addr uint64) {
	lo, tag := c.set(addr)
	victim := lo
	for i := lo; i < lo+c.ways; i++ {
		if c.tags[i] == tag {
			return
		}
		if c.used[i] < c.used[victim] {
			victim = i
		}
	}
	c.clock++
	c.tags[victim], c.used[victim] = tag, c.clock
}

// Shared holds what two neighbouring CUs share: instruction and scalar cache.
type Shared struct {
	icache *lineCache
	scalar *lineCache
}

// NewShared builds the caches of a pair of CUs.
func NewShared(s *Spec) *Shared {
	return &Shared{
		icache: newLineCache(s.ICacheBytes, s.ICacheWays, s.ICacheLine),
		scalar: newLineCache(s.ScalarCacheBytes, s.ScalarWays, s.ScalarLine),
	}
}

// WarmCode fills the instruction cache with a kernel's code, as an earlier
// launch of the same kernel leaves it.
func (s *Shared) WarmCode(p *Program, spec *Spec) {
	last := &p.Kernel.Insts[len(p.Kernel.Insts)-1]
	for a := uint64(0); a < uint64(last.PC)+uint64(last.Size); a += uint64(spec.ICacheLine) {
		s.icache.insert(p.Code + a)
	}
}
