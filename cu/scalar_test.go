package cu

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// TestScalarLoadIsExecutedOnce: a scalar load may overwrite its own base, so a
// request that the L2 refuses must not have been executed.
func TestScalarLoadIsExecutedOnce(t *testing.T) {
	k := mustAssemble(t, isa.GFX950, "s_nop 0\ns_load_dwordx2 s[0:1], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_endpgm")
	for _, busy := range []int64{0, 20} {
		b := newBench(t, k, testSpec(isa.GFX950), config{})
		b.l2.busy = busy
		buf := uint64(0)
		for i, x := range b.prog.Launch.Kernarg[:8] {
			buf |= uint64(x) << (8 * i)
		}
		b.run(t, 10000)
		b.sums(t)
		s := &b.cu.waves[0].st
		if got := uint64(s.SGPR[0]) | uint64(s.SGPR[1])<<32; got != buf {
			t.Errorf("L2 refusing for %d cycles: loaded %#x, want %#x", busy, got, buf)
		}
	}
}

// TestScalarHitNotBeforeItsLine: a scalar load that hits a line on its way has
// its data no sooner than the line is there.
func TestScalarHitNotBeforeItsLine(t *testing.T) {
	k := mustAssemble(t, isa.GFX950, "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_endpgm")
	b := newBench(t, k, testSpec(isa.GFX950), config{waves: 2, latency: 300})
	b.cu.SetHook(func(now int64, simd, _, inst int) {
		if inst == 1 && now < 300 {
			t.Errorf("SIMD %d goes on at cycle %d; the line comes at cycle 300", simd, now)
		}
	})
	b.run(t, 10000)
	b.sums(t)
}
