package timeline

import "encoding/binary"

// A segment is a byte of kind and instruction, then what the byte leaves open:
//
//	low 4 bits   kind; kindSeek moves the clock instead: a varint of cycles
//	high 4 bits  instruction less the expected one (the one after the last
//	             issued), plus 8: 1 to 15; 0: a zigzag varint of it follows
//
// A stall ends with a varint of its length; an issue takes Interval cycles.
const (
	kindSeek = 15
	instBias = 8
)

// laneEncoder appends segments to a lane.
type laneEncoder struct {
	at   int64 // end of the last segment
	next int32 // expected instruction
	buf  []byte
}

func (e *laneEncoder) segment(from, to, interval int64, k Kind, inst int32) {
	if from != e.at {
		// Never back: a segment that begins earlier is a fault of the caller, and
		// would show as a length that is no longer true.
		e.buf = append(e.buf, kindSeek)
		e.buf = binary.AppendVarint(e.buf, from-e.at)
	}
	d := inst - e.next
	if d >= 1-instBias && d < 16-instBias {
		e.buf = append(e.buf, byte(k)|byte(d+instBias)<<4)
	} else {
		e.buf = append(e.buf, byte(k))
		e.buf = binary.AppendVarint(e.buf, int64(d))
	}
	if k == Issue {
		e.next = inst + 1
		e.at = from + interval
		return
	}
	e.buf = binary.AppendUvarint(e.buf, uint64(to-from))
	e.at = to
}

// Segment is what a wave did for a while.
type Segment struct {
	From, To int64
	Kind     Kind
	Inst     int32 // that issued, or before which the wave stood
}

// Segments calls f for every segment of the lane in order, until f returns
// false. It reports whether the bytes were well formed up to there.
func (l *Lane) EachSegment(interval int, f func(s Segment) bool) bool {
	b := l.Segments
	at, next := int64(0), int32(0)
	for len(b) > 0 {
		tag := b[0]
		b = b[1:]
		if tag&15 == kindSeek {
			d, n := binary.Varint(b)
			if n <= 0 {
				return false
			}
			b, at = b[n:], at+d
			continue
		}
		d := int64(tag>>4) - instBias
		if tag>>4 == 0 {
			var n int
			if d, n = binary.Varint(b); n <= 0 {
				return false
			}
			b = b[n:]
		}
		s := Segment{From: at, Kind: Kind(tag & 15), Inst: next + int32(d)}
		if s.Kind == Issue {
			s.To = at + int64(interval)
			next = s.Inst + 1
		} else {
			length, n := binary.Uvarint(b)
			if n <= 0 {
				return false
			}
			b = b[n:]
			s.To = at + int64(length)
		}
		at = s.To
		if !f(s) {
			return true
		}
	}
	return true
}

// MemoryOp is an operation that vmcnt or lgkmcnt counts. Its bytes are varints:
// twice the issue cycle since the one before it, plus 1 for lgkmcnt; the
// instruction since the one before it, zigzag; cycles to completion, 0 when it
// did not complete before the recording ended.
type MemoryOp struct {
	Issued int64
	Done   int64 // 0: not before the end
	LGKM   bool
	Inst   int32
}

// EachMemoryOp calls f for every operation in order of issue. It reports whether
// the bytes were well formed.
func (l *Lane) EachMemoryOp(f func(m MemoryOp)) bool {
	b := l.Memory
	var m MemoryOp
	for len(b) > 0 {
		v, n := binary.Uvarint(b)
		d, k := binary.Varint(b[max(n, 0):])
		if n <= 0 || k <= 0 {
			return false
		}
		wait, j := binary.Uvarint(b[n+k:])
		if j <= 0 {
			return false
		}
		b = b[n+k+j:]
		m.Issued += int64(v >> 1)
		m.LGKM = v&1 != 0
		m.Inst += int32(d)
		m.Done = 0
		if wait > 0 {
			m.Done = m.Issued + int64(wait)
		}
		f(m)
	}
	return true
}

func appendMemoryOp(b []byte, last *MemoryOp, m MemoryOp) []byte {
	v := uint64(m.Issued-last.Issued) << 1
	if m.LGKM {
		v |= 1
	}
	b = binary.AppendUvarint(b, v)
	b = binary.AppendVarint(b, int64(m.Inst-last.Inst))
	wait := uint64(0)
	if m.Done > m.Issued {
		wait = uint64(m.Done - m.Issued)
	}
	*last = m
	return binary.AppendUvarint(b, wait)
}

// BankUse is a time in which the LDS banks serve one operation. Its bytes are
// varints: start since the one before it, cycles, twice the slot plus 1 for
// direct-to-LDS data, and the instruction since the one before it plus one,
// zigzag; instruction -1 is one from before the window.
type BankUse struct {
	From, To int64
	Slot     int // simd*Slots + slot
	Fill     bool
	Inst     int32
}

// EachBankUse calls f for every use in order of time.
func (c *CU) EachBankUse(f func(u BankUse)) bool {
	b := c.Banks
	var u BankUse
	for len(b) > 0 {
		var v [3]uint64
		for i := range v {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return false
			}
			v[i], b = x, b[n:]
		}
		d, n := binary.Varint(b)
		if n <= 0 {
			return false
		}
		b = b[n:]
		u.From += int64(v[0])
		u.To = u.From + int64(v[1])
		u.Slot, u.Fill = int(v[2]>>1), v[2]&1 != 0
		u.Inst += int32(d)
		f(u)
	}
	return true
}

func appendBankUse(b []byte, last *BankUse, u BankUse) []byte {
	b = binary.AppendUvarint(b, uint64(u.From-last.From))
	b = binary.AppendUvarint(b, uint64(u.To-u.From))
	v := uint64(u.Slot) << 1
	if u.Fill {
		v |= 1
	}
	b = binary.AppendUvarint(b, v)
	b = binary.AppendVarint(b, int64(u.Inst-last.Inst))
	*last = u
	return b
}

// Release is one wave that a barrier let go. Its bytes are varints: arrival since
// the one before it, cycles to the release, slot of the last to arrive, slot of
// the wave that may go on.
type Release struct {
	Arrived, Released int64
	Last, Woken       int
}

// EachRelease calls f for every release in order of time.
func (c *CU) EachRelease(f func(r Release)) bool {
	b := c.Barriers
	var r Release
	for len(b) > 0 {
		var v [4]uint64
		for i := range v {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return false
			}
			v[i], b = x, b[n:]
		}
		r.Arrived += int64(v[0])
		r.Released = r.Arrived + int64(v[1])
		r.Last, r.Woken = int(v[2]), int(v[3])
		f(r)
	}
	return true
}

func appendRelease(b []byte, last *Release, r Release) []byte {
	b = binary.AppendUvarint(b, uint64(r.Arrived-last.Arrived))
	b = binary.AppendUvarint(b, uint64(r.Released-r.Arrived))
	b = binary.AppendUvarint(b, uint64(r.Last))
	b = binary.AppendUvarint(b, uint64(r.Woken))
	*last = r
	return b
}
