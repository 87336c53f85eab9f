// A grid that is not a multiple of the work-group size in any dimension; edge work-groups are smaller.
kernel void partial_groups(global uint* restrict out, global uint* restrict group_counts) {
  local uint present;
  uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  bool first = get_local_id(0) == 0 && get_local_id(1) == 0 && get_local_id(2) == 0;
  if (first) present = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&present);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint index = (z * get_global_size(1) + y) * get_global_size(0) + x;
  out[2 * index] = present;
  out[2 * index + 1] = get_local_size(0) | (get_local_size(1) << 8) | (get_local_size(2) << 16) |
                       (get_enqueued_local_size(0) << 24);
  if (first) {
    uint group = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
    group_counts[group] = present;
  }
}
