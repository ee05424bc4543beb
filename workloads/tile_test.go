package workloads

import "testing"

// ldsPhases are the lanes that share a phase of an LDS instruction and the
// number of banks, as measured on hardware (empirical LDS studies in
// nod-ai/amd-shark-ai, and HipKittens' phase experiments).
var ldsPhases = map[string]struct {
	banks  int
	phases [][][2]int // ranges of lanes, inclusive
}{
	"gfx950 ds_read_b128": {64, [][][2]int{
		{{0, 3}, {12, 15}, {20, 27}}, {{4, 11}, {16, 19}, {28, 31}},
		{{32, 35}, {44, 47}, {52, 59}}, {{36, 43}, {48, 51}, {60, 63}}}},
	"gfx942 ds_read_b64": {32, [][][2]int{{{0, 15}}, {{16, 31}}, {{32, 47}}, {{48, 63}}}},
}

// conflicts is the sum over phases of the greatest number of lanes in one bank,
// less one.
func conflicts(instr string, bytes int, addr func(lane int) int) int {
	p := ldsPhases[instr]
	total := 0
	for _, phase := range p.phases {
		load := make([]int, p.banks)
		for _, r := range phase {
			for l := r[0]; l <= r[1]; l++ {
				for b := 0; b < bytes; b += 4 {
					load[(addr(l)+b)/4%p.banks]++
				}
			}
		}
		most := 0
		for _, n := range load {
			most = max(most, n)
		}
		total += most - 1
	}
	return total
}

func TestOperandReadsAreConflictFree(t *testing.T) {
	for _, c := range []struct {
		name, instr string
		l           Layout
		bytes       int
	}{
		{"st_16x32", "gfx950 ds_read_b128", ST16x32, 16},
		{"128-byte rows, 16-byte units", "gfx950 ds_read_b128", RowXOR16, 16},
		{"128-byte rows, 8-byte units", "gfx942 ds_read_b64", RowXOR8, 8},
	} {
		for k := 0; k < 64; k += c.bytes / 2 * 4 {
			read := func(lane int) int { return c.l.Offset(lane%16, k+lane/16*c.bytes/2) }
			if n := conflicts(c.instr, c.bytes, read); n != 0 {
				t.Errorf("%s: the operand at column %d is read with %d conflicts", c.name, k, n)
			}
		}
	}
	// The check itself finds conflicts where there is no swizzle.
	plain := func(lane int) int { return lane%16*128 + lane/16*16 }
	if n := conflicts("gfx950 ds_read_b128", 16, plain); n == 0 {
		t.Error("unswizzled 128-byte rows are read without conflicts")
	}
}

func TestLayoutsArePermutations(t *testing.T) {
	for _, l := range []Layout{ST16x32, RowXOR8, RowXOR16} {
		seen := map[int]bool{}
		for r := range 32 {
			for c := range 64 {
				o := l.Offset(r, c)
				if o < 0 || o >= 32*128 || o%2 != 0 || seen[o] {
					t.Fatalf("layout %d puts (%d, %d) at %d, outside or taken", l, r, c, o)
				}
				seen[o] = true
			}
		}
	}
}
