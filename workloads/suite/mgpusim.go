package suite

import (
	"cmp"
	"crypto/aes"
	"encoding/binary"
	"math"
	"slices"
)

// Benchmarks are MGPUSim's, launched with host logic of our own.
var Benchmarks = []Benchmark{
	{"aes", "heteromark/aes/kernels_gfx942.hsaco", 0, aesEncrypt},
	{"atax", "polybench/atax/kernels_gfx942.hsaco", 1e-5, atax},
	{"bfs", "shoc/bfs/kernels_gfx942.hsaco", 0, bfs},
	{"bicg", "polybench/bicg/kernels_gfx942.hsaco", 1e-5, bicg},
	{"bitonicsort", "amdappsdk/bitonicsort/kernels_gfx942.hsaco", 0, bitonicSort},
	{"fastwalshtransform", "amdappsdk/fastwalshtransform/kernels_gfx942.hsaco", 1e-5, walsh},
	{"fir", "heteromark/fir/kernels_gfx942.hsaco", 1e-5, fir},
	{"floydwarshall", "amdappsdk/floydwarshall/kernels_gfx942.hsaco", 0, floydWarshall},
	{"gemm", "dnn/gputensor/gemm_gfx942.hsaco", 1e-5, dnnGEMM},
	{"im2col", "dnn/gputensor/im2col_gfx942.hsaco", 0, im2col},
	{"kmeans", "heteromark/kmeans/kernels_gfx942.hsaco", 0, kmeans},
	{"matrixmultiplication", "amdappsdk/matrixmultiplication/kernels_gfx942.hsaco", 1e-5, matrixMultiplication},
	{"matrixtranspose", "amdappsdk/matrixtranspose/kernels_gfx942.hsaco", 0, matrixTranspose},
	{"nbody", "amdappsdk/nbody/nbody_gfx942.hsaco", 1e-5, nbody},
	{"operators", "dnn/gputensor/operator_gfx942.hsaco", 1e-5, operators},
	{"pagerank", "heteromark/pagerank/kernels_gfx942.hsaco", 1e-5, pageRank},
	{"relu", "dnn/layer_benchmarks/relu/kernels_gfx942.hsaco", 0, relu},
	{"repeat", "dnn/gputensor/repeat_gfx942.hsaco", 0, repeat},
	{"simpleconvolution", "amdappsdk/simpleconvolution/kernels_gfx942.hsaco", 0, convolution},
	{"spmv", "shoc/spmv/kernels_gfx942.hsaco", 1e-5, spmv},
	{"vectoradd", "amdappsdk/vectoradd/kernels.hsaco", 1e-7, vectorAdd},
}

var line = dim{64, 1, 1}

func blocks(n int) dim { return dim{(n + 63) / 64, 1, 1} }

// wide makes a reference of values.
func wide[T float32 | int32 | uint32 | uint8](v []T) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// aesEncrypt encrypts blocks with AES-256 and compares with the standard
// library.
func aesEncrypt(h *Host) {
	const n = 128
	key := make([]byte, 32)
	text := make([]byte, 16*n)
	for _, b := range [][]byte{key, text} {
		for i := range b {
			b[i] = byte(h.rng.Uint32())
		}
	}
	box := sbox()
	in := put(h, "text", text)
	h.launch("Encrypt", blocks(n), line, 0, in, put(h, "key", expandKey(key, box)), put(h, "sbox", box))
	c, err := aes.NewCipher(key)
	if err != nil {
		h.err = err
		return
	}
	want := make([]byte, len(text))
	for i := 0; i < len(text); i += 16 {
		c.Encrypt(want[i:i+16], text[i:i+16])
	}
	same(h, "aes", get[uint8](h, in, 16*n), wide(want))
}

// sbox is the S-box of FIPS 197, section 5.1.1: inverse in GF(2^8), then an
// affine map.
func sbox() []byte {
	box := make([]byte, 256)
	p, q := byte(1), byte(1)
	for {
		p ^= p<<1 ^ p>>7*0x1b // times 3
		q ^= q << 1           // over 3
		q ^= q << 2
		q ^= q << 4
		q ^= q >> 7 * 0x09
		x := q ^ (q<<1 | q>>7) ^ (q<<2 | q>>6) ^ (q<<3 | q>>5) ^ (q<<4 | q>>4)
		box[p] = x ^ 0x63
		if p == 1 {
			break
		}
	}
	box[0] = 0x63
	return box
}

// expandKey is the key schedule of AES-256 (FIPS 197, section 5.2).
func expandKey(key, box []byte) []uint32 {
	w := make([]uint32, 60)
	sub := func(x uint32) uint32 {
		return uint32(box[x>>24])<<24 | uint32(box[x>>16&255])<<16 | uint32(box[x>>8&255])<<8 | uint32(box[x&255])
	}
	rcon := uint32(1) << 24
	for i := range w {
		if i < 8 {
			w[i] = binary.BigEndian.Uint32(key[4*i:])
			continue
		}
		t := w[i-1]
		switch i % 8 {
		case 0:
			t = sub(t<<8|t>>24) ^ rcon
			rcon <<= 1
		case 4:
			t = sub(t)
		}
		w[i] = w[i-8] ^ t
	}
	return w
}

// times is a matrix (rows, cols) times a vector.
func times(a []float32, x []float64, rows, cols int) []float64 {
	y := make([]float64, rows)
	for i := range y {
		for j := range cols {
			y[i] += float64(a[i*cols+j]) * x[j]
		}
	}
	return y
}

// transposed is the transpose of a matrix (rows, cols).
func transposed[T any](a []T, rows, cols int) []T {
	t := make([]T, len(a))
	for i := range rows {
		for j := range cols {
			t[j*rows+i] = a[i*cols+j]
		}
	}
	return t
}

func atax(h *Host) {
	const nx, ny = 150, 100
	a, x := h.floats(nx*ny, 0, 1), h.floats(ny, 0, 1)
	da, dy, dt := put(h, "A", a), put(h, "y", make([]float32, ny)), put(h, "tmp", make([]float32, nx))
	h.launch("atax_kernel1", blocks(nx), line, 0, da, put(h, "x", x), dt, int32(nx), int32(ny))
	h.launch("atax_kernel2", blocks(ny), line, 0, da, dy, dt, int32(nx), int32(ny))
	tmp := times(a, wide(x), nx, ny)
	same(h, "tmp", get[float32](h, dt, nx), tmp)
	same(h, "y", get[float32](h, dy, ny), times(transposed(a, nx, ny), tmp, ny, nx))
}

func bicg(h *Host) {
	const nx, ny = 150, 100
	a, p, r := h.floats(nx*ny, 0, 1), h.floats(ny, 0, 1), h.floats(nx, 0, 1)
	da, dq, ds := put(h, "A", a), put(h, "q", make([]float32, nx)), put(h, "s", make([]float32, ny))
	h.launch("bicgKernel1", blocks(nx), line, 0, da, put(h, "p", p), dq, int32(nx), int32(ny))
	h.launch("bicgKernel2", blocks(ny), line, 0, da, put(h, "r", r), ds, int32(nx), int32(ny))
	same(h, "q", get[float32](h, dq, nx), times(a, wide(p), nx, ny))
	same(h, "s", get[float32](h, ds, ny), times(transposed(a, nx, ny), wide(r), ny, nx))
}

// bfs finds the levels of a random graph, a level a launch.
func bfs(h *Host) {
	const n, degree, warp, chunk = 300, 3, 32, 32
	offsets, edges := []uint32{0}, []uint32{}
	for range n {
		for range degree {
			edges = append(edges, uint32(h.rng.IntN(n)))
		}
		offsets = append(offsets, uint32(len(edges)))
	}
	levels := make([]uint32, n)
	for i := range levels {
		levels[i] = math.MaxUint32
	}
	levels[0] = 0
	want := slices.Clone(levels)
	for queue := []uint32{0}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		for _, w := range edges[offsets[v]:offsets[v+1]] {
			if want[w] == math.MaxUint32 {
				want[w] = want[v] + 1
				queue = append(queue, w)
			}
		}
	}
	dl, flag := put(h, "levels", levels), put(h, "flag", []int32{1})
	de, da := put(h, "offsets", offsets), put(h, "edges", edges)
	for level := int32(0); h.err == nil && h.Memory.Load32(flag) != 0 && level < n; level++ {
		h.Memory.Store32(flag, 0)
		h.launch("BFS_kernel_warp", dim{(n/chunk+1)*warp/64 + 1, 1, 1}, line, 0, dl, de, da, int32(warp), int32(chunk), uint32(n), level, flag)
	}
	same(h, "levels", get[uint32](h, dl, n), wide(want))
}

func bitonicSort(h *Host) {
	const stages = 9
	v := make([]uint32, 1<<stages)
	for i := range v {
		v[i] = h.rng.Uint32()
	}
	d := put(h, "array", v)
	for stage := range uint32(stages) {
		for pass := range stage + 1 {
			h.launch("BitonicSort", blocks(len(v)/2), line, 0, d, stage, pass, uint32(1))
		}
	}
	slices.SortFunc(v, cmp.Compare[uint32])
	same(h, "array", get[uint32](h, d, len(v)), wide(v))
}

func walsh(h *Host) {
	const n = 512
	v := h.floats(n, -1, 1)
	d := put(h, "array", v)
	for step := int32(1); step < n; step *= 2 {
		h.launch("fastWalshTransform", blocks(n/2), line, 0, d, step)
	}
	want := make([]float64, n)
	for i := range want {
		for j, x := range v {
			sign := float64(1)
			for b := i & j; b != 0; b &= b - 1 {
				sign = -sign
			}
			want[i] += sign * float64(x)
		}
	}
	same(h, "array", get[float32](h, d, n), want)
}

func fir(h *Host) {
	const n, taps = 512, 16
	in, coeff, history := h.floats(n, -1, 1), h.floats(taps, -1, 1), h.floats(taps+1, -1, 1)
	d := put(h, "output", make([]float32, n))
	h.launch("FIR", blocks(n), line, 0, d, put(h, "coeff", coeff), put(h, "input", in), put(h, "history", history), uint32(taps))
	want := make([]float64, n)
	for t := range want {
		for i := range taps {
			x := float64(0)
			if t >= i {
				x = float64(in[t-i])
			} else {
				x = float64(history[taps-(i-t)])
			}
			want[t] += float64(coeff[i]) * x
		}
	}
	same(h, "output", get[float32](h, d, n), want)
}

func floydWarshall(h *Host) {
	const n = 32
	dist := make([]uint32, n*n)
	for i := range dist {
		if i%n != i/n {
			dist[i] = uint32(1 + h.rng.IntN(200))
		}
	}
	dd, dp := put(h, "distance", dist), put(h, "path", make([]uint32, n*n))
	for k := range uint32(n) {
		h.launch("floydWarshallPass", dim{n / 8, n / 8, 1}, dim{8, 8, 1}, 0, dd, dp, uint32(n), k)
	}
	for k := range n {
		for y := range n {
			for x := range n {
				dist[y*n+x] = min(dist[y*n+x], dist[y*n+k]+dist[k*n+x])
			}
		}
	}
	same(h, "distance", get[uint32](h, dd, n*n), wide(dist))
}

// kmeans transposes the features and assigns each point to a cluster.
func kmeans(h *Host) {
	const points, clusters, features = 200, 5, 8
	f, c := h.floats(points*features, 0, 1), h.floats(clusters*features, 0, 1)
	df, ds := put(h, "feature", f), put(h, "swap", make([]float32, points*features))
	dm := put(h, "membership", make([]int32, points))
	h.launch("kmeans_kernel_swap", blocks(points), line, 0, df, ds, int32(points), int32(features))
	h.launch("kmeans_kernel_compute", blocks(points), line, 0, ds, put(h, "clusters", c), dm, int32(points), int32(clusters), int32(features), int32(0), int32(0))
	want := make([]float64, points)
	for p := range points {
		best := math.Inf(1)
		for k := range clusters {
			d := 0.0
			for l := range features {
				x := float64(f[p*features+l]) - float64(c[k*features+l])
				d += x * x
			}
			if d < best {
				best, want[p] = d, float64(k)
			}
		}
	}
	same(h, "swap", get[float32](h, ds, points*features), wide(transposed(f, points, features)))
	same(h, "membership", get[int32](h, dm, points), want)
}
