// Work-groups of 1,024 items, bounds of launches, three-dimensional grids, hipLaunchKernel, launches that must fail.

#include "check.h"

__global__ void __launch_bounds__(1024) reverse(int* data) {
  __shared__ int tile[1024];
  const int i = threadIdx.x;
  tile[i] = data[blockIdx.x * 1024 + i];
  __syncthreads();
  data[blockIdx.x * 1024 + i] = tile[1023 - i];
}
// Many registers alive at a time, in 16 waves.
__global__ void __launch_bounds__(1024, 1) polynomial(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float powers[24];
  powers[0] = 1;
#pragma unroll
  for (int p = 1; p < 24; ++p) powers[p] = powers[p - 1] * in[i];
  float sum = 0;
#pragma unroll
  for (int p = 23; p >= 0; --p) sum += powers[p] * static_cast<float>(p % 3 + 1);
  out[i] = sum;
}
__global__ void __launch_bounds__(128) small(int* data) {
  data[threadIdx.x] = 1;
}
__global__ void where(int3* places, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
  places[(z * height + y) * width + x] = make_int3(x, y, z);
}

int main() {
  const int n = 7 * 1024;
  int* data;
  HIP(hipMallocManaged(&data, n * sizeof(int)));
  for (int i = 0; i < n; ++i) data[i] = i;
  void* arguments[] = {&data};
  HIP(hipLaunchKernel(reinterpret_cast<const void*>(reverse), dim3(7), dim3(1024), arguments, 0, nullptr));
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) CHECK(data[i] == i / 1024 * 1024 + 1023 - i % 1024);

  float *in, *out;
  HIP(hipMallocManaged(&in, n * sizeof(float)));
  HIP(hipMallocManaged(&out, n * sizeof(float)));
  for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i % 3 - 1);
  polynomial<<<7, 1024>>>(in, out);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < n; ++i) {
    float power = 1, sum = 0;
    for (int p = 0; p < 24; ++p, power *= in[i]) sum += power * static_cast<float>(p % 3 + 1);
    CHECK(out[i] == sum);
  }

  const dim3 blocks(3, 5, 2), threads(7, 9, 13);  // 819 items, of odd sizes
  const int width = 21, height = 45, depth = 26;
  int3* places;
  HIP(hipMallocManaged(&places, width * height * depth * sizeof(int3)));
  hipLaunchKernelGGL(where, blocks, threads, 0, nullptr, places, width, height);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < width * height * depth; ++i)
    CHECK(places[i].x == i % width && places[i].y == i / width % height && places[i].z == i / width / height);

  // What does not fit is refused, and the next launch is none the worse.
  small<<<1, 1024>>>(data);
  CHECK(hipGetLastError() != hipSuccess);
  reverse<<<1, 1025>>>(data);
  const hipError_t too_many = hipGetLastError();  // HIP 5.7 has another error
  CHECK(too_many == hipErrorInvalidConfiguration || too_many == hipErrorInvalidValue);
  reverse<<<0, 64>>>(data);
  CHECK(hipGetLastError() != hipSuccess);
  reverse<<<1, 1024, 65536>>>(data);
  CHECK(hipGetLastError() != hipSuccess);
  for (int i = 0; i < n; ++i) CHECK(data[i] == i / 1024 * 1024 + 1023 - i % 1024);
  small<<<1, 128>>>(data);
  HIP(hipDeviceSynchronize());
  for (int i = 0; i < 128; ++i) CHECK(data[i] == 1);
}
