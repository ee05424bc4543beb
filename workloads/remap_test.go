package workloads

import "testing"

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
