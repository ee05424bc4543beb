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
	pages    []uint64 // page + 1 by set, most recently used first
	ways     int
	shift    uint
	setBits  uint
	lookups  uint64
	misses   uint64
	disabled bool
}

// NewTLB makes an empty TLB. Without entries every page is at hand.
func NewTLB(c TLBConfig) (*TLB, error) {
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
	return &TLB{pages: make([]uint64, c.Entries), ways: c.Ways, shift: log2(c.PageBytes), setBits: log2(sets)}, nil
}

// Lookup reports whether the translation of an address is at hand, and brings it
// when it is not.
func (t *TLB) Lookup(addr uint64) bool {
	if t.disabled {
		return true
	}
	t.lookups++
	if t.touch(addr) {
		return true
	}
	t.misses++
	return false
}

// Warm brings the translations of a range, as an earlier launch left them.
func (t *TLB) Warm(base, bytes uint64) {
	if t.disabled || bytes == 0 {
		return
	}
	first, last := base>>t.shift, (base+bytes-1)>>t.shift
	if n := uint64(len(t.pages)); last-first >= n { // what came before is gone
		first = last - n + 1
	}
	for p := first; p <= last; p++ {
		t.touch(p << t.shift)
	}
}

// touch makes a page the most recently used of its set and reports whether it
// was in it.
func (t *TLB) touch(addr uint64) bool {
	page := addr >> t.shift
	set := (page ^ page>>t.setBits ^ page>>(2*t.setBits)) & (1<<t.setBits - 1)
	ways := t.pages[int(set)*t.ways:][:t.ways]
	page++
	if ways[0] == page {
		return true
	}
	found := false
	before := page
	for i, p := range ways {
		ways[i], before = before, p
		if p == page {
			found = true
			break
		}
	}
	return found
}

// Counts returns lookups and misses since the last reset.
func (t *TLB) Counts() (lookups, misses uint64) { return t.lookups, t.misses }

// ResetStats clears the counts.
func (t *TLB) ResetStats() { t.lookups, t.misses = 0, 0 }
