package trace

import (
	"fmt"
	"slices"
)

// record is a wave record of which only the head has been read.
type record struct {
	workgroup, wave, part int
	last                  bool
	start                 int
	exec                  uint64
	instructions          uint64
	jumps, execs          []byte
	columns               []column
	issues                []byte // nil: not measured
}

// column is the accesses of one instruction, still encoded, and how far they
// have been read.
type column struct {
	inst int32
	pos  int32
	base uint64 // of the last access read
	runs []byte
}

// parse reads the head of a record; insts is the length of the program.
func (r *record) parse(b []byte, insts int) error {
	d := decoder{b: b, what: "wave record"}
	r.workgroup = d.upTo(1<<31, "the workgroup")
	r.wave = d.upTo(1<<16, "the wave")
	d.what = fmt.Sprintf("workgroup %d, wave %d", r.workgroup, r.wave)
	r.part = d.upTo(1<<31, "the part")
	flags := d.upTo(flagLast|flagIssues, "the flags")
	r.last = flags&flagLast != 0
	r.start = d.upTo(insts-1, "the first instruction")
	r.exec = ^d.uvarint()
	r.instructions = d.uvarint()
	r.jumps = d.bytes(d.count(1, "the length of the jumps"))
	r.execs = d.bytes(d.count(1, "the length of the EXEC masks"))
	n := d.count(3, "the number of memory instructions")
	r.columns = slices.Grow(r.columns[:0], n)
	at, first := int64(0), uint64(0)
	for range n {
		at += d.varint()
		first += uint64(d.varint())
		runs := d.bytes(d.count(1, "the length of the accesses"))
		if d.err == nil && (at < 0 || at >= int64(insts)) {
			d.fail("an access belongs to instruction %d of %d", at, insts)
		}
		if d.err != nil {
			return d.err
		}
		r.columns = append(r.columns, column{inst: int32(at), base: first, runs: runs})
	}
	if !slices.IsSortedFunc(r.columns, func(a, b column) int { return int(a.inst - b.inst) }) {
		d.fail("memory instructions are out of order")
	}
	if r.issues = nil; flags&flagIssues != 0 {
		r.issues = d.bytes(d.left())
	}
	return d.end()
}

// Stream is one wave's stream, read forwards. A Stream is for one goroutine.
type Stream struct {
	r     *Reader
	in    *launchIndex
	refs  []waveRef // parts that follow
	rec   record
	jumps decoder
	at    int // where the last jump went
	jump  Jump
	done  bool // no jump is left
	err   error
}

// Start is the index of the wave's first instruction.
func (s *Stream) Start() int { return s.rec.start }

// Err is the first fault that was met in the stream.
func (s *Stream) Err() error { return s.err }

// nextPart reads the next part of the wave; the first one too.
func (s *Stream) nextPart() bool {
	if len(s.refs) == 0 {
		s.err = fmt.Errorf("%w: workgroup %d, wave %d: the trace ends within the wave", ErrTruncated, s.rec.workgroup, s.rec.wave)
		return false
	}
	ref := s.refs[0]
	s.refs = s.refs[1:]
	b, err := s.r.recordBytes(ref)
	if err == nil {
		err = s.rec.parse(b, s.in.insts())
	}
	if err != nil {
		s.err = err
		return false
	}
	s.jumps = decoder{b: s.rec.jumps, what: fmt.Sprintf("jumps of workgroup %d, wave %d", s.rec.workgroup, s.rec.wave)}
	s.at, s.jump.Count = s.rec.start, 0
	return true
}

// Jump returns the next jump of the wave: the instruction after which the order
// of the program is left, and the one that follows. There is none when ok is
// false, because the wave runs on to its end or because of a fault, which Err
// tells.
func (s *Stream) Jump() (from, to int, ok bool) {
	for s.jump.Count == 0 {
		if s.err != nil || s.done {
			return 0, 0, false
		}
		if s.jumps.left() == 0 {
			if s.rec.last {
				s.done = true
				return 0, 0, false
			}
			if !s.nextPart() {
				return 0, 0, false
			}
			continue
		}
		j, err := readJump(&s.jumps, s.at, s.in.insts())
		if err != nil {
			s.err = err
			return 0, 0, false
		}
		s.jump, s.at = j, j.To
	}
	s.jump.Count--
	return s.jump.From, s.jump.To, true
}

func readJump(d *decoder, at, insts int) (Jump, error) {
	j := Jump{Count: d.uvarint()}
	from := int64(at) + d.varint()
	to := from + d.varint()
	if d.err == nil && (j.Count == 0 || j.Count > maxCount || from < 0 || from >= int64(insts) || to < 0 || to >= int64(insts)) {
		d.fail("%d jumps from instruction %d to %d of %d", j.Count, from, to, insts)
	}
	j.From, j.To = int(from), int(to)
	return j, d.err
}

// Access returns the next run of accesses of a memory instruction.
func (s *Stream) Access(inst int) (AccessRun, error) {
	i, ok := slices.BinarySearchFunc(s.rec.columns, int32(inst), func(c column, i int32) int { return int(c.inst - i) })
	if s.err != nil {
		return AccessRun{}, s.err
	}
	if !ok || int(s.rec.columns[i].pos) == len(s.rec.columns[i].runs) {
		return AccessRun{}, fmt.Errorf("%w: workgroup %d, wave %d: no address is left for instruction %d", ErrFormat, s.rec.workgroup, s.rec.wave, inst)
	}
	c := &s.rec.columns[i]
	return c.next(s.in.patterns)
}

// next decodes a run.
func (c *column) next(patterns []*Pattern) (AccessRun, error) {
	d := decoder{b: c.runs, pos: int(c.pos), what: "accesses"}
	r := AccessRun{Count: d.uvarint()}
	if n := d.uvarint(); n == 0 {
		r.Pattern = d.pattern()
	} else if n <= uint64(len(patterns)) {
		r.Pattern = patterns[n-1]
	} else {
		d.fail("instruction %d uses pattern %d of %d", c.inst, n-1, len(patterns))
	}
	r.Base = c.base + uint64(d.varint())
	c.base = r.Base
	if r.Count > 1 {
		r.Step = uint64(d.varint())
		c.base += r.Step * (r.Count - 1)
	}
	if d.err == nil && r.Count == 0 {
		d.fail("instruction %d has a run of no access", c.inst)
	}
	c.pos = int32(d.pos)
	return r, d.err
}

// decode reads a record whole.
func (r *record) decode(l *launchIndex) (*Wave, error) {
	w := &Wave{Workgroup: r.workgroup, Wave: r.wave, Part: r.part, Last: r.last, Start: r.start, Exec: r.exec, Instructions: r.instructions}
	what := fmt.Sprintf("workgroup %d, wave %d", r.workgroup, r.wave)
	d := decoder{b: r.jumps, what: what}
	for at := r.start; d.left() > 0; {
		j, err := readJump(&d, at, l.insts())
		if err != nil {
			return nil, err
		}
		w.Jumps = append(w.Jumps, j)
		at = j.To
	}
	var err error
	if w.Execs, err = decodeExecs(r.execs, what, l.insts()); err != nil {
		return nil, err
	}
	for _, c := range r.columns {
		a := AccessColumn{Inst: int(c.inst)}
		for c.pos = 0; int(c.pos) < len(c.runs); {
			run, err := c.next(l.patterns)
			if err != nil {
				return nil, err
			}
			a.Runs = append(a.Runs, run)
		}
		w.Accesses = append(w.Accesses, a)
	}
	if r.issues != nil {
		w.Issues, err = decodeIssues(r.issues, what)
	}
	return w, err
}

func decodeExecs(b []byte, what string, insts int) ([]ExecColumn, error) {
	d := decoder{b: b, what: what}
	var out []ExecColumn
	at := int64(0)
	for d.left() > 0 && d.err == nil {
		at += d.varint()
		if at < 0 || at >= int64(insts) {
			d.fail("an EXEC mask belongs to instruction %d of %d", at, insts)
		}
		c := ExecColumn{Inst: int(at)}
		for range d.count(2, "the number of EXEC masks") {
			r := ExecRun{Count: d.uvarint()}
			r.Mask = ^d.uvarint()
			c.Runs = append(c.Runs, r)
		}
		out = append(out, c)
	}
	return out, d.err
}

func decodeIssues(b []byte, what string) ([]Issue, error) {
	d := decoder{b: b, what: what}
	out := make([]Issue, d.count(3, "the number of issue times"))
	at := int64(0)
	for i := range out {
		at += d.varint()
		out[i].Cycle = at
		out[i].Stall = d.varint()
		out[i].Duration = d.varint()
	}
	return out, d.end()
}
