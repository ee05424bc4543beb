package suite

import (
	"math"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/codeobj"
)

func TestLaunches(t *testing.T) {
	for suite, want := range map[string]int{"triton": 10, "clang": 10} {
		l, err := Launches(suite)
		if err != nil || len(l) != want {
			t.Errorf("suite %s has %d launches, want %d: %v", suite, len(l), want, err)
		}
	}
	if _, err := Launches("rocm"); err == nil {
		t.Error("a suite that is not there has launches")
	}
}

func TestExtract(t *testing.T) {
	dir := t.TempDir()
	if err := Extract(dir); err != nil {
		t.Fatal(err)
	}
	f, err := codeobj.Open(dir + "/objects/hand.gfx950.co")
	if err != nil || f.CPU != isa.GFX950 {
		t.Errorf("%v", err)
	}
}

// The comparison sees one wrong value, a missing one and one that is no number.
func TestSameSees(t *testing.T) {
	want := []float64{1, 2, 3, 4}
	for _, c := range []struct {
		got   []float32
		least float64
	}{
		{[]float32{1, 2, 3.5, 4}, 0.1},
		{[]float32{1, 2, float32(math.NaN()), 4}, 1},
		{[]float32{1, 2, 3, float32(math.Inf(1))}, 1},
	} {
		h := &Host{}
		same(h, "x", c.got, want)
		if h.err != nil || !(h.worst > c.least) {
			t.Errorf("%v: error %g, %v", c.got, h.worst, h.err)
		}
	}
	h := &Host{}
	if same(h, "x", []int32{1, 2, 3, 5}, want); !(h.worst > 1) {
		t.Errorf("a wrong integer: error %g", h.worst)
	}
	h = &Host{}
	if same(h, "x", []float32{1}, want); h.err == nil {
		t.Error("a missing value is no error")
	}
	h = &Host{}
	if same(h, "x", []float32{1, 2, 3, 4}, want); h.err != nil || h.worst != 0 || h.values != 4 {
		t.Errorf("equal values: %g, %v", h.worst, h.err)
	}
}

// The S-box and the key schedule against FIPS 197's own tables.
func TestAESTables(t *testing.T) {
	box := sbox()
	for i, want := range map[int]byte{0: 0x63, 1: 0x7c, 0x53: 0xed, 0xff: 0x16} {
		if box[i] != want {
			t.Errorf("S-box at %#x is %#x, want %#x", i, box[i], want)
		}
	}
	key := []byte{0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
		0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4}
	if w := expandKey(key, box); w[8] != 0x9ba35411 || w[59] != 0x706c631e {
		t.Errorf("key schedule gives %#x and %#x", w[8], w[59])
	}
}
