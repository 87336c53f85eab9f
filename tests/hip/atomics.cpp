// Atomic operations of every type and scope, in global memory and in the LDS, many lanes on few addresses.

#include "check.h"

constexpr int kBlocks = 24, kThreads = 256, kItems = kBlocks * kThreads;

// What each operation leaves, by itself on one address.
template <typename T>
struct Integers {
  T add, sub, min, max, all, some, odd, swapped, counted;
};

template <typename T, bool kSystem>
__global__ void integers(Integers<T>* r) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const T v = static_cast<T>(i * 37 % 1009);
  if constexpr (kSystem) {
    atomicAdd_system(&r->add, v);
    atomicSub_system(&r->sub, v);
    atomicMin_system(&r->min, v);
    atomicMax_system(&r->max, v);
    atomicAnd_system(&r->all, static_cast<T>(~(T{1} << i % 20)));
    atomicOr_system(&r->some, static_cast<T>(T{1} << i % 20));
    atomicXor_system(&r->odd, v);
    atomicExch_system(&r->swapped, static_cast<T>(i + 1));
    for (T seen = r->counted, now; (now = atomicCAS_system(&r->counted, seen, static_cast<T>(seen + 3))) != seen;)
      seen = now;
  } else {
    atomicAdd(&r->add, v);
    atomicSub(&r->sub, v);
    atomicMin(&r->min, v);
    atomicMax(&r->max, v);
    atomicAnd(&r->all, static_cast<T>(~(T{1} << i % 20)));
    atomicOr(&r->some, static_cast<T>(T{1} << i % 20));
    atomicXor(&r->odd, v);
    atomicExch(&r->swapped, static_cast<T>(i + 1));
    for (T seen = r->counted, now; (now = atomicCAS(&r->counted, seen, static_cast<T>(seen + 3))) != seen;) seen = now;
  }
}

template <typename T, bool kSystem>
void check_integers() {
  Integers<T>* r;
  HIP(hipHostMalloc(&r, sizeof *r));
  *r = {.min = 5000, .max = 3, .all = static_cast<T>(-1)};
  integers<T, kSystem><<<kBlocks, kThreads>>>(r);
  HIP(hipDeviceSynchronize());
  T sum = 0, odd = 0;
  for (int i = 0; i < kItems; ++i) {
    sum += static_cast<T>(i * 37 % 1009);
    odd ^= static_cast<T>(i * 37 % 1009);
  }
  CHECK(r->add == sum && r->sub == static_cast<T>(0 - sum) && r->odd == odd);
  CHECK(r->min == 0 && r->max == 1008);
  CHECK(r->all == static_cast<T>(~static_cast<T>((1 << 20) - 1)) && r->some == (1 << 20) - 1);
  CHECK(r->swapped >= 1 && r->swapped <= static_cast<T>(kItems));
  CHECK(r->counted == static_cast<T>(3 * kItems));
  HIP(hipHostFree(r));
}

template <typename T>
struct Floats {
  T add, min, max, swapped;
};
template <typename T>
__global__ void floats(Floats<T>* r) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&r->add, static_cast<T>(i % 8) / 4);
  atomicMin(&r->min, static_cast<T>(i) - 100);
  atomicMax(&r->max, static_cast<T>(i) / 2);
  atomicExch(&r->swapped, static_cast<T>(i + 1));
}
template <typename T>
void check_floats() {
  Floats<T>* r;
  HIP(hipHostMalloc(&r, sizeof *r));
  *r = {};
  floats<<<kBlocks, kThreads>>>(r);
  HIP(hipDeviceSynchronize());
  CHECK(r->add == static_cast<T>(kItems / 8 * 28) / 4);  // exact in any order
  CHECK(r->min == -100 && r->max == static_cast<T>(kItems - 1) / 2);
  CHECK(r->swapped >= 1 && r->swapped <= kItems);
  HIP(hipHostFree(r));
}

// Tickets: what an atomic returns is every number once. atomicInc and atomicDec wrap around.
__global__ void tickets(unsigned* next, unsigned* holders, unsigned* wrapping) {
  atomicAdd(&holders[atomicAdd(next, 1u)], 1u);
  atomicInc(&wrapping[0], 99u);
  atomicDec(&wrapping[1], 99u);
}

// Scopes down to the wave, and histograms in the LDS.
__global__ void local_memory(unsigned* histogram, unsigned long long* sums) {
  __shared__ unsigned bins[16];
  __shared__ unsigned long long sum;
  __shared__ float real;
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  if (threadIdx.x == 0) sum = 0, real = 0;
  __syncthreads();
  __hip_atomic_fetch_add(&bins[threadIdx.x % 16], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(&sum, 1ull << threadIdx.x % 40, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
  atomicAdd(&real, 0.5f);
  __syncthreads();
  if (threadIdx.x < 16)
    __hip_atomic_fetch_add(&histogram[threadIdx.x], bins[threadIdx.x], __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_max(&sums[0], sum, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    sums[1 + blockIdx.x] = static_cast<unsigned long long>(real);
  }
}

int main() {
  check_integers<int, false>();
  check_integers<int, true>();
  check_integers<unsigned, false>();
  check_integers<unsigned, true>();
  check_integers<unsigned long long, false>();
  check_integers<unsigned long long, true>();
  check_floats<float>();
  check_floats<double>();

  unsigned *next, *holders, *wrapping, *histogram;
  unsigned long long* sums;
  HIP(hipHostMalloc(&next, sizeof *next));
  HIP(hipHostMalloc(&holders, kItems * sizeof *holders));
  HIP(hipHostMalloc(&wrapping, 2 * sizeof *wrapping));
  *next = 0;
  HIP(hipMemset(holders, 0, kItems * sizeof *holders));
  wrapping[0] = wrapping[1] = 0;
  tickets<<<kBlocks, kThreads>>>(next, holders, wrapping);
  HIP(hipDeviceSynchronize());
  CHECK(*next == kItems);
  for (int i = 0; i < kItems; ++i) CHECK(holders[i] == 1);
  CHECK(wrapping[0] == kItems % 100 && wrapping[1] == (100 - kItems % 100) % 100);

  HIP(hipHostMalloc(&histogram, 16 * sizeof *histogram));
  HIP(hipHostMalloc(&sums, (1 + kBlocks) * sizeof *sums));
  for (int i = 0; i < 16; ++i) histogram[i] = 0;
  sums[0] = 0;
  local_memory<<<kBlocks, kThreads>>>(histogram, sums);
  HIP(hipDeviceSynchronize());
  unsigned long long sum = 0;
  for (int t = 0; t < kThreads; ++t) sum += 1ull << t % 40;
  for (int i = 0; i < 16; ++i) CHECK(histogram[i] == kItems / 16);
  CHECK(sums[0] == sum);
  for (int b = 0; b < kBlocks; ++b) CHECK(sums[1 + b] == kThreads / 2);
}
