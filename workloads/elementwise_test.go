package workloads

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
)

// runBuilt runs a launch for values with every hazard check on, and returns the
// error of its outputs.
func runBuilt(t *testing.T, b *Built) float64 {
	t.Helper()
	b.FillInputs()
	if _, err := emu.Run(b.Launch, emu.Options{Check: true}); err != nil {
		t.Fatal(err)
	}
	e, err := b.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestLayerNormComputes(t *testing.T) {
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		for _, s := range []NormSpec{
			{Batch: 2, Seq: 16, Dim: 2048, Dropout: 0.01, Seed: 3},
			{Batch: 1, Seq: 8, Dim: 512, Dropout: 0.4, Seed: 1 << 40},
			{Batch: 1, Seq: 4, Dim: 4096, Seed: 5},
		} {
			b, err := LayerNorm(cpu, s)
			if err != nil {
				t.Fatal(err)
			}
			e := runBuilt(t, b)
			if e > normLimit {
				t.Errorf("%s %+v: error %g", cpu, s, e)
			}
		}
	}
}

func TestRotaryComputes(t *testing.T) {
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		for _, s := range []RotarySpec{
			{Batch: 2, Heads: 3, Seq: 64, Dim: 128, Seed: 3},
			{Batch: 1, Heads: 2, Seq: 96, Dim: 64, Seed: 4},
		} {
			b, err := Rotary(cpu, s)
			if err != nil {
				t.Fatal(err)
			}
			e := runBuilt(t, b)
			if e > rotaryLimit {
				t.Errorf("%s %+v: error %g", cpu, s, e)
			}
		}
	}
}

// Verify sees a wrong element, a wrong mask among them.
func TestElementwiseVerifySees(t *testing.T) {
	b, err := LayerNorm(isa.GFX950, NormSpec{Batch: 1, Seq: 4, Dim: 512, Dropout: 0.3, Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Verify(); err == nil {
		t.Error("verified without inputs")
	}
	runBuilt(t, b)
	mem := b.Launch.Memory
	for _, name := range []string{"o", "o_resid"} {
		for _, r := range mem.Regions() {
			if r.Name != name {
				continue
			}
			old := mem.Load32(r.Base + 1024)
			mem.Store32(r.Base+1024, old^0x40004000)
			if e, _ := b.Verify(); e < normLimit {
				t.Errorf("a wrong element of %s goes unseen: error %g", name, e)
			}
			mem.Store32(r.Base+1024, old)
		}
	}
}

// The published known answers of Philox-4x32-10 (Random123, kat_vectors).
func TestPhiloxKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0}, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Philox(c.counter, c.key); got != c.want {
			t.Errorf("Philox(%#x, %#x) = %#x, want %#x", c.counter, c.key, got, c.want)
		}
	}
}

func TestElementwiseRefusals(t *testing.T) {
	for _, c := range []struct {
		kernel string
		opts   map[string]string
		want   string
	}{
		{"layernorm", map[string]string{"dim": "96"}, "dim must be a multiple of 512 up to 4096"},
		{"layernorm", map[string]string{"seq": "101"}, "seq must be a positive multiple of 4"},
		{"layernorm", map[string]string{"batch": "-1"}, "--batch is -1; it must be from 1"},
		{"layernorm", map[string]string{"dropout": "1"}, "dropout 1; it must be at least 0 and below 1"},
		{"layernorm", map[string]string{"dropout": "x"}, `--dropout is "x"`},
		{"rotary", map[string]string{"dim": "96"}, "dim is 64 or 128"},
		{"rotary", map[string]string{"seq": "100"}, "seq must be a positive multiple of 32"},
		{"rotary", map[string]string{"heads": "0"}, "--heads is 0; it must be from 1"},
		{"rotary", map[string]string{"m": "1"}, "no option --m"},
	} {
		_, err := Build(c.kernel, Request{CPU: isa.GFX950, Options: c.opts})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: error %v, want one with %q", c.kernel, c.opts, err, c.want)
		}
	}
}

// Without an option, both kernels have the published shape.
func TestElementwiseDefaults(t *testing.T) {
	for name, want := range map[string]struct {
		wgs   int
		bytes float64
	}{"layernorm": {16384, 4 * 16 * 4096 * 2048 * 2}, "rotary": {32768, 2 * 16 * 16 * 4096 * 128 * 2}} {
		j, err := Build(name, Request{CPU: isa.GFX950})
		if err != nil {
			t.Fatal(err)
		}
		if n := j.Kernels[0].Launch.NumWorkgroups(); n != want.wgs || j.Bytes < want.bytes || j.Bytes > want.bytes*1.01 {
			t.Errorf("%s: %d workgroups, %g bytes", name, n, j.Bytes)
		}
	}
}

func TestElementwiseAssembles(t *testing.T) {
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		for _, b := range []*Built{
			mustBuild(LayerNorm(cpu, NormSpec{Batch: 1, Seq: 4, Dim: 2048, Dropout: 0.01})),
			mustBuild(Rotary(cpu, RotarySpec{Batch: 1, Heads: 1, Seq: 32, Dim: 128})),
		} {
			assembles(t, b.Launch.Kernel)
		}
	}
}
