// assert() and abort() on the device: the process ends, and says where.
#include <cassert>

#include "child.h"

__global__ void checked(const int* data, int limit) {
  assert(data[threadIdx.x] < limit && "too large");
}
__global__ void give_up(const int* data) {
  if (data[threadIdx.x] == 63) abort();
}

int* numbers() {
  int* data;
  HIP(hipHostMalloc(&data, 64 * sizeof(int)));
  for (int i = 0; i < 64; ++i) data[i] = i;
  return data;
}

int main() {
  const ChildResult bad = run_child([] {
    checked<<<1, 64>>>(numbers(), 40);
    HIP(hipDeviceSynchronize());
  });
  CHECK(!bad.ended_well());
  CHECK(bad.has("device_assert.cpp:") && bad.has("checked"));
  CHECK(bad.has("Device-side assertion `data[threadIdx.x] < limit && \"too large\"' failed."));

  const ChildResult stopped = run_child([] {
    give_up<<<1, 64>>>(numbers());
    HIP(hipDeviceSynchronize());
  });
  CHECK(!stopped.ended_well() && stopped.has("give_up"));

  const ChildResult good = run_child([] {
    checked<<<1, 64>>>(numbers(), 64);
    HIP(hipDeviceSynchronize());
    std::printf("all below\n");
  });
  CHECK(good.ended_well() && good.text == "all below\n");
}
