// C = A * B, row-major; 64x64 tile of C per work-group of 16x16, 4x4 elements per work-item in registers.
// m, n multiples of 64; k multiple of 16.
#define BM 64
#define BN 64
#define BK 16

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void sgemm_blocked(uint n, uint k,
                                                                           global const float* restrict a,
                                                                           global const float* restrict b,
                                                                           global float* restrict c) {
  local float ta[BK][BM];  // transposed: a work-item reads four consecutive rows of A
  local float tb[BK][BN];
  uint lx = get_local_id(0), ly = get_local_id(1);
  uint tid = ly * 16 + lx;
  uint row0 = get_group_id(1) * BM;
  uint col0 = get_group_id(0) * BN;
  float acc[4][4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) acc[i][j] = 0.0f;

  for (uint t = 0; t < k; t += BK) {
    for (uint e = tid; e < BM * BK; e += 256) {
      uint r = e / BK, kk = e % BK;
      ta[kk][r] = a[(row0 + r) * k + t + kk];
    }
    for (uint e = tid; e < BK * BN; e += 256) {
      uint kk = e / BN, cc = e % BN;
      tb[kk][cc] = b[(t + kk) * n + col0 + cc];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint kk = 0; kk < BK; ++kk) {
      float ra[4], rb[4];
      for (int i = 0; i < 4; ++i) ra[i] = ta[kk][ly * 4 + i];
      for (int j = 0; j < 4; ++j) rb[j] = tb[kk][lx * 4 + j];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] += ra[i] * rb[j];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[(row0 + ly * 4 + i) * n + col0 + lx * 4 + j] = acc[i][j];
}
