// C = A * B with v_mfma_f32_32x32x8f16, every wave 64 x 64 of C. A and B are packed as GEMM libraries do it: panels
// of 64 rows of A, columns of B; in each four consecutive k of a row or column are together: [k / 4][row][k % 4]. m and n
// are multiples of 64, k of 32.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef float v16 __attribute__((ext_vector_type(16)));
typedef half h4 __attribute__((ext_vector_type(4)));

__attribute__((reqd_work_group_size(64, 1, 1))) kernel void matrix_f16(global const h4* restrict a,
                                                                       global const h4* restrict b,
                                                                       global float* restrict c, uint m, uint n,
                                                                       uint k) {
  const uint lane = get_local_id(0);
  const uint row = 64 * get_group_id(1), column = 64 * get_group_id(0);
  global const h4* pa = a + row * (k / 4) + lane % 32 + (lane / 32) * 64;
  global const h4* pb = b + column * (k / 4) + lane % 32 + (lane / 32) * 64;
  v16 c00 = 0, c01 = 0, c10 = 0, c11 = 0;
  for (uint i = 0; i < k; i += 32) {
#pragma unroll
    for (uint j = 0; j < 4; ++j) {
      const h4 a0 = pa[0], a1 = pa[32], b0 = pb[0], b1 = pb[32];
      c00 = __builtin_amdgcn_mfma_f32_32x32x8f16(a0, b0, c00, 0, 0, 0);
      c01 = __builtin_amdgcn_mfma_f32_32x32x8f16(a0, b1, c01, 0, 0, 0);
      c10 = __builtin_amdgcn_mfma_f32_32x32x8f16(a1, b0, c10, 0, 0, 0);
      c11 = __builtin_amdgcn_mfma_f32_32x32x8f16(a1, b1, c11, 0, 0, 0);
      pa += 128;
      pb += 128;
    }
  }
#pragma unroll
  for (uint r = 0; r < 16; ++r) {
    global float* p = c + (row + 8 * (r / 4) + 4 * (lane / 32) + r % 4) * n + column + lane % 32;
    p[0] = c00[r];
    p[32] = c01[r];
    p[32 * n] = c10[r];
    p[32 * n + 32] = c11[r];
  }
}
