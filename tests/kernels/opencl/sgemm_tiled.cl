// C = A * B, row-major, sizes multiples of 16; 16x16 tiles of A and B staged in local memory.
#define TILE 16

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void sgemm_tiled(uint n, uint k,
                                                                             global const float* restrict a,
                                                                             global const float* restrict b,
                                                                             global float* restrict c) {
  local float ta[TILE][TILE];
  local float tb[TILE][TILE];
  uint lx = get_local_id(0), ly = get_local_id(1);
  uint col = get_group_id(0) * TILE + lx;
  uint row = get_group_id(1) * TILE + ly;
  float sum = 0.0f;
  for (uint t = 0; t < k; t += TILE) {
    ta[ly][lx] = a[row * k + t + lx];
    tb[ly][lx] = b[(t + ly) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < TILE; ++i) sum += ta[ly][i] * tb[i][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + col] = sum;
}
