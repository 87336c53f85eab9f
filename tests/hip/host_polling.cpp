// A kernel and the host talk through system-scope atomics while the kernel runs.
#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"

struct Mailbox {
  int request, reply;  // round numbers
  long value;
};

__global__ void serve(Mailbox* box, int rounds) {
  for (int round = 1; round <= rounds; ++round) {
    while (__hip_atomic_load(&box->request, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) != round)
      __builtin_amdgcn_s_sleep(1);
    box->value = box->value * 3 + round;
    __threadfence_system();
    __hip_atomic_store(&box->reply, round, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

// Host and device count on the same word.
__global__ void count(unsigned long long* counter, int times) {
  for (int i = 0; i < times; ++i) atomicAdd_system(counter, 1ull);
}

int main() {
  const int rounds = 50;
  Mailbox* box;
  HIP(hipHostMalloc(&box, sizeof *box, hipHostMallocCoherent | hipHostMallocMapped));
  *box = {};
  serve<<<1, 1>>>(box, rounds);
  long expected = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (int round = 1; round <= rounds; ++round) {
    box->value += round;
    expected = (expected + round) * 3 + round;
    __atomic_store_n(&box->request, round, __ATOMIC_RELEASE);
    CHECK(hipStreamQuery(nullptr) == hipErrorNotReady || round == rounds);
    while (__atomic_load_n(&box->reply, __ATOMIC_ACQUIRE) != round) {
      CHECK(std::chrono::steady_clock::now() < end);
      std::this_thread::yield();
    }
    CHECK(box->value == expected);
    expected = box->value;
  }
  HIP(hipDeviceSynchronize());

  unsigned long long* counter;
  HIP(hipHostMalloc(&counter, sizeof *counter, hipHostMallocCoherent));
  *counter = 0;
  count<<<8, 64>>>(counter, 50);
  for (int i = 0; i < 20000; ++i) __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  HIP(hipDeviceSynchronize());
  CHECK(*counter == 8 * 64 * 50 + 20000);
}
