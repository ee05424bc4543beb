package workloads

import (
	"strings"
	"testing"

	"github.com/whisker-sim/whisker/isa"
)

func attn(t testing.TB, s AttentionSpec) *Built {
	t.Helper()
	b, err := Attention(isa.GFX950, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// attentionSpecs are every form, at the least size with work for its parts: a
// loop that is not entered and one that is, groups of heads, and a diagonal.
func attentionSpecs() []AttentionSpec {
	return []AttentionSpec{
		{Batch: 1, Heads: 1, KVHeads: 1, Seq: 256, Dim: 128, Seed: 1},
		{Batch: 1, Heads: 6, KVHeads: 3, Seq: 256, Dim: 64, Seed: 2},
		{Batch: 2, Heads: 1, KVHeads: 1, Seq: 512, Dim: 64, Causal: true, Seed: 3},
		{Batch: 1, Heads: 2, KVHeads: 1, Seq: 512, Dim: 128, Causal: true, Rescale: true, Seed: 4},
		{Batch: 1, Heads: 1, KVHeads: 1, Seq: 512, Dim: 128, Seed: 5},
		{Batch: 1, Heads: 2, KVHeads: 2, Seq: 256, Dim: 64, Rescale: true, Seed: 6},
	}
}

// Every form computes attention, with all waits and barriers checked.
func TestAttentionComputes(t *testing.T) {
	for _, s := range attentionSpecs() {
		b := attn(t, s)
		if e := runBuilt(t, b); e > attentionLimit {
			t.Errorf("%+v: error %g", s, e)
		} else {
			t.Logf("%+v: error %g", s, e)
		}
	}
}

// A wave whose maxima grow again and again takes the rescaling path each time:
// keys that grow along the sequence.
func TestAttentionRescales(t *testing.T) {
	for _, causal := range []bool{false, true} {
		s := AttentionSpec{Batch: 1, Heads: 1, KVHeads: 1, Seq: 512, Dim: 64, Causal: causal, Seed: 7}
		b := attn(t, s)
		b.FillInputs()
		k := b.Launch.Memory.Regions()[1]
		row := make([]float64, s.Dim)
		for tok := range s.Seq {
			readBF16(b.Launch.Memory, k.Base+uint64(2*s.Dim*tok), row)
			for i := range row {
				w := bf16Bits(float32(row[i] * float64(1+tok/64)))
				b.Launch.Memory.Write(k.Base+uint64(2*(s.Dim*tok+i)), []byte{byte(w), byte(w >> 8)})
			}
		}
		if e := runBuilt(t, b); e > 8*attentionLimit { // scores 8 times as large have 8 times the error
			t.Errorf("causal %v: error %g", causal, e)
		} else {
			t.Logf("error %g", e)
		}
	}
}

// Every LDS byte is written and read in an order that waits and barriers force.
func TestAttentionLDSRaces(t *testing.T) {
	for _, s := range attentionSpecs() {
		b := attn(t, s)
		if r := traceLDS(t, b).races(b); len(r) > 0 {
			t.Errorf("%s: %s", b.Launch.Kernel.Name, strings.Join(r, "; "))
		}
	}
}

func TestAttentionAssembles(t *testing.T) {
	for _, s := range attentionSpecs() {
		assembles(t, attn(t, s).Launch.Kernel)
	}
}

func TestAttentionRefusals(t *testing.T) {
	for _, c := range []struct {
		cpu  isa.CPU
		opts map[string]string
		want string
	}{
		{isa.GFX950, map[string]string{"dim": "96"}, "attention: dim 96; the kernel has head dimensions 64 and 128"},
		{isa.GFX950, map[string]string{"seq": "100"}, "attention: seq 100; a workgroup takes 256 query rows: seq must be a multiple of 256"},
		{isa.GFX950, map[string]string{"seq": "-256"}, "--seq is -256; it must be from 1"},
		{isa.GFX950, map[string]string{"heads": "16", "kv-heads": "5"}, "16 heads over 5 kv-heads; the heads of a group share one KV head, so kv-heads must divide heads"},
		{isa.GFX950, map[string]string{"heads": "8", "kv-heads": "16"}, "8 heads over 16 kv-heads"},
		{isa.GFX950, map[string]string{"batch": "0"}, "--batch is 0; it must be from 1"},
		{isa.GFX950, map[string]string{"causal": "maybe"}, `--causal is "maybe"; it must be true or false`},
		{isa.GFX950, map[string]string{"rescale": "never"}, `unknown --rescale "never"; it takes lazy, always`},
		{isa.GFX950, map[string]string{"seq": "1048576", "heads": "64"}, "one batch must stay below 2 GiB"},
		{isa.GFX942, nil, "gfx942 lacks instructions of this kernel"},
	} {
		_, err := Build("attention", Request{CPU: c.cpu, Options: c.opts})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.opts, err, c.want)
		}
	}
}

// Without an option the kernel has the published shape and count.
func TestAttentionDefaults(t *testing.T) {
	j, err := Build("attention", Request{CPU: isa.GFX950})
	if err != nil {
		t.Fatal(err)
	}
	l := j.Kernels[0].Launch
	if l.Workgroups != [3]int{16, 16, 16} || j.FLOPs != 4*16*16*4096.0*4096*128 {
		t.Errorf("grid %v, %g FLOPs", l.Workgroups, j.FLOPs)
	}
	if k := l.Kernel; k.VGPRs > 256 || k.LDSBytes != 160000 || j.Kernels[0].LDSUsed != 65536 || j.Kernels[0].LoopTrips != 30 {
		t.Errorf("%d VGPRs, LDS %d of %d, %d trips", k.VGPRs, j.Kernels[0].LDSUsed, k.LDSBytes, j.Kernels[0].LoopTrips)
	}
}

// The body has the operations of the compiled kernel that kernel descriptions
// give for two KV blocks, within what a compiler shares or adds.
func TestAttentionLoop(t *testing.T) {
	for _, c := range []struct{ dim, mfma, reads, transposed, fills int }{{128, 64, 32, 64, 8}, {64, 32, 16, 32, 4}} {
		b := attn(t, AttentionSpec{Batch: 1, Heads: 1, KVHeads: 1, Seq: 1024, Dim: c.dim})
		n := map[string]int{}
		for _, in := range b.Launch.Kernel.Insts[b.LoopStart:b.LoopEnd] {
			n[in.Op.String()]++
		}
		for op, want := range map[string]int{"v_mfma_f32_32x32x16_bf16": c.mfma, "ds_read_b128": c.reads, "ds_read_b64_tr_b16": c.transposed,
			"buffer_load_dwordx4": c.fills, "v_exp_f32": 64, "v_max3_f32": 32, "v_cvt_pk_bf16_f32": 32, "v_add_f32": 64, "v_sub_f32": 66,
			"s_barrier": 8, "s_setprio": 4, "v_permlane32_swap_b32": 2} {
			if n[op] != want {
				t.Errorf("d%d: %d %s, want %d", c.dim, n[op], op, want)
			}
		}
	}
}
