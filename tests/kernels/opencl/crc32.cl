// CRC-32 (IEEE) of one record of bytes per work-item, with the table built in local memory by the work-group.
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void crc32(global const uchar* restrict data,
                                                                  global const ushort* restrict lengths,
                                                                  global uint* restrict out, uint stride) {
  local uint table[256];
  uint l = get_local_id(0);
  for (uint e = l; e < 256; e += 64) {
    uint c = e;
    for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
    table[e] = c;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint i = get_global_id(0);
  uint crc = 0xffffffffu;
  for (uint k = 0; k < lengths[i]; ++k) crc = table[(crc ^ data[i * stride + k]) & 255u] ^ (crc >> 8);
  out[i] = ~crc;
}
