package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

const bwdName = "attention-backward"

// resolveBwd reads the options of r.
func resolveBwd(r Request) (*bwdSpec, error) {
	s := &bwdSpec{cpu: r.CPU, seed: r.Seed}
	var err error
	num := func(name string, def, most int) int {
		v, e := r.Positive(bwdName, name, def, most)
		if err == nil {
			err = e
		}
		return v
	}
	s.batch, s.heads = num("batch", 16, 1<<12), num("heads", 16, 1<<10)
	s.kvHeads, s.seq = num("kv-heads", s.heads, 1<<10), num("seq", 4096, 1<<20)
	dim := num("dim", bwdDim, 1<<12)
	if err != nil {
		return nil, err
	}
	if s.causal, err = r.Bool(bwdName, "causal"); err != nil {
		return nil, err
	}
	if s.schedule, err = r.Choice(bwdName, "schedule", Interleave4, PingPong8); err != nil {
		return nil, err
	}
	if s.registers, err = r.Choice(bwdName, "registers", registerModels...); err != nil {
		return nil, err
	}
	return s, s.check(dim)
}

// check refuses what cannot be built.
func (s *bwdSpec) check(dim int) error {
	switch {
	case s.cpu != isa.GFX950:
		return fmt.Errorf("%s: it needs 16-byte direct-to-LDS loads and transposing LDS reads, which %s does not have; gfx950 (mi350x, mi355x) does", bwdName, s.cpu)
	case dim != bwdDim:
		return fmt.Errorf("%s: --dim is %d; the backward kernels exist for 128", bwdName, dim)
	case s.seq%bwdKV != 0:
		return fmt.Errorf("%s: --seq is %d; it must be a multiple of %d, the KV rows of a workgroup", bwdName, s.seq, bwdKV)
	case s.heads%s.kvHeads != 0:
		return fmt.Errorf("%s: --heads %d is no multiple of --kv-heads %d; every KV head serves the same number of query heads", bwdName, s.heads, s.kvHeads)
	case int64(s.seq)*int64(s.qStride()) >= 1<<32:
		return fmt.Errorf("%s: %d rows of %d heads are %d bytes, beyond the 4 GB that a buffer descriptor reaches", bwdName, s.seq, s.heads, int64(s.seq)*int64(s.qStride()))
	}
	return nil
}

func bwdOptions() []Option {
	return []Option{
		{"batch", "16", "", "sequences"},
		{"heads", "16", "", "query heads"},
		{"kv-heads", "as many as heads", "divides heads", "heads of K and V"},
		{"seq", "4096", "multiple of 256", "rows of a sequence"},
		{"dim", "128", "128", "elements of a row"},
		{"causal", "false", "true, false", "keys after the query are masked"},
		{"schedule", Interleave4, Interleave4 + ", " + PingPong8, "4 waves with memory operations among the matrix instructions, or 8 waves in two groups"},
		registersOption,
		{"seed", "0", "", "of the N(0,1) inputs"},
	}
}

// buildBwd is the Definition.Build of attention backward: delta, the main
// kernel and the reshuffle of dQ, in this order.
func buildBwd(r Request) (*Job, error) {
	s, err := resolveBwd(r)
	if err != nil {
		return nil, err
	}
	d := newBwdData(s)
	prep, err := bwdPrep(s, d.mem, d.o, d.do, d.delta)
	if err != nil {
		return nil, err
	}
	main, err := bwdMainKernel(s, d)
	if err != nil {
		return nil, err
	}
	shuffle, err := bwdShuffle(s, d.mem, d.acc, d.dq)
	if err != nil {
		return nil, err
	}
	j := &Job{Kernel: bwdName, DType: "bf16", Kernels: []*Built{prep, main, shuffle}, FLOPs: s.flops(), Limit: s.limit(), SharedReads: s.splitsHeads(r.XCDs), RowBytes: 2 * bwdDim,
		Values:     int64(s.batch) * int64(s.seq) * bwdDim * int64(s.heads+2*s.kvHeads),
		FillInputs: d.fill, Verify: references(d.expect).verifier(d.mem), Expect: d.expect,
		Notes: []string{"the buffer that dQ is summed in starts at zero; clearing it is not part of the measurement"}}
	for _, o := range []struct {
		name  string
		value any
	}{
		{"batch", s.batch}, {"heads", s.heads}, {"kv-heads", s.kvHeads}, {"seq", s.seq}, {"dim", bwdDim}, {"causal", s.causal},
		{"schedule", s.schedule}, {"registers", s.registers},
	} {
		j.Settings = append(j.Settings, Setting{o.name, fmt.Sprint(o.value)})
	}
	return j, nil
}

// bwdMainKernel builds the form that s asks for.
func bwdMainKernel(s *bwdSpec, d *bwdData) (*Built, error) {
	args := []uint64{d.q, d.k, d.v, d.do, d.l, d.delta, d.acc, d.dk, d.dv}
	var m *bwdMain
	var at []int
	var err error
	switch {
	case s.schedule == PingPong8:
		m = newBwd(s, 8, true)
		newBwd8(m).build()
		m.SOPP(isa.S_ENDPGM, 0)
		at, err = m.allocate(256) // two waves a SIMD
	case s.registers != Pinned:
		m = newBwd(s, 4, true)
		newBwdTiles(m).build()
		m.SOPP(isa.S_ENDPGM, 0)
		at, err = m.compile(m.loopStart, m.loopEnd, s.registers)
	default:
		m = newBwd(s, 4, false)
		newBwd4(m).build()
		m.SOPP(isa.S_ENDPGM, 0)
		return m.finish(d.mem, args)
	}
	if err != nil {
		return nil, err
	}
	m.loopStart, m.loopEnd = at[m.loopStart], at[m.loopEnd]
	bt, err := m.finish(d.mem, args)
	if bt != nil {
		bt.compiled = m.schedule == Interleave4
	}
	return bt, err
}

// limit is the largest error that passes. A gradient is a sum of terms of which
// one factor, P or dS, was rounded to bf16, by up to 2^-9 of the term; such errors
// add as the terms do and stay within 4 times the row's scale over 10^5 values.
// The result is rounded once, and dQ for every 256 keys twice: it is a
// sum of bf16 additions in memory, of which each rounds what it adds and the sum so far.
func (s *bwdSpec) limit() float64 { return 0x1p-9 * float64(4+1+2*s.blocks()) }

// bwdForms describes the forms at their least size.
func bwdForms() []Info {
	var all []Info
	for _, f := range []struct{ schedule, registers, summary string }{
		{Interleave4, Pinned, "4 waves, AGPRs as inputs of the matrix instructions"},
		{Interleave4, Compiler, "4 waves, in the order of tile-level source, registers as a compiler chooses them"},
		{PingPong8, Pinned, "8 waves in two groups that take turns at the matrix pipe and at memory"},
	} {
		s := &bwdSpec{cpu: isa.GFX950, batch: 1, heads: 1, kvHeads: 1, seq: bwdKV, schedule: f.schedule, registers: f.registers}
		b, err := bwdMainKernel(s, newBwdData(s))
		if err != nil {
			panic("workloads: " + err.Error()) // a form that does not build at its own size
		}
		k := b.Launch.Kernel
		i := Info{Name: bwdName, Summary: f.summary, CPU: s.cpu, Variant: f.registers, Schedule: s.schedule, Tile: "64x256x128",
			Waves: b.Waves, VGPRs: k.VGPRs, AGPRs: k.AGPRs, SGPRs: k.SGPRs, LDSBytes: k.LDSBytes, LDSUsed: b.LDSUsed,
			ScratchBytes: k.ScratchBytes, Options: bwdOptions()}
		i.occupancy()
		all = append(all, i)
	}
	return all
}
