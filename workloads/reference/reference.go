// Package reference computes in float64 on the host what kernels should
// compute, a row at a time, so that a large result can be checked by a sample.
package reference

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Tensor is a row-major array. Without Data, Apply gives the operation counts
// alone: Row must not be called.
type Tensor struct {
	Shape []int
	Data  []float64
}

// Rows gives the expected output by rows. Row fills dst, which has Cols
// elements, with row i; it is safe to call in any order.
type Rows struct {
	Count, Cols int
	Cost        float64 // operations of a row
	FLOPs       float64 // of the whole, by the benchmarks' own count; 0: none
	Row         func(i int, dst []float64)
}

// Operation is a reference by name.
type Operation struct {
	Name   string
	Doc    string
	Inputs []string // roles of the input tensors
	Output string
	Params []string // scalars that may be given
	make   func(in map[string]Tensor, out []int, param map[string]float64) (Rows, error)
}

// Operations lists the references.
var Operations = []Operation{
	{"attention", "o = softmax(scale q k^T) v over (heads, S, D); scale is 1/sqrt(D) unless given, causal = 1 masks later keys",
		[]string{"q", "k", "v"}, "o", []string{"scale", "causal"}, attention},
	{"gemm", "c = a b^T with a (M, K), b (N, K), c (M, N)", []string{"a", "b"}, "c", nil, gemm},
	{"layernorm", "y = (x - mean) / sqrt(variance + eps) * weight + bias over each row of x + residual",
		[]string{"x", "residual", "weight", "bias"}, "y", []string{"eps"}, layernorm},
	{"rope", "y[:h] = x[:h] cos - x[h:] sin, y[h:] = x[h:] cos + x[:h] sin over (heads, S, 2h), cos and sin (S, h)",
		[]string{"x", "cos", "sin"}, "y", nil, rope},
	{"vadd", "z = x + y", []string{"x", "y"}, "z", nil, vadd},
}

// Find returns a reference by name.
func Find(name string) (*Operation, error) {
	var names []string
	for i := range Operations {
		if Operations[i].Name == name {
			return &Operations[i], nil
		}
		names = append(names, Operations[i].Name)
	}
	return nil, fmt.Errorf("there is no reference %q; there are %s", name, strings.Join(names, ", "))
}

// Apply prepares the expected output of shape out.
func (o *Operation) Apply(in map[string]Tensor, out []int, param map[string]float64) (Rows, error) {
	for name, t := range in {
		n := 1
		for _, d := range t.Shape {
			n *= d
		}
		if n == 0 || t.Data != nil && n != len(t.Data) {
			return Rows{}, fmt.Errorf("%s: %s of shape %v has %d elements", o.Name, name, t.Shape, len(t.Data))
		}
	}
	r, err := o.make(in, out, param)
	if err != nil {
		return Rows{}, fmt.Errorf("%s: %w", o.Name, err)
	}
	return r, nil
}

// want reports a tensor whose shape does not fit.
func want(name string, got []int, dims ...int) error {
	if !slices.Equal(got, dims) {
		return fmt.Errorf("%s has shape %v, where %v is needed", name, got, dims)
	}
	return nil
}

// rank reports a tensor of another rank.
func rank(name string, got []int, n int) error {
	if len(got) != n {
		return fmt.Errorf("%s has shape %v, where %d dimensions are needed", name, got, n)
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func vadd(in map[string]Tensor, out []int, _ map[string]float64) (Rows, error) {
	x, y := in["x"], in["y"]
	if err := first(want("y", y.Shape, x.Shape...), want("z", out, x.Shape...)); err != nil {
		return Rows{}, err
	}
	n := 1
	for _, d := range x.Shape {
		n *= d
	}
	return Rows{Count: 1, Cols: n, Cost: float64(n), FLOPs: float64(n), Row: func(_ int, dst []float64) {
		for i := range dst {
			dst[i] = x.Data[i] + y.Data[i]
		}
	}}, nil
}

func gemm(in map[string]Tensor, out []int, _ map[string]float64) (Rows, error) {
	a, b := in["a"], in["b"]
	if err := first(rank("a", a.Shape, 2), rank("b", b.Shape, 2)); err != nil {
		return Rows{}, err
	}
	m, k, n := a.Shape[0], a.Shape[1], b.Shape[0]
	if err := first(want("b", b.Shape, n, k), want("c", out, m, n)); err != nil {
		return Rows{}, err
	}
	return Rows{Count: m, Cols: n, Cost: float64(n) * float64(k), FLOPs: 2 * float64(m) * float64(n) * float64(k), Row: func(i int, dst []float64) {
		for j := range dst {
			dst[j] = dot(a.Data[i*k:][:k], b.Data[j*k:][:k])
		}
	}}, nil
}

func layernorm(in map[string]Tensor, out []int, param map[string]float64) (Rows, error) {
	x, res, w, bias := in["x"], in["residual"], in["weight"], in["bias"]
	if err := rank("x", x.Shape, 2); err != nil {
		return Rows{}, err
	}
	rows, n := x.Shape[0], x.Shape[1]
	if err := first(want("residual", res.Shape, rows, n), want("weight", w.Shape, n), want("bias", bias.Shape, n), want("y", out, rows, n)); err != nil {
		return Rows{}, err
	}
	eps := 1e-5
	if v, ok := param["eps"]; ok {
		eps = v
	}
	return Rows{Count: rows, Cols: n, Cost: 4 * float64(n), Row: func(i int, dst []float64) {
		mean, variance := 0.0, 0.0
		for j := range dst {
			dst[j] = x.Data[i*n+j] + res.Data[i*n+j]
			mean += dst[j] / float64(n)
		}
		for j := range dst {
			dst[j] -= mean
			variance += dst[j] * dst[j] / float64(n)
		}
		inv := 1 / math.Sqrt(variance+eps)
		for j := range dst {
			dst[j] = dst[j]*inv*w.Data[j] + bias.Data[j]
		}
	}}, nil
}

func rope(in map[string]Tensor, out []int, _ map[string]float64) (Rows, error) {
	x, cos, sin := in["x"], in["cos"], in["sin"]
	if err := rank("x", x.Shape, 3); err != nil {
		return Rows{}, err
	}
	heads, s, d := x.Shape[0], x.Shape[1], x.Shape[2]
	h := d / 2
	if err := first(want("cos", cos.Shape, s, h), want("sin", sin.Shape, s, h), want("y", out, heads, s, 2*h)); err != nil {
		return Rows{}, err
	}
	return Rows{Count: heads * s, Cols: d, Cost: 4 * float64(d), Row: func(i int, dst []float64) {
		row, c, n := x.Data[i*d:][:d], cos.Data[i%s*h:], sin.Data[i%s*h:]
		for j := range h {
			dst[j] = row[j]*c[j] - row[j+h]*n[j]
			dst[j+h] = row[j+h]*c[j] + row[j]*n[j]
		}
	}}, nil
}

func attention(in map[string]Tensor, out []int, param map[string]float64) (Rows, error) {
	q, k, v := in["q"], in["k"], in["v"]
	if err := rank("q", q.Shape, 3); err != nil {
		return Rows{}, err
	}
	heads, s, d := q.Shape[0], q.Shape[1], q.Shape[2]
	if err := first(want("k", k.Shape, heads, s, d), want("v", v.Shape, heads, s, d), want("o", out, heads, s, d)); err != nil {
		return Rows{}, err
	}
	scale := 1 / math.Sqrt(float64(d))
	if x, ok := param["scale"]; ok {
		scale = x
	}
	causal := param["causal"] != 0
	flops := 4 * float64(heads) * float64(s) * float64(s) * float64(d)
	if causal {
		flops /= 2
	}
	row := func(i int, dst []float64) {
		head, query := i/s*s*d, q.Data[i*d:][:d]
		keys := s
		if causal {
			keys = i%s + 1
		}
		p := make([]float64, keys)
		most, sum := math.Inf(-1), 0.0
		for j := range p {
			p[j] = scale * dot(query, k.Data[head+j*d:][:d])
			most = max(most, p[j])
		}
		clear(dst)
		for j := range p {
			e := math.Exp(p[j] - most)
			sum += e
			for c := range dst {
				dst[c] += e * v.Data[head+j*d+c]
			}
		}
		for c := range dst {
			dst[c] /= sum
		}
	}
	return Rows{Count: heads * s, Cols: d, Cost: 2 * float64(s) * float64(d), FLOPs: flops, Row: row}, nil
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

// maxCost bounds the work of a check; beyond it evenly spread rows are checked.
const maxCost = 1 << 33

// Compare returns the greatest |got - ref| / max(|ref|, rms(ref)) over all rows,
// or a sample where that is too much work, and the number of values compared.
// Row i of the result is read by got. Anything that is not a number counts as
// infinitely wrong.
func (r *Rows) Compare(got func(i int, dst []float64)) (worst float64, values int64) {
	step := 1
	for float64(r.Count/step)*r.Cost > maxCost && r.Count/step > 64 {
		step = 2*step + 1 // odd, so that every row of a tile has its turn
	}
	var ref []float64
	var sq float64
	for i := 0; i < r.Count; i += step {
		at := len(ref)
		ref = append(ref, make([]float64, r.Cols)...)
		r.Row(i, ref[at:])
		for _, x := range ref[at:] {
			sq += x * x
		}
	}
	rms := math.Sqrt(sq / float64(len(ref)))
	row := make([]float64, r.Cols)
	for i := 0; i < r.Count; i += step {
		got(i, row)
		for _, x := range row {
			want := ref[int(values)]
			values++
			if x == want {
				continue
			}
			e := math.Abs(x-want) / max(math.Abs(want), rms)
			if math.IsNaN(e) {
				e = math.Inf(1)
			}
			worst = max(worst, e)
		}
	}
	return worst, values
}
