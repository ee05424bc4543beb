package trace

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Sizes of what a Writer gathers.
const (
	chunkTarget = 256 << 10 // raw bytes of waves or patterns in a chunk
	tableLimit  = 1 << 15   // patterns of a launch that are numbered; the others are written where they are used
)

// Writer writes a trace, one launch after the other. It holds a chunk's worth
// of waves, the patterns of the launch and the directory. A Writer is for one
// goroutine, and the same calls give the same bytes.
type Writer struct {
	w      io.Writer
	offset int64
	enc    *zstd.Encoder
	buf    []byte

	launch  int // number of the open launch, -1 before the first
	open    bool
	insts   int
	byPtr   map[*Pattern]int
	byHash  map[uint64][]*Pattern
	pending []byte // patterns not yet written
	waves   []byte
	refs    []waveRef // of waves
	scratch []byte
	total   Result

	chunks []chunk
	dirs   [][]waveRef // by chunk; nil for those without waves
	err    error
}

// NewWriter starts a trace on w.
func NewWriter(w io.Writer) (*Writer, error) {
	// One goroutine, so that the bytes do not depend on the host.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, fmt.Errorf("trace: zstd: %w", err)
	}
	t := &Writer{w: w, enc: enc, launch: -1}
	t.write(fileHeader())
	return t, t.err
}

func (t *Writer) write(b []byte) {
	if t.err != nil {
		return
	}
	n, err := t.w.Write(b)
	t.offset += int64(n)
	t.err = err
}

// chunk writes one chunk.
func (t *Writer) chunk(kind Kind, raw []byte, refs []waveRef) {
	c := chunk{kind: kind, codec: codecZstd, launch: uint16(max(t.launch, 0)), raw: uint32(len(raw)), offset: t.offset}
	if len(raw) > maxChunkBytes && t.err == nil {
		t.err = fmt.Errorf("trace: a %v chunk of %d bytes; %d are the most", kind, len(raw), maxChunkBytes)
	}
	if t.err != nil {
		return
	}
	t.buf = t.enc.EncodeAll(raw, t.buf[:0])
	payload := t.buf
	if len(payload) >= len(raw) {
		c.codec, payload = codecNone, raw
	}
	c.stored = uint32(len(payload))
	h := c.header(payload)
	t.write(h[:])
	t.write(payload)
	t.chunks = append(t.chunks, c)
	t.dirs = append(t.dirs, append([]waveRef(nil), refs...))
}

// Begin starts a launch. It sets l.Program.
func (t *Writer) Begin(l *Launch, p Program) error {
	if t.open {
		return fmt.Errorf("trace: launch %d has not ended", t.launch)
	}
	if t.launch+1 >= maxLaunches || len(p) > maxInsts {
		return fmt.Errorf("trace: %d launches, %d instructions: more than a trace holds", t.launch+2, len(p))
	}
	t.launch++
	t.open, t.insts, t.total = true, len(p), Result{}
	t.byPtr, t.byHash = map[*Pattern]int{}, map[uint64][]*Pattern{}
	code := p.encode()
	l.Program = p.Hash()
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("trace: launch: %w", err)
	}
	t.chunk(KindLaunch, text, nil)
	t.chunk(KindProgram, code, nil)
	return t.err
}

// number gives a pattern its number in the launch's table. Beyond tableLimit
// patterns are not kept: an access that never repeats would fill memory.
func (t *Writer) number(p *Pattern) (int, bool) {
	if n, ok := t.byPtr[p]; ok {
		return n, true
	}
	h := p.Hash()
	for _, q := range t.byHash[h] {
		if p.Equal(q) {
			return t.byPtr[q], true
		}
	}
	n := len(t.byPtr)
	if n >= tableLimit {
		return 0, false
	}
	t.byPtr[p] = n
	t.byHash[h] = append(t.byHash[h], p)
	t.pending = p.append(t.pending)
	return n, true
}

// Wave writes a wave, or a part of one. The Writer keeps its patterns and
// nothing else of w.
func (t *Writer) Wave(w *Wave) error {
	if !t.open {
		return fmt.Errorf("trace: a wave outside of a launch")
	}
	t.scratch = w.append(t.scratch[:0], t.number)
	t.refs = append(t.refs, waveRef{launch: uint16(t.launch), workgroup: uint32(w.Workgroup), wave: uint16(w.Wave), part: uint32(w.Part), last: w.Last})
	t.waves = binary.AppendUvarint(t.waves, uint64(len(t.scratch)))
	t.waves = append(t.waves, t.scratch...)
	t.total.Instructions += w.Instructions
	if w.Last {
		t.total.Waves++
	}
	if len(t.waves) >= chunkTarget || len(t.pending) >= chunkTarget {
		t.flush()
	}
	return t.err
}

// flush writes the gathered patterns and then the waves that use them.
func (t *Writer) flush() {
	if len(t.pending) > 0 {
		t.chunk(KindPatterns, t.pending, nil)
		t.pending = t.pending[:0]
	}
	if len(t.waves) > 0 {
		t.chunk(KindWaves, t.waves, t.refs)
		t.waves, t.refs = t.waves[:0], t.refs[:0]
	}
}

// End closes the launch. Cycles is what the recorded run took, 0 when nothing
// was run.
func (t *Writer) End(cycles int64) error {
	if !t.open {
		return fmt.Errorf("trace: no launch is open")
	}
	t.flush()
	t.total.Cycles = cycles
	text, err := json.Marshal(t.total)
	if err != nil {
		return fmt.Errorf("trace: result: %w", err)
	}
	t.chunk(KindResult, text, nil)
	t.open, t.byPtr, t.byHash = false, nil, nil
	return t.err
}

// Close writes the index. It does not close the underlying writer.
func (t *Writer) Close() error {
	if t.open {
		return fmt.Errorf("trace: launch %d has not ended", t.launch)
	}
	at := t.offset
	t.chunk(KindIndex, t.index(), nil)
	t.write(trailer(at))
	if t.err == nil {
		t.err = t.enc.Close()
	}
	return t.err
}

// Bytes is what has been written so far.
func (t *Writer) Bytes() int64 { return t.offset }

// index encodes the directory: chunks in order, and the waves of each.
func (t *Writer) index() []byte {
	b := binary.AppendUvarint(nil, uint64(len(t.chunks)))
	for i := range t.chunks {
		b = append(b, byte(t.chunks[i].kind))
		b = binary.AppendUvarint(b, uint64(t.chunks[i].launch))
		b = binary.AppendUvarint(b, uint64(t.chunks[i].offset))
		b = binary.AppendUvarint(b, uint64(len(t.dirs[i])))
		at := int64(0)
		for _, r := range t.dirs[i] {
			b = binary.AppendUvarint(b, zigzag(int64(r.workgroup)-at))
			at = int64(r.workgroup)
			last := uint64(0)
			if r.last {
				last = 1
			}
			b = binary.AppendUvarint(b, uint64(r.wave))
			b = binary.AppendUvarint(b, uint64(r.part)<<1|last)
		}
	}
	return b
}
