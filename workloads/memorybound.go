package workloads

import (
	"fmt"
	"math"
	"strconv"

	"github.com/whisker-sim/whisker/isa"
)

// Defaults of the published shapes.
const (
	defaultBatch = 16
	defaultHeads = 16
	defaultSeq   = 4096
	maxCount     = 1 << 20 // of batches, heads, tokens: what any option takes
)

// A result that went through k roundings of 2^-9 is off by k*2^-9 of the largest
// term that it was made of. Both kernels round every operation, and both end in
// a sum whose terms may cancel.
const (
	// The layer norm's product has up to 7 roundings (residual, mean, difference,
	// deviation with its sums as two, quotient, product), and is up to 4.5 times
	// the rms of the result where weights and values are N(0,1).
	normLimit = 7 * 4.5 * 0x1p-9
	// The rotary products have 1 rounding and so has their sum; the largest
	// product is 4 times the rms.
	rotaryLimit = (2*4 + 1) * 0x1p-9
)

func layernormOptions() []Option {
	return []Option{
		{"batch", "16", "", "batches"},
		{"seq", "4096", "multiple of 4", "rows of a batch"},
		{"dim", "2048", "multiple of 512 up to 4096", "elements of a row"},
		{"dropout", "0.01", "from 0 to below 1", "probability of an element to be dropped; the mask follows from the seed"},
	}
}

// integers reads options that are whole numbers from 1 to maxCount.
func (r *Request) integers(kernel string, opts map[string]*int) error {
	for _, name := range []string{"batch", "heads", "kv-heads", "seq", "dim"} {
		p, ok := opts[name]
		if !ok {
			continue
		}
		v, err := r.Positive(kernel, name, *p, maxCount)
		if err != nil {
			return err
		}
		*p = v
	}
	return nil
}

// buildLayerNorm is the layer norm's Definition.Build.
func buildLayerNorm(r Request) (*Job, error) {
	s := NormSpec{Batch: defaultBatch, Seq: defaultSeq, Dim: 2048, Dropout: 0.01, Seed: r.Seed}
	if err := r.integers("layernorm", map[string]*int{"batch": &s.Batch, "seq": &s.Seq, "dim": &s.Dim}); err != nil {
		return nil, err
	}
	if v, ok := r.Options["dropout"]; ok {
		p, err := strconv.ParseFloat(v, 64)
		if err != nil || math.IsNaN(p) {
			return nil, fmt.Errorf("layernorm: --dropout is %q; it must be a number from 0 to below 1", v)
		}
		s.Dropout = p
	}
	b, err := LayerNorm(r.CPU, s)
	if err != nil {
		return nil, err
	}
	n := float64(s.Batch) * float64(s.Seq) * float64(s.Dim)
	return &Job{Kernel: "layernorm", DType: "bf16", Kernels: []*Built{b}, Bytes: 4*2*n + 2*2*float64(s.Dim), Limit: normLimit, Values: int64(2 * n),
		Settings: settings("batch", s.Batch, "seq", s.Seq, "dim", s.Dim, "dropout", s.Dropout),
		HostSync: true, HostSyncWhy: "published: its launch function calls hipDeviceSynchronize",
		Notes:      []string{fmt.Sprintf("the dropout mask is Philox-4x32-10 under the key %d; no address or branch depends on it", s.Seed)},
		FillInputs: b.FillInputs, Verify: b.Verify, Expect: b.Expect}, nil
}

func rotaryOptions() []Option {
	return []Option{
		{"batch", "16", "", "batches"},
		{"heads", "16", "", "heads"},
		{"seq", "4096", "multiple of 32", "tokens"},
		{"dim", "128", "64, 128", "elements of a head"},
	}
}

// buildRotary is the rotary embedding's Definition.Build.
func buildRotary(r Request) (*Job, error) {
	s := RotarySpec{Batch: defaultBatch, Heads: defaultHeads, Seq: defaultSeq, Dim: 128, Seed: r.Seed}
	if err := r.integers("rotary", map[string]*int{"batch": &s.Batch, "heads": &s.Heads, "seq": &s.Seq, "dim": &s.Dim}); err != nil {
		return nil, err
	}
	b, err := Rotary(r.CPU, s)
	if err != nil {
		return nil, err
	}
	n := float64(s.Batch) * float64(s.Heads) * float64(s.Seq) * float64(s.Dim)
	return &Job{Kernel: "rotary", DType: "bf16", Kernels: []*Built{b}, Bytes: 2*2*n + 2*float64(s.Seq)*float64(s.Dim), Limit: rotaryLimit, Values: int64(n),
		Settings: settings("batch", s.Batch, "heads", s.Heads, "seq", s.Seq, "dim", s.Dim),
		HostSync: true, HostSyncWhy: "assumed: the layer norm of the same repository does; rotary's launch function was not read",
		FillInputs: b.FillInputs, Verify: b.Verify, Expect: b.Expect}, nil
}

// settings pairs names with values.
func settings(nv ...any) []Setting {
	var out []Setting
	for i := 0; i < len(nv); i += 2 {
		out = append(out, Setting{nv[i].(string), fmt.Sprint(nv[i+1])})
	}
	return out
}

// form describes a built kernel for the listing.
func (b *Built) form(name, summary, schedule, tile string, opts []Option) Info {
	k := b.Launch.Kernel
	i := Info{Name: name, Summary: summary, CPU: b.CPU, Schedule: schedule, Tile: tile, Waves: b.Waves, VGPRs: k.VGPRs, AGPRs: k.AGPRs, SGPRs: k.SGPRs,
		LDSBytes: k.LDSBytes, LDSUsed: b.LDSUsed, ScratchBytes: k.ScratchBytes, Options: opts}
	i.occupancy()
	return i
}

// mustBuild is for forms that build at their own size.
func mustBuild(b *Built, err error) *Built {
	if err != nil {
		panic("workloads: " + err.Error())
	}
	return b
}

func layernormForms() []Info {
	var all []Info
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		b := mustBuild(LayerNorm(cpu, NormSpec{Batch: 1, Seq: 4, Dim: 2048, Dropout: 0.01}))
		all = append(all, b.form("layernorm", "dropout, residual add and layer norm in one pass, a row a wave", "rows", "4x2048", layernormOptions()))
	}
	return all
}

func rotaryForms() []Info {
	var all []Info
	for _, cpu := range []isa.CPU{isa.GFX950, isa.GFX942} {
		b := mustBuild(Rotary(cpu, RotarySpec{Batch: 1, Heads: 1, Seq: 32, Dim: 128}))
		all = append(all, b.form("rotary", "rotary embedding, 32 tokens a wave", "rows", "32x128", rotaryOptions()))
	}
	return all
}
