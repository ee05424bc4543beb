package workloads

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/whisker-sim/whisker/isa"
)

// gemmData is the memory side of a GEMM: where the matrices are and what they
// hold.
type gemmData struct {
	mem     *isa.Memory
	a, b, c uint64 // addresses
	m, n, k int
	fp16    bool
	low     *lowFormat // of A and B; nil when they have the type of C

	rowBytes int // of A and of B
	seed     uint64
	filled   bool
}

// maxMACs bounds the work of a full check; beyond it a sample of rows of C is
// checked.
const maxMACs = 1 << 33

// fill writes N(0,1) inputs, reproducible from the seed.
func (d *gemmData) fill() {
	d.random(d.a, d.m, 1)
	d.random(d.b, d.n, 2)
	d.filled = true
}

func (d *gemmData) random(addr uint64, rows int, stream uint64) {
	rng := rand.New(rand.NewPCG(d.seed, stream))
	row := make([]byte, d.rowBytes)
	for r := range rows {
		if d.low != nil {
			clear(row)
		}
		for i := range d.k {
			x := float32(rng.NormFloat64())
			if d.low != nil {
				d.low.put(row, i, d.low.encode(float64(x)))
				continue
			}
			h := bf16Bits(x)
			if d.fp16 {
				h = fp16Bits(x)
			}
			binary.LittleEndian.PutUint16(row[2*i:], h)
		}
		d.mem.Write(addr+uint64(r)*uint64(len(row)), row)
	}
}

// inputRow reads row r of the input at base into dst as float64.
func (d *gemmData) inputRow(dst []float64, base uint64, r int, buf []byte) {
	addr := base + uint64(r)*uint64(d.rowBytes)
	if d.low == nil {
		d.rowOf(dst, addr, buf)
		return
	}
	d.mem.Read(addr, buf)
	for i := range dst {
		dst[i] = d.low.decode(d.low.get(buf, i))
	}
}

// rowOf reads n 16-bit elements at addr into dst as float64.
func (d *gemmData) rowOf(dst []float64, addr uint64, buf []byte) {
	d.mem.Read(addr, buf)
	for i := range dst {
		h := binary.LittleEndian.Uint16(buf[2*i:])
		if d.fp16 {
			dst[i] = fp16Value(h)
		} else {
			dst[i] = float64(math.Float32frombits(uint32(h) << 16))
		}
	}
}

// expect gives the rows of the float64 product, all of them, or evenly spread
// ones when the whole product is too much work. An error is relative to
// max(|ref|, rms(ref)).
func (d *gemmData) expect(yield func(Expected)) error {
	if !d.filled {
		return fmt.Errorf("gemm: the inputs were not filled in before the run, so there is nothing to verify")
	}
	step := 1
	for float64(d.m/step)*float64(d.n)*float64(d.k) > maxMACs && d.m/step > 64 {
		step = 2*step + 1 // odd, so that every row of a tile has its turn
	}
	rows := (d.m + step - 1) / step
	a := make([]float64, rows*d.k)
	buf := make([]byte, max(2*d.k, d.rowBytes))
	for i := range rows {
		d.inputRow(a[i*d.k:][:d.k], d.a, i*step, buf[:d.rowBytes])
	}
	ref := make([]float64, rows*d.n)
	bRow := make([]float64, d.k)
	for j := range d.n {
		d.inputRow(bRow, d.b, j, buf[:d.rowBytes])
		for i := range rows {
			ref[i*d.n+j] = dot(a[i*d.k:][:d.k], bRow)
		}
	}
	scale, kind := rms(ref), BF16
	if d.fp16 {
		kind = FP16
	}
	for i := range rows {
		yield(Expected{Addr: d.c + uint64(i*step)*uint64(d.n)*2, Type: kind, Want: ref[i*d.n:][:d.n], Scale: scale})
	}
	return nil
}

// dot is the inner product, in four strands so that it pipelines.
func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// bf16Bits rounds x to bfloat16, to nearest even.
func bf16Bits(x float32) uint16 {
	u := math.Float32bits(x)
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// fp16Bits rounds x to IEEE half precision, to nearest even; inputs here are
// far from overflow.
func fp16Bits(x float32) uint16 {
	u := math.Float32bits(x)
	sign := uint16(u >> 16 & 0x8000)
	abs := math.Abs(float64(x))
	if abs < 0x1p-14 { // subnormal: units of 2^-24
		return sign | uint16(math.RoundToEven(abs*0x1p24))
	}
	m := u & 0x7fffffff
	m += 0xfff + m>>13&1
	return sign | uint16((m-(112<<23))>>13)
}

// fp16Value is the value of a half-precision number.
func fp16Value(h uint16) float64 {
	e, m := int(h>>10&31), float64(h&0x3ff)
	var v float64
	switch e {
	case 0:
		v = m * 0x1p-24
	case 31:
		v = math.Inf(1)
		if m != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1+m/1024, e-15)
	}
	if h&0x8000 != 0 {
		v = -v
	}
	return v
}
