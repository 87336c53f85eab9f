// Arrays in scratch with run-time indices: an insertion sort of 24 values per work-item, and a byte array of counters.
#define N 24

kernel void private_array(global const int* restrict in, global int* restrict medians, global int* restrict checksums) {
  uint i = get_global_id(0);
  int sorted[N];
  uchar counters[16];
  for (int k = 0; k < 16; ++k) counters[k] = 0;
  for (int k = 0; k < N; ++k) {
    int value = in[i * N + k];
    counters[(uint)value & 15]++;
    int j = k;
    while (j > 0 && sorted[j - 1] > value) {
      sorted[j] = sorted[j - 1];
      --j;
    }
    sorted[j] = value;
  }
  int checksum = 0;
  for (int k = 0; k < 16; ++k) checksum = checksum * 31 + counters[(k * 7 + i) & 15];
  for (int k = 0; k < N; ++k) checksum = checksum * 17 + sorted[(k + i) % N];
  medians[i] = sorted[N / 2];
  checksums[i] = checksum;
}
