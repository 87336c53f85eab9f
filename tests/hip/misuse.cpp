// What programs do wrong with memory: freeing twice, use after hipFree, addresses that are not aligned, null pointers.

#include "child.h"

__global__ void write(int* data) {
  data[threadIdx.x] = 7;
}
__global__ void add(char* base, int offset) {
  atomicAdd(reinterpret_cast<int*>(base + offset), 1);
}
__global__ void add_wide(char* base, int offset) {
  atomicAdd(reinterpret_cast<unsigned long long*>(base + offset), 1ull);
}
__global__ void shift(char* base, int offset) {
  int* const p = reinterpret_cast<int*>(base + offset);
  p[threadIdx.x] = p[threadIdx.x] * 2;
}

int main() {
  const ChildResult freed = run_child([] {
    int* data;
    HIP(hipMalloc(&data, 4096));
    HIP(hipFree(data));
    CHECK(hipFree(data) == hipErrorInvalidValue);
    CHECK(hipFree(reinterpret_cast<void*>(0x1234)) == hipErrorInvalidValue);
    HIP(hipFree(nullptr));
    int on_stack = 0;
    CHECK(hipFree(&on_stack) == hipErrorInvalidValue);
    HIP(hipHostMalloc(&data, 4096));
    HIP(hipHostFree(data));
    CHECK(hipHostFree(data) == hipErrorInvalidValue);
    std::printf("done\n");
  });
  CHECK(freed.ended_well() && freed.has("done"));

  const ChildResult after = run_child([] {
    int* data;
    HIP(hipMalloc(&data, 4096));
    write<<<1, 64>>>(data);
    HIP(hipDeviceSynchronize());
    HIP(hipFree(data));
    write<<<1, 64>>>(data);
    HIP(hipDeviceSynchronize());
  });
  CHECK(!after.ended_well() && after.has("write") && after.has("may not access"));

  const ChildResult null = run_child([] {
    write<<<1, 64>>>(nullptr);
    HIP(hipDeviceSynchronize());
  });
  CHECK(!null.ended_well() && null.has("write") && null.has("0x0"));

  // Atomic operations at addresses that are not aligned are faults.
  for (const bool wide : {false, true}) {
    const ChildResult atomic = run_child([=] {
      char* data;
      HIP(hipHostMalloc(&data, 4096));
      if (wide)
        add_wide<<<1, 64>>>(data, 60);
      else
        add<<<1, 64>>>(data, 62);
      HIP(hipDeviceSynchronize());
    });
    CHECK(!atomic.ended_well() && atomic.has(wide ? "add_wide" : "add") && atomic.has("needs alignment"));
  }

  // Everything else works there.
  const ChildResult unaligned = run_child([] {
    char* data;
    HIP(hipHostMalloc(&data, 4096));
    for (int i = 0; i < 64; ++i) __builtin_memcpy(data + 3 + 4 * i, &i, 4);
    shift<<<1, 64>>>(data, 3);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < 64; ++i) {
      int value;
      __builtin_memcpy(&value, data + 3 + 4 * i, 4);
      CHECK(value == 2 * i);
    }
  });
  CHECK(unaligned.ended_well());
}
