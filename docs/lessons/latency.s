.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl latency
.p2align 8
.type latency,@function
latency:                                    // one wave sums 16 rows of 1 KiB
  s_load_dwordx4 s[4:7], s[0:1], 0x0        // s[4:5] = in, s[6:7] = out
  v_lshlrev_b32_e32 v1, 4, v0               // 16 bytes a lane
  s_lshl_b32 s3, s2, 14                     // 16 KiB a workgroup
  v_add_u32_e32 v1, s3, v1
  v_mov_b32_e32 v2, 0
  s_mov_b32 s8, 16
  s_waitcnt lgkmcnt(0)
loop:
  global_load_dwordx4 v[4:7], v1, s[4:5]
  v_add_u32_e32 v1, 0x400, v1
  s_waitcnt vmcnt(0)                        // the whole latency is waited for here
  v_fma_f32 v2, v4, v4, v2
  v_fma_f32 v2, v5, v5, v2
  v_fma_f32 v2, v6, v6, v2
  v_fma_f32 v2, v7, v7, v2
  s_sub_u32 s8, s8, 1
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 loop
  s_lshl_b32 s3, s2, 8
  v_lshlrev_b32_e32 v0, 2, v0
  v_add_u32_e32 v0, s3, v0
  global_store_dword v0, v2, s[6:7]
  s_endpgm
.Lend:
.size latency, .Lend-latency
.rodata
.p2align 6
.amdhsa_kernel latency
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
