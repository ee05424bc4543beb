package sim

import (
	"context"

	"github.com/whisker-sim/whisker/configs"
	"github.com/whisker-sim/whisker/workloads"
	"github.com/whisker-sim/whisker/xcd"
)

// maxWarmup bounds --warmup: each launch is simulated whole.
const maxWarmup = 1000

// sequence is one GPU on which launches follow each other: between them the L2s
// are written back and invalidated (or keep their lines: l2.invalidate), and the LLC keeps what it has.
type sequence struct {
	machine *configs.Machine
	mhz     float64
	gpu     *xcd.GPU // nil: the next launch has a machine of its own
	look    *look    // nil: launches run to their end
}

// load puts a launch on the GPU.
func (s *sequence) load(b *workloads.Built, o xcd.GPUOptions) (*xcd.GPU, error) {
	if s.gpu != nil {
		return s.gpu, s.gpu.Load(b.Launch, o)
	}
	g, err := xcd.NewGPU(s.machine, s.mhz, b.Launch, o)
	s.gpu = g
	return g, err
}

// cut ends the sequence: a launch was stopped before its end.
func (s *sequence) cut() { s.gpu = nil }

// warm is what the first launch of a sequence finds in the LLC: what an earlier
// one left there, nothing when buffers are rotated, or nothing at all.
func (o *RunOptions) warm(b *workloads.Built) []xcd.Range {
	if o.RotateBuffers || o.Warmup != nil {
		return nil
	}
	return warmRanges(b)
}

// touched tells what the end of the earlier launch touched, of a GEMM that is
// warm. Beside one XCD that stands for a machine of several, the others had run
// too.
func (o *RunOptions) touched(b *workloads.Built) func(int, uint64, func(xcd.Range)) error {
	if len(o.warm(b)) == 0 || b.Blocks.RowBytes == 0 {
		return nil
	}
	return func(atOnce int, capacity uint64, yield func(xcd.Range)) error {
		return b.Blocks.LastTouches(atOnce*max(o.parts, 1), capacity, func(t workloads.Touch) {
			yield(xcd.Range{Base: t.Base, Bytes: t.Bytes, Written: t.Written})
		})
	}
}

// cold reports whether the first launch of a sequence is the first of all, to
// which the instruction caches are cold too.
func (o *RunOptions) cold() bool { return o.ColdLLC || o.Warmup != nil }

// warmUp runs the launches before the measured one. Each has memory as a launch
// finds it.
func (s *sequence) warmUp(o *RunOptions) error {
	for range *o.Warmup {
		job, err := build(o, s.machine)
		if err != nil {
			return err
		}
		if o.Mode == "full" {
			job.FillInputs()
		}
		for _, b := range job.Kernels {
			opts := xcd.GPUOptions{Full: o.Mode == "full", Threads: o.Threads, ColdLLC: s.gpu == nil, Monitor: o.Monitor, LoopStart: b.LoopStart, LoopEnd: b.LoopEnd, Progress: o.Progress, Expected: expectedInsts(b)}
			known, err := o.decide(s.machine, job, b)
			if err != nil {
				return err
			}
			opts.Decisions = known.d
			g, err := s.load(b, opts)
			if err != nil {
				return &UsageError{err}
			}
			if _, err := g.Run(context.Background()); err != nil {
				return err
			}
		}
		if o.RotateBuffers {
			s.gpu.EmptyLLC()
		}
	}
	return nil
}

// checkWarmup refuses warm-up flags that contradict each other.
func (o *RunOptions) checkWarmup() error {
	switch {
	case o.Warmup == nil:
		return nil
	case *o.Warmup < 0 || *o.Warmup > maxWarmup:
		return usagef("--warmup is %d; it must be from 0 to %d launches, each simulated whole", *o.Warmup, maxWarmup)
	case o.ColdLLC && *o.Warmup > 0:
		return usagef("--cold-llc starts with an empty LLC and --warmup %d fills it: give one of them", *o.Warmup)
	case o.Mode == "functional":
		return usagef("--warmup is for runs that take time; functional mode has none")
	}
	return nil
}
