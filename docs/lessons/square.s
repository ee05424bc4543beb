.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl square
.p2align 8
.type square,@function
square:                                  // out[i] = in[i] * in[i], one wave
  s_load_dwordx4 s[4:7], s[0:1], 0x0     // s[4:5] = in, s[6:7] = out
  v_lshlrev_b32_e32 v1, 2, v0            // byte offset of the lane
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_mul_f32_e32 v2, v2, v2
  global_store_dword v1, v2, s[6:7]
  s_endpgm
.Lend:
.size square, .Lend-square
.rodata
.p2align 6
.amdhsa_kernel square
  .amdhsa_next_free_vgpr 3
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.kernels:
  - .name: square
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 64
    .args:
      - {.name: in, .offset: 0, .size: 8, .value_kind: global_buffer, .type_name: 'float*'}
      - {.name: out, .offset: 8, .size: 8, .value_kind: global_buffer, .type_name: 'float*'}
.end_amdgpu_metadata
