package workloads

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/whisker-sim/whisker/isa"
	"github.com/whisker-sim/whisker/workloads/reference"
)

// bwdData is the memory of an attention backward.
type bwdData struct {
	*bwdSpec
	mem                           *isa.Memory
	q, k, v, o, do, l, delta, acc uint64
	dq, dk, dv                    uint64
	hq, hk, hv, ho, hdo           []float64 // host copies, head by head
	filled                        bool
}

func newBwdData(s *bwdSpec) *bwdData {
	d := &bwdData{bwdSpec: s, mem: isa.NewMemory()}
	rows, kvRows := uint64(s.batch)*uint64(s.heads)*uint64(s.seq), uint64(s.batch)*uint64(s.kvHeads)*uint64(s.seq)
	for _, r := range []struct {
		name string
		to   *uint64
		n    uint64
	}{
		{"Q", &d.q, rows * 256}, {"K", &d.k, kvRows * 256}, {"V", &d.v, kvRows * 256}, {"O", &d.o, rows * 256}, {"dO", &d.do, rows * 256},
		{"L", &d.l, rows * 4}, {"delta", &d.delta, rows * 4}, {"dQ sums", &d.acc, rows * 256},
		{"dQ", &d.dq, rows * 256}, {"dK", &d.dk, kvRows * 256}, {"dV", &d.dv, kvRows * 256},
	} {
		*r.to = d.mem.Alloc(r.name, r.n)
	}
	return d
}

// random fills a tensor of heads heads with N(0,1) rounded to bf16 and returns
// the values head by head.
func (d *bwdData) random(addr uint64, heads int, stream uint64) []float64 {
	rng := rand.New(rand.NewPCG(d.seed, stream))
	out := make([]float64, d.batch*heads*d.seq*bwdDim)
	row := make([]byte, 2*bwdDim)
	for b := range d.batch {
		for i := range d.seq {
			for h := range heads {
				for e := range bwdDim {
					u := bf16Bits(float32(rng.NormFloat64()))
					binary.LittleEndian.PutUint16(row[2*e:], u)
					out[((b*heads+h)*d.seq+i)*bwdDim+e] = bf16Value(u)
				}
				d.mem.Write(addr+uint64(((b*d.seq+i)*heads+h)*2*bwdDim), row)
			}
		}
	}
	return out
}

func bf16Value(u uint16) float64 { return float64(math.Float32frombits(uint32(u) << 16)) }

// head is query head h of batch b with its KV head.
func (d *bwdData) head(b, h int) (q reference.AttentionHead, o, do []float64) {
	n := d.seq * bwdDim
	qi, ki := (b*d.heads+h)*n, (b*d.kvHeads+h/d.group())*n
	return reference.AttentionHead{S: d.seq, D: bwdDim, Scale: 1 / math.Sqrt(bwdDim), Causal: d.causal,
		Q: d.hq[qi:][:n], K: d.hk[ki:][:n], V: d.hv[ki:][:n]}, d.ho[qi:][:n], d.hdo[qi:][:n]
}

// fill writes N(0,1) inputs, and what the forward pass leaves: O in bf16 and L.
func (d *bwdData) fill() {
	d.hq, d.hk = d.random(d.q, d.heads, 1), d.random(d.k, d.kvHeads, 2)
	d.hv, d.hdo = d.random(d.v, d.kvHeads, 3), d.random(d.do, d.heads, 4)
	d.ho = make([]float64, len(d.hq))
	row := make([]byte, 2*bwdDim)
	for b := range d.batch {
		for h := range d.heads {
			head, kept, _ := d.head(b, h)
			o, l := head.Forward()
			for i := range d.seq {
				for e := range bwdDim {
					u := bf16Bits(float32(o[i*bwdDim+e]))
					binary.LittleEndian.PutUint16(row[2*e:], u)
					kept[i*bwdDim+e] = bf16Value(u)
				}
				d.mem.Write(d.o+uint64(((b*d.seq+i)*d.heads+h)*2*bwdDim), row)
				d.mem.Store32(d.l+uint64((b*d.heads+h)*d.seq+i)*4, math.Float32bits(float32(l[i])))
			}
		}
	}
	d.filled = true
}

// expect gives the float64 gradients dQ, dK and dV.
func (d *bwdData) expect(yield func(Expected)) error {
	if !d.filled {
		return fmt.Errorf("attention-backward: the inputs were not filled in before the run, so there is nothing to verify")
	}
	n := d.seq * bwdDim
	for b := range d.batch {
		for kv := range d.kvHeads {
			dk, dv := make([]float64, n), make([]float64, n)
			for g := range d.group() {
				h := kv*d.group() + g
				head, o, do := d.head(b, h)
				dq := make([]float64, n)
				head.Backward(o, do, dq, dk, dv)
				d.expectHead(d.dq, b, h, d.heads, dq, yield)
			}
			d.expectHead(d.dk, b, kv, d.kvHeads, dk, yield)
			d.expectHead(d.dv, b, kv, d.kvHeads, dv, yield)
		}
	}
	return nil
}

// expectHead gives one head of a result. The scale of an error is the row's, for
// rows of one head differ widely when they are causal; a row that cancels, such
// as the first of a causal dQ, which is zero, has that of a rounding of the head.
func (d *bwdData) expectHead(addr uint64, b, h, heads int, ref []float64, yield func(Expected)) {
	floor := 0x1p-9 * rms(ref)
	for i := range d.seq {
		want := ref[i*bwdDim:][:bwdDim]
		yield(Expected{Addr: addr + uint64(((b*d.seq+i)*heads+h)*2*bwdDim), Type: BF16, Want: want, Scale: max(rms(want), floor)})
	}
}

func rms(v []float64) float64 {
	sq := 0.0
	for _, x := range v {
		sq += x * x
	}
	return math.Sqrt(sq / float64(len(v)))
}
