package picture

import (
	"fmt"
	"io"

	"github.com/whisker-sim/whisker/report/html"
)

// Placed is an output tile and the XCD that computes it.
type Placed struct{ Row, Col, XCD int }

// Order is a grid of tiles in a block order, with those that are coloured: the
// first ones dispatched.
type Order struct {
	Name       string
	Rows, Cols int
	Tiles      []Placed
}

// Chiplets draws block orders side by side, three in a row, tiles coloured by
// XCD.
func Chiplets(w io.Writer, title string, orders []Order) error {
	const width, panel, gap, tallest = 960, 300, 16, 260
	if len(orders) == 0 {
		return fmt.Errorf("picture: no block order is given")
	}
	height := 40.0
	tops := make([]float64, len(orders))
	for i := 0; i < len(orders); i += 3 {
		tall := 0.0
		for j := i; j < min(i+3, len(orders)); j++ {
			tops[j] = height
			tall = max(tall, panel/float64(max(orders[j].Cols, 1))*float64(orders[j].Rows))
		}
		height += min(tall, tallest) + 40
	}
	s := newSVG(width, int(height)+30, title)
	s.text(10, 22, "start", "#1b1f27", title, ` font-size="14" font-weight="bold"`)
	xcds := 0
	for i, o := range orders {
		x0, y0 := 10+float64(i%3)*(panel+gap), tops[i]+18
		s.text(x0, tops[i]+12, "start", "#1b1f27", o.Name, "")
		cell := min(panel/float64(max(o.Cols, 1)), tallest/float64(max(o.Rows, 1)), 40)
		s.rect(x0, y0, cell*float64(o.Cols), cell*float64(o.Rows), "#f0f1f4", "")
		for _, t := range o.Tiles {
			fill := html.XCDColours[t.XCD%len(html.XCDColours)]
			x, y := x0+float64(t.Col)*cell, y0+float64(t.Row)*cell
			s.rect(x, y, cell, cell, fill, ` stroke="#ffffff" stroke-width="0.4"`)
			if cell >= 8 {
				s.text(x+cell/2, y+cell/2+min(cell*0.28, 4), "middle", onColour(fill), fmt.Sprint(t.XCD), fmt.Sprintf(` font-size="%s"`, num(min(cell*0.75, 11))))
			}
			xcds = max(xcds, t.XCD+1)
		}
	}
	for x := range xcds {
		at := 10 + float64(x)*80
		s.rect(at, height, 18, 12, html.XCDColours[x%len(html.XCDColours)], ` stroke="#999999" stroke-width="0.5"`)
		s.text(at+22, height+11, "start", "#1b1f27", fmt.Sprintf("XCD %d", x), "")
	}
	return s.writeTo(w)
}
