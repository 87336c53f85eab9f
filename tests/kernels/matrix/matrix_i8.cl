// C = A * B with v_mfma_i32_16x16x16i8, every wave 32 x 32 of C. A and B are packed in panels of 32 rows of A, columns
// of B; in each four consecutive k of a row or column are one dword: [k / 4][row]. m and n are multiples of 32, k of 64.
typedef int v4 __attribute__((ext_vector_type(4)));

__attribute__((reqd_work_group_size(64, 1, 1))) kernel void matrix_i8(global const int* restrict a,
                                                                      global const int* restrict b,
                                                                      global int* restrict c, uint m, uint n, uint k) {
  const uint lane = get_local_id(0);
  const uint row = 32 * get_group_id(1), column = 32 * get_group_id(0);
  global const int* pa = a + row * (k / 4) + lane % 16 + (lane / 16) * 32;
  global const int* pb = b + column * (k / 4) + lane % 16 + (lane / 16) * 32;
  v4 c00 = 0, c01 = 0, c10 = 0, c11 = 0;
  for (uint i = 0; i < k; i += 64) {
#pragma unroll
    for (uint j = 0; j < 4; ++j) {
      const int a0 = pa[0], a1 = pa[16], b0 = pb[0], b1 = pb[16];
      c00 = __builtin_amdgcn_mfma_i32_16x16x16i8(a0, b0, c00, 0, 0, 0);
      c01 = __builtin_amdgcn_mfma_i32_16x16x16i8(a0, b1, c01, 0, 0, 0);
      c10 = __builtin_amdgcn_mfma_i32_16x16x16i8(a1, b0, c10, 0, 0, 0);
      c11 = __builtin_amdgcn_mfma_i32_16x16x16i8(a1, b1, c11, 0, 0, 0);
      pa += 128;
      pb += 128;
    }
  }
#pragma unroll
  for (uint r = 0; r < 4; ++r) {
    global int* p = c + (row + 4 * (lane / 16) + r) * n + column + lane % 16;
    p[0] = c00[r];
    p[16] = c01[r];
    p[16 * n] = c10[r];
    p[16 * n + 16] = c11[r];
  }
}
