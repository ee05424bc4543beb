package cache

import "testing"

// A range as large as the TLB's reach stays in it; twice as large, passed over in
// order, leaves nothing to find.
func TestTLBReach(t *testing.T) {
	const page, entries = 4096, 16384
	for _, c := range []struct{ pages, misses int }{{entries, 0}, {2 * entries, 2 * entries}} {
		tlb, err := NewTLB(TLBConfig{Entries: entries, Ways: 16, PageBytes: page}, 100)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			tlb.ResetStats()
			for p := range c.pages {
				tlb.Lookup(0, uint64(p)*page+128)
			}
		}
		if lookups, misses := tlb.Counts(); int(lookups) != c.pages || int(misses) != c.misses {
			t.Errorf("%d pages again: %d lookups, %d misses, want %d", c.pages, lookups, misses, c.misses)
		}
	}
}

// Least recently used goes first, and a warm range counts as used.
func TestTLBReplacement(t *testing.T) {
	tlb, err := NewTLB(TLBConfig{Entries: 2, Ways: 2, PageBytes: 4096}, 100)
	if err != nil {
		t.Fatal(err)
	}
	tlb.Warm(0, 2*4096)
	for _, c := range []struct {
		page uint64
		hit  bool
	}{{0, true}, {2, false}, {0, true}, {1, false}, {2, false}} {
		at := int64(1000)
		if got := tlb.Lookup(at, c.page<<12) == at; got != c.hit {
			t.Errorf("page %d: %v, want %v", c.page, got, c.hit)
		}
	}
}

// Who wants a page whose translation is under way waits for it, not longer.
func TestTLBWalks(t *testing.T) {
	tlb, err := NewTLB(TLBConfig{Entries: 16, Ways: 4, PageBytes: 4096}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at   int64
		addr uint64
		want int64
	}{{10, 0, 110}, {20, 128, 110}, {30, 4096, 130}, {115, 256, 115}, {120, 4224, 130}} {
		if got := tlb.Lookup(c.at, c.addr); got != c.want {
			t.Errorf("address %d at %d: translated at %d, want %d", c.addr, c.at, got, c.want)
		}
	}
}

func TestTLBConfig(t *testing.T) {
	for _, c := range []TLBConfig{{Entries: 3, Ways: 2, PageBytes: 4096}, {Entries: 12, Ways: 2, PageBytes: 4096}, {Entries: 4, Ways: 2, PageBytes: 3000}} {
		if _, err := NewTLB(c, 1); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	none, err := NewTLB(TLBConfig{}, 1)
	if err != nil || none.Lookup(5, 1<<40) != 5 {
		t.Errorf("no TLB: %v", err)
	}
}
