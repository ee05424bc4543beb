package suite

import "math"

// product is a (m, k) times b (k, n).
func product(a, b []float32, m, n, k int) []float64 {
	c := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for x := range k {
				c[i*n+j] += float64(a[i*k+x]) * float64(b[x*n+j])
			}
		}
	}
	return c
}

// matrixMultiplication runs one workgroup, since the kernel's staging buffer is
// one for all of them.
func matrixMultiplication(h *Host) {
	const n = 32
	a, b := h.floats(n*n, -1, 1), h.floats(n*n, -1, 1)
	d := put(h, "C", make([]float32, n*n))
	h.launch("mmmKernel_local", dim{1, 1, 1}, dim{n / 4, n / 4, 1}, 0, put(h, "A", a), put(h, "B", b), d, int32(n), put(h, "block", make([]float32, n*n)))
	same(h, "C", get[float32](h, d, n*n), product(a, b, n, n, n))
}

func matrixTranspose(h *Host) {
	const n, group = 128, 16 // a workgroup transposes 64x64
	v := h.floats(n*n, -1, 1)
	d := put(h, "output", make([]float32, n*n))
	h.launch("matrixTranspose", dim{2, 2, 1}, dim{group, group, 1}, group*group*4*16, d, put(h, "input", v), uint64(0),
		uint32(n/4), uint32(n/4), uint32(2), uint32(0), uint32(0))
	same(h, "output", get[float32](h, d, n*n), wide(transposed(v, n, n)))
}

// nbody runs one workgroup, since the kernel's tile of positions is one for all.
func nbody(h *Host) {
	const n = 64
	dt, eps := float32(0.005), float32(500)
	pos, vel := h.floats(4*n, 1, 50), h.floats(4*n, -1, 1)
	dp, dv := put(h, "newPosition", make([]float32, 4*n)), put(h, "newVelocity", make([]float32, 4*n))
	h.launch("nbody_sim", dim{1, 1, 1}, dim{n, 1, 1}, 0, put(h, "pos", pos), put(h, "vel", vel), int32(n), dt, eps,
		put(h, "tile", make([]float32, 4*n)), dp, dv)
	wantP, wantV := make([]float64, 4*n), make([]float64, 4*n)
	for i := range n {
		var acc [4]float64
		for j := range n {
			var r [4]float64
			for c := range r {
				r[c] = float64(pos[4*j+c]) - float64(pos[4*i+c])
			}
			inv := 1 / math.Sqrt(r[0]*r[0]+r[1]*r[1]+r[2]*r[2]+float64(eps))
			for c := range r {
				acc[c] += float64(pos[4*j+3]) * inv * inv * inv * r[c]
			}
		}
		t := float64(dt)
		for c := range acc {
			wantP[4*i+c] = float64(pos[4*i+c]) + float64(vel[4*i+c])*t + acc[c]*0.5*t*t
			wantV[4*i+c] = float64(vel[4*i+c]) + acc[c]*t
		}
		wantP[4*i+3] = float64(pos[4*i+3])
	}
	same(h, "newPosition", get[float32](h, dp, 4*n), wantP)
	same(h, "newVelocity", get[float32](h, dv, 4*n), wantV)
}

// sparse is a random matrix in compressed rows.
func (h *Host) sparse(n, most int) (val []float32, cols, rows []int32) {
	rows = []int32{0}
	for range n {
		for range h.rng.IntN(most) {
			cols = append(cols, int32(h.rng.IntN(n)))
		}
		rows = append(rows, int32(len(cols)))
	}
	return h.floats(len(cols), 0, 1), cols, rows
}

func sparseTimes(val []float32, cols, rows []int32, x []float32) []float64 {
	y := make([]float64, len(rows)-1)
	for i := range y {
		for j := rows[i]; j < rows[i+1]; j++ {
			y[i] += float64(val[j]) * float64(x[cols[j]])
		}
	}
	return y
}

func pageRank(h *Host) {
	const n = 50
	val, cols, rows := h.sparse(n, 150)
	x := h.floats(n, 0, 1)
	d := put(h, "y", make([]float32, n))
	h.launch("PageRankUpdateGpu", dim{n, 1, 1}, line, 0, uint32(n), put(h, "rows", rows), put(h, "cols", cols), put(h, "val", val), put(h, "x", x), d)
	same(h, "y", get[float32](h, d, n), sparseTimes(val, cols, rows, x))
}

func spmv(h *Host) {
	const n = 200
	val, cols, rows := h.sparse(n, 20)
	x := h.floats(n, 0, 1)
	d := put(h, "out", make([]float32, n))
	h.launch("spmv_csr_scalar_kernel", blocks(n), line, 0, put(h, "val", val), put(h, "vec", x), put(h, "cols", cols), put(h, "rows", rows), int32(n), d)
	same(h, "out", get[float32](h, d, n), sparseTimes(val, cols, rows, x))
}

// clipped is max(v, 0).
func clipped(v []float32) []float64 {
	w := wide(v)
	for i := range w {
		w[i] = max(w[i], 0)
	}
	return w
}

func relu(h *Host) {
	const n = 1000
	v := h.floats(n, -1, 1)
	d := put(h, "out", make([]float32, n))
	h.launch("ReLUForward", blocks(n), line, 0, int32(n), put(h, "in", v), d)
	same(h, "out", get[float32](h, d, n), clipped(v))
}

func repeat(h *Host) {
	const n, out = 100, 640
	v := h.floats(n, -1, 1)
	d := put(h, "out", make([]float32, out))
	h.launch("repeat", blocks(out), line, 0, d, put(h, "in", v), uint32(n), uint32(out))
	want := make([]float64, out)
	for i := range want {
		want[i] = float64(v[i%n])
	}
	same(h, "out", get[float32](h, d, out), want)
}

func convolution(h *Host) {
	const w, ht, mask = 40, 30, 3
	const ex = w + mask - 1
	in := make([]uint32, ex*(ht+mask-1))
	for i := range in {
		in[i] = uint32(h.rng.IntN(256))
	}
	m := make([]float32, mask*mask)
	for i := range m {
		m[i] = float32(h.rng.IntN(8)) / 8 // sums stay exact
	}
	d := put(h, "output", make([]int32, w*ht))
	h.launch("simpleNonSeparableConvolution", blocks(w*ht), line, 0, put(h, "input", in), put(h, "mask", m), d,
		uint32(w), uint32(ht), uint32(mask), uint32(mask), uint32(ex))
	want := make([]float64, w*ht)
	for i := range want {
		sum := 0.5
		for y := range mask {
			for x := range mask {
				sum += float64(in[(i/w+y)*ex+i%w+x]) * float64(m[y*mask+x])
			}
		}
		want[i] = math.Trunc(sum)
	}
	same(h, "output", get[int32](h, d, w*ht), want)
}

func vectorAdd(h *Host) {
	const w, ht = 48, 32
	b, c := h.floats(w*ht, -1, 1), h.floats(w*ht, -1, 1)
	d := put(h, "a", make([]float32, w*ht))
	h.launch("_Z15vectoradd_floatPfPKfS1_ii", dim{w / 16, ht / 16, 1}, dim{16, 16, 1}, 0, d, put(h, "b", b), put(h, "c", c), int32(w), int32(ht))
	want := make([]float64, w*ht)
	for i := range want {
		want[i] = float64(b[i]) + float64(c[i])
	}
	same(h, "a", get[float32](h, d, w*ht), want)
}

// dnnGEMM runs both kernels: d = alpha a b + beta c.
func dnnGEMM(h *Host) {
	const m, n, k = 48, 32, 40
	alpha, beta := float32(3), float32(0.5)
	a, b, c := h.floats(m*k, -1, 1), h.floats(k*n, -1, 1), h.floats(m*n, -1, 1)
	da, db, dc := put(h, "a", a), put(h, "b", b), put(h, "c", c)
	want := product(a, b, m, n, k)
	for i := range want {
		want[i] = float64(alpha)*want[i] + float64(beta)*float64(c[i])
	}
	for _, kernel := range []string{"gemm", "gemm_old"} {
		d := put(h, "d", make([]float32, m*n))
		h.launch(kernel, dim{n / 16, m / 16, 1}, dim{16, 16, 1}, 0, int32(m), int32(n), int32(k), alpha, beta, da, db, dc, d)
		same(h, kernel, get[float32](h, d, m*n), want)
	}
}

// im2col unfolds 3x3 windows of a batch of images, padded by one.
func im2col(h *Host) {
	const w, ht, mask, channels, batch = 10, 8, 3, 2, 3
	in := h.floats(w*ht*channels*batch, -1, 1)
	cols, rows := w*ht*batch, mask*mask*channels
	d := put(h, "out", make([]float32, cols*rows))
	pair := func(x, y uint32) [2]uint32 { return [2]uint32{x, y} }
	h.launch("im2col", blocks(cols), line, 0, put(h, "in", in), d, pair(w, ht), pair(mask, mask), pair(1, 1), pair(1, 1), pair(1, 1), uint32(channels), uint32(batch))
	want := make([]float64, cols*rows)
	for r := range rows {
		for c := range cols {
			x, y := c%(w*ht)%w-1+r%mask, c%(w*ht)/w-1+r%(mask*mask)/mask
			if x >= 0 && y >= 0 && x < w && y < ht {
				want[r*cols+c] = float64(in[(c/(w*ht)*channels+r/(mask*mask))*w*ht+y*w+x])
			}
		}
	}
	same(h, "out", get[float32](h, d, cols*rows), want)
}

// operators runs the element-wise kernels of MGPUSim's tensor library.
func operators(h *Host) {
	const n = 640
	a, b, s, v := h.floats(n, -1, 1), h.floats(n, -1, 1), h.floats(n, 0.1, 1), h.floats(n, -1, 1)
	da, db := put(h, "a", a), put(h, "b", b)
	check := func(kernel string, f func(i int) float64, args func(out uint64) []any) {
		out := put(h, "out", make([]float32, n))
		h.launch(kernel, blocks(n), line, 0, args(out)...)
		want := make([]float64, n)
		for i := range want {
			want[i] = f(i)
		}
		same(h, kernel, get[float32](h, out, n), want)
	}
	x := func(v []float32, i int) float64 { return float64(v[i]) }
	check("scaleAdd", func(i int) float64 { return 2*x(a, i) + 3*x(b, i) }, func(o uint64) []any { return []any{o, da, db, float32(2), float32(3), int32(n)} })
	check("mul", func(i int) float64 { return x(a, i) * x(b, i) }, func(o uint64) []any { return []any{o, da, db, int32(n)} })
	check("softmax_exp", func(i int) float64 { return math.Exp(x(a, i)) }, func(o uint64) []any { return []any{da, o, int32(n)} })
	check("reluForward", func(i int) float64 { return max(x(a, i), 0) }, func(o uint64) []any { return []any{da, o, int32(n)} })
	check("reluBackward", func(i int) float64 {
		if a[i] > 0 {
			return x(b, i)
		}
		return 0
	}, func(o uint64) []any { return []any{da, db, o, int32(n)} })
	sums := h.floats(4, 1, 2)
	ds := put(h, "sums", sums)
	check("softmax_div", func(i int) float64 { return x(a, i) / x(sums, i/(n/4)) }, func(o uint64) []any { return []any{da, o, ds, int32(n), int32(4)} })

	// The optimisers change their first argument in place.
	rate, smooth := 0.25, 0.75
	for _, kernel := range []string{"rmsProp", "adam"} {
		p, hs, hv := put(h, "params", a), put(h, "s", s), put(h, "v", v)
		want := make([]float64, n)
		if kernel == "adam" {
			h.launch(kernel, blocks(n), line, 0, p, db, hs, hv, float32(smooth), float32(smooth), float32(rate), int32(n))
		} else {
			h.launch(kernel, blocks(n), line, 0, p, db, hs, float32(smooth), float32(rate), int32(n))
		}
		for i := range want {
			g := x(b, i)
			hist, dir := smooth*x(s, i)+(1-smooth)*g*g, g
			if kernel == "adam" {
				dir = smooth*x(v, i) + (1-smooth)*g
			}
			want[i] = x(a, i) - rate*dir/(math.Sqrt(hist)+1e-6)
		}
		same(h, kernel, get[float32](h, p, n), want)
	}
}
