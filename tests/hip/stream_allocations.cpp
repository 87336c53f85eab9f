// Allocations in stream order, and memory information as allocations come and go.
#include <unistd.h>

#include <vector>

#include "check.h"

__global__ void fill(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value + i;
}
__global__ void sum(const int* a, const int* b, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

int main() {
  const int n = 3000;
  hipStream_t streams[2];
  for (hipStream_t& s : streams) HIP(hipStreamCreate(&s));
  int* result;
  HIP(hipHostMalloc(&result, n * sizeof(int)));
  for (int round = 0; round < 20; ++round) {
    const hipStream_t stream = streams[round % 2];
    int *a, *b;
    HIP(hipMallocAsync(reinterpret_cast<void**>(&a), n * sizeof(int), stream));
    HIP(hipMallocAsync(reinterpret_cast<void**>(&b), (n + round * 999) * sizeof(int), stream));
    CHECK(a != nullptr && b != nullptr && a != b);
    fill<<<(n + 63) / 64, 64, 0, stream>>>(a, n, round);
    fill<<<(n + 63) / 64, 64, 0, stream>>>(b, n, 100);
    sum<<<(n + 63) / 64, 64, 0, stream>>>(a, b, result, n);
    HIP(hipFreeAsync(a, stream));
    HIP(hipFreeAsync(b, stream));
    HIP(hipStreamSynchronize(stream));
    for (int i = 0; i < n; ++i) CHECK(result[i] == round + 100 + 2 * i);
  }
  hipMemPool_t pool;
  HIP(hipDeviceGetDefaultMemPool(&pool, 0));
  uint64_t used = ~0ull, reserved = ~0ull;
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
  CHECK(used == 0);
  HIP(hipDeviceSynchronize());
  HIP(hipMemPoolTrimTo(pool, 0));
  HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrReservedMemCurrent, &reserved));
  CHECK(reserved == 0);

  size_t before = 0, during = 0, after = 0, total = 0;
  const size_t bytes = 48 << 20;
  void* memory;
  // HIP gives memory back when a thread of its own has seen that the commands that used it have ended: that may be at
  // any time, but it does so once.
  bool agree = false;
  for (int attempt = 0; attempt < 1000 && !agree; ++attempt) {
    usleep(10'000);
    HIP(hipMemGetInfo(&before, &total));
    HIP(hipMalloc(&memory, bytes));
    HIP(hipMemGetInfo(&during, &total));
    hipDeviceptr_t base;
    size_t size = 0;
    HIP(hipMemGetAddressRange(&base, &size, static_cast<char*>(memory) + 12345));
    CHECK(base == memory && size == bytes);
    HIP(hipFree(memory));
    HIP(hipMemGetInfo(&after, &total));
    agree = during + bytes <= before && after == before;
  }
  CHECK(agree);
  CHECK(hipMalloc(&memory, total * 2) == hipErrorOutOfMemory);
  HIP(hipMalloc(&memory, 0));
  CHECK(memory == nullptr);
  // The streams are not destroyed: while a pool holds memory, that never ends in HIP 5.2 (Heap::RemoveStream).
}
