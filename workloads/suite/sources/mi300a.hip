// The kernels of the MI300A timings (sim/validate_mi300a.go), written anew after what
// MGPUSim's benchmarks do: the same loads, stores, loops and arithmetic a work-item.
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

KERNEL fir(float *out, float *taps, float *in, float *before, unsigned n) {
  unsigned t = ITEM;
  float s = 0;
  for (unsigned i = 0; i < n; i++)
    if (t >= i) s += taps[i] * in[t - i];
    else s += taps[i] * before[n - (i - t)];
  out[t] = s;
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

// A work-item moves four by four words through LDS; the workgroups of a row of the grid
// lie on a diagonal.
extern __shared__ quad stage[];
KERNEL matrixtranspose(quad *__restrict__ out, quad *__restrict__ in, quad *__restrict__ unused, unsigned width, unsigned height, unsigned across, unsigned x0, unsigned y0) {
  unsigned lx = TID, ly = TIDY, size = SIZEX;
  unsigned gx = BIDX + x0, gy = BIDY + y0;
  unsigned row = gx, column = (gx + gy) % across;
  int from = column * size + lx + (row * size + ly) * width * 4;
  int at = ly * size * 4 + lx;
  stage[at] = in[from];
  stage[at + size] = in[from + width];
  stage[at + size * 2] = in[from + width * 2];
  stage[at + size * 3] = in[from + width * 3];
  sync();
  int to = row * size + lx + (column * size + ly) * height * 4;
  at = lx * size * 4 + ly;
  quad a = stage[at], b = stage[at + size], c = stage[at + size * 2], d = stage[at + size * 3];
  out[to] = quad{a.x, b.x, c.x, d.x};
  out[to + height] = quad{a.y, b.y, c.y, d.y};
  out[to + height * 2] = quad{a.z, b.z, c.z, d.z};
  out[to + height * 3] = quad{a.w, b.w, c.w, d.w};
}

static inline __device__ void madd(quad &s, quad a, quad b0, quad b1, quad b2, quad b3) {
  s.x += a.x * b0.x + a.y * b1.x + a.z * b2.x + a.w * b3.x;
  s.y += a.x * b0.y + a.y * b1.y + a.z * b2.y + a.w * b3.y;
  s.z += a.x * b0.z + a.y * b1.z + a.z * b2.z + a.w * b3.z;
  s.w += a.x * b0.w + a.y * b1.w + a.z * b2.w + a.w * b3.w;
}

// Four by four words a work-item. The block of A that a workgroup shares lies in memory,
// and is one for all workgroups, as in the benchmark.
KERNEL matrixmultiplication(quad *a, quad *b, quad *c, int width, quad *block) {
  int lx = TID, ly = TIDY, size = SIZEX, gx = ITEM, gy = ITEMY, pitch = GRIDX * SIZEX;
  int mine = lx + size * (ly << 2);
  int to = gx + (gy << 2) * pitch;
  quad s0 = {}, s1 = {}, s2 = {}, s3 = {};
  int quads = width / 4, blocks = quads / size;
  for (int i = 0; i < blocks; i++) {
    int from = i * size + lx + (ly << 2) * quads;
    block[mine] = a[from];
    block[mine + size] = a[from + quads];
    block[mine + 2 * size] = a[from + 2 * quads];
    block[mine + 3 * size] = a[from + 3 * quads];
    sync();
    int at = gx + ((i * size) << 2) * pitch;
    for (int j = 0; j < size * 4; j += 4) {
      quad a0 = block[(j >> 2) + ly * 4 * size], a1 = block[(j >> 2) + (ly * 4 + 1) * size];
      quad a2 = block[(j >> 2) + (ly * 4 + 2) * size], a3 = block[(j >> 2) + (ly * 4 + 3) * size];
      quad b0 = b[at + j * pitch], b1 = b[at + (j + 1) * pitch], b2 = b[at + (j + 2) * pitch], b3 = b[at + (j + 3) * pitch];
      madd(s0, a0, b0, b1, b2, b3);
      madd(s1, a1, b0, b1, b2, b3);
      madd(s2, a2, b0, b1, b2, b3);
      madd(s3, a3, b0, b1, b2, b3);
    }
    sync();
  }
  c[to] = s0;
  c[to + pitch] = s1;
  c[to + 2 * pitch] = s2;
  c[to + 3 * pitch] = s3;
}

// All pairs. The tile of positions lies in memory, one for all workgroups, as in the
// benchmark.
KERNEL nbody(quad *pos, quad *vel, int n, float dt, float eps, quad *tile, quad *outpos, quad *outvel) {
  unsigned t = TID, g = ITEM, size = SIZEX;
  unsigned tiles = n / size;
  quad me = pos[g];
  float ax = 0, ay = 0, az = 0;
  for (int i = 0; i < (int)tiles; i++) {
    int from = i * size + t;
    tile[t] = pos[from];
    sync();
    for (unsigned j = 0; j < size; j++) {
      float x = tile[j].x - me.x, y = tile[j].y - me.y, z = tile[j].z - me.z;
      float inverse = 1.0f / __builtin_sqrtf(x * x + y * y + z * z + eps);
      float s = tile[j].w * (inverse * inverse * inverse);
      ax += s * x;
      ay += s * y;
      az += s * z;
    }
    sync();
  }
  quad v = vel[g];
  quad p = {me.x + v.x * dt + ax * 0.5f * dt * dt, me.y + v.y * dt + ay * 0.5f * dt * dt, me.z + v.z * dt + az * 0.5f * dt * dt, me.w};
  quad w = {v.x + ax * dt, v.y + ay * dt, v.z + az * dt, v.w};
  outpos[g] = p;
  outvel[g] = w;
}

KERNEL simpleconvolution(unsigned *in, float *mask, int *out, unsigned width, unsigned height, unsigned mw, unsigned mh, unsigned pitch) {
  unsigned t = ITEM;
  unsigned x = t % width, y = t / width;
  if (x >= width || y >= height) return;
  float s = 0;
  int m = 0;
  for (unsigned j = y; j < y + mh; j++, m++) {
    int n = 0;
    for (unsigned i = x; i < x + mw; i++, n++) s += (float)in[j * pitch + i] * mask[m * mw + n];
  }
  out[t] = (int)(s + 0.5f);
}

KERNEL im2col(float *in, float *out, const pair size, const pair mask, const pair stride, const pair pad, const pair dilation, const unsigned channels, const unsigned batch) {
  unsigned t = ITEM;
  int width = size.x, height = size.y, mw = mask.x, mh = mask.y;
  int reachy = (mask.y - 1) * dilation.y + 1, reachx = (mask.x - 1) * dilation.x + 1;
  int fh = (height - reachy + 2 * pad.y) / stride.y + 1, fw = (width - reachx + 2 * pad.x) / stride.x + 1;
  int columns = fh * fw * batch, rows = mh * mw * channels;
  int frame = width * height, picture = channels * frame, cells = mw * mh;
  int image = t / (fw * fh), place = t % (fw * fh);
  int px = place % fw, py = place / fw;
  if (image >= (int)batch) return;
  for (int i = 0; i < rows; i++) {
    int channel = i / cells, y = i % cells / mw, x = i % mw;
    int rx = px * stride.x - pad.x + dilation.x * x, ry = py * stride.y - pad.y + dilation.y * y;
    int from = image * picture + channel * frame + ry * width + rx;
    int to = i * columns + t;
    float v = 0;
    if (rx >= 0 && ry >= 0 && rx < width && ry < height) v = in[from];
    out[to] = v;
  }
}

// A workgroup of one wave has 16 rows of 64 columns and what lies around them in LDS.
// Four waves a SIMD are what its LDS leaves room for. ROCm's compiler (7.1) schedules for
// them and has all loads in flight at once; LLVM 22, unless told, schedules for more and
// waits for each.
static inline __device__ int halo(int row, int column, int pitch) { return (row + 1) * (pitch + 2) + column + 1; }
extern "C" __global__ __attribute__((amdgpu_waves_per_eu(4, 4))) void stencil2d(float *in, float *out, const int align, float centre, float cardinal, float diagonal) {
  __shared__ float sh[(16 + 2) * (64 + 2)];
  int lr = TID, lc = TIDY, rows = 16, columns = SIZEY;
  int gr = BIDX * rows + lr, gc = BIDY * columns + lc;
  int n = GRIDY * columns + 2;
  int padded = n + (n % align == 0 ? 0 : align - n % align);
  int pitch = padded - 2;
  for (int i = 0; i < rows + 2; i++) sh[halo(lr - 1 + i, lc, columns)] = in[halo(gr - 1 + i, gc, pitch)];
  if (lc == 0)
    for (int i = 0; i < rows + 2; i++) sh[halo(lr - 1 + i, lc - 1, columns)] = in[halo(gr - 1 + i, gc - 1, pitch)];
  else if (lc == columns - 1)
    for (int i = 0; i < rows + 2; i++) sh[halo(lr - 1 + i, lc + 1, columns)] = in[halo(gr - 1 + i, gc + 1, pitch)];
  sync();
  for (int i = 0; i < rows; i++) {
    int r = lr + i;
    float c = sh[halo(r, lc, columns)];
    float near = sh[halo(r - 1, lc, columns)] + sh[halo(r + 1, lc, columns)] + sh[halo(r, lc + 1, columns)] + sh[halo(r, lc - 1, columns)];
    float far = sh[halo(r - 1, lc + 1, columns)] + sh[halo(r + 1, lc + 1, columns)] + sh[halo(r - 1, lc - 1, columns)] + sh[halo(r + 1, lc - 1, columns)];
    out[halo(gr + i, gc, pitch)] = centre * c + cardinal * near + diagonal * far;
  }
}
