// The default stream waits for blocking streams and they for it; non-blocking ones and those of threads do not.
#include <chrono>
#include <thread>

#include "check.h"

__global__ void hold(const int* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(10);
}
__global__ void mark(int* order, int* next, int number) {
  order[atomicAdd_system(next, 1)] = number;
}

int main() {
  int *flag, *order, *next;
  HIP(hipHostMalloc(&flag, sizeof(int)));
  HIP(hipHostMalloc(&order, 16 * sizeof(int)));
  HIP(hipHostMalloc(&next, sizeof(int)));
  *flag = *next = 0;
  hipStream_t blocking, free_running;
  HIP(hipStreamCreate(&blocking));
  HIP(hipStreamCreateWithFlags(&free_running, hipStreamNonBlocking));

  hold<<<1, 1, 0, blocking>>>(flag);
  mark<<<1, 1, 0, blocking>>>(order, next, 1);
  mark<<<1, 1>>>(order, next, 2);               // waits for `blocking`
  mark<<<1, 1, 0, blocking>>>(order, next, 3);  // waits for the default stream
  mark<<<1, 1, 0, free_running>>>(order, next, 4);
  HIP(hipStreamSynchronize(free_running));
  CHECK(*next == 1 && order[0] == 4);
  CHECK(hipStreamQuery(blocking) == hipErrorNotReady && hipStreamQuery(nullptr) == hipErrorNotReady);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(__atomic_load_n(next, __ATOMIC_ACQUIRE) == 1);
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  HIP(hipDeviceSynchronize());
  CHECK(*next == 4 && order[1] == 1 && order[2] == 2 && order[3] == 3);

  HIP(hipStreamDestroy(blocking));
  HIP(hipStreamDestroy(free_running));

  // hipStreamPerThread is each thread's own.
  *flag = *next = 0;
  hold<<<1, 1, 0, hipStreamPerThread>>>(flag);
  std::thread other([&] {
    HIP(hipSetDevice(0));
    mark<<<1, 1, 0, hipStreamPerThread>>>(order, next, 9);
    HIP(hipStreamSynchronize(hipStreamPerThread));
  });
  other.join();
  CHECK(*next == 1 && order[0] == 9);
  CHECK(hipStreamQuery(hipStreamPerThread) == hipErrorNotReady);
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  HIP(hipStreamSynchronize(hipStreamPerThread));
}
