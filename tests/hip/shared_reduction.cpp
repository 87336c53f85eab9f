// Static and dynamic LDS, barriers, shuffles, ballots, atomics.
#include <vector>

#include "check.h"

__global__ void reduce_static(const unsigned* in, unsigned* out, int n) {
  __shared__ unsigned part[256];
  unsigned sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, part[0]);
}

__global__ void reduce_shuffle(const unsigned* in, unsigned* out, int n) {
  extern __shared__ unsigned waves[];
  unsigned sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  for (int offset = 32; offset > 0; offset /= 2) sum += __shfl_down(sum, offset);
  if (threadIdx.x % 64 == 0) waves[threadIdx.x / 64] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned total = 0;
    for (unsigned w = 0; w < blockDim.x / 64; ++w) total += waves[w];
    atomicAdd(out, total);
  }
}

__global__ void count_odd(const unsigned* in, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long votes = __ballot(i < n && in[i] % 2 == 1);
  if (threadIdx.x % 64 == 0) atomicAdd(out, static_cast<unsigned>(__popcll(votes)));
}

int main() {
  const int n = 1 << 20;
  std::vector<unsigned> in(n);
  unsigned sum = 0, odd = 0;
  for (int i = 0; i < n; ++i) {
    in[i] = static_cast<unsigned>(i) * 2654435761u >> 7;
    sum += in[i];
    odd += in[i] % 2;
  }
  unsigned *data, *out;
  HIP(hipMalloc(&data, n * sizeof(unsigned)));
  HIP(hipMalloc(&out, 3 * sizeof(unsigned)));
  HIP(hipMemcpy(data, in.data(), n * sizeof(unsigned), hipMemcpyHostToDevice));
  HIP(hipMemset(out, 0, 3 * sizeof(unsigned)));
  reduce_static<<<64, 256>>>(data, out, n);
  reduce_shuffle<<<64, 256, 256 / 64 * sizeof(unsigned)>>>(data, out + 1, n);
  count_odd<<<n / 256, 256>>>(data, out + 2, n);
  unsigned result[3];
  HIP(hipMemcpy(result, out, sizeof result, hipMemcpyDeviceToHost));
  CHECK(result[0] == sum);
  CHECK(result[1] == sum);
  CHECK(result[2] == odd);
}
