package codeobj

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/whisker-sim/whisker/isa"
)

func note(owner string, kind uint32, desc []byte) []byte {
	le := binary.LittleEndian
	pad := func(b []byte) []byte {
		for len(b)%4 != 0 {
			b = append(b, 0)
		}
		return b
	}
	b := le.AppendUint32(nil, uint32(len(owner)+1))
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, kind)
	b = pad(append(append(b, owner...), 0))
	return pad(append(b, desc...))
}

// Notes of others are stepped over, whatever their size.
func TestUnknownNotes(t *testing.T) {
	all := note("GNU", 3, []byte("build id"))
	all = append(all, note("AMD", 32, []byte("old"))...)
	all = append(all, note("AMDGPU", 99, []byte("new!"))...)
	all = append(all, note("AMDGPU", noteMetadata, []byte("this"))...)
	if got, err := metadataNote(all, 4); err != nil || string(got) != "this" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := metadataNote(all[:len(all)-20], 4); err != nil || got != nil {
		t.Errorf("without the metadata: got %q, %v", got, err)
	}
	for n := 1; n < 8; n++ {
		if _, err := metadataNote(all[:len(all)-n], 4); err == nil {
			t.Errorf("cut by %d: no error", n)
		}
	}
}

func TestMetadataThatLies(t *testing.T) {
	good := func() Meta {
		return Meta{Name: "k", KernargBytes: 16, WavefrontSize: 64, Args: []Arg{{Offset: 8, Size: 8, ValueKind: "global_buffer"}}}
	}
	for name, c := range map[string]struct {
		change func(*Meta)
		want   string
	}{
		"as it is":       {func(*Meta) {}, ""},
		"no name":        {func(m *Meta) { m.Name = "" }, "no name"},
		"negative":       {func(m *Meta) { m.KernargBytes = -1 }, ".kernarg_segment_size is -1"},
		"enormous":       {func(m *Meta) { m.KernargBytes = 1 << 40 }, ".kernarg_segment_size"},
		"LDS":            {func(m *Meta) { m.GroupBytes = 1 << 30 }, ".group_segment_fixed_size"},
		"scratch":        {func(m *Meta) { m.PrivateBytes = 1 << 30 }, ".private_segment_fixed_size"},
		"registers":      {func(m *Meta) { m.VGPRs = 513 }, ".vgpr_count"},
		"wave32":         {func(m *Meta) { m.WavefrontSize = 32 }, "have 64"},
		"workgroup":      {func(m *Meta) { m.ReqdWorkgroup = []int{64} }, "1 numbers, not 3"},
		"no work-items":  {func(m *Meta) { m.ReqdWorkgroup = []int{64, 0, 1} }, "[64 0 1]"},
		"argument past":  {func(m *Meta) { m.Args[0].Offset = 12 }, "outside the 16 bytes"},
		"argument size":  {func(m *Meta) { m.Args[0].Size = 1 << 62 }, "outside the 16 bytes"},
		"argument below": {func(m *Meta) { m.Args[0].Offset = -8 }, "outside the 16 bytes"},
	} {
		m := good()
		c.change(&m)
		b, err := msgpack.Marshal(&document{Kernels: []Meta{m}, Version: []int{1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = parseMetadata(b)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
}

// Lengths that lie and deep nesting are refused before anything is allocated.
func TestMsgpackThatLies(t *testing.T) {
	for name, b := range map[string][]byte{
		"array":   {0xdd, 0xff, 0xff, 0xff, 0xff},
		"map":     {0xdf, 0xff, 0xff, 0xff, 0xff},
		"string":  {0xdb, 0xff, 0xff, 0xff, 0xff},
		"binary":  {0xc6, 0x7f, 0xff, 0xff, 0xff},
		"cut":     {0x81, 0xa1},
		"nested":  bytes.Repeat([]byte{0x91}, 1<<20),
		"unused":  {0xc1},
		"ext":     {0xd4, 1, 2},
		"nothing": nil,
	} {
		if err := checkMsgpack(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := checkMsgpack([]byte{0x82, 0xa1, 'a', 0x92, 0x01, 0xcd, 1, 2, 0xa1, 'b', 0xc0}); err != nil {
		t.Errorf("a document: %v", err)
	}
}

func TestParseYAML(t *testing.T) {
	m, err := ParseYAML([]byte("amdhsa.version: [ 1, 2 ]\namdhsa.kernels:\n  - .name: k\n    .kernarg_segment_size: 8\n    .args:\n      - { .offset: 0, .size: 8, .value_kind: global_buffer }\n"))
	if err != nil || len(m) != 1 || m[0].Name != "k" || !m[0].Args[0].Pointer() {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := ParseYAML([]byte("amdhsa.kernels: 3")); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("no list: %v", err)
	}
}

// A relocatable file's descriptor points to its code once relocated.
func TestRelocation(t *testing.T) {
	f := &File{CPU: isa.GFX942, bases: []uint64{0, 0, 0x1000}, segments: []segment{{0, make([]byte, 8), true, 8}, {0x1000, make([]byte, 64), false, 64}}}
	le := binary.LittleEndian
	record := func(at, kind, addend uint64) []byte {
		b := le.AppendUint64(nil, at)
		return le.AppendUint64(le.AppendUint64(b, kind), addend)
	}
	for _, c := range []struct {
		kind uint64
		want uint64
	}{{relABS64, 0x10}, {relREL64, 0xfffffffffffff008}, {relABS32, 0x10}, {relABS32Hi, 0}, {relREL32, 0xfffff008}, {relREL32Hi, 0xffffffff}, {relREL16, 0xfc01}} {
		clear(f.segments[1].data)
		if err := f.apply(record(8, c.kind, 0x10), 0x1000, nil); err != nil {
			t.Error(err)
		}
		if got := le.Uint64(f.segments[1].data[8:]); got != c.want {
			t.Errorf("type %d: %#x, want %#x", c.kind, got, c.want)
		}
	}
	for name, b := range map[string][]byte{"outside": record(1<<20, relABS64, 0), "no symbol": record(8, 7<<32|relABS64, 0), "linker's": record(8, 7, 0)} {
		if err := f.apply(b, 0x1000, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPacket(t *testing.T) {
	b := Packet(&Meta{GroupBytes: 100, PrivateBytes: 80}, Grid{Workgroups: [3]int{3, 2, 1}, Workgroup: [3]int{64, 4, 1}, DynamicLDS: 28}, 0x123456789a)
	le := binary.LittleEndian
	for _, c := range []struct {
		what string
		got  uint64
		want uint64
	}{
		{"dimensions", uint64(le.Uint16(b[2:])), 2}, {"workgroup x", uint64(le.Uint16(b[4:])), 64}, {"workgroup y", uint64(le.Uint16(b[6:])), 4},
		{"grid x", uint64(le.Uint32(b[12:])), 192}, {"grid y", uint64(le.Uint32(b[16:])), 8}, {"grid z", uint64(le.Uint32(b[20:])), 1},
		{"private", uint64(le.Uint32(b[24:])), 80}, {"group", uint64(le.Uint32(b[28:])), 128}, {"kernarg", le.Uint64(b[40:]), 0x123456789a},
	} {
		if c.got != c.want {
			t.Errorf("%s is %d, want %d", c.what, c.got, c.want)
		}
	}
}
