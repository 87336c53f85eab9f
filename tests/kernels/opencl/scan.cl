// Exclusive prefix sum (Blelloch): blocks of 512 in local memory, then the block totals, then their addition.
#define GROUP 256
#define BLOCK (2 * GROUP)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void scan_blocks(global const uint* restrict in,
                                                                           global uint* restrict out,
                                                                           global uint* restrict totals, uint n) {
  local uint data[BLOCK];
  uint l = get_local_id(0);
  uint base = get_group_id(0) * BLOCK;
  data[2 * l] = base + 2 * l < n ? in[base + 2 * l] : 0;
  data[2 * l + 1] = base + 2 * l + 1 < n ? in[base + 2 * l + 1] : 0;
  uint offset = 1;
  for (uint d = GROUP; d > 0; d >>= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d) data[offset * (2 * l + 2) - 1] += data[offset * (2 * l + 1) - 1];
    offset <<= 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l == 0) {
    totals[get_group_id(0)] = data[BLOCK - 1];
    data[BLOCK - 1] = 0;
  }
  for (uint d = 1; d < BLOCK; d <<= 1) {
    offset >>= 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < d) {
      uint left = offset * (2 * l + 1) - 1;
      uint right = offset * (2 * l + 2) - 1;
      uint t = data[left];
      data[left] = data[right];
      data[right] += t;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (base + 2 * l < n) out[base + 2 * l] = data[2 * l];
  if (base + 2 * l + 1 < n) out[base + 2 * l + 1] = data[2 * l + 1];
}

kernel void scan_add(global uint* restrict data, global const uint* restrict offsets, uint n) {
  uint i = get_global_id(0);
  if (i < n) data[i] += offsets[i / BLOCK];
}
