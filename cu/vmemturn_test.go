package cu

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// TestVMEMTurns: waves of four SIMDs that keep the vector-memory queue full
// get the same share of it: as many instructions each in any stretch of time.
func TestVMEMTurns(t *testing.T) {
	const loads = 40
	for _, waves := range []int{4, 8} {
		text := "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32_e32 v1, 4, v0\nv_and_b32_e32 v1, 0x3ff, v1\ns_waitcnt lgkmcnt(0)\n" +
			strings.Repeat("global_load_dwordx4 v[4:7], v1, s[4:5]\n", loads) + "s_endpgm\n"
		k := mustAssemble(t, isa.GFX950, text)
		k.VGPRs = 64
		b := newBench(t, k, testSpec(isa.GFX950), config{waves: waves})
		var at [4][]int64
		b.cu.SetHook(func(now int64, simd, _, inst int) {
			if k.Insts[inst].Op == isa.GLOBAL_LOAD_DWORDX4 {
				at[simd] = append(at[simd], now)
			}
		})
		b.run(t, 1_000_000)
		b.sums(t)
		for s := range at {
			if len(at[s]) != loads*waves/4 {
				t.Fatalf("%d waves: SIMD %d issued %d loads, want %d", waves, s, len(at[s]), loads*waves/4)
			}
			// The queue is full from the twelfth load on; the last rounds have fewer that wait.
			for i := 4; i < len(at[s])-4; i++ {
				if d := at[s][i] - at[s][i-1]; d < 56 || d > 72 {
					t.Errorf("%d waves: SIMD %d: load %d came %d cycles after the one before, want about 64", waves, s, i, d)
				}
			}
		}
	}
}
