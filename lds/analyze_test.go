package lds

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// spread returns addresses in which every bank group that a phase touches is
// hit by degree lanes, in different rows: the j-th lane of a phase takes group
// j/degree, row j%degree.
func spread(t *Table, k Kind, degree int) [Lanes]uint32 {
	var addr [Lanes]uint32
	unit := facts[k].unit
	row := t.Banks(k) * 4
	for _, m := range t.Phases(k) {
		for j := 0; m != 0; m &= m - 1 {
			addr[bits.TrailingZeros64(m)] = uint32(j%degree*row + j/degree*unit)
			j++
		}
	}
	return addr
}

func stride(n int) [Lanes]uint32 {
	var addr [Lanes]uint32
	for i := range addr {
		addr[i] = uint32(i * n)
	}
	return addr
}

// reference counts conflicts by definition, with maps.
func reference(t *Table, k Kind, addr *[Lanes]uint32, lanes uint64) (service, conflicts int) {
	unit, groups := uint32(facts[k].unit), uint32(t.Banks(k)*4/facts[k].unit)
	for _, m := range t.Phases(k) {
		if m&lanes == 0 {
			continue
		}
		seen, count, most := map[uint32]bool{}, map[uint32]int{}, 0
		for i := range Lanes {
			if m&lanes>>i&1 == 0 {
				continue
			}
			u := addr[i] / unit
			if !seen[u] || k.Atomic() {
				seen[u] = true
				count[u%groups]++
				most = max(most, count[u%groups])
			}
		}
		service += most
		conflicts += most - 1
	}
	return service, conflicts
}

func TestAnalyzeMatchesDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, arch := range []string{"gfx942", "gfx950"} {
		tab := mustTable(t, arch)
		for k := Kind(0); k < NumKinds; k++ {
			if !tab.Supports(k) || k == Permute {
				continue
			}
			for trial := range 200 {
				// From nearly all lanes equal to all over LDS.
				span := uint32(1) << (4 + rng.IntN(13))
				var addr [Lanes]uint32
				for i := range addr {
					addr[i] = rng.Uint32() % span &^ uint32(facts[k].align-1)
				}
				lanes := ^uint64(0)
				if trial%2 == 1 {
					lanes = rng.Uint64() & rng.Uint64()
				}
				if lanes == 0 {
					continue
				}
				r := tab.Analyze(k, &addr, lanes)
				service, conflicts := reference(tab, k, &addr, lanes)
				if r.Service != service || r.Conflicts != conflicts {
					t.Fatalf("%s %s span %d lanes %#x: %+v, want service %d conflicts %d", arch, k, span, lanes, r, service, conflicts)
				}
			}
		}
	}
}

func TestSpreadHasItsDegree(t *testing.T) {
	for _, arch := range []string{"gfx942", "gfx950"} {
		tab := mustTable(t, arch)
		for _, k := range []Kind{ReadB32, ReadB64, ReadB96, ReadB128, WriteB32, WriteB64, WriteB128} {
			for _, d := range []int{1, 2, 4, 8} {
				addr := spread(tab, k, d)
				r := tab.Analyze(k, &addr, ^uint64(0))
				n := len(tab.Phases(k))
				if r.Service != d*n || r.Conflicts != (d-1)*n {
					t.Errorf("%s %s degree %d: %+v", arch, k, d, r)
				}
				for i := range n {
					if int(r.PerPhase[i]) != d {
						t.Errorf("%s %s degree %d: phase %d took %d", arch, k, d, i, r.PerPhase[i])
					}
				}
			}
		}
	}
}

func TestAnalyzeRules(t *testing.T) {
	t950, t942 := mustTable(t, "gfx950"), mustTable(t, "gfx942")
	all := ^uint64(0)
	oneBank := stride(256)
	var same [Lanes]uint32
	row4 := stride(16 + 4)
	cases := []struct {
		name      string
		tab       *Table
		kind      Kind
		addr      [Lanes]uint32
		lanes     uint64
		service   int
		conflicts int
		unaligned bool
	}{
		// A published counter value: 4 phases, 16 lanes each in one bank.
		{"write_b64 all lanes in one bank", t950, WriteB64, oneBank, all, 64, 60, false},
		{"read_b32 all lanes in one bank", t950, ReadB32, oneBank, all, 64, 63, false},
		{"broadcast", t950, ReadB128, same, all, 4, 0, false},
		{"atomics do not broadcast", t950, AtomicB32, same, all, 64, 62, false},
		{"inactive lanes do not count", t950, ReadB32, oneBank, 0x101, 2, 1, false},
		{"empty phases take no time", t942, ReadB128, stride(16), 1, 1, 0, false},
		{"no lane", t942, ReadB128, stride(16), 0, 1, 0, false},
		{"unaligned", t950, ReadB128, row4, all, 64, 0, true},
		{"unaligned, half a wave", t950, ReadB128, row4, 0xffffffff, 32, 0, true},
		{"inactive unaligned lane", t950, ReadB128, [Lanes]uint32{0, 4}, 1, 1, 0, false},
		{"bytes of one dword", t942, WriteB8, stride(1), all, 2, 0, false},
		{"halves at odd addresses", t942, ReadB16, [Lanes]uint32{1}, 1, 1, 0, true},
		{"permute", t942, Permute, oneBank, all, 2, 0, false},
		{"permute on gfx950", t950, Permute, oneBank, all, 1, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := c.tab.Analyze(c.kind, &c.addr, c.lanes)
			if r.Service != c.service || r.Conflicts != c.conflicts || r.Unaligned != c.unaligned {
				t.Errorf("%+v, want service %d conflicts %d unaligned %v", r, c.service, c.conflicts, c.unaligned)
			}
		})
	}
	a, b := stride(8), stride(8)
	for i := range b {
		b[i] += 512
	}
	if r := t942.Analyze2(ReadB64, &a, &b, all); r.Service != 8 || r.Conflicts != 0 || r.PerPhase[3] != 2 {
		t.Errorf("read2_b64: %+v", r)
	}
	defer func() {
		if recover() == nil {
			t.Error("a transposing read on gfx942 was analysed")
		}
	}()
	t942.Analyze(ReadB64Tr, &a, all)
}

func TestAnalyzeAllocatesNothing(t *testing.T) {
	tab := mustTable(t, "gfx950")
	addr := spread(tab, ReadB128, 4)
	if n := testing.AllocsPerRun(100, func() { tab.Analyze(ReadB128, &addr, ^uint64(0)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAnalyze(b *testing.B) {
	tab := mustTable(b, "gfx950")
	for _, c := range []struct {
		name  string
		kind  Kind
		addr  [Lanes]uint32
		lanes uint64
	}{
		{"b128_free", ReadB128, spread(tab, ReadB128, 1), ^uint64(0)},
		{"b128_2way", ReadB128, spread(tab, ReadB128, 2), ^uint64(0)},
		{"b32_free", ReadB32, stride(4), ^uint64(0)},
		{"b32_64way", ReadB32, stride(256), ^uint64(0)},
		{"b32_broadcast", ReadB32, [Lanes]uint32{}, ^uint64(0)},
		{"b128_half", ReadB128, spread(tab, ReadB128, 1), 0xffffffff},
		{"b128_unaligned", ReadB128, stride(20), ^uint64(0)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				tab.Analyze(c.kind, &c.addr, c.lanes)
			}
		})
	}
}
