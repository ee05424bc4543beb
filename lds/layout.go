package lds

import (
	"fmt"
	"slices"
	"strings"
)

// Layout is the storage shape of a HipKittens shared tile: a row-major grid of
// subtiles, each contiguous, with a swizzle on the byte offset inside a subtile
// (HipKittens shared-tile shapes, main branch; the FP6 forms
// from its fp6_experimental branch).
type Layout struct {
	Name         string `json:"name"`
	Rows         int    `json:"rows"`          // of a subtile
	Cols         int    `json:"cols"`          // elements in a row of a subtile
	ElemBits     int    `json:"elem_bits"`     // storage per element
	RowBytes     int    `json:"row_bytes"`     // distance of rows in a subtile
	SubtileBytes int    `json:"subtile_bytes"` // distance of subtiles
	SwizzleText  string `json:"swizzle"`       // the rule in words; "none"

	// TileRows are the rows of the register tile that reads this layout: lane l
	// reads row l % TileRows.
	TileRows int `json:"tile_rows"`
	// SlotBytes and LaneBytes are set for formats whose lane owns more than one
	// access: read r of a lane is at LaneBytes*(l/TileRows) + SlotBytes*r.
	SlotBytes int `json:"slot_bytes,omitempty"`
	LaneBytes int `json:"lane_bytes,omitempty"`

	swizzle func(o int) int
}

// bitSwizzle XORs a field of the offset, the bits from to to+width-1 of
// o % modulus downwards shifted to position at: o ^= ((o % modulus) >> from) << at.
func bitSwizzle(modulus, from, at int) func(int) int {
	return func(o int) int { return o ^ o%modulus>>from<<at }
}

var layouts = []Layout{
	{Name: "st_16x16", Rows: 16, Cols: 16, ElemBits: 16, RowBytes: 32, SubtileBytes: 512, TileRows: 16, SwizzleText: "none"},
	{Name: "st_16x16_swizzled", Rows: 16, Cols: 16, ElemBits: 16, RowBytes: 32, SubtileBytes: 512, TileRows: 16,
		SwizzleText: "o ^= ((o % 512) >> 7) << 3", swizzle: bitSwizzle(512, 7, 3)},
	{Name: "st_8x32", Rows: 8, Cols: 32, ElemBits: 16, RowBytes: 64, SubtileBytes: 512, TileRows: 16, SwizzleText: "none"},
	{Name: "st_16x32", Rows: 16, Cols: 32, ElemBits: 16, RowBytes: 64, SubtileBytes: 1024, TileRows: 16,
		SwizzleText: "o ^= ((o % 1024) >> 9) << 5", swizzle: bitSwizzle(1024, 9, 5)},
	{Name: "st_32x16", Rows: 32, Cols: 16, ElemBits: 16, RowBytes: 32, SubtileBytes: 1024, TileRows: 32,
		SwizzleText: "o ^= ((o % 1024) >> 9) << 4", swizzle: bitSwizzle(1024, 9, 4)},
	{Name: "st_32x32", Rows: 32, Cols: 32, ElemBits: 16, RowBytes: 64, SubtileBytes: 2048, TileRows: 32,
		SwizzleText: "o ^= ((o % 1024) >> 9) << 5, o ^= ((o % 2048) >> 10) << 4",
		swizzle: func(o int) int {
			return bitSwizzle(2048, 10, 4)(bitSwizzle(1024, 9, 5)(o))
		}},
	{Name: "st_16x128_fp8", Rows: 16, Cols: 128, ElemBits: 8, RowBytes: 128, SubtileBytes: 2048, TileRows: 16,
		SwizzleText: "o ^= ((o % 2048) >> 8) << 4", swizzle: bitSwizzle(2048, 8, 4)},
	// FP6 loaded by dwordx3: a byte slot per element, 12 of each 16 bytes used.
	{Name: "st_16x128_fp6", Rows: 16, Cols: 128, ElemBits: 8, RowBytes: 128, SubtileBytes: 2048, TileRows: 16,
		SlotBytes: 16, LaneBytes: 32,
		SwizzleText: "o ^= ((o % 1024) >> 7) << 4", swizzle: bitSwizzle(1024, 7, 4)},
	// FP6 loaded by dwordx4: packed rows of 96 bytes.
	{Name: "st_16x128_fp6_packed", Rows: 16, Cols: 128, ElemBits: 6, RowBytes: 96, SubtileBytes: 1536, TileRows: 16,
		SlotBytes: 8, LaneBytes: 24,
		SwizzleText: "rows 8 to 15: the two 48-byte halves swapped", swizzle: swapHalves},
	// The CDNA3 shared tile is one 256x64 subtile, swizzled by LDS address.
	{Name: "st_cdna3", Rows: 256, Cols: 64, ElemBits: 16, RowBytes: 128, SubtileBytes: 32768, TileRows: 16,
		SwizzleText: "a ^= ((a % 2048) >> 7) << 3", swizzle: bitSwizzle(2048, 7, 3)},
}

func swapHalves(o int) int {
	const row, subtile = 96, 1536
	if in := o % subtile; in/row < 8 {
		return o
	} else if in%row < row/2 {
		return o + row/2
	}
	return o - row/2
}

// Layouts lists the shared-tile layouts.
func Layouts() []Layout { return slices.Clone(layouts) }

// LayoutByName returns a layout, or an error that lists the names.
func LayoutByName(name string) (*Layout, error) {
	var names []string
	for i := range layouts {
		if layouts[i].Name == name {
			l := layouts[i]
			return &l, nil
		}
		names = append(names, layouts[i].Name)
	}
	return nil, fmt.Errorf("unknown layout %q: known are %s", name, strings.Join(names, ", "))
}

// Swizzled reports whether the layout permutes offsets at all.
func (l *Layout) Swizzled() bool { return l.swizzle != nil }

// Swizzle maps the byte offset of an element in the unswizzled tile to where it
// is stored. It permutes every subtile and is its own inverse.
func (l *Layout) Swizzle(o int) int {
	if l.swizzle == nil {
		return o
	}
	return l.swizzle(o)
}

// Offset returns the unswizzled byte offset of byte col of a row in a tile
// gridCols subtiles wide; rows and columns beyond the first subtile continue in
// its neighbours.
func (l *Layout) Offset(row, col, gridCols int) int {
	sub := row/l.Rows*gridCols + col/l.RowBytes
	return sub*l.SubtileBytes + row%l.Rows*l.RowBytes + col%l.RowBytes
}

// gridCols is the width in subtiles of the tile that the access builder
// assumes: 128 bytes (64 bf16), the K tile of the kernels, or one subtile.
// Subtiles are multiples of a bank row apart, so it does not change conflicts.
func (l *Layout) gridCols() int { return max(1, 128/l.RowBytes) }

// Accesses is the number of accesses of kind k with which a wave takes a
// register tile as wide as a subtile, or fills 1024 bytes.
func (l *Layout) Accesses(k Kind) int {
	switch {
	case k.Write():
		return max(1, 16/k.Bytes())
	case l.LaneBytes > 0:
		return l.LaneBytes / l.SlotBytes
	}
	return max(1, l.RowBytes*l.TileRows/(Lanes*k.Bytes()))
}

// Access returns the unswizzled byte offsets of the 64 lanes for access number
// n of a register tile.
//
// A read is in row layout: lane l takes row l % TileRows and the access-wide
// column group l / TileRows. A transposing read (ds_read_b64_tr_b16) is in
// column layout: of 16 lanes, four take each of four rows of the contracted
// dimension, and the 16-lane groups spread over columns, then over rows, as the
// operands of the 16x16x32 and 32x32x16 matrix instructions want them. A write
// is a fill: lane l stores the 16 bytes at 16*l, in pieces of the access.
func (l *Layout) Access(k Kind, n int) ([Lanes]int, error) {
	var off [Lanes]int
	if count := l.Accesses(k); n < 0 || n >= count {
		return off, fmt.Errorf("access %d of %s: a tile takes %d of %s, numbered from 0", n, l.Name, count, k)
	}
	if l.SlotBytes > 0 && !k.Write() && k.Bytes() > l.SlotBytes {
		return off, fmt.Errorf("%s: a lane's pieces are %d bytes apart, too close for %s", l.Name, l.SlotBytes, k)
	}
	switch {
	case k.Write():
		for i := range off {
			off[i] = 16*i + n*k.Bytes()
		}
	case k == ReadB64Tr:
		wide := l.Cols / 16 // 16-lane groups side by side
		if l.ElemBits != 16 || wide != 1 && wide != 2 {
			return off, fmt.Errorf("%s: no column-layout read is defined for it", l.Name)
		}
		for i := range off {
			g, t := i/16, i%16
			off[i] = l.Offset(8*(g/wide)+4*(n%2)+t/4, 32*(g%wide)+8*(t%4), l.gridCols())
		}
	case k == ReadB96Tr:
		return off, fmt.Errorf("%s: no column-layout read of %s is defined", l.Name, k)
	default:
		slot, lane := Lanes/l.TileRows*k.Bytes(), k.Bytes()
		if l.LaneBytes > 0 {
			slot, lane = l.SlotBytes, l.LaneBytes
		}
		for i := range off {
			off[i] = l.Offset(i%l.TileRows, slot*n+lane*(i/l.TileRows), l.gridCols())
		}
	}
	return off, nil
}

// Addresses returns the LDS byte addresses of access n, with or without the
// swizzle. A swizzle that tears a lane's bytes apart is an error.
func (l *Layout) Addresses(k Kind, n int, swizzle bool) ([Lanes]uint32, error) {
	var addr [Lanes]uint32
	off, err := l.Access(k, n)
	if err != nil {
		return addr, err
	}
	for i, o := range off {
		if swizzle {
			at := l.Swizzle(o)
			for b := 1; b < k.Bytes(); b++ {
				if l.Swizzle(o+b) != at+b {
					return addr, fmt.Errorf("%s swizzles pieces smaller than the %d bytes of %s: lane %d's data is not contiguous",
						l.Name, k.Bytes(), k, i)
				}
			}
			o = at
		}
		addr[i] = uint32(o)
	}
	return addr, nil
}
