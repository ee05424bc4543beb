package workloads

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads/reference"
)

// attentionData is the memory side of the kernel. Every (batch, head) of a tensor
// has random numbers of its own, so that the inputs of a few workgroups can be
// made without those of all, and are the same.
type attentionData struct {
	AttentionSpec
	mem    *isa.Memory
	t      []tensor // Q, K, V, O, L
	seen   map[string]bool
	filled bool
}

// heads of a tensor.
func (d *attentionData) heads(tensor int) int {
	if tensor == 0 || tensor == 3 {
		return d.Heads
	}
	return d.KVHeads
}

// fillHead writes N(0,1) to one head of one batch of a tensor.
func (d *attentionData) fillHead(tensor, batch, head int) {
	key := fmt.Sprint(tensor, " ", batch, " ", head)
	if d.seen[key] {
		return
	}
	d.seen[key] = true
	heads := d.heads(tensor)
	rng := rand.New(rand.NewPCG(d.Seed, uint64(tensor+1)<<48|uint64(batch)<<24|uint64(head)))
	row := make([]byte, 2*d.Dim)
	for tok := range d.Seq {
		for i := range d.Dim {
			binary.LittleEndian.PutUint16(row[2*i:], bf16Bits(float32(rng.NormFloat64())))
		}
		d.mem.Write(d.addr(tensor, heads, batch, tok, head), row)
	}
}

// addr is the address of a token's row of a head.
func (d *attentionData) addr(tensor, heads, batch, token, head int) uint64 {
	return d.t[tensor].addr + 2*uint64(d.Dim)*(uint64(batch*d.Seq+token)*uint64(heads)+uint64(head))
}

func (d *attentionData) fill() {
	for t := range 3 {
		for b := range d.Batch {
			for h := range d.heads(t) {
				d.fillHead(t, b, h)
			}
		}
	}
	d.filled = true
}

// fillFor fills the heads that some workgroups read.
func (d *attentionData) fillFor(workgroups []int) {
	l := isa.Launch{Workgroups: [3]int{d.Heads, d.Seq / attnRows, d.Batch}}
	for _, wg := range workgroups {
		id := l.WorkgroupID(wg)
		kv := id[0] % d.KVHeads
		d.fillHead(0, id[2], kv*d.group()+id[0]/d.KVHeads)
		d.fillHead(1, id[2], kv)
		d.fillHead(2, id[2], kv)
	}
}

// readHead reads a head of one batch as (sequence, dim).
func (d *attentionData) readHead(tensor, batch, head int) []float64 {
	out := make([]float64, d.Seq*d.Dim)
	for tok := range d.Seq {
		readBF16(d.mem, d.addr(tensor, d.heads(tensor), batch, tok, head), out[tok*d.Dim:][:d.Dim])
	}
	return out
}

// maxAttentionWork bounds the multiplications of a check; beyond it a sample of
// heads and rows is checked.
const maxAttentionWork = 1 << 32

// expect gives the float64 references of O, whose errors are relative to
// max(|O|, rms of its row), and of L if it is written, whose errors are absolute:
// it is of order log(S).
func (d *attentionData) expect(yield func(Expected)) error {
	if !d.filled {
		return errNotFilled("attention")
	}
	op, err := reference.Find("attention")
	if err != nil {
		return err
	}
	param := map[string]float64{}
	if d.Causal {
		param["causal"] = 1
	}
	shape := []int{1, d.Seq, d.Dim}
	heads := d.Batch * d.Heads
	head := 1 // step between heads, 8 of which are enough
	for heads/head > 8 && float64(heads/head)*float64(d.Seq)*float64(d.Seq)*float64(d.Dim)*2 > maxAttentionWork {
		head = 2*head + 1
	}
	step := sampleStep((heads+head-1)/head*d.Seq, 2*float64(d.Seq)*float64(d.Dim), maxAttentionWork)
	want := make([]float64, d.Dim)
	for i := 0; i < heads; i += head {
		b, h := i/d.Heads, i%d.Heads
		q, k, v := d.readHead(0, b, h), d.readHead(1, b, h/d.group()), d.readHead(2, b, h/d.group())
		ref, err := op.Apply(map[string]reference.Tensor{"q": {Shape: shape, Data: q}, "k": {Shape: shape, Data: k}, "v": {Shape: shape, Data: v}}, shape, param)
		if err != nil {
			return err
		}
		for tok := 0; tok < d.Seq; tok += step {
			ref.Row(tok, want)
			yield(Expected{Addr: d.addr(3, d.Heads, b, tok, h), Type: BF16, Want: want, Scale: rms(want)})
		}
		if d.Rescale {
			d.expectL(b, h, q, k, yield)
		}
	}
	return nil
}

// expectL gives a sample of a head's L.
func (d *attentionData) expectL(batch, head int, q, k []float64, yield func(Expected)) {
	for tok := 0; tok < d.Seq; tok += 37 {
		keys := d.Seq
		if d.Causal {
			keys = tok + 1
		}
		sum := 0.0
		for j := range keys {
			sum += math.Exp(dot(q[tok*d.Dim:][:d.Dim], k[j*d.Dim:][:d.Dim]) / math.Sqrt(float64(d.Dim)))
		}
		at := d.t[4].addr + 4*uint64((batch*d.Heads+head)*d.Seq+tok)
		yield(Expected{Addr: at, Type: F32, Want: []float64{math.Log(sum)}, Scale: 1, Fixed: true})
	}
}
