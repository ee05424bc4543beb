package cu

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// TestFlatOnce: a FLAT instruction that waits for room in lgkmcnt is executed when it
// issues, once: atomics add once each, and a load that overwrites its own address does
// not read there again.
func TestFlatOnce(t *testing.T) {
	const head = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b64 exec, 1\nv_mov_b32_e32 v2, s4\nv_mov_b32_e32 v3, s5\nv_mov_b32_e32 v4, 1\n"
	for _, c := range []struct {
		name, text string
		want       uint32
	}{
		{"atomics", head + strings.Repeat("flat_atomic_add v[2:3], v4\n", 40) + "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_endpgm\n", 40},
		{"load of its address", head + "v_mov_b32_e32 v6, s4\nv_mov_b32_e32 v7, s5\n" + strings.Repeat("flat_load_dword v8, v[2:3]\n", 15) +
			"flat_load_dwordx2 v[6:7], v[6:7]\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_endpgm\n", 0},
	} {
		k := mustAssemble(t, isa.GFX950, c.text)
		b := newBench(t, k, testSpec(isa.GFX950), config{full: true, latency: 500})
		b.run(t, 1<<20)
		mem := b.prog.Launch.Memory
		if got := mem.Load32(mem.Regions()[0].Base); got != c.want {
			t.Errorf("%s: %d in memory, want %d", c.name, got, c.want)
		}
	}
}
