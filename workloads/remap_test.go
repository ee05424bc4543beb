package workloads

import "testing"

func TestRemapIsBijective(t *testing.T) {
	for _, g := range []struct{ nM, nN, w, c, x int }{
		{32, 32, 8, 64, 8}, {16, 16, 8, 64, 8}, {8, 8, 2, 4, 8}, {16, 16, 4, 16, 8}, {64, 64, 8, 256, 8},
		{48, 36, 7, 216, 8}, {48, 36, 5, 25, 8}, {76, 57, 8, 542, 8}, {76, 57, 8, 64, 8}, {40, 32, 4, 16, 8},
		{1, 1, 4, 16, 8}, {3, 5, 8, 64, 8}, {13, 7, 3, 2, 7}, {13, 7, 1, 1, 3}, {5, 9, 0, 0, 8}, {17, 3, 4, 5, 6},
	} {
		n := g.nM * g.nN
		seen := make([]bool, n)
		for wg := range n {
			r, c := Remap(wg, n, g.nM, g.nN, g.w, g.c, g.x)
			if r < 0 || r >= g.nM || c < 0 || c >= g.nN || seen[r*g.nN+c] {
				t.Fatalf("%+v: workgroup %d goes to tile (%d, %d), outside or taken", g, wg, r, c)
			}
			seen[r*g.nN+c] = true
		}
	}
}

// The tile that HipKittens' Algorithm 1 gives: worked by hand.
func TestRemapByHand(t *testing.T) {
	// 32x32 tiles, W 8, C 64, 8 XCDs: workgroup 8 is the second of XCD 0, so
	// place 1 of its chunk: row 1 of the window, column 0. Workgroup 1 starts
	// XCD 1's chunk at place 64: column 8. Workgroup 512 is the first of XCD
	// 0's second chunk: place 512 = 2 windows of 256.
	for _, c := range []struct{ wg, row, col int }{{0, 0, 0}, {8, 1, 0}, {64, 0, 1}, {1, 0, 8}, {512, 16, 0}, {1023, 31, 31}} {
		if r, cc := Remap(c.wg, 1024, 32, 32, 8, 64, 8); r != c.row || cc != c.col {
			t.Errorf("workgroup %d: tile (%d, %d), want (%d, %d)", c.wg, r, cc, c.row, c.col)
		}
	}
}

func TestMagicDividesExactly(t *testing.T) {
	for _, limit := range []int{1, 64, 1000, 4332, 1 << 16, 1 << 26} {
		for _, d := range []int{1, 2, 3, 5, 7, 25, 64, 216, 456, 542, 4095, 65537, 1 << 20, 1<<26 - 1} {
			m, s := magic(d, limit)
			check := func(n int) {
				if n < 0 || n >= limit {
					return
				}
				if q := int(uint64(2*n)*uint64(m)>>32) >> s; q != n/d {
					t.Fatalf("%d / %d below %d: magic gives %d, want %d", n, d, limit, q, n/d)
				}
			}
			for i := range 2000 {
				check(i)
				check(limit - 1 - i)
				check(i*d - 1)
				check(i * d)
				check(limit/d*d - 1 + i*d)
			}
		}
	}
}
