// Inclusive prefix sum in one launch with decoupled look-back: work-groups take tickets, publish their block's aggregate
// and then its prefix, and spin on their predecessors. state[b]: top two bits 0 nothing, 1 aggregate, 2 prefix.
#define GROUP 128

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void lookback_scan(global const uint* restrict in,
                                                                             global uint* restrict out,
                                                                             global volatile uint* state,
                                                                             global volatile uint* ticket) {
  local uint data[GROUP];
  local uint shared_words[2];  // the block's number; the sum of all blocks before it
  uint l = get_local_id(0);
  if (l == 0) shared_words[0] = atomic_inc(ticket);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint block = shared_words[0];
  data[l] = in[block * GROUP + l];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 1; step < GROUP; step <<= 1) {
    uint add = l >= step ? data[l - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    data[l] += add;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) {
    uint total = data[GROUP - 1];
    uint prefix = 0;
    if (block > 0) {
      atomic_xchg(&state[block], 0x40000000u | total);
      uint b = block - 1;
      while (true) {
        uint s = atomic_or(&state[b], 0u);
        if ((s >> 30) == 0) continue;
        prefix += s & 0x3fffffffu;
        if ((s >> 30) == 2) break;
        --b;
      }
    }
    atomic_xchg(&state[block], 0x80000000u | (prefix + total));
    shared_words[1] = prefix;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[block * GROUP + l] = shared_words[1] + data[l];
}
