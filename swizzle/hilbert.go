package swizzle

// hilbert walks a grid of any size along a Hilbert curve: a rectangle is cut
// into two when it is long, into three as in the square's curve otherwise, with
// even parts where possible so that the pieces join end to end. Consecutive
// tiles are neighbours, diagonal ones where an odd side leaves no other way.
func hilbert(g Grid) []Tile {
	h := walk{tiles: make([]Tile, 0, g.Tiles())}
	if g.Cols >= g.Rows {
		h.rect(vec{}, vec{x: g.Cols}, vec{y: g.Rows})
	} else {
		h.rect(vec{}, vec{y: g.Rows}, vec{x: g.Cols})
	}
	return h.tiles
}

// vec is a step: x along a row, y along a column.
type vec struct{ x, y int }

func (a vec) add(b vec) vec   { return vec{a.x + b.x, a.y + b.y} }
func (a vec) sub(b vec) vec   { return vec{a.x - b.x, a.y - b.y} }
func (a vec) neg() vec        { return vec{-a.x, -a.y} }
func (a vec) length() int     { return abs(a.x + a.y) } // one of them is 0
func (a vec) unit() vec       { return vec{sign(a.x), sign(a.y)} }
func (a vec) times(n int) vec { return vec{a.x * n, a.y * n} }

// half is half of a, rounded down, made even when the whole is longer than 2.
func (a vec) half() vec {
	n := a.length() / 2
	if n%2 == 1 && a.length() > 2 {
		n++
	}
	return a.unit().times(n)
}

type walk struct{ tiles []Tile }

// rect walks the rectangle spanned by a, the direction of travel, and b, from
// its corner at.
func (h *walk) rect(at, a, b vec) {
	w, d := a.length(), b.length()
	if d == 1 || w == 1 {
		step, n := a.unit(), w
		if w == 1 {
			step, n = b.unit(), d
		}
		for range n {
			h.tiles = append(h.tiles, Tile{Row: at.y, Col: at.x})
			at = at.add(step)
		}
		return
	}
	if 2*w > 3*d {
		a1 := a.half()
		h.rect(at, a1, b)
		h.rect(at.add(a1), a.sub(a1), b)
		return
	}
	a1 := a.unit().times(w / 2)
	b1 := b.half()
	// Up, across, and down again.
	h.rect(at, b1, a1)
	h.rect(at.add(b1), a, b.sub(b1))
	h.rect(at.add(a.sub(a.unit())).add(b1.sub(b.unit())), b1.neg(), a.sub(a1).neg())
}

func abs(v int) int {
	if v < 0 {
		return -v
	}
	return v
}

func sign(v int) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}
