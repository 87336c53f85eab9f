// Cross-lane functions of a 64-lane wave: shuffles, votes and ballots, as HIP programs use them.
#include <hip/hip_runtime.h>

extern "C" __global__ void hip_wave_ops(const int* in, int* out, unsigned long long* ballots, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 63;
  int v = i < n ? in[i] : 0;

  int sum = v;
  for (int offset = 32; offset > 0; offset >>= 1) sum += __shfl_xor(sum, offset);
  int scan = v;
  for (int offset = 1; offset < 64; offset <<= 1) {
    int other = __shfl_up(scan, offset);
    if (lane >= offset) scan += other;
  }
  int rotated = __shfl(v, (lane * 5 + 3) & 63);
  int down = __shfl_down(v, 7);
  int quarter = __shfl(v, 2, 16);  // lane 2 of each group of 16
  unsigned long long odd = __ballot(v & 1);
  int rank = __popcll(odd & ((1ull << lane) - 1));
  int divergent = 0;
  if (v % 3 == 0) divergent = __popcll(__ballot(1));  // only the lanes in here
  int votes = (__any(v > 900) ? 1 : 0) | (__all(v >= 0) ? 2 : 0) | (__any(v > 2000) ? 4 : 0);

  int* r = out + i * 8;
  r[0] = sum;
  r[1] = scan;
  r[2] = rotated;
  r[3] = down;
  r[4] = quarter;
  r[5] = rank;
  r[6] = divergent;
  r[7] = votes;
  if (lane == 0) ballots[i / 64] = odd;
}
