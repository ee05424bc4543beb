package cache

import "fmt"

// Replacement chooses which line of a full set goes.
type Replacement uint8

// The policies. What the hardware has in L2 and LLC is not documented.
const (
	LRU       Replacement = iota // the least recently used line
	PseudoLRU                    // a binary tree of bits, each pointing away from the last access
	Random                       // any line, from a seeded generator
	RRIP                         // static re-reference interval prediction with two bits (Jaleel et al., ISCA 2010)
)

// ReplacementNames are the policies' names in a machine file.
var ReplacementNames = []string{"lru", "pseudo_lru", "random", "rrip"}

// ParseReplacement finds a policy by name; "" is LRU.
func ParseReplacement(name string) (Replacement, error) {
	for i, n := range ReplacementNames {
		if n == name {
			return Replacement(i), nil
		}
	}
	if name == "" {
		return LRU, nil
	}
	return LRU, fmt.Errorf("replacement %q; lru, pseudo_lru, random and rrip exist", name)
}

// initial is the replacement word of an empty set.
func (r Replacement) initial() uint64 {
	switch r {
	case LRU:
		return 0xfedcba9876543210
	case RRIP:
		return rripAll // every way is distant, so that empty ones go first
	}
	return 0
}

// check refuses a number of ways that a policy cannot order.
func (r Replacement) check(what string, ways int) error {
	if r == PseudoLRU && ways&(ways-1) != 0 {
		return fmt.Errorf("%s: pseudo-LRU is a tree over a power of two of ways, not %d", what, ways)
	}
	return nil
}

// A prediction of RRIP is two bits a way: 0 soon, 3 distant. A line comes in at
// 2, a hit makes it 0, and a distant one goes; when there is none all age.
const (
	rripDistant = 3
	rripInsert  = 2
	rripOnes    = 0x55555555
	rripAll     = 0xffffffff
)

func (s *tagSet) predict(way, value int) {
	shift := 2 * uint(way)
	s.order = s.order&^(3<<shift) | uint64(value)<<shift
}

func (t *tags) useOther(s *tagSet, way int) {
	switch t.policy {
	case PseudoLRU:
		t.pointAway(s, way)
	case RRIP:
		s.predict(way, 0)
	}
}

func (t *tags) installOther(s *tagSet, way int) {
	switch t.policy {
	case PseudoLRU:
		t.pointAway(s, way)
	case RRIP:
		s.predict(way, rripInsert)
	}
}

// pointAway sets the bits on the way's path through the tree, node 1 its root
// and 2n and 2n+1 the children of n, to the other side.
func (t *tags) pointAway(s *tagSet, way int) {
	node := uint(1)
	for half := t.ways / 2; half > 0; half /= 2 {
		if way&half != 0 {
			s.order &^= 1 << node
			node = 2*node + 1
		} else {
			s.order |= 1 << node
			node *= 2
		}
	}
}

// victimOther is victim of a policy that is not LRU. A way that was never used
// goes first.
func (t *tags) victimOther(s *tagSet) int {
	free := -1
	for w := range t.ways {
		if s.state[w]&lineInFlight != 0 {
			continue
		}
		if s.tag[w] == 0 {
			return w
		}
		free = w
	}
	if free < 0 {
		return -1
	}
	var w int
	switch t.policy {
	case PseudoLRU:
		node := uint(1)
		for half := t.ways / 2; half > 0; half /= 2 {
			bit := s.order >> node & 1
			w += half * int(bit)
			node = 2*node + uint(bit)
		}
	case Random:
		// xorshift64: the same seed and the same requests, the same victims.
		t.random ^= t.random << 13
		t.random ^= t.random >> 7
		t.random ^= t.random << 17
		w = int(t.random >> 33 % uint64(t.ways))
	case RRIP:
		return t.distant(s)
	}
	for s.state[w]&lineInFlight != 0 {
		w = (w + 1) % t.ways
	}
	return w
}

// distant returns the first distant way that is not in flight, and ages the set
// until there is one. Lines in flight age as well: they are as far from reuse.
func (t *tags) distant(s *tagSet) int {
	for {
		for w := range t.ways {
			if s.order>>(2*uint(w))&3 == rripDistant && s.state[w]&lineInFlight == 0 {
				return w
			}
		}
		// One more for every way that is not distant: x+1 where x < 3.
		low, high := s.order&rripOnes, s.order>>1&rripOnes
		s.order += ^(low & high) & rripOnes
	}
}
