// Decompresses LZ4 blocks, one per work-item: token, literals, offset and length of a match, and so on up to the
// block's last literals. Blocks do not depend on each other.
uint length_of(uint nibble, global const uchar** in) {
  uint length = nibble;
  if (nibble == 15) {
    uint more;
    do {
      more = *(*in)++;
      length += more;
    } while (more == 255);
  }
  return length;
}

kernel void lz_decode(global const uchar* restrict packed, global const uint* restrict packed_start,
                      global uchar* restrict text, global const uint* restrict text_start, global uint* restrict sizes,
                      uint blocks) {
  uint block = get_global_id(0);
  if (block >= blocks) return;
  global const uchar* in = packed + packed_start[block];
  global const uchar* end = packed + packed_start[block + 1];
  global uchar* begin = text + text_start[block];
  global uchar* out = begin;
  while (true) {
    uint token = *in++;
    uint literals = length_of(token >> 4, &in);
    for (uint k = 0; k < literals; ++k) out[k] = in[k];
    in += literals;
    out += literals;
    if (in >= end) break;
    uint offset = in[0] | (uint)in[1] << 8;
    in += 2;
    uint length = length_of(token & 15, &in) + 4;
    global const uchar* match = out - offset;
    for (uint k = 0; k < length; ++k) out[k] = match[k];  // they may overlap
    out += length;
  }
  sizes[block] = (uint)(out - begin);
}
