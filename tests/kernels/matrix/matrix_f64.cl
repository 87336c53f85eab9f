// C = A * B with v_mfma_f64_16x16x4f64, every wave 32 x 32 of C. A and B are packed in panels of 32 rows of A, columns
// of B, each stored k by k. m and n are multiples of 32, k of 32.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double v4 __attribute__((ext_vector_type(4)));

__attribute__((reqd_work_group_size(64, 1, 1))) kernel void matrix_f64(global const double* restrict a,
                                                                       global const double* restrict b,
                                                                       global double* restrict c, uint m, uint n,
                                                                       uint k) {
  const uint lane = get_local_id(0);
  const uint row = 32 * get_group_id(1), column = 32 * get_group_id(0);
  global const double* pa = a + row * k + lane % 16 + (lane / 16) * 32;
  global const double* pb = b + column * k + lane % 16 + (lane / 16) * 32;
  v4 c00 = 0, c01 = 0, c10 = 0, c11 = 0;
  for (uint i = 0; i < k; i += 32) {
#pragma unroll
    for (uint j = 0; j < 8; ++j) {
      const double a0 = pa[0], a1 = pa[16], b0 = pb[0], b1 = pb[16];
      c00 = __builtin_amdgcn_mfma_f64_16x16x4f64(a0, b0, c00, 0, 0, 0);
      c01 = __builtin_amdgcn_mfma_f64_16x16x4f64(a0, b1, c01, 0, 0, 0);
      c10 = __builtin_amdgcn_mfma_f64_16x16x4f64(a1, b0, c10, 0, 0, 0);
      c11 = __builtin_amdgcn_mfma_f64_16x16x4f64(a1, b1, c11, 0, 0, 0);
      pa += 128;
      pb += 128;
    }
  }
  // Here rows of a result are four apart in a register.
#pragma unroll
  for (uint r = 0; r < 4; ++r) {
    global double* p = c + (row + 4 * r + lane / 16) * n + column + lane % 16;
    p[0] = c00[r];
    p[16] = c01[r];
    p[16 * n] = c10[r];
    p[16 * n + 16] = c11[r];
  }
}
