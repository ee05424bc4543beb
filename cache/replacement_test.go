package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// policyModel is a policy spelled out for one set: which slot goes next, and
// what an access to a slot and a new line in it mean.
type policyModel interface {
	victim(held []bool) int
	use(slot int)
	install(slot int)
}

// rripModel is RRIP with a number a way.
type rripModel []int

func (m rripModel) use(slot int)     { m[slot] = 0 }
func (m rripModel) install(slot int) { m[slot] = 2 }
func (m rripModel) victim([]bool) int {
	for {
		if i := slices.Index(m, 3); i >= 0 {
			return i
		}
		for i := range m {
			m[i]++
		}
	}
}

// treeModel is a pseudo-LRU tree: a node over ways [lo, hi) says whether the
// victim is in its upper half.
type treeModel map[[2]int]bool

func (m treeModel) use(slot int) { m.away(slot) }

func (m treeModel) install(slot int) { m.away(slot) }

func (m treeModel) away(slot int) {
	lo, hi := 0, m.ways()
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		m[[2]int{lo, hi}] = slot < mid
		if slot < mid {
			hi = mid
		} else {
			lo = mid
		}
	}
}

func (m treeModel) ways() int {
	n := 0
	for k := range m {
		n = max(n, k[1])
	}
	return n
}

func (m treeModel) victim(held []bool) int {
	if i := slices.Index(held, false); i >= 0 {
		return i
	}
	lo, hi := 0, m.ways()
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if m[[2]int{lo, hi}] {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// The policies evict what their definitions, spelled out, evict.
func TestPoliciesAgainstModels(t *testing.T) {
	for _, ways := range []int{2, 4, 8, 16} {
		for _, policy := range []Replacement{PseudoLRU, RRIP} {
			t.Run(fmt.Sprint(ReplacementNames[policy], ways), func(t *testing.T) {
				tg := newTags(1, ways, policy, 1)
				s := &tg.sets[0]
				var model policyModel = treeModel{{0, ways}: false}
				if policy == RRIP {
					m := make(rripModel, ways)
					for i := range m {
						m[i] = 3
					}
					model = m
				}
				rng := rand.New(rand.NewPCG(uint64(ways), 7))
				held := make([]bool, ways)
				for i := range 20000 {
					tag := uint32(rng.IntN(2*ways + 1))
					if way := s.lookup(tag); way >= 0 {
						tg.use(s, way)
						model.use(way)
						continue
					}
					way, want := tg.victim(s), model.victim(held)
					if way != want {
						t.Fatalf("access %d: victim %d, want %d", i, way, want)
					}
					tg.install(s, way, tag, lineReadable)
					model.install(way)
					held[way] = true
				}
			})
		}
	}
}

// hits replays lines against one set and counts hits.
func hits(policy Replacement, seed uint64, lines []uint32) int {
	tg := newTags(1, 8, policy, seed)
	s, n := &tg.sets[0], 0
	for _, l := range lines {
		if way := s.lookup(l); way >= 0 {
			tg.use(s, way)
			n++
			continue
		}
		tg.install(s, tg.victim(s), l, lineReadable)
	}
	return n
}

// What each policy is known for: a cyclic sweep one line longer than the set
// defeats LRU and static RRIP and leaves random most of it; lines that are used
// between scans survive them under RRIP; recent lines survive under LRU and its
// tree.
func TestPoliciesByPattern(t *testing.T) {
	var sweep, scans, recent []uint32
	for i := range 9000 {
		sweep = append(sweep, uint32(i%9))
	}
	for i := range 1000 {
		// Four lines used twice, then a scan of eight others.
		for range 2 {
			scans = append(scans, 0, 1, 2, 3)
		}
		for j := range 8 {
			scans = append(scans, uint32(100+8*i+j))
		}
		recent = append(recent, uint32(i), uint32(i), uint32(max(0, i-3)))
	}
	count := func(p Replacement, lines []uint32) int { return hits(p, 1, lines) }
	for _, p := range []Replacement{LRU, RRIP} {
		if n := count(p, sweep); n != 0 {
			t.Errorf("sweep: %s hits %d times, want 0", ReplacementNames[p], n)
		}
	}
	if n := count(Random, sweep); n < 4000 {
		t.Errorf("sweep: random hits %d of 9000 times, want more than 4000", n)
	}
	if lru, rrip := count(LRU, scans), count(RRIP, scans); lru > 4100 || rrip < 7900 {
		t.Errorf("scans: LRU hits %d and RRIP %d times, want about 4000 and 8000", lru, rrip)
	}
	for _, p := range []Replacement{LRU, PseudoLRU} {
		if n := count(p, recent); n != 2000 {
			t.Errorf("recent: %s hits %d times, want 2000", ReplacementNames[p], n)
		}
	}
}

// Random is the same for the same seed, another for another, and spreads over
// the ways evenly.
func TestRandomIsSeeded(t *testing.T) {
	var lines []uint32
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		lines = append(lines, uint32(rng.IntN(12)))
	}
	if a, b, c := hits(Random, 1, lines), hits(Random, 1, lines), hits(Random, 2, lines); a != b || a == c {
		t.Errorf("hits %d and %d with one seed, %d with another", a, b, c)
	}
	tg := newTags(1, 8, Random, 3)
	s := &tg.sets[0]
	for w := range 8 {
		tg.install(s, w, uint32(w), lineReadable)
	}
	var n [8]int
	for range 8000 {
		n[tg.victim(s)]++
	}
	for w, c := range n {
		if c < 850 || c > 1150 {
			t.Errorf("way %d goes %d of 8000 times", w, c)
		}
	}
}

// No policy evicts a line in flight.
func TestPoliciesSpareLinesInFlight(t *testing.T) {
	for p := range Replacement(len(ReplacementNames)) {
		tg := newTags(1, 4, p, 1)
		s := &tg.sets[0]
		for w := range 4 {
			tg.install(s, w, uint32(w), lineInFlight)
		}
		if w := tg.victim(s); w != -1 {
			t.Errorf("%s: way %d of a set in flight is the victim", ReplacementNames[p], w)
		}
		s.state[2] = lineReadable
		tg.use(s, 2)
		for range 10 {
			if w := tg.victim(s); w != 2 {
				t.Errorf("%s: victim %d, want 2, the only one not in flight", ReplacementNames[p], w)
			}
		}
	}
}

func TestParseReplacement(t *testing.T) {
	for i, n := range ReplacementNames {
		if r, err := ParseReplacement(n); err != nil || int(r) != i {
			t.Errorf("%s: %v, %v", n, r, err)
		}
	}
	if _, err := ParseReplacement("fifo"); err == nil {
		t.Error("fifo is known")
	}
}
