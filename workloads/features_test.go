package workloads

import (
	"fmt"
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/isa/emu"
)

// featureForms are the producer-consumer GEMMs that use each feature alone, in
// pairs with barrier objects, and all together.
func featureForms() []Spec {
	var out []Spec
	for _, list := range []string{"dynamic_registers", "mfma_lds_operands", "tile_copy", "mbarrier",
		"dynamic_registers,mbarrier", "mfma_lds_operands,mbarrier", "tile_copy,mbarrier", "all"} {
		f, err := ParseFeatures(list)
		if err != nil {
			panic(err)
		}
		for _, stages := range []int{2, 3} {
			for _, consumers := range []int{8, 12} {
				if consumers == 12 && stages == 3 && f != isa.MBarrier {
					continue
				}
				s := Spec{Schedule: ProducerConsumer, Features: f, Stages: stages, Consumers: consumers, LDSRoom: 256 << 10, W: -1, C: -1}
				s.Tile = map[int]string{8: "128x256", 12: "192x256"}[consumers]
				out = append(out, s)
				if s.largeTile() {
					s.Tile = "256x256"
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// Every form computes the right values with all hazard checks on, also in a
// ragged last row tile, in both 16-bit types.
func TestFeatureFormsCompute(t *testing.T) {
	for i, s := range featureForms() {
		var tm int
		fmt.Sscanf(s.Tile, "%dx256", &tm)
		s.M, s.N, s.K, s.Seed = tm, 256, 64*(4+i%3), 7
		if i%3 == 0 {
			s.M += 40
		}
		if i%4 == 1 {
			s.DType = "fp16"
		}
		b := build(t, isa.GFX950, s)
		b.FillInputs()
		if _, err := emu.Run(b.Launch, emu.Options{Check: true}); err != nil {
			t.Errorf("%s: %v", b.Launch.Kernel.Name, err)
			continue
		}
		if e, err := b.Verify(); err != nil || e > verifyLimit[b.OutDType] {
			t.Errorf("%s: error %g, %v", b.Launch.Kernel.Name, e, err)
		}
		if got := b.Launch.Kernel.Features(); got != s.Features {
			t.Errorf("%s: its instructions need %v, the form is of %v", b.Launch.Kernel.Name, got.Leaves(), s.Features.Leaves())
		}
	}
}

// The 256x256 tile of 8 consumers fits for the reason that its feature gives:
// consumers that hold no operands, or the producers' registers.
func TestFeaturesMakeRoom(t *testing.T) {
	s := Spec{M: 256, N: 256, K: 256, Schedule: ProducerConsumer, Tile: "256x256", W: -1, C: -1}
	if _, err := GEMM(isa.GFX950, s); err == nil || !strings.Contains(err.Error(), "needs at least") {
		t.Errorf("without features: error %v, want one that counts registers", err)
	}
	s.Registers = 1024
	if k := build(t, isa.GFX950, s).Launch.Kernel; k.VGPRs <= 168 || k.VGPRs > 256 {
		t.Errorf("1024 registers a SIMD: %d registers a wave", k.VGPRs)
	}
	s.Registers, s.Features = 0, isa.MFMALDSOperands
	lean := build(t, isa.GFX950, s).Launch.Kernel
	if lean.VGPRs > 168 || lean.StartRegisters != 0 {
		t.Errorf("operands from LDS: %d registers a wave, start %d; an equal share of a SIMD's 512 is 168", lean.VGPRs, lean.StartRegisters)
	}
	for _, in := range lean.Insts {
		if strings.HasPrefix(in.Op.String(), "ds_read") {
			t.Fatalf("operands from LDS: the kernel still has %s", in.Text(isa.GFX950))
		}
	}
	s.Features = isa.DynamicRegisters
	k := build(t, isa.GFX950, s).Launch.Kernel
	producer, consumer := k.WaveRegisters[0], k.WaveRegisters[4]
	if consumer <= 168 || producer >= k.StartRegisters || producer+2*consumer > 512 || k.StartRegisters != 168 {
		t.Errorf("moved registers: start %d, producer %d, consumer %d", k.StartRegisters, producer, consumer)
	}
}

// What the checks are there to find: a stage that is filled too early, and
// accumulators that are read too early.
func TestFeatureHazardsAreSeen(t *testing.T) {
	all, _ := ParseFeatures("all")
	for _, c := range []struct {
		op   isa.Op
		nth  int // of the op, from the end
		want string
	}{
		{isa.X_MMA_WAIT, 0, "x_mma_wait"},
		{isa.X_MBAR_WAIT, 0, "missing wait"},
	} {
		b := build(t, isa.GFX950, Spec{M: 256, N: 256, K: 512, Schedule: ProducerConsumer, Features: all, W: -1, C: -1})
		for i := len(b.Launch.Kernel.Insts) - 1; i >= 0; i-- {
			if in := &b.Launch.Kernel.Insts[i]; in.Op == c.op {
				*in = isa.Inst{Op: isa.S_NOP, Enc: isa.SOPP, Size: in.Size, PC: in.PC, Target: -1}
				break
			}
		}
		if _, err := emu.Run(b.Launch, emu.Options{Check: true}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without the last %v: error %v, want one about %s", c.op, err, c.want)
		}
	}
}

// There is no assembly of what no hardware has, and what is wrong with a list of
// features is said.
func TestFeaturesRefused(t *testing.T) {
	b := build(t, isa.GFX950, Spec{M: 128, N: 256, K: 256, Schedule: ProducerConsumer, Features: isa.MBarrier, W: -1, C: -1})
	if _, err := isa.Assembly(b.Launch.Kernel); err == nil || !strings.Contains(err.Error(), "no hardware encodes") {
		t.Errorf("assembly: error %v", err)
	}
	if _, err := ParseFeatures("tma"); err == nil || !strings.Contains(err.Error(), `unknown feature "tma"; there are dynamic_registers`) {
		t.Errorf("unknown feature: error %v", err)
	}
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Features: isa.MBarrier}, "option of schedule producer-consumer"},
		{Spec{Features: isa.MBarrier, Schedule: ProducerConsumer, Handshake: BarrierHandshake}, "leave out --handshake barrier"},
		{Spec{Features: isa.TileCopy, Schedule: ProducerConsumer, Handshake: AtomicHandshake}, "has no form with --features"},
		{Spec{Schedule: ProducerConsumer, Handshake: MBarrierHandshake}, "needs --features mbarrier"},
	} {
		c.spec.M, c.spec.N, c.spec.K, c.spec.W, c.spec.C = 256, 256, 256, -1, -1
		if _, err := GEMM(isa.GFX950, c.spec); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.spec, err, c.want)
		}
	}
}
