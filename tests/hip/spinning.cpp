// Kernels that wait by loading again and again: for another stream's kernel, for the host, and block for block for a graph's
// neighbours in 24 and 300 blocks. And as many blocks as the device holds at a time, which wait for each other.
#include <hip/hip_runtime.h>

#include <chrono>
#include <thread>
#include <vector>

#include "check.h"

__global__ void wait_for(const volatile unsigned* flag, unsigned* out) {
  while (flag[0] == 0) {
  }
  out[threadIdx.x] = flag[0];
}

__global__ void raise(volatile unsigned* flag, unsigned value) {
  flag[0] = value;
}

// Each vertex is one more than its neighbours ahead, once they are known. `stride` is at least a wave, as lanes of one wave cannot
// wait for each other.
__global__ void levels(volatile int* state, int n, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool undecided;
  do {
    undecided = false;
    if (state[i] < 0) {
      const int near = i + stride < n ? state[i + stride] : 0;
      const int far = i + 3 * stride < n ? state[i + 3 * stride] : 0;
      if (near >= 0 && far >= 0)
        state[i] = (near > far ? near : far) + 1;
      else
        undecided = true;
    }
  } while (undecided);
}

__global__ void meet(unsigned* count, unsigned blocks) {
  if (threadIdx.x == 0) {
    atomicAdd(count, 1);
    while (atomicAdd(count, 0) % blocks != 0) {
    }
  }
  __syncthreads();
  if (threadIdx.x == 64) atomicAdd(count + 1, 1);
}

int main() {
  unsigned *flag = nullptr, *out = nullptr, *host = nullptr;
  HIP(hipMalloc(&flag, 4096));
  HIP(hipMalloc(&out, 4096));
  HIP(hipHostMalloc(reinterpret_cast<void**>(&host), 4096, 0));
  HIP(hipMemset(flag, 0, 4096));
  HIP(hipDeviceSynchronize());
  hipStream_t first, second;
  HIP(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  unsigned got[64] = {};

  wait_for<<<1, 64, 0, first>>>(flag, out);
  raise<<<1, 1, 0, second>>>(flag, 7);
  HIP(hipStreamSynchronize(first));
  HIP(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
  for (const unsigned value : got) CHECK(value == 7);

  host[0] = 0;
  wait_for<<<1, 64, 0, first>>>(host, out);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  *static_cast<volatile unsigned*>(host) = 9;
  HIP(hipStreamSynchronize(first));
  HIP(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
  for (const unsigned value : got) CHECK(value == 9);

  const struct {
    int blocks, threads, stride;
  } graphs[] = {{24, 256, 64}, {24, 256, 1000}, {300, 512, 512}};
  for (const auto& graph : graphs) {
    const int n = graph.blocks * graph.threads;
    std::vector<int> state(n, -1), expected(n);
    for (int i = n; i-- != 0;) {
      const int near = i + graph.stride < n ? expected[i + graph.stride] : 0;
      const int far = i + 3 * graph.stride < n ? expected[i + 3 * graph.stride] : 0;
      expected[i] = (near > far ? near : far) + 1;
    }
    int* device = nullptr;
    HIP(hipMalloc(&device, n * sizeof(int)));
    HIP(hipMemcpy(device, state.data(), n * sizeof(int), hipMemcpyHostToDevice));
    levels<<<graph.blocks, graph.threads, 0, first>>>(device, n, graph.stride);
    HIP(hipStreamSynchronize(first));
    HIP(hipMemcpy(state.data(), device, n * sizeof(int), hipMemcpyDeviceToHost));
    CHECK(state == expected);
    HIP(hipFree(device));
  }

  hipDeviceProp_t device;
  HIP(hipGetDeviceProperties(&device, 0));
  constexpr unsigned kThreads = 256;
  const unsigned blocks = device.multiProcessorCount * device.maxThreadsPerMultiProcessor / kThreads;
  HIP(hipMemset(flag, 0, 4096));
  HIP(hipDeviceSynchronize());  // `first` does not wait for the default stream
  meet<<<blocks, kThreads, 0, first>>>(flag, blocks);
  HIP(hipStreamSynchronize(first));
  HIP(hipMemcpy(got, flag, sizeof got, hipMemcpyDeviceToHost));
  CHECK(got[0] == blocks && got[1] == blocks);
}
