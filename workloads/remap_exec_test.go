package workloads

import (
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

// The emitted scalar code computes Remap, also with divisors that are no powers
// of two and with a last window that is lower.
func TestRemapCode(t *testing.T) {
	for _, g := range []struct{ nM, nN, w, c, x int }{
		{32, 32, 8, 64, 8}, {48, 36, 7, 216, 8}, {48, 36, 5, 25, 8}, {76, 57, 8, 542, 8}, {76, 57, 8, 64, 8},
		{40, 32, 4, 16, 8}, {1, 1, 4, 16, 8}, {3, 5, 8, 64, 8}, {13, 7, 3, 2, 7}, {13, 7, 12, 1, 3}, {5, 9, 0, 0, 8},
		{17, 3, 4, 5, 6}, {4096, 4096, 7, 100, 7},
	} {
		b := NewBuilder(isa.GFX950, 1, 3)
		row, col, tmp := b.SGPR(1), b.SGPR(1), b.SGPR(4)
		b.remap(row, col, reg(isa.S(2), 1), tmp, g.nM, g.nN, g.w, g.c, g.x)
		b.SOPP(isa.S_ENDPGM, 0)
		insts, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		k := &isa.Kernel{Name: "remap", CPU: isa.GFX950, Insts: insts}
		n := g.nM * g.nN
		for wg := 0; wg < n; wg += max(1, n/5000) {
			s := &isa.State{CPU: isa.GFX950, Mode: isa.DefaultMode}
			s.SGPR[2] = uint32(wg)
			for !s.Ended {
				if err := isa.Exec(k, &k.Insts[s.PC], s); err != nil {
					t.Fatal(err)
				}
			}
			r, c := Remap(wg, n, g.nM, g.nN, g.w, g.c, g.x)
			if int(s.SGPR[row.Reg]) != r || int(s.SGPR[col.Reg]) != c {
				t.Fatalf("%+v: workgroup %d: code gives (%d, %d), Remap (%d, %d)", g, wg, s.SGPR[row.Reg], s.SGPR[col.Reg], r, c)
			}
		}
	}
}
