// Two local arrays whose sizes the host chooses: the reversed block, and a running total kept per 16 work-items.
kernel void dynamic_lds(global const int* restrict in, global int* restrict out, local int* block,
                        local ulong* totals) {
  uint l = get_local_id(0);
  uint size = get_local_size(0);
  block[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (l % 16 == 0) {
    ulong sum = 0;
    for (uint i = 0; i < 16; ++i) sum += (ulong)(uint)block[l + i] << (i & 3);
    totals[l / 16] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  ulong t = totals[(size - 1 - l) / 16];
  out[get_global_id(0)] = block[size - 1 - l] ^ (int)(t >> 3);
}
