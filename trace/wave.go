package trace

import "encoding/binary"

// Wave is what one wave did, or a part of it: long waves are written in
// parts, which end after a jump.
type Wave struct {
	Workgroup    int // linear index in the grid
	Wave         int // within the workgroup
	Part         int // from 0
	Last         bool
	Start        int    // index of the part's first instruction
	Exec         uint64 // EXEC at the start of the part
	Instructions uint64 // executed in the part

	Jumps    []Jump // in order
	Execs    []ExecColumn
	Accesses []AccessColumn // in order of Inst

	// Issues are measured issue times, one an instruction in order of execution;
	// nil when nothing was measured.
	Issues []Issue
}

// Jump says that instruction From was followed by To instead of by its
// neighbour, Count times in a row with no other jump between.
type Jump struct {
	Count    uint64
	From, To int
}

// ExecColumn is the EXEC masks that one instruction left, in order of
// execution.
type ExecColumn struct {
	Inst int
	Runs []ExecRun
}

// ExecRun is the same mask Count times.
type ExecRun struct {
	Count, Mask uint64
}

// AccessColumn is the accesses of one memory instruction in order of execution.
type AccessColumn struct {
	Inst int
	Runs []AccessRun
}

// AccessRun is Count accesses of one lane pattern whose base moves by Step.
type AccessRun struct {
	Count      uint64
	Pattern    *Pattern
	Base, Step uint64
}

// Issue is when a measured instruction was issued.
type Issue struct {
	Cycle    int64 // of the attempt: the wave's first is its launch time on the device
	Stall    int64 // cycles that it was held
	Duration int64 // cycles from the attempt to the end of its issue, the stall included
}

// Flags of a wave record.
const (
	flagLast   = 1
	flagIssues = 2
)

// append encodes the record; number gives the number of a pattern in the
// table, or false for one that goes inline.
func (w *Wave) append(b []byte, number func(*Pattern) (int, bool)) []byte {
	flags := uint64(0)
	if w.Last {
		flags |= flagLast
	}
	if w.Issues != nil {
		flags |= flagIssues
	}
	for _, v := range [...]uint64{uint64(w.Workgroup), uint64(w.Wave), uint64(w.Part), flags, uint64(w.Start), ^w.Exec, w.Instructions} {
		b = binary.AppendUvarint(b, v)
	}
	b = section(b, w.appendJumps)
	b = section(b, w.appendExecs)
	b = w.appendAccesses(b, number)
	if w.Issues != nil {
		b = w.appendIssues(b)
	}
	return b
}

// section writes what f appends behind its length, so that a reader can skip it.
func section(b []byte, f func([]byte) []byte) []byte {
	from := len(b)
	b = f(b)
	var n [binary.MaxVarintLen64]byte
	k := binary.PutUvarint(n[:], uint64(len(b)-from))
	b = append(b, n[:k]...)
	copy(b[from+k:], b[from:len(b)-k])
	copy(b[from:], n[:k])
	return b
}

func (w *Wave) appendExecs(b []byte) []byte {
	last := 0
	for i := range w.Execs {
		c := &w.Execs[i]
		b = binary.AppendUvarint(b, zigzag(int64(c.Inst-last)))
		last = c.Inst
		b = binary.AppendUvarint(b, uint64(len(c.Runs)))
		for _, r := range c.Runs {
			b = binary.AppendUvarint(b, r.Count)
			b = binary.AppendUvarint(b, ^r.Mask)
		}
	}
	return b
}

func (w *Wave) appendJumps(b []byte) []byte {
	at := w.Start
	for _, j := range w.Jumps {
		b = binary.AppendUvarint(b, j.Count)
		b = binary.AppendUvarint(b, zigzag(int64(j.From-at)))
		b = binary.AppendUvarint(b, zigzag(int64(j.To-j.From)))
		at = j.To
	}
	return b
}

func (w *Wave) appendAccesses(b []byte, number func(*Pattern) (int, bool)) []byte {
	b = binary.AppendUvarint(b, uint64(len(w.Accesses)))
	var runs []byte
	last, first := 0, uint64(0)
	for i := range w.Accesses {
		c := &w.Accesses[i]
		b = binary.AppendUvarint(b, zigzag(int64(c.Inst-last)))
		last = c.Inst
		base := uint64(0)
		if len(c.Runs) > 0 {
			base = c.Runs[0].Base
		}
		b = binary.AppendUvarint(b, zigzag(int64(base-first)))
		first = base
		runs = appendRuns(runs[:0], c.Runs, base, number)
		b = binary.AppendUvarint(b, uint64(len(runs)))
		b = append(b, runs...)
	}
	return b
}

// appendRuns encodes the runs of a column; a base is told by its distance from
// the last access before.
func appendRuns(b []byte, runs []AccessRun, at uint64, number func(*Pattern) (int, bool)) []byte {
	for i := range runs {
		r := &runs[i]
		b = binary.AppendUvarint(b, r.Count)
		n, ok := number(r.Pattern)
		if ok {
			b = binary.AppendUvarint(b, uint64(n)+1)
		} else {
			b = binary.AppendUvarint(b, 0)
			b = r.Pattern.append(b)
		}
		b = binary.AppendUvarint(b, zigzag(int64(r.Base-at)))
		at = r.Base
		if r.Count > 1 {
			b = binary.AppendUvarint(b, zigzag(int64(r.Step)))
			at += r.Step * (r.Count - 1)
		}
	}
	return b
}

func (w *Wave) appendIssues(b []byte) []byte {
	at := int64(0)
	b = binary.AppendUvarint(b, uint64(len(w.Issues)))
	for _, s := range w.Issues {
		b = binary.AppendUvarint(b, zigzag(s.Cycle-at))
		b = binary.AppendUvarint(b, zigzag(s.Stall))
		b = binary.AppendUvarint(b, zigzag(s.Duration))
		at = s.Cycle
	}
	return b
}
