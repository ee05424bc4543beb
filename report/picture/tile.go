package picture

import (
	"fmt"
	"io"

	"github.com/whisker-sim/whisker/report/html"
	"github.com/whisker-sim/whisker/report/timeline"
)

// Tile draws one access of an LDS layout with its swizzle off and on: which lane's
// data lies where, in which phase it is served, and what collides.
func Tile(w io.Writer, v *timeline.LayoutView) error {
	if v.On == nil {
		return fmt.Errorf("picture: %s has no swizzle for %s", v.Layout, v.Op)
	}
	s := newSVG(940, 470, fmt.Sprintf("%s, %s: swizzle off and on", v.Layout, v.Op))
	s.text(10, 20, "start", "#1b1f27", fmt.Sprintf("%s by %s: lane and first bank of each piece, coloured by phase", v.Layout, v.Op), ` font-size="14" font-weight="bold"`)
	s.tile(10, v, v.Off, "swizzle off")
	s.tile(480, v, v.On, "swizzle on: "+v.SwizzleText)
	return s.writeTo(w)
}

func (s *svg) tile(x0 float64, v *timeline.LayoutView, a *timeline.LDSAccess, title string) {
	const left, cell, row = 48, 96, 20
	s.text(x0, 44, "start", "#1b1f27", title, ` font-weight="bold"`)
	fill, words := "#12604a", fmt.Sprintf("%d bank cycles, no conflict", a.Service)
	if a.Conflicts > 0 {
		fill, words = "#aa1111", fmt.Sprintf("%d bank cycles, %d conflicts", a.Service, a.Conflicts)
	}
	s.text(x0, 62, "start", fill, words, ` font-weight="bold"`)
	rows := 0
	for lane, at := range a.Addresses {
		r, c := int(at)/v.RowBytes, float64(int(at)%v.RowBytes)/float64(a.Bytes)
		rows = max(rows, r+1)
		colour := html.XCDColours[a.Phase[lane]%len(html.XCDColours)]
		x, y := x0+left+c*cell, 74+float64(r)*row
		s.rect(x, y, cell-1, row-1, colour, "")
		s.text(x+cell/2, y+14, "middle", onColour(colour), fmt.Sprintf("lane %d  b%d", lane, int(at)/4%a.Banks), ` font-size="11"`)
	}
	for r := range rows {
		s.text(x0, 74+float64(r)*row+14, "start", "#5a6270", fmt.Sprintf("row %d", r), ` font-size="11"`)
	}
	s.collisions(x0, 74+float64(rows)*row+12, a)
}

// collisions draws how many distinct requests each phase has in each bank group.
func (s *svg) collisions(x0, y0 float64, a *timeline.LDSAccess) {
	groups := max(a.Banks*4/a.Unit, 1)
	phases := 0
	for _, p := range a.Phase {
		phases = max(phases, p+1)
	}
	seen := make([]map[uint32]bool, phases*groups)
	for lane, at := range a.Addresses {
		u := at / uint32(a.Unit)
		i := a.Phase[lane]*groups + int(u)%groups
		if seen[i] == nil {
			seen[i] = map[uint32]bool{}
		}
		seen[i][u] = true
	}
	cell := min(384/float64(groups), 24)
	for p := range phases {
		y := y0 + float64(p)*16
		s.text(x0, y+12, "start", "#5a6270", fmt.Sprintf("phase %d", p), ` font-size="11"`)
		for g := range groups {
			n := len(seen[p*groups+g])
			fill := [...]string{"#f4f5f7", "#9db7e8", "#c8500a", "#7a1f00"}[min(n, 3)]
			x := x0 + 48 + float64(g)*cell
			s.rect(x, y, cell-1, 15, fill, "")
			if n > 0 && cell >= 8 {
				s.text(x+cell/2, y+12, "middle", onColour(fill), fmt.Sprint(n), ` font-size="10"`)
			}
		}
	}
}
