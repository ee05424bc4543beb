package cache

import "testing"

func TestFoldIsTheXorOfTheGroups(t *testing.T) {
	x := uint64(0x9e3779b97f4a7c15)
	for n := uint(0); n <= 20; n++ {
		for range 100 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			want := uint64(0)
			for at := uint(0); n > 0 && at < 64; at += n {
				want ^= x >> at & (1<<n - 1)
			}
			if got := fold(x, n); got != want {
				t.Fatalf("fold(%#x, %d) = %#x, want %#x", x, n, got, want)
			}
		}
	}
}
