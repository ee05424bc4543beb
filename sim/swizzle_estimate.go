package sim

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/swizzle"
	"github.com/whisker-sim/whisker/xcd"
)

// EstimateOptions is a replay of a block order.
type EstimateOptions struct {
	SwizzleOptions
	Table4   bool    // the six rows of Table 4 instead of one order
	Drift    float64 // spread of the workgroups' pace in the drifting replay
	Stagger  float64 // K steps between the starts of an XCD's workgroups, likewise
	ColdLLC  bool
	Seed     uint64
	Simulate bool // run the cycle model too
	Threads  int
	Progress func(done, total, cycle int64) // of the cycle model
}

// Estimate is one order's row of SwizzleEstimate and SwizzleTune.
type Estimate struct {
	M        int        `json:"m"`
	N        int        `json:"n"`
	K        int        `json:"k"`
	Tile     string     `json:"tile"`
	Grid     [2]int     `json:"grid"`
	Order    string     `json:"order"`
	Window   int        `json:"window"`
	Chunk    int        `json:"chunk"`
	Lockstep *HitRates  `json:"lockstep,omitempty"`
	Drifting *HitRates  `json:"drifting,omitempty"`
	Cycle    *HitRates  `json:"cycle,omitempty"` // by the cycle model
	Paper    *HitRates  `json:"paper,omitempty"` // as published
	Traffic  *Transfers `json:"traffic,omitempty"`
	Seconds  float64    `json:"seconds"` // of the host, for the replays
}

// HitRates are fractions of reads, and what Equation 1 of the paper makes of
// them in TB/s.
type HitRates struct {
	L2        float64 `json:"l2_hit"`
	LLC       float64 `json:"llc_hit"`
	Bandwidth float64 `json:"bandwidth_tbs"`
}

// Transfers are gigabytes that cross each level, and the microseconds that they
// would take one after the other at the machine's bandwidths.
type Transfers struct {
	L2GB     float64 `json:"l2_gb"`
	FabricGB float64 `json:"fabric_gb"`
	HBMGB    float64 `json:"hbm_gb"`
	US       float64 `json:"us"`
}

func hitRates(h swizzle.Hits) *HitRates {
	return &HitRates{h.L2(), h.LLC(), equation1(h.L2(), h.LLC())}
}

// replay describes a GEMM's replay on the machine.
func (o *EstimateOptions) replay(b *blocks) (swizzle.Replay, error) {
	if err := oneOf("--dtype", o.DType, swizzleDTypes); err != nil {
		return swizzle.Replay{}, err
	}
	e, m := elementBits[o.DType], b.machine
	if o.K < 1 || o.K > sizeLimit {
		return swizzle.Replay{}, usagef("--k is %d; it must be from 1 to %d", o.K, sizeLimit)
	}
	bits := int64(e.step * e.bits / 8)
	r := swizzle.Replay{
		Grid: b.grid, KSteps: (o.K + e.step - 1) / e.step,
		ABytes: int64(b.tileM) * bits, BBytes: int64(b.tileN) * bits, CBytes: int64(b.tileM) * int64(b.tileN) * 2,
		XCDs: m.Chip.XCDs, CUsPerXCD: m.Chip.CUsPerXCD, L2Bytes: int64(m.L2.Bytes), LLCBytes: int64(m.LLC.Bytes),
		Seed: o.Seed, Cold: o.ColdLLC,
	}
	r.XCDOf = func(wg int) int { return xcd.XCDOf(m, wg, b.grid.Tiles()) }
	if err := matricesFit(m, o.M, o.N, o.K, e.bits); err != nil {
		return r, err
	}
	return r, nil
}

// matricesFit refuses matrices that the memory cannot hold.
func matricesFit(m *configs.Machine, rows, cols, k, bits int) error {
	need := (float64(rows)+float64(cols))*float64(k)*float64(bits)/8 + 2*float64(rows)*float64(cols)
	if need > float64(m.HBM.CapacityGB)*1e9 {
		return usagef("the matrices of %dx%dx%d need %.0f GB and the machine has %d GB (hbm.capacity_gb)", rows, cols, k, need/1e9, m.HBM.CapacityGB)
	}
	return nil
}

// estimate replays one order in lockstep and drifting.
func (o *EstimateOptions) estimate() (*Estimate, error) {
	began := time.Now()
	b, err := o.resolve()
	if err != nil {
		return nil, err
	}
	r, err := o.replay(b)
	if err != nil {
		return nil, err
	}
	tiles, err := b.order.Map(b.grid)
	if err != nil {
		return nil, err
	}
	e := o.row(b)
	h, err := r.Run(tiles)
	if err != nil {
		return nil, &UsageError{err}
	}
	e.Lockstep, e.Traffic = hitRates(h), transfers(h, b.machine)
	r.Drift, r.Stagger = o.Drift, o.Stagger
	if h, err = r.Run(tiles); err != nil {
		return nil, &UsageError{err}
	}
	e.Drifting = hitRates(h)
	e.Seconds = time.Since(began).Seconds()
	return e, nil
}

func (o *EstimateOptions) row(b *blocks) *Estimate {
	return &Estimate{M: o.M, N: o.N, K: o.K, Tile: o.Tile, Grid: [2]int{b.grid.Rows, b.grid.Cols},
		Order: string(b.order.Kind), Window: b.order.Window, Chunk: b.order.Chunk}
}

// transfers holds a replay's bytes against the machine's bandwidths. The core
// clock is the peak: the L2's share is a bound, not a time.
func transfers(h swizzle.Hits, m *configs.Machine) *Transfers {
	t := &Transfers{L2GB: float64(h.L2Bytes) / 1e9, FabricGB: float64(h.LLCBytes) / 1e9, HBMGB: float64(h.LLCBytes-h.LLCHitBytes) / 1e9}
	l2GBs := float64(m.Chip.XCDs*m.L2.Channels*m.L2.ReadBytesPerCycle) * float64(m.Clock.PeakMHz) / 1e3
	fabric := min(m.LLC.GBs, m.Fabric.ReadGBs*float64(m.Chip.XCDs))
	t.US = 1e6 * (t.L2GB/l2GBs + t.FabricGB/fabric + t.HBMGB/m.HBM.GBs)
	return t
}

// SwizzleEstimate writes the hit rates of a block order by a replay against LRU
// caches: in lockstep, as if all workgroups took each K step together, and
// drifting, each at its own pace.
func SwizzleEstimate(w io.Writer, o EstimateOptions, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	rows, err := o.estimates()
	if err != nil {
		return err
	}
	t := report.Table{Header: []string{"size", "tile", "order", "lockstep L2", "LLC", "drifting L2", "LLC"}, Left: []int{1, 2}}
	if o.Simulate {
		t.Header = append(t.Header, "cycle model L2", "LLC")
	}
	if o.Table4 {
		t.Header = append(t.Header, "paper L2", "LLC")
	}
	for _, e := range rows {
		cells := []any{fmt.Sprintf("%dx%dx%d", e.M, e.N, e.K), e.Tile, orderName(e)}
		for _, h := range []*HitRates{e.Lockstep, e.Drifting, e.Cycle, e.Paper} {
			if h != nil {
				cells = append(cells, percent(h.L2), percent(h.LLC))
			}
		}
		t.Add(cells...)
	}
	return writeRows(w, format, &t, rows)
}

func percent(f float64) string { return fmt.Sprintf("%.1f %%", 100*f) }

func orderName(e *Estimate) string {
	return swizzle.Order{Kind: swizzle.Kind(e.Order), Window: e.Window, Chunk: e.Chunk}.String()
}

// estimates is the list of orders that are asked for, each estimated.
func (o EstimateOptions) estimates() ([]*Estimate, error) {
	var rows []*Estimate
	each := func(o EstimateOptions) (*Estimate, error) {
		e, err := o.estimate()
		if err == nil && o.Simulate {
			e.Cycle, err = o.cycle()
		}
		rows = append(rows, e)
		return e, err
	}
	if !o.Table4 {
		_, err := each(o)
		return rows, err
	}
	for _, r := range table4Rows {
		o.M, o.N, o.K, o.Tile, o.DType, o.Order = r.size, r.size, r.size, table4Tile, "bf16", string(r.order)
		o.Window, o.Chunk = nil, nil
		if r.order.Windowed() {
			o.Window = &r.window
		}
		if r.order == swizzle.Remap {
			o.Chunk = &r.chunk
		}
		e, err := each(o)
		if err != nil {
			return nil, err
		}
		e.Paper = &HitRates{r.l2 / 100, r.llc / 100, r.bandwidth}
	}
	return rows, nil
}

// cycle runs the cycle model on the order.
func (o *EstimateOptions) cycle() (*HitRates, error) {
	r, err := Run(RunOptions{Kernel: "gemm", Arch: o.Arch, Machine: o.Machine, Set: o.Set, M: o.M, N: o.N, K: o.K, Tile: o.Tile, DType: o.DType,
		Options: map[string]string{"order": o.Order}, Window: o.Window, Chunk: o.Chunk, Mode: "timing", Threads: o.Threads, Seed: 1,
		ColdLLC: o.ColdLLC, Progress: o.Progress})
	if err != nil {
		return nil, err
	}
	return &HitRates{r.L2.ReadHitRate, r.LLC.ReadHitRate, equation1(r.L2.ReadHitRate, r.LLC.ReadHitRate)}, nil
}

// SwizzleTune writes windows and chunks, those first that leave the least for
// the fabric and the memory to carry.
func SwizzleTune(w io.Writer, o EstimateOptions, top int, format string) error {
	if err := CheckFormat(format, report.Formats); err != nil {
		return err
	}
	if top < 0 {
		return usagef("--top is %d; it must not be negative", top)
	}
	o.Order = string(swizzle.Remap)
	rows, err := o.tune()
	if err != nil {
		return err
	}
	if top > 0 && top < len(rows) {
		rows = rows[:top]
	}
	t := report.Table{Header: []string{"W", "C", "L2 hit", "LLC hit", "fabric GB", "HBM GB", "transfer us"}}
	for _, e := range rows {
		h, x := e.Lockstep, e.Traffic
		if e.Drifting != nil {
			h = e.Drifting
		}
		t.Add(e.Window, e.Chunk, percent(h.L2), percent(h.LLC), fmt.Sprintf("%.2f", x.FabricGB), fmt.Sprintf("%.2f", x.HBMGB), fmt.Sprintf("%.1f", x.US))
	}
	return writeRows(w, format, &t, rows)
}

// tuneWindows is the highest window that is tried: a taller one leaves the CUs
// of an XCD a column of tiles, which share B alone.
const tuneWindows = 16

func (o EstimateOptions) tune() ([]*Estimate, error) {
	o.Window, o.Chunk = nil, nil
	b, err := o.resolve()
	if err != nil {
		return nil, err
	}
	r, err := o.replay(b)
	if err != nil {
		return nil, err
	}
	r.Drift, r.Stagger = o.Drift, o.Stagger
	var rows []*Estimate
	for _, c := range candidates(b) {
		b.order.Window, b.order.Chunk = c.window, c.chunk
		began := time.Now()
		tiles, err := b.order.Map(b.grid)
		if err != nil {
			return nil, err
		}
		h, err := r.Run(tiles)
		if err != nil {
			return nil, &UsageError{err}
		}
		e := o.row(b)
		if o.Drift > 0 || o.Stagger > 0 {
			e.Drifting = hitRates(h)
		} else {
			e.Lockstep = hitRates(h)
		}
		e.Traffic, e.Seconds = transfers(h, b.machine), time.Since(began).Seconds()
		rows = append(rows, e)
	}
	slices.SortStableFunc(rows, func(a, b *Estimate) int { return cmp.Compare(a.Traffic.US, b.Traffic.US) })
	return rows, nil
}

type candidate struct{ window, chunk int }

// candidates are the windows and chunks that are worth a try: chunks of what an
// XCD holds at once and of fractions and multiples of it, of whole columns of
// the window, and of the whole grid over the XCDs.
func candidates(b *blocks) []candidate {
	cus, most := b.machine.Chip.CUsPerXCD, b.grid.Tiles()/b.order.XCDs
	var all []candidate
	for w := 1; w <= min(tuneWindows, b.grid.Rows); w++ {
		chunks := []int{1, cus / 4, cus / 2, cus, 2 * cus, 4 * cus, w * w, w * (cus / w), w * ((cus + w - 1) / w), most / 2, most}
		slices.Sort(chunks)
		for _, c := range slices.Compact(chunks) {
			if c >= 1 && c <= most {
				all = append(all, candidate{w, c})
			}
		}
	}
	return all
}
