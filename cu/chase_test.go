package cu

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// loopCycles is what one iteration of a loop around body costs once it runs
// steadily, the loop's own three scalar instructions included.
func loopCycles(t *testing.T, s *Spec, prologue, body string, waves int) int64 {
	t.Helper()
	const head = "s_movk_i32 s20, "
	at := func(n string) int64 {
		k := mustAssemble(t, isa.GFX950, prologue+"\n"+head+n+"\nloop:\n"+body+"\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 loop\ns_endpgm\n")
		k.LDSBytes = 4096
		b := newBench(t, k, s, config{waves: waves, full: true})
		end := b.run(t, 1_000_000)
		b.sums(t)
		return end
	}
	return (at("12") - at("4")) / 8
}

// TestMeasuredRates holds the model against the published microbenchmarks of
// gfx950, all unrolled 16 times in a loop: a chain of v_fma_f32 8 cycles a
// link, a chase through LDS with ds_read_b32 69 cycles a link, matrix
// instructions 16x16x32 at their pass rate.
func TestMeasuredRates(t *testing.T) {
	const unroll = 16
	overhead := loopCycles(t, testSpec(isa.GFX950), "", "", 1)
	tests := []struct {
		name, prologue, link string
		waves                int
		want                 int64 // cycles a link, without the loop's overhead
	}{
		{"dependent v_fma_f32", "", "v_fma_f32 v4, v4, v5, v6", 1, 8},
		{"ds_read_b32 chase", "v_lshlrev_b32 v4, 2, v0", "ds_read_b32 v4, v4\ns_waitcnt lgkmcnt(0)\nv_and_b32 v4, 0xffc, v4", 1, 68},
		{"independent 16x16x32, one wave a SIMD", "", "v_mfma_f32_16x16x32_bf16 v[4:7], v[32:35], v[36:39], v[4:7]", 4, 16},
		{"independent 16x16x32, two waves a SIMD", "", "v_mfma_f32_16x16x32_bf16 v[4:7], v[32:35], v[36:39], v[4:7]", 8, 32},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := loopCycles(t, testSpec(isa.GFX950), tt.prologue, strings.Repeat(tt.link+"\n", unroll), tt.waves)
			t.Logf("%d cycles an iteration, %.2f a link; the loop alone %d", got, float64(got)/unroll, overhead)
			if d := got - unroll*tt.want; d < 0 || d > overhead {
				t.Errorf("%d cycles an iteration of %d links, want %d a link and up to %d for the loop", got, unroll, tt.want, overhead)
			}
		})
	}
}
