// Look-ups in a hash table with chained buckets of varied length: one key per work-item.
typedef struct {
  uint key;
  uint value;
  int next;  // index of an entry, or -1
} Entry;

kernel void hash_lookup(global const int* restrict buckets, global const Entry* restrict entries,
                        global const uint* restrict keys, global uint* restrict values, uint bucket_bits, uint missing,
                        uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint key = keys[i];
  uint value = missing;
  for (int e = buckets[(key * 2654435761u) >> (32 - bucket_bits)]; e >= 0; e = entries[e].next) {
    if (entries[e].key == key) {
      value = entries[e].value;
      break;
    }
  }
  values[i] = value;
}
