// Kernels that reach other parts of their code object: a helper before them, a
// constant table, a global, and pointers that the loader relocates.
// clang-22 -x hip --offload-arch=gfx950 --offload-device-only -nogpuinc -nogpulib -O2 -S image.hip -o image.s
// llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx950 -filetype=obj image.s -o image.o
// ld.lld-22 -shared image.o -o image.gfx950.co
#define global __attribute__((global))
#define device __attribute__((device))
#define one_wave __attribute__((amdgpu_flat_work_group_size(1, 64)))
#define lane ((int)__builtin_amdgcn_workitem_id_x())

__attribute__((noinline)) device static float helper(float x, int k) {
  for (int i = 0; i < k; i++) x = x * 1.5f + 1.0f;
  return x;
}

extern "C" global void one_wave call(float *out, int n) { out[lane] = helper(lane, n); }

static const float table[16] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};
extern "C" global void one_wave look(float *out, int n) { out[lane] = table[lane + n & 15]; }

device float state[64] = {0};
extern "C" global void one_wave keep(float *out, int n) {
  state[lane] = lane * n;
  __builtin_amdgcn_s_barrier();
  out[lane] = state[63 - lane];
}

device float first[4] = {1, 2, 3, 4}, second[4] = {5, 6, 7, 8};
device float *volatile rows[2] = {first, second + 1};
extern "C" global void one_wave point(float *out, int n) { out[lane] = rows[lane & 1][n - 1]; }
