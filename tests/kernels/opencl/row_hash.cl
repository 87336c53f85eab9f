// FNV-1a of the strings of a column, byte by byte, one per work-item; mixed at the end, as a hash table needs it.
kernel void row_hash(global const uchar* restrict bytes, global const uint* restrict row_start,
                     global uint* restrict hashes, uint rows) {
  uint row = get_global_id(0);
  if (row >= rows) return;
  uint end = row_start[row + 1];
  uint hash = 2166136261u;
  for (uint k = row_start[row]; k < end; ++k) hash = (hash ^ bytes[k]) * 16777619u;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u;
  hashes[row] = hash ^ (hash >> 16);
}
