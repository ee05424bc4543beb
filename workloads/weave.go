package workloads

import (
	"slices"
)

// weave is a stretch of code whose instructions have places on a common line:
// matrix instruction i stands at i, others between. It is how a schedule says
// which memory operation goes under which matrix instruction.
type weave struct {
	ops []placed
}

type placed struct {
	at float64
	f  func()
}

// put places f.
func (w *weave) put(at float64, f func()) { w.ops = append(w.ops, placed{at, f}) }

// spread places n operations from at on, step apart.
func (w *weave) spread(at, step float64, n int, f func(i int)) {
	for i := range n {
		w.put(at+float64(i)*step, func() { f(i) })
	}
}

// emit emits everything in order; what has the same place keeps the order in
// which it was put.
func (w *weave) emit() {
	slices.SortStableFunc(w.ops, func(a, b placed) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	for _, o := range w.ops {
		o.f()
	}
}
