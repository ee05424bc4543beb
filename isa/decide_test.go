package isa

import (
	"slices"
	"testing"
)

// voting is a loop whose exit depends on a matrix result (0: skip what the wave
// need not do) and on a count.
func voting(t *testing.T) *Kernel {
	t.Helper()
	k := &Kernel{CPU: GFX950, VGPRs: 32, Workgroup: [3]int{128, 1, 1}}
	for _, s := range []string{
		"s_mov_b32 s4, 3",
		"v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]",
		"v_mov_b32_e32 v12, v1",
		"v_cmp_lt_f32_e32 vcc, v12, v13",
		"s_cbranch_vccnz 1",
		"v_mov_b32_e32 v13, v12",
		"s_sub_u32 s4, s4, 1",
		"s_cmp_lg_u32 s4, 0",
		"s_cbranch_scc1 65527",
		"s_endpgm",
	} {
		in, err := Parse(GFX950, s)
		if err != nil {
			t.Fatal(err)
		}
		in.Target = -1
		k.Insts = append(k.Insts, in)
	}
	k.Insts[4].Target, k.Insts[8].Target = 6, 1
	return k
}

// The branch on a matrix result is found, the one on a count is not, and without
// the first the matrix instruction leaves the slice.
func TestDataBranches(t *testing.T) {
	k := voting(t)
	got := DataBranches(k)
	if !slices.Equal(got, []int{4}) {
		t.Fatalf("branches %v, want 4 alone", got)
	}
	if s := NewSlice(k); !s.Exec[1] || !s.Exec[2] || !s.Exec[3] {
		t.Error("the matrix result is not in the whole slice")
	}
	s := NewSliceWithout(k, NewDecisions(k, got, nil))
	if s.Exec[1] || s.Exec[2] || s.Exec[3] {
		t.Errorf("values that decide nothing are computed: %v", s.Exec)
	}
	if !s.Exec[0] || !s.Exec[8] {
		t.Error("the count is no longer computed")
	}
}

func TestDecisions(t *testing.T) {
	k := voting(t)
	d := NewDecisions(k, []int{4}, []int{2, 5})
	for v := range 70 {
		d.Record(2, 0, 4, v%3 == 0)
		d.Record(2, 1, 4, v == 69)
		d.Record(5, 0, 4, true)
	}
	d.Record(3, 0, 4, true) // not computed
	d.Record(5, 1, 8, true) // not asked for
	for _, c := range []struct {
		wg, wave, visit int
		want            bool
	}{
		{2, 0, 0, true}, {2, 0, 1, false}, {2, 0, 66, true}, {2, 1, 69, true}, {2, 1, 68, false},
		{0, 0, 3, true}, // before the first: takes the first
		{4, 0, 3, true}, // between: the last before it
		{4, 0, 4, false},
		{9, 0, 4, true},
		{5, 0, 70, false}, // past what was recorded
		{5, 1, 0, false},  // never recorded
	} {
		if got := d.Taken(c.wg, c.wave, 0, c.visit); got != c.want {
			t.Errorf("workgroup %d wave %d visit %d: %v", c.wg, c.wave, c.visit, got)
		}
	}
	if visits, taken := d.Count(); visits != 210 || taken != 24+1+70 {
		t.Errorf("%d visits, %d taken", visits, taken)
	}
	if i := (*Decisions)(nil).Index(4); i != -1 {
		t.Errorf("index %d without decisions", i)
	}
}
