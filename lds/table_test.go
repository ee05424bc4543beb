package lds

import (
	"math/bits"
	"strings"
	"testing"
)

func mustTable(tb testing.TB, arch string) *Table {
	tb.Helper()
	t, err := NewTable(arch)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestPhasesPartitionTheWave(t *testing.T) {
	for _, arch := range []string{"gfx942", "gfx950"} {
		tab := mustTable(t, arch)
		for k := Kind(0); k < NumKinds; k++ {
			if !tab.Supports(k) {
				if arch == "gfx950" || (k != ReadB64Tr && k != ReadB96Tr) {
					t.Errorf("%s: no phases for %s", arch, k)
				}
				continue
			}
			var union uint64
			for i, m := range tab.Phases(k) {
				if union&m != 0 || m == 0 {
					t.Errorf("%s %s: phase %d = %#x overlaps or is empty", arch, k, i, m)
				}
				union |= m
				// Every phase of a conflict-free access fits the banks once.
				if got, room := bits.OnesCount64(m)*facts[k].unit, tab.Banks(k)*4; got > room {
					t.Errorf("%s %s: phase %d moves %d bytes through %d", arch, k, i, got, room)
				}
			}
			if union != ^uint64(0) {
				t.Errorf("%s %s: phases cover %#x", arch, k, union)
			}
			if tab.Source(k) == "" {
				t.Errorf("%s %s: phases without a source", arch, k)
			}
		}
	}
}

// The service time of a conflict-free access, from the published phase counts.
func TestConflictFreeService(t *testing.T) {
	cases := []struct {
		arch  string
		kind  Kind
		banks int
		want  int
	}{
		{"gfx950", ReadB32, 64, 1}, {"gfx950", ReadB64, 64, 2}, {"gfx950", ReadB96, 32, 8},
		{"gfx950", ReadB128, 64, 4}, {"gfx950", ReadB64Tr, 64, 2}, {"gfx950", ReadB96Tr, 32, 8},
		{"gfx950", WriteB32, 32, 2}, {"gfx950", WriteB64, 32, 4}, {"gfx950", WriteB128, 32, 8},
		{"gfx950", AtomicB32, 32, 2}, {"gfx950", AtomicB64, 32, 4}, {"gfx950", WriteB96, 32, 8},
		{"gfx942", ReadB32, 32, 2}, {"gfx942", ReadB64, 32, 4}, {"gfx942", ReadB96, 32, 8},
		{"gfx942", ReadB128, 32, 8}, {"gfx942", WriteB32, 32, 2}, {"gfx942", WriteB64, 32, 4},
		{"gfx942", WriteB128, 32, 8}, {"gfx942", ReadB16, 32, 2}, {"gfx942", WriteB8, 32, 2},
	}
	for _, c := range cases {
		tab := mustTable(t, c.arch)
		addr := spread(tab, c.kind, 1)
		r := tab.Analyze(c.kind, &addr, ^uint64(0))
		if r.Service != c.want || r.Conflicts != 0 || r.Unaligned || tab.Banks(c.kind) != c.banks {
			t.Errorf("%s %s: %+v with %d banks, want service %d with %d", c.arch, c.kind, r, tab.Banks(c.kind), c.want, c.banks)
		}
	}
}

func TestNewTableErrors(t *testing.T) {
	if _, err := NewTable("gfx90a"); err == nil || !strings.Contains(err.Error(), "gfx942") {
		t.Errorf("gfx90a: %v, want an error that names what is known", err)
	}
	for name, want := range map[string]string{"mi300x": "gfx942", "MI325X": "gfx942", "mi350x": "gfx950", "mi355x": "gfx950"} {
		if got, err := Arch(name); err != nil || got != want {
			t.Errorf("Arch(%q) = %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestParsePhasesErrors(t *testing.T) {
	const head = "arch,instr,banks,phase,lanes,source\n"
	for _, c := range []struct{ text, want string }{
		{head + "gfx950,ds_read_b7,64,0,0 1,x\n", "unknown operation"},
		{head + "gfx950,ds_read_b32,64,0,0 1 1,x\n", "lane 1 twice"},
		{head + "gfx950,ds_read_b32,64,0,0 64,x\n", `lane "64"`},
		{head + "gfx950,ds_read_b32,64,1,0,x\n", "where 0 was due"},
		{head + "gfx950,ds_read_b32,64,0,0 1,x\n", "leave out lanes"},
	} {
		if _, err := parsePhases(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for _, c := range []struct {
		op   string
		kind Kind
		n    int
		ok   bool
	}{
		{"ds_read_b128", ReadB128, 1, true},
		{"ds_read2st64_b64", ReadB64, 2, true},
		{"ds_write2_b32", WriteB32, 2, true},
		{"ds_read_b64_tr_b16", ReadB64Tr, 1, true},
		{"ds_read_u16_d16_hi", ReadB16, 1, true},
		{"ds_add_u32", AtomicB32, 1, true},
		{"ds_add_rtn_f64", AtomicB64, 1, true},
		{"ds_wrxchg_rtn_b32", AtomicB32, 1, true},
		{"ds_wrxchg2_rtn_b64", AtomicB64, 2, true},
		{"ds_bpermute_b32", Permute, 1, true},
		{"ds_nop", 0, 0, false},
		{"v_add_f32", 0, 0, false},
		{"ds_address", 0, 0, false},
	} {
		k, n, ok := KindOf(c.op)
		if k != c.kind || n != c.n || ok != c.ok {
			t.Errorf("KindOf(%q) = %v, %d, %v, want %v, %d, %v", c.op, k, n, ok, c.kind, c.n, c.ok)
		}
	}
	for _, b := range []int{1, 2, 4, 8, 12, 16} {
		r, ok1 := ReadKind(b)
		w, ok2 := WriteKind(b)
		if !ok1 || !ok2 || r.Bytes() != b || w.Bytes() != b || r.Write() || !w.Write() {
			t.Errorf("%d bytes: %v, %v", b, r, w)
		}
	}
	if _, ok := ReadKind(3); ok {
		t.Error("ReadKind(3) exists")
	}
}
