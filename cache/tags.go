package cache

import (
	"fmt"
	"math/bits"
)

// Line state, one word per way. A line in flight has its miss register in the
// word and its dirty bytes in the register. Dirtiness is a count of bytes: which
// bytes are dirty does not matter to time, only how many travel when the line
// leaves.
const (
	lineDirtyMask = 0xff    // dirty bytes, at most the line size
	lineReadable  = 1 << 8  // every byte is here
	lineInFlight  = 1 << 15 // a fill is on its way; the line cannot be evicted
	lineMSHRMask  = 1<<12 - 1
	lineMSHRLimit = 1 << 12 // miss registers addressable
)

// readable reports that every byte of a line is here. Of a line in flight the bit
// belongs to the number of its miss register.
func readable(state uint16) bool { return state&(lineReadable|lineInFlight) == lineReadable }

// maxTagWays is what one 64-bit LRU word orders.
const maxTagWays = 16

// tagSet is one set, padded to two cache lines of the host: a directory of
// hundreds of megabytes misses the host's caches at every access.
type tagSet struct {
	tag   [maxTagWays]uint32 // tag + 1; 0: invalid
	order uint64             // LRU: way numbers, four bits each, most recent lowest; else see replacement.go
	state [maxTagWays]uint16
	_     [24]byte
}

// tags is a set-associative directory: tags, state and replacement only, as the
// data live in the backing store.
type tags struct {
	ways   int
	policy Replacement
	random uint64 // state of the Random policy
	sets   []tagSet
}

func newTags(sets, ways int, policy Replacement, seed uint64) tags {
	t := tags{ways: ways, policy: policy, random: seed*2 + 1, sets: make([]tagSet, sets)}
	t.reset()
	return t
}

// reset invalidates every line.
func (t *tags) reset() {
	clear(t.sets)
	for i := range t.sets {
		t.sets[i].order = t.policy.initial()
	}
}

// lookup returns the way that holds tag, or -1.
func (s *tagSet) lookup(tag uint32) int {
	for w, v := range &s.tag {
		if v == tag+1 {
			return w
		}
	}
	return -1
}

const nibbleOnes = 0x1111111111111111

// touch makes way the most recently used one.
func (s *tagSet) touch(way int) {
	o := s.order
	if o&0xf == uint64(way) {
		return
	}
	x := o ^ uint64(way)*nibbleOnes
	// The lowest zero nibble of x is the way's place in the order.
	place := uint(bits.TrailingZeros64((x-nibbleOnes)&^x&(nibbleOnes<<3))) &^ 3
	below := uint64(1)<<place - 1
	s.order = o&^(below<<4|0xf) | (o&below)<<4 | uint64(way)
}

// use notes an access to a line.
func (t *tags) use(s *tagSet, way int) {
	if t.policy == LRU {
		s.touch(way)
		return
	}
	t.useOther(s, way)
}

// victim returns the way to be replaced, not one in flight, or -1 when all are.
// Under LRU, ways never used are the least recent ones.
func (t *tags) victim(s *tagSet) int {
	if t.policy != LRU {
		return t.victimOther(s)
	}
	for i := t.ways - 1; i >= 0; i-- {
		w := int(s.order>>(4*uint(i))) & 0xf
		if s.state[w]&lineInFlight == 0 {
			return w
		}
	}
	return -1
}

// install puts a line into a way.
func (t *tags) install(s *tagSet, way int, tag uint32, state uint16) {
	s.tag[way] = tag + 1
	s.state[way] = state
	if t.policy == LRU {
		s.touch(way)
		return
	}
	t.installOther(s, way)
}

// write adds dirty bytes to a line that is not in flight.
func (s *tagSet) write(way, bytes, lineBytes int) {
	state := int(s.state[way])
	dirty := min(state&lineDirtyMask+bytes, lineBytes)
	state = state&^lineDirtyMask | dirty
	if dirty == lineBytes {
		state |= lineReadable
	}
	s.state[way] = uint16(state)
}

// clean makes a line that was written back hold what memory has: a line of which
// only some bytes were written is gone.
func (s *tagSet) clean(way int) {
	if s.state[way]&lineReadable == 0 {
		s.tag[way], s.state[way] = 0, 0
		return
	}
	s.state[way] &^= lineDirtyMask
}

// fetch marks a line as in flight under a miss register, which keeps the dirty
// bytes meanwhile.
func (s *tagSet) fetch(way, index int, m *mshr) {
	m.dirty = s.state[way] & lineDirtyMask
	s.state[way] = lineInFlight | uint16(index)
}

// filled ends a fetch.
func (s *tagSet) filled(way int, m *mshr) {
	s.state[way] = lineReadable | m.dirty
	if m.unasked {
		s.state[way] |= lineUnasked
		if m.inRun {
			s.state[way] |= lineInRun
		}
	}
}

// addressMap splits a line address into bank (channel or slice), set and tag,
// and joins them again. Banks change every interleave bytes. With bankHash the
// bank number is XORed with all the higher groups of as many address bits;
// with setHash the set number is XORed with the higher groups of setFold bits in the
// same way. Both hashes are one to one, so no two lines share a place and tag.
type addressMap struct {
	lineShift, unitShift, bankBits, setBits uint
	setFold                                 uint // see foldWidth
	bankHash, setHash                       bool
	memoryHash                              bool // the banks are an MI300's memory channels; see channelOf
}

// An MI300 has 128 memory channels, which alternate every 256 bytes. Its hash is
// of this shape alone: other numbers of banks, or bytes, are folded.
const (
	memoryBankBits   = 7
	memoryInterleave = 256
)

// channelOf is the place of the seven address bits above 256 bytes in the number of an
// MI300's memory channel, before higher bits are folded in: 16 channels of a stack, whose
// bits the three above them are XORed into, then the stack of an IOD, then the IOD. So a
// page of 4 KiB lies in one stack. Source: AMD's address translation in Linux
// (drivers/ras/amd/atl, MI300's hash), which folds the bits from 32 KiB up as fold does.
func channelOf(low uint64) uint64 {
	above := low >> 4
	return low&15 ^ above | above>>2<<4 | above&3<<5
}

// unitOf is its inverse.
func unitOf(channel uint64) uint64 {
	above := channel>>5 | channel>>4&1<<2
	return channel&15 ^ above | above<<4
}

// foldWidth is the width of the groups that a set's hash folds: the set's own, or
// more where that has a divisor in common with the bank's. Groups of 4 and of 8 bits fold
// to numbers that depend on each other, so that a stride of a power of two would meet few
// of a bank's sets.
func foldWidth(setBits, bankBits uint) uint {
	n := setBits
	for n > 0 && bankBits > 0 && gcd(n, bankBits) != 1 {
		n++
	}
	return n
}

func gcd(a, b uint) uint {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// geometry describes one level of a banked cache.
type geometry struct {
	what                                      string
	bytes, lineBytes, ways, banks, interleave int
	bankHash, setHash, memoryHash             bool
}

func (g geometry) build() (addressMap, int, error) {
	var m addressMap
	for _, v := range []struct {
		name  string
		value int
	}{{"line bytes", g.lineBytes}, {"banks", g.banks}, {"interleave bytes", g.interleave}} {
		if v.value <= 0 || v.value&(v.value-1) != 0 {
			return m, 0, fmt.Errorf("%s: %s must be a power of two, not %d", g.what, v.name, v.value)
		}
	}
	if g.lineBytes > 128 || g.interleave < g.lineBytes {
		return m, 0, fmt.Errorf("%s: lines of %d bytes in an interleave of %d: lines must be at most 128 bytes and fit", g.what, g.lineBytes, g.interleave)
	}
	if g.ways < 1 || g.ways > maxTagWays {
		return m, 0, fmt.Errorf("%s: %d ways; 1 to %d are possible", g.what, g.ways, maxTagWays)
	}
	sets := g.bytes / (g.lineBytes * g.ways * g.banks)
	if sets < 1 || sets&(sets-1) != 0 || sets*g.lineBytes*g.ways*g.banks != g.bytes {
		return m, 0, fmt.Errorf("%s: %d bytes are not a power of two of sets of %d ways of %d bytes in %d banks", g.what, g.bytes, g.ways, g.lineBytes, g.banks)
	}
	m = addressMap{
		lineShift: log2(g.lineBytes),
		unitShift: log2(g.interleave) - log2(g.lineBytes),
		bankBits:  log2(g.banks),
		setBits:   log2(sets),
		bankHash:  g.bankHash,
		setHash:   g.setHash,
	}
	m.memoryHash = g.memoryHash && g.bankHash && m.bankBits == memoryBankBits && g.interleave == memoryInterleave
	m.setFold = foldWidth(m.setBits, m.bankBits)
	return m, sets, nil
}

func log2(v int) uint { return uint(bits.TrailingZeros64(uint64(v))) }

// fold XORs the groups of n bits of x together.
func fold(x uint64, n uint) uint64 {
	if n == 0 {
		return 0
	}
	// In halves: the lower of every two groups takes the other in.
	x ^= x >> (32 * n)
	x ^= x >> (16 * n)
	x ^= x >> (8 * n)
	x ^= x >> (4 * n)
	x ^= x >> (2 * n)
	x ^= x >> n
	return x & (1<<n - 1)
}

// local returns the bank of a line and its number among the bank's lines.
func (m *addressMap) local(addr uint64) (bank int, line uint64) {
	l := addr >> m.lineShift
	unit := l >> m.unitShift
	upper := unit >> m.bankBits
	low := unit & (1<<m.bankBits - 1)
	if m.memoryHash {
		low = channelOf(low)
	}
	if m.bankHash {
		low ^= fold(upper, m.bankBits)
	}
	return int(low), upper<<m.unitShift | l&(1<<m.unitShift-1)
}

// split returns bank, set and tag of a line.
func (m *addressMap) split(addr uint64) (bank, set int, tag uint32) {
	bank, line := m.local(addr)
	set, tag = m.place(line)
	return bank, set, tag
}

// place returns set and tag of a bank's line.
func (m *addressMap) place(line uint64) (set int, tag uint32) {
	t := line >> m.setBits
	s := line & (1<<m.setBits - 1)
	if m.setHash {
		s ^= m.foldTag(t)
	}
	return int(s), uint32(t)
}

// foldTag is what a set's hash XORs the set number with: the bits of a line's number
// from setFold up, in groups of so many.
func (m *addressMap) foldTag(tag uint64) uint64 {
	return fold(tag>>(m.setFold-m.setBits), m.setFold) & (1<<m.setBits - 1)
}

// join is the inverse of split.
func (m *addressMap) join(bank, set int, tag uint32) uint64 {
	t := uint64(tag)
	s := uint64(set)
	if m.setHash {
		s ^= m.foldTag(t)
	}
	line := t<<m.setBits | s
	upper := line >> m.unitShift
	low := uint64(bank)
	if m.bankHash {
		low ^= fold(upper, m.bankBits)
	}
	if m.memoryHash {
		low = unitOf(low)
	}
	unit := upper<<m.bankBits | low
	return (unit<<m.unitShift | line&(1<<m.unitShift-1)) << m.lineShift
}
