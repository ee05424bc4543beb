package trace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Options choose how a trace is opened.
type Options struct {
	// AllowTruncated reads a trace that ends before its index up to its last whole
	// chunk; a launch then has those waves that are complete in it. Damage other
	// than a missing end is refused all the same.
	AllowTruncated bool
}

// waveRef says where a wave record is.
type waveRef struct {
	launch    uint16
	wave      uint16
	last      bool
	workgroup uint32
	part      uint32
	chunk     int32
	pos       int32 // index of the record within the chunk
}

func (a waveRef) compare(b waveRef) int {
	if c := cmp.Compare(a.workgroup, b.workgroup); c != 0 {
		return c
	}
	if c := cmp.Compare(a.wave, b.wave); c != 0 {
		return c
	}
	return cmp.Compare(a.part, b.part)
}

// launchIndex is a launch with its tables and the places of its waves.
type launchIndex struct {
	launch   Launch
	program  Program
	patterns []*Pattern
	result   *Result   // nil: the trace ends within the launch
	refs     []waveRef // complete waves in order of workgroup, wave, part
	dropped  int       // waves of which the trace has only a part
	starts   []int     // by workgroup: where its refs begin; built from refs
	groups   []int     // workgroups, ascending, parallel to starts
}

func (l *launchIndex) insts() int { return len(l.program) }

// Reader reads a trace. Its methods may be called by several goroutines.
type Reader struct {
	r         io.ReaderAt
	size      int64
	launches  []launchIndex
	chunks    []chunk
	ended     bool  // the file has its last bytes: nothing can be cut off
	truncated error // why the file was scanned; nil for a complete one

	dec   *zstd.Decoder
	mu    sync.Mutex
	cache map[int32]*waveChunk
	order []int32 // of the cache, oldest first
}

// waveChunk is a decoded chunk of waves.
type waveChunk struct {
	once    sync.Once
	records [][]byte
	err     error
}

// cacheChunks is how many decoded chunks a Reader keeps.
const cacheChunks = 64

// NewReader opens a trace of size bytes.
func NewReader(r io.ReaderAt, size int64, o Options) (*Reader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxChunkBytes))
	if err != nil {
		return nil, fmt.Errorf("trace: zstd: %w", err)
	}
	t := &Reader{r: r, size: size, dec: dec, cache: map[int32]*waveChunk{}}
	if err := t.header(); err != nil {
		return nil, err
	}
	err = t.readIndex()
	if err != nil {
		if !errors.Is(err, ErrTruncated) {
			return nil, err
		}
		// Also where a truncation is refused: it may be other damage.
		if fault := t.scan(); fault != nil && (o.AllowTruncated || !errors.Is(fault, ErrTruncated)) {
			return nil, fault
		}
		if !o.AllowTruncated {
			return nil, err
		}
	}
	for i := range t.launches {
		t.launches[i].complete()
	}
	return t, nil
}

// header checks the file header.
func (t *Reader) header() error {
	var h [headerBytes]byte
	n, err := t.r.ReadAt(h[:min(int64(headerBytes), max(t.size, 0))], 0)
	if err != nil && err != io.EOF {
		return err
	}
	m := min(n, len(Magic))
	switch {
	case string(h[:m]) != Magic[:m] || n == 0:
		return fmt.Errorf("%w: it does not begin with %q", ErrFormat, Magic)
	case n < headerBytes:
		return fmt.Errorf("%w: it has %d bytes, less than its header", ErrTruncated, n)
	}
	sound := checksum(h[:12]) == binary.LittleEndian.Uint32(h[12:])
	switch v := binary.LittleEndian.Uint16(h[8:]); {
	case v > Version && sound:
		return fmt.Errorf("%w: it has version %d, and this program reads version %d", ErrVersion, v, Version)
	case v > Version: // whose header this program may not know
		return fmt.Errorf("%w: it has version %d, or a damaged header, and this program reads version %d", ErrVersion, v, Version)
	case !sound:
		return fmt.Errorf("%w: the checksum of its header is wrong", ErrChecksum)
	case v != Version:
		return fmt.Errorf("%w: it has version %d, and this program reads version %d", ErrFormat, v, Version)
	}
	return nil
}

// readChunk reads, checks and unpacks the chunk at an offset.
func (t *Reader) readChunk(offset int64) (chunk, []byte, error) {
	var h [chunkHeader]byte
	short := ErrTruncated
	if t.ended {
		short = ErrChecksum
	}
	if offset < headerBytes || offset > t.size-chunkHeader {
		return chunk{}, nil, fmt.Errorf("%w: it ends at byte %d, where a chunk should begin at %d", short, t.size, offset)
	}
	if _, err := t.r.ReadAt(h[:], offset); err != nil && err != io.EOF {
		return chunk{}, nil, err
	}
	c := parseChunk(h[:], offset)
	if c.own != 0 && c.own != checksum(h[:12]) { // 0: written before the field was
		return c, nil, fmt.Errorf("%w: the checksum of the head of the chunk at byte %d is wrong", ErrChecksum, offset)
	}
	if int64(c.stored) > t.size-offset-chunkHeader {
		return c, nil, fmt.Errorf("%w: the chunk at byte %d goes past the end of the file", short, offset)
	}
	if c.stored > maxChunkBytes || c.raw > maxChunkBytes {
		return c, nil, fmt.Errorf("%w: the chunk at byte %d says that it has %d bytes", ErrChecksum, offset, max(c.stored, c.raw))
	}
	b := make([]byte, c.stored)
	if _, err := t.r.ReadAt(b, offset+chunkHeader); err != nil && err != io.EOF {
		return c, nil, err
	}
	if checksum(h[:16], b) != c.sum {
		return c, nil, fmt.Errorf("%w: the checksum of the chunk at byte %d is wrong", ErrChecksum, offset)
	}
	switch c.codec {
	case codecNone:
	case codecZstd:
		var err error
		if b, err = t.dec.DecodeAll(b, make([]byte, 0, min(c.raw, 1<<20))); err != nil {
			return c, nil, fmt.Errorf("%w: the chunk at byte %d: %w", ErrFormat, offset, err)
		}
	default:
		return c, nil, fmt.Errorf("%w: the chunk at byte %d has codec %d", ErrFormat, offset, c.codec)
	}
	if len(b) != int(c.raw) {
		return c, nil, fmt.Errorf("%w: the chunk at byte %d has %d bytes instead of %d", ErrFormat, offset, len(b), c.raw)
	}
	return c, b, nil
}

// recordBytes returns a record, from the cache where it can.
func (t *Reader) recordBytes(ref waveRef) ([]byte, error) {
	t.mu.Lock()
	c := t.cache[ref.chunk]
	if c == nil {
		c = &waveChunk{}
		if len(t.order) == cacheChunks {
			delete(t.cache, t.order[0])
			t.order = append(t.order[:0], t.order[1:]...)
		}
		t.cache[ref.chunk] = c
		t.order = append(t.order, ref.chunk)
	}
	t.mu.Unlock()
	c.once.Do(func() {
		at := &t.chunks[ref.chunk]
		got, b, err := t.readChunk(at.offset)
		if err == nil && (got.kind != KindWaves || got.launch != at.launch) {
			err = fmt.Errorf("%w: the index says that there are waves at byte %d", ErrFormat, at.offset)
		}
		if err == nil {
			c.records, err = split(b)
		}
		c.err = err
	})
	if c.err != nil {
		return nil, c.err
	}
	if int(ref.pos) >= len(c.records) {
		return nil, fmt.Errorf("%w: the index lists more waves than the chunk at byte %d has", ErrFormat, t.chunks[ref.chunk].offset)
	}
	return c.records[ref.pos], nil
}

// Truncated says why a trace that was opened with AllowTruncated is not
// complete; nil when it is.
func (t *Reader) Truncated() error { return t.truncated }

// Launches is the number of launches.
func (t *Reader) Launches() int { return len(t.launches) }

// Launch describes launch i. The caller must not change it.
func (t *Reader) Launch(i int) *Launch { return &t.launches[i].launch }

// Program is the program of launch i. The caller must not change it.
func (t *Reader) Program(i int) Program { return t.launches[i].program }

// Patterns are the numbered patterns of launch i.
func (t *Reader) Patterns(i int) []*Pattern { return t.launches[i].patterns }

// Result is what closed launch i, nil when the trace ends before.
func (t *Reader) Result(i int) *Result { return t.launches[i].result }

// Dropped is the number of waves of launch i that the trace holds only parts
// of. Waves of which it holds nothing are not among them.
func (t *Reader) Dropped(i int) int { return t.launches[i].dropped }

// Workgroups lists the workgroups of launch i that have a wave in the trace, in
// ascending order. The caller must not change it.
func (t *Reader) Workgroups(i int) []int { return t.launches[i].groups }

// Waves lists the waves of a workgroup of launch i, in ascending order.
func (t *Reader) Waves(i, workgroup int) []int {
	var out []int
	for _, r := range t.launches[i].group(workgroup) {
		if r.part == 0 {
			out = append(out, int(r.wave))
		}
	}
	return out
}

func (l *launchIndex) group(workgroup int) []waveRef {
	g, ok := slices.BinarySearch(l.groups, workgroup)
	if !ok {
		return nil
	}
	end := len(l.refs)
	if g+1 < len(l.starts) {
		end = l.starts[g+1]
	}
	return l.refs[l.starts[g]:end]
}

// parts finds the records of a wave.
func (l *launchIndex) parts(workgroup, wave int) []waveRef {
	refs := l.group(workgroup)
	i, _ := slices.BinarySearchFunc(refs, wave, func(r waveRef, w int) int { return cmp.Compare(int(r.wave), w) })
	j := i
	for j < len(refs) && int(refs[j].wave) == wave {
		j++
	}
	return refs[i:j]
}

// Stream opens the stream of a wave of launch i; it is nil when the trace does
// not have the wave.
func (t *Reader) Stream(i, workgroup, wave int) (*Stream, error) {
	refs := t.launches[i].parts(workgroup, wave)
	if len(refs) == 0 {
		return nil, nil
	}
	s := &Stream{r: t, in: &t.launches[i], refs: refs}
	if !s.nextPart() {
		return nil, s.err
	}
	if s.rec.workgroup != workgroup || s.rec.wave != wave {
		return nil, fmt.Errorf("%w: the index gives another wave for workgroup %d, wave %d", ErrFormat, workgroup, wave)
	}
	return s, nil
}

// Wave reads and checks a wave of launch i whole, as its parts; there are none
// when the trace does not have the wave.
func (t *Reader) Wave(i, workgroup, wave int) ([]*Wave, error) {
	l := &t.launches[i]
	var out []*Wave
	for _, ref := range l.parts(workgroup, wave) {
		var rec record
		b, err := t.recordBytes(ref)
		if err == nil {
			err = rec.parse(b, l.insts())
		}
		if err != nil {
			return nil, err
		}
		w, err := rec.decode(l)
		if err != nil {
			return nil, err
		}
		if err := w.check(l.insts()); err != nil {
			return nil, fmt.Errorf("%w: launch %d, workgroup %d, wave %d, part %d: %w", ErrFormat, i, workgroup, wave, w.Part, err)
		}
		out = append(out, w)
	}
	return out, nil
}

// Chunk is where a chunk of the file lies.
type Chunk struct {
	Kind        Kind
	Launch      int
	Offset      int64
	Stored, Raw int64 // bytes of the payload, in the file and unpacked
}

// Chunks lists the chunks before the index, in order.
func (t *Reader) Chunks() ([]Chunk, error) {
	out := make([]Chunk, len(t.chunks))
	for i := range t.chunks {
		var h [chunkHeader]byte
		if _, err := t.r.ReadAt(h[:], t.chunks[i].offset); err != nil {
			return nil, err
		}
		c := parseChunk(h[:], t.chunks[i].offset)
		out[i] = Chunk{c.kind, int(c.launch), c.offset, int64(c.stored), int64(c.raw)}
	}
	return out, nil
}
