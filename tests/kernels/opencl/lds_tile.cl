// Sweeps of a five-point stencil on a tile in local memory. The tile has a border, which the work-items at its edges
// load and no sweep changes. Groups are three waves.
#pragma OPENCL FP_CONTRACT OFF

#define GROUP_X 32
#define GROUP_Y 6

kernel __attribute__((reqd_work_group_size(GROUP_X, GROUP_Y, 1))) void lds_tile(global const float* restrict in,
                                                                                global float* restrict out, int width,
                                                                                int height, int sweeps) {
  volatile local float tile[GROUP_Y + 2][GROUP_X + 2];
  int tx = (int)get_local_id(0) + 1, ty = (int)get_local_id(1) + 1;
  int x = (int)get_global_id(0), y = (int)get_global_id(1);
  bool inside = x < width && y < height;
  int cx = min(x, width - 1), cy = min(y, height - 1);
  tile[ty][tx] = in[cy * width + cx];
  if (tx == 1) tile[ty][0] = in[cy * width + max(x - 1, 0)];
  if (tx == GROUP_X) tile[ty][GROUP_X + 1] = in[cy * width + min(x + 1, width - 1)];
  if (ty == 1) tile[0][tx] = in[max(y - 1, 0) * width + cx];
  if (ty == GROUP_Y) tile[GROUP_Y + 1][tx] = in[min(y + 1, height - 1) * width + cx];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 0; s < sweeps; ++s) {
    float old = tile[ty][tx];
    float around = (tile[ty][tx - 1] + tile[ty][tx + 1]) + (tile[ty - 1][tx] + tile[ty + 1][tx]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (inside) tile[ty][tx] = 0.5f * old + 0.125f * around;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (inside) out[y * width + x] = tile[ty][tx];
}
