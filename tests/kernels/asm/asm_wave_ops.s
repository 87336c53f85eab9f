// What only assembly writes: DPP row operations and reductions, ds_swizzle and ds_bpermute, readlane and writelane, mask
// arithmetic on EXEC and VCC as numbers, SDWA selects, VOP3 modifiers, 64-bit scalar operations.
// Work-groups of one wave. Each lane writes 12 dwords. Kernel arguments: 0 in, 8 out.
#include "common.inc"

.macro PUT reg
  GLOBAL_STORE(v[4:5], \reg)
  ADD_CO(v4, 4, v4)
  ADDC_CO(v5, 0, v5)
.endm

.text
.globl asm_wave_ops
.p2align 8
.type asm_wave_ops,@function
asm_wave_ops:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_mov_b32 m0, -1                     // GFX8 clamps LDS addresses to M0
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s8, s2, 6
  v_or_b32 v1, s8, v0                  // global index
  v_lshlrev_b32 v2, 2, v1
  v_mov_b32 v3, s5
  ADD_CO(v2, s4, v2)
  ADDC_CO(v3, 0, v3)
  GLOBAL_LOAD(v8, v[2:3])              // v8: the input, one dword a lane
  v_mul_u32_u24 v4, 48, v1
  v_mov_b32 v5, s7
  ADD_CO(v4, s6, v4)
  ADDC_CO(v5, 0, v5)
  s_waitcnt vmcnt(0) lgkmcnt(0)

  // 0: inclusive sum within rows of 16 by DPP row_shr (bound_ctrl:0 reads zero beyond the row)
  v_mov_b32 v9, v8
  s_nop 1
  v_mov_b32_dpp v10, v9 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0
  ADD_CO(v9, v9, v10)
  s_nop 1
  v_mov_b32_dpp v10, v9 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:0
  ADD_CO(v9, v9, v10)
  s_nop 1
  v_mov_b32_dpp v10, v9 row_shr:4 row_mask:0xf bank_mask:0xf bound_ctrl:0
  ADD_CO(v9, v9, v10)
  s_nop 1
  v_mov_b32_dpp v10, v9 row_shr:8 row_mask:0xf bank_mask:0xf bound_ctrl:0
  ADD_CO(v9, v9, v10)
  PUT v9

  // 1: quad_perm reversal; 2: row_mirror with odd rows masked off (they keep the old value, -7)
  s_nop 1
  v_mov_b32_dpp v10, v8 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf
  PUT v10
  v_mov_b32 v10, -7
  s_nop 1
  v_mov_b32_dpp v10, v8 row_mirror row_mask:0x5 bank_mask:0xf
  PUT v10

  // 3: ds_swizzle: from the first quad of the same half-wave, bit 0 of the lane inverted; 4: ds_bpermute from lane (3 * lane + 1) mod 64
  ds_swizzle_b32 v10, v8 offset:swizzle(BITMASK_PERM, "000pi")
  s_waitcnt lgkmcnt(0)
  PUT v10
  v_mul_u32_u24 v11, 3, v0
  ADD_CO(v11, 1, v11)
  v_lshlrev_b32 v11, 2, v11
  ds_bpermute_b32 v10, v11, v8
  s_waitcnt lgkmcnt(0)
  PUT v10

  // 5: number of odd inputs before this lane (VCC as a number); 6: index of the first and last odd input, and how many
  v_and_b32 v10, 1, v8
  v_cmp_ne_u32 vcc, 0, v10
  s_mov_b64 s[10:11], vcc
  v_mbcnt_lo_u32_b32 v10, s10, 0
  v_mbcnt_hi_u32_b32 v10, s11, v10
  PUT v10
  s_ff1_i32_b64 s12, s[10:11]
  s_flbit_i32_b64 s13, s[10:11]
  s_bcnt1_i32_b64 s14, s[10:11]
  s_lshl_b32 s13, s13, 8
  s_lshl_b32 s14, s14, 16
  s_add_u32 s12, s12, s13
  s_add_u32 s12, s12, s14
  v_mov_b32 v10, s12
  PUT v10

  // 7: lane 5's input, with lane 9 overwritten by lane 40's, seen by lanes 8..11 only (EXEC from s_bfm)
  v_readlane_b32 s15, v8, 5
  v_readlane_b32 s16, v8, 40
  v_mov_b32 v10, 0
  s_mov_b64 s[18:19], exec
  s_bfm_b64 exec, 4, 8
  v_mov_b32 v10, s15
  s_mov_b64 exec, s[18:19]
  v_writelane_b32 v10, s16, 9
  v_readfirstlane_b32 s17, v8
  v_xor_b32 v10, s17, v10
  PUT v10

  // 8: SDWA: byte 1 times word 1; 9: f32 with neg, abs, clamp and omod
  v_mul_u32_u24_sdwa v10, v8, v8 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1
  PUT v10
  v_cvt_f32_i32 v11, v8
  v_mul_f32 v11, 0x3a800000, v11       // 1/1024
  v_add_f32 v12, -|v11|, 1.0 clamp
  v_mul_f32 v12, v12, -v11 mul:2
  PUT v12

  // 10: 64-bit scalar arithmetic on the ballot: (mask * 3) >> 7, low half xor high half; 11: s_cselect and bit tests
  s_add_u32 s20, s10, s10
  s_addc_u32 s21, s11, s11
  s_add_u32 s20, s20, s10
  s_addc_u32 s21, s21, s11
  s_lshr_b64 s[20:21], s[20:21], 7
  s_xor_b32 s20, s20, s21
  v_mov_b32 v10, s20
  PUT v10
  s_brev_b32 s22, s10
  s_bitcmp1_b32 s10, 3
  s_cselect_b32 s23, s22, s11
  s_bfe_u32 s24, s10, 0x80004          // 8 bits from bit 4
  s_add_u32 s23, s23, s24
  s_sext_i32_i8 s24, s10
  s_xor_b32 s23, s23, s24
  s_not_b32 s23, s23
  v_mov_b32 v10, s23
  PUT v10
  s_endpgm
.Lasm_wave_ops_end:
.size asm_wave_ops, .Lasm_wave_ops_end-asm_wave_ops

.rodata
.p2align 6
.amdhsa_kernel asm_wave_ops
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_system_vgpr_workitem_id 0
  .amdhsa_next_free_vgpr 13
  .amdhsa_next_free_sgpr 25
  .amdhsa_float_denorm_mode_32 0
  .amdhsa_ieee_mode 0
  ACCUM_OFFSET(16)
.end_amdhsa_kernel

.amdgpu_metadata
---
amdhsa.version: [1, 1]
amdhsa.kernels:
  - .name: asm_wave_ops
    .symbol: asm_wave_ops.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 32
    .vgpr_count: 13
    .max_flat_workgroup_size: 64
    .args:
      - {.name: in, .size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.name: out, .size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
...
.end_amdgpu_metadata
