package lds

import (
	"encoding/csv"
	"math/bits"
	"os"
	"slices"
	"strconv"
	"testing"
)

// solvePhases is the published phase solver, run on the model: with only lanes
// a and b active and every lane at bank 0 of a row of its own, a counted
// conflict means that the two are served in the same phase. Lanes connected by
// conflicts are a phase.
func solvePhases(t *testing.T, tab *Table, k Kind) []uint64 {
	addr := stride(256)
	var group [Lanes]uint64
	for a := range Lanes {
		group[a] |= 1 << a
		for b := a + 1; b < Lanes; b++ {
			switch n := tab.Analyze(k, &addr, 1<<a|1<<b).Conflicts; n {
			case 1:
				group[a] |= 1 << b
				group[b] |= 1 << a
			case 0:
			default:
				t.Fatalf("%s lanes %d and %d: %d conflicts of two lanes", k, a, b, n)
			}
		}
	}
	// Sharing a phase must be an equivalence relation.
	var phases []uint64
	for a, g := range group {
		for m := g; m != 0; m &= m - 1 {
			if b := bits.TrailingZeros64(m); group[b] != g {
				t.Fatalf("%s: lanes %d and %d conflict but not with the same lanes", k, a, b)
			}
		}
		if !slices.Contains(phases, g) {
			phases = append(phases, g)
		}
	}
	return phases
}

func TestPhaseSolverRecoversTheTable(t *testing.T) {
	for _, arch := range []string{"gfx942", "gfx950"} {
		tab := mustTable(t, arch)
		for k := Kind(0); k < NumKinds; k++ {
			if !tab.Supports(k) || k == Permute {
				continue
			}
			got, want := solvePhases(t, tab, k), tab.Phases(k)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s %s: solved %x, table %x", arch, k, got, want)
			}
		}
	}
}

// The published phases, as literals: Table 5 of the HipKittens paper.
func TestPublishedPhases(t *testing.T) {
	tab := mustTable(t, "gfx950")
	for _, c := range []struct {
		kind Kind
		want []string
	}{
		{ReadB128, []string{"0-3,12-15,20-27", "32-35,44-47,52-59", "4-11,16-19,28-31", "36-43,48-51,60-63"}},
		{ReadB96, []string{"0-3,20-23", "4-7,16-19", "8-11,28-31", "12-15,24-27", "32-35,52-55", "36-39,48-51", "40-43,60-63", "44-47,56-59"}},
		{ReadB64, []string{"0-31", "32-63"}},
		{ReadB64Tr, []string{"0-31", "32-63"}},
		{WriteB64, []string{"0-15", "16-31", "32-47", "48-63"}},
	} {
		var got []string
		for _, m := range tab.Phases(c.kind) {
			got = append(got, laneList(m))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.kind, got, c.want)
		}
	}
}

// The published bank solver: lane a stays at dword 0, lane b of the same phase
// sweeps over dwords. On the hardware, and here, the counter shows conflicts at
// exact multiples of the bank count only, never where unaligned data overlaps.
func TestBankSolver(t *testing.T) {
	tab := mustTable(t, "gfx950")
	for _, c := range []struct {
		kind  Kind
		lane  int
		banks int
	}{
		{ReadB128, 1, 64}, {ReadB64, 1, 64}, {ReadB96, 1, 32}, {WriteB64, 1, 32},
	} {
		for offset := range 128 {
			var addr [Lanes]uint32
			addr[c.lane] = uint32(offset * 4)
			want := 0
			if offset > 0 && offset%c.banks == 0 {
				want = 1
			}
			if got := tab.Analyze(c.kind, &addr, 1|1<<c.lane).Conflicts; got != want {
				t.Errorf("%s, dword %d: %d conflicts, want %d", c.kind, offset, got, want)
			}
		}
	}
}

// counters reads the last dispatch of a rocprofv3 counter file.
func counters(t *testing.T, name string) map[string]float64 {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, h := range rows[0] {
		column[h] = i
	}
	last := rows[len(rows)-1][column["Dispatch_Id"]]
	got := map[string]float64{}
	for _, r := range rows[1:] {
		if r[column["Dispatch_Id"]] == last && r[column["Kernel_Name"]] == "micro_tk(micro_globals)" {
			v, err := strconv.ParseFloat(r[column["Counter_Value"]], 64)
			if err != nil {
				t.Fatal(err)
			}
			got[r[column["Counter_Name"]]] = v
		}
	}
	return got
}

// Real rocprofv3 files of the two solvers, each the last probe of a sweep. They
// do not say which lanes or dword they probed, so what compares is that one
// instruction of two lanes counts what the model can count for two lanes:
// one conflict in a phase solver's probe of two lanes of a phase, none in a
// bank solver's probe off the multiples of the bank count.
func TestRocprofProbes(t *testing.T) {
	tab := mustTable(t, "gfx950")
	oneRow := stride(256)
	var offset [Lanes]uint32
	offset[1] = 4 * 33
	for _, c := range []struct {
		file  string
		kind  Kind
		addr  [Lanes]uint32
		lanes uint64
	}{
		{"ds_read_b128_phase_test_counter_collection.csv", ReadB128, oneRow, 1<<62 | 1<<63},
		{"ds_read_b64_lds_conflict_counter_collection.csv", ReadB64, oneRow, 1<<62 | 1<<63},
		{"ds_write_b64_bank_test_counter_collection.csv", WriteB64, offset, 3},
	} {
		got := counters(t, c.file)
		if got["SQ_INSTS_LDS"] != 1 {
			t.Fatalf("%s: %v", c.file, got)
		}
		if n := tab.Analyze(c.kind, &c.addr, c.lanes).Conflicts; float64(n) != got["SQ_LDS_BANK_CONFLICT"] {
			t.Errorf("%s: counted %v, the model %d", c.file, got["SQ_LDS_BANK_CONFLICT"], n)
		}
	}
}
