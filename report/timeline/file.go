package timeline

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/whisker-sim/whisker/report"
	"github.com/whisker-sim/whisker/report/output"
)

// FileVersion is the version of run files. It grows with every change that an
// older reader would misread.
const FileVersion = 1

// fileMagic begins a run file. Its first byte is not text and its last two catch
// a transfer that changed line ends.
const fileMagic = "\x89WHISKRUN\r\n"

// MaxFileBytes is the most that a run file may hold unpacked: what a host of
// average size can hold twice.
const MaxFileBytes = 2 << 30

// A run file is the magic, the version and the length of what follows unpacked
// (two little-endian integers of 4 and 8 bytes), then gzip of a MessagePack
// stored value. gzip's own checksum and length catch damage.
type stored struct {
	Run       json.RawMessage
	Recording *Recording
}

// Write writes a run file.
func Write(w io.Writer, r *Recording) error {
	run, err := json.Marshal(r.Run)
	if err != nil {
		return err
	}
	body, err := msgpack.Marshal(&stored{run, r})
	if err != nil {
		return err
	}
	head := append([]byte(fileMagic), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(head[len(fileMagic):], FileVersion)
	binary.LittleEndian.PutUint64(head[len(fileMagic)+4:], uint64(len(body)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(body); err != nil {
		return err
	}
	return z.Close()
}

// Read reads a run file; name is for its errors. One that needs more than limit
// bytes unpacked is refused.
func Read(in io.Reader, name string, limit int64) (*Recording, error) {
	head := make([]byte, len(fileMagic)+12)
	n, err := io.ReadFull(in, head)
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%s: %w", name, err)
	case n == 0:
		return nil, fmt.Errorf("%s is empty: a recorded run is written by whisker run KERNEL --record FILE", name)
	case string(head[:min(n, len(fileMagic))]) != fileMagic[:min(n, len(fileMagic))]:
		return nil, fmt.Errorf("%s is not a recorded run: record one with whisker run KERNEL --record FILE", name)
	case err != nil:
		return nil, fmt.Errorf("%s is truncated: it ends within its header", name)
	}
	if v := binary.LittleEndian.Uint32(head[len(fileMagic):]); v != FileVersion {
		return nil, fmt.Errorf("%s is a recorded run of file version %d, and this whisker reads version %d: record it again", name, v, FileVersion)
	}
	size := binary.LittleEndian.Uint64(head[len(fileMagic)+4:])
	if size > uint64(limit) {
		return nil, fmt.Errorf("%s needs %d MB of memory, more than the %d MB that are read: record fewer CUs or cycles (--window-cu, --window-cycles)", name, size>>20, limit>>20)
	}
	body, err := inflate(in, int64(size))
	if err != nil {
		return nil, fmt.Errorf("%s is truncated or damaged: %w", name, err)
	}
	var s stored
	if err := msgpack.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", name, err)
	}
	r := s.Recording
	if r == nil {
		return nil, fmt.Errorf("%s is damaged: it holds no recording", name)
	}
	r.Run = &report.Run{}
	if err := json.Unmarshal(s.Run, r.Run); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", name, err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", name, err)
	}
	return r, nil
}

// inflate unpacks exactly size bytes.
func inflate(in io.Reader, size int64) ([]byte, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(z, size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) != size {
		return nil, fmt.Errorf("it holds %d bytes and announces %d", len(body), size)
	}
	return body, nil
}

// check holds what every reader of a recording relies on.
func (r *Recording) check() error {
	if err := r.Window.Parse(); err != nil {
		return err
	}
	if r.Interval < 1 || r.SIMDs < 1 || r.Slots < 1 || r.SIMDs*r.Slots > 1<<12 {
		return fmt.Errorf("%d SIMDs of %d slots, visited every %d cycles", r.SIMDs, r.Slots, r.Interval)
	}
	inst := func(i int32) bool { return i >= 0 && int(i) < len(r.Insts) }
	slot := func(i int) bool { return i >= 0 && i < r.SIMDs*r.Slots }
	for i := range r.CUs {
		c := &r.CUs[i]
		good := true
		for j := range c.Lanes {
			l := &c.Lanes[j]
			good = good && l.SIMD >= 0 && l.SIMD < r.SIMDs && l.Slot >= 0 && l.Slot < r.Slots
			at := int64(0)
			whole := l.EachSegment(r.Interval, func(s Segment) bool {
				good = good && s.From >= at && s.To > s.From && inst(s.Inst) && int(s.Kind) <= len(report.StallReasons)
				at = s.To
				return good
			})
			good = good && whole
			good = l.EachMemoryOp(func(m MemoryOp) { good = good && inst(m.Inst) && m.Issued >= 0 }) && good
			for _, w := range l.Waves {
				good = good && w.Group >= 0 && w.Group < len(r.Groups)
			}
		}
		good = c.EachBankUse(func(u BankUse) {
			good = good && u.To >= u.From && u.From >= 0 && u.Inst >= -1 && int(u.Inst) < len(r.Insts) && slot(u.Slot)
		}) && good
		good = c.EachRelease(func(x Release) {
			good = good && x.Released >= x.Arrived && x.Arrived >= 0 && slot(x.Last) && slot(x.Woken)
		}) && good
		if !good {
			return fmt.Errorf("the events of CU %s do not decode", c.Name())
		}
	}
	for _, a := range r.LDS {
		if !inst(a.Inst) || len(a.Addresses) != 64 || len(a.Phase) != 64 || len(a.Second) != 0 && len(a.Second) != 64 || a.Banks < 1 || a.Unit < 1 {
			return fmt.Errorf("an LDS access of instruction %d does not decode", a.Inst)
		}
	}
	return nil
}

// WriteFile writes a run file under its final name only when it is whole.
func WriteFile(path string, r *Recording) error {
	return output.Replace(path, func(w io.Writer) error { return Write(w, r) })
}

// ReadFile reads a run file.
func ReadFile(path string) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("%s is a directory, not a recorded run", path)
	}
	return Read(bufio.NewReader(f), path, MaxFileBytes)
}
