// Votes and shuffles: all variants, types and widths, with all lanes on and with lanes off.

#include "check.h"

constexpr int kLanes = 64;

struct Votes {
  unsigned long long ballot, inner;
  int any, all, none, inner_any, inner_all;
};

// Lanes below `active` vote; within them, odd ones vote for the contrary. (The same question would not be asked again:
// LLVM takes the first answer for both.)
__global__ void vote(Votes* out, int active, unsigned long long yes) {
  const int lane = threadIdx.x;
  Votes v = {};
  if (lane < active) {
    const bool mine = yes >> lane & 1;
    v.ballot = __ballot(mine);
    v.any = __any(mine);
    v.all = __all(mine);
    v.none = !__any(mine);
    if (lane % 2 == 1) {
      v.inner = __ballot(!mine);
      v.inner_any = __any(!mine);
      v.inner_all = __all(!mine);
    }
  }
  out[lane] = v;
}

// Shuffles of all lanes; what a shuffle reads from lanes that are off is not defined.
template <typename T>
__global__ void shuffle(T* out, int width) {
  const int lane = threadIdx.x;
  const T mine = static_cast<T>(1000 + 3 * lane);
  out[lane] = __shfl(mine, (lane * 5 + 1) % width, width);
  out[kLanes + lane] = __shfl_up(mine, 3u, width);
  out[2 * kLanes + lane] = __shfl_down(mine, 5u, width);
  out[3 * kLanes + lane] = __shfl_xor(mine, 6, width);
}

// Each iteration has fewer lanes: an active lane's number goes to the others that are active.
__global__ void divergent(int* out) {
  const int lane = threadIdx.x;
  int rounds = 0, sum = 0;
  while (rounds <= lane % 8) {
    const int first = __ffsll(__ballot(1)) - 1;
    sum += __shfl(lane * lane, first) + __popcll(__ballot(lane % 3 == 0));
    ++rounds;
  }
  out[lane] = sum;
}

template <typename T>
void check_shuffles() {
  T* out;
  HIP(hipHostMalloc(&out, 4 * kLanes * sizeof(T)));
  for (int width = 2; width <= kLanes; width *= 2) {
    shuffle<<<1, kLanes>>>(out, width);
    HIP(hipDeviceSynchronize());
    for (int lane = 0; lane < kLanes; ++lane) {
      const int group = lane / width * width;
      const auto value = [](int from) { return static_cast<T>(1000 + 3 * from); };
      const auto same = [&](int from) { return from >= group && from < group + width ? from : lane; };
      CHECK(out[lane] == value(group + (lane * 5 + 1) % width));
      CHECK(out[kLanes + lane] == value(same(lane - 3)));
      CHECK(out[2 * kLanes + lane] == value(same(lane + 5)));
      CHECK(out[3 * kLanes + lane] == value((lane ^ 6) < group + width ? lane ^ 6 : lane));
    }
  }
  HIP(hipHostFree(out));
}

int main() {
  Votes* votes;
  HIP(hipHostMalloc(&votes, kLanes * sizeof(Votes)));
  for (const int active : {64, 63, 33, 32, 1})
    for (const unsigned long long yes :
         {0ull, ~0ull, 0x8000000100000001ull, 0xaaaaaaaaaaaaaaaaull, 0x00ff00ff12345678ull}) {
      vote<<<1, kLanes>>>(votes, active, yes);
      HIP(hipDeviceSynchronize());
      const unsigned long long on = active == 64 ? ~0ull : (1ull << active) - 1, odd = on & 0xaaaaaaaaaaaaaaaaull;
      for (int lane = 0; lane < active; ++lane) {
        const Votes& v = votes[lane];
        CHECK(v.ballot == (yes & on));
        CHECK(!!v.any == ((yes & on) != 0) && !!v.all == ((yes & on) == on) && !!v.none == ((yes & on) == 0));
        if (lane % 2 == 1)
          CHECK(v.inner == (~yes & odd) && !!v.inner_any == ((~yes & odd) != 0) && !!v.inner_all == ((yes & odd) == 0));
      }
      for (int lane = active; lane < kLanes; ++lane) CHECK(votes[lane].ballot == 0 && votes[lane].any == 0);
    }

  check_shuffles<int>();
  check_shuffles<unsigned>();
  check_shuffles<float>();
  check_shuffles<double>();
  check_shuffles<long long>();
  check_shuffles<unsigned long long>();

  int* sums;
  HIP(hipHostMalloc(&sums, kLanes * sizeof(int)));
  divergent<<<1, kLanes>>>(sums);
  HIP(hipDeviceSynchronize());
  for (int lane = 0; lane < kLanes; ++lane) {
    int sum = 0;
    for (int r = 0; r <= lane % 8; ++r) {
      int thirds = 0;
      for (int other = 0; other < kLanes; ++other) thirds += other % 8 >= r && other % 3 == 0;
      sum += r * r + thirds;  // lane r is the first of those with lane % 8 >= r
    }
    CHECK(sums[lane] == sum);
  }
}
