package tune

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/workloads"
)

// promising is how far above the best form's bound a form's own may be for its
// windows and chunks to be tried: schedules differ by more than the bound knows.
const promising = 1.5

// rank estimates every form with its own order, and all orders of the forms
// that are promising; the best comes first.
func (o *Options) rank(ctx context.Context, forms []*form, m *configs.Machine, mhz float64) ([]*Candidate, error) {
	r := &replays{ctx: ctx, machine: m, threads: max(o.Threads, o.Jobs), known: map[shape]map[Order]*traffic{}}
	var all []*Candidate
	add := func(f *form, orders []Order, own bool) error {
		known, err := r.of(f.shape(), orders)
		if err != nil {
			return err
		}
		for _, order := range orders {
			c := &Candidate{Schedule: f.schedule, Tile: f.tile, Choose: f.choose, Options: byName(f.choose), Window: order.Window, Chunk: order.Chunk, Own: own, form: f}
			c.Estimate = f.estimate(m, mhz, known[order])
			all = append(all, c)
		}
		return nil
	}
	for i, f := range forms {
		r.tell = func(int, int) { o.tell("estimating", int64(i), int64(len(forms))) }
		if err := add(f, []Order{{f.window, f.chunk}}, true); err != nil {
			return nil, err
		}
	}
	least := math.Inf(1)
	for _, c := range all {
		least = min(least, c.Estimate.US)
	}
	for _, own := range slices.Clone(all) {
		if own.Estimate.US > promising*least {
			continue
		}
		f := own.form
		r.tell = func(done, total int) { o.tell("estimating "+f.schedule+" "+f.tile, int64(done), int64(total)) }
		if err := add(f, o.orders(f, m), false); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(a.Estimate.US, b.Estimate.US), cmp.Compare(a.Estimate.memory(), b.Estimate.memory()))
	})
	for i, c := range all {
		c.Rank = i + 1
	}
	return all, nil
}

// byName is a list of settings as JSON shows it.
func byName(list []workloads.Setting) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, s := range list {
		out[s.Name] = s.Value
	}
	return out
}

// mostRows is the highest window that is tried: a taller one leaves the CUs of
// an XCD a column of tiles, which share B alone.
const mostRows = 16

// orders are the windows and chunks that are worth a try, beside the form's own:
// chunks of what an XCD holds at once, of fractions and multiples of it, of whole
// columns of the window, and of the whole grid over the XCDs; and those asked for.
func (o *Options) orders(f *form, m *configs.Machine) []Order {
	cus, most := m.Chip.CUsPerXCD, f.grid.Tiles()/max(1, m.Chip.XCDs)
	var all []Order
	seen := map[Order]bool{{f.window, f.chunk}: true}
	add := func(w Order) {
		if !seen[w] {
			seen[w] = true
			all = append(all, w)
		}
	}
	for w := 1; w <= min(mostRows, f.grid.Rows); w++ {
		chunks := []int{1, cus / 4, cus / 2, cus, 2 * cus, 4 * cus, w * w, w * (cus / w), w * ((cus + w - 1) / w), most / 2, most}
		slices.Sort(chunks)
		for _, c := range slices.Compact(chunks) {
			if c >= 1 && c <= most {
				add(Order{w, c})
			}
		}
	}
	for _, extra := range o.Also {
		if extra.Window <= f.grid.Rows && extra.Chunk <= f.grid.Tiles() {
			add(extra)
		}
	}
	return all
}
