package cache

import "fmt"

// TLBConfig describes the translation cache of one XCD.
type TLBConfig struct {
	Entries, Ways int
	PageBytes     int // memory that an entry covers
}

// TLB says which pages' translations are at hand. Sets are least recently used
// first out; their index is hashed, so that large strides use all of them.
type TLB struct {
	entries  []tlbEntry // by set, most recently used first
	walk     int64
	ways     int
	shift    uint
	setBits  uint
	lookups  uint64
	misses   uint64
	disabled bool
}

// tlbEntry is a translation.
type tlbEntry struct {
	page  uint64 // and 1; 0: none
	ready int64  // when it is at hand
}

// NewTLB makes an empty TLB that fetches a translation in walk cycles, however
// many are on their way. Without entries every page is at hand.
func NewTLB(c TLBConfig, walk int64) (*TLB, error) {
	if c.Entries == 0 {
		return &TLB{disabled: true}, nil
	}
	if c.Ways < 1 || c.Entries%c.Ways != 0 {
		return nil, fmt.Errorf("TLB: %d entries in %d ways", c.Entries, c.Ways)
	}
	sets := c.Entries / c.Ways
	if sets&(sets-1) != 0 || c.PageBytes < 1 || c.PageBytes&(c.PageBytes-1) != 0 {
		return nil, fmt.Errorf("TLB: %d sets and pages of %d bytes; both must be powers of two", sets, c.PageBytes)
	}
	return &TLB{entries: make([]tlbEntry, c.Entries), walk: walk, ways: c.Ways, shift: log2(c.PageBytes), setBits: log2(sets)}, nil
}

// Lookup returns the cycle from which an address that is wanted at cycle at is
// translated. A missing translation is fetched; who wants it meanwhile waits for
// the same fetch.
func (t *TLB) Lookup(at int64, addr uint64) int64 {
	if t.disabled {
		return at
	}
	t.lookups++
	ready, found := t.touch(addr, at+t.walk)
	if !found {
		t.misses++
	}
	return max(at, ready)
}

// Warm brings the translations of a range, as an earlier launch left them.
func (t *TLB) Warm(base, bytes uint64) {
	if t.disabled || bytes == 0 {
		return
	}
	first, last := base>>t.shift, (base+bytes-1)>>t.shift
	if n := uint64(len(t.entries)); last-first >= n { // what came before is gone
		first = last - n + 1
	}
	for p := first; p <= last; p++ {
		t.touch(p<<t.shift, 0)
	}
}

// touch makes a page the most recently used of its set. It returns when the page
// is at hand, which is fetched when it was not in the set, and whether it was.
func (t *TLB) touch(addr uint64, fetched int64) (ready int64, found bool) {
	page := addr >> t.shift
	set := (page ^ page>>t.setBits ^ page>>(2*t.setBits)) & (1<<t.setBits - 1)
	ways := t.entries[int(set)*t.ways:][:t.ways]
	page++
	if ways[0].page == page {
		return ways[0].ready, true
	}
	i := 1
	for i < len(ways) && ways[i].page != page {
		i++
	}
	ready, found = fetched, i < len(ways)
	if found {
		ready = ways[i].ready
	} else {
		i = len(ways) - 1
	}
	copy(ways[1:i+1], ways[:i])
	ways[0] = tlbEntry{page, ready}
	return ready, found
}

// Counts returns lookups and misses since the last reset.
func (t *TLB) Counts() (lookups, misses uint64) { return t.lookups, t.misses }

// ResetStats clears the counts.
func (t *TLB) ResetStats() { t.lookups, t.misses = 0, 0 }
