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

__global__ void twice(int* data, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] *= 2;
}

// To the device, a kernel, and back: the copy back waits for the kernel.
void copies(hipStream_t stream) {
  for (const size_t n : {1, 1000, 5000, 100'000, 3'000'000}) {
    int *device, *pinned;
    HIP(hipMalloc(&device, n * sizeof(int)));
    HIP(hipHostMalloc(&pinned, n * sizeof(int)));
    std::vector<int> plain(n);
    for (int round = 0; round < (n > 100'000 ? 3 : 30); ++round) {
      int* const host = round % 2 == 0 ? plain.data() : pinned;
      for (size_t i = 0; i < n; ++i) host[i] = static_cast<int>(i) + round;
      if (round % 3 == 0) {
        HIP(hipMemcpyAsync(device, host, n * sizeof(int), hipMemcpyHostToDevice, stream));
        twice<<<1, 256, 0, stream>>>(device, static_cast<int>(n));
        HIP(hipMemcpyAsync(host, device, n * sizeof(int), hipMemcpyDeviceToHost, stream));
        HIP(hipStreamSynchronize(stream));
      } else {
        HIP(hipMemcpy(device, host, n * sizeof(int), hipMemcpyHostToDevice));
        twice<<<1, 256>>>(device, static_cast<int>(n));
        HIP(hipMemcpy(host, device, n * sizeof(int), hipMemcpyDeviceToHost));
      }
      for (size_t i = 0; i < n; ++i) CHECK(host[i] == 2 * (static_cast<int>(i) + round));
    }
    HIP(hipFree(device));
    HIP(hipHostFree(pinned));
  }
}

// A copy that waits for a kernel holds up no other one.
void copies_beside(hipStream_t a, hipStream_t b) {
  int* word = words();
  int *go = word, *done = word + 1;
  std::vector<int> first(100'000), second(100'000);
  int* device[2];
  for (int*& memory : device) {
    HIP(hipMalloc(&memory, first.size() * sizeof(int)));
    HIP(hipMemset(memory, 0x11, first.size() * sizeof(int)));
  }
  HIP(hipDeviceSynchronize());
  for (int round = 0; round < 5; ++round) {
    *go = *done = 0;
    stay<<<1, 64, 0, a>>>(go, done);
    std::thread waits([&] {
      HIP(hipMemcpyAsync(first.data(), device[0], first.size() * sizeof(int), hipMemcpyDeviceToHost, a));
      HIP(hipStreamSynchronize(a));
    });
    usleep(2000);
    add<<<1, 64, 0, b>>>(device[1], 1);
    HIP(hipMemcpyAsync(second.data(), device[1], second.size() * sizeof(int), hipMemcpyDeviceToHost, b));
    HIP(hipStreamSynchronize(b));
    CHECK(second[0] == 0x11111111 + round + 1 && second.back() == 0x11111111);
    CHECK(value_of(done) == 0);
    __atomic_store_n(go, 1, __ATOMIC_RELEASE);
    waits.join();
    CHECK(value_of(done) == 1 && first[0] == 0x11111111);
  }
  for (int* memory : device) HIP(hipFree(memory));
  HIP(hipHostFree(word));
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
  copies(a);
  copies_beside(a, b);
  small_stack(a);
  HIP(hipStreamDestroy(a));
  HIP(hipStreamDestroy(b));
}
