package cache

import "testing"

// A range as large as the TLB's reach stays in it; twice as large, passed over in
// order, leaves nothing to find.
func TestTLBReach(t *testing.T) {
	const page, entries = 4096, 16384
	for _, c := range []struct{ pages, misses int }{{entries, 0}, {2 * entries, 2 * entries}} {
		tlb, err := NewTLB(TLBConfig{Entries: entries, Ways: 16, PageBytes: page})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			tlb.ResetStats()
			for p := range c.pages {
				tlb.Lookup(uint64(p)*page + 128)
			}
		}
		if lookups, misses := tlb.Counts(); int(lookups) != c.pages || int(misses) != c.misses {
			t.Errorf("%d pages again: %d lookups, %d misses, want %d", c.pages, lookups, misses, c.misses)
		}
	}
}

// Least recently used goes first, and a warm range counts as used.
func TestTLBReplacement(t *testing.T) {
	tlb, err := NewTLB(TLBConfig{Entries: 2, Ways: 2, PageBytes: 4096})
	if err != nil {
		t.Fatal(err)
	}
	tlb.Warm(0, 2*4096)
	for _, c := range []struct {
		page uint64
		hit  bool
	}{{0, true}, {2, false}, {0, true}, {1, false}, {2, false}} {
		if got := tlb.Lookup(c.page << 12); got != c.hit {
			t.Errorf("page %d: %v, want %v", c.page, got, c.hit)
		}
	}
}

func TestTLBConfig(t *testing.T) {
	for _, c := range []TLBConfig{{Entries: 3, Ways: 2, PageBytes: 4096}, {Entries: 12, Ways: 2, PageBytes: 4096}, {Entries: 4, Ways: 2, PageBytes: 3000}} {
		if _, err := NewTLB(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	none, err := NewTLB(TLBConfig{})
	if err != nil || !none.Lookup(1<<40) {
		t.Errorf("no TLB: %v", err)
	}
}
