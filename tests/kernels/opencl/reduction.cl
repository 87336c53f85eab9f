// Sum and maximum of an array: a tree in local memory per work-group; a second launch reduces the partial results.
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void reduction(global const float* restrict in_sum,
                                                                       global const float* restrict in_max,
                                                                       global float* restrict out_sum,
                                                                       global float* restrict out_max, uint n) {
  local float sums[256];
  local float maxima[256];
  uint l = get_local_id(0);
  float s = 0.0f;
  float m = -INFINITY;
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
    s += in_sum[i];
    m = fmax(m, in_max[i]);
  }
  sums[l] = s;
  maxima[l] = m;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 128; half_size > 0; half_size >>= 1) {
    if (l < half_size) {
      sums[l] += sums[l + half_size];
      maxima[l] = fmax(maxima[l], maxima[l + half_size]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) {
    out_sum[get_group_id(0)] = sums[0];
    out_max[get_group_id(0)] = maxima[0];
  }
}
