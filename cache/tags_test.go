package cache

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// lruModel is true LRU spelled out: the most recent line first.
type lruModel struct {
	sets [][]uint32
	ways int
}

func (m *lruModel) access(set int, tag uint32) (hit bool, evicted uint32) {
	s := m.sets[set]
	if i := slices.Index(s, tag); i >= 0 {
		s = slices.Delete(s, i, i+1)
		hit = true
	} else if len(s) == m.ways {
		evicted = s[len(s)-1]
		s = s[:len(s)-1]
	}
	m.sets[set] = slices.Insert(s, 0, tag)
	return hit, evicted
}

func TestTagsAreTrueLRU(t *testing.T) {
	for _, ways := range []int{1, 2, 3, 4, 8, 15, 16} {
		const sets = 8
		tg := newTags(sets, ways, LRU, 0)
		model := lruModel{make([][]uint32, sets), ways}
		rng := rand.New(rand.NewPCG(uint64(ways), 3))
		for i := range 50000 {
			set, tag := rng.IntN(sets), uint32(1+rng.IntN(2*ways+1))
			hit, evicted := model.access(set, tag)
			way := tg.sets[set].lookup(tag)
			if (way >= 0) != hit {
				t.Fatalf("%d ways, access %d: hit %v, want %v", ways, i, way >= 0, hit)
			}
			if hit {
				tg.sets[set].touch(way)
				continue
			}
			way = tg.victim(&tg.sets[set])
			if old := tg.sets[set].tag[way]; old != 0 && old-1 != evicted || old == 0 && evicted != 0 {
				t.Fatalf("%d ways, access %d: evicts %d, want %d", ways, i, old-1, evicted)
			}
			tg.install(&tg.sets[set], way, tag, lineReadable)
		}
	}
}

func TestVictimIsNotInFlight(t *testing.T) {
	tg := newTags(1, 4, LRU, 0)
	for w := range 4 {
		tg.install(&tg.sets[0], w, uint32(w), lineInFlight)
	}
	if w := tg.victim(&tg.sets[0]); w != -1 {
		t.Errorf("way %d of a set in flight is the victim", w)
	}
	tg.sets[0].state[2] = lineReadable
	if w := tg.victim(&tg.sets[0]); w != 2 {
		t.Errorf("victim is %d, want 2, the only line not in flight", w)
	}
}

func TestAddressMapIsOneToOne(t *testing.T) {
	for _, g := range []geometry{
		{what: "plain", bytes: 1 << 16, lineBytes: 128, ways: 4, banks: 8, interleave: 256},
		{what: "hashed banks", bytes: 1 << 16, lineBytes: 128, ways: 4, banks: 8, interleave: 256, bankHash: true},
		{what: "hashed sets", bytes: 1 << 16, lineBytes: 64, ways: 2, banks: 4, interleave: 64, setHash: true},
		{what: "both", bytes: 4 << 20, lineBytes: 128, ways: 16, banks: 16, interleave: 4096, bankHash: true, setHash: true},
		{what: "an MI300's memory", bytes: 1 << 22, lineBytes: 128, ways: 4, banks: 128, interleave: 256, bankHash: true, memoryHash: true},
		{what: "one bank", bytes: 1 << 15, lineBytes: 128, ways: 16, banks: 1, interleave: 128, bankHash: true, setHash: true},
	} {
		m, sets, err := g.build()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[[3]uint64]uint64{}
		for i := range uint64(1 << 15) {
			addr := i * uint64(g.lineBytes) * (1 + i%3*1001)
			bank, set, tag := m.split(addr)
			if bank >= g.banks || set >= sets {
				t.Fatalf("%s: line %#x goes to bank %d set %d", g.what, addr, bank, set)
			}
			if back := m.join(bank, set, tag); back != addr {
				t.Fatalf("%s: line %#x comes back as %#x", g.what, addr, back)
			}
			k := [3]uint64{uint64(bank), uint64(set), uint64(tag)}
			if old, ok := seen[k]; ok && old != addr {
				t.Fatalf("%s: lines %#x and %#x share a place", g.what, old, addr)
			}
			seen[k] = addr
		}
	}
}

// TestMemoryChannels: each address bit moves the bits of the channel's number that AMD's address
// translation in Linux has for it.
func TestMemoryChannels(t *testing.T) {
	const stack, die0, die1 = 1 << 4, 1 << 5, 1 << 6
	g := geometry{what: "LLC", bytes: 256 << 20, lineBytes: 128, ways: 16, banks: 128, interleave: 256, bankHash: true, memoryHash: true}
	m, _, err := g.build()
	if err != nil {
		t.Fatal(err)
	}
	for bit, want := range map[int]int{7: 0, 8: 1, 9: 2, 10: 4, 11: 8, 12: 1 | die0, 13: 2 | die1, 14: 4 | stack,
		15: 1, 16: 2, 17: 4, 18: 8, 19: stack, 20: die0, 21: die1, 22: 1, 25: 8, 26: stack, 27: die0, 28: die1, 29: 1, 35: die1} {
		if got, _ := m.local(1 << bit); got != want {
			t.Errorf("address bit %d: channel %#b, want %#b", bit, got, want)
		}
	}
	g.interleave = 4096
	if m, _, _ = g.build(); m.memoryHash {
		t.Error("the hash is that of 256 bytes a channel, not of 4096")
	}
}

// TestHashSpreadsStrides: a stride of a power of two that meets one bank or set
// without the hash must meet all with it.
func TestHashSpreadsStrides(t *testing.T) {
	for _, hash := range []bool{false, true} {
		m, _, err := geometry{what: "L2", bytes: 4 << 20, lineBytes: 128, ways: 16, banks: 16, interleave: 256, bankHash: hash, setHash: hash}.build()
		if err != nil {
			t.Fatal(err)
		}
		banks, places := map[int]bool{}, map[[2]int]bool{}
		for i := range uint64(2048) {
			bank, set, _ := m.split(i << 14)
			banks[bank] = true
			places[[2]int{bank, set}] = true
		}
		if !hash && len(banks) != 1 || hash && len(banks) != 16 {
			t.Errorf("hash %v: a stride of 16 KiB meets %d banks", hash, len(banks))
		}
		if !hash && len(places) > 64 || hash && len(places) < 512 {
			t.Errorf("hash %v: a stride of 16 KiB meets %d sets", hash, len(places))
		}
	}
}

// TestHashesAreIndependent: with both hashes as many lines as there are sets, at strides of powers of
// two, meet at least a quarter of them, at every size of the cache.
func TestHashesAreIndependent(t *testing.T) {
	for bytes := 64 << 10; bytes <= 32<<20; bytes *= 2 {
		m, sets, err := geometry{what: "L2", bytes: bytes, lineBytes: 128, ways: 16, banks: 16, interleave: 256, bankHash: true, setHash: true}.build()
		if err != nil {
			t.Fatal(err)
		}
		for _, stride := range []uint64{4096, 8192, 16384, 32768} {
			places := map[[2]int]bool{}
			n := 16 * sets
			for i := range uint64(n) {
				bank, set, _ := m.split(i * stride)
				places[[2]int{bank, set}] = true
			}
			if got := len(places); got < n/4 {
				t.Errorf("%d KiB: %d lines %d bytes apart meet %d of %d places", bytes>>10, n, stride, got, n)
			}
		}
	}
}

// The default geometry folds in the width of its sets, as it always did.
func TestFoldWidth(t *testing.T) {
	for _, c := range []struct{ sets, banks, want uint }{{7, 4, 7}, {4, 4, 5}, {8, 4, 9}, {6, 4, 7}, {0, 4, 0}, {3, 0, 3}, {10, 7, 10}} {
		if got := foldWidth(c.sets, c.banks); got != c.want {
			t.Errorf("%d bits of sets, %d of banks: %d, want %d", c.sets, c.banks, got, c.want)
		}
	}
}

func TestGeometryErrors(t *testing.T) {
	good := geometry{what: "L2", bytes: 1 << 16, lineBytes: 128, ways: 4, banks: 8, interleave: 256}
	if _, _, err := good.build(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*geometry){
		"line":       func(g *geometry) { g.lineBytes = 96 },
		"banks":      func(g *geometry) { g.banks = 6 },
		"interleave": func(g *geometry) { g.interleave = 64 },
		"ways":       func(g *geometry) { g.ways = 17 },
		"bytes":      func(g *geometry) { g.bytes = 1<<16 + 128 },
		"zero":       func(g *geometry) { g.bytes = 0 },
	} {
		g := good
		change(&g)
		if _, _, err := g.build(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
