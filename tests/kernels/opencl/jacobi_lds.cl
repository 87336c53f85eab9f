// Several Jacobi sweeps on a 16x16 tile held in local memory: a barrier inside a loop of run-time length.
kernel __attribute__((reqd_work_group_size(16, 16, 1))) void jacobi_lds(global const float* restrict in,
                                                                        global float* restrict out, uint width,
                                                                        uint sweeps) {
  local float tile[2][18][18];
  int lx = get_local_id(0), ly = get_local_id(1);
  uint index = get_global_id(1) * width + get_global_id(0);
  for (int e = ly * 16 + lx; e < 2 * 18 * 18; e += 256) ((local float*)tile)[e] = 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  tile[0][ly + 1][lx + 1] = in[index];
  barrier(CLK_LOCAL_MEM_FENCE);
  int now = 0;
  for (uint s = 0; s < sweeps; ++s) {
    float v = 0.25f * (tile[now][ly][lx + 1] + tile[now][ly + 2][lx + 1] + tile[now][ly + 1][lx] +
                       tile[now][ly + 1][lx + 2]);
    tile[now ^ 1][ly + 1][lx + 1] = v;
    now ^= 1;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[index] = tile[now][ly + 1][lx + 1];
}
