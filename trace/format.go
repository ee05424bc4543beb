package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Version is the format that this package writes, and the newest that it reads.
const Version = 1

// Magic starts every trace.
const Magic = "WHISKTRC"

// endMagic ends every complete trace.
const endMagic = "WHISKEND"

// Sizes of the fixed parts, in bytes.
const (
	headerBytes  = 16 // magic, version, zero, checksum
	chunkHeader  = 20 // kind, codec, launch, stored bytes, raw bytes, checksum of these, checksum of all
	trailerBytes = 20 // offset of the index, checksum, magic
)

// Kind says what a chunk holds.
type Kind uint8

// The kinds of chunks.
const (
	KindLaunch   Kind = 1 // Launch as JSON
	KindProgram  Kind = 2 // the program
	KindPatterns Kind = 3 // lane patterns, numbered on from the ones before
	KindWaves    Kind = 4 // wave records
	KindResult   Kind = 5 // Result as JSON: the launch is complete
	KindIndex    Kind = 6 // where the chunks and the waves are
)

var kindNames = map[Kind]string{KindLaunch: "launch", KindProgram: "program", KindPatterns: "patterns", KindWaves: "waves", KindResult: "result", KindIndex: "index"}

// String returns the kind's name in docs/trace-format.md.
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Codecs of a chunk's payload.
const (
	codecNone = 0
	codecZstd = 1
)

// Limits that a reader holds a file to before it allocates anything.
const (
	maxChunkBytes = 64 << 20 // raw bytes of a chunk
	maxLaunches   = 1 << 16
	maxInsts      = 1 << 22
	maxPatterns   = 1 << 20
	maxCount      = 1 << 40 // of a jump
)

// Errors that a reader's error wraps.
var (
	// ErrFormat: the file is no trace, or breaks the format.
	ErrFormat = errors.New("not a valid trace")
	// ErrVersion: the file is of a newer version.
	ErrVersion = errors.New("trace of a newer version")
	// ErrTruncated: the file is the beginning of a trace, and ends before the end of
	// its index.
	ErrTruncated = errors.New("truncated trace")
	// ErrChecksum: the bytes of the file are not those that were written.
	ErrChecksum = errors.New("damaged trace")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// chunk is the header of a chunk and where it is.
type chunk struct {
	kind   Kind
	codec  uint8
	launch uint16
	stored uint32
	raw    uint32
	own    uint32 // checksum of the fields above
	sum    uint32 // checksum of the header and the payload
	offset int64
}

// header encodes the chunk header. Its own checksum tells a chunk that is cut
// off from one whose length is damaged; the other is over header and payload.
func (c *chunk) header(payload []byte) [chunkHeader]byte {
	var h [chunkHeader]byte
	h[0], h[1] = byte(c.kind), c.codec
	binary.LittleEndian.PutUint16(h[2:], c.launch)
	binary.LittleEndian.PutUint32(h[4:], c.stored)
	binary.LittleEndian.PutUint32(h[8:], c.raw)
	c.own = checksum(h[:12])
	binary.LittleEndian.PutUint32(h[12:], c.own)
	c.sum = checksum(h[:16], payload)
	binary.LittleEndian.PutUint32(h[16:], c.sum)
	return h
}

func parseChunk(h []byte, offset int64) chunk {
	return chunk{kind: Kind(h[0]), codec: h[1], launch: binary.LittleEndian.Uint16(h[2:]), stored: binary.LittleEndian.Uint32(h[4:]),
		raw: binary.LittleEndian.Uint32(h[8:]), own: binary.LittleEndian.Uint32(h[12:]), sum: binary.LittleEndian.Uint32(h[16:]), offset: offset}
}

func checksum(parts ...[]byte) uint32 {
	s := uint32(0)
	for _, p := range parts {
		s = crc32.Update(s, castagnoli, p)
	}
	return s
}

func fileHeader() []byte {
	b := append([]byte(Magic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint16(b[8:], Version)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

func trailer(index int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(index))
	b = binary.LittleEndian.AppendUint32(b, checksum(b))
	return append(b, endMagic...)
}

// zigzag codes a signed difference so that small ones of either sign are short.
func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// decoder reads varints from bytes and remembers the first fault.
type decoder struct {
	b    []byte
	pos  int
	what string // for errors
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s: %s", ErrFormat, d.what, fmt.Sprintf(format, args...))
	}
}

func (d *decoder) left() int { return len(d.b) - d.pos }

func (d *decoder) uvarint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b[d.pos:])
	if n <= 0 {
		d.fail("a number is cut off or too long at byte %d", d.pos)
		return 0
	}
	d.pos += n
	return v
}

func (d *decoder) varint() int64 { return unzigzag(d.uvarint()) }

// upTo reads a number that may be at most limit.
func (d *decoder) upTo(limit int, what string) int {
	v := d.uvarint()
	if d.err == nil && v > uint64(limit) {
		d.fail("%s is %d, more than %d", what, v, limit)
	}
	if d.err != nil {
		return 0
	}
	return int(v)
}

// count reads a number of things that take at least size bytes each.
func (d *decoder) count(size int, what string) int { return d.upTo(d.left()/size, what) }

func (d *decoder) bytes(n int) []byte {
	if d.err == nil && (n < 0 || n > d.left()) {
		d.fail("%d bytes are missing at byte %d", n-d.left(), d.pos)
	}
	if d.err != nil {
		return nil
	}
	d.pos += n
	return d.b[d.pos-n : d.pos]
}

// end refuses bytes that nothing has read.
func (d *decoder) end() error {
	if d.err == nil && d.left() != 0 {
		d.fail("%d bytes too many", d.left())
	}
	return d.err
}
