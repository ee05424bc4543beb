package cu

import (
	"math/bits"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
)

// maxLine is the most bytes that a line of the vector L1 may have.
const maxLine = 128

// sameWord counts for every line of an atomic the most lanes that address one
// word of it: the L2 takes them through that word one by one.
func sameWord(l *cache.Lines, a *isa.Access, base, line uint64) {
	var lanes [isa.Lanes]uint64
	n := 0
	for m := a.Lanes; m != 0; m &= m - 1 {
		lanes[n] = a.Addr[bits.TrailingZeros64(m)] - base
		n++
	}
	for _, off := range l.Offset {
		var words [maxLine / 4]uint8
		most := uint8(0)
		for _, x := range lanes[:n] {
			if d := x - off; d < line {
				words[d/4]++
				most = max(most, words[d/4])
			}
		}
		l.Same = append(l.Same, most)
	}
}
