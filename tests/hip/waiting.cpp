// Launching and waiting: whoever waits for kernels may have to execute them, but must not wait for anything else.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.h"

__global__ void add(int* to, int value) {
  if (threadIdx.x == 0) atomicAdd_system(to, value);
}

// Until the host says so.
__global__ void stay(int* go, int* done) {
  while (__hip_atomic_load(go, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
  }
  __hip_atomic_store(done, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

int* words() {
  int* memory = nullptr;
  HIP(hipHostMalloc(&memory, 4096, hipHostMallocCoherent));
  for (int i = 0; i < 1024; ++i) memory[i] = 0;
  return memory;
}
int value_of(int* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

void poll(int* word, int value) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (value_of(word) != value) {
    CHECK(std::chrono::steady_clock::now() < end);
    std::this_thread::yield();
  }
}

// All waiting is for kernels of one's own, one or more at a time, from several threads, in several streams.
void many() {
  int* counts = words();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([=] {
      hipStream_t streams[2];
      for (hipStream_t& stream : streams) HIP(hipStreamCreate(&stream));
      int expected = 0;
      for (int i = 0; i < 300; ++i) {
        for (int k = 0; k <= i % 5; ++k) add<<<1, 64, 0, streams[i % 2]>>>(counts + t, 1);
        HIP(hipStreamSynchronize(streams[i % 2]));
        expected += 1 + i % 5;
        CHECK(value_of(counts + t) == expected);
      }
      for (hipStream_t& stream : streams) HIP(hipStreamDestroy(stream));
    });
  for (std::thread& thread : threads) thread.join();
  HIP(hipHostFree(counts));
}

// A kernel that runs until the host has gone on must not be executed by a thread that waits for another one.
void beside(hipStream_t a, hipStream_t b) {
  for (int round = 0; round < 6; ++round) {
    int* word = words();
    int *go = word, *done = word + 1, *count = word + 2;
    hipEvent_t event;
    HIP(hipEventCreate(&event));
    switch (round % 3) {
      case 0:  // in another stream
        stay<<<1, 64, 0, a>>>(go, done);
        add<<<1, 64, 0, b>>>(count, 1);
        HIP(hipStreamSynchronize(b));
        break;
      case 1:  // behind the event in the same stream
        add<<<1, 64, 0, a>>>(count, 1);
        HIP(hipEventRecord(event, a));
        stay<<<1, 64, 0, a>>>(go, done);
        HIP(hipEventSynchronize(event));
        break;
      case 2:  // in front of what another stream waits for
        stay<<<1, 64, 0, a>>>(go, done);
        HIP(hipEventRecord(event, a));
        HIP(hipStreamWaitEvent(b, event, 0));
        add<<<1, 64, 0, b>>>(count, 1);
        CHECK(hipStreamQuery(b) == hipErrorNotReady);
        break;
    }
    CHECK(value_of(count) == (round % 3 == 2 ? 0 : 1));
    CHECK(value_of(done) == 0);
    __atomic_store_n(go, 1, __ATOMIC_RELEASE);
    HIP(hipStreamSynchronize(b));
    HIP(hipStreamSynchronize(a));
    CHECK(value_of(count) == 1 && value_of(done) == 1);
    HIP(hipEventDestroy(event));
    HIP(hipHostFree(word));
  }
}

// Kernels run without anybody waiting for them, also after pauses and when their thread has ended.
void nobody_waits(hipStream_t stream) {
  int* count = words();
  for (int i = 0; i < 50; ++i) {
    if (i % 10 == 0) usleep(30'000);
    if (i % 2 == 0)
      add<<<1, 64, 0, stream>>>(count, 1);
    else
      std::thread([=] { add<<<1, 64, 0, stream>>>(count, 1); }).join();
    poll(count, i + 1);
  }
  HIP(hipStreamSynchronize(stream));
  HIP(hipHostFree(count));
}

// More than waits in a queue before its thread is woken, and more than it holds.
void bursts(hipStream_t stream) {
  int* count = words();
  int expected = 0;
  for (const int n : {10, 31, 32, 33, 100, 5000, 20000}) {
    for (int i = 0; i < n; ++i) add<<<1, 64, 0, stream>>>(count, 1);
    HIP(hipStreamSynchronize(stream));
    CHECK(value_of(count) == (expected += n));
  }
  HIP(hipHostFree(count));
}

struct Arguments {
  hipStream_t stream;
  int* count;
};
void* launch_and_wait(void* pointer) {
  const Arguments& arguments = *static_cast<Arguments*>(pointer);
  for (int i = 0; i < 20; ++i) {
    add<<<1, 64, 0, arguments.stream>>>(arguments.count, 1);
    HIP(hipStreamSynchronize(arguments.stream));
  }
  return nullptr;
}

void small_stack(hipStream_t stream) {
  Arguments arguments{stream, words()};
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 128 << 10) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, &attributes, launch_and_wait, &arguments) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
  CHECK(value_of(arguments.count) == 20);
  HIP(hipHostFree(arguments.count));
}

int main() {
  hipStream_t a, b;
  HIP(hipStreamCreate(&a));
  HIP(hipStreamCreate(&b));
  many();
  beside(a, b);
  nobody_waits(a);
  bursts(b);
  small_stack(a);
  HIP(hipStreamDestroy(a));
  HIP(hipStreamDestroy(b));
}
