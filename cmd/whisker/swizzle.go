package main

import (
	"io"
	"os"

	"github.com/whisker-sim/whisker/sim"
	"golang.org/x/term"
)

type swizzleCmd struct {
	Show     swizzleShowCmd     `cmd:"" help:"Show which XCD computes which tile." example:"whisker swizzle show --grid 48x36 -W 5 -C 25 --png map.png"`
	Estimate swizzleEstimateCmd `cmd:"" help:"Estimate L2 and LLC hit rates of a block order by a replay." example:"whisker swizzle estimate --m 9216 --n 9216 --k 9216 --tile 192x256 -W 5 -C 25"`
	Tune     swizzleTuneCmd     `cmd:"" help:"Rank windows and chunks by the traffic that they leave for fabric and memory." example:"whisker swizzle tune --m 9216 --n 9216 --k 9216 --tile 192x256"`
}

// orderFlags choose a block order.
type orderFlags struct {
	Order  string `default:"remap" group:"Order" help:"remap (Algorithm 1), full-range, contiguous, row-major, column-major, grouped or hilbert."`
	Window *int   `short:"W" group:"Order" placeholder:"W" help:"Rows of tiles in a window (default 8, or all rows)."`
	Chunk  *int   `short:"C" group:"Order" placeholder:"C" help:"Consecutive blocks that an XCD gets in the remap (default 64, or all tiles)."`
}

// gemmFlags give the sizes that make a grid.
type gemmFlags struct {
	M     int    `default:"8192" group:"Kernel" placeholder:"N" help:"Rows of C (default 8192)."`
	N     int    `default:"8192" group:"Kernel" placeholder:"N" help:"Columns of C (default 8192)."`
	K     int    `default:"8192" group:"Kernel" placeholder:"N" help:"Inner dimension (default 8192)."`
	Tile  string `default:"256x256" group:"Kernel" placeholder:"MxN" help:"Workgroup tile (default 256x256)."`
	DType string `name:"dtype" default:"bf16" group:"Kernel" placeholder:"TYPE" help:"Input type: bf16, fp16, fp8, fp6 or fp4."`
}

func (f *machineFlags) swizzle(g gemmFlags) sim.SwizzleOptions {
	return sim.SwizzleOptions{Arch: f.Arch, Machine: f.Machine, Set: f.Set, M: g.M, N: g.N, K: g.K, Tile: g.Tile, DType: g.DType}
}

type swizzleShowCmd struct {
	machineFlags
	orderFlags
	gemmFlags
	Grid   string `placeholder:"ROWSxCOLS" help:"Grid of tiles; by --m, --n and --tile unless given."`
	First  int    `placeholder:"N" help:"Show the first N workgroups only: 256 are what the CUs hold at once."`
	PNG    string `name:"png" placeholder:"FILE" help:"Draw the map as well."`
	Format string `default:"table" help:"table (a map), json or csv."`
}

func (c *swizzleShowCmd) Run(w io.Writer) error {
	o := c.machineFlags.swizzle(c.gemmFlags)
	o.Grid, o.Order, o.Window, o.Chunk = c.Grid, c.Order, c.Window, c.Chunk
	return sim.SwizzleShow(w, o, c.First, c.PNG, c.Format)
}

type swizzleEstimateCmd struct {
	machineFlags
	orderFlags
	gemmFlags
	Table4   bool    `name:"table4" help:"Estimate the six rows of HipKittens' Table 4."`
	Drift    float64 `default:"0.01" help:"Spread of the workgroups' pace in the drifting replay, as a fraction."`
	Stagger  float64 `help:"How many K steps each workgroup of an XCD starts after the one before it, in the drifting replay."`
	ColdLLC  bool    `name:"cold-llc" help:"Start with an empty LLC."`
	Seed     uint64  `default:"1" help:"Seed of the workgroups' pace."`
	Simulate bool    `help:"Run the cycle model too and print its hit rates beside (minutes)."`
	Threads  int     `default:"${cpus}" help:"Threads that simulate; the result is the same on any number."`
	Format   string  `default:"table" help:"table, json or csv."`
}

func (c *swizzleEstimateCmd) Run(w io.Writer) error {
	o := sim.EstimateOptions{SwizzleOptions: c.machineFlags.swizzle(c.gemmFlags), Table4: c.Table4, Drift: c.Drift, Stagger: c.Stagger,
		ColdLLC: c.ColdLLC, Simulate: c.Simulate, Threads: c.Threads, Seed: c.Seed}
	stop := func() {}
	if c.Simulate && term.IsTerminal(int(os.Stderr.Fd())) {
		o.Progress, stop = progress(os.Stderr)
	}
	defer func() { stop() }()
	o.Order, o.Window, o.Chunk = c.Order, c.Window, c.Chunk
	return sim.SwizzleEstimate(w, o, c.Format)
}

type swizzleTuneCmd struct {
	machineFlags
	gemmFlags
	ColdLLC bool    `name:"cold-llc" help:"Start with an empty LLC."`
	Drift   float64 `help:"Spread of the workgroups' pace, as a fraction; 0 is lockstep."`
	Seed    uint64  `default:"1" help:"Seed of the workgroups' pace."`
	Top     int     `default:"20" help:"Print the best N only; 0 prints all."`
	Format  string  `default:"table" help:"table, json or csv."`
}

func (c *swizzleTuneCmd) Run(w io.Writer) error {
	o := sim.EstimateOptions{SwizzleOptions: c.machineFlags.swizzle(c.gemmFlags), Drift: c.Drift, ColdLLC: c.ColdLLC, Seed: c.Seed}
	return sim.SwizzleTune(w, o, c.Top, c.Format)
}
