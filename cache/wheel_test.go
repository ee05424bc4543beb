package cache

import (
	"math/rand/v2"
	"sort"
	"testing"
)

// TestWheelOrder holds the wheel against a sorted list: by cycle, and by order
// of pushing within a cycle, for near and far events and for events pushed at
// the current cycle.
func TestWheelOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var w wheel
	type ref struct {
		at int64
		id uint32
	}
	var pending []ref
	var id uint32
	push := func(at int64) {
		id++
		w.push(event{at: at, id: id})
		pending = append(pending, ref{at, id})
	}
	push(0)
	for range 20000 {
		sort.SliceStable(pending, func(i, j int) bool { return pending[i].at < pending[j].at })
		if len(pending) == 0 {
			if w.nextAt() != Never || w.pending != 0 {
				t.Fatal("an empty wheel has something pending")
			}
			push(w.base + 5*wheelSize)
			continue
		}
		now := w.nextAt()
		if now != pending[0].at {
			t.Fatalf("next at %d, want %d", now, pending[0].at)
		}
		w.advance(now)
		for {
			e, ok := w.pop()
			if !ok {
				break
			}
			if e.id != pending[0].id || e.at != now {
				t.Fatalf("at %d: event %d of cycle %d, want %d", now, e.id, e.at, pending[0].id)
			}
			pending = pending[1:]
			for range rng.IntN(3) {
				if len(pending) > 200 {
					break
				}
				switch rng.IntN(8) {
				case 0:
					// Same cycle: comes after all that is pending for it.
					id++
					w.push(event{at: now, id: id})
					i := sort.Search(len(pending), func(i int) bool { return pending[i].at > now })
					pending = append(pending[:i], append([]ref{{now, id}}, pending[i:]...)...)
				case 1:
					push(now + rng.Int64N(4*wheelSize))
				case 2:
					push(now + wheelSize - 1 + rng.Int64N(3))
				default:
					push(now + rng.Int64N(300))
				}
			}
			sort.SliceStable(pending, func(i, j int) bool { return pending[i].at < pending[j].at })
		}
		if len(pending) > 0 && pending[0].at == now {
			t.Fatalf("event %d of cycle %d did not come", pending[0].id, now)
		}
	}
}

func TestWheelRefusesThePast(t *testing.T) {
	var w wheel
	w.advance(10)
	defer func() {
		if recover() == nil {
			t.Fatal("an event in the past was taken")
		}
	}()
	w.push(event{at: 9})
}

func TestServer(t *testing.T) {
	// 1200 GB/s at 2400 MHz are 500 bytes a cycle.
	s := NewServer(1200, 2400)
	for i, want := range []int64{0, 1, 1, 1, 2} { // starts at 0, .256, .512, .768, 1.024
		if got := s.Claim(0, 128); got != want {
			t.Errorf("transfer %d begins at %d, want %d", i, got, want)
		}
	}
	if got := s.Claim(100, 128); got != 100 {
		t.Errorf("an idle server starts a transfer at %d, want 100", got)
	}
	s = NewServer(1200, 2400)
	const n = 1 << 20
	var last int64
	for range n {
		last = s.Claim(0, 128)
	}
	if want := float64(n) * 128 / 500; float64(last) < want*0.9999 || float64(last) > want*1.0001 {
		t.Errorf("%d lines take %d cycles, want %.0f", n, last, want)
	}
	if free := (&Server{}).Claim(7, 1<<20); free != 7 {
		t.Errorf("no limit, yet a transfer waits until %d", free)
	}
}
