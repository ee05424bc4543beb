package sim

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// table5Rows are HipKittens' Table 5: banks and phases of LDS instructions of
// gfx950, from their solvers' raw counters. The model's phases are these very
// measurements, so that the rows are no predictions of the phases: what they show
// is that the solvers find them again from conflict counts of simulated kernels.
var table5Rows = []struct {
	op            string
	banks, phases int
}{
	{"ds_read_b128", 64, 4}, {"ds_read_b96", 32, 8}, {"ds_read_b64", 64, 2}, {"ds_write_b64", 32, 4},
}

// reproduceTable5 runs the phase and bank solvers.
func reproduceTable5(o ReproduceOptions) (*Reproduction, error) {
	machine := "mi355x"
	if o.Machine != "" {
		machine = o.Machine
	}
	m, err := LoadMachine(machine, "", o.Set)
	if err != nil {
		return nil, err
	}
	p := &Reproduction{}
	for i, r := range table5Rows {
		if o.Progress != nil {
			o.Progress(r.op, int64(i), int64(len(table5Rows)), 0)
		}
		s, err := SolveLDS(MicroOptions{Machine: m, Threads: 1}, r.op)
		if err != nil {
			return nil, err
		}
		for _, x := range []struct {
			metric      string
			paper, have int
		}{{"banks", r.banks, s[0].Banks}, {"phases", r.phases, len(s[0].Phases)}} {
			p.Rows = append(p.Rows, ReproduceRow{Table: "5", Row: r.op, Metric: x.metric, Paper: value(float64(x.paper)), Simulated: value(float64(x.have)), Kind: KindCalibrated})
		}
		var groups []string
		for _, mask := range s[0].Phases {
			groups = append(groups, "{"+lanesText(mask)+"}")
		}
		p.Text = append(p.Text, fmt.Sprintf("%s: lanes of a phase: %s", r.op, strings.Join(groups, " ")))
	}
	p.Text = append(p.Text, "The phases that the model serves are the published ones; the solvers find them again from SQ_LDS_BANK_CONFLICT of simulated two-lane kernels, which whisker device export micro --test lds-probe runs on hardware.")
	return p, nil
}

// lanesText writes a lane mask as ranges.
func lanesText(mask uint64) string {
	var out []string
	for mask != 0 {
		from := bits.TrailingZeros64(mask)
		n := bits.TrailingZeros64(^(mask >> from))
		text := strconv.Itoa(from)
		if n > 1 {
			text += "-" + strconv.Itoa(from+n-1)
		}
		out = append(out, text)
		if from+n >= 64 {
			break
		}
		mask = mask >> (from + n) << (from + n)
	}
	return strings.Join(out, ",")
}
