package xcd

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/whisker-sim/whisker/cache"
)

// TestInboxOrder: answers come out by time, and in order of arrival within a
// cycle, however late an early one is put in.
func TestInboxOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var b inbox
	var want []answer
	now := int64(0)
	for i := range 20000 {
		a := answer{at: now + rng.Int64N(40), tag: uint32(i)}
		b.put(a)
		want = append(want, a)
		slices.SortStableFunc(want, func(x, y answer) int { return cmp.Compare(x.at, y.at) })
		for rng.IntN(2) == 0 && len(want) > 0 {
			if b.next() != want[0].at || b.answers[b.head] != want[0] {
				t.Fatalf("step %d: %+v at %d, want %+v", i, b.answers[b.head], b.next(), want[0])
			}
			now = want[0].at
			b.head++
			want = want[1:]
		}
	}
	b.head = len(b.answers)
	if b.next() != cache.Never {
		t.Error("an empty inbox has an answer")
	}
}

// benchmarkChip runs whole launches of a chip whose CUs stream lines; the time
// is that of a line, everything from CU to memory and back included.
func benchmarkChip(b *testing.B, lines int, plan func(wg, i int) (uint64, int, bool)) {
	m := testMachine()
	m.L2.MSHRsPerChannel = 256
	r := newRig(b, m, Options{}, plan)
	workgroups := max(1, b.N/lines)
	b.ReportAllocs()
	b.ResetTimer()
	if _, err := r.Run(context.Background(), Kernel{Workgroups: workgroups, Waves: 4}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkChipHit is a line that mostly hits in the L2.
func BenchmarkChipHit(b *testing.B) {
	benchmarkChip(b, 512, func(wg, i int) (uint64, int, bool) { return uint64(i) * 128, 0, i < 512 })
}

// BenchmarkChipStream is a line that misses every cache.
func BenchmarkChipStream(b *testing.B) {
	benchmarkChip(b, 512, func(wg, i int) (uint64, int, bool) { return uint64(wg*512+i) * 128, 0, i < 512 })
}
