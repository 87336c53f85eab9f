// Sorts each block of 512 keys (with a value travelling along) by a bitonic network in local memory.
#define BLOCK 512

kernel __attribute__((reqd_work_group_size(BLOCK / 2, 1, 1))) void bitonic_sort(global uint* restrict keys,
                                                                                global uint* restrict values) {
  local uint k[BLOCK];
  local uint v[BLOCK];
  uint l = get_local_id(0);
  uint base = get_group_id(0) * BLOCK;
  for (uint i = l; i < BLOCK; i += BLOCK / 2) {
    k[i] = keys[base + i];
    v[i] = values[base + i];
  }
  for (uint size = 2; size <= BLOCK; size <<= 1) {
    for (uint stride = size >> 1; stride > 0; stride >>= 1) {
      barrier(CLK_LOCAL_MEM_FENCE);
      uint i = 2 * l - (l & (stride - 1));
      uint j = i + stride;
      bool ascending = (i & size) == 0;
      uint ki = k[i], kj = k[j];
      if ((ki > kj) == ascending) {
        k[i] = kj;
        k[j] = ki;
        uint t = v[i];
        v[i] = v[j];
        v[j] = t;
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = l; i < BLOCK; i += BLOCK / 2) {
    keys[base + i] = k[i];
    values[base + i] = v[i];
  }
}
