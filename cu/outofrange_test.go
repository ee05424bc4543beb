package cu

import (
	"testing"

	"github.com/whisker-sim/whisker/cache"
	"github.com/whisker-sim/whisker/isa"
)

// TestLoadOutOfRange: a load to the LDS that lies beyond its buffer fetches nothing and is done
// at once, with nothing else under way as well: the CU never asks for the cycle that it is in.
func TestLoadOutOfRange(t *testing.T) {
	text := "v_mov_b32_e32 v3, 0x1000\ns_mov_b32 s16, 0\ns_mov_b32 s17, 0\ns_mov_b32 s18, 0x100\ns_mov_b32 s19, 0\ns_mov_b32 m0, 0\n" +
		"buffer_load_dwordx4 v3, s[16:19], 0 offen lds\ns_waitcnt vmcnt(0)\ns_endpgm\n"
	k := mustAssemble(t, isa.GFX950, text)
	b := newBench(t, k, testSpec(isa.GFX950), config{latency: 500})
	b.started++
	for b.next = b.cu.Launch(0, 0); b.done == 0; {
		if b.next == cache.Never || b.next < b.now {
			t.Fatalf("at cycle %d the CU asks for %d", b.now, b.next)
		}
		b.now = b.next
		if b.next = b.cu.Step(b.now); b.next <= b.now {
			t.Fatalf("stepped at cycle %d the CU asks for %d", b.now, b.next)
		}
	}
	if n := b.cu.TCP().Misses; n != 0 || b.now > 600 {
		t.Errorf("%d lines fetched, done at cycle %d", n, b.now)
	}
}
