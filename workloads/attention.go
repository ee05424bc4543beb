package workloads

import (
	"fmt"

	"github.com/whisker-sim/whisker/isa"
)

// AttentionSpec says which forward attention to build: O = softmax(Q K^T /
// sqrt(D)) V over tensors of (batch, sequence, head, dim), bf16.
type AttentionSpec struct {
	Batch, Heads, KVHeads, Seq, Dim int
	Causal                          bool
	// Rescale rescales the accumulators for every KV block instead of only when
	// a maximum has grown by more than 2^8, and stores L = max + log(sum), the
	// natural logarithm of a row's sum of exponentials, as (batch, head,
	// sequence) of f32: the form that runs before the backward pass.
	Rescale bool
	Seed    uint64
}

// Shape of the kernel (HipKittens): 8 waves of 32 query rows, KV blocks of 64.
const (
	attnWaves    = 8
	attnWaveRows = 32
	attnRows     = attnWaves * attnWaveRows
	attnKV       = 64
)

func (s AttentionSpec) check(cpu isa.CPU) error {
	for _, v := range []struct {
		name string
		v    int
	}{{"batch", s.Batch}, {"heads", s.Heads}, {"kv-heads", s.KVHeads}, {"seq", s.Seq}, {"dim", s.Dim}} {
		if v.v <= 0 {
			return fmt.Errorf("attention: %s is %d; it must be positive", v.name, v.v)
		}
	}
	switch {
	case cpu != isa.GFX950:
		return fmt.Errorf("attention: %s lacks instructions of this kernel (v_mfma_f32_32x32x16_bf16, ds_read_b64_tr_b16, v_permlane32_swap_b32, 16-byte direct-to-LDS loads); use a gfx950 machine", cpu)
	case s.Dim != 64 && s.Dim != 128:
		return fmt.Errorf("attention: dim %d; the kernel has head dimensions 64 and 128", s.Dim)
	case s.Seq%attnRows != 0:
		return fmt.Errorf("attention: seq %d; a workgroup takes %d query rows: seq must be a multiple of %d", s.Seq, attnRows, attnRows)
	case s.Heads%s.KVHeads != 0:
		return fmt.Errorf("attention: %d heads over %d kv-heads; the heads of a group share one KV head, so kv-heads must divide heads", s.Heads, s.KVHeads)
	case int64(s.Seq)*int64(s.Heads)*int64(s.Dim) >= 1<<30:
		return fmt.Errorf("attention: %d rows of %d heads x %d; one batch must stay below 2 GiB, the reach of a buffer descriptor's offset", s.Seq, s.Heads, s.Dim)
	}
	return nil
}

// FLOPs is the benchmarks' count: 4*B*H*S^2*D, half of it if causal.
func (s AttentionSpec) FLOPs() float64 {
	f := 4 * float64(s.Batch) * float64(s.Heads) * float64(s.Seq) * float64(s.Seq) * float64(s.Dim)
	if s.Causal {
		f /= 2
	}
	return f
}

// attention is the kernel. Scores are S = K Q^T, so that a lane owns one query
// column, and outputs O^T = V^T P^T, so that a lane keeps that query: the scale
// of a softmax is a register of the lane.
//
// Two groups of four waves run one cluster apart, as in the ping-pong GEMM: one
// computes while the other moves data.
type attention struct {
	*vectorKernel
	spec   AttentionSpec
	kSteps int // matrix instructions along D of a 32x32 tile of scores
	dTiles int // 32-row tiles of O^T
	loads  int // direct-to-LDS loads of a wave for a block of K or of V
	bytes  int // of a block of K or of V

	q     RegTile    // Q as B operands, by step along D
	kv    Val        // K as A operands, or V^T as A operands: never both
	score [2]RegTile // scores of two blocks: two tiles of 32x32 each; then P in the first half
	o     RegTile
	max   Val    // of the query's scores so far, which the exponents are relative to
	sum   [2]Val // of the exponentials, in two strands
	tmp   [2]Val // candidates for the maximum
	scl   Val    // by which old sums and outputs shrink
	row   Val    // causal: query minus the first key of the lane in block 0
	rel   Val    // causal: the same in the current block
	hide  Val    // causal: minus infinity

	laneK   Val // the lane's part of LDS addresses in K, for even steps; odd ones flip 32
	laneV   Val
	at      [4]Val // addresses of the tiles that are read now
	next    Val    // address of a fill's second load
	lds     Val    // SGPR: where the LDS tiles start
	tile    Val    // SGPRs: the tiles that are read next
	k, v    stream
	pending Val    // SGPR: outputs and sum are to be scaled by scl
	block   Val    // SGPR, causal: first key of the block whose scores come next
	first   Val    // SGPR, causal: first query of the wave
	masks   [4]Val // SGPR pairs
	trips   Val    // SGPR: iterations left

	out, lse Val // SGPR pairs: where the wave's rows of O and of L start
	aside    []func()
}

// stream is the sequence of direct-to-LDS loads of K or V blocks.
type stream struct {
	srd, soff Val
	voff      Val
	lds       [2][2]Val // by buffer and load
}

// Attention builds the kernel for cpu.
func Attention(cpu isa.CPU, s AttentionSpec) (*Built, error) {
	if s.KVHeads == 0 {
		s.KVHeads = s.Heads
	}
	if err := s.check(cpu); err != nil {
		return nil, err
	}
	a := &attention{vectorKernel: newVectorKernel(cpu, 5, 0), spec: s, kSteps: s.Dim / 16, dTiles: s.Dim / 32,
		loads: s.Dim / 64, bytes: attnKV * s.Dim * 2}
	a.setup()
	a.prologue()
	a.loop()
	a.epilogue()
	a.store()
	a.rescues()
	return a.built, a.wrap()
}

// ldsV is where V's two buffers start.
func (a *attention) ldsV() int { return 2 * a.bytes }

// group is how many query heads share a KV head.
func (s AttentionSpec) group() int { return s.Heads / s.KVHeads }

// wrap finishes the code and its launch.
func (a *attention) wrap() error {
	s, b := a.spec, a.built
	q, kv := s.Batch*s.Seq*s.Heads*s.Dim*2, s.Batch*s.Seq*s.KVHeads*s.Dim*2
	lse := 4
	if s.Rescale {
		lse = s.Batch * s.Heads * s.Seq * 4
	}
	t := []tensor{{name: "Q", bytes: q}, {name: "K", bytes: kv}, {name: "V", bytes: kv}, {name: "O", bytes: q}, {name: "L", bytes: lse}}
	name := fmt.Sprintf("attention_d%d_h%d_%d_%s", s.Dim, s.Heads, s.KVHeads, a.cpu)
	if s.Causal {
		name += "_causal"
	}
	if s.Rescale {
		name += "_rescale"
	}
	if s.Causal { // KV blocks up to the diagonal
		b.Work = func(wg int) int { return 4 * (wg/s.Heads%(s.Seq/attnRows) + 1) }
	}
	if err := a.launch(name, [3]int{s.Heads, s.Seq / attnRows, s.Batch}, attnWaves, t); err != nil {
		return err
	}
	b.FLOPs, b.LDSUsed, b.KTile = s.FLOPs(), 4*a.bytes, attnKV
	b.Launch.Kernel.LDSBytes = ldsRequest950
	d := &attentionData{AttentionSpec: s, mem: b.Launch.Memory, t: t, seen: map[string]bool{}}
	b.FillFor = d.fillFor
	b.data(d.fill, d.expect)
	b.Outputs = []string{"O", "L"}
	return nil
}

// attentionLimit bounds the error of O against the rms of O. The scaled queries,
// the probabilities and the outputs are rounded to bf16, 2^-9 each at most; an
// output is an average of values of either sign, in which errors add up as they
// do in the output itself. The largest of 10^6 lies near 5 standard deviations.
const attentionLimit = 3 * 5 * 0x1p-9
