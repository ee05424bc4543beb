package cu

import (
	"math"
	"testing"
	"unsafe"
)

// TestUopSize: what is read and written at every issue is one line of the host's
// cache each.
func TestUopSize(t *testing.T) {
	for _, c := range []struct {
		what string
		size uintptr
	}{{"uop", unsafe.Sizeof(uop{})}, {"row", unsafe.Sizeof(row{})}} {
		if c.size != 64 {
			t.Errorf("%s has %d bytes, want 64", c.what, c.size)
		}
	}
}

// TestRowOverflow: counts that do not fit a row are in the total.
func TestRowOverflow(t *testing.T) {
	s := &Stats{Inst: make([]InstStats, 2), rows: make([]row, 2)}
	const big = 5 << 31
	want := InstStats{Hits: math.MaxUint32 + 3, Issued: 4 * (math.MaxUint32 + 3), Conflicts: 2 * big, Service: big + 7, Lines: math.MaxUint32 + 1}
	want.Stall[StallMatrix] = 3 * big
	s.rows[1].hits = math.MaxUint32
	for range 3 {
		s.addHit(1)
		s.addStall(1, StallMatrix, big)
	}
	s.addLDS(1, big, 7)
	s.addLDS(1, big, big)
	s.addLines(1, math.MaxUint32)
	s.addLines(1, 1)
	for range 2 { // settling twice counts once
		s.settle(4)
		if s.Inst[1] != want {
			t.Errorf("settled to %+v, want %+v", s.Inst[1], want)
		}
	}
	if s.Inst[0] != (InstStats{}) || s.rows[1] != (row{}) {
		t.Errorf("the other row has %+v, and %+v is left", s.Inst[0], s.rows[1])
	}
}
