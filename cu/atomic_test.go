package cu

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
)

// TestSameWord: lanes of an atomic that meet in one word, line by line.
func TestSameWord(t *testing.T) {
	for _, c := range []struct {
		name  string
		lanes uint64
		addr  func(lane int) uint64
		want  []uint8
	}{
		{"consecutive dwords", ^uint64(0), func(l int) uint64 { return 0x1000 + uint64(l)*4 }, []uint8{1, 1}},
		{"one word", ^uint64(0), func(l int) uint64 { return 0x1004 }, []uint8{64}},
		{"a histogram of four words in two lines", ^uint64(0), func(l int) uint64 { return 0x1000 + uint64(l%4)*64 }, []uint8{16, 16}},
		{"half of the lanes on one word", 0xffffffff, func(l int) uint64 { return 0x1010 }, []uint8{32}},
		{"one lane", 1, func(l int) uint64 { return 0x1234 }, []uint8{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &CU{spec: &Spec{TCP: cache.TCPSpec{LineBytes: 128}}, scratch: make([]cache.Lines, 1)}
			a := &isa.Access{Lanes: c.lanes, Bytes: 4}
			for i := range a.Addr {
				a.Addr[i] = c.addr(i)
			}
			var op cache.MemOp
			l := u.coalesce(a, &op)
			sameWord(l, a, op.Base, 128)
			if d := cmp.Diff(c.want, l.Same); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
