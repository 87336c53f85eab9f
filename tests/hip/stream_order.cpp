// Priorities, events across eight streams, host functions in stream order, waits for values, times of events.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "check.h"

constexpr int kStreams = 8, kLaps = 6, kItems = 2048;

// A relay: each leg depends on the one before, whatever stream it was in.
__global__ void leg(unsigned* data, unsigned number) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = data[i] * 5 + number;
}
__global__ void wait_for(const int* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(10);
}

struct Log {
  std::atomic<int> next{0};
  int seen[64] = {};
} diary;
void note(hipStream_t, hipError_t status, void* number) {
  diary.seen[diary.next++] = status == hipSuccess ? static_cast<int>(reinterpret_cast<intptr_t>(number)) : -1;
}

int main() {
  int least = 99, greatest = 99;
  HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(greatest <= least);
  hipStream_t streams[kStreams];
  for (int s = 0; s < kStreams; ++s) {
    const int priority = greatest + s % (least - greatest + 1);
    HIP(hipStreamCreateWithPriority(&streams[s], s % 2 ? hipStreamNonBlocking : hipStreamDefault, priority));
    int got = 99;
    unsigned flags = 99;
    HIP(hipStreamGetPriority(streams[s], &got));
    HIP(hipStreamGetFlags(streams[s], &flags));
    CHECK(got == priority && flags == (s % 2 ? hipStreamNonBlocking : hipStreamDefault));
  }

  unsigned* data;
  HIP(hipHostMalloc(&data, kItems * sizeof *data));
  for (int i = 0; i < kItems; ++i) data[i] = i;
  std::vector<hipEvent_t> events(kStreams * kLaps);
  for (size_t e = 0; e < events.size(); ++e) {
    HIP(hipEventCreateWithFlags(&events[e], e % 2 ? hipEventDisableTiming : hipEventDefault));
    const hipStream_t stream = streams[e * 3 % kStreams];
    if (e > 0) HIP(hipStreamWaitEvent(stream, events[e - 1], 0));
    leg<<<kItems / 256, 256, 0, stream>>>(data, static_cast<unsigned>(e));
    if (e % 8 == 3 || e % 8 == 6) HIP(hipStreamAddCallback(stream, note, reinterpret_cast<void*>(e), 0));
    HIP(hipEventRecord(events[e], stream));
  }
  HIP(hipEventSynchronize(events.back()));
  for (int i = 0; i < kItems; ++i) {
    unsigned v = i;
    for (unsigned e = 0; e < events.size(); ++e) v = v * 5 + e;
    CHECK(data[i] == v);
  }
  HIP(hipDeviceSynchronize());
  CHECK(diary.next == 2 * kLaps);
  for (int i = 0; i < 2 * kLaps; ++i) CHECK(diary.seen[i] == i / 2 * 8 + (i % 2 ? 6 : 3));

  // Times: a kernel that the host keeps for 60 ms takes at least that, and no more than passes here.
  int* flag;
  HIP(hipHostMalloc(&flag, sizeof *flag));
  *flag = 0;
  hipEvent_t begin, end;
  HIP(hipEventCreate(&begin));
  HIP(hipEventCreate(&end));
  const auto from = std::chrono::steady_clock::now();
  HIP(hipEventRecord(begin, streams[0]));
  wait_for<<<1, 1, 0, streams[0]>>>(flag);
  HIP(hipEventRecord(end, streams[0]));
  CHECK(hipEventQuery(end) == hipErrorNotReady && hipStreamQuery(streams[0]) == hipErrorNotReady);
  float ms = -1;
  CHECK(hipEventElapsedTime(&ms, begin, end) == hipErrorNotReady);
  HIP(hipEventSynchronize(begin));  // the time is noted
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  HIP(hipEventSynchronize(end));
  const double held = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
  HIP(hipEventElapsedTime(&ms, begin, end));
  std::printf("held %.1f ms, measured %.1f ms\n", held, ms);
  CHECK(ms >= 59 && ms < held + 1);
  CHECK(hipEventElapsedTime(&ms, events[1], end) == hipErrorInvalidHandle);  // it takes no times

  // A stream waits until memory has a value, which another one writes.
  int can = 0;
  HIP(hipDeviceGetAttribute(&can, hipDeviceAttributeCanUseStreamWaitValue, 0));
  if (can) {
    unsigned* word;
    HIP(hipExtMallocWithFlags(reinterpret_cast<void**>(&word), 8, hipMallocSignalMemory));
    HIP(hipStreamWriteValue32(streams[2], word, 1, 0));
    HIP(hipStreamSynchronize(streams[2]));
    const unsigned before = data[5];
    HIP(hipStreamWaitValue32(streams[1], word, 4, hipStreamWaitValueGte, 0xffffffff));
    leg<<<kItems / 256, 256, 0, streams[1]>>>(data, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(hipStreamQuery(streams[1]) == hipErrorNotReady && data[5] == before);
    HIP(hipStreamWriteValue32(streams[2], word, 4, 0));
    HIP(hipStreamSynchronize(streams[1]));
    CHECK(data[5] == before * 5 + 1);
    HIP(hipFree(word));
  }
  for (hipEvent_t e : events) HIP(hipEventDestroy(e));
  for (hipStream_t s : streams) HIP(hipStreamDestroy(s));
}
