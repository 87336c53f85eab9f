// Every work-item function, on a 3-D grid, recorded per work-item.
kernel void grid3d(global uint* restrict out) {
  uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  uint index = (z * get_global_size(1) + y) * get_global_size(0) + x;
  global uint* record = out + index * 16;
  record[0] = x | (y << 10) | (z << 20);
  record[1] = get_local_id(0) | (get_local_id(1) << 10) | (get_local_id(2) << 20);
  record[2] = get_group_id(0) | (get_group_id(1) << 10) | (get_group_id(2) << 20);
  record[3] = get_local_size(0) | (get_local_size(1) << 10) | (get_local_size(2) << 20);
  record[4] = get_num_groups(0) | (get_num_groups(1) << 10) | (get_num_groups(2) << 20);
  record[5] = get_global_size(0) | (get_global_size(1) << 10) | (get_global_size(2) << 20);
  record[6] = get_global_offset(0) | (get_global_offset(1) << 10) | (get_global_offset(2) << 20);
  record[7] = get_work_dim();
  record[8] = index;
}
