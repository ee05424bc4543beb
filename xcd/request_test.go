package xcd

import (
	"math/rand/v2"
	"testing"
)

// TestRequestOrder: the requests of a cycle stand in order of their CUs, and of each
// CU in its own, whether the blocks of CUs are run forwards or backwards.
func TestRequestOrder(t *testing.T) {
	const cus, quantum = 20, 8
	for _, back := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(1, 1))
		x := &XCD{asking: make([]askedAt, quantum), back: back, begin: 1000}
		blocks := (cus + touchedTogether - 1) / touchedTogether
		asked := 0
		for n := range blocks {
			if back {
				n = blocks - 1 - n
			}
			x.block = int32(n) + 1
			for cu := n * touchedTogether; cu < min((n+1)*touchedTogether, cus); cu++ {
				for i := range 200 { // tags rise within a CU
					x.request(x.begin+rng.Int64N(quantum), request{cu: uint8(cu), tag: uint32(i)})
					asked++
				}
			}
		}
		for at := range x.asking {
			cu, tag, last := -1, -1, int32(0)
			for n := x.asking[at].first; n != 0; n = x.requests[n-1].next {
				r := &x.requests[n-1]
				if int(r.cu) < cu || int(r.cu) == cu && int(r.tag) <= tag {
					t.Fatalf("backwards %v, cycle %d: request %d of CU %d after %d of CU %d", back, at, r.tag, r.cu, tag, cu)
				}
				cu, tag, last = int(r.cu), int(r.tag), n
				asked--
			}
			if last != x.asking[at].last {
				t.Errorf("backwards %v, cycle %d: the last request is %d and the list ends at %d", back, at, x.asking[at].last, last)
			}
		}
		if asked != 0 {
			t.Errorf("backwards %v: %d requests are in no list", back, asked)
		}
	}
}
