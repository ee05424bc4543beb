package cache

import "testing"

func (b *tccBench) atomic(now int64, a Atomic, line uint64, tag uint32) {
	b.t.Helper()
	if retry := b.l2.Atomic(now, 1, line, a, tag); retry != 0 {
		b.t.Fatalf("atomic on %#x at %d turned away until %d", line, now, retry)
	}
}

// TestAtomicMisses: an atomic fetches its line, which is dirty afterwards; one
// on a line in flight joins it, and both hold the port one after the other when
// the line comes: a read of the line and 128 bytes of operands at 64 a cycle.
func TestAtomicMisses(t *testing.T) {
	b := newTCCBench(t, smallL2(), 500)
	whole := Atomic{Bytes: 128, Same: 1}
	b.atomic(0, whole, 0, 1)
	b.atomic(10, whole, 0, 2)
	b.run(2000) // the fetch leaves at 25, the line comes at 525
	b.want(answer{525 + 3 + 60, 1, 1, "ack"}, answer{525 + 6 + 60, 1, 2, "ack"})
	s := b.l2.Stats()
	if s.Atomics != 2 || s.AtomicMisses != 1 || s.AtomicHits != 1 || s.AtomicHitsInFlight != 1 || s.AtomicBytes != 256 || s.AtomicCycles != 6 || s.Fills != 1 || s.Reads+s.Writes != 0 {
		t.Errorf("counts: %+v", s)
	}
	if err := s.Check("L2", 128); err != nil {
		t.Error(err)
	}
	b.l2.Flush(3000)
	if len(b.backs) != 1 || b.backs[0].bytes != 128 {
		t.Errorf("written back: %v, want one line of 128 bytes", b.backs)
	}
}

// TestAtomicPort: what a hit holds its channel for, seen by a read behind it,
// and when its own answer comes.
func TestAtomicPort(t *testing.T) {
	for _, c := range []struct {
		name   string
		a      Atomic
		port   int64
		answer int64 // after the port's time
	}{
		{"a line", Atomic{Bytes: 128, Same: 1}, 1 + 2, 60},
		{"a word", Atomic{Bytes: 4, Same: 1}, 1 + 1, 60},
		{"64 lanes on one word", Atomic{Bytes: 128, Same: 64}, 1 + 64, 60},
		{"old data back", Atomic{Bytes: 128, Same: 1, Returns: true}, 1 + 2, 101},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newTCCBench(t, smallL2(), 500)
			b.read(0, 0, 0, 1)
			b.run(900)
			b.answers = nil
			b.atomic(1000, c.a, 0, 2)
			b.read(1000, 0, 0, 3)
			b.run(2000)
			got := map[uint32]int64{}
			for _, a := range b.answers {
				got[a.Tag] = a.At
			}
			if got[2] != 1000+c.port+c.answer || got[3] != 1000+c.port+101 {
				t.Errorf("answers at %v, want 2 at %d and 3 at %d", got, 1000+c.port+c.answer, 1000+c.port+101)
			}
		})
	}
}

// TestAtomicAfterWrite: a line that is partly written has to be fetched, one that
// is wholly written has not.
func TestAtomicAfterWrite(t *testing.T) {
	for _, c := range []struct{ written, fetches int }{{64, 1}, {128, 0}} {
		b := newTCCBench(t, smallL2(), 500)
		b.l2.Write(0, 0, 0, c.written, 1)
		b.run(500)
		b.atomic(500, Atomic{Bytes: 4, Same: 1}, 0, 2)
		b.run(2000)
		if len(b.fetches) != c.fetches || !b.l2.Idle() {
			t.Errorf("%d bytes written: %d fetches, want %d; idle %t", c.written, len(b.fetches), c.fetches, b.l2.Idle())
		}
	}
}
