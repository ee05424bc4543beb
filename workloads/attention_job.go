package workloads

import (
	"fmt"
	"strings"

	"github.com/whisker-sim/whisker/isa"
)

func attentionOptions() []Option {
	return []Option{
		{"batch", "16", "", "batches"},
		{"heads", "16", "", "query heads"},
		{"kv-heads", "as heads", "divides heads", "KV heads: fewer than heads is GQA"},
		{"seq", "4096", "multiple of 256", "tokens"},
		{"dim", "128", "64, 128", "elements of a head"},
		{"causal", "false", "true, false", "hide later keys; half the FLOPs are counted"},
		{"rescale", "lazy", "lazy, always", "when outputs follow a new maximum: when it has grown by 2^8, or for each KV block, which also stores L = max + log(sum) for the backward pass"},
	}
}

// buildAttention is attention's Definition.Build.
func buildAttention(r Request) (*Job, error) {
	s := AttentionSpec{Batch: defaultBatch, Heads: defaultHeads, Seq: defaultSeq, Dim: 128, Seed: r.Seed}
	err := r.integers("attention", map[string]*int{"batch": &s.Batch, "heads": &s.Heads, "seq": &s.Seq, "dim": &s.Dim})
	if err != nil {
		return nil, err
	}
	s.KVHeads = s.Heads
	if err := r.integers("attention", map[string]*int{"kv-heads": &s.KVHeads}); err != nil {
		return nil, err
	}
	if s.Causal, err = r.Bool("attention", "causal"); err != nil {
		return nil, err
	}
	how, err := r.Choice("attention", "rescale", "lazy", "always")
	if err != nil {
		return nil, err
	}
	s.Rescale = how == "always"
	b, err := Attention(r.CPU, s)
	if err != nil {
		return nil, err
	}
	return &Job{Kernel: "attention", DType: "bf16", Kernels: []*Built{b}, FLOPs: b.FLOPs, Limit: attentionLimit,
		SharedReads: s.KVHeads%max(r.XCDs, 1) != 0, // of consecutive workgroups each has the next KV head
		RowBytes:    2 * s.Dim,
		Values:      int64(s.Batch) * int64(s.Heads) * int64(s.Seq) * int64(s.Dim),
		Settings: settings("batch", s.Batch, "heads", s.Heads, "kv-heads", s.KVHeads, "seq", s.Seq, "dim", s.Dim,
			"causal", s.Causal, "rescale", how),
		FillInputs: b.FillInputs, Verify: b.Verify, Expect: b.Expect}, nil
}

func attentionForms() []Info {
	var all []Info
	for _, dim := range []int{128, 64} {
		for _, causal := range []bool{false, true} {
			for _, rescale := range []bool{false, true} {
				b := mustBuild(Attention(isa.GFX950, AttentionSpec{Batch: 1, Heads: 1, KVHeads: 1, Seq: 512, Dim: dim, Causal: causal, Rescale: rescale}))
				variant, how := "", "outputs rescaled lazily"
				if rescale {
					variant, how = "rescale", "outputs rescaled for each KV block, L stored"
				}
				if causal {
					variant = strings.TrimSpace("causal " + variant)
				}
				i := b.form("attention", "forward, MHA and GQA, 8 waves in two groups that take turns; "+how, PingPong8, fmt.Sprintf("256x64x%d", dim), attentionOptions())
				i.DType, i.Variant = "bf16", variant
				all = append(all, i)
			}
		}
	}
	return all
}
