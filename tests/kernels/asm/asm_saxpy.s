// y[i] = a * x[i] + y[i]. Work-groups of 64; each handles `blocks` consecutive runs of 64 elements in a scalar loop, and the
// ragged end is cut off with EXEC.
// Kernel arguments: 0 xs, 8 ys, 16 scale (f32), 20 count (u32), 24 blocks (u32).
#include "common.inc"

.text
.globl asm_saxpy
.p2align 8
.type asm_saxpy,@function
asm_saxpy:
  s_load_dwordx4 s[4:7], s[0:1], 0x0   // x, y
  s_load_dwordx2 s[8:9], s[0:1], 0x10  // scale, count
  s_load_dword s10, s[0:1], 0x18       // blocks
  s_waitcnt lgkmcnt(0)
  s_mul_i32 s11, s2, s10               // first block of this work-group
  s_lshl_b32 s11, s11, 6
  s_mov_b64 s[12:13], exec
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc1 done
loop:
  v_or_b32 v1, s11, v0                 // s11 is a multiple of 64, v0 is below 64
  v_cmp_gt_u32 vcc, s9, v1
  s_and_b64 exec, s[12:13], vcc
  s_cbranch_execz next
  v_lshlrev_b32 v3, 2, v1
  v_mov_b32 v5, s5
  ADD_CO(v4, s4, v3)
  ADDC_CO(v5, 0, v5)
  v_mov_b32 v7, s7
  ADD_CO(v6, s6, v3)
  ADDC_CO(v7, 0, v7)
  GLOBAL_LOAD(v8, v[4:5])
  GLOBAL_LOAD(v9, v[6:7])
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_fma_f32 v9, s8, v8, v9
  GLOBAL_STORE(v[6:7], v9)
next:
  s_mov_b64 exec, s[12:13]
  s_add_u32 s11, s11, 64
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 loop
done:
  s_endpgm
.Lasm_saxpy_end:
.size asm_saxpy, .Lasm_saxpy_end-asm_saxpy

.rodata
.p2align 6
.amdhsa_kernel asm_saxpy
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 10
  .amdhsa_next_free_sgpr 14
  .amdhsa_float_denorm_mode_32 3
  ACCUM_OFFSET(12)
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: asm_saxpy
    .symbol: asm_saxpy.kd
    .kernarg_segment_size: 28
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 20
    .vgpr_count: 10
    .max_flat_workgroup_size: 64
    .reqd_workgroup_size: [64, 1, 1]
    .args:
      - {.name: xs, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.name: ys, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
      - {.name: scale, .size: 4, .offset: 16, .value_kind: by_value}
      - {.name: count, .size: 4, .offset: 20, .value_kind: by_value}
      - {.name: blocks, .size: 4, .offset: 24, .value_kind: by_value}
...
.end_amdgpu_metadata
