// The kernels of the MI300A timings (sim/validate_mi300a.go). They do what the measured
// ones do: the same loads, stores and arithmetic of a work-item, in the same turn.
// Pointers are noalias only where theirs are, since without it each step of a sum that
// lies in memory stores it.
#include "gpu.h"
#define KERNEL extern "C" __global__ void
#define TIDY ((int)__builtin_amdgcn_workitem_id_y())
#define SIZEX ((int)__builtin_amdgcn_workgroup_size_x())
#define SIZEY ((int)__builtin_amdgcn_workgroup_size_y())
typedef const __attribute__((address_space(4))) unsigned *hidden; // the implicit arguments begin with the grid
#define GRIDX ((int)((hidden)__builtin_amdgcn_implicitarg_ptr())[0])
#define GRIDY ((int)((hidden)__builtin_amdgcn_implicitarg_ptr())[1])
#define ITEM (SIZEX * BIDX + TID)
#define ITEMY (SIZEY * BIDY + TIDY)

struct alignas(16) quad { float x, y, z, w; };
struct alignas(8) pair { unsigned x, y; };

static inline __device__ void sync() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// What hipMemset launches: one word a work-item.
KERNEL fill(unsigned *p, unsigned v, int n) {
  int i = ITEM;
  if (i < n) p[i] = v;
}

KERNEL vectoradd(float *__restrict__ a, const float *__restrict__ b, const float *__restrict__ c, int width, int height) {
  int i = ITEMY * width + ITEM;
  if (i < width * height) a[i] = b[i] + c[i];
}

KERNEL relu(int n, float *in, float *out) {
  unsigned i = ITEM;
  if (i < n) out[i] = in[i] > 0 ? in[i] : 0;
}

// A finite impulse response: out = sum over k of taps[k] * (the word k before). What lies
// before the first word is in old, its last word n behind its first.
KERNEL fir(float *out, float *taps, float *in, float *old, unsigned n) {
  const unsigned at = ITEM;
  float sum = 0;
  for (unsigned k = 0; k != n; ++k) {
    const float *word = k > at ? old + (n + at - k) : in + (at - k);
    sum = __builtin_fmaf(taps[k], *word, sum);
  }
  out[at] = sum;
}

// Products of a matrix with a vector by rows and by columns; the sum stays in memory.
template <bool clear> static inline __device__ void rows(float *m, float *v, float *sum, int nx, int ny) {
  int i = ITEM;
  if (i >= nx) return;
  if (clear) sum[i] = 0;
  for (int j = 0; j < ny; j++) sum[i] += m[i * ny + j] * v[j];
}

template <bool clear> static inline __device__ void columns(float *m, float *sum, float *v, int nx, int ny) {
  int j = ITEM;
  if (j >= ny) return;
  if (clear) sum[j] = 0;
  for (int i = 0; i < nx; i++) sum[j] += m[i * ny + j] * v[i];
}

KERNEL atax_rows(float *a, float *x, float *tmp, int nx, int ny) { rows<false>(a, x, tmp, nx, ny); }
KERNEL atax_columns(float *a, float *y, float *tmp, int nx, int ny) { columns<false>(a, y, tmp, nx, ny); }
KERNEL bicg_rows(float *a, float *p, float *q, int nx, int ny) { rows<true>(a, p, q, nx, ny); }
KERNEL bicg_columns(float *a, float *r, float *s, int nx, int ny) { columns<true>(a, s, r, nx, ny); }

// Each work-item has a square of four by four words: four quads, one below the other.
struct square { float word[4][4]; };

static inline __device__ void get(square &s, const quad *from, int step) {
#pragma unroll
  for (int r = 0; r < 4; r++) *(quad *)s.word[r] = from[r * step];
}

static inline __device__ void put(quad *to, int step, const square &s) {
#pragma unroll
  for (int r = 0; r < 4; r++) to[r * step] = *(const quad *)s.word[r];
}

// The transpose goes through LDS, a tile of squares a workgroup, read there by columns. Tiles
// are taken along diagonals of the grid.
extern __shared__ quad stage[];
KERNEL matrixtranspose(quad *__restrict__ out, quad *__restrict__ in, quad *__restrict__, unsigned width, unsigned height, unsigned across, unsigned shiftx, unsigned shifty) {
  const unsigned side = SIZEX, tiley = BIDX + shiftx, tilex = (tiley + BIDY + shifty) % across;
  square s, t;
  get(s, in + (int)(4 * width * (side * tiley + TIDY) + side * tilex + TID), width);
  put(stage + (4 * side * TIDY + TID), side, s);
  sync();
  get(s, stage + (4 * side * TID + TIDY), side);
#pragma unroll
  for (int r = 0; r < 4; r++)
#pragma unroll
    for (int c = 0; c < 4; c++) t.word[c][r] = s.word[r][c];
  put(out + (int)(4 * height * (side * tilex + TIDY) + side * tiley + TID), height, t);
}

// A square of the product a work-item. The tile of A that a workgroup shares lies in memory,
// and is one for all workgroups, as in the benchmark.
KERNEL matrixmultiplication(quad *a, quad *b, quad *c, int n, quad *tile) {
  const int side = SIZEX, row = n / 4, pitch = side * GRIDX;
  square sum = {};
  quad *const own = tile + (4 * side * TIDY + TID);
  for (int step = 0; step < row / side; step++) {
    const quad *from = a + (4 * row * TIDY + TID + step * side);
#pragma unroll
    for (int r = 0; r < 4; r++) own[r * side] = from[r * row];
    sync();
    for (int k = 0; k < side; k++) {
      square l, m;
      get(l, tile + (4 * side * TIDY + k), side);
      get(m, b + (4 * pitch * (step * side + k) + ITEM), pitch);
#pragma unroll
      for (int r = 0; r < 4; r++)
#pragma unroll
        for (int w = 0; w < 4; w++) {
          float dot = l.word[r][0] * m.word[0][w];
#pragma unroll
          for (int i = 1; i < 4; i++) dot += l.word[r][i] * m.word[i][w];
          sum.word[r][w] += dot;
        }
    }
    sync();
  }
  put(c + (4 * pitch * ITEMY + ITEM), pitch, sum);
}

// All pairs of bodies: w of a position is the mass. The positions that a workgroup goes
// through lie in memory, one array for all workgroups, as in the benchmark.
typedef float f3 __attribute__((ext_vector_type(3)));
static inline __device__ f3 of(const quad &q) { return {q.x, q.y, q.z}; }
KERNEL nbody(quad *pos, quad *vel, int n, float dt, float soft, quad *shared, quad *newpos, quad *newvel) {
  const unsigned self = ITEM;
  const quad start = pos[self];
  const f3 here = of(start);
  f3 pull = 0;
  for (unsigned first = 0; first + SIZEX <= (unsigned)n; first += SIZEX) {
    shared[TID] = pos[first + TID];
    sync();
    for (int other = 0; other < SIZEX; other++) {
      const f3 d = of(shared[other]) - here;
      const float near = 1.0f / __builtin_sqrtf(d.x * d.x + d.y * d.y + d.z * d.z + soft);
      pull += shared[other].w * (near * near * near) * d;
    }
    sync();
  }
  const quad v = vel[self];
  const f3 speed = of(v), to = here + speed * dt + pull * 0.5f * dt * dt, then = speed + pull * dt;
  newpos[self] = quad{to.x, to.y, to.z, start.w};
  newvel[self] = quad{then.x, then.y, then.z, v.w};
}

// One pixel a work-item, rounded; the picture has a margin as wide as the mask, less one.
KERNEL simpleconvolution(unsigned *in, float *mask, int *out, unsigned width, unsigned height, unsigned wide, unsigned high, unsigned pitch) {
  const unsigned pixel = ITEM, left = pixel % width, top = pixel / width;
  if (left >= width || top >= height) return;
  float sum = 0;
  for (unsigned dy = 0; dy < high; dy++)
    for (unsigned dx = 0; dx < wide; dx++) sum += mask[dy * wide + dx] * (float)in[(top + dy) * pitch + left + dx];
  out[pixel] = (int)(sum + 0.5f);
}

// Patches of pictures as columns of a matrix: a column a work-item, word by word, with the
// place of each word in its patch divided out anew; zero where a patch reaches over the edge.
static inline __device__ int fits(int whole, int patch, int gap, int edge, int step) { return (whole + 2 * edge - gap * (patch - 1) - 1) / step + 1; }
KERNEL im2col(float *in, float *out, const pair size, const pair patch, const pair step, const pair edge, const pair gap, const unsigned channels, const unsigned pictures) {
  const unsigned column = ITEM;
  const int wide = fits(size.x, patch.x, gap.x, edge.x, step.x), high = fits(size.y, patch.y, gap.y, edge.y, step.y);
  const int picture = column / (wide * high), spot = column % (wide * high);
  if (picture >= (int)pictures) return;
  const int left = spot % wide * step.x - edge.x, top = spot / wide * step.y - edge.y, pw = patch.x, words = pw * patch.y, area = size.x * size.y;
  for (int word = 0; word < words * (int)channels; word++) {
    const int x = left + word % pw * (int)gap.x, y = top + word % words / pw * (int)gap.y, plane = picture * channels + word / words;
    const bool inside = x >= 0 && y >= 0 && x < (int)size.x && y < (int)size.y;
    out[word * (wide * high * (int)pictures) + column] = inside ? in[plane * area + y * (int)size.x + x] : 0;
  }
}

// Nine points. A workgroup of one wave has in LDS 16 rows of 64 columns with a margin of one all around,
// which memory has too, and whose two outer columns its first and last lane bring.
// Four waves a SIMD are what its LDS leaves room for. ROCm's compiler (7.1) schedules for
// them and has all loads in flight at once; LLVM 22, unless told, schedules for more and
// waits for each.
constexpr int deep = 16, broad = 64;
extern "C" __global__ __attribute__((amdgpu_waves_per_eu(4, 4))) void stencil2d(float *in, float *out, const int align, float middle, float side, float corner) {
  __shared__ float part[deep + 2][broad + 2];
  const int lane = TIDY, lanes = SIZEY;
  const int used = GRIDY * lanes + 2, pitch = used + (align - used % align) % align;
  const int first = (BIDX * deep + TID) * pitch + BIDY * lanes + lane; // left above of this lane's first point
#pragma unroll
  for (int r = 0; r < deep + 2; r++) part[r][lane + 1] = in[first + r * pitch + 1];
  const int margin = lane == 0 ? 0 : 2;
  if (lane == 0 || lane == lanes - 1)
#pragma unroll
    for (int r = 0; r < deep + 2; r++) part[r][lane + margin] = in[first + r * pitch + margin];
  sync();
  for (int r = 1; r <= deep; r++) {
    const float *up = &part[r - 1][lane], *here = &part[r][lane], *down = &part[r + 1][lane];
    out[first + r * pitch + 1] = middle * here[1] + side * (up[1] + down[1] + here[2] + here[0]) + corner * (up[2] + down[2] + up[0] + down[0]);
  }
}
