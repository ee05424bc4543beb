package sim

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/cu"
	"github.com/whisker-sim/whisker/isa"
)

func TestPolicyNote(t *testing.T) {
	load := isa.Inst{Op: isa.GLOBAL_LOAD_DWORD}
	with := func(in isa.Inst, f isa.Flags) isa.Inst { in.Flags |= f; return in }
	atomic := isa.Inst{Op: isa.GLOBAL_ATOMIC_ADD}
	for _, c := range []struct {
		name  string
		insts []isa.Inst
		want  []string // parts of the note; none: no note
	}{
		{"plain", []isa.Inst{load}, nil},
		{"nt and sc1", []isa.Inst{load, with(load, isa.NT), with(load, isa.SC1)}, []string{"4 of 6 vector memory", "(sc0, sc1, nt)"}},
		{"sc0 of a load is a scope", []isa.Inst{with(load, isa.SC0)}, []string{"2 of 2 "}},
		{"sc0 of an atomic asks for the old value", []isa.Inst{with(atomic, isa.SC0)}, nil},
		{"sc1 of an atomic", []isa.Inst{with(atomic, isa.SC0|isa.SC1)}, []string{"2 of 2 "}},
		{"whole cache", []isa.Inst{load, {Op: isa.BUFFER_INV, Flags: isa.SC1}}, []string{"2 buffer_inv"}},
		{"scalar", []isa.Inst{{Op: isa.S_NOP, Flags: isa.NT}}, nil},
	} {
		k := &isa.Kernel{CPU: isa.GFX950, Insts: c.insts}
		st := make([]cu.InstStats, len(c.insts))
		for i := range st {
			st[i].Hits = 2
		}
		got := policyNote(k, st)
		if (got != "") != (len(c.want) > 0) {
			t.Errorf("%s: note %q", c.name, got)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: note %q lacks %q", c.name, got, w)
			}
		}
	}
	k := &isa.Kernel{CPU: isa.GFX950, Insts: []isa.Inst{with(load, isa.NT)}}
	if got := policyNote(k, make([]cu.InstStats, 1)); got != "" {
		t.Errorf("an instruction that never ran: note %q", got)
	}
}
