// An array in registers, read and written at indices that only the run knows:
// compilers make VGPR indexing (s_set_gpr_idx_on) of it, in a loop over the
// indices where they differ by lane.
#include "gpu.h"
typedef float v16f __attribute__((ext_vector_type(16)));

extern "C" __global__ void indexed(const float *A, float *C, int k) {
  int t = __builtin_amdgcn_workitem_id_x() + 64 * __builtin_amdgcn_workgroup_id_x();
  v16f v;
  for (int i = 0; i < 16; i++) v[i] = A[t * 16 + i];
  int u = __builtin_amdgcn_readfirstlane(k);
  v[u & 15] = v[(u + 3) & 15] * 2.0f;
  float s = v[(t + k) & 15];
  for (int i = 0; i < 16; i++) s += v[i] * (float)(i + 1);
  C[t] = s;
}
