// Integer hashing: MurmurHash3's 32-bit mixer over eight words, and an xxHash64-like avalanche.
uint murmur3(uint h, uint k) {
  k *= 0xcc9e2d51u;
  k = rotate(k, 15u);
  k *= 0x1b873593u;
  h ^= k;
  h = rotate(h, 13u);
  return h * 5u + 0xe6546b64u;
}

kernel void hash(global const uint* restrict in, global uint* restrict out32, global ulong* restrict out64, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint h = 0x2a;
  ulong acc = 0x27d4eb2f165667c5ul + i;
  for (uint k = 0; k < 8; ++k) {
    uint w = in[(i + k * 97u) % n];
    h = murmur3(h, w);
    acc ^= (ulong)w * 0x9e3779b185ebca87ul;
    acc = rotate(acc, 23ul) * 0xc2b2ae3d27d4eb4ful + 0x165667b19e3779f9ul;
  }
  h ^= 32;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  h ^= h >> 16;
  acc ^= acc >> 33;
  acc *= 0xc2b2ae3d27d4eb4ful;
  acc ^= acc >> 29;
  out32[i] = h;
  out64[i] = acc;
}
