package cu

import "github.com/whisker-sim/whisker/cache"

// vmemTurn orders the SIMDs that wait for an entry of the vector-memory queue:
// an entry that frees belongs to the SIMD that has waited longest, whose own
// arbitration picks the wave. Four waves that keep the queue full get an
// instruction through every 64 cycles each (GT v8 4.3: 16 cycles an instruction,
// 64 a wave when four share). Without turns an entry would go to whichever SIMD
// the sequencer visits next, and since entries free at multiples of four cycles
// that would always be the same one.
type vmemTurn struct {
	simds [maxSIMDs]uint8 // waiting, in order
	n     int
	in    [maxSIMDs]bool
}

// maxSIMDs bounds a CU's SIMDs.
const maxSIMDs = 16

// mayTake reports whether a SIMD may use one of free entries now; if not, it
// joins those that wait.
func (t *vmemTurn) mayTake(simd, free int) bool {
	for i := range min(t.n, free) {
		if int(t.simds[i]) == simd {
			return true
		}
	}
	if t.in[simd] {
		return false
	}
	if t.n < free {
		return true
	}
	t.simds[t.n], t.in[simd] = uint8(simd), true
	t.n++
	return false
}

// took ends a SIMD's turn, if it waited for one.
func (t *vmemTurn) took(simd int) (waited bool) {
	if !t.in[simd] {
		return false
	}
	t.in[simd] = false
	k := 0
	for _, s := range t.simds[:t.n] {
		if int(s) != simd {
			t.simds[k] = s
			k++
		}
	}
	t.n = k
	return true
}

// wakeVMEM lets the SIMDs look again that have free entries of the queue coming
// to them.
func (c *CU) wakeVMEM() {
	free := c.tcp.Free()
	for _, si := range c.turn.simds[:min(c.turn.n, free)] {
		c.wakeWaiting(&c.simds[si], c.now)
	}
}

// wakeWaiting lets the waves of a SIMD that wait for an entry look again.
func (c *CU) wakeWaiting(s *simd, at int64) {
	for _, sl := range s.order {
		if s.until[sl] == cache.Never && s.waves[sl].reason == StallVMEMQueue {
			c.wake(s.waves[sl], at)
		}
	}
}
