package trace

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// take adds what a chunk holds, other than waves.
func (t *Reader) take(c *chunk, b []byte) error {
	if c.kind == KindLaunch {
		if int(c.launch) != len(t.launches) {
			return fmt.Errorf("%w: launch %d stands where launch %d should", ErrFormat, c.launch, len(t.launches))
		}
		var l launchIndex
		if err := json.Unmarshal(b, &l.launch); err != nil {
			return fmt.Errorf("%w: launch %d: %w", ErrFormat, c.launch, err)
		}
		t.launches = append(t.launches, l)
		return nil
	}
	if int(c.launch) >= len(t.launches) {
		return fmt.Errorf("%w: a %v chunk of launch %d comes before it", ErrFormat, c.kind, c.launch)
	}
	l := &t.launches[c.launch]
	switch c.kind {
	case KindProgram:
		var err error
		if l.program, err = decodeProgram(b); err != nil {
			return err
		}
		if h := l.program.Hash(); h != l.launch.Program {
			return fmt.Errorf("%w: the program of launch %d is not the one that it names", ErrFormat, c.launch)
		}
	case KindPatterns:
		d := decoder{b: b, what: "patterns"}
		for d.left() > 0 && d.err == nil && len(l.patterns) < maxPatterns {
			l.patterns = append(l.patterns, d.pattern())
		}
		return d.end()
	case KindResult:
		l.result = new(Result)
		if err := json.Unmarshal(b, l.result); err != nil {
			return fmt.Errorf("%w: result of launch %d: %w", ErrFormat, c.launch, err)
		}
	default:
		return fmt.Errorf("%w: a chunk of %v", ErrFormat, c.kind)
	}
	return nil
}

// readIndex opens a complete trace by the index at its end.
func (t *Reader) readIndex() error {
	var b [trailerBytes]byte
	at := t.size - trailerBytes
	if at < headerBytes {
		return fmt.Errorf("%w: it ends before its index", ErrTruncated)
	}
	if _, err := t.r.ReadAt(b[:], at); err != nil && err != io.EOF {
		return err
	}
	sound := checksum(b[:8]) == binary.LittleEndian.Uint32(b[8:])
	switch named := string(b[12:]) == endMagic; {
	case named && !sound:
		return fmt.Errorf("%w: the checksum of its last bytes is wrong", ErrChecksum)
	case !named && sound && binary.LittleEndian.Uint64(b[:]) < uint64(at):
		return fmt.Errorf("%w: it does not end with %q", ErrChecksum, endMagic)
	case !named:
		return fmt.Errorf("%w: it ends before its index", ErrTruncated)
	}
	t.ended = true
	offset := binary.LittleEndian.Uint64(b[:])
	if offset > uint64(at) {
		return fmt.Errorf("%w: its index lies past its end", ErrFormat)
	}
	c, raw, err := t.readChunk(int64(offset))
	if err != nil {
		return err
	}
	if c.kind != KindIndex || int64(offset)+chunkHeader+int64(c.stored) != at {
		return fmt.Errorf("%w: there is no index at byte %d", ErrFormat, offset)
	}
	return t.parseIndex(raw)
}

func (t *Reader) parseIndex(raw []byte) error {
	d := decoder{b: raw, what: "index"}
	for range d.count(4, "the number of chunks") {
		c := chunk{}
		if k := d.bytes(1); d.err == nil {
			c.kind = Kind(k[0])
		}
		c.launch = uint16(d.upTo(maxLaunches-1, "a launch"))
		c.offset = int64(d.upTo(int(t.size), "an offset"))
		n := d.count(3, "the number of waves")
		if d.err != nil {
			return d.err
		}
		t.chunks = append(t.chunks, c)
		if c.kind != KindWaves {
			got, b, err := t.readChunk(c.offset)
			if err != nil {
				return err
			}
			if got.kind != c.kind || got.launch != c.launch {
				return fmt.Errorf("%w: the index says that there is a %v chunk at byte %d", ErrFormat, c.kind, c.offset)
			}
			if err := t.take(&got, b); err != nil {
				return err
			}
			continue
		}
		if err := t.directory(&d, &c, n); err != nil {
			return err
		}
	}
	return d.end()
}

// directory reads the index's list of the waves of a chunk.
func (t *Reader) directory(d *decoder, c *chunk, n int) error {
	if int(c.launch) >= len(t.launches) {
		return fmt.Errorf("%w: waves of launch %d come before it", ErrFormat, c.launch)
	}
	l := &t.launches[c.launch]
	at := int64(0)
	for i := range n {
		at += d.varint()
		r := waveRef{launch: c.launch, workgroup: uint32(at), chunk: int32(len(t.chunks) - 1), pos: int32(i)}
		r.wave = uint16(d.upTo(1<<16-1, "a wave"))
		part := d.upTo(1<<32, "a part")
		r.part, r.last = uint32(part>>1), part&1 != 0
		if d.err == nil && (at < 0 || at > 1<<31) {
			d.fail("a wave of workgroup %d", at)
		}
		if d.err != nil {
			return d.err
		}
		l.refs = append(l.refs, r)
	}
	return nil
}

// scan opens what is whole of a truncated trace.
func (t *Reader) scan() error {
	t.launches, t.chunks = nil, nil
	for at := int64(headerBytes); ; {
		c, b, err := t.readChunk(at)
		if errors.Is(err, ErrTruncated) {
			t.truncated = fmt.Errorf("%w: it ends at byte %d, and its last whole chunk at byte %d", ErrTruncated, t.size, at)
			break
		}
		if err != nil {
			return err
		}
		if c.kind == KindIndex {
			if err := t.cutTrailer(&c); err != nil {
				return err
			}
			t.truncated = fmt.Errorf("%w: it ends at byte %d, behind its index", ErrTruncated, t.size)
			break
		}
		at += chunkHeader + int64(c.stored)
		t.chunks = append(t.chunks, c)
		if c.kind != KindWaves {
			if err := t.take(&c, b); err != nil {
				return err
			}
			continue
		}
		if err := t.list(&c, b); err != nil {
			return err
		}
	}
	if len(t.launches) == 0 || t.launches[0].program == nil {
		return fmt.Errorf("%w: no launch is whole in it", ErrTruncated)
	}
	if last := &t.launches[len(t.launches)-1]; last.program == nil {
		t.launches = t.launches[:len(t.launches)-1]
	}
	return nil
}

// cutTrailer refuses what follows the index of a trace that is not complete,
// unless it is the beginning of what should follow.
func (t *Reader) cutTrailer(index *chunk) error {
	var b [trailerBytes]byte
	at := index.offset + chunkHeader + int64(index.stored)
	n := int(min(t.size-at, trailerBytes))
	if _, err := t.r.ReadAt(b[:n], at); err != nil && err != io.EOF {
		return err
	}
	if n == trailerBytes || !bytes.HasPrefix(trailer(index.offset), b[:n]) {
		return fmt.Errorf("%w: what follows its index, at byte %d, is not its end", ErrChecksum, at)
	}
	return nil
}

// list enters the waves of a chunk into the directory.
func (t *Reader) list(c *chunk, b []byte) error {
	if int(c.launch) >= len(t.launches) {
		return fmt.Errorf("%w: waves of launch %d come before it", ErrFormat, c.launch)
	}
	records, err := split(b)
	if err != nil {
		return err
	}
	l := &t.launches[c.launch]
	var rec record
	for i, b := range records {
		if err := rec.parse(b, l.insts()); err != nil {
			return err
		}
		l.refs = append(l.refs, waveRef{launch: c.launch, workgroup: uint32(rec.workgroup), wave: uint16(rec.wave), part: uint32(rec.part), last: rec.last,
			chunk: int32(len(t.chunks) - 1), pos: int32(i)})
	}
	return nil
}

// split finds the records of a chunk of waves.
func split(b []byte) ([][]byte, error) {
	d := decoder{b: b, what: "waves"}
	var out [][]byte
	for d.left() > 0 && d.err == nil {
		out = append(out, d.bytes(d.count(1, "the length of a record")))
	}
	return out, d.err
}

// complete sorts the waves and drops those of which a part is missing.
func (l *launchIndex) complete() {
	slices.SortStableFunc(l.refs, waveRef.compare)
	keep := l.refs[:0]
	for i := 0; i < len(l.refs); {
		j, whole := i, false
		for ; j < len(l.refs) && l.refs[j].workgroup == l.refs[i].workgroup && l.refs[j].wave == l.refs[i].wave; j++ {
			whole = int(l.refs[j].part) == j-i && l.refs[j].last
			if int(l.refs[j].part) != j-i {
				break
			}
		}
		end := j
		for end < len(l.refs) && l.refs[end].workgroup == l.refs[i].workgroup && l.refs[end].wave == l.refs[i].wave {
			end, whole = end+1, false
		}
		if whole {
			keep = append(keep, l.refs[i:end]...)
		} else {
			l.dropped++
		}
		i = end
	}
	l.refs = keep
	for i := range l.refs {
		if g := int(l.refs[i].workgroup); len(l.groups) == 0 || l.groups[len(l.groups)-1] != g {
			l.groups = append(l.groups, g)
			l.starts = append(l.starts, i)
		}
	}
}
