// Calls and jumps through registers: s_swappc_b64 to a leaf, a two-level call with the return address kept in VGPR lanes,
// a jump table indexed by a scalar, and divergent recursion-free loops closed by s_cbranch_vccnz.
// Work-groups of 64. Kernel arguments: 0 in, 8 out.
#include "common.inc"

.text
.globl asm_calls
.p2align 8
.type asm_calls,@function
asm_calls:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_lshl_b32 s8, s2, 6
  v_or_b32 v1, s8, v0
  v_lshlrev_b32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v3, s5
  ADD_CO(v2, s4, v1)
  ADDC_CO(v3, 0, v3)
  v_mov_b32 v5, s7
  ADD_CO(v4, s6, v1)
  ADDC_CO(v5, 0, v5)
  GLOBAL_LOAD(v6, v[2:3])
  s_waitcnt vmcnt(0) lgkmcnt(0)

  // The function of this work-group: scalar index 0..3 into a table of offsets in the code.
  s_and_b32 s9, s2, 3
  s_lshl_b32 s9, s9, 2
  s_getpc_b64 s[10:11]
.Lhere:
  s_add_u32 s12, s10, jump_table-.Lhere
  s_addc_u32 s13, s11, 0
  s_add_u32 s12, s12, s9
  s_addc_u32 s13, s13, 0
  s_load_dword s14, s[12:13], 0x0      // offset of the function from the table
  s_waitcnt lgkmcnt(0)
  s_add_u32 s14, s14, jump_table-.Lhere
  s_addc_u32 s15, 0, 0
  s_add_u32 s14, s10, s14
  s_addc_u32 s15, s11, s15
  s_swappc_b64 s[30:31], s[14:15]
  GLOBAL_STORE(v[4:5], v6)
  s_endpgm

  .p2align 2
jump_table:
  .long function0-jump_table
  .long function1-jump_table
  .long function2-jump_table
  .long function3-jump_table

// v6 = v6 * 3 + 1
function0:
  v_mul_lo_u32 v6, v6, 3
  ADD_CO(v6, 1, v6)
  s_setpc_b64 s[30:31]

// Calls function0 twice; the return address travels through lanes of v7, as a compiler's SGPR spill does.
function1:
  v_writelane_b32 v7, s30, 0
  v_writelane_b32 v7, s31, 1
  s_getpc_b64 s[16:17]
.Lhere1:
  s_sub_u32 s16, s16, .Lhere1-function0
  s_subb_u32 s17, s17, 0
  s_swappc_b64 s[30:31], s[16:17]
  s_swappc_b64 s[30:31], s[16:17]
  v_readlane_b32 s30, v7, 0
  v_readlane_b32 s31, v7, 1
  s_setpc_b64 s[30:31]

// v6 = number of steps to halve v6 below 10 (a loop every lane leaves at its own time)
function2:
  s_mov_b64 s[18:19], exec
  v_mov_b32 v8, 0
.Lhalve:
  v_cmp_le_u32 vcc, 10, v6
  s_and_b64 exec, exec, vcc
  s_cbranch_execz .Lhalved
  v_lshrrev_b32 v6, 1, v6
  ADD_CO(v8, 1, v8)
  s_branch .Lhalve
.Lhalved:
  s_mov_b64 exec, s[18:19]
  v_mov_b32 v6, v8
  s_setpc_b64 s[30:31]

// Sums 1..k for k = low four bits, with a loop closed by s_cbranch_vccnz and values kept by v_cndmask.
function3:
  v_and_b32 v9, 15, v6
  v_mov_b32 v6, 0
  s_movk_i32 s20, 1
.Lsum:
  v_cmp_le_u32 vcc, s20, v9
  v_mov_b32 v10, s20
  v_cndmask_b32 v10, 0, v10, vcc
  s_mov_b64 s[22:23], vcc
  ADD_CO(v6, v6, v10)
  s_add_u32 s20, s20, 1
  s_mov_b64 vcc, s[22:23]
  s_cbranch_vccnz .Lsum
  s_setpc_b64 s[30:31]
.Lasm_calls_end:
.size asm_calls, .Lasm_calls_end-asm_calls

.rodata
.p2align 6
.amdhsa_kernel asm_calls
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 11
  .amdhsa_next_free_sgpr 32
  ACCUM_OFFSET(12)
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: asm_calls
    .symbol: asm_calls.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 38
    .vgpr_count: 11
    .max_flat_workgroup_size: 64
    .args:
      - {.name: in, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
