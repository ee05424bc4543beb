#include "gpu.h"
// Writes what the launch ABI gives a work-item: packed ids, workgroup ids in three dimensions, sizes from the dispatch
// packet and from the hidden arguments, a scratch array that is indexed at run time, and dynamic LDS.
#define __constant_as __attribute__((address_space(4)))
extern __shared__ int dyn[];
extern "C" __global__ void __launch_bounds__(256,1) abi(int *out, char tag, short pad, long base) {
  const __constant_as unsigned short *packet = (const __constant_as unsigned short *)__builtin_amdgcn_dispatch_ptr();
  const __constant_as unsigned *grid = (const __constant_as unsigned *)__builtin_amdgcn_dispatch_ptr();
  const __constant_as unsigned short *hidden = (const __constant_as unsigned short *)__builtin_amdgcn_implicitarg_ptr();
  int x = __builtin_amdgcn_workitem_id_x(), y = __builtin_amdgcn_workitem_id_y(), z = __builtin_amdgcn_workitem_id_z();
  int wx = packet[2], wy = packet[3], wz = packet[4];
  int id = x + wx * (y + wy * z);
  int group = __builtin_amdgcn_workgroup_id_x() + 3 * (__builtin_amdgcn_workgroup_id_y() + 2 * __builtin_amdgcn_workgroup_id_z());
  volatile int scratch[16]; // volatile: stays in memory
  for (int i = 0; i < 16; i++) scratch[(i * 5 + x) & 15] = i * i + tag;
  dyn[id] = id * 3 + pad;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  int *o = out + (group * (wx * wy * wz) + id) * 8;
  o[0] = x | y << 8 | z << 16;
  o[1] = group;
  o[2] = wx | wy << 8 | wz << 16;
  o[3] = grid[3] | grid[4] << 8 | grid[5] << 16;
#ifdef V5
  o[4] = hidden[6] | hidden[7] << 8 | hidden[8] << 16;
#else
  o[4] = wx | wy << 8 | wz << 16;
#endif
  o[5] = scratch[(id * 3) & 15];
  o[6] = dyn[wx * wy * wz - 1 - id];
  o[7] = (int)(base >> 32) + (int)base;
}
