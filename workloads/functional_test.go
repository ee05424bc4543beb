package workloads

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
	"github.com/whisker-sim/whisker/swizzle"
)

// runGroups runs every workgroup for values, with the check that waits and
// barriers cover every use of a load.
func runGroups(t *testing.T, b *Built) {
	t.Helper()
	if _, err := emu.Run(b.Launch, emu.Options{Check: true}); err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, cpu isa.CPU, s Spec) float64 {
	t.Helper()
	b := build(t, cpu, s)
	b.FillInputs()
	runGroups(t, b)
	e, err := b.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Limits of the check: half a unit of the last place of the stored element
// (2^-8 of bf16, 2^-11 of fp16) and a little for the order of summation.
const (
	bf16Limit = 0x1p-8 * 1.01
	fp16Limit = 0x1p-11 * 1.01
)

// Every block order computes the product: each tile is some workgroup's.
func TestEveryOrderComputes(t *testing.T) {
	for _, k := range swizzle.Kinds {
		s := Spec{M: 640, N: 384, K: 256, Tile: "128x128", Order: string(k), W: -1, C: -1, XCDs: 3, Seed: 7}
		if k.Windowed() {
			s.W = 2
		}
		if e := check(t, isa.GFX950, s); e > bf16Limit {
			t.Errorf("%s: error %g of at most %g", k, e, bf16Limit)
		}
	}
}

// Every form computes the product, over several workgroups and a remap whose
// divisors are no powers of two.
func TestEveryFormComputes(t *testing.T) {
	for _, i := range gemmForms() {
		m, n, err := OneRound(i.Tile, 6)
		if err != nil {
			t.Fatal(err)
		}
		s := formSpec(i, Spec{M: m, N: n, K: 256, W: 2, C: 1, XCDs: 3, Seed: 7})
		if e := check(t, i.CPU, s); e > bf16Limit {
			t.Errorf("%s %s %s: error %g", i.CPU, i.Schedule, i.Tile, e)
		}
	}
	for _, f := range []struct {
		cpu   isa.CPU
		sched string
	}{{isa.GFX950, PingPong8}, {isa.GFX942, PingPong8}, {isa.GFX950, Interleave4}} {
		s := Spec{M: 128, N: 128, K: 384, Tile: "128x128", Schedule: f.sched, DType: "fp16", W: -1, C: -1}
		if e := check(t, f.cpu, s); e > fp16Limit {
			t.Errorf("%s %s fp16: error %g", f.cpu, f.sched, e)
		}
	}
}

// The default forms at 512 cubed, with the tile of the large sizes.
func TestComputes512(t *testing.T) {
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		s := Spec{M: 512, N: 512, K: 512, Tile: "256x256", W: -1, C: -1, Seed: 1}
		if e := check(t, cpu, s); e > bf16Limit {
			t.Errorf("%s: error %g", cpu, e)
		}
	}
}

// A kernel that reads LDS without the swizzle computes something else.
func TestBrokenSwizzleIsWrong(t *testing.T) {
	for _, i := range gemmForms() {
		m, n, _ := OneRound(i.Tile, 1)
		s := formSpec(i, Spec{M: m, N: n, K: 256, Break: "swizzle"})
		if e := check(t, i.CPU, s); e < 0.1 {
			t.Errorf("%s %s %s: error is only %g", i.CPU, i.Schedule, i.Tile, e)
		}
	}
}

// A kernel without one of its waits is refused, and the message names the
// instruction that used the data and the load that owed it.
func TestDroppedWaitIsRefused(t *testing.T) {
	s := Spec{M: 256, N: 256, K: 512, Tile: "256x256", W: -1, C: -1}
	for _, c := range []struct {
		cpu        isa.CPU
		cluster    string
		vm         int // noVM: the lgkmcnt wait
		use, owing string
	}{
		{isa.GFX950, "m1", noVM, "v_mfma_f32_16x16x32_bf16", "ds_read_b128"},
		{isa.GFX950, "m3", 6, "ds_read_b128", "buffer_load_dwordx4"},
		{isa.GFX950, "m7", 6, "ds_read_b128", "buffer_load_dwordx4"},
		{isa.GFX950, "m2", 10, "ds_read_b128", "buffer_load_dwordx4"},
		{isa.GFX942, "m1", noVM, "v_mfma_f32_16x16x16_bf16", "ds_read_b64"},
		{isa.GFX942, "m3", 0, "ds_write_b64", "buffer_load_dwordx4"},
	} {
		s.Break = ""
		s.Break = fmt.Sprintf("wait:%d", waitIn(t, build(t, c.cpu, s), c.cluster, c.vm))
		b := build(t, c.cpu, s)
		_, err := emu.Run(b.Launch, emu.Options{Check: true})
		if !errors.Is(err, emu.ErrHazard) || !strings.Contains(err.Error(), c.use) || !strings.Contains(err.Error(), c.owing) {
			t.Errorf("%s without the wait of %s: error %v, want a hazard that names %s and %s", c.cpu, c.cluster, err, c.use, c.owing)
		}
	}
}

// Verify refuses to compare what was never computed, and sees a wrong element.
func TestVerifySees(t *testing.T) {
	s := Spec{M: 128, N: 128, K: 256, Tile: "128x128"}
	b := build(t, isa.GFX950, s)
	if _, err := b.Verify(); err == nil {
		t.Error("verified without inputs")
	}
	b.FillInputs()
	runGroups(t, b)
	if e, _ := b.Verify(); e > bf16Limit {
		t.Fatalf("error %g", e)
	}
	c := b.Launch.Memory.Regions()[2]
	for _, wrong := range []uint32{0x42424242, 0x7fc07fc0} { // another value; not a number
		old := b.Launch.Memory.Load32(c.Base + 4096)
		b.Launch.Memory.Store32(c.Base+4096, wrong)
		if e, _ := b.Verify(); !(e > 1e-2) {
			t.Errorf("%#x in C goes unseen: error %g", wrong, e)
		}
		b.Launch.Memory.Store32(c.Base+4096, old)
	}
}

func TestHalfRoundTrip(t *testing.T) {
	for h := range 1 << 16 {
		v := fp16Value(uint16(h))
		if v-v != 0 { // infinite or not a number: not made by the inputs
			continue
		}
		if got := fp16Bits(float32(v)); got != uint16(h) {
			t.Fatalf("fp16 %#x = %g rounds back to %#x", h, v, got)
		}
	}
}
