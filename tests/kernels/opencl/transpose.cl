// Matrix transpose through a padded tile in local memory; both the reads and the writes are contiguous.
#define TILE 16

kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void transpose(global const float* restrict in,
                                                                           global float* restrict out, uint width,
                                                                           uint height) {
  local float tile[TILE][TILE + 1];
  uint lx = get_local_id(0), ly = get_local_id(1);
  uint x = get_group_id(0) * TILE + lx;
  uint y = get_group_id(1) * TILE + ly;
  if (x < width && y < height) tile[ly][lx] = in[y * width + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint tx = get_group_id(1) * TILE + lx;
  uint ty = get_group_id(0) * TILE + ly;
  if (tx < height && ty < width) out[ty * height + tx] = tile[lx][ly];
}
