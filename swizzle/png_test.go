package swizzle

import (
	"bytes"
	"image/png"
	"testing"
)

// A picture has every tile in its XCD's colour, and the tiles of later
// workgroups in grey.
func TestPNG(t *testing.T) {
	g := Grid{3, 5}
	tiles, err := Order{Kind: RowMajor, XCDs: 4}.Map(g)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := PNG(&b, g, tiles[:11], func(wg int) int { return wg % 4 }); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	for wg, at := range tiles {
		want := Colour(wg%4, 4)
		if wg >= 11 {
			want = later
		}
		r, g, bl, _ := img.At(at.Col*cell+cell/2, at.Row*cell+cell/2).RGBA()
		if uint8(r) != want.R || uint8(g) != want.G || uint8(bl) != want.B {
			t.Errorf("workgroup %d: colour %x %x %x, want %v", wg, r>>8, g>>8, bl>>8, want)
		}
	}
}

// The colours of up to 64 XCDs are all different.
func TestColoursDiffer(t *testing.T) {
	for _, n := range []int{1, 8, 9, 64} {
		seen := map[[3]uint8]int{}
		for x := range n {
			c := Colour(x, n)
			k := [3]uint8{c.R, c.G, c.B}
			if before, ok := seen[k]; ok {
				t.Errorf("%d XCDs: %d and %d are both %v", n, before, x, k)
			}
			seen[k] = x
		}
	}
}
