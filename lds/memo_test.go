package lds

import (
	"math/rand/v2"
	"testing"
)

func TestMemoEqualsAnalyze(t *testing.T) {
	tab := mustTable(t, "gfx950")
	m := NewMemo(tab, 2) // few entries, so that they are replaced
	rng := rand.New(rand.NewPCG(3, 4))
	var pool [12][Lanes]uint32
	for i := range pool {
		for l := range pool[i] {
			pool[i][l] = rng.Uint32() % 8192 &^ 3
		}
	}
	for range 5000 {
		base := pool[rng.IntN(len(pool))]
		k := []Kind{ReadB32, ReadB64, ReadB128, WriteB64, AtomicB32}[rng.IntN(5)]
		offset := uint32(rng.IntN(64)) * 64
		lanes := []uint64{^uint64(0), 0xff, 0}[rng.IntN(3)]
		got := m.Analyze(k, &base, offset, lanes)
		addr := base
		for i := range addr {
			addr[i] += offset
		}
		if want := tab.Analyze(k, &addr, lanes); got != want {
			t.Fatalf("%s offset %d lanes %#x: %+v, want %+v", k, offset, lanes, got, want)
		}
	}
	base := spread(tab, ReadB128, 2)
	if n := testing.AllocsPerRun(100, func() { m.Analyze(ReadB128, &base, 1024, ^uint64(0)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMemoHit(b *testing.B) {
	tab := mustTable(b, "gfx950")
	m := NewMemo(tab, 8)
	base := spread(tab, ReadB128, 2)
	for b.Loop() {
		m.Analyze(ReadB128, &base, 1024, ^uint64(0))
	}
}
