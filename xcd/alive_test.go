package xcd

import (
	"testing"

	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
)

// TestAlive: waves that calculate are alive for computePatience instructions after the last thing
// that only waves that get anywhere do; waves that poll a flag are not, and a store begins the count anew.
func TestAlive(t *testing.T) {
	g := &GPU{prog: &cu.Program{}, stats: make([]cu.Stats, 2)}
	s := &g.stats[1]
	issue := func(valu, lds, scalar uint64) {
		s.IssuedCount[isa.UnitVALU] += valu
		s.IssuedCount[isa.UnitLDS] += lds
		s.IssuedCount[isa.UnitSALU] += scalar
	}
	last := g.alive()
	check := func(what string, want bool) {
		t.Helper()
		n := g.alive()
		if n < last {
			t.Fatalf("%s: falls from %d to %d", what, last, n)
		}
		if (n != last) != want {
			t.Errorf("%s: from %d to %d, alive should be %v", what, last, n, want)
		}
		last = n
	}
	check("nothing issued", false)
	issue(1, 1, 4) // ds_read, s_waitcnt, v_readfirstlane, s_cmp, s_cbranch, s_sleep
	check("a poll", false)
	issue(2, 0, 2)
	check("half of it arithmetic", false)
	issue(3, 0, 2)
	check("arithmetic", true)
	issue(0, 9, 2)
	check("LDS reads", true)
	issue(computePatience, 0, 0)
	check("as much as it may", false)
	issue(100, 0, 0)
	check("more than it may", false)
	s.LDSWriteBytes += 4
	check("a store", true)
	issue(computePatience, 0, 0)
	check("as much again after the store", true)
	issue(1, 0, 0)
	check("one more", false)
	s.Barriers++
	check("a barrier", true)
}
