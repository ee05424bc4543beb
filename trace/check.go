package trace

import "fmt"

// Check reads everything: every checksum, every record, whether jumps, accesses
// and counts fit together, and whether the index lists all chunks. It returns
// the number of waves.
func (t *Reader) Check() (waves int, err error) {
	end := int64(headerBytes)
	for i := range t.chunks {
		if t.chunks[i].offset != end {
			return waves, fmt.Errorf("%w: the chunk at byte %d is not in the index", ErrFormat, end)
		}
		c, _, err := t.readChunk(end)
		if err != nil {
			return waves, err
		}
		end += chunkHeader + int64(c.stored)
	}
	for i := range t.launches {
		l := &t.launches[i]
		n, total, err := t.checkLaunch(i)
		waves += n
		if err != nil {
			return waves, err
		}
		if r := l.result; r != nil && t.truncated == nil && (r.Instructions != total || r.Waves != n) {
			return waves, fmt.Errorf("%w: launch %d has %d waves and %d instructions, and its result says %d and %d", ErrFormat, i, n, total, r.Waves, r.Instructions)
		}
		if l.dropped > 0 && t.truncated == nil {
			return waves, fmt.Errorf("%w: launch %d has only parts of %d waves", ErrFormat, i, l.dropped)
		}
	}
	return waves, nil
}

func (t *Reader) checkLaunch(i int) (waves int, instructions uint64, err error) {
	l := &t.launches[i]
	for _, g := range l.groups {
		for _, w := range t.Waves(i, g) {
			parts, err := t.Wave(i, g, w)
			if err != nil {
				return waves, instructions, err
			}
			for _, p := range parts {
				instructions += p.Instructions
			}
			waves++
		}
	}
	return waves, instructions, nil
}

// check holds the counts of a part against its path.
func (w *Wave) check(insts int) error {
	times := make([]uint64, insts+1) // differences of how often each instruction ran
	run := func(from, to int, n uint64) {
		times[from] += n
		times[to+1] -= n
	}
	at, total := w.Start, uint64(0)
	for _, j := range w.Jumps {
		if j.From < at || j.Count > 1 && j.From < j.To {
			return fmt.Errorf("the jump from instruction %d cannot be reached from %d", j.From, at)
		}
		run(at, j.From, 1)
		total += uint64(j.From - at + 1)
		if j.Count > 1 {
			run(j.To, j.From, j.Count-1)
			total += uint64(j.From-j.To+1) * (j.Count - 1)
		}
		at = j.To
	}
	tail := w.Instructions - total
	if w.Instructions < total || tail > uint64(insts-at) || w.Last != (tail > 0) {
		return fmt.Errorf("it has %d instructions, and its jumps take %d", w.Instructions, total)
	}
	if tail > 0 {
		run(at, at+int(tail)-1, 1)
	}
	for i := 1; i < len(times); i++ {
		times[i] += times[i-1]
	}
	for _, c := range w.Accesses {
		n := uint64(0)
		for _, r := range c.Runs {
			n += r.Count
		}
		if n != times[c.Inst] {
			return fmt.Errorf("instruction %d runs %d times and has %d accesses", c.Inst, times[c.Inst], n)
		}
	}
	if w.Issues != nil && uint64(len(w.Issues)) != w.Instructions {
		return fmt.Errorf("it has %d instructions and %d issue times", w.Instructions, len(w.Issues))
	}
	return nil
}
