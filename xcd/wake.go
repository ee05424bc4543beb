package xcd

import (
	"math/bits"

	"github.com/whisker-sim/whisker/cache"
)

const (
	wakeSlots = 1024 // cycles ahead that have a slot
	wakeMask  = wakeSlots - 1
)

// wakeQueue holds the next cycle of each CU. A slot per cycle has one bit per
// CU, so the CUs of a cycle come out in order of their number whatever order
// they were entered in. Bits of a wake-up that was moved stay behind and are
// skipped.
type wakeQueue struct {
	base   int64
	at     []int64
	bits   [wakeSlots / 64]uint64
	slots  [wakeSlots]uint64
	far    uint64 // CUs beyond the slots
	farMin int64
}

func newWakeQueue(cus int) *wakeQueue {
	w := &wakeQueue{at: make([]int64, cus), farMin: cache.Never}
	for i := range w.at {
		w.at[i] = cache.Never
	}
	return w
}

// set enters the next cycle of a CU, which replaces the one before.
func (w *wakeQueue) set(cu int, at int64) {
	if w.at[cu] == at {
		return
	}
	w.at[cu] = at
	switch {
	case at == cache.Never:
	case at-w.base >= wakeSlots:
		w.far |= 1 << cu
		w.farMin = min(w.farMin, at)
	default:
		s := uint(at) & wakeMask
		w.slots[s] |= 1 << cu
		w.bits[s>>6] |= 1 << (s & 63)
	}
}

// next returns the earliest cycle with a CU to step, or cache.Never. It may
// return a cycle of which take then finds nothing.
func (w *wakeQueue) next() int64 {
	start := uint(w.base) & wakeMask
	word := start >> 6
	m := w.bits[word] &^ (1<<(start&63) - 1)
	for i := uint(0); i <= uint(len(w.bits)); i++ {
		if m != 0 {
			s := word<<6 | uint(bits.TrailingZeros64(m))
			return min(w.farMin, w.base+int64((s-start)&wakeMask))
		}
		word = (word + 1) % uint(len(w.bits))
		m = w.bits[word]
	}
	return w.farMin
}

// take returns the CUs to step at cycle now, as bits, and moves on to it.
func (w *wakeQueue) take(now int64) uint64 {
	w.base = now
	s := uint(now) & wakeMask
	m := w.slots[s]
	w.slots[s] = 0
	w.bits[s>>6] &^= 1 << (s & 63)
	if now >= w.farMin {
		m |= w.takeFar(now)
	}
	due := m
	for m != 0 {
		cu := bits.TrailingZeros64(m)
		m &= m - 1
		if w.at[cu] != now {
			due &^= 1 << cu
		} else {
			w.at[cu] = cache.Never
		}
	}
	return due
}

func (w *wakeQueue) takeFar(now int64) uint64 {
	var due uint64
	w.farMin = cache.Never
	for m := w.far; m != 0; m &= m - 1 {
		cu := bits.TrailingZeros64(m)
		at := w.at[cu]
		switch {
		case at == now:
			due |= 1 << cu
			w.far &^= 1 << cu
		case at-now < wakeSlots: // moved nearer, and so in a slot already, or due within the slots
			w.far &^= 1 << cu
			s := uint(at) & wakeMask
			w.slots[s] |= 1 << cu
			w.bits[s>>6] |= 1 << (s & 63)
		case at == cache.Never:
			w.far &^= 1 << cu
		default:
			w.farMin = min(w.farMin, at)
		}
	}
	return due
}
