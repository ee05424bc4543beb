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
