package xcd

import (
	"fmt"
	"io"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
)

// GPUOptions chooses how a launch is simulated.
type GPUOptions struct {
	Full               bool // execute every instruction, not only the slice
	LoopStart, LoopEnd int  // marked hot loop, instruction indices
	Threads            int
	ColdLLC            bool
	Warm               []isa.Region // what an earlier launch left in the LLC, oldest first
	Monitor            bool
	Notices            io.Writer
	Progress           func(done, total, cycle int64)
	Hook               func(xcd, cu int) cu.IssueHook
}

// GPUResult is what a run did, all dies added up.
type GPUResult struct {
	Cycles    int64
	CU        cu.Stats
	TCP       cache.TCPStats
	Memory    MemoryStats
	Occupancy cu.Occupancy
}

// GPU is a machine with a launch on it.
type GPU struct {
	chip  *Chip
	prog  *cu.Program
	cus   []*cu.CU
	stats []cu.Stats // per XCD
	wgs   int
}

// NewGPU builds the machine for one launch at a core clock of mhz. It is an
// error when the kernel does not fit the machine or has an instruction without
// a timing class.
func NewGPU(m *configs.Machine, mhz float64, l *isa.Launch, o GPUOptions) (*GPU, error) {
	spec := CUSpec(m)
	prog, err := cu.NewProgram(spec, l, cu.ProgramOptions{Full: o.Full, LoopStart: o.LoopStart, LoopEnd: o.LoopEnd})
	if err != nil {
		return nil, err
	}
	g := &GPU{prog: prog, stats: make([]cu.Stats, m.Chip.XCDs), wgs: l.NumWorkgroups()}
	var shared *cu.Shared
	var buildErr error
	newCU := func(xcc, id int, l2 cache.L2Port, done func(now int64, wg int)) ComputeUnit {
		if id%m.Fetch.SharedByCUs == 0 {
			shared = cu.NewShared(spec)
		}
		c, err := cu.New(spec, prog, xcc, id, l2, shared, &g.stats[xcc], done)
		if err != nil {
			buildErr = err
			return nil
		}
		if o.Hook != nil {
			c.SetHook(o.Hook(xcc, id))
		}
		g.cus = append(g.cus, c)
		return c
	}
	g.chip, err = New(m, mhz, Options{Threads: o.Threads, NewCU: newCU, Monitor: o.Monitor, Notices: o.Notices, Progress: o.Progress,
		WavesPerWorkgroup: l.Kernel.Waves()})
	if buildErr != nil {
		return nil, buildErr
	}
	if err != nil {
		return nil, err
	}
	if !o.ColdLLC {
		g.chip.WarmLLC(o.Warm)
	}
	return g, nil
}

// Run simulates the launch to its end.
func (g *GPU) Run() (*GPUResult, error) {
	cycles, err := g.chip.Run(g.wgs)
	for _, c := range g.cus {
		if c.Err() != nil {
			return nil, c.Err()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", g.prog.Kernel.Name, err)
	}
	r := &GPUResult{Cycles: cycles, Memory: g.chip.Stats(), Occupancy: g.prog.Occ}
	r.CU.Inst = make([]cu.InstStats, len(g.prog.Kernel.Insts))
	for i := range g.stats {
		r.CU.Merge(&g.stats[i])
	}
	for _, c := range g.cus {
		r.TCP.Merge(c.TCP())
	}
	return r, nil
}
