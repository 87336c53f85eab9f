// 256-bin histogram of bytes: local atomics per work-group, then one global atomic per bin.
kernel __attribute__((reqd_work_group_size(256, 1, 1))) void histogram(global const uint* restrict words,
                                                                       global uint* restrict bins, uint n) {
  local uint counts[256];
  uint l = get_local_id(0);
  counts[l] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) {
    uint w = words[i];
    atomic_inc(&counts[w & 255u]);
    atomic_inc(&counts[(w >> 8) & 255u]);
    atomic_inc(&counts[(w >> 16) & 255u]);
    atomic_inc(&counts[w >> 24]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (counts[l] != 0) atomic_add(&bins[l], counts[l]);
}
