package swizzle

import (
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
)

// cell is the width of a tile in a picture, one pixel of it a gap, and maxSide
// the widest picture: the tiles of a large grid are drawn smaller.
const (
	cell    = 12
	maxSide = 4096
)

// later is the colour of tiles that later workgroups compute.
var later = color.RGBA{0xe6, 0xe6, 0xe6, 0xff}

// Colour is an XCD's colour: Okabe and Ito's, which the colour blind can tell
// apart, for the first eight and hues spread evenly for more.
func Colour(xcd, xcds int) color.RGBA {
	if xcds <= len(okabe) {
		return okabe[xcd]
	}
	h := 6 * float64(xcd) / float64(xcds)
	f := func(n float64) uint8 {
		k := math.Mod(n+h, 6)
		return uint8(230 * (1 - 0.75*max(0, min(k, 4-k, 1))))
	}
	return color.RGBA{f(5), f(3), f(1), 0xff}
}

var okabe = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0x56, 0xb4, 0xe9, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0xf0, 0xe4, 0x42, 0xff}, {0x33, 0x33, 0x33, 0xff},
}

// Image draws a grid: tiles[n], of workgroup n, in the colour of its XCD. The
// tiles of no workgroup given stay grey.
func Image(g Grid, tiles []Tile, xcdOf func(wg int) int) *image.RGBA {
	side := max(1, min(cell, maxSide/max(g.Rows, g.Cols)))
	gap := 0
	if side > 3 {
		gap = 1
	}
	xcds := 1
	for wg := range tiles {
		xcds = max(xcds, xcdOf(wg)+1)
	}
	colours := make([]color.RGBA, g.Tiles())
	for i := range colours {
		colours[i] = later
	}
	for wg, t := range tiles {
		colours[t.Row*g.Cols+t.Col] = Colour(xcdOf(wg), xcds)
	}
	img := image.NewRGBA(image.Rect(0, 0, g.Cols*side+gap, g.Rows*side+gap))
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			c := color.RGBA{0xff, 0xff, 0xff, 0xff}
			if gap == 0 || x%side != 0 && y%side != 0 {
				c = colours[y/side*g.Cols+x/side]
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

// PNG writes Image as a PNG file.
func PNG(w io.Writer, g Grid, tiles []Tile, xcdOf func(wg int) int) error {
	return png.Encode(w, Image(g, tiles, xcdOf))
}
