package isa

import "testing"

// TestKernargIsReadInWideLoads: the segment reaches to the end of its last 64
// bytes, and no further.
func TestKernargIsReadInWideLoads(t *testing.T) {
	for _, c := range []struct{ args, size uint64 }{{0, 64}, {1, 64}, {60, 64}, {64, 64}, {65, 128}} {
		l := &Launch{Memory: NewMemory(), Kernarg: make([]byte, c.args)}
		at := l.PlaceKernarg()
		if _, ok := l.Memory.Find(at, c.size); !ok {
			t.Errorf("%d bytes of arguments: the %d from their start on cannot be read", c.args, c.size)
		}
		if _, ok := l.Memory.Find(at, c.size+1); ok {
			t.Errorf("%d bytes of arguments: more than %d from their start on can be read", c.args, c.size)
		}
	}
}
