package cu

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// The order of dies within a window counts where memory carries values from wave
// to wave: in atomics that are executed, and in full mode in what branches read.
func TestShares(t *testing.T) {
	const head = "s_load_dwordx2 s[2:3], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, 0\n"
	const branch = "v_readfirstlane_b32 s4, v2\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 again\ns_endpgm\n"
	polls := head + "again:\nglobal_load_dword v2, v1, s[2:3]\ns_waitcnt vmcnt(0)\n" + branch
	ldsPolls := "v_mov_b32 v1, 0\nagain:\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\n" + branch
	copies := head + "global_load_dword v2, v1, s[2:3]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v2, s[2:3]\ns_endpgm\n"
	asks := head + "again:\nglobal_atomic_add v2, v1, v1, s[2:3] sc0\ns_waitcnt vmcnt(0)\n" + branch
	for _, c := range []struct {
		name, text   string
		timing, full bool
	}{
		{"polls memory", polls, false, true},
		{"polls LDS", ldsPolls, false, false},
		{"copies", copies, false, false},
		{"branches on an atomic", asks, true, true},
	} {
		k := mustAssemble(t, isa.GFX950, c.text)
		k.LDSBytes = 64
		for _, full := range []bool{false, true} {
			want := c.timing
			if full {
				want = c.full
			}
			if got := newBench(t, k, testSpec(isa.GFX950), config{full: full}).prog.Shares; got != want {
				t.Errorf("%s, full %v: %v, want %v", c.name, full, got, want)
			}
		}
	}
}
