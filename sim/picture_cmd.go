package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/whisker-sim/whisker/report/picture"
	"github.com/whisker-sim/whisker/report/timeline"
	"github.com/whisker-sim/whisker/swizzle"
)

// pictures are the drawings that --picture takes, by name.
var pictures = map[string]func(w io.Writer, r *timeline.Recording) error{
	"timeline": picture.Timeline,
	"tile":     drawTile,
	"chiplets": drawChiplets,
	"first256": drawFirst256,
}

// PictureNames are the names of the drawings.
func PictureNames() []string { return slices.Sorted(maps.Keys(pictures)) }

// drawTile is the paper's Figure 4: HipKittens' 16x32 bf16 tile.
func drawTile(w io.Writer, r *timeline.Recording) error {
	for i := range r.Layouts {
		if v := &r.Layouts[i]; v.Layout == "st_16x32" && v.On != nil && v.On.Conflicts < v.Off.Conflicts {
			return picture.Tile(w, v)
		}
	}
	return fmt.Errorf("picture: no access of the tile st_16x32 gains from its swizzle on %s", r.Run.Machine.CPU)
}

// drawChiplets is the run's own grid, every tile by the XCD that computed it.
func drawChiplets(w io.Writer, r *timeline.Recording) error {
	o := picture.Order{Name: fmt.Sprintf("%d workgroups", len(r.Groups)), Rows: r.Grid.Rows, Cols: r.Grid.Cols}
	for _, g := range r.Groups {
		o.Tiles = append(o.Tiles, picture.Placed{Row: g.Row, Col: g.Col, XCD: g.XCD})
	}
	return picture.Chiplets(w, r.Run.Kernel+" on "+r.Run.Arch+": output tiles by XCD", []picture.Order{o})
}

// drawFirst256 is the paper's picture of the first 256 tiles that are dispatched,
// one for each CU, in the block orders of its Table 4 on eight XCDs.
func drawFirst256(w io.Writer, _ *timeline.Recording) error {
	const xcds, first = 8, 256
	var orders []picture.Order
	for _, g := range []struct {
		size, rows, cols int
		orders           [][2]int // W, C
	}{
		{9216, 48, 36, [][2]int{{0, 0}, {7, 216}, {5, 25}}},
		{14592, 76, 57, [][2]int{{0, 0}, {8, 542}, {8, 64}}},
	} {
		for _, o := range g.orders {
			name := "row-major"
			if o != [2]int{} {
				name = fmt.Sprintf("W %d, C %d", o[0], o[1])
			}
			p := picture.Order{Name: fmt.Sprintf("%d: %s", g.size, name), Rows: g.rows, Cols: g.cols}
			for i := range first {
				t := swizzle.Order{Kind: swizzle.Remap, Window: o[0], Chunk: o[1], XCDs: xcds}.Place(i, swizzle.Grid{Rows: g.rows, Cols: g.cols})
				p.Tiles = append(p.Tiles, picture.Placed{Row: t.Row, Col: t.Col, XCD: i % xcds})
			}
			orders = append(orders, p)
		}
	}
	return picture.Chiplets(w, "The first 256 tiles by XCD, GEMM with 192x256 tiles on 8 XCDs", orders)
}

// checkPictures refuses drawings that do not exist.
func checkPictures(want map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if pictures[name] == nil {
			return usagef("unknown --picture %q: choose %s", name, orList(PictureNames()))
		}
		if strings.TrimSpace(want[name]) == "" {
			return usagef("--picture %s needs a file: --picture %s=FILE.svg", name, name)
		}
	}
	return nil
}

// drawPictures writes drawings.
func drawPictures(r *timeline.Recording, want map[string]string, notices io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if err := to(func(w io.Writer) error { return pictures[name](w, r) })(want[name]); err != nil {
			return err
		}
		wrote(notices, want[name])
	}
	return nil
}
