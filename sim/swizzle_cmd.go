package sim

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/swizzle"
	"github.com/whisker-sim/whisker/xcd"
)

// SwizzleOptions is a block order on a grid of tiles, which is given itself or
// by a GEMM's sizes and tile.
type SwizzleOptions struct {
	Arch, Machine string
	Set           []string

	Grid    string // ROWSxCOLUMNS; "" is by M, N and Tile
	M, N, K int
	Tile    string // MxN
	DType   string

	Order         string // one of swizzle.Names
	Window, Chunk *int   // nil: the order's own
}

// sizeLimit bounds M, N and K; every published size is far below.
const sizeLimit = 1 << 20

// elementBits and the K step of a data type: a step is a line of 128 bytes a
// row, or as much of it as a 6 or 4 bit type fills.
var elementBits = map[string]struct{ bits, step int }{
	"bf16": {16, 64}, "fp16": {16, 64}, "fp8": {8, 128}, "fp6": {6, 128}, "fp4": {4, 256},
}

// swizzleDTypes are the data types that a block order is judged for.
var swizzleDTypes = []string{"bf16", "fp16", "fp8", "fp6", "fp4"}

// blocks is a resolved SwizzleOptions.
type blocks struct {
	machine      *configs.Machine
	grid         swizzle.Grid
	tileM, tileN int
	order        swizzle.Order
}

// resolve loads the machine and finds the grid and the order.
func (o *SwizzleOptions) resolve() (*blocks, error) {
	r, err := LoadMachine(o.Arch, o.Machine, o.Set)
	if err != nil {
		return nil, err
	}
	b := &blocks{machine: r.Machine()}
	if o.Grid != "" {
		if b.grid.Rows, b.grid.Cols, err = twoSizes("--grid", o.Grid, "rows x columns of tiles, such as 48x36"); err != nil {
			return nil, err
		}
	} else {
		if b.tileM, b.tileN, err = twoSizes("--tile", o.Tile, "rows x columns, such as 192x256"); err != nil {
			return nil, err
		}
		for _, v := range []struct {
			flag  string
			value int
		}{{"--m", o.M}, {"--n", o.N}} {
			if v.value < 1 || v.value > sizeLimit {
				return nil, usagef("%s is %d; it must be from 1 to %d", v.flag, v.value, sizeLimit)
			}
		}
		b.grid = swizzle.Grid{Rows: (o.M + b.tileM - 1) / b.tileM, Cols: (o.N + b.tileN - 1) / b.tileN}
	}
	b.order = swizzle.Order{Kind: swizzle.Kind(o.Order), XCDs: b.machine.Chip.XCDs}
	if err := oneOf("--order", o.Order, swizzle.Names()); err != nil {
		return nil, err
	}
	return b, b.setOrder(o.Window, o.Chunk)
}

// setOrder fills the window and the chunk, by default HipKittens' 8 and 64 as
// far as the grid allows, and refuses an order that the grid does not have.
func (b *blocks) setOrder(window, chunk *int) error {
	k := b.order.Kind
	switch {
	case window != nil && !k.Windowed():
		return usagef("order %s has no window: leave --window out", k)
	case chunk != nil && k != swizzle.Remap:
		return usagef("order %s has no chunk: leave --chunk out", k)
	}
	if k.Windowed() {
		b.order.Window = min(8, b.grid.Rows)
		if window != nil {
			b.order.Window = *window
		}
	}
	if k == swizzle.Remap {
		b.order.Chunk = min(64, b.grid.Tiles())
		if chunk != nil {
			b.order.Chunk = *chunk
		}
	}
	if err := b.order.Check(b.grid); err != nil {
		return &UsageError{err}
	}
	return nil
}

// twoSizes reads two sizes.
func twoSizes(flag, s, what string) (int, int, error) {
	var m, n int
	switch {
	case tilePattern.MatchString(s):
	case sizesPattern.MatchString(s):
		return 0, 0, usagef("%s is %q; each size must be from 1 to 99999", flag, s)
	default:
		return 0, 0, usagef("%s is %q; write it as %s", flag, s, what)
	}
	fmt.Sscanf(s, "%dx%d", &m, &n)
	return m, n, nil
}

// SwizzleMap is what SwizzleShow writes as JSON.
type SwizzleMap struct {
	Grid      [2]int         `json:"grid"` // rows, columns
	Order     string         `json:"order"`
	Window    int            `json:"window"`
	Chunk     int            `json:"chunk"`
	XCDs      int            `json:"xcds"`
	Tiles     int            `json:"tiles"`
	Bijective bool           `json:"bijective"`
	Tail      int            `json:"tail"` // workgroups that the remap leaves in place
	Blocks    []SwizzleBlock `json:"blocks"`
}

// SwizzleBlock is one workgroup's place.
type SwizzleBlock struct {
	Workgroup int `json:"workgroup"`
	XCD       int `json:"xcd"`
	Row       int `json:"row"`
	Col       int `json:"col"`
}

// SwizzleShow writes which XCD computes which tile, the first workgroups only
// when first is above 0, and a picture of it to the PNG file picture.
func SwizzleShow(w io.Writer, o SwizzleOptions, first int, picture, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	if first < 0 {
		return usagef("--first is %d; it must not be negative", first)
	}
	b, err := o.resolve()
	if err != nil {
		return err
	}
	tiles, err := b.order.Map(b.grid)
	if err != nil {
		return err
	}
	if first == 0 || first > len(tiles) {
		first = len(tiles)
	}
	xcdOf := func(wg int) int { return xcd.XCDOf(b.machine, wg, len(tiles)) }
	if picture != "" {
		var png bytes.Buffer
		if err := swizzle.PNG(&png, b.grid, tiles[:first], xcdOf); err != nil {
			return err
		}
		if err := writeWhole(picture, png.Bytes()); err != nil {
			return err
		}
	}
	m := SwizzleMap{Grid: [2]int{b.grid.Rows, b.grid.Cols}, Order: string(b.order.Kind), Window: b.order.Window, Chunk: b.order.Chunk,
		XCDs: b.order.XCDs, Tiles: len(tiles), Bijective: true, Tail: b.order.Tail(b.grid)}
	t := report.Table{Header: []string{"workgroup", "xcd", "row", "col"}}
	for wg, at := range tiles[:first] {
		m.Blocks = append(m.Blocks, SwizzleBlock{wg, xcdOf(wg), at.Row, at.Col})
		t.Add(wg, xcdOf(wg), at.Row, at.Col)
	}
	if format != "table" {
		return writeRows(w, format, &t, m)
	}
	_, err = io.WriteString(w, m.text(b))
	return err
}

// text is the map with a letter or a digit for an XCD; a dot is a tile of a
// later workgroup.
func (m *SwizzleMap) text(b *blocks) string {
	const names = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+*"
	rows := make([][]byte, b.grid.Rows)
	for i := range rows {
		rows[i] = bytes.Repeat([]byte("."), b.grid.Cols)
	}
	share := make([]int, m.XCDs)
	for _, t := range m.Blocks {
		rows[t.Row][t.Col] = names[t.XCD%len(names)]
		share[t.XCD]++
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s on %s tiles, %d XCDs; bijective: every tile is computed once\n", b.order, b.grid, m.XCDs)
	if m.Tail > 0 {
		fmt.Fprintf(&s, "tail: the last %d of %d workgroups keep their place", m.Tail, m.Tiles)
		if m.Tail == m.Tiles {
			fmt.Fprintf(&s, ": a round of %d chunks is longer than the grid, so no chunk is given to an XCD", m.XCDs)
		}
		s.WriteString("\n")
	}
	fmt.Fprintf(&s, "tiles of an XCD: %d to %d of the %d workgroups shown\n\n", slices.Min(share), slices.Max(share), len(m.Blocks))
	for _, r := range rows {
		s.Write(r)
		s.WriteByte('\n')
	}
	return s.String()
}
