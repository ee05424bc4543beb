package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is a program of a loop with a load in it, and waves of it.
func sampleProgram() Program {
	p := Program{}
	for i := range 8 {
		code := []byte{byte(i), 0, 0x80, 0xbf}
		if i == 3 {
			code = append(code, 1, 2, 3, 4)
		}
		p = append(p, Inst{PC: uint32(4 * i), Target: -1, Code: code})
		if i > 3 {
			p[i].PC += 4
		}
	}
	p[5].Target = 2
	return p
}

func strided(step int64) *Pattern {
	p := &Pattern{Lanes: ^uint64(0), Bytes: 4}
	for i := range p.Offset {
		p.Offset[i] = step * int64(i)
	}
	return p
}

// sampleWave runs the loop n times and then to the end; its loads move on, and
// every fourth has another pattern.
func sampleWave(wg, v, n int, a, b *Pattern) *Wave {
	x := NewBuilder(wg, v, ^uint64(0))
	x.Step(0)
	x.Step(1)
	x.Exec(0xff)
	for i := range n {
		for inst := 2; inst <= 5; inst++ {
			x.Step(inst)
			if inst != 3 {
				continue
			}
			p := a
			if i%4 == 3 {
				p = b
			}
			x.Access(p, 1<<32+uint64(wg)<<20+uint64(i)*4096)
		}
	}
	x.Step(6)
	x.Step(7)
	return x.Wave()
}

func writeSample(t testing.TB, launches, groups int) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf)
	if err != nil {
		t.Fatal(err)
	}
	for range launches {
		l := &Launch{Kernel: "k", CPU: "gfx950", Workgroups: [3]int{groups, 1, 1}, Workgroup: [3]int{128, 1, 1}, Dependence: []Dependence{{Kind: "clock", PC: 8}}}
		if err := w.Begin(l, sampleProgram()); err != nil {
			t.Fatal(err)
		}
		a, b := strided(4), strided(-512)
		b.Offset2 = &[Lanes]int64{5, 6}
		for g := range groups {
			for v := range 2 {
				if err := w.Wave(sampleWave(g, v, 10+g, a, b)); err != nil {
					t.Fatal(err)
				}
			}
			if g%3 == 2 {
				w.flush() // several chunks
			}
		}
		if err := w.End(1234); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func openBytes(b []byte, o Options) (*Reader, error) {
	return NewReader(bytes.NewReader(b), int64(len(b)), o)
}

func TestRoundTrip(t *testing.T) {
	b := writeSample(t, 2, 8)
	r, err := openBytes(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Launches() != 2 || r.Truncated() != nil {
		t.Fatalf("%d launches, truncated: %v", r.Launches(), r.Truncated())
	}
	if n, err := r.Check(); n != 32 || err != nil {
		t.Fatalf("%d waves, %v", n, err)
	}
	if diff := cmp.Diff(sampleProgram(), r.Program(1)); diff != "" {
		t.Errorf("program: %s", diff)
	}
	if l := r.Launch(1); l.Workgroups[0] != 8 || l.Program != sampleProgram().Hash() || l.Dependence[0].Kind != "clock" {
		t.Errorf("launch: %+v", l)
	}
	if res := r.Result(0); res == nil || res.Cycles != 1234 || res.Waves != 16 {
		t.Errorf("result: %+v", res)
	}
	pats := r.Patterns(0)
	if len(pats) != 2 {
		t.Fatalf("%d patterns", len(pats))
	}
	for g := range 8 {
		for v := range 2 {
			parts, err := r.Wave(0, g, v)
			if err != nil || len(parts) != 1 {
				t.Fatalf("%d parts, %v", len(parts), err)
			}
			want := sampleWave(g, v, 10+g, pats[0], pats[1])
			if diff := cmp.Diff(want, parts[0]); diff != "" {
				t.Errorf("workgroup %d wave %d: %s", g, v, diff)
			}
		}
	}
	if w, err := r.Wave(0, 8, 0); w != nil || err != nil {
		t.Errorf("a wave that is not there: %v, %v", w, err)
	}
	if s, err := r.Stream(0, 0, 2); s != nil || err != nil {
		t.Errorf("a stream that is not there: %v, %v", s, err)
	}
}

// TestFolding: a loop is one jump, and the four-fold pattern of its loads five
// runs in ten turns.
func TestFolding(t *testing.T) {
	w := sampleWave(0, 0, 10, strided(4), strided(8))
	if len(w.Jumps) != 1 || w.Jumps[0] != (Jump{Count: 9, From: 5, To: 2}) {
		t.Errorf("jumps %+v", w.Jumps)
	}
	if n := len(w.Accesses[0].Runs); n != 5 {
		t.Errorf("%d runs", n)
	}
	long := sampleWave(0, 0, 3, strided(4), strided(8))
	if n := len(long.append(nil, func(*Pattern) (int, bool) { return 0, true })); n > 48 {
		t.Errorf("a wave of %d instructions takes %d bytes", long.Instructions, n)
	}
}

// TestStream reads a wave as a replay does: jumps and accesses each in order.
func TestStream(t *testing.T) {
	r, err := openBytes(writeSample(t, 1, 3), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Stream(0, 2, 1)
	if err != nil || s.Start() != 0 {
		t.Fatal(err)
	}
	for range 11 {
		if from, to, ok := s.Jump(); from != 5 || to != 2 || !ok {
			t.Fatalf("jump %d to %d, %v", from, to, ok)
		}
	}
	if _, _, ok := s.Jump(); ok || s.Err() != nil {
		t.Errorf("a jump too many: %v", s.Err())
	}
	n := uint64(0)
	for n < 12 {
		run, err := s.Access(3)
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Count {
			if want := 1<<32 + uint64(2)<<20 + n*4096; run.Base+i*run.Step != want {
				t.Errorf("access %d at %#x, want %#x", n, run.Base+i*run.Step, want)
			}
			n++
		}
	}
	if _, err := s.Access(3); !errors.Is(err, ErrFormat) {
		t.Errorf("an access too many: %v", err)
	}
	if _, err := s.Access(4); !errors.Is(err, ErrFormat) {
		t.Errorf("an access of no memory instruction: %v", err)
	}
}

// TestParts: a wave in parts is read as one, and without its end not at all.
func TestParts(t *testing.T) {
	write := func(last bool) []byte {
		var buf bytes.Buffer
		w, _ := NewWriter(&buf)
		if err := w.Begin(&Launch{Workgroups: [3]int{1, 1, 1}}, sampleProgram()); err != nil {
			t.Fatal(err)
		}
		p := strided(4)
		first := &Wave{Exec: 7, Instructions: 6, Jumps: []Jump{{1, 5, 2}}, Accesses: []AccessColumn{{3, []AccessRun{{1, p, 64, 0}}}}}
		second := &Wave{Part: 1, Last: true, Start: 2, Exec: 7, Instructions: 6, Accesses: []AccessColumn{{3, []AccessRun{{1, p, 128, 0}}}}}
		if err := w.Wave(first); err != nil {
			t.Fatal(err)
		}
		if last {
			if err := w.Wave(second); err != nil {
				t.Fatal(err)
			}
		}
		w.End(0)
		w.Close()
		return buf.Bytes()
	}
	r, err := openBytes(write(true), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Check(); err != nil {
		t.Fatal(err)
	}
	s, err := r.Stream(0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := s.Access(3); err != nil || a.Base != 64 {
		t.Errorf("%+v, %v", a, err)
	}
	if from, to, ok := s.Jump(); from != 5 || to != 2 || !ok {
		t.Errorf("jump %d to %d", from, to)
	}
	if _, _, ok := s.Jump(); ok || s.Err() != nil {
		t.Errorf("a jump too many: %v", s.Err())
	}
	if a, err := s.Access(3); err != nil || a.Base != 128 {
		t.Errorf("%+v, %v", a, err)
	}
	parts, err := r.Wave(0, 0, 0)
	if err != nil || len(parts) != 2 {
		t.Fatal(err)
	}
	var order []int
	if err := Walk(parts, func(s *Step) error { order = append(order, s.Inst); return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 7}, order); diff != "" {
		t.Error(diff)
	}
	if r, err = openBytes(write(false), Options{}); err != nil {
		t.Fatal(err)
	}
	if r.Dropped(0) != 1 || len(r.Workgroups(0)) != 0 {
		t.Errorf("%d dropped, %d workgroups", r.Dropped(0), len(r.Workgroups(0)))
	}
	if _, err := r.Check(); !errors.Is(err, ErrFormat) {
		t.Errorf("a wave without an end is sound: %v", err)
	}
}

// TestEveryTruncation cuts the file at every byte: it is refused, and taken up
// to its last whole chunk when asked.
func TestEveryTruncation(t *testing.T) {
	b := writeSample(t, 1, 6)
	whole, err := openBytes(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := whole.Chunks()
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(b) {
		_, err := openBytes(b[:n], Options{})
		if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrFormat) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
		r, err := openBytes(b[:n], Options{AllowTruncated: true})
		waves, hasProgram := 0, false
		for _, c := range chunks {
			if c.Offset+chunkHeader+c.Stored > int64(n) {
				break
			}
			hasProgram = hasProgram || c.Kind == KindProgram
			if c.Kind == KindWaves {
				waves += 6
			}
		}
		if !hasProgram {
			if err == nil {
				t.Fatalf("%d bytes: no launch is whole, and it is taken", n)
			}
			continue
		}
		if err != nil || r.Truncated() == nil {
			t.Fatalf("%d bytes: %v; truncated: %v", n, err, r.Truncated())
		}
		if got, err := r.Check(); err != nil || got != waves {
			t.Fatalf("%d bytes: %d waves, want %d: %v", n, got, waves, err)
		}
	}
}

// TestEveryFlippedBit flips each bit of a trace and of one that is cut off: it is
// found in every byte that is read, whether truncated traces are taken or not.
func TestEveryFlippedBit(t *testing.T) {
	b := writeSample(t, 1, 2)
	whole, err := openBytes(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := whole.Chunks()
	if err != nil {
		t.Fatal(err)
	}
	last := chunks[len(chunks)-1]
	index := int(last.Offset) + chunkHeader + int(last.Stored)
	for _, size := range []int{len(b), len(b) - 1, len(b) - len(endMagic), index, index + chunkHeader - 1, int(last.Offset)} {
		read := size // a part of a chunk is not
		if size == index+chunkHeader-1 {
			read = index
		}
		for i := range 8 * read {
			c := bytes.Clone(b[:size])
			c[i/8] ^= 1 << (i % 8)
			for _, o := range []Options{{}, {AllowTruncated: true}} {
				r, err := openBytes(c, o)
				if err == nil {
					_, err = r.Check()
				}
				switch {
				case err == nil:
					t.Fatalf("%d of %d bytes: bit %d of byte %d can be flipped (%+v)", size, len(b), i%8, i/8, o)
				case strings.Contains(err.Error(), "\n"):
					t.Fatalf("not one sentence: %v", err)
				case errors.Is(err, ErrTruncated):
					t.Fatalf("%d of %d bytes: bit %d of byte %d is taken for a truncation (%+v): %v", size, len(b), i%8, i/8, o, err)
				}
			}
		}
	}
}

func TestNewerVersion(t *testing.T) {
	b := bytes.Clone(writeSample(t, 1, 1))
	binary.LittleEndian.PutUint16(b[8:], Version+1)
	binary.LittleEndian.PutUint32(b[12:], checksum(b[:12]))
	_, err := openBytes(b, Options{})
	if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "version 2") {
		t.Errorf("%v", err)
	}
}

// TestTableLimit: patterns that no longer fit the table go into the waves.
func TestTableLimit(t *testing.T) {
	var buf bytes.Buffer
	w, _ := NewWriter(&buf)
	w.Begin(&Launch{Workgroups: [3]int{1, 1, 1}}, sampleProgram())
	rng := rand.New(rand.NewPCG(1, 2))
	var want []*Pattern
	x := NewBuilder(0, 0, 1)
	x.Step(2)
	for range tableLimit + 100 {
		p := &Pattern{Lanes: 3, Bytes: 4}
		p.Offset[1] = int64(rng.Uint64() >> 20)
		want = append(want, p)
		x.Step(3)
		x.Access(p, uint64(len(want)))
		x.Step(4)
		x.Step(5)
		x.Step(2)
	}
	x.Step(7)
	if err := w.Wave(x.Wave()); err != nil {
		t.Fatal(err)
	}
	w.End(0)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := openBytes(buf.Bytes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Patterns(0)); n != tableLimit {
		t.Errorf("%d patterns in the table", n)
	}
	parts, err := r.Wave(0, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, run := range parts[0].Accesses[0].Runs {
		if !run.Pattern.Equal(want[i]) || run.Base != uint64(i+1) {
			t.Fatalf("access %d differs", i)
		}
	}
}

func FuzzReader(f *testing.F) {
	b := writeSample(f, 2, 3)
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte(Magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := openBytes(b, Options{AllowTruncated: true})
		if err != nil {
			return
		}
		r.Check()
		for i := range r.Launches() {
			for _, g := range r.Workgroups(i) {
				for _, v := range r.Waves(i, g) {
					s, err := r.Stream(i, g, v)
					if err != nil {
						continue
					}
					for range 100 {
						if _, _, ok := s.Jump(); !ok {
							break
						}
					}
					s.Access(3)
				}
			}
		}
	})
}

// FuzzRecord hands records past the checksums to the decoder.
func FuzzRecord(f *testing.F) {
	number := func(*Pattern) (int, bool) { return 0, true }
	f.Add(sampleWave(1, 2, 5, strided(4), strided(8)).append(nil, number))
	f.Add(sampleWave(1, 2, 5, strided(4), strided(8)).append(nil, func(*Pattern) (int, bool) { return 0, false }))
	l := &launchIndex{program: sampleProgram(), patterns: []*Pattern{strided(4)}}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r record
		if r.parse(b, l.insts()) != nil {
			return
		}
		w, err := r.decode(l)
		if err != nil || w.check(l.insts()) != nil {
			return
		}
		n := 0
		err = Walk([]*Wave{w}, func(s *Step) error {
			if s.Inst >= l.insts() {
				t.Fatalf("instruction %d of %d", s.Inst, l.insts())
			}
			if n++; n > 1000 {
				return errors.New("long enough")
			}
			return nil
		})
		if err != nil && n <= 1000 {
			t.Fatalf("a record that is sound cannot be walked: %v", err)
		}
	})
}
