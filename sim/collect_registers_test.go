package sim

import (
	"slices"
	"testing"

	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/report"
)

// TestReloadWaits: a wait for a scratch load counts wherever it stands, and one
// that scratch loads may outlast does not.
func TestReloadWaits(t *testing.T) {
	const load, fill, store = "scratch_load_dwordx4 v[4:7], off, off", "buffer_load_dwordx4 v1, s[8:11], 0 offen lds",
		"scratch_store_dwordx4 off, v[4:7], off"
	for _, c := range []struct {
		name string
		code []string
		back int // the branch's target
		want []int
	}{
		{"right behind", []string{load, "s_waitcnt vmcnt(0)", "s_endpgm"}, -1, []int{1}},
		{"before the use", []string{load, fill, "v_add_f32 v1, v2, v3", "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)", "s_endpgm"}, -1, []int{3}},
		{"older ones only", []string{fill, load, fill, "s_waitcnt vmcnt(2)", "s_waitcnt vmcnt(1)", "s_endpgm"}, -1, []int{4}},
		{"younger ones", []string{load, fill, "s_waitcnt vmcnt(0)", "s_endpgm"}, -1, nil},
		{"other counters", []string{load, "s_waitcnt lgkmcnt(0)", "s_endpgm"}, -1, nil},
		{"stores", []string{store, "s_waitcnt vmcnt(0)", "s_endpgm"}, -1, nil},
		{"around a loop", []string{"s_waitcnt vmcnt(1)", load, fill, "s_cbranch_scc1 0", "s_endpgm"}, 0, []int{0}},
		{"no scratch", []string{fill, "s_waitcnt vmcnt(0)", "s_endpgm"}, -1, nil},
	} {
		k := &isa.Kernel{CPU: isa.GFX950}
		for _, text := range c.code {
			in, err := isa.Parse(k.CPU, text)
			if err != nil {
				t.Fatal(err)
			}
			in.Target = -1
			if isa.IsBranch(in.Op) {
				in.Target = int32(c.back)
			}
			k.Insts = append(k.Insts, in)
		}
		var got []int
		inst := make([]cu.InstStats, len(k.Insts))
		for i, w := range reloadWaits(k) {
			if w {
				got = append(got, i)
			}
		}
		for i := range inst {
			inst[i].Stall[cu.StallVMCnt], inst[i].Stall[cu.StallLGKMCnt] = 1<<i, 1<<20
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: waits %v, want %v", c.name, got, c.want)
		}
		var r report.Registers
		collectRegisters(&r, inst, k)
		want := int64(0)
		for _, i := range c.want {
			want += 1 << i
		}
		if r.SpillWaitCycles != want {
			t.Errorf("%s: %d wave-cycles, want %d", c.name, r.SpillWaitCycles, want)
		}
	}
}
