package cu

import (
	"errors"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// A spill of four registers covers 1 KiB of the wave's own memory, eight lines;
// two waves do not share any.
func TestScratchAccess(t *testing.T) {
	for _, full := range []bool{false, true} {
		k := mustAssemble(t, isa.GFX950, "scratch_store_dwordx4 off, v[4:7], off offset:16\ns_waitcnt vmcnt(0)\nscratch_load_dwordx4 v[8:11], off, off offset:16\ns_waitcnt vmcnt(0)\ns_endpgm\n")
		k.ScratchBytes = 32
		b := newBench(t, k, testSpec(isa.GFX950), config{waves: 2, full: full})
		b.run(t, 1_000_000)
		b.sums(t)
		if b.st.VMEMLines != 2*2*8 {
			t.Errorf("full %v: %d lines, want 8 an instruction", full, b.st.VMEMLines)
		}
		if n := b.cu.tcp.Stats.Misses; n != 16 {
			t.Errorf("full %v: %d misses, want those of two waves' own lines, 16", full, n)
		}
		if err := b.cu.Err(); err != nil {
			t.Error(err)
		}
	}
}

// Timing mode does not keep values in scratch: an address from there is refused.
func TestScratchSteers(t *testing.T) {
	k := mustAssemble(t, isa.GFX950, "scratch_store_dword off, v0, off\ns_waitcnt vmcnt(0)\nscratch_load_dword v4, off, off\ns_waitcnt vmcnt(0)\nds_read_b32 v5, v4\ns_waitcnt lgkmcnt(0)\ns_endpgm\n")
	k.ScratchBytes, k.LDSBytes = 4, 4096
	b := newBench(t, k, testSpec(isa.GFX950), config{waves: 1})
	for b.now = 0; b.now < 10000 && b.cu.Err() == nil; b.now++ {
		b.tick()
	}
	if err := b.cu.Err(); !errors.Is(err, ErrNotComputed) {
		t.Errorf("error %v, want one that says the value was not computed", err)
	}
}
